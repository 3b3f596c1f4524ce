//! What a manager leaves for the next one: which processes were applications, and what they had. Read once at the start; whatever in it is
//! stale or not understood is left out, and never stops the start.

use numaestro_abi::control::Options;
use numaestro_engine::Class;
use numaestro_host::PidFd;
use numaestro_topology::CpuSet;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::manager::Manager;

/// Its name in the runtime directory.
pub(crate) const STATE_FILE: &str = "state.json";
/// Version of the format.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct State {
    version: u32,
    /// Numbers below have been given.
    app_next: u64,
    /// As `policy set` takes it.
    policy: String,
    apps: Vec<SavedApp>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedApp {
    app: u64,
    pid: u32,
    /// Clock ticks after boot: with `pid`, the process.
    start_time: u64,
    name: String,
    options: Options,
    wish: u32,
    /// OS indices.
    cpus: String,
    /// Affinity before it was managed.
    original: String,
    page: bool,
    epoch: u32,
    wrapper: Option<u64>,
}

impl Manager {
    /// Writes the file, whole or not at all.
    pub(crate) fn save_state(&mut self) {
        let apps = self.apps.values().map(|entry| SavedApp {
            app: entry.number,
            pid: entry.pid(),
            start_time: entry.process.start_time(),
            name: entry.name.clone(),
            options: entry.options.clone(),
            wish: entry.wish,
            cpus: entry.target.as_ref().map(|target| target.cpus.to_string()).unwrap_or_default(),
            original: entry.original.to_string(),
            page: entry.had_page,
            epoch: entry.epoch_base + entry.target.as_ref().map_or(0, |target| target.epoch),
            wrapper: entry.wrapper,
        });
        let state =
            State { version: VERSION, app_next: self.app_next, policy: self.brain.policy_text(), apps: apps.collect() };
        let text = serde_json::to_vec(&state).unwrap_or_default();
        if text == self.saved {
            return;
        }
        match self.dir.replace(STATE_FILE, &text) {
            Ok(()) => self.saved = text,
            Err(cause) => warn!("a restart would find an old state: {cause}"),
        }
    }

    /// Takes over from a former manager that was killed.
    pub(crate) fn take_over(&mut self) {
        let Ok(text) = std::fs::read(self.dir.file(STATE_FILE)) else { return };
        let state: State = match serde_json::from_slice(&text) {
            Ok(state) => state,
            Err(cause) => {
                warn!("the former manager's state is left out: {cause}");
                return;
            }
        };
        if state.version != VERSION {
            warn!(version = state.version, "the former manager's state is of another version and left out");
            return;
        }
        self.app_next = self.app_next.max(state.app_next.min(u64::MAX / 2));
        // The file is there only after a death: an orderly end removes it, and then the configured policy counts.
        if state.policy != self.brain.policy_text() {
            self.feed(numaestro_engine::Event::Policy { policy: state.policy });
        }
        let mut saved = state.apps;
        saved.sort_by_key(|entry| entry.app);
        saved.dedup_by_key(|entry| entry.app);
        for entry in saved {
            self.take_over_one(entry);
        }
    }

    fn take_over_one(&mut self, saved: SavedApp) {
        // Gone, or the number is another process's by now.
        let Ok(process) = PidFd::open_verified(saved.pid, saved.start_time) else { return };
        if self.by_pid.contains_key(&saved.pid) || saved.app >= self.app_next {
            return;
        }
        info!(app = saved.app, pid = saved.pid, "taken over");
        self.insert_as(saved.app, process, saved.name, saved.options, Class::Fold);
        let most = self.usable.len() as u32;
        if let Some(entry) = self.apps.get_mut(&saved.app) {
            entry.wish = saved.wish.clamp(1, most.max(1));
            entry.epoch_base = saved.epoch;
            entry.had_page = saved.page;
            entry.options.wait = Some(false);
            if let Ok(original) = saved.original.parse::<CpuSet>()
                && original.intersects(&self.usable)
            {
                entry.original = original;
            }
        }
        let claim = saved.cpus.parse::<CpuSet>().ok().map(|cpus| self.machine.pu_set(&cpus));
        self.arrive(saved.app, claim.filter(|pus| !pus.is_empty()));
        if let Some(wrapper) = saved.wrapper.filter(|wrapper| self.apps.contains_key(wrapper)) {
            self.wrap(wrapper, saved.app);
        }
    }
}
