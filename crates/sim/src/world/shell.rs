//! The shell around the engine: it tells it what the daemon would, and does what it says. Knows nothing of policies.
//!
//! What applications say waits until the present event is over; then the engine is asked, and what it decides is carried out at once or after
//! the machine's `decision_ns`. What follows from that (`Adopted` ...) is said in the same way, as in the daemon's loop.

use super::World;
use super::app::{App, Stand};
use super::draws::Draws;
use super::log::Line;
use super::queue::{EventQueue, Happening, Rank};
use super::thread::Doing;
use crate::outcome::JobRecord;
use crate::program::{Asks, Program};
use crate::workload::Arrival;
use numaestro_engine::{Action, AppId, Event, Wish};
use numaestro_topology::PuSet;
use std::sync::Arc;

impl World {
    /// Puts the next arrival that depends on nothing into the queue.
    pub(super) fn fetch(&mut self) {
        if let Some(arrival) = self.source.next() {
            self.expect(arrival, true);
        }
    }

    /// An arrival that will come; `fetches`: the one after it is fetched then.
    fn expect(&mut self, arrival: Arrival, fetches: bool) {
        let at = arrival.at.max(self.now);
        let place = self.free_arrivals.pop().unwrap_or_else(|| {
            self.arrivals.push(None);
            self.arrivals.len() as u32 - 1
        });
        self.arrivals[place as usize] = Some((arrival, fetches));
        self.queue.push(at, Rank::Arrival, Happening::Arrival(place));
    }

    /// An application arrives.
    pub(super) fn arrive(&mut self, place: u32) {
        let Some((arrival, fetches)) = self.arrivals[place as usize].take() else { return };
        self.free_arrivals.push(place);
        if fetches {
            self.fetch();
        }
        let Arrival { job, stream, program, estimate_ns, .. } = arrival;
        self.newest += 1;
        let id = AppId(self.newest);
        let name = self.name_of(&program);
        let record = JobRecord { job, program: name, stream, arrived: self.now, ..JobRecord::default() };
        let program = self.at_rates(program);
        let memory = self.memory.enter(&program.data);
        let request = match program.asks {
            Asks::Once => program.processors,
            Asks::Runnable | Asks::Creation => 1,
        };
        let wish = Wish {
            request: request.max(1),
            min: program.min.max(1),
            max: u32::MAX,
            weight_milli: program.weight_milli.max(1),
            class: program.class,
            wait: None,
            estimate_ns,
            ..Wish::new(1)
        };
        let watch = self.watch_of(&program);
        let stoppable = program.stoppable;
        let mut entry = App::new(id, program, record, Draws::new(self.seed, job), memory);
        entry.said.processors = wish.request;
        (entry.widest, entry.watch) = (wish.request, watch);
        let app = if let Some(app) = self.free_apps.pop() {
            self.apps[app as usize] = entry;
            app
        } else {
            self.apps.push(entry);
            self.apps.len() as u32 - 1
        };
        self.by_id.insert(id, app);
        self.note(Line::Arrive, app, 0, 0);
        self.events.push_back(Event::Arrive { app: id, wish });
        if !stoppable {
            self.events.push_back(Event::Unstoppable { app: id });
        }
    }

    /// The program as it is on this machine, if only its transaction rates are known.
    fn at_rates(&mut self, program: Arc<Program>) -> Arc<Program> {
        if !program.has_rates() {
            return program;
        }
        if let Some((_, known)) = self.converted.iter().find(|(other, _)| Arc::ptr_eq(other, &program)) {
            return Arc::clone(known);
        }
        let known = Arc::new(program.on(&self.model));
        self.converted.push((program, Arc::clone(&known)));
        known
    }

    /// One name for all jobs of a program.
    fn name_of(&mut self, program: &Program) -> Arc<str> {
        if let Some(name) = self.names.get(program.name.as_str()) {
            return Arc::clone(name);
        }
        let name: Arc<str> = program.name.as_str().into();
        self.names.insert(program.name.clone(), Arc::clone(&name));
        name
    }

    /// An application has ended: what it had is free, and its stream goes on.
    pub(super) fn end(&mut self, app: u32) {
        self.note(Line::End, app, 0, 0);
        let entry = &mut self.apps[app as usize];
        let id = entry.id;
        entry.record.ended = self.now;
        entry.record.local_refs = libm::round(entry.local_refs) as u64;
        entry.record.remote_refs = libm::round(entry.remote_refs) as u64;
        if let Some(since) = entry.searched.take() {
            entry.record.searching_ns += self.now - since;
        }
        entry.record.system_ns =
            entry.record.overhead_ns + entry.record.spin_ns / 1000 * u64::from(self.model.costs.waiting_milli);
        let record = entry.record.clone();
        self.events.push_back(Event::Depart { app: id });
        self.jobs.push(record.clone());
        self.level(-1);
        self.remove(app, record.stream);
    }

    /// Takes an application out of the world.
    fn remove(&mut self, app: u32, stream: u32) {
        let entry = &mut self.apps[app as usize];
        entry.stand = Stand::Over;
        let (id, memory) = (entry.id, entry.memory);
        self.free_threads.append(&mut entry.team);
        self.memory.leave(memory);
        self.by_id.remove(&id);
        self.free_apps.push(app);
        if let Some(next) = self.source.ended(stream, self.now) {
            self.expect(next, false);
        }
    }

    /// Gives the engine all that was said, and carries out what it says.
    pub(super) fn feed(&mut self) {
        if self.events.is_empty() && self.answers.is_empty() {
            return;
        }
        let latency = self.model.costs.decision_ns;
        let mut actions = std::mem::take(&mut self.actions);
        loop {
            self.say_memory();
            let Some(event) = self.events.pop_front() else {
                // All that was asked has been decided: whoever waits for it goes on, and may ask again.
                if self.answers.is_empty() || latency > 0 {
                    break;
                }
                self.answer();
                continue;
            };
            actions.clear();
            self.engine_events += 1;
            self.engine.step(self.now, &event, &mut actions);
            self.count(&actions);
            self.note_searches();
            let demands = match &event {
                Event::Demand { app, .. } => self.by_id.get(app).copied(),
                _ => None,
            };
            if let Some(journal) = &mut self.journal {
                journal.push((self.now, event, actions.clone()));
            }
            if latency == 0 {
                self.carry_out(&actions);
                self.engine.recycle(&mut actions);
                if let Some(app) = demands.filter(|&app| self.apps[app as usize].waits_to_leave()) {
                    // What it was left of its idle processors is for those that have to leave others.
                    self.slide(app);
                }
            } else {
                self.decided.extend(actions.drain(..).map(|action| (self.now + latency, action)));
            }
        }
        self.actions = actions;
        if latency > 0 && (!self.answers.is_empty() || !self.decided.is_empty()) {
            let answers = self.answers.drain(..).map(|app| (self.now + latency, app));
            self.asked.extend(answers);
            self.queue.push(self.now + latency, Rank::Decision, Happening::Decision);
        }
        self.set_deadline();
    }

    /// Those that wait for what the engine says go on.
    fn answer(&mut self) {
        let mut answers = std::mem::take(&mut self.answers);
        for &app in &answers {
            self.answered(app);
        }
        answers.clear();
        // Whoever asks again while it is answered is behind those.
        answers.append(&mut self.answers);
        self.answers = answers;
    }

    /// What was decided some time ago reaches applications.
    pub(super) fn decision_arrives(&mut self) {
        while let Some((at, _)) = self.decided.front()
            && *at <= self.now
        {
            if let Some((_, action)) = self.decided.pop_front() {
                let one = [action];
                self.carry_out(&one);
                self.actions.extend(one);
                let mut actions = std::mem::take(&mut self.actions);
                self.engine.recycle(&mut actions);
                self.actions = actions;
            }
        }
        while let Some(&(at, app)) = self.asked.front()
            && at <= self.now
        {
            self.asked.pop_front();
            self.answered(app);
        }
    }

    /// The engine wants to be asked again at some time.
    fn set_deadline(&mut self) {
        let deadline = self.engine.deadline();
        if deadline != self.deadline {
            self.deadline = deadline;
            if let Some(at) = deadline {
                self.queue.push(at.max(self.now), Rank::Deadline, Happening::Deadline);
            }
        }
    }

    /// That time has come, if it is still wanted.
    pub(super) fn deadline_comes(&mut self) {
        if self.deadline.is_some_and(|at| at <= self.now) {
            self.deadline = None;
            if self.engine.turn_ends().is_some_and(|at| at <= self.now) {
                self.say_rates();
            }
            self.events.push_back(Event::Timer);
        }
    }

    /// Puts the next switch of the policy into the queue.
    pub(super) fn expect_switch(&mut self) {
        if let Some((at, _)) = self.switches.last() {
            self.queue.push((*at).max(self.now), Rank::Deadline, Happening::Switch);
        }
    }

    /// The administrator switches the policy.
    pub(super) fn switch_policy(&mut self) {
        if let Some((_, policy)) = self.switches.pop() {
            self.events.push_back(Event::Policy { policy });
        }
        self.expect_switch();
    }

    fn carry_out(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Start { .. } | Action::Wait { .. } => {}
                Action::Target { app, epoch, count, pus, shared, .. } => {
                    if let Some(&app) = self.by_id.get(app) {
                        self.target(app, *epoch, *count, pus, *shared);
                    }
                }
                Action::Pages { app, home } => {
                    if let Some(&app) = self.by_id.get(app) {
                        self.rehome(app, *home);
                    }
                }
                Action::Force { app, epoch, .. } => {
                    if let Some(&app) = self.by_id.get(app) {
                        self.note(Line::Force, app, 0, *epoch);
                        self.apps[app as usize].moved = true;
                        self.apps[app as usize].told.owes = true;
                        self.settle_target(app);
                    }
                }
                Action::Stop { app } => {
                    if let Some(&app) = self.by_id.get(app) {
                        self.stop(app);
                    }
                }
                Action::Continue { app } => {
                    if let Some(&app) = self.by_id.get(app) {
                        self.let_go_on(app);
                    }
                }
                Action::Refuse { app, .. } => self.refused(*app),
            }
        }
    }

    /// It can never run here: its stream goes on without it.
    fn refused(&mut self, app: Option<AppId>) {
        let Some(&app) = app.and_then(|app| self.by_id.get(&app)) else { return };
        if self.apps[app as usize].told.epoch == 0 {
            self.refusals += 1;
            let stream = self.apps[app as usize].record.stream;
            self.remove(app, stream);
        }
    }

    pub(super) fn say_adopted(&mut self, app: u32) {
        let entry = &self.apps[app as usize];
        let (id, epoch) = (entry.id, entry.told.epoch);
        self.note(Line::Adopted, app, 0, epoch);
        self.events.push_back(Event::Adopted { app: id, epoch });
    }

    pub(super) fn say_request(&mut self, app: u32, processors: u32) {
        let entry = &mut self.apps[app as usize];
        entry.said.processors = processors;
        self.events.push_back(Event::Request { app: entry.id, processors: processors.max(1) });
    }

    pub(super) fn say_sequential(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        if !entry.said.sequential || entry.said.blocked {
            (entry.said.sequential, entry.said.blocked) = (true, false);
            self.events.push_back(Event::Sequential { app: entry.id });
        }
    }

    pub(super) fn say_blocked(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        (entry.said.sequential, entry.said.blocked) = (true, true);
        self.events.push_back(Event::Blocked { app: entry.id });
    }

    pub(super) fn say_parallel(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        (entry.said.sequential, entry.said.blocked) = (false, false);
        self.events.push_back(Event::Parallel { app: entry.id });
    }

    /// How many processors it could use now, and which of its own are idle. True if that is news.
    pub(super) fn say_demand(&mut self, app: u32, processors: u32) -> bool {
        let mut idle = std::mem::take(&mut self.scratch);
        self.unused_of(app, &mut idle);
        let entry = &mut self.apps[app as usize];
        let most = entry.program.processors.max(1);
        let processors = processors.clamp(1, most);
        if processors as usize >= entry.set.len() {
            // What is ready is about to run on them; threads that have been created wait there for those that have not.
            idle.subtract(&entry.set);
        }
        let news = entry.said.processors != processors || entry.said.idle != idle;
        if news {
            entry.said.processors = processors;
            entry.said.idle.clone_from(&idle);
            let idle = PuSet::clone(&entry.said.idle);
            self.events.push_back(Event::Demand { app: entry.id, processors, idle });
        }
        self.scratch = idle;
        news
    }

    /// A created thread has ended: as many processors as there are threads are wanted.
    pub(super) fn say_idle(&mut self, app: u32) {
        let team = &self.apps[app as usize].team;
        let active = team.iter().filter(|&&id| self.threads[id as usize].doing != Doing::Nothing).count();
        self.say_demand(app, active as u32);
    }
}
