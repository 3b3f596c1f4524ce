//! The manager as a service: under systemd, under a stand-in for it, and asked for its metrics.

mod boot;
mod grafana;
mod journal;
mod metrics;
mod standin;
mod systemd;

use numaestro_abi::control::Status;

/// What `status --json` says; `None` if no manager runs.
fn status_of(json: &[u8]) -> Option<Status> {
    serde_json::from_slice(json).ok()
}
