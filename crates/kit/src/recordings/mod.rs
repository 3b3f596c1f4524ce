//! Recordings and journals: which there are, and how one is read, whole or in part.

mod args;
mod journal;
mod part;
mod ran;
mod recording;
pub mod runs;
pub mod story;

pub use args::PartArgs;
pub use journal::{Journal, numbered};
pub use part::{Part, stamp_of, time_of_history};
pub use ran::{Ran, in_words};
pub use recording::Recording;

use crate::manager::{self, Manager};
use crate::moment::{local_offset, shown};
use crate::say::{self, Failure};
use numaestro_abi::control::{RecordingStatus, Reply, Request};
use numaestro_daemon::{Config, Source};
use std::path::{Path, PathBuf};

/// So long after the last event of a recording its programs may still be there, nanoseconds: a
/// manager to which nothing happens writes nothing, and one that is killed leaves no word.
pub const QUIET_MOST_NS: u64 = 600_000_000_000;

/// A recording is written once a second, so its end is known no better.
const UNKNOWN_NS: u64 = 2_000_000_000;

/// Asks the manager whether it records. `on`: from now on it does, or does not.
pub fn ask(manager: &mut Manager, on: Option<bool>) -> anyhow::Result<RecordingStatus> {
    match manager.ask(&Request::Record { on })? {
        Reply::Recording(status) => Ok(status),
        other => Err(manager::unexpected(&other)),
    }
}

/// The state of recording. Where no manager runs, none is started for the question.
fn status(dir: Option<PathBuf>) -> anyhow::Result<RecordingStatus> {
    let dir = manager::directory(dir)?;
    if let Ok(mut manager) = Manager::reach(&dir) {
        match ask(&mut manager, None) {
            // It was about to end. One that hangs can still be reached.
            Err(error) if manager::has_gone(&error) && Manager::reach(&dir).is_err() => {}
            told => return told,
        }
    }
    let source = if manager::is_of_system(&dir) { Source::of_system() } else { Source::of_user() };
    let mut config = Config::load(&source).map_err(|error| anyhow::anyhow!("{error}"))?.config;
    config.dir = dir;
    let directory = numaestro_daemon::recordings(&config).display().to_string();
    Ok(RecordingStatus { directory, ..RecordingStatus::default() })
}

/// The same of a directory that the user named, in which nobody records, or of the manager.
pub fn place(dir: Option<PathBuf>, named: Option<&Path>) -> anyhow::Result<RecordingStatus> {
    let Some(named) = named else { return status(dir) };
    if !named.is_dir() {
        let next = "--from names a directory of recordings; without it the command takes the manager's own";
        return Err(Failure::error(say::FAILED, format!("there is no directory {}", named.display()), next));
    }
    Ok(RecordingStatus { directory: named.display().to_string(), ..RecordingStatus::default() })
}

/// A time (nanoseconds since 1970) for people, to the second, in their time zone.
pub fn moment(at: u64) -> String {
    shown(at, local_offset())
}
