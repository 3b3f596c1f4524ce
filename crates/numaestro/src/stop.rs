//! `numaestro stop`: the manager ends in order, every affinity restored. Without a manager there is nothing to do.

use crate::manager::{self, Manager};
use crate::say;
use numaestro_abi::control::Request;
use std::path::PathBuf;
use std::time::Duration;

/// Restoring the affinities of a full machine takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks it to end and waits until it has.
pub fn stop(dir: Option<PathBuf>) -> anyhow::Result<u8> {
    let dir = manager::directory(dir)?;
    let mut manager = match Manager::reach(&dir) {
        Ok(manager) => manager,
        Err(error) if manager::is_absent(&error) => {
            say::print(&format!("no manager runs in {}\n", dir.display()))?;
            return Ok(say::OK);
        }
        Err(_) => Manager::required(Some(dir.clone()))?,
    };
    let pid = manager.status()?.pid;
    manager.order(&Request::Stop)?;
    // It closes its connections when everything is given back.
    if !manager.wait_for_end(PATIENCE) {
        let next = "look at it with `numaestro status`; `kill` ends it too";
        return Err(say::Failure::error(say::FAILED, "the manager has agreed to end but has not", next));
    }
    if manager.is_activated(pid) {
        say::note("the next command starts it again; `systemctl stop numaestro.socket numaestro` prevents that");
    }
    say::print("the manager has ended; every program has its full affinity again\n")?;
    Ok(say::OK)
}
