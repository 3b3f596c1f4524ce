//! The event loop: a modelled machine, the applications on it, and the engine that manages them.
//!
//! [`World::step`] takes the next event, lets its application go on, gives the engine the events
//! that follow, carries out its actions, and computes the keys of processors whose work or pace has
//! changed. Simultaneous events happen in the order of [`queue::Rank`].
//!
//! Rooms, lower ones first: `clock` (the next event), `os` (threads, processors, memory), `shell`
//! (the engine, and the shell's obligations to it), `app` (the parts of an application), `sensors`
//! (of the shell), `program` (the behaviour of applications), this file. A room calls only the ones
//! below it.

mod app;
mod apps;
mod arrivals;
mod clock;
mod counters;
mod host;
mod jobs;
mod log;
mod observer;
mod os;
mod program;
mod queue;
mod sensors;
mod setup;
mod shell;
mod slots;
mod tally;

use crate::Nanos;
use crate::machine::Model;
use crate::outcome::{JobRecord, Outcome};
use crate::workload::{Arrival, Source};
use app::{App, Cursor, Draws, Errors, Watch};
use apps::Apps;
use arrivals::Arrivals;
use clock::{Clock, Due};
use counters::Counters;
use host::Host;
use jobs::Parties;
use log::{Line, Log};
use numaestro_contract::Next;
use numaestro_engine::{Action, Engine, Event, Rejected, Settings};
use os::Os;
use queue::{Happening, Rank};
use sensors::Sensors;
use shell::{Notices, Outbox, Shell};
use std::sync::Arc;
use tally::Tally;

pub use jobs::Jobs;
pub use observer::{Observer, Occupant};
pub use setup::{Noise, Setup};
pub use shell::Played;

/// A modelled machine with the applications on it and the engine that manages them.
#[derive(Debug)]
pub struct World {
    model: Arc<Model>,
    seed: u64,
    noise: Noise,
    checks: bool,
    host: Host,
    apps: Apps,
    arrivals: Arrivals,
    shell: Shell,
    sensors: Sensors,
    tally: Tally,
    parties: Parties,
}

impl World {
    /// An empty machine, and its coming arrivals.
    ///
    /// # Errors
    /// A policy that cannot be used.
    pub fn new(setup: Setup, source: Box<dyn Source>) -> Result<Self, Rejected> {
        let Setup { model, mut settings, seed, contention, until, checks, noise, switches, jobs } = setup;
        settings.reserved.or_with(&model.reserved);
        if settings.buses.is_empty() {
            settings.buses = model.buses();
        }
        settings.host = setup::host(&settings.buses);
        let usable = model.topology.allowed().difference(&settings.reserved).len();
        let engine = Engine::new(model.topology.clone(), settings, seed)?;
        let host = Host {
            clock: Clock::new(model.topology.pu_count(), until),
            os: Os::new(Arc::clone(&model), contention),
            log: Log::default(),
            outbox: Outbox::default(),
            costs: model.costs,
            usable,
        };
        let mut world = Self {
            seed,
            noise,
            checks,
            host,
            apps: Apps::default(),
            arrivals: Arrivals::new(source),
            shell: Shell::new(engine, model.costs.decision_ns, switches),
            sensors: Sensors::new(Counters::new(noise.rates, seed)),
            tally: Tally::default(),
            parties: Parties::new(jobs),
            model,
        };
        world.shell.begin(&mut world.host.outbox);
        world.expect_switch();
        world.arrivals.fetch(&mut world.host.clock);
        Ok(world)
    }

    /// The next event and all that follows from it at once. False if there is none before the end.
    pub fn step(&mut self, observer: &mut dyn Observer) -> bool {
        self.host.log.keep(observer.wants_log());
        self.host.os.cpus().watch(observer.wants_runs());
        self.shell.keep_journal(observer.wants_journal());
        let due = self.host.clock.next();
        self.host.os.advance(self.host.clock.now());
        let Some(due) = due else { return false };
        self.happen(due);
        self.feed();
        self.host.os.settle(self.host.clock.slots());
        if self.checks {
            self.check();
        }
        self.report(observer);
        true
    }

    /// Runs all events.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Outcome {
        while self.step(observer) {}
        self.outcome()
    }

    /// The clock.
    pub fn now(&self) -> Nanos {
        self.host.clock.now()
    }

    /// Events of threads so far.
    pub fn events(&self) -> u64 {
        self.host.log.events()
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        self.shell.engine()
    }

    /// The engine's settings in force: the scenario's, with the host's inputs and reservations.
    pub fn settings(&self) -> &Settings {
        self.engine().settings()
    }

    /// The measurements so far.
    pub fn outcome(&self) -> Outcome {
        let (pus, channels) = self.host.os.used();
        Outcome {
            end: self.now(),
            pus,
            channels,
            thread_events: self.events(),
            engine_events: self.shell.events(),
            fingerprint: self.host.log.fingerprint(),
            ..self.tally.outcome()
        }
    }

    /// An event happens: its application goes on.
    fn happen(&mut self, due: Due) {
        let Self { host, apps, .. } = self;
        match due {
            Due::Stage(pu) => {
                if let Some(id) = host.os.stage_ended(pu) {
                    program::segment_ended(apps.at(host.os.thread(id).app), host, id);
                }
            }
            Due::Slice(pu) => {
                let thread = host.os.thread(host.os.running(pu));
                host.slice_ended(apps.at(thread.app).record.job, thread.number, pu);
            }
            Due::Curve(app) => {
                if program::part_ended(apps.at(app), host) {
                    self.crowd(app);
                }
            }
            Due::Look => self.sensors.look(apps, host),
            Due::Queued(Happening::Meeting(app)) => program::meeting(apps.at(app), host),
            Due::Queued(Happening::Resume(app)) => program::resume(apps.at(app), host),
            Due::Queued(Happening::End(app)) => self.end(app),
            Due::Queued(Happening::Arrival(place)) => self.arrive(place),
            Due::Queued(Happening::Deadline) => self.shell.timer(self.host.clock.now(), &mut self.host.outbox),
            Due::Queued(Happening::Switch) => {
                self.shell.switch(&mut host.outbox);
                self.expect_switch();
            }
            Due::Queued(Happening::Decision) => self.decision_arrives(),
        }
    }

    /// An application arrives.
    fn arrive(&mut self, place: u32) {
        let Self { host, apps, arrivals, .. } = self;
        let Some(arrival) = arrivals.take(place, &mut host.clock) else { return };
        let Arrival { job, stream, program, estimate_ns, until, .. } = arrival;
        let (slot, id) = apps.next();
        let name = arrivals.name_of(&program);
        let record = JobRecord { job, program: name, stream, arrived: host.clock.now(), ..JobRecord::default() };
        let program = arrivals.on(program, &self.model);
        let (wish, stoppable) = (arrivals::wish(&program, estimate_ns), program.stoppable);
        let notices = Notices::new(id, program.asks, wish.request, program.processors);
        let errors = Errors { noise: self.noise.speedups, seed: self.seed, job };
        let watch = Watch::new(self.shell.wants_speedups(), &program, errors);
        host.os.enter(slot, (id, job), program.footprint_lines, &program.data);
        let draws = Draws::new(self.seed, job);
        apps.enter(App::new(slot, program, record, draws, (Cursor::until(until), notices, watch)));
        host.note(Line::Arrive, job, 0, 0);
        self.parties.arrive((slot, id), wish, host);
        if !stoppable {
            host.outbox.say(Event::Unstoppable { app: id });
        }
    }

    /// An application has ended: its processors are free, and its stream goes on.
    fn end(&mut self, slot: u32) {
        let Self { host, apps, .. } = self;
        let (app, now) = (apps.at(slot), host.clock.now());
        host.note(Line::End, app.record.job, 0, 0);
        host.outbox.say(Event::Depart { app: app.notices.id() });
        app.record.searching_ns += app.searched.end(now);
        self.tally.end(now, &app.record, host.os.usage(slot), &host.costs);
        self.remove(slot);
    }

    /// Takes an application out of the world.
    fn remove(&mut self, slot: u32) {
        let app = self.apps.at(slot);
        app.activity = app::Activity::Over;
        let stream = app.record.stream;
        self.host.os.leave(slot, &app.team);
        app.team.clear();
        self.apps.leave(slot);
        self.parties.leave(slot, &mut self.host);
        self.arrivals.go_on(stream, &mut self.host.clock);
    }

    /// Gives the engine all events that wait, and carries out its actions.
    fn feed(&mut self) {
        if self.host.outbox.is_silent() && self.host.outbox.waiting() == 0 {
            return;
        }
        loop {
            self.say_memory();
            let now = self.host.clock.now();
            let Some(next) = self.shell.next(now, &mut self.host.outbox) else {
                // Everything is decided: applications that wait go on, and may ask again.
                if self.host.outbox.waiting() == 0 || !self.shell.is_prompt() {
                    break;
                }
                for _ in 0..self.host.outbox.waiting() {
                    if let Some(app) = self.host.outbox.next_waiting() {
                        program::answered(self.apps.at(app), &mut self.host);
                    }
                }
                continue;
            };
            let (at, event) = match next {
                Next::Measure => {
                    self.sensors.read_rates(&self.apps, &mut self.host);
                    continue;
                }
                Next::Step { at, event } => (at, event),
            };
            let demands = if let Event::Demand { app, .. } = &event { Some(*app) } else { None };
            let actions = self.shell.hear(at, event, &mut self.host.outbox);
            self.tally.count(&actions);
            self.note_searches(now);
            if !self.shell.is_prompt() {
                self.shell.put_off(now, actions);
                continue;
            }
            for action in &actions {
                self.carry_out(action);
            }
            self.shell.done(actions);
            if let Some(app) = demands.and_then(|app| self.apps.get(app)) {
                program::slide_if_waiting(app, &mut self.host);
            }
        }
        let Self { host, shell, apps, sensors, .. } = self;
        sensors.watch(apps, host);
        let now = host.clock.now();
        if let Some(at) = shell.answer_later(now, &mut host.outbox) {
            host.clock.expect(at, Rank::Decision, Happening::Decision);
        }
        if let Some(at) = shell.new_deadline() {
            host.clock.expect(at, Rank::Deadline, Happening::Deadline);
        }
    }

    /// Earlier actions reach their applications.
    fn decision_arrives(&mut self) {
        let now = self.host.clock.now();
        let actions = self.shell.reached(now);
        for action in &actions {
            self.carry_out(action);
        }
        self.shell.done(actions);
        while let Some(app) = self.shell.answered(now) {
            program::answered(self.apps.at(app), &mut self.host);
        }
        self.sensors.watch(&self.apps, &mut self.host);
    }

    fn expect_switch(&mut self) {
        if let Some(at) = self.shell.next_switch() {
            self.host.clock.expect(at, Rank::Deadline, Happening::Switch);
        }
    }

    /// The engine first hears the places of pages, if the policy uses them.
    fn say_memory(&mut self) {
        let Self { host, apps, shell, .. } = self;
        if !host.os.spaces().have_changed() || host.outbox.is_silent() || !shell.wants_memory() {
            return;
        }
        while let Some(slot) = host.os.spaces().take_changed() {
            if apps.is_there(slot) {
                let bytes = host.os.cpus().bytes(slot);
                host.outbox.say_first(Event::Memory { app: apps.at(slot).notices.id(), bytes });
            }
        }
    }

    /// Notes for each application whether its number of processors is being searched for or has
    /// been found.
    fn note_searches(&mut self, now: Nanos) {
        if !self.shell.wants_speedups() {
            return;
        }
        for (id, search) in self.shell.searches() {
            if let Some(app) = self.apps.get(id) {
                app.record.searching_ns += app.searched.note(now, search);
            }
        }
    }

    fn carry_out(&mut self, action: &Action) {
        let Self { host, apps, tally, sensors, .. } = self;
        let Some(app) = action.app().and_then(|app| apps.get(app)) else { return };
        let slot = app.slot;
        let effect = program::carry_out(app, host, action);
        sensors.carried_out(app, action, host);
        if effect.started {
            tally.start(host.clock.now());
        }
        if effect.crowds {
            self.crowd(slot);
        }
        if effect.refused {
            self.tally.refuse();
            self.remove(slot);
        }
    }

    /// A curve has come to processors of others, or left them.
    fn crowd(&mut self, slot: u32) {
        for app in self.apps.iter_mut().filter(|app| app.slot != slot) {
            program::rate_again(app, &mut self.host);
        }
    }

    /// Checks that time, processors, threads and work are conserved; no processor has two owners.
    fn check(&self) {
        let apps = self.apps.iter().map(|app| (app.slot, &app.team[..], app.owns()));
        self.host.os.check(apps);
    }

    /// Tells the observer of the event, as far as the observer wants.
    fn report(&mut self, observer: &mut dyn Observer) {
        self.host.log.show(observer);
        if let Some(heard) = self.shell.journal() {
            for (at, event, actions) in heard {
                if let Event::Arrive { app, .. } = &event
                    && let Some(program) = self.apps.program(*app)
                {
                    observer.arrives(*app, program);
                }
                observer.journal(at, &event, &actions);
            }
        }
        let now = self.host.clock.now();
        if let Some(occupancy) = self.host.os.cpus().occupancy() {
            occupancy.for_each(|(pu, what)| observer.runs(now, pu, what));
        }
        self.tally.ended().iter().for_each(|job| observer.ended(job));
    }
}
