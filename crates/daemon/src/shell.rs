//! The engine's shell on Linux: it tells the engine the sensors' events, and has the actuators
//! carry out the engine's actions. It owns all of them, and passes values between them; none of
//! them calls another.
//!
//! [`Shell::settle`] tells the engine one event after the other. It carries out the actions that
//! follow at once, and these may cause events again. [`Outcome`] holds the results for people.

mod actions;
mod actuators;
mod applications;
mod attachment;
mod folding;
mod libraries;
mod observation;
mod picture;
mod renewal;
mod sensors;
mod takeover;
mod wishes;

use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Result;
use numaestro_abi::control::Reply;
use numaestro_contract::{Course, Next, Observation};
use numaestro_engine::{Action, Event};
use numaestro_host::stop::Remote;
use numaestro_host::{monotonic_ns, procfs};
use numaestro_topology::CpuSet;
use tracing::warn;

use crate::config::Config;
use crate::decision::engine::{ContainedEngine, StepTimes};
use crate::decision::recording::{Recording, Wanted};
use crate::decision::witness::Witness;
use crate::hands::cpusets::Cpusets;
use crate::hands::pages::Looked;
use crate::identity::peer::LivePeer;
use crate::programs::{App, Programs};
use crate::senses::bandwidth;
use crate::senses::machine::Site;
use crate::senses::quota::Allowed;
use crate::wakeups::{ShellDue, Wakeups};
use actuators::Actuators;
use sensors::Sensors;

pub(crate) use applications::Newcomer;

/// The results for programs and people since the last time.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Replies, by the connection that waits for them.
    pub(crate) replies: Vec<(u64, Reply)>,
    /// Looks at memory that are done.
    pub(crate) looked: Vec<Looked>,
    /// Processes that are busy and not managed.
    pub(crate) busy: Vec<u32>,
    /// Something that people can see is different.
    pub(crate) changed: bool,
    /// An application has arrived.
    pub(crate) arrived: bool,
    /// An application has gone, and its descriptors with it.
    pub(crate) departed: bool,
    /// The recording has ended before its time, and why.
    pub(crate) recording_ended: Option<String>,
}

/// The engine refuses something, and has changed nothing.
#[derive(Debug)]
struct Refused {
    /// The application that it is about; `None`: none.
    app: Option<u64>,
    reason: String,
}

/// See the file's header.
pub(crate) struct Shell {
    config: Rc<Config>,
    site: Site,
    engine: ContainedEngine,
    /// Turns observations into the events that the engine hears next.
    course: Course,
    programs: Programs,
    sensors: Sensors,
    actuators: Actuators,
    wakeups: Wakeups,
    outcome: Outcome,
    /// No policy works: the manager has to end.
    failed: bool,
}

impl Shell {
    /// A shell without applications. `attach`: the socket that programs come to. `guard`: the
    /// process that stops programs.
    pub(crate) fn new(config: Rc<Config>, attach: PathBuf, guard: Option<Remote>) -> Result<Self> {
        let site = Site::read(&config, CpuSet::default())?;
        Self::on(config, site, attach, guard)
    }

    /// The same on this machine.
    fn on(config: Rc<Config>, site: Site, attach: PathBuf, guard: Option<Remote>) -> Result<Self> {
        let cpusets = Cpusets::open(&config)?;
        let actuators = Actuators::new(&config, attach, cpusets, guard);
        let engine = ContainedEngine::new(&config, &site.machine, actuators.stops.works().is_ok())?;
        let wakeups = Wakeups::new()?;
        let sensors = Sensors::new(&config, &wakeups);
        Ok(Self {
            config,
            site,
            engine,
            course: Course::default(),
            programs: Programs::new(),
            sensors,
            actuators,
            wakeups,
            outcome: Outcome::default(),
            failed: false,
        })
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    pub(crate) fn wakeups(&mut self) -> &mut Wakeups {
        &mut self.wakeups
    }

    /// Numbers of applications below this one have been given.
    pub(crate) fn skip_numbers(&mut self, next: u64) {
        self.programs.skip_to(next);
    }

    pub(crate) fn programs_and_wakeups(&mut self) -> (&Programs, &mut Wakeups) {
        (&self.programs, &mut self.wakeups)
    }

    /// The time, nanoseconds, at which the engine wants to be told that time has passed.
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.engine.deadline()
    }

    /// The times that the engine takes for an event.
    pub(crate) fn step_times(&self) -> &StepTimes {
        self.engine.times()
    }

    /// Says whether applications take turns: the processors of each change all the time then.
    pub(crate) fn takes_turns(&self) -> bool {
        self.engine.needs().preemption
    }

    /// The present policy, as `policy set` takes it.
    pub(crate) fn policy_text(&self) -> String {
        self.engine.policy_text()
    }

    /// No policy works: the manager has to end.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Refusals by the engine so far.
    pub(crate) fn refusals(&self) -> u64 {
        self.engine.refusals()
    }

    pub(crate) fn take_outcome(&mut self) -> Outcome {
        std::mem::take(&mut self.outcome)
    }

    /// Another policy; `Err`: the engine's reason, and a hint where there is one.
    pub(crate) fn set_policy(&mut self, policy: String) -> Result<(), (String, Option<String>)> {
        self.order(None, Event::Policy { policy }).map_err(|reason| {
            let hint = self.actuators.stops.works().err();
            (reason, hint.map(|detail| format!("programs cannot be stopped here: {detail}")))
        })
    }

    /// What the engine has decided lately, and would decide.
    pub(crate) fn witness(&self) -> Witness {
        self.engine.witness(monotonic_ns())
    }

    /// The limits of the cgroups of a process, except of the groups that the manager has made,
    /// and of its affinity: a program that the process starts is in them too.
    pub(crate) fn allowed_for(&self, peer: &LivePeer) -> Allowed {
        let pid = peer.pid();
        let in_ours = |pid: &u32| self.programs.of_pid(*pid).is_some_and(|app| self.actuators.cpusets.has(app));
        let confined_by_us = in_ours(&pid) || procfs::ancestors(pid).iter().any(in_ours);
        let around = self.application_above(pid);
        let by_affinity = self.actuators.trees.own_of(pid, None, around, &self.site.usable);
        Allowed::of_process(pid, (&self.site.usable, &by_affinity), confined_by_us).unwrap_or_default()
    }

    /// The configuration has been read again.
    pub(crate) fn configure(&mut self, config: Rc<Config>) {
        self.config = config;
        self.actuators.pages.set_rate(self.config.memory.bytes_per_s());
        self.bind_memory();
    }

    /// Waits a moment for the saturation rates of buses, so that they are known before the first
    /// program comes, if the policy needs them.
    pub(crate) fn start_sensing(&mut self) {
        self.watch();
        let measured = self.sensors.bandwidth.wait();
        self.tell(measured);
        self.settle();
    }

    /// Tells the engine an event, and all that follows from it.
    pub(crate) fn feed(&mut self, event: Event) {
        self.tell([event]);
        self.settle();
    }

    /// The same; `Err`: the engine has refused it, and why. `app`: the application in question.
    fn order(&mut self, app: Option<u64>, event: Event) -> Result<(), String> {
        self.tell([event]);
        let refused = self.settle().into_iter().find(|refused| refused.app == app);
        refused.map_or(Ok(()), |refused| Err(refused.reason))
    }

    /// The engine is going to hear of these events.
    fn tell(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.observe(Observation::Fact(event));
        }
    }

    /// The shell has observed something. True: the engine is going to hear of it.
    fn observe(&mut self, what: Observation) -> bool {
        let now = monotonic_ns();
        self.engine.observed(now, &what);
        self.course.observe(now, what)
    }

    /// Tells the engine every event that waits, and has done what it says. Gives what it refused.
    fn settle(&mut self) -> Vec<Refused> {
        let (mut actions, mut refused) = (Vec::new(), Vec::new());
        loop {
            match self.course.next(monotonic_ns(), self.engine.measures_until()) {
                Some(Next::Measure) => {
                    let measured = self.sample();
                    self.observe(Observation::Rates(measured));
                }
                Some(Next::Step { at, event }) => {
                    self.decide(at, &event, &mut actions);
                    refused.extend(self.carry_out_all(&mut actions));
                }
                None => break,
            }
            if self.course.is_empty() {
                self.watch();
            }
        }
        if let Some(at) = self.actuators.trees.pins_due_ns() {
            self.wakeups.set_earlier(ShellDue::Pins, at);
        }
        self.actuators.trees.watch_beginners(&mut self.wakeups);
        self.tend_recording();
        refused
    }

    /// Begins a recording, or ends it.
    pub(crate) fn record(&mut self, wanted: Option<Wanted>) -> std::io::Result<()> {
        self.engine.record(wanted, &self.site.machine)
    }

    /// The recording, if there is one.
    pub(crate) fn recording(&self) -> Option<&Recording> {
        self.engine.recording()
    }

    /// The recording may want a next segment, or have come to an end.
    fn tend_recording(&mut self) {
        let Self { engine, site, .. } = self;
        let Some(recording) = engine.recording().filter(|recording| recording.wants_attention(monotonic_ns())) else {
            return;
        };
        match recording.trouble() {
            Some(trouble) => self.outcome.recording_ended = Some(trouble),
            None => engine.next_segment(&site.machine),
        }
    }

    /// Tells the engine an event; gives what is to be done.
    fn decide(&mut self, at: u64, event: &Event, actions: &mut Vec<Action>) {
        if let Event::Arrive { app, .. } = event
            && let Some(entry) = self.programs.get(app.0)
        {
            self.engine.arrives(*app, &entry.name, entry.owner.uid);
        }
        match self.engine.step(at, event, actions) {
            Ok(()) => {
                // The end of a turn that changes nothing cannot be seen.
                self.outcome.changed |= *event != Event::Timer || !actions.is_empty();
                self.course.decided(actions);
            }
            Err(failed) => {
                actions.clear();
                self.begin_anew(event, &failed.message);
            }
        }
    }

    /// Samples the bus-transaction rates of every application that has processors and ran in the
    /// turn. One that was stopped has moved nothing, and its rates stay as they were.
    fn sample(&mut self) -> Vec<Event> {
        let mut subjects = Vec::new();
        let ran = |app: &&App| !app.is_wrapper() && !self.actuators.stops.is_stopped(app.number);
        for app in self.programs.iter().filter(ran) {
            let Some(target) = app.allocation.target() else { continue };
            let page = self.actuators.shared_pages.get(app.number);
            // A program that a program with a page starts is an application of its own.
            let tree = page.is_none().then(|| procfs::tree(app.pid(), &self.programs.other_roots(app.pid())).ok());
            let pids = tree.flatten().unwrap_or_else(|| vec![app.pid()]);
            subjects.push(bandwidth::Subject {
                app: app.number,
                name: &app.name,
                pids,
                declared: app.options.btr,
                stretch_milli: page.map_or(0, numaestro_host::memory::SharedPage::stretch_milli),
                pus: &target.pus,
                request: app.wants.request(),
            });
        }
        self.sensors.bandwidth.look(subjects)
    }

    /// The sensors and actuators that depend on the latest decisions begin or end to watch.
    fn watch(&mut self) {
        let candidates = sensors::phase_candidates(&self.programs, &self.actuators, &self.sensors.demands);
        self.sensors.phases.watch(&self.course, &candidates, &mut self.wakeups);
        let needs = self.engine.needs();
        let measured = self.sensors.bandwidth.watch(needs.bandwidth, &self.config, &self.site);
        self.tell(measured);
        self.ask_for_measurements();
        self.actuators.stops.watch(needs.preemption, &mut self.wakeups);
    }

    /// Programs measure themselves while the policy wants speedups, or their pace because nothing
    /// counts their transactions.
    fn ask_for_measurements(&mut self) {
        let wanted = self.engine.needs().speedup || self.sensors.bandwidth.needs_pace();
        if !self.actuators.shared_pages.set_measures(wanted) {
            return;
        }
        for app in self.programs.numbers() {
            self.publish_again(app);
        }
    }

    /// Says a decision again, because something beside processors has changed: a program looks when
    /// the number changes.
    fn publish_again(&mut self, app: u64) {
        let Some(entry) = self.programs.get_mut(app) else { return };
        if self.actuators.shared_pages.has(app) && entry.allocation.target().is_some() {
            entry.allocation.say_again();
            self.actuators.publish(entry);
        }
    }

    /// Throws the engine's state away after a failure, and begins anew under the simplest policy,
    /// with the latest decision for every application.
    fn begin_anew(&mut self, event: &Event, message: &str) {
        let next = crate::decision::engine::FALLBACK_POLICY;
        warn!(position = self.engine.position(), ?event, message, "the policy failed; going on with {next}");
        if let Err(cause) = self.engine.fall_back(&self.site.machine) {
            warn!("{cause:#}; ending");
            self.course.begin_anew();
            self.failed = true;
            return;
        }
        self.everybody_claims(None);
    }
}

#[cfg(test)]
mod stories;
#[cfg(test)]
mod tests;
