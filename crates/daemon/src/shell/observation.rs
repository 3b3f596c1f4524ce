//! The shell's sensors at work: looks at each when its time has come or its descriptor is ready,
//! and turns its observations into events.

use numaestro_contract::{Course, Observation};
use numaestro_host::{monotonic_ns, procfs};
use numaestro_topology::CpuSet;
use tracing::info;

use super::actuators::Actuators;
use super::applications::manages;
use super::{Shell, sensors};
use crate::decision::obligations;
use crate::hands::cpusets::Entrant;
use crate::programs::App;
use crate::senses::foreign::Managed;
use crate::wakeups::{ShellDue, ShellSource};

impl Shell {
    /// A time has come.
    pub(crate) fn due(&mut self, due: ShellDue) {
        match due {
            ShellDue::Demand(app) => self.observe_demand(app),
            ShellDue::Jobs(app) => self.observe_jobs(app),
            ShellDue::Phases => self.observe_phases(),
            ShellDue::Foreign => self.observe_foreign_load(),
            ShellDue::Lease => self.renew_lease(),
            ShellDue::Unstoppable => self.retry_stops(),
            ShellDue::Cpuset(app) => self.enter_cpuset(app),
            ShellDue::Strays => self.sweep(),
            ShellDue::Beginners => self.place_begun(),
            ShellDue::Pins => self.look_at_pins(),
            ShellDue::Sweep => self.actuators.cpusets.sweep(&mut self.wakeups),
            ShellDue::Nodes => self.bind_memory(),
        }
        self.settle();
    }

    /// Gives processes that have outlived their application their affinity back.
    fn sweep(&mut self) {
        let managed = self.managed();
        self.actuators.trees.sweep(&managed, &self.site.usable);
    }

    /// A descriptor is ready.
    pub(crate) fn ready(&mut self, source: ShellSource) {
        match source {
            ShellSource::Pressure => {
                let owned = self.programs.iter().any(|app| app.allocation.count() > 0);
                self.sensors.foreign.pressed(owned, &mut self.wakeups);
            }
            ShellSource::Foreign => self.sensors.foreign.heaviest_ended(&mut self.wakeups),
            ShellSource::Processors if self.sensors.changes.take_processors() => self.observe_machine(),
            ShellSource::Files if self.sensors.changes.take_files() => {
                self.observe_machine();
                self.observe_quotas(self.programs.numbers());
            }
            ShellSource::Processors | ShellSource::Files => {}
            ShellSource::Pages => self.observe_pages(),
            ShellSource::Jobserver(app) => self.actuators.jobservers.returned(app, &mut self.wakeups),
            ShellSource::Process(app) => self.process_ended(app),
        }
    }

    fn process_ended(&mut self, app: u64) {
        let Some(entry) = self.programs.get(app) else { return };
        if entry.process.has_ended() {
            info!(app, pid = entry.pid(), "ended");
            self.depart(app);
        }
    }

    /// Something has changed that gives reason to look at all programs without a page.
    pub(super) fn observe_everybodys_demand(&mut self) {
        for app in self.programs.numbers() {
            self.observe_demand_soon(app);
        }
    }

    /// Begins a row of looks at one application, if it has no page that says how many processors it
    /// can use.
    pub(super) fn observe_demand_soon(&mut self, app: u64) {
        let unstarted = |app: &App| app.is_wrapper() || app.asker.is_some();
        if self.programs.get(app).is_some_and(|app| !unstarted(app)) && !self.actuators.shared_pages.has(app) {
            self.sensors.demands.begin(app, &mut self.wakeups);
        }
    }

    fn observe_demand(&mut self, app: u64) {
        let Some(entry) = self.programs.get(app) else { return };
        if entry.is_wrapper() || self.actuators.shared_pages.has(app) {
            return;
        }
        if self.actuators.stops.is_stopped(app) {
            self.sensors.demands.miss(app);
            return;
        }
        let others = self.programs.other_roots(entry.pid());
        let pids = procfs::tree(entry.pid(), &others).unwrap_or_default();
        self.actuators.trees.note_members(app, &pids);
        let mut active = self.sensors.demands.look(app, &pids, entry.arrived_ns);
        if active >= entry.allocation.count() && self.actuators.jobservers.is_exhausted(app) {
            // A build starts no more jobs than it has tokens: its threads do not say how many
            // processors it could use.
            active = entry.wants.wish();
        }
        let candidates = sensors::phase_candidates(&self.programs, &self.actuators, &self.sensors.demands);
        let mut subjects = candidates.iter().map(|candidate| candidate.subject).filter(|other| other.app.0 != app);
        let mut contended = subjects.any(|other| other.wants_more(&self.course));
        let wish = entry.wants.wish();
        let mut below_wish = true;
        if let Some(target) = entry.allocation.target() {
            below_wish = target.shared || target.count < wish;
            contended |= target.shared;
            let ours = &mut self.actuators.trees.judge(app, &target.cpus);
            self.actuators.cpusets.place_strays(app, &pids, &target.cpus, ours);
        }
        // Processes that have come since, and a command that set its own affinity after it was told
        // an older one.
        self.place(app);
        let request = obligations::request_from_activity(active, wish, contended, pids.len() == 1);
        self.sensors.demands.go_on((app, active), contended, (request < wish, below_wish), &mut self.wakeups);
        self.request(app, request);
    }

    /// Looks whether tokens of a build's jobserver are lost.
    fn observe_jobs(&mut self, app: u64) {
        let Some(entry) = self.programs.get(app) else { return };
        let others = self.programs.other_roots(entry.pid());
        let processes = || {
            let pids = procfs::tree(entry.pid(), &others).unwrap_or_default();
            pids.into_iter().filter_map(|pid| procfs::stat(pid).ok()).collect()
        };
        self.actuators.jobservers.look(app, entry.pid(), processes, &mut self.wakeups);
    }

    fn observe_phases(&mut self) {
        let Self { programs, actuators, sensors, engine, course, wakeups, .. } = self;
        let candidates = sensors::phase_candidates(programs, actuators, &sensors.demands);
        let now = monotonic_ns();
        let seen = |course: &mut Course, what: Observation| {
            engine.observed(now, &what);
            course.observe(now, what);
        };
        sensors.phases.look(course, (now, &candidates), seen, wakeups);
    }

    fn observe_foreign_load(&mut self) {
        let Self { programs, actuators, sensors, site, wakeups, .. } = self;
        let most = programs.iter().map(|app| app.allocation.count()).max().unwrap_or(0);
        let contains = |pid| manages(programs, actuators, pid);
        let managed = Managed { usable: &site.usable, most, contains: &contains };
        let load = sensors.foreign.look(&managed, wakeups);
        self.tell(load.event);
        self.outcome.busy.extend(load.busy);
        let moved = self.programs.iter().filter(|app| self.sensors.quotas.has_moved(app.number, app.pid()));
        let moved: Vec<u64> = moved.map(|app| app.number).collect();
        if !moved.is_empty() {
            self.observe_quotas(moved);
        }
    }

    fn renew_lease(&mut self) {
        let report = self.actuators.stops.look();
        self.tell(report.events);
        for app in report.lapsed {
            self.stop(app);
        }
        self.await_stops();
        self.actuators.stops.watch(self.takes_turns(), &mut self.wakeups);
    }

    fn retry_stops(&mut self) {
        for app in self.actuators.stops.all_unstoppable() {
            let Some(entry) = self.programs.get(app) else { continue };
            let group = self.actuators.group(entry, &self.programs);
            let stoppable = self.actuators.stops.retry(app, group);
            self.tell(stoppable);
        }
        self.actuators.stops.watch(self.takes_turns(), &mut self.wakeups);
    }

    /// The moment has come to move a program into its group.
    fn enter_cpuset(&mut self, app: u64) {
        let Some(entry) = self.programs.get(app).filter(|entry| entry.asker.is_none()) else { return };
        let cpus = match entry.allocation.target() {
            Some(target) if !entry.is_wrapper() && entry.allocation.is_adopted() => target.cpus.clone(),
            // It may still be on its former processors.
            _ => self.site.usable.clone(),
        };
        let mask = (!self.actuators.shared_pages.has(app)).then(|| self.every_processor());
        let others = self.programs.other_roots(entry.pid());
        let entrant = Entrant { app, root: entry.pid(), others: &others, cpus, mask };
        let Actuators { cpusets, trees, .. } = &mut self.actuators;
        let entered = cpusets.enter(entrant, &mut trees.judge(app, &self.site.usable), &mut self.wakeups);
        if entered {
            self.bind_memory();
            self.outcome.changed = true;
        }
    }

    /// Every processor of the machine, offline ones included.
    fn every_processor(&self) -> CpuSet {
        let mut all = self.site.machine.os_cpuset(&self.site.machine.all());
        all.or_with(self.site.machine.offline());
        all
    }

    /// The mover of pages has reported something.
    fn observe_pages(&mut self) {
        let findings = self.actuators.pages.take(&self.site.machine);
        self.outcome.looked.extend(findings.looked);
        self.outcome.changed |= findings.moved;
        self.tell(findings.events);
        self.settle();
    }

    /// Looks at the memory of a user's applications, or of all, for a connection that asks; false
    /// if nobody can look.
    pub(crate) fn observe_memory(&mut self, connection: u64, of: Option<u32>) -> bool {
        if self.actuators.pages.join_look(connection, of) {
            return true;
        }
        let seen = |app: &&App| of.is_none_or(|user| user == app.owner.uid);
        let runs = |app: &&App| !app.is_wrapper() && app.allocation.target().is_some();
        let all = self.programs.iter().filter(seen).filter(runs);
        let all = all.map(|app| self.actuators.subject(app, &self.programs)).collect();
        self.actuators.pages.look((connection, of), all, &self.site.machine, &self.wakeups)
    }

    /// One of the files of cgroups has been written, or may have been: reads all limits anew, and
    /// applies them.
    fn observe_quotas(&mut self, apps: Vec<u64>) {
        for app in apps {
            self.renew_allowed(app);
            self.settle();
        }
        self.sensors.watch_files();
        self.outcome.changed = true;
    }
}
