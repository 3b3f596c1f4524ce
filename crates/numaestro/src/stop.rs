//! `numaestro stop`: the manager ends in order, every affinity restored. Without a manager there is nothing to do.

use crate::manager::{self, Manager};
use crate::say;
use numaestro_abi::control::Request;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
    manager.order(&Request::Stop)?;
    let begin = Instant::now();
    while Manager::reach(&dir).is_ok() {
        if begin.elapsed() > PATIENCE {
            let next = "look at it with `numaestro status`; `kill` ends it too";
            return Err(say::Failure::error(say::FAILED, "the manager has agreed to end but has not", next));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    say::print("the manager has ended; every program has its full affinity again\n")?;
    Ok(say::OK)
}
