//! The manager: one thread that sleeps until something happens, turns it into events for the engine, and carries out its actions.
//! It must not know how a decision is taken, nor how Linux is spoken to.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::AsFd;

use anyhow::Result;
use numaestro_engine::{Action, Event};
use numaestro_host::poll::{CpuPressure, Interest, Order, Poller, Ready, StopSignals, Timer};
use numaestro_host::rundir::{DirLock, RuntimeDir};
use numaestro_host::socket::{Listener, Sort, Spare};
use numaestro_host::{limits, monotonic_ns};
use numaestro_topology::{CpuSet, Machine};
use tracing::info;

use crate::app::App;
use crate::brain::Brain;
use crate::config::Config;
use crate::connection::Connection;
use crate::cpusets::Cpusets;
use crate::foreign::Foreign;
use crate::machine::Notices;
use crate::service::{self, Service, Sockets};
use crate::stops::Stops;
use crate::timers::{Due, Timers};

/// What a token of the poller stands for: the upper bits; the lower ones are a number.
pub(crate) mod token {
    pub(crate) const ATTACH: u64 = 1;
    pub(crate) const CONTROL: u64 = 2;
    pub(crate) const TIMER: u64 = 3;
    pub(crate) const SIGNAL: u64 = 4;
    pub(crate) const PRESSURE: u64 = 5;
    pub(crate) const FOREIGN: u64 = 6;
    pub(crate) const EXECS: u64 = 7;
    pub(crate) const PROCESSORS: u64 = 8;
    pub(crate) const FILES: u64 = 9;
    pub(crate) const PAGES: u64 = 10;
    /// The metrics page; plus the number of the scraper.
    pub(crate) const METRICS: u64 = 1 << 61;
    /// Plus the number of the connection.
    pub(crate) const CONNECTION: u64 = 1 << 62;
    /// Plus the number of the application.
    pub(crate) const PROCESS: u64 = 1 << 63;
}

/// A thread that waits this long of a window is worth a look at who else runs: 0.2 of 2 s, the shortest window without root.
const PRESSURE_STALL_US: u32 = 400_000;
const PRESSURE_WINDOW_US: u32 = 2_000_000;
/// Watchers get at most twenty pictures a second.
const WATCH_DELAY_NS: u64 = 50_000_000;
/// The state file follows changes after this time.
const SAVE_DELAY_NS: u64 = 50_000_000;
/// The same while turns are taken: who has what changes all the time then.
const SAVE_DELAY_TURNS_NS: u64 = 1_000_000_000;

/// See the file's header.
pub(crate) struct Manager {
    pub(crate) config: Config,
    pub(crate) dir: RuntimeDir,
    _lock: DirLock,
    pub(crate) machine: Machine,
    /// Processors that may be given out, OS indices.
    pub(crate) usable: CpuSet,
    pub(crate) brain: Brain,
    pub(crate) events: VecDeque<Event>,
    feeding: bool,
    pub(crate) poller: Poller,
    timer: Timer,
    signals: StopSignals,
    pub(crate) pressure: Option<CpuPressure>,
    pub(crate) attach: Listener,
    pub(crate) control: Listener,
    pub(crate) accepting: bool,
    pub(crate) spare: Spare,
    pub(crate) connections: BTreeMap<u64, Connection>,
    pub(crate) connection_next: u64,
    pub(crate) apps: BTreeMap<u64, App>,
    /// Application of a process id.
    pub(crate) by_pid: BTreeMap<u32, u64>,
    pub(crate) app_next: u64,
    pub(crate) timers: Timers,
    pub(crate) phases_interval_ns: u64,
    pub(crate) foreign: Foreign,
    pub(crate) bandwidth: crate::bandwidth::Bandwidth,
    pub(crate) stops: Stops,
    pub(crate) pages: crate::pages::Pages,
    pub(crate) cpusets: Cpusets,
    pub(crate) notices: Notices,
    pub(crate) service: Service,
    pub(crate) rules: crate::rules::Rules,
    pub(crate) users: crate::users::Users,
    pub(crate) saved: Vec<u8>,
    pub(crate) started_ns: u64,
    /// The user whose programs are managed.
    pub(crate) uid: u32,
    /// Refusals by the engine so far, and the reason of the latest.
    pub(crate) refusals: u64,
    pub(crate) refusal: String,
    pub(crate) stopping: bool,
    /// Whom to tell what the end has come to.
    pub(crate) askers_of_end: Vec<u64>,
    pub(crate) released: crate::endings::Released,
    /// Applications that waited in the queue of a former manager, and whose commands have not come
    /// to this one yet.
    pub(crate) expected: std::collections::BTreeSet<u64>,
    /// What the latest search for processes that have outlived their application took.
    pub(crate) strays_ns: u64,
}

/// The lock of the directory. Who cleans up after a manager that was killed holds it for some
/// milliseconds, and is waited for.
fn take_lock(dir: &RuntimeDir) -> Result<Option<DirLock>> {
    if let Some(lock) = dir.lock_manager()? {
        return Ok(Some(lock));
    }
    let _cleaned = dir.lock_cleaning()?;
    Ok(dir.lock_manager()?)
}

impl Manager {
    /// Takes the directory, opens the sockets, takes over what a former manager left. `None` if another manager lives there.
    pub(crate) fn new(config: Config) -> Result<Option<Self>> {
        config.validate()?;
        let inherited = numaestro_host::listen::inherited();
        let dir = service::directory(&config)?;
        let Some(lock) = take_lock(&dir)? else { return Ok(None) };
        limits::raise_descriptors();
        let cpusets = Cpusets::open(&config)?;
        let (machine, usable) = crate::machine::read(&config)?;
        let stops = Stops::new();
        let brain = Brain::new(&config, &machine, stops.rung.works)?;
        let Sockets { attach, control, stay } = Sockets::open(&config, &dir, inherited)?;
        let pressure =
            if config.unmanaged { CpuPressure::watch(PRESSURE_STALL_US, PRESSURE_WINDOW_US).ok() } else { None };
        let mut manager = Self {
            config,
            dir,
            _lock: lock,
            machine,
            usable,
            brain,
            events: VecDeque::new(),
            feeding: false,
            poller: Poller::new()?,
            timer: Timer::new()?,
            signals: StopSignals::block()?,
            pressure,
            attach,
            control,
            accepting: true,
            spare: Spare::new(),
            connections: BTreeMap::new(),
            connection_next: 0,
            apps: BTreeMap::new(),
            by_pid: BTreeMap::new(),
            app_next: 1,
            timers: Timers::default(),
            phases_interval_ns: 0,
            foreign: Foreign::default(),
            bandwidth: crate::bandwidth::Bandwidth::default(),
            stops,
            pages: crate::pages::Pages::default(),
            cpusets,
            notices: Notices::default(),
            service: Service::new(stay),
            rules: crate::rules::Rules::default(),
            users: crate::users::Users::default(),
            saved: Vec::new(),
            started_ns: monotonic_ns(),
            uid: numaestro_host::own_uid(),
            refusals: 0,
            refusal: String::new(),
            stopping: false,
            askers_of_end: Vec::new(),
            released: crate::endings::Released::default(),
            expected: std::collections::BTreeSet::new(),
            strays_ns: 0,
        };
        manager.watch_everything()?;
        manager.watch_machine();
        manager.configure_users();
        manager.take_over();
        // The places in the queue that were taken over are not lost if this manager is killed, too.
        if !manager.apps.is_empty() {
            manager.save_soon_enough();
        }
        manager.configure_metrics();
        manager.start_bandwidth();
        manager.start_rules();
        manager.consider_idle();
        Ok(Some(manager))
    }

    fn watch_everything(&self) -> Result<()> {
        let poller = &self.poller;
        poller.add(self.attach.as_fd(), token::ATTACH, Interest::Read)?;
        poller.add(self.control.as_fd(), token::CONTROL, Interest::Read)?;
        poller.add(self.timer.as_fd(), token::TIMER, Interest::Read)?;
        poller.add(self.signals.as_fd(), token::SIGNAL, Interest::Read)?;
        Ok(())
    }

    /// Works until there is a reason to end.
    pub(crate) fn run(&mut self) -> Result<()> {
        let mut ready = Vec::new();
        while !self.stopping {
            self.timer.arm(self.next_deadline())?;
            ready.clear();
            self.poller.wait(&mut ready)?;
            // Deaths first: what the dead had can be given to those who ask in the same moment.
            ready.sort_by_key(|event| event.token < token::PROCESS);
            for event in &ready {
                self.happened(*event);
            }
        }
        self.let_everything_go();
        Ok(())
    }

    fn next_deadline(&self) -> Option<u64> {
        [self.timers.next(), self.brain.deadline()].into_iter().flatten().min()
    }

    fn happened(&mut self, event: Ready) {
        match event.token {
            token::ATTACH => self.accept(Sort::Packets),
            token::CONTROL => self.accept(Sort::Stream),
            token::TIMER => self.time_has_come(),
            token::SIGNAL => match self.signals.take() {
                Some(Order::Stop) => self.stopping = true,
                Some(Order::Reload) => self.reload_by_signal(),
                None => {}
            },
            token::PRESSURE => self.pressure_reported(),
            token::FOREIGN => self.foreign_ended(),
            token::EXECS => self.execs_waiting(),
            token::PROCESSORS => self.processors_announced(),
            token::FILES => self.files_written(),
            token::PAGES => self.pages_reported(),
            _ if (token::METRICS..token::CONNECTION).contains(&event.token) => self.metrics_ready(event),
            process if process >= token::PROCESS => self.process_ended(process - token::PROCESS),
            connection => self.connection_ready(connection - token::CONNECTION, event),
        }
    }

    fn time_has_come(&mut self) {
        self.timer.clear();
        let now = monotonic_ns();
        if self.brain.deadline().is_some_and(|deadline| deadline <= now) {
            self.feed(Event::Timer);
        }
        // Only what is due now: a handler may set itself again for a time that has passed meanwhile.
        let mut due = Vec::new();
        while let Some(next) = self.timers.pop(now) {
            due.push(next);
        }
        for due in due {
            match due {
                Due::Demand(app) => self.look_at_demand(app),
                Due::Phases => self.look_at_phases(),
                Due::Foreign => self.look_at_foreign(),
                Due::Execs => self.take_execs(),
                Due::Candidates => self.look_at_candidates(),
                Due::Scan => self.scan(),
                Due::Watch => self.tell_watchers(),
                Due::Save => self.save_state(),
                Due::Idle => self.end_if_idle(),
                Due::Life => self.show_life(),
                Due::Line => self.tell_status_line(),
                Due::Metrics => self.end_slow_scrapers(),
                Due::Accept => self.resume_accepting(),
                Due::Lease => self.renew_lease(),
                Due::Unstoppable => self.retry_stops(),
                Due::Cpuset(app) => self.enter_cpuset(app),
                Due::Strays => self.pay_strays(),
                Due::Sweep => self.sweep_groups(),
                Due::Nodes => self.consider_memory_nodes(),
            }
        }
    }

    /// Gives the engine an event, carries out what it says, and goes on with the events that follow from that.
    pub(crate) fn feed(&mut self, event: Event) {
        self.events.push_back(event);
        self.feed_waiting();
    }

    /// The same for events that wait already.
    pub(crate) fn feed_waiting(&mut self) {
        if self.feeding || self.events.is_empty() {
            return;
        }
        self.feeding = true;
        // The end of a turn that changes nothing is no news.
        let mut news = false;
        let mut actions = Vec::new();
        while let Some(event) = self.next_event() {
            actions.clear();
            if let Event::Arrive { app, .. } = &event
                && let Some(entry) = self.apps.get(&app.0)
            {
                self.brain.arrives(&entry.name);
            }
            match self.brain.step(monotonic_ns(), &event, &mut actions) {
                Ok(()) => {
                    self.service.steps.count(self.brain.step_ns[0]);
                    news |= event != Event::Timer || !actions.is_empty();
                    actions.drain(..).for_each(|action| self.carry_out(action));
                }
                Err(failed) => self.begin_anew(&event, &failed.message),
            }
        }
        self.feeding = false;
        self.consider_phases();
        self.consider_bandwidth();
        self.consider_stops();
        if news {
            self.changed();
        }
    }

    /// Something that people can see is different.
    pub(crate) fn changed(&mut self) {
        let now = monotonic_ns();
        self.consider_status_line();
        let turns = self.brain.needs().preemption;
        self.timers.set_earlier(Due::Save, now + if turns { SAVE_DELAY_TURNS_NS } else { SAVE_DELAY_NS });
        if self.connections.values().any(|connection| connection.watching) {
            self.timers.set_if_unset(Due::Watch, now + WATCH_DELAY_NS);
        }
    }

    /// Arms the end if nobody needs the manager, disarms it if somebody does.
    pub(crate) fn consider_idle(&mut self) {
        match self.config.idle_exit_s {
            Some(seconds) if self.apps.is_empty() && self.connections.is_empty() => {
                self.timers.set_if_unset(Due::Idle, monotonic_ns() + u64::from(seconds) * 1_000_000_000);
            }
            _ => self.timers.clear(Due::Idle),
        }
    }

    fn end_if_idle(&mut self) {
        // Whoever has connected since then is served first.
        self.accept(Sort::Packets);
        self.accept(Sort::Stream);
        if self.apps.is_empty() && self.connections.is_empty() {
            info!("nothing to manage; ending");
            self.stopping = true;
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Start { app } => self.start(app.0),
            Action::Wait { app, position } => self.wait(app.0, position),
            Action::Target { app, epoch, count, pus, shared, lent } => {
                let cpus = self.machine.os_cpuset(&pus);
                self.target(app.0, crate::app::Target { epoch, count, pus, cpus, shared, lent });
            }
            Action::Pages { app, home } => {
                self.pages_go(app.0, home);
                self.consider_memory_nodes();
            }
            Action::Stop { app } => self.stop_app(app.0),
            Action::Continue { app } => self.continue_app(app.0),
            Action::Force { app, epoch, pus } => self.force(app.0, epoch, &pus),
            Action::Refuse { app, reason } => self.refused(app.map(|app| app.0), &reason),
        }
    }
}

#[cfg(test)]
mod tests;
