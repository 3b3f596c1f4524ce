//! The runtime directory of the manager and the state file in it: the processes that are
//! applications, and their processors. A manager that is killed leaves it to the next one, which
//! reads it once at its start; an entry that is stale or not understood is left out, and never
//! stops the start.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use numaestro_abi::control::{Options, ProcessorTime};
use numaestro_host::poll::Interest;
use numaestro_host::rundir::{DirLock, LOCK, RuntimeDir, SILENT_FILE};
use numaestro_host::watch::Watch;
use numaestro_topology::CpuSet;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::config::Config;
use crate::hands::jobserver::SavedJobserver;
use crate::hands::masks::SavedMasks;
use crate::hands::notes::{NOTES_FILE, Notes};
use crate::hands::whole::Owed;
use crate::identity::jobs::{JobId, SavedStep, Terms};
use crate::service;
use crate::wakeups::{FrontSource, Wakeups};

/// Its name in the runtime directory.
pub(crate) const STATE_FILE: &str = "state.json";
/// The manager's log, where nobody else keeps it.
pub(crate) const LOG_FILE: &str = "daemon.log";
/// The file of jobs.
const JOBS_FILE: &str = "jobs.json";
/// Version of the format.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) version: u32,
    /// Numbers below have been given.
    pub(crate) app_next: u64,
    /// As `policy set` takes it.
    pub(crate) policy: String,
    pub(crate) apps: Vec<SavedApp>,
    /// Which masks are ours.
    #[serde(default)]
    pub(crate) masks: SavedMasks,
}

/// The jobs of a batch system, in a file of their own: they outlive an orderly end, too.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedJobs {
    pub(crate) jobs: Vec<SavedJob>,
    pub(crate) steps: Vec<SavedStep>,
    /// The policy that decides after that of a job.
    pub(crate) policy_before: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedJob {
    pub(crate) id: JobId,
    pub(crate) terms: Terms,
    pub(crate) time: ProcessorTime,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedApp {
    pub(crate) app: u64,
    pub(crate) pid: u32,
    /// The user that it belongs to.
    #[serde(default)]
    pub(crate) uid: u32,
    /// Clock ticks after boot: with `pid`, the process.
    pub(crate) start_time: u64,
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) wish: u32,
    /// OS indices.
    pub(crate) cpus: String,
    /// Affinity before it was managed.
    pub(crate) original: String,
    pub(crate) page: bool,
    pub(crate) epoch: u32,
    pub(crate) wrapper: Option<u64>,
    /// OS index of its home node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) home: Option<u32>,
    /// Others run on its processors, or it runs on theirs: its place says nothing about the
    /// processors it owns.
    #[serde(default)]
    pub(crate) shared: bool,
    /// Its cgroup before it was moved into one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
    /// It waits in the queue.
    #[serde(default)]
    pub(crate) waiting: bool,
    /// Processes that have left its tree, with their start times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) strays: Vec<(u32, u64)>,
    /// The jobserver of its build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) jobserver: Option<SavedJobserver>,
}

/// The state that a former manager left, because it was killed, with what it had noted since. Its
/// applications in order.
pub(crate) fn former_state(dir: &RuntimeDir) -> Option<State> {
    let text = std::fs::read(dir.file(STATE_FILE)).ok()?;
    let mut state: State = serde_json::from_slice(&text)
        .inspect_err(|cause| warn!("the former manager's state is left out: {cause}"))
        .ok()?;
    if state.version != VERSION {
        warn!(version = state.version, "the former manager's state is of another version and left out");
        return None;
    }
    state.apps.sort_by_key(|entry| entry.app);
    state.apps.dedup_by_key(|entry| entry.app);
    state.masks.add_notes(Notes::read(dir));
    Some(state)
}

/// The affinities that the former manager of a directory owes to processes, and did not give back
/// because it was killed, and the masks that were its own. `None` if it ended in order.
pub(crate) fn owed_by_former(dir: &RuntimeDir) -> Option<(Vec<Owed>, SavedMasks)> {
    let state = former_state(dir)?;
    let own = state.masks.own.iter().map(|((pid, start_time), own)| Owed {
        pid: *pid,
        start_time: *start_time,
        original: own.clone(),
    });
    let mut owed: Vec<Owed> = own.collect();
    for saved in state.apps {
        let Ok(original) = saved.original.parse::<CpuSet>() else { continue };
        let processes = std::iter::once((saved.pid, saved.start_time)).chain(saved.strays);
        owed.extend(processes.map(|(pid, start_time)| Owed { pid, start_time, original: original.clone() }));
    }
    Some((owed, state.masks))
}

/// The lock of the directory. A guard that cleans up after a manager that was killed holds it for
/// some milliseconds, and is waited for.
fn take_lock(dir: &RuntimeDir) -> Result<Option<DirLock>> {
    if let Some(lock) = dir.lock_manager()? {
        return Ok(Some(lock));
    }
    let _cleaned = dir.lock_cleaning()?;
    Ok(dir.lock_manager()?)
}

/// The files for `LD_PRELOAD` that commands have put into a directory.
fn libraries(dir: &Path) -> Vec<PathBuf> {
    let named = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with("libnumaestro_") && name.strip_suffix(".so").is_some()
    };
    std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).filter(named).collect()
}

/// The manager's own directory, while it lives.
#[derive(Debug)]
pub(crate) struct Directory {
    dir: RuntimeDir,
    lock: DirLock,
    /// Tells that something of the directory has been removed.
    removals: Option<Watch>,
    /// The state file as it was written last.
    saved: Vec<u8>,
    /// There is a file of jobs.
    has_jobs: bool,
}

impl Directory {
    /// Takes the directory; `None` if another manager has it.
    pub(crate) fn take(config: &Config) -> Result<Option<Self>> {
        let dir = service::directory(config)?;
        Ok(take_lock(&dir)?.map(|lock| Self { dir, lock, removals: None, saved: Vec::new(), has_jobs: false }))
    }

    /// Takes it once more after somebody has removed it: makes it anew where it is gone. False if
    /// another manager lives there by now.
    pub(crate) fn take_again(&mut self, config: &Config) -> Result<bool> {
        let open = if config.system { RuntimeDir::open_for_all } else { RuntimeDir::open };
        let dir = open(self.dir.path().to_owned())?;
        if !self.lock.holds() {
            let Some(lock) = take_lock(&dir)? else { return Ok(false) };
            self.lock = lock;
        }
        (self.dir, self.saved) = (dir, Vec::new());
        Ok(true)
    }

    /// The directory and everything in it that others need are as this manager has made them.
    pub(crate) fn is_whole(&self) -> bool {
        let sockets = [self.dir.attach_socket(), self.dir.control_socket()];
        self.is_ours() && sockets.iter().all(|path| path.exists())
    }

    /// Nobody has removed the directory: what is in it is this manager's.
    fn is_ours(&self) -> bool {
        self.lock.holds()
    }

    /// Watches over the directory, the lock and the sockets as they are now.
    pub(crate) fn watch(&mut self, wakeups: &Wakeups) {
        if let Some(before) = self.removals.take() {
            wakeups.forget(&before);
        }
        let files =
            [self.dir.path().to_owned(), self.dir.file(LOCK), self.dir.attach_socket(), self.dir.control_socket()];
        let watched = Watch::of_removals().and_then(|mut watch| {
            watch.set(files.iter().map(PathBuf::as_path));
            wakeups.watch(&watch, FrontSource::Place, Interest::Read).map(|()| watch)
        });
        match watched {
            Ok(watch) => self.removals = Some(watch),
            Err(cause) => info!("the removal of the directory would not be seen: {cause}"),
        }
    }

    /// Something may have been removed.
    pub(crate) fn take_removals(&self) -> bool {
        self.removals.as_ref().is_some_and(Watch::take)
    }

    pub(crate) fn runtime(&self) -> &RuntimeDir {
        &self.dir
    }

    /// The socket that programs come to.
    pub(crate) fn attach_socket(&self) -> PathBuf {
        self.dir.attach_socket()
    }

    /// Writes the state, whole or not at all, and only if it is another one. True: the file has it.
    pub(crate) fn save(&mut self, state: &State) -> bool {
        let text = serde_json::to_vec(state).unwrap_or_default();
        if !self.is_ours() {
            return false;
        }
        if text == self.saved {
            return true;
        }
        match self.dir.replace(STATE_FILE, &text) {
            Ok(()) => self.saved = text,
            Err(cause) => {
                warn!("a restart would find an old state: {cause}");
                return false;
            }
        }
        true
    }

    /// Writes the jobs, whole or not at all. Without jobs there is no file.
    pub(crate) fn save_jobs(&mut self, jobs: &SavedJobs) {
        if !self.is_ours() {
            return;
        }
        if jobs.jobs.is_empty() {
            if std::mem::take(&mut self.has_jobs) {
                let _ = std::fs::remove_file(self.dir.file(JOBS_FILE));
            }
            return;
        }
        self.has_jobs = true;
        let text = serde_json::to_vec(jobs).unwrap_or_default();
        if let Err(cause) = self.dir.replace(JOBS_FILE, &text) {
            warn!("a restart would not find the jobs: {cause}");
        }
    }

    /// The jobs that a former manager left.
    pub(crate) fn former_jobs(&mut self) -> Option<SavedJobs> {
        let text = std::fs::read(self.dir.file(JOBS_FILE)).ok()?;
        self.has_jobs = true;
        serde_json::from_slice(&text).inspect_err(|cause| warn!("the former manager's jobs are left out: {cause}")).ok()
    }

    /// An orderly end leaves nothing but what somebody needs. Sockets that were passed to us stay:
    /// the next manager gets them too. The log stays if it says something. Libraries stay while a
    /// process lives that names one of them: every program that it starts would complain.
    /// `nobody`: there is no such process.
    ///
    /// The directory itself stays: a command may just have opened it to start the next manager.
    pub(crate) fn clear(&self, sockets_stay: bool, nobody: bool) {
        // Otherwise it is another manager's by now.
        if !self.is_ours() {
            return;
        }
        let sockets = [self.dir.attach_socket(), self.dir.control_socket()];
        let mut gone: Vec<PathBuf> = sockets.into_iter().filter(|_| !sockets_stay).collect();
        gone.extend([STATE_FILE, NOTES_FILE, SILENT_FILE].map(|name| self.dir.file(name)));
        let log = self.dir.file(LOG_FILE);
        gone.extend(std::fs::metadata(&log).is_ok_and(|found| found.len() == 0).then_some(log));
        if nobody {
            gone.extend(libraries(self.dir.path()));
        }
        for path in gone {
            let _ = std::fs::remove_file::<&Path>(path.as_ref());
        }
    }
}

impl State {
    pub(crate) fn new(app_next: u64, policy: String, apps: Vec<SavedApp>, masks: SavedMasks) -> Self {
        Self { version: VERSION, app_next, policy, apps, masks }
    }
}
