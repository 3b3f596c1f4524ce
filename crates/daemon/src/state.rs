//! What a manager leaves for the next one: which processes were applications, and what they had. Read once at the start; whatever in it is
//! stale or not understood is left out, and never stops the start.

use std::collections::BTreeSet;

use numaestro_abi::control::Options;
use numaestro_engine::Class;
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::{PidFd, affinity};
use numaestro_topology::CpuSet;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::manager::Manager;
use crate::whole::Owed;

/// Its name in the runtime directory.
pub(crate) const STATE_FILE: &str = "state.json";
/// Version of the format.
const VERSION: u32 = 1;

/// Up to so many applications the file is written at every arrival.
const APPS_AT_ONCE: usize = 64;

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
    /// Who has started it.
    #[serde(default)]
    uid: u32,
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
    /// OS index of its home node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home: Option<u32>,
    /// Others run on its processors, or it runs on theirs: where it is says nothing about what it owns.
    #[serde(default)]
    shared: bool,
    /// Its cgroup before it was moved into one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// It waits in the queue.
    #[serde(default)]
    waiting: bool,
    /// Processes that have left its tree, with their start times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    strays: Vec<(u32, u64)>,
}

/// What the former manager of a directory owes to whom, and did not pay because it was killed.
/// `None` if it ended in order.
pub(crate) fn owed_by_former(dir: &RuntimeDir) -> Option<Vec<Owed>> {
    let text = std::fs::read(dir.file(STATE_FILE)).ok()?;
    let state: State = serde_json::from_slice(&text).ok().filter(|state: &State| state.version == VERSION)?;
    let mut owed = Vec::new();
    for saved in state.apps {
        let Ok(original) = saved.original.parse::<CpuSet>() else { continue };
        let processes = std::iter::once((saved.pid, saved.start_time)).chain(saved.strays);
        owed.extend(processes.map(|(pid, start_time)| Owed { pid, start_time, original: original.clone() }));
    }
    Some(owed)
}

impl Manager {
    /// Writes the file before somebody is told what is in it; not while so many run that this would hold everybody up.
    pub(crate) fn save_soon_enough(&mut self) {
        if self.apps.len() <= APPS_AT_ONCE {
            self.save_state();
        }
    }

    /// Writes the file, whole or not at all.
    pub(crate) fn save_state(&mut self) {
        let owned = self.owned();
        let apps = self.apps.values().map(|entry| SavedApp {
            app: entry.number,
            pid: entry.pid(),
            uid: entry.uid,
            start_time: entry.process.start_time(),
            name: entry.name.clone(),
            options: entry.options.clone(),
            wish: entry.could,
            cpus: owned.get(&entry.number).map(CpuSet::to_string).unwrap_or_default(),
            original: entry.original.to_string(),
            page: entry.had_page,
            epoch: entry.epoch_base + entry.target.as_ref().map_or(0, |target| target.epoch),
            wrapper: entry.wrapper,
            home: self.home_of(entry.number),
            shared: entry.target.as_ref().is_none_or(|target| target.shared),
            origin: entry.cpuset.as_ref().map(|confined| confined.origin.clone()),
            waiting: entry.waiting.is_some(),
            strays: entry.strays.iter().filter_map(|pid| Some((*pid, *entry.members.get(pid)?))).collect(),
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
        let origin = |entry: &SavedApp| Some((entry.app, entry.origin.clone()?));
        let origins = saved.iter().filter_map(origin).collect();
        let living = |entry: &&SavedApp| is_alive(entry.pid, entry.start_time);
        let wrappers: BTreeSet<u64> = saved.iter().filter(living).filter_map(|entry| entry.wrapper).collect();
        let mut without = Vec::new();
        let (queue, saved): (Vec<SavedApp>, Vec<SavedApp>) = saved.into_iter().partition(|entry| entry.waiting);
        for entry in saved {
            let (app, wraps) = (entry.app, wrappers.contains(&entry.app));
            // Those that have nothing must not be given what somebody after them will claim.
            if self.take_over_one(&entry, wraps) && !wraps {
                without.push(app);
            }
        }
        for app in without {
            let wish = self.apps.get(&app).map_or(1, |entry| entry.wish);
            self.ask_for(app, wish);
        }
        // In the order of their arrival, behind everybody who runs.
        for entry in queue {
            self.queue_again(&entry);
        }
        self.clear_groups(&origins);
    }

    /// Its command waits, has seen the former manager die, and is about to come to us.
    fn queue_again(&mut self, saved: &SavedApp) {
        let Ok(process) = PidFd::open_verified(saved.pid, saved.start_time) else { return };
        if self.by_pid.contains_key(&saved.pid) || (self.config.system && self.owner_of(saved.pid) != saved.uid) {
            return;
        }
        // Numbers of applications are given in the order of arrival, and others have arrived since.
        let app = self.insert(process, saved.name.clone(), saved.options.clone(), Class::Fold);
        self.expected.insert(app);
        if let Some(entry) = self.apps.get_mut(&app)
            && let Ok(original) = saved.original.parse::<CpuSet>()
            && original.intersects(&self.usable)
        {
            entry.original = original;
        }
        info!(app, pid = saved.pid, "waits here now");
        self.arrive(app, None);
    }

    /// What it has: what was saved, unless the kernel knows better. Programs may have been told more since, and have moved.
    fn claim_of(&self, app: u64, saved: &SavedApp) -> CpuSet {
        let known: CpuSet = saved.cpus.parse().unwrap_or_default();
        let Some(entry) = self.apps.get(&app) else { return known };
        if saved.shared {
            return known;
        }
        let seen = match &entry.cpuset {
            Some(confined) => Some(confined.cpus.clone()),
            None => affinity::of_process(saved.pid).ok(),
        };
        let seen = seen.map(|cpus| cpus.intersection(&self.usable)).filter(|cpus| !cpus.is_empty());
        match seen {
            // Threads that may be anywhere say nothing: they have not been moved yet, or a part of the program widens itself.
            Some(seen) if seen != self.usable => seen,
            _ => known,
        }
    }

    /// True if it is there and claims nothing.
    fn take_over_one(&mut self, saved: &SavedApp, wraps: bool) -> bool {
        // Gone, or the number is another process's by now.
        let Ok(process) = PidFd::open_verified(saved.pid, saved.start_time) else { return false };
        if self.by_pid.contains_key(&saved.pid) || saved.app >= self.app_next {
            return false;
        }
        if self.config.system && self.owner_of(saved.pid) != saved.uid {
            return false;
        }
        info!(app = saved.app, pid = saved.pid, "taken over");
        self.insert_as(saved.app, process, saved.name.clone(), saved.options.clone(), Class::Fold);
        let most = self.usable.len() as u32;
        if let Some(entry) = self.apps.get_mut(&saved.app) {
            entry.could = saved.wish;
            entry.wish = saved.wish.clamp(1, most.max(1));
            entry.epoch_base = saved.epoch;
            entry.had_page = saved.page;
            entry.memory.claimed = saved.home.and_then(|home| crate::pages::node_of_os(&self.machine, home));
            entry.options.wait = Some(false);
            entry.members = saved.strays.iter().copied().collect();
            entry.strays = saved.strays.iter().map(|(pid, _)| *pid).collect();
            if let Ok(original) = saved.original.parse::<CpuSet>()
                && original.intersects(&self.usable)
            {
                entry.original = original;
            }
        }
        if let Some(origin) = &saved.origin {
            self.find_cpuset(saved.app, origin);
        }
        let claim = if wraps { CpuSet::default() } else { self.claim_of(saved.app, saved) };
        let pus = self.machine.pu_set(&claim);
        let nothing = pus.is_empty();
        if nothing {
            self.arrive_with_nothing(saved.app);
        } else {
            self.arrive(saved.app, Some(pus));
        }
        if let Some(wrapper) = saved.wrapper.filter(|wrapper| self.apps.contains_key(wrapper)) {
            self.wrap(wrapper, saved.app);
        }
        nothing && self.apps.contains_key(&saved.app)
    }
}

fn is_alive(pid: u32, start_time: u64) -> bool {
    numaestro_host::procfs::stat(pid).is_ok_and(|stat| stat.start_time == start_time && stat.state != 'Z')
}
