//! What the engine says, done: pages written, threads moved, waiting commands answered. It must not know why.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use numaestro_abi::control::{Options, Reply};
use numaestro_abi::page::flag;
use numaestro_engine::{Class, Event, Wish};
use numaestro_host::memory::Decision;
use numaestro_host::poll::Interest;
use numaestro_host::{PidFd, affinity, monotonic_ns, procfs};
use numaestro_policy::AppId;
use numaestro_topology::{CpuSet, PuSet};
use tracing::{info, warn};

use crate::app::{App, Demand, Phases, Target, Turn};
use crate::manager::{Manager, token};

/// How long the end is held up by what does not let itself be given back. Usually it takes
/// milliseconds.
const PATIENCE_AT_END: std::time::Duration = std::time::Duration::from_secs(2);

impl App {
    /// What its page is to say.
    pub(crate) fn decision<'a>(&'a self, target: &'a Target, decided_ns: u64) -> Decision<'a> {
        Decision {
            epoch: self.epoch_base.wrapping_add(target.epoch),
            count: target.count,
            flags: self.flags(target),
            cpus: &target.cpus,
            memory: self.memory.told.as_ref(),
            decided_ns,
        }
    }
}

impl Manager {
    /// A new entry, not yet known to the engine; [`Self::arrive`] comes next.
    pub(crate) fn insert(&mut self, process: PidFd, name: String, options: Options, class: Class) -> u64 {
        let number = self.app_next;
        self.app_next += 1;
        self.insert_as(number, process, name, options, class);
        number
    }

    /// The same with a number that was given before.
    pub(crate) fn insert_as(&mut self, number: u64, process: PidFd, name: String, options: Options, class: Class) {
        let pid = process.pid();
        if let Err(cause) = self.poller.add(process.as_fd(), token::PROCESS + number, Interest::Read) {
            warn!(pid, "its end will not be seen: {cause}");
        }
        let uid = self.owner_of(pid);
        let party = self.user(uid).party;
        let most = self.usable.len() as u32;
        let could = options.max.unwrap_or(u32::MAX);
        let wish = could.clamp(1, most.max(1));
        let app = App {
            number,
            original: self.original_of(pid),
            process,
            uid,
            party,
            name,
            options,
            arrived_ns: monotonic_ns(),
            page: None,
            runtimes: 0,
            class,
            could,
            wish,
            request: 0,
            wrapper: None,
            wrapped: 0,
            target: None,
            epoch_base: 0,
            adopted: 0,
            waiting: None,
            asker: None,
            phases: Phases::default(),
            demand: Demand::default(),
            moved: false,
            turn: Turn::Runs,
            denied: None,
            cpuset: None,
            stays: None,
            allowed: crate::quota::Allowed::default(),
            had_page: false,
            memory: crate::pages::AppMemory::default(),
            measures: self.wants_measurements(),
            members: BTreeMap::new(),
            strays: std::collections::BTreeSet::new(),
        };
        self.by_pid.insert(pid, number);
        self.apps.insert(number, app);
        self.timers.clear(crate::timers::Due::Idle);
    }

    /// Tells the engine of an entry that runs, has nothing, and is not to be given anything before [`Self::ask_for`].
    pub(crate) fn arrive_with_nothing(&mut self, app: u64) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        entry.request = 0;
        let wish = Wish { request: 0, ..Self::wish_of(entry, None) };
        self.read_limits(app);
        self.feed(Event::Arrive { app: AppId(app), wish });
        self.consider_cpuset(app);
        self.watch_files();
    }

    /// Tells the engine of an entry.
    pub(crate) fn arrive(&mut self, app: u64, claim: Option<PuSet>) {
        self.read_limits(app);
        let Some(entry) = self.apps.get_mut(&app) else { return };
        if entry.request == 0 {
            entry.request = entry.within_limits(entry.wish);
        }
        let wish = Self::wish_of(entry, claim);
        self.feed(Event::Arrive { app: AppId(app), wish });
        self.consider_everybodys_demand();
        self.foreign_after_arrival();
        self.consider_cpuset(app);
        self.watch_files();
        self.scan_after_arrival();
    }

    /// The wish of an application as the engine wants it.
    pub(crate) fn wish_of(entry: &App, claim: Option<PuSet>) -> Wish {
        Wish {
            request: entry.request.max(1),
            min: entry.options.min.unwrap_or(1).max(1),
            max: entry.options.max.unwrap_or(u32::MAX).max(1),
            weight_milli: entry.options.weight_milli.unwrap_or(1000).max(1),
            class: entry.class,
            wait: entry.options.wait,
            estimate_ns: entry.options.estimate_ns,
            claim,
            home: entry.memory.claimed,
            party: entry.party,
            memory: entry.options.memory.unwrap_or(0),
        }
    }

    pub(crate) fn start(&mut self, app: u64) {
        if let Some(entry) = self.apps.get_mut(&app) {
            entry.waiting = None;
        }
    }

    pub(crate) fn wait(&mut self, app: u64, position: u32) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        entry.waiting = Some(position);
        if let Some(number) = entry.asker {
            // A manager that is killed now is followed by one that knows the place in the queue.
            self.save_soon_enough();
            self.reply(number, &Reply::Waiting { app, position });
        }
    }

    pub(crate) fn target(&mut self, app: u64, target: Target) {
        self.aim_pages(app, &target.pus);
        let others = self.apps.get(&app).map(|entry| self.other_roots(entry.pid())).unwrap_or_default();
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let epoch = target.epoch;
        entry.waiting = None;
        if entry.page.is_some() {
            entry.loosen(&target.cpus);
        }
        let published = entry.page.as_ref().map(|page| page.publish(&entry.decision(&target, monotonic_ns())));
        if !target.lent {
            (entry.phases.sequential, entry.phases.blocked) = (false, false);
        }
        entry.target = Some(target);
        match published {
            Some(Ok(())) => self.look_again_after_lending(app),
            Some(Err(cause)) => warn!(app, "cannot wake it: {cause}"),
            None => {
                if !entry.is_wrapper() {
                    Self::move_tree(entry, &others);
                }
                entry.adopted = epoch;
                self.events.push_back(Event::Adopted { app: AppId(app), epoch });
            }
        }
        self.watch_pages(app);
        self.answer_run(app);
    }

    pub(crate) fn force(&mut self, app: u64, epoch: u32, pus: &PuSet) {
        let cpus = self.machine.os_cpuset(pus);
        let others = self.apps.get(&app).map(|entry| self.other_roots(entry.pid())).unwrap_or_default();
        let Some(entry) = self.apps.get_mut(&app) else { return };
        info!(app, epoch, %cpus, "did not move in time; moved from outside");
        Self::move_tree_to(entry, &others, &cpus);
        entry.adopted = entry.adopted.max(epoch);
        self.events.push_back(Event::Adopted { app: AppId(app), epoch });
    }

    /// Moves an application's processes to where it was told to be.
    pub(crate) fn move_tree(entry: &mut App, others: &std::collections::BTreeSet<u32>) {
        if let Some(cpus) = entry.target.as_ref().map(|target| target.cpus.clone()) {
            Self::move_tree_to(entry, others, &cpus);
        }
    }

    /// A refusal by the system is noted and counts as done: there is nothing more that could be.
    fn move_tree_to(entry: &mut App, others: &std::collections::BTreeSet<u32>, cpus: &CpuSet) {
        if let Some(confined) = &mut entry.cpuset {
            entry.denied = confined.set(cpus).err().map(|cause| cause.to_string());
            return;
        }
        match affinity::set_tree(entry.pid(), others, cpus) {
            Ok(moved) => {
                entry.moved |= moved.changed > 0;
                entry.denied = None;
            }
            Err(cause) if cause.is_gone() => {}
            Err(cause) => entry.denied = Some(cause.to_string()),
        }
        for stray in &entry.strays {
            let same = procfs::stat(*stray).ok().map(|stat| stat.start_time);
            if same == entry.members.get(stray).copied() && !others.contains(stray) {
                let _ = affinity::set_process(*stray, cpus);
            }
        }
    }

    /// The engine refuses something, and has changed nothing.
    pub(crate) fn refused(&mut self, app: Option<u64>, reason: &str) {
        info!(app, reason, "refused");
        self.refusals += 1;
        reason.clone_into(&mut self.refusal);
        let Some(entry) = app.and_then(|app| self.apps.get_mut(&app)) else { return };
        // Refused on arrival: no target, no place in the queue. The program runs without a manager.
        if entry.target.is_none() && entry.waiting.is_none() {
            let number = entry.asker.take();
            let app = entry.number;
            if let Some(number) = number {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.asked = None;
                }
                self.refuse(number, reason, "");
            }
            self.depart(app);
        }
    }

    /// Lets a wrapper's processes run anywhere: they only wait for what is inside.
    pub(crate) fn widen(&mut self, app: u64) {
        let others = self.apps.get(&app).map(|entry| self.other_roots(entry.pid())).unwrap_or_default();
        let usable = self.usable.clone();
        if let Some(entry) = self.apps.get_mut(&app) {
            Self::move_tree_to(entry, &others, &usable);
        }
    }

    /// No limits for an application any more: its page says so, and its threads go back to where
    /// they would be without us.
    pub(crate) fn let_go(&mut self, app: u64) {
        let others = self.apps.get(&app).map(|entry| self.other_roots(entry.pid())).unwrap_or_default();
        let Some(mut entry) = self.apps.remove(&app) else { return };
        self.leave_cpuset(&mut entry);
        self.apps.insert(app, entry);
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let epoch = entry.target.as_ref().map_or(1, |target| target.epoch + 1);
        let free = entry.memory.told.as_ref().map(|_| numaestro_host::numa::MemoryPolicy::none());
        let original = entry.original.clone();
        if let Some(page) = &entry.page {
            let decision = Decision {
                epoch: entry.epoch_base.wrapping_add(epoch),
                count: original.len() as u32,
                flags: flag::RELEASED,
                cpus: &original,
                memory: free.as_ref(),
                decided_ns: monotonic_ns(),
            };
            if let Err(cause) = page.publish(&decision) {
                warn!(app, "cannot wake it: {cause}");
            }
        }
        Self::move_tree_to(entry, &others, &original);
    }

    /// The orderly end: nothing is left parked or narrowed, and nothing that could be mistaken for
    /// a manager.
    pub(crate) fn let_everything_go(&mut self) {
        self.service_stops();
        self.stops.end();
        self.end_queue();
        let apps: Vec<u64> = self.apps.keys().copied().collect();
        for app in &apps {
            self.let_go(*app);
        }
        self.close_cpusets();
        let whole = self.pay_back(&apps, PATIENCE_AT_END);
        info!(processes = whole.processes, threads = whole.threads, "every affinity was given back");
        for left in &whole.left {
            warn!(pid = left.pid, name = left.name, "keeps an affinity of ours: {}", left.why);
        }
        // Sockets that were passed to us are not ours to remove: the next manager gets them too.
        let sockets = [self.dir.attach_socket(), self.dir.control_socket()];
        let sockets = sockets.into_iter().filter(|_| !self.service.sockets_stay);
        for path in sockets.chain([self.dir.file(crate::state::STATE_FILE)]) {
            let _ = std::fs::remove_file(path);
        }
        for asker in std::mem::take(&mut self.askers_of_end) {
            self.reply(asker, &Reply::Whole(whole.clone()));
        }
        self.connections.clear();
        info!("ended");
    }

    /// Commands that wait in the queue start their programs without a manager.
    fn end_queue(&mut self) {
        let waiting: Vec<u64> = self.apps.values().filter_map(|entry| entry.asker).collect();
        for number in waiting {
            self.reply(number, &Reply::Ended);
        }
    }

    /// Takes down which processes belong to an application, so that none is left behind when its first one ends.
    pub(crate) fn note_members(&mut self, app: u64, pids: &[u32]) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let start_of = |pid: u32| procfs::stat(pid).ok().map(|stat| stat.start_time);
        // Those that have left the tree (a parent has ended) and still live stay ours.
        entry.members.retain(|pid, start_time| start_of(*pid) == Some(*start_time));
        entry.members.extend(pids.iter().filter_map(|pid| Some((*pid, start_of(*pid)?))));
        let inside: std::collections::BTreeSet<u32> = pids.iter().copied().collect();
        entry.strays = entry.members.keys().copied().filter(|pid| !inside.contains(pid)).collect();
    }
}
