//! The pictures of the shell: the status that people see, the line of status, the figures of the
//! metrics page, and the state for a next manager. They change nothing.

use std::collections::BTreeMap;

use numaestro_abi::control::{AppStatus, AppWishes, Class, Jobserver, JobserverStatus, NodeStatus, PuStatus, Status};
use numaestro_abi::page::runtime;
use numaestro_engine::{self as engine, AppSnapshot, PuSnapshot, Snapshot};
use numaestro_host::memory::{Folding, Library, Report, SharedPage};
use numaestro_host::monotonic_ns;
use numaestro_topology::CpuSet;

use super::Shell;
use super::actuators::Actuators;
use super::sensors::Sensors;
use crate::config::Config;
use crate::decision::engine::ContainedEngine;
use crate::decision::wishes::Limits;
use crate::programs::{App, Programs};
use crate::senses::machine::{Site, confined_to, os_of};
use crate::shell::folding;
use crate::shell::libraries;
use crate::state::{SavedApp, State};

/// The name of a user; `None` where only one user's programs are managed.
pub(crate) type NameOf<'a> = &'a dyn Fn(u32) -> Option<String>;

/// The shell, to be looked at.
pub(crate) struct Picture<'a> {
    config: &'a Config,
    site: &'a Site,
    programs: &'a Programs,
    sensors: &'a Sensors,
    actuators: &'a Actuators,
    engine: &'a ContainedEngine,
}

impl Shell {
    /// What there is to see, now.
    pub(crate) fn picture(&self) -> Picture<'_> {
        let Self { config, site, programs, sensors, actuators, engine, .. } = self;
        Picture { config, site, programs, sensors, actuators, engine }
    }
}

impl Picture<'_> {
    /// Everything there is to see, now. `started_ns`: start of the manager.
    pub(crate) fn status(&self, name_of: NameOf<'_>, started_ns: u64) -> Status {
        let now = monotonic_ns();
        let ledger = self.engine.snapshot();
        let times = self.engine.times();
        let known: BTreeMap<u64, &AppSnapshot> = ledger.apps.iter().map(|known| (known.app.0, known)).collect();
        let app_status = |app: &App| self.app_status(app, name_of(app.owner.uid), known.get(&app.number).copied(), now);
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_s: seconds(now.saturating_sub(started_ns)),
            policy: ledger.policy.clone(),
            cpus: self.site.usable.to_string(),
            confined: confined_to(self.config, self.site),
            unmanaged: self.sensors.foreign.processors(),
            decisions: ledger.decisions,
            decision_ns: [times.latest_ns, times.longest_ns],
            recording: self.engine.recording().is_some(),
            bandwidth: self.sensors.bandwidth.status(),
            apps: self.programs.iter().map(app_status).collect(),
            pus: self.pu_statuses(&ledger),
            queue: ledger.queue.iter().map(|app| app.0).collect(),
            nodes: Vec::new(),
        }
    }

    fn app_status(&self, app: &App, user: Option<String>, known: Option<&AppSnapshot>, now: u64) -> AppStatus {
        let number = app.number;
        let page = self.actuators.shared_pages.get(number);
        let report = self.actuators.shared_pages.report(number);
        let (libraries, full) = page.map(SharedPage::libraries).unwrap_or_default();
        let stopped = self.actuators.stops.is_stopped(number);
        let target = app.allocation.target().filter(|_| !app.is_wrapper() && !stopped);
        let folding = page.and_then(|page| folding::shown(&page.folding()));
        let limits = Limits::of(&app.options);
        AppStatus {
            app: number,
            pid: app.pid(),
            user,
            job: app.owner.job.clone(),
            name: app.name.clone(),
            btr: self.sensors.bandwidth.rates(number),
            memory: self.actuators.pages.status(number),
            class: shown_class(app, &report, &libraries),
            state: known.map_or("waiting", |known| known.state.name()).to_owned(),
            runtimes: libraries::runtime_names(app.runtimes | report.runtimes | libraries::runtimes(&libraries)),
            libraries: libraries::shown(&libraries, full),
            request: app.wants.request(),
            count: target.map_or(0, |target| target.count),
            cpus: target.map(|target| target.cpus.to_string()).unwrap_or_default(),
            shared: target.is_some_and(|target| target.shared),
            folded: report.folded || folding.as_ref().is_some_and(|fold| fold.by != "none"),
            folding,
            jobserver: self.jobserver_status(app),
            held_by: held_by(&report).to_owned(),
            team: report.team,
            regions: report.regions,
            epoch: [app.allocation.latest_page_epoch(), app.allocation.adopted_page_epoch()],
            weight_milli: limits.weight_milli,
            min: limits.min,
            max: app.options.max,
            age_s: seconds(now.saturating_sub(app.arrived_ns)),
            why: self.why(app, known.map(|known| known.why.as_str())),
        }
    }

    fn jobserver_status(&self, app: &App) -> Option<JobserverStatus> {
        let served = self.actuators.jobservers.status(app.number);
        served.or_else(|| match app.options.jobserver.as_ref()? {
            Jobserver::Left { why } => Some(JobserverStatus { left: why.clone(), ..JobserverStatus::default() }),
            Jobserver::Pipe { .. } => {
                let left = "the manager could not open its pipe, or the build has closed it".to_owned();
                Some(JobserverStatus { left, ..JobserverStatus::default() })
            }
        })
    }

    /// One sentence: the engine's reason, and the system's.
    fn why(&self, app: &App, known: Option<&str>) -> String {
        let number = app.number;
        let allowed = self.sensors.quotas.of(number);
        let target = app.allocation.target();
        if let Some(kept) = target.and_then(|target| allowed.keeps_away_from(&target.cpus)) {
            return kept;
        }
        if let Some(denied) = self.actuators.denied(number) {
            return format!("the system does not let it be moved: {denied}");
        }
        let Some(known) = known else { return String::new() };
        let mut parts = vec![known.to_owned()];
        let unstoppable = self.actuators.stops.unstoppable(number);
        parts.extend(unstoppable.map(|reason| format!("it cannot be stopped: {reason}")));
        parts.extend(allowed.most.map(|_| allowed.why.clone()));
        let stays = self.actuators.cpusets.stays(number);
        parts.extend(stays.map(|stays| format!("steered by affinity: {stays}")));
        parts.extend(self.actuators.pages.remark(number));
        parts.join("; ")
    }

    fn pu_statuses(&self, ledger: &Snapshot) -> Vec<PuStatus> {
        let machine = &self.site.machine;
        let row = |entry: &PuSnapshot| {
            let pu = machine.pu(entry.pu);
            PuStatus {
                os: pu.os_index,
                node: os_of(machine, pu.node).unwrap_or(0),
                core: pu.core,
                state: entry.state_name().to_owned(),
                owner: entry.owner.map(|app| app.0),
                guests: entry.guests.iter().map(|app| app.0).collect(),
            }
        };
        ledger.pus.iter().map(row).collect()
    }

    /// Nodes as of the latest look.
    pub(crate) fn node_statuses(&self) -> Vec<NodeStatus> {
        self.actuators.pages.node_statuses(&self.site.machine)
    }

    pub(crate) fn status_line(&self) -> String {
        let ledger = self.engine.snapshot();
        let taken = ledger.pus.iter().filter(|known| known.owner.is_some()).count();
        let waiting = ledger.queue.len();
        let programs = self.programs.len().saturating_sub(waiting);
        let queue = if waiting > 0 { format!(", {waiting} waiting") } else { String::new() };
        let word = if programs == 1 { "program" } else { "programs" };
        let all = self.site.usable.len();
        format!("{programs} {word} on {taken} of {all} processors{queue}; policy {}", ledger.policy)
    }

    /// Everything that the engine has to show.
    pub(crate) fn ledger(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// Processors of each user that has applications, by name, or by number where users have no
    /// names.
    pub(crate) fn processors_by_user(&self, ledger: &Snapshot, name_of: NameOf<'_>) -> BTreeMap<String, usize> {
        let label = |app: &App| name_of(app.owner.uid).unwrap_or_else(|| app.owner.uid.to_string());
        let mut users: BTreeMap<String, usize> = self.programs.iter().map(|app| (label(app), 0)).collect();
        for owner in ledger.pus.iter().filter_map(|known| self.programs.get(known.owner?.0)) {
            *users.entry(label(owner)).or_default() += 1;
        }
        users
    }

    /// The folding of every program with a page.
    pub(crate) fn foldings(&self) -> Vec<Folding> {
        self.actuators.shared_pages.iter().map(SharedPage::folding).collect()
    }

    /// Memory that was moved to other nodes so far, bytes.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.actuators.pages.moved_bytes()
    }

    /// The state that a next manager goes on from if this one is killed.
    pub(crate) fn state(&self) -> State {
        let owned = self.owned();
        let apps = self.programs.iter().map(|app| self.saved(app, owned.get(&app.number))).collect();
        State::new(self.programs.next_number(), self.engine.policy_text(), apps, self.actuators.trees.memory())
    }

    /// The processors that each application owns. One that is being vacated is its heir's already,
    /// as far as the future is concerned.
    pub(super) fn owned(&self) -> BTreeMap<u64, CpuSet> {
        let ledger = self.engine.snapshot();
        let mut owned: BTreeMap<u64, CpuSet> = ledger.apps.iter().map(|app| (app.app.0, CpuSet::default())).collect();
        for entry in ledger.pus {
            if let Some(cpus) = entry.next.or(entry.owner).and_then(|app| owned.get_mut(&app.0)) {
                cpus.insert(self.site.machine.os_index(entry.pu));
            }
        }
        owned
    }

    /// The wishes that hold for an application.
    pub(crate) fn wishes_of(&self, app: u64) -> Option<AppWishes> {
        let entry = self.programs.get(app)?;
        let ledger = self.engine.snapshot();
        let known = ledger.apps.iter().find(|known| known.app.0 == app);
        let limits = Limits::of(&entry.options);
        Some(AppWishes {
            app,
            pid: entry.pid(),
            name: entry.name.clone(),
            min: limits.min,
            max: entry.options.max,
            weight_milli: limits.weight_milli,
            class: entry.options.class,
            count: if entry.is_wrapper() { 0 } else { entry.allocation.count() },
            why: self.why(entry, known.map(|known| known.why.as_str())),
        })
    }

    fn saved(&self, app: &App, owned: Option<&CpuSet>) -> SavedApp {
        let number = app.number;
        let home = self.engine.home(numaestro_policy::AppId(number));
        SavedApp {
            app: number,
            pid: app.pid(),
            uid: app.owner.uid,
            start_time: app.process.start_time(),
            name: app.name.clone(),
            options: app.options.clone(),
            wish: app.wants.could(),
            cpus: owned.map(CpuSet::to_string).unwrap_or_default(),
            original: self.actuators.trees.original(number).to_string(),
            page: self.actuators.shared_pages.was_attached(number),
            epoch: app.allocation.page_epoch(),
            wrapper: app.wrapper,
            home: home.and_then(|home| os_of(&self.site.machine, home)),
            shared: app.allocation.target().is_none_or(|target| target.shared),
            origin: self.actuators.cpusets.origin(number),
            waiting: app.waiting.is_some(),
            strays: self.actuators.trees.strays(number),
            jobserver: self.actuators.jobservers.saved(number),
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A program whose regions keep their size is whole, whatever setters are called beside.
fn shown_class(app: &App, report: &Report, libraries: &[Library]) -> Class {
    let follows = app.options.class == Class::Malleable || report.follows;
    let openmp =
        (app.runtimes | report.runtimes) & (runtime::GOMP | runtime::KMP) != 0 || libraries::any_whole(libraries);
    match app.class {
        _ if app.options.class == Class::Fold => Class::Fold,
        engine::Class::Malleable | engine::Class::Setter if openmp && !follows => Class::Whole,
        engine::Class::Setter if openmp => Class::Malleable,
        engine::Class::Setter if !libraries.is_empty() && !libraries::any_told(libraries) => Class::Fold,
        engine::Class::Malleable => Class::Malleable,
        engine::Class::Setter => Class::Setter,
        engine::Class::Fold => Class::Fold,
    }
}

fn held_by(report: &Report) -> &'static str {
    match report.held_by {
        4 => "explicit sizes",
        5 => "the user's wish",
        6 => "OMP_DYNAMIC=false",
        _ => "",
    }
}
