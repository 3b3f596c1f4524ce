//! The lives of programs: they arrive, look at their pages, do now this and now that, end or die, and come again to a new manager. Knows
//! nothing of what the engine makes of it.

use super::faults::Fault;
use super::program::{Doing, Program, Style};
use super::stage::{Happening, Stage, Verdict};
use numaestro_engine::{AppId, Event, Wish};
use numaestro_topology::{NumaNodeId, PuId, PuSet};

/// While no manager answers, a program asks again after this time.
const AGAIN_NS: u64 = 50_000_000;

impl Stage<'_> {
    /// A new program.
    pub fn arrives(&mut self, number: u32) -> Verdict {
        let never = self.faults.strikes(Fault::Never);
        let program = Program::new(self.plan.seed, number, self.plan.wish(number), never);
        self.programs.push(program);
        let index = self.programs.len() - 1;
        self.acts_later(index);
        self.joins(index)
    }

    /// It comes to the manager: for the first time, or again.
    fn joins(&mut self, index: usize) -> Verdict {
        if self.engine.is_none() {
            self.after(AGAIN_NS, Happening::Rejoins(index));
            return Ok(());
        }
        self.newest += 1;
        let (app, program) = (AppId(self.newest), &mut self.programs[index]);
        (program.app, program.alone) = (Some(app), false);
        (program.page, program.seen, program.started, program.position) = (None, 0, false, 0);
        (program.class, program.doing) = (program.wish.class, Doing::Parallel);
        program.idle.clear();
        // The engine has not put it where it is.
        program.excused.clone_from(&program.placed);
        let mut wish = Wish { request: program.wants.max(1), ..program.wish.clone() };
        if !program.placed.is_empty() {
            (wish.wait, wish.claim) = (Some(false), Some(program.placed.clone()));
        }
        self.by_id.insert(app, index);
        if self.faults.strikes(Fault::Wrong) {
            self.garble_wish(&mut wish);
        }
        self.tell(Event::Arrive { app, wish })
    }

    fn garble_wish(&mut self, wish: &mut Wish) {
        self.struck += 1;
        let pus = self.plan.machine.pu_count() as u32;
        let stream = self.faults.stream(Fault::Wrong);
        match stream.below(6) {
            0 => wish.request = [0, u32::MAX][stream.below(2) as usize],
            1 => (wish.min, wish.max) = (stream.below(2 * pus), stream.below(2 * pus)),
            2 => wish.weight_milli = [0, u32::MAX][stream.below(2) as usize],
            3 => wish.estimate_ns = Some([0, u64::MAX][stream.below(2) as usize]),
            _ => {
                let bits = stream.draw();
                let claim: PuSet = (0..pus + 3).map(PuId).filter(|pu| bits >> (pu.0 % 64) & 1 == 1).collect();
                (wish.claim, wish.home) = (Some(claim), Some(NumaNodeId(stream.below(9))));
            }
        }
    }

    /// It finds a new manager.
    pub fn rejoins(&mut self, index: usize) -> Verdict {
        let program = &self.programs[index];
        if program.alive && program.app.is_none() { self.joins(index) } else { Ok(()) }
    }

    /// It does what its page says, and says so.
    pub fn looks(&mut self, index: usize) -> Verdict {
        let program = &mut self.programs[index];
        let answers = program.alive && !program.stopped;
        let (Some(page), Some(app), true) = (program.page.clone(), program.app, answers) else { return Ok(()) };
        let news = page.epoch > program.seen || program.placed != page.pus;
        program.move_to(page.epoch, &page.pus, page.shared);
        self.reckon(index);
        if !page.shared {
            self.nobody_else_on(index, &page.pus)?;
        }
        if news {
            self.say(Event::Adopted { app, epoch: page.epoch });
        }
        Ok(())
    }

    fn acts_later(&mut self, index: usize) {
        let mean = self.plan.chaos_ns as f64 / 12.0;
        let after = self.programs[index].draws.exponential() * mean;
        self.after(after as u64, Happening::Acts(index));
    }

    /// It begins to do something else.
    pub fn acts(&mut self, index: usize) -> Verdict {
        let pus = self.plan.machine.pu_count() as u32;
        let program = &mut self.programs[index];
        if !program.alive || self.calm {
            return Ok(());
        }
        if let Some(app) = program.app.filter(|_| !program.stopped) {
            let wanted = 1 + program.draws.below(2 * pus);
            let was_parallel = program.doing == Doing::Parallel;
            let other = if was_parallel { other_than_parallel(program.style) } else { Doing::Parallel };
            let event = match program.style {
                Style::Steady => None,
                Style::Regions if was_parallel => Some(Event::Sequential { app }),
                Style::Blocks if was_parallel => Some(Event::Blocked { app }),
                Style::Regions | Style::Blocks => Some(Event::Parallel { app }),
                Style::Wraps if was_parallel => Some(Event::Request { app, processors: 0 }),
                Style::Wraps => Some(Event::Request { app, processors: program.wants.max(1) }),
                Style::Requests => {
                    program.wants = wanted;
                    Some(Event::Request { app, processors: wanted })
                }
                Style::Demands => {
                    program.wants = wanted;
                    let bits = program.draws.draw() & program.draws.draw();
                    let idle = program.placed.iter().filter(|pu| bits >> (pu.0 % 64) & 1 == 1).collect();
                    Some(Event::Demand { app, processors: wanted, idle })
                }
            };
            program.doing = other;
            let (processors, draws) = (program.placed.len() as u32, &mut program.draws);
            let speedup = Event::Speedup { app, processors, speedup_milli: draws.below(1000 * processors + 1) };
            let rates = (0..=draws.below(4)).map(|_| Some(draws.below(40_000))).collect();
            let nodes = self.plan.machine.numa_nodes().len() as u32;
            program.bytes = program.draw_bytes(nodes);
            let (bytes, free) = (program.bytes.clone(), program.draw_bytes(nodes));
            self.free_memory.clone_from(&free);
            self.reckon(index);
            self.say(speedup);
            self.say(Event::Bandwidth { app, rates });
            self.say(Event::Memory { app, bytes });
            self.say(Event::FreeMemory { bytes: free });
            if let Some(event) = event {
                self.say(event);
            }
        }
        self.acts_later(index);
        Ok(())
    }

    /// Its work is done.
    pub fn ends(&mut self, index: usize, version: u32) -> Verdict {
        if self.programs[index].alive && self.programs[index].version == version {
            self.ended += 1;
            self.note("ends", self.programs[index].app, "");
            self.dies(index);
        }
        Ok(())
    }

    /// It is no more. Its death is seen, perhaps late.
    pub fn dies(&mut self, index: usize) {
        let program = &mut self.programs[index];
        if !std::mem::replace(&mut program.alive, false) {
            return;
        }
        program.placed.clear();
        program.version += 1;
        if let Some(app) = program.app
            && self.options.planted != super::Planted::DepartUnsaid
        {
            let late = if self.faults.strikes(Fault::Late) { self.lateness() } else { 0 };
            self.after(late, Happening::Notice(Event::Depart { app }));
        }
    }

    /// Starts or stops the clock of a program's work.
    pub fn reckon(&mut self, index: usize) {
        let (now, program) = (self.now, &mut self.programs[index]);
        let gets_on = !self.frozen && program.gets_on(&self.offline);
        if gets_on != program.running.is_some() && program.reckon(now, gets_on) {
            let (at, version) = (now + program.left, program.version);
            self.at(at, Happening::Ends(index, version));
        }
    }

    /// The same for all.
    pub fn reckon_all(&mut self) {
        (0..self.programs.len()).for_each(|index| self.reckon(index));
    }
}

fn other_than_parallel(style: Style) -> Doing {
    match style {
        Style::Regions => Doing::Sequential,
        Style::Blocks => Doing::Blocked,
        Style::Wraps => Doing::Wrapping,
        Style::Demands | Style::Requests | Style::Steady => Doing::Parallel,
    }
}
