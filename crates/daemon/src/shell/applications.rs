//! The life of an application in the shell: it arrives, asks, is let go and departs.

use std::collections::BTreeSet;
use std::time::Duration;

use numaestro_abi::control::{Jobserver, Options, Reply, Whole};
use numaestro_engine::{Class, Event, Wish};
use numaestro_host::poll::Interest;
use numaestro_host::{PidFd, monotonic_ns, procfs};
use numaestro_policy::AppId;
use numaestro_topology::{CpuSet, PuSet};
use tracing::{info, warn};

use super::Shell;
use super::actuators::Actuators;
use crate::decision::obligations::{Allocation, Wants};
use crate::decision::wishes::Limits;
use crate::identity::peer::LivePeer;
use crate::programs::{App, Owner, Programs};
use crate::wakeups::ShellSource;

/// Longest delay of the end by affinities that cannot be given back at once. Usually it takes
/// milliseconds.
const PATIENCE_AT_END: Duration = Duration::from_secs(2);

/// A process that becomes an application.
#[derive(Debug)]
pub(crate) struct Newcomer {
    pub(crate) process: PidFd,
    pub(crate) owner: Owner,
    pub(crate) name: String,
    pub(crate) options: Options,
    /// The processors that its user gives it, if its `run` or a former manager says so.
    pub(crate) own: Option<CpuSet>,
}

/// Says whether a process is the manager, an application, or belongs to one.
pub(super) fn manages(programs: &Programs, actuators: &Actuators, pid: u32) -> bool {
    let own = std::process::id();
    let ours = |pid: &u32| *pid == own || programs.of_pid(*pid).is_some() || actuators.trees.has_member(*pid);
    ours(&pid) || procfs::ancestors(pid).iter().any(ours)
}

impl Shell {
    /// A new entry, not yet known to the engine; [`Self::arrive`] comes next.
    pub(crate) fn insert(&mut self, newcomer: Newcomer) -> u64 {
        let number = self.programs.next_number();
        self.insert_as(number, newcomer);
        self.serve_jobs(number);
        number
    }

    pub(super) fn insert_as(&mut self, number: u64, newcomer: Newcomer) {
        let Newcomer { process, owner, name, options, own } = newcomer;
        if let Err(cause) = self.wakeups.watch(&process, ShellSource::Process(number), Interest::Read) {
            warn!(pid = process.pid(), "its end will not be seen: {cause}");
        }
        let arrived_ns = monotonic_ns();
        let around = self.application_above(process.pid());
        self.actuators.trees.enter(number, process.pid(), own, around, &self.site.usable);
        self.actuators.pages.enter(number, &name, arrived_ns);
        let wants = Wants::new(Limits::of(&options).max, self.site.processors());
        self.programs.insert(App {
            number,
            process,
            owner,
            name,
            options,
            arrived_ns,
            runtimes: 0,
            class: Class::Fold,
            wants,
            allocation: Allocation::default(),
            wrapper: None,
            wrapped: 0,
            waiting: None,
            asker: None,
        });
    }

    /// Supplies the jobserver that the command of an application has made.
    fn serve_jobs(&mut self, app: u64) {
        let Some(entry) = self.programs.get(app) else { return };
        if let Some(Jobserver::Pipe { read }) = entry.options.jobserver {
            self.actuators.jobservers.serve(app, (entry.pid(), entry.owner.uid), read);
        }
    }

    /// The `run` on this connection waits for the application.
    pub(crate) fn set_asker(&mut self, app: u64, connection: u64) {
        if let Some(entry) = self.programs.get_mut(app) {
            entry.asker = Some(connection);
        }
    }

    /// A `run` that waited in a former manager's queue has come to this one.
    pub(crate) fn ask_again(&mut self, app: u64, connection: u64) {
        let Some(entry) = self.programs.get_mut(app) else { return };
        entry.asker = Some(connection);
        match entry.waiting {
            Some(position) => self.outcome.replies.push((connection, Reply::Waiting { app, position })),
            None => self.answer_run(app),
        }
    }

    fn wish(&self, app: &App, request: u32, claim: Option<PuSet>) -> Wish {
        let Limits { min, max, weight_milli } = Limits::of(&app.options);
        Wish {
            request,
            min,
            max,
            weight_milli,
            class: app.class,
            wait: app.options.wait,
            estimate_ns: app.options.estimate_ns,
            claim,
            home: self.actuators.pages.claimed(app.number),
            allowed: self.allowed_pus(app.number),
            party: app.owner.party,
            memory: app.options.memory.unwrap_or(0),
        }
    }

    /// Tells the engine of an entry, and of the processors that it claims. `Err`: the engine has
    /// refused it, and it is gone. A `run` that waits for it has its answer.
    pub(crate) fn arrive(&mut self, app: u64, claim: Option<&CpuSet>) -> Result<(), String> {
        self.read_quota(app);
        let Some(entry) = self.programs.get_mut(app) else { return Ok(()) };
        if entry.wants.request() == 0 {
            entry.wants.ask(self.sensors.quotas.of(app).within(entry.wants.wish()));
        }
        let request = entry.wants.request().max(1);
        let welcome = self.announce(app, request, claim.map(|cpus| self.site.machine.pu_set(cpus)));
        self.observe_everybodys_demand();
        self.sensors.foreign.arrived(&mut self.wakeups);
        self.move_into_cpuset(app);
        self.sensors.watch_files();
        welcome
    }

    /// Tells the engine of an entry that runs, has nothing, and is not to be given anything before
    /// [`Self::ask_for`].
    pub(crate) fn arrive_with_nothing(&mut self, app: u64) -> Result<(), String> {
        self.read_quota(app);
        if let Some(entry) = self.programs.get_mut(app) {
            entry.wants.ask(0);
        }
        let welcome = self.announce(app, 0, None);
        self.move_into_cpuset(app);
        self.sensors.watch_files();
        welcome
    }

    fn announce(&mut self, app: u64, request: u32, claim: Option<PuSet>) -> Result<(), String> {
        let Some(entry) = self.programs.get(app) else { return Ok(()) };
        let wish = self.wish(entry, request, claim);
        self.outcome.arrived = true;
        self.order(Some(app), Event::Arrive { app: AppId(app), wish })
    }

    /// The event of an application that a fresh engine is told of; `claim`: the processors it has;
    /// none for an application that is not to be given processors that a later one will claim.
    pub(super) fn arrival_again(&self, entry: &App, request: u32, claim: Option<PuSet>) -> Event {
        Event::Arrive { app: AppId(entry.number), wish: self.wish(entry, request, claim) }
    }

    /// Reads the limits of an application. The engine is not told.
    pub(super) fn read_quota(&mut self, app: u64) {
        if let Some(entry) = self.programs.get(app) {
            let confined_by_us = self.actuators.cpusets.is_ours(entry.pid());
            let by_affinity = self.actuators.trees.allowed(app);
            self.sensors.quotas.look(app, entry.pid(), (&self.site.usable, &by_affinity), confined_by_us);
        }
    }

    /// The only processors that the engine may give an application; empty: any.
    fn allowed_pus(&self, app: u64) -> PuSet {
        self.sensors.quotas.of(app).cpus.as_ref().map_or_else(PuSet::new, |cpus| self.site.machine.pu_set(cpus))
    }

    /// The processors that an application may have by affinity.
    pub(crate) fn allowed_by_affinity(&self, app: u64) -> CpuSet {
        self.actuators.trees.allowed(app)
    }

    /// The processors that an application may have are perhaps others: tells the engine.
    pub(super) fn renew_allowed(&mut self, app: u64) {
        let before = (self.sensors.quotas.of(app).most, self.allowed_pus(app));
        self.read_quota(app);
        let (pus, allowed) = (self.allowed_pus(app), self.sensors.quotas.of(app));
        let Some(entry) = self.programs.get(app).filter(|_| before != (allowed.most, pus.clone())) else { return };
        info!(app, why = allowed.why, "may use other processors");
        let (wish, asks) = (entry.wants.wish(), !entry.is_wrapper() && entry.wants.request() > 0);
        if before.1 != pus {
            self.tell([Event::Allowed { app: AppId(app), pus }]);
        }
        if asks {
            self.request(app, wish);
            self.observe_demand_soon(app);
        }
    }

    /// It is moved into its group in a moment, unless its command still waits for an answer.
    fn move_into_cpuset(&mut self, app: u64) {
        if self.programs.get(app).is_some_and(|entry| entry.asker.is_none()) {
            self.actuators.cpusets.arrived(app, &mut self.wakeups);
        }
    }

    /// Asks the engine for another number of processors.
    pub(crate) fn ask_for(&mut self, app: u64, processors: u32) {
        self.request(app, processors);
        self.settle();
    }

    pub(super) fn request(&mut self, app: u64, processors: u32) {
        let Some(entry) = self.programs.get_mut(app) else { return };
        let processors = self.sensors.quotas.of(app).within(processors);
        let before = entry.wants.ask(processors);
        if before == processors {
            return;
        }
        self.tell([Event::Request { app: AppId(app), processors }]);
        if processors > before {
            // It may want processors that others hold without need.
            for other in self.programs.numbers().into_iter().filter(|other| *other != app) {
                self.observe_demand_soon(other);
            }
        }
    }

    /// Lets a wrapper's processes run wherever they may: they only wait for the programs inside.
    pub(super) fn widen(&mut self, app: u64) {
        let allowed = self.actuators.trees.allowed(app).intersection(&self.site.usable);
        let place = if allowed.is_empty() { self.site.usable.clone() } else { allowed };
        self.place_on(app, &place);
    }

    /// No limits for an application any more: its page says so, and its threads go back to where
    /// they would be without us.
    pub(crate) fn let_go(&mut self, app: u64) {
        let original = self.actuators.trees.original(app);
        self.leave_cpuset(app);
        self.actuators.jobservers.release(app, original.len() as u32, &mut self.wakeups);
        let Some(entry) = self.programs.get(app) else { return };
        self.actuators.release(entry, &self.actuators.trees.allowed(app));
        self.place_on(app, &original);
    }

    fn leave_cpuset(&mut self, app: u64) {
        let original = self.actuators.trees.original(app);
        let programs = &self.programs;
        let is_root = |pid: u32| programs.of_pid(pid).is_some();
        let Actuators { cpusets, trees, .. } = &mut self.actuators;
        let ours = &mut trees.judge(app, &original);
        cpusets.leave(app, &original, (&is_root, ours), &mut self.wakeups);
    }

    /// Takes an entry out; the engine is not told.
    pub(super) fn forget(&mut self, app: u64) -> Option<App> {
        self.leave_cpuset(app);
        let gone = self.programs.remove(app)?;
        self.wakeups.forget(&gone.process);
        self.sensors.forget(app, &mut self.wakeups);
        self.actuators.forget(app);
        self.actuators.jobservers.forget(app, &mut self.wakeups);
        let programs = &self.programs;
        let is_application = |pid: u32| programs.of_pid(pid).is_some();
        self.actuators.trees.leave(app, &is_application, &mut self.wakeups);
        self.outcome.departed = true;
        Some(gone)
    }

    /// An application is gone or let go; its processors become free.
    pub(crate) fn depart(&mut self, app: u64) {
        self.remove(app);
        self.settle();
    }

    /// A process becomes an application, from where it would be without us, if it was one before.
    /// One of the same number departs too, of a process that has ended.
    pub(crate) fn start_over(&mut self, peer: &LivePeer) {
        let Some(former) = self.programs.of_pid(peer.pid()) else { return };
        if self.programs.get(former).is_some_and(|entry| peer.is(&entry.process)) {
            self.let_go(former);
        }
        self.depart(former);
    }

    pub(super) fn remove(&mut self, app: u64) {
        if self.programs.contains(app) {
            self.tell([Event::Depart { app: AppId(app) }]);
            self.discard(app);
        }
    }

    /// It is gone, and the engine knows or never knew it.
    pub(super) fn discard(&mut self, app: u64) {
        let Some(gone) = self.forget(app) else { return };
        if let Some(wrapper) = gone.wrapper {
            self.unwrap_from(wrapper);
        }
        let applications = !self.programs.is_empty();
        let unmanaged = self.sensors.foreign.watch(applications, &mut self.wakeups);
        self.tell(unmanaged);
    }

    /// Roots of everything that is managed: applications, and processes that have left them.
    pub(super) fn managed(&self) -> BTreeSet<u32> {
        self.programs.roots().chain(self.actuators.trees.all_strays()).collect()
    }

    /// Says whether a process is the manager, an application, or belongs to one.
    pub(crate) fn manages(&self, pid: u32) -> bool {
        manages(&self.programs, &self.actuators, pid)
    }

    /// The application that a process descends from.
    pub(super) fn application_above(&self, pid: u32) -> Option<u64> {
        procfs::ancestors(pid).into_iter().find_map(|pid| self.programs.of_pid(pid))
    }

    /// The application that a process belongs to.
    pub(crate) fn application_of(&self, pid: u32) -> Option<u64> {
        let by_root = |pid: u32| self.programs.of_pid(pid);
        by_root(pid).or_else(|| self.application_above(pid)).or_else(|| self.actuators.trees.app_of_member(pid))
    }

    /// The reason why the system does not let us move an application, if it does not.
    pub(crate) fn denied(&self, app: u64) -> Option<String> {
        self.actuators.denied(app).map(str::to_owned)
    }

    /// Makes sure that these applications, which have been let go, and everything that has left
    /// them have their affinity back.
    pub(crate) fn pay_back(&self, apps: &[u64], patience: Duration) -> Whole {
        let gone: Vec<&App> = apps.iter().filter_map(|app| self.programs.get(*app)).collect();
        let Self { actuators, .. } = self;
        let owed: Vec<_> = gone.iter().flat_map(|app| actuators.trees.owed(app.number)).collect();
        let settled = || gone.iter().all(|app| actuators.shared_pages.has_adopted_release(app.number, &app.allocation));
        actuators.trees.pay(&owed, self.managed(), patience, settled)
    }

    /// All programs run again; gives the connections that wait for an answer.
    pub(crate) fn end_queue(&mut self) -> Vec<u64> {
        self.actuators.stops.end();
        self.programs.iter().filter_map(|entry| entry.asker).collect()
    }

    /// The orderly end: nothing is left parked or narrowed.
    pub(crate) fn end(&mut self) -> Whole {
        let apps = self.programs.numbers();
        for app in &apps {
            self.let_go(*app);
        }
        self.actuators.cpusets.close();
        let whole = self.pay_back(&apps, PATIENCE_AT_END);
        info!(processes = whole.processes, threads = whole.threads, "every affinity was given back");
        for left in &whole.left {
            warn!(pid = left.pid, name = left.name, "keeps an affinity of ours: {}", left.why);
        }
        whole
    }
}
