//! Remembers a manager that has not answered, a frozen one: whoever comes next waits for a moment
//! only, until it answers again.

use std::fs;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use numaestro_host::rundir::{RuntimeDir, SILENT_FILE};
use numaestro_host::{procfs, socket};

/// Patience with a manager that has been silent. One that is alive answers in microseconds.
pub const IMPATIENCE: Duration = Duration::from_millis(100);

/// What is known of the manager at the other end of a connection.
#[derive(Debug)]
pub struct Silence {
    /// Where it is remembered.
    place: PathBuf,
    /// Its process, and when that began.
    who: String,
    known: Option<String>,
}

impl Silence {
    /// `None` if its process cannot be seen.
    pub fn of(dir: &Path, manager: BorrowedFd<'_>) -> Option<Self> {
        let pid = socket::peer(manager).ok()?.pid;
        let begun = procfs::stat(pid).ok()?.start_time;
        // That of all users is not ours to write in.
        let shared = dir == RuntimeDir::system_path();
        let own = if shared { RuntimeDir::default_path() } else { dir.to_owned() };
        let known = fs::read_to_string(own.join(SILENT_FILE)).ok();
        Some(Self { place: own, who: format!("{pid} {begun}"), known })
    }

    /// It has not answered before.
    pub fn is_known(&self) -> bool {
        self.known.as_deref() == Some(self.who.as_str())
    }

    /// It does not answer.
    pub fn note(&self) {
        // Otherwise the next one waits as long as this one did.
        let _ = RuntimeDir::open(&self.place).and_then(|place| place.replace(SILENT_FILE, self.who.as_bytes()));
    }

    /// It answers.
    pub fn forget(&self) {
        if self.known.is_some() {
            let _ = fs::remove_file(self.place.join(SILENT_FILE));
        }
    }
}
