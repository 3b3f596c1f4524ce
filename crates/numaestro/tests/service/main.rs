//! The manager as a service: under systemd, under a stand-in for it, and asked for its metrics.

mod boot;
mod grafana;
mod journal;
mod metrics;
mod standin;
mod systemd;

use numaestro_abi::control::Status;
use std::sync::atomic::{AtomicU16, Ordering};

/// A port that a manager can listen at, another one for each test. The kernel gives none of these
/// to whoever connects, so nobody takes it in between.
fn free_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let mut ports = std::iter::repeat_with(|| first + TAKEN.fetch_add(1, Ordering::Relaxed));
    let free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(free).expect("a free port")
}

/// What `status --json` says; `None` if no manager runs.
fn status_of(json: &[u8]) -> Option<Status> {
    serde_json::from_slice(json).ok()
}
