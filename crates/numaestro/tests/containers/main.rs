//! numaestro with containers: programs in them come to the manager of the host, or have one of
//! their own inside; the manifests for Kubernetes are what Kubernetes understands.

mod manifests;
mod namespaces;
mod parties;
mod podman;
mod pods;
mod runtime;
#[path = "../user/mod.rs"]
mod user;

use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// One test at a time: each wants the machine's processors for its own manager.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
