//! The shell: what was said reaches the engine, and what the engine wants is done, if nothing goes wrong. Knows no policy.

use super::Planted;
use super::faults::Fault;
use super::program::Program;
use super::stage::{Happening, Stage, Verdict};
use super::trace;
use numaestro_engine::{Action, AppId, Class, Event};
use numaestro_topology::{PuId, PuSet};

/// Time from a program to the shell, nanoseconds.
const NOTICE_NS: u64 = 5_000;
/// Events of the shell's own that may follow from one before they are said never to end.
const AT_ONCE_MAX: u32 = 1000;

impl Stage<'_> {
    /// A program, or the system, says something to the shell: it may be garbled, lost, late and repeated.
    pub fn say(&mut self, event: Event) {
        let event = if self.faults.strikes(Fault::Wrong) { self.garble(&event) } else { event };
        if self.faults.strikes(Fault::Lost) {
            self.struck += 1;
            let (what, app, rest) = trace::event(&event);
            self.note("! lost", app, &format!("{what} {rest}"));
            return;
        }
        let late = if self.faults.strikes(Fault::Late) { self.lateness() } else { 0 };
        if self.faults.strikes(Fault::Repeated) {
            let later = self.lateness();
            self.after(NOTICE_NS + late + later, Happening::Notice(event.clone()));
        }
        self.after(NOTICE_NS + late, Happening::Notice(event));
    }

    /// Something else than what was said.
    fn garble(&mut self, event: &Event) -> Event {
        self.struck += 1;
        let (of, pus, newest) = (event_app(event), self.plan.machine.pu_count() as u32, self.newest as u32);
        let stream = self.faults.stream(Fault::Wrong);
        // Mostly about the same program, else about any, or about one that never was.
        let any = AppId(u64::from(stream.below(newest + 2)));
        let app = of.filter(|_| stream.below(4) > 0).unwrap_or(any);
        let count = [0, 1, pus / 2, pus, u32::MAX][stream.below(5) as usize];
        let (few, bits) = (stream.below(8), stream.draw());
        let idle: PuSet = (0..pus + few).map(PuId).filter(|pu| bits >> (pu.0 % 64) & 1 == 1).collect();
        let classes = [Class::Malleable, Class::Setter, Class::Fold];
        let class = classes[stream.below(3) as usize];
        let kind = stream.below(14);
        let page = self.by_id.get(&app).and_then(|&index| self.programs[index].page.as_ref());
        let latest = page.map_or(0, |page| page.epoch);
        match kind {
            0 | 1 => Event::Demand { app, processors: count, idle },
            2 => Event::Request { app, processors: count },
            3 => Event::Adopted { app, epoch: latest },
            4 => Event::Adopted { app, epoch: count },
            5 => Event::Class { app, class },
            6 => Event::Sequential { app },
            7 => Event::Blocked { app },
            8 => Event::Speedup { app, processors: count, speedup_milli: few * 1000 },
            9 => Event::Bandwidth { app, rates: vec![None, Some(count), Some(few)] },
            10 => Event::Saturation { bus: few, rate: count },
            // Of too few nodes, or of too many.
            11 => Event::Memory { app, bytes: vec![bits; few as usize] },
            12 => Event::FreeMemory { bytes: vec![bits; few as usize] },
            _ => Event::Parallel { app },
        }
    }

    /// The engine hears of something, and of all that follows from that in the shell itself.
    pub fn tell(&mut self, event: Event) -> Verdict {
        self.inbox.push_back(event);
        let mut heard = 0;
        while let Some(event) = self.inbox.pop_front() {
            heard += 1;
            if heard > AT_ONCE_MAX {
                return Err("what is done at once leads to ever more".to_owned());
            }
            self.hear(&event)?;
        }
        self.set_timer();
        Ok(())
    }

    fn hear(&mut self, event: &Event) -> Verdict {
        let (what, app, rest) = trace::event(event);
        if self.engine.is_none() {
            self.note("! unheard", app, &format!("{what} {rest}"));
            return Ok(());
        }
        self.note(what, app, &rest);
        self.believe(event);
        let forgets = self.options.planted == Planted::AdoptedForgotten && matches!(event, Event::Adopted { .. });
        if !forgets {
            self.ledger.hear(event);
        }
        let mut actions = Vec::new();
        let clock = self.clock();
        let Some(engine) = &mut self.engine else { return Ok(()) };
        engine.step(clock, event, &mut actions);
        let now = engine.view().now_ns;
        self.events += 1;
        self.acted += actions.len() as u64;
        let refused = actions.iter().any(|action| matches!(action, Action::Refuse { .. }));
        self.ledger.heard(event, refused);
        if let Event::Offline { pu } = event
            && !refused
        {
            // Who has lost it at once may come back to it without being told.
            self.programs.iter_mut().for_each(|program| _ = program.excused.insert(*pu));
        }
        for action in &actions {
            self.ledger.see(action, now)?;
            self.carry_out(action)?;
        }
        Ok(())
    }

    /// What it means for the truth that the engine hears this.
    fn believe(&mut self, event: &Event) {
        if let Event::Depart { app } = event {
            self.by_id.remove(app);
        }
        let Some(program) = event_app(event).and_then(|app| self.by_id.get(&app)) else { return };
        let program = &mut self.programs[*program];
        match event {
            // It is said to have left what it has not.
            Event::Adopted { epoch, .. }
                if *epoch > program.seen && self.options.planted != Planted::AdoptedTooEarly =>
            {
                program.excused.or_with(&program.placed);
            }
            Event::Demand { idle, .. } => {
                let told_to_leave = program.page.as_ref().map(|page| idle.difference(&page.pus)).unwrap_or_default();
                program.excused.or_with(&told_to_leave);
                program.idle.clone_from(idle);
            }
            Event::Request { processors: 0, .. } => program.excused.or_with(&program.placed),
            Event::Class { class, .. } => program.class = *class,
            _ => {}
        }
    }

    fn carry_out(&mut self, action: &Action) -> Verdict {
        let (what, app, rest) = trace::action(action);
        self.note(what, app, &rest);
        let Some(&index) = app.and_then(|app| self.by_id.get(&app)) else { return Ok(()) };
        match action {
            Action::Start { .. } => (self.programs[index].started, self.programs[index].position) = (true, 0),
            Action::Wait { position, .. } => self.programs[index].position = *position,
            Action::Target { app, epoch, pus, shared, .. } => {
                if !shared {
                    self.nobody_else_on(index, pus)?;
                }
                self.target(index, *app, *epoch, pus, *shared);
            }
            Action::Force { app, epoch, pus } => {
                let program = &mut self.programs[index];
                if self.faults.strikes(Fault::Action) {
                    self.struck += 1;
                    self.note("! unforced", Some(*app), "");
                } else {
                    let shared = program.page.as_ref().is_some_and(|page| page.shared);
                    program.move_to(*epoch, pus, shared);
                    // The system moves it on from what is not there any more.
                    program.excused.or_with(&pus.intersection(&self.offline));
                }
                // A refusal by the system counts as done: there is nothing more that could be.
                self.inbox.push_back(Event::Adopted { app: *app, epoch: *epoch });
            }
            Action::Refuse { app: Some(app), .. } => self.refused(index, *app),
            Action::Stop { app } => self.stop(index, *app),
            Action::Continue { app } => self.go_on_with(index, *app),
            Action::Pages { .. } | Action::Refuse { .. } => {}
        }
        self.reckon(index);
        Ok(())
    }

    /// Stops a program, if the system lets it be stopped: what is being debugged, say, cannot be.
    fn stop(&mut self, index: usize, app: AppId) {
        if self.faults.strikes(Fault::Action) {
            self.struck += 1;
            self.note("! unstopped", Some(app), "");
            let program = &mut self.programs[index];
            program.excused.or_with(&program.placed);
            self.inbox.push_back(Event::Unstoppable { app });
            let later = self.lateness();
            self.after(later, Happening::Notice(Event::Stoppable { app }));
        } else {
            let program = &mut self.programs[index];
            (program.stopped, program.goes_on) = (true, false);
        }
    }

    /// Lets it go on where it was last told to be; if that fails, again after a while.
    fn go_on_with(&mut self, index: usize, app: AppId) {
        self.programs[index].goes_on = true;
        if self.faults.strikes(Fault::Action) {
            self.struck += 1;
            self.note("! not let go", Some(app), "");
            let later = self.lateness();
            self.after(later, Happening::GoesOn(index));
        } else {
            self.let_go(index);
        }
    }

    /// It runs again, unless it has been stopped again meanwhile.
    pub fn let_go(&mut self, index: usize) {
        let program = &mut self.programs[index];
        if program.stopped && program.goes_on {
            program.stopped = false;
            if let Some(page) = program.page.clone() {
                program.move_to(page.epoch, &page.pus, page.shared);
            }
        }
        self.reckon(index);
    }

    fn target(&mut self, index: usize, app: AppId, epoch: u32, pus: &PuSet, shared: bool) {
        let program = &mut self.programs[index];
        self.moves += u64::from(program.page.as_ref().is_none_or(|page| page.pus != *pus));
        program.publish(epoch, pus, shared);
        if self.faults.strikes(Fault::Death) {
            self.struck += 1;
            self.note("! dies", Some(app), "before it is told");
            self.dies(index);
        }
        let fails = self.faults.strikes(Fault::Action);
        if fails {
            self.struck += 1;
            self.note("! untold", Some(app), "");
        }
        let everywhere = self.plan.machine.all();
        let program = &mut self.programs[index];
        if program.placed.is_empty() {
            // It begins to run there; or anywhere, if the system does not let it be bound.
            program.placed.clone_from(if fails { &everywhere } else { pus });
            program.excused.clone_from(&program.placed);
            if !fails {
                program.move_to(epoch, pus, shared);
            }
        }
        if program.class == Class::Fold {
            if fails {
                program.excused.or_with(&program.placed);
            } else {
                program.move_to(epoch, pus, shared);
            }
            self.inbox.push_back(Event::Adopted { app, epoch });
            return;
        }
        if let Some(slowness) = program.slowness.filter(|_| !fails) {
            let after = (slowness as f64 * program.draws.exponential()) as u64;
            self.after(after, Happening::Looks(index));
        }
        if self.options.planted == Planted::AdoptedTooEarly {
            self.inbox.push_back(Event::Adopted { app, epoch });
        }
    }

    /// Refused on arrival (no processor, no place in the queue): it runs without a manager.
    fn refused(&mut self, index: usize, app: AppId) {
        let program = &mut self.programs[index];
        if !program.started && program.position == 0 && program.page.is_none() {
            (program.app, program.alone) = (None, true);
            self.by_id.remove(&app);
            self.inbox.push_back(Event::Depart { app });
        }
    }

    /// Nobody's threads are where this program is promised to be alone, but for reasons that are not the engine's.
    pub fn nobody_else_on(&self, index: usize, pus: &PuSet) -> Verdict {
        let managed = |program: &&Program| program.alive && program.app.is_some();
        let others = self.programs.iter().enumerate().filter(|(other, _)| *other != index);
        for other in others.map(|(_, other)| other).filter(managed) {
            let both = other.answers_for(&self.offline).intersection(pus);
            if let Some(app) = self.programs[index].app.filter(|_| !both.is_empty()) {
                let name = other.app.map(|app| app.to_string()).unwrap_or_default();
                return Err(format!("{app} is given {both} where {name} really runs"));
            }
        }
        Ok(())
    }
}

/// Whom an event is about.
fn event_app(event: &Event) -> Option<AppId> {
    match event {
        Event::Arrive { app, .. }
        | Event::Depart { app }
        | Event::Request { app, .. }
        | Event::Demand { app, .. }
        | Event::Class { app, .. }
        | Event::Adopted { app, .. }
        | Event::Sequential { app }
        | Event::Blocked { app }
        | Event::Speedup { app, .. }
        | Event::Bandwidth { app, .. }
        | Event::Memory { app, .. }
        | Event::Unstoppable { app }
        | Event::Stoppable { app }
        | Event::Parallel { app } => Some(*app),
        Event::Saturation { .. }
        | Event::FreeMemory { .. }
        | Event::Parties { .. }
        | Event::Offline { .. }
        | Event::Online { .. }
        | Event::Unmanaged { .. }
        | Event::Timer
        | Event::Policy { .. } => None,
    }
}
