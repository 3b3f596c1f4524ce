//! An application goes through its phases. Knows nothing of how a team meets (`region`) and of how tasks are taken (`tasks`).

use super::World;
use super::app::{Deferred, Region, Stand};
use super::log::Line;
use super::queue::{EventQueue, Happening, Rank};
use super::thread::{Doing, NONE, State, Thread};
use crate::Nanos;
use crate::memory::Toucher;
use crate::program::{Asks, Part, Phase, Refs, Wait};
use numaestro_topology::PuId;
use std::sync::Arc;

/// Shorter serial phases are not told: whoever watches a program would not have noticed them.
const TOLD_NS: Nanos = 100_000;

impl World {
    /// It goes to its next phase.
    pub(super) fn advance(&mut self, app: u32) {
        self.watch_ends(app);
        let entry = &mut self.apps[app as usize];
        let program = Arc::clone(&entry.program);
        let draws = entry.draws;
        loop {
            let entry = &mut self.apps[app as usize];
            entry.phase += 1;
            entry.stand = Stand::Between;
            let (number, round) = (entry.phase, entry.cursor.round());
            let next = entry.cursor.next(&program);
            if entry.watch.is_on() {
                self.watch_steps(app, round);
            }
            let entry = &mut self.apps[app as usize];
            match next {
                Some(Phase::Serial { work, .. }) => return self.serial(app, draws.once(number, work)),
                Some(Phase::Pause { time }) => return self.pause(app, draws.once(number, time)),
                Some(Phase::Request { processors }) => self.ask(app, *processors),
                Some(Phase::Parallel { .. }) => return self.fork(app),
                Some(Phase::Tasks { count, .. }) => return self.fork_tasks(app, draws.once(number, count) as u32),
                Some(Phase::Repeat { .. }) => {}
                None => {
                    entry.stand = Stand::Over;
                    self.park(app, 0);
                    return self.queue.push(self.now, Rank::End, Happening::End(app));
                }
            }
        }
    }

    /// From here on it wants another number of processors.
    fn ask(&mut self, app: u32, processors: u32) {
        let entry = &mut self.apps[app as usize];
        entry.widest = entry.widest.max(processors);
        if entry.program.recreates && entry.told.shared && entry.said.processors != processors {
            self.retire(app);
        }
        match self.apps[app as usize].program.asks {
            Asks::Once | Asks::Creation => self.say_request(app, processors),
            Asks::Runnable => {
                self.say_demand(app, processors);
            }
        }
    }

    fn serial(&mut self, app: u32, work: Nanos) {
        self.apps[app as usize].stand = Stand::Serial;
        self.park(app, 1);
        match self.apps[app as usize].program.asks {
            Asks::Once if work > TOLD_NS => self.say_sequential(app),
            Asks::Once | Asks::Creation => {}
            Asks::Runnable => {
                self.say_demand(app, 1);
            }
        }
        let master = self.apps[app as usize].team[0];
        self.watch_begins(app, 1);
        self.prepare(master, 0);
        self.give(master, Doing::Serial, work);
        self.go_on(master);
        self.settle_target(app);
    }

    fn pause(&mut self, app: u32, time: Nanos) {
        self.apps[app as usize].stand = Stand::Pause;
        self.park(app, 0);
        match self.apps[app as usize].program.asks {
            Asks::Once if time > TOLD_NS => self.say_blocked(app),
            Asks::Once | Asks::Creation => {}
            Asks::Runnable => {
                self.say_demand(app, 1);
            }
        }
        self.settle_target(app);
        self.queue.push(self.now + time, Rank::Segment, Happening::Resume(app));
    }

    /// The pause is over.
    pub(super) fn resume(&mut self, app: u32) {
        if self.defers(app, Deferred::Resume) {
            return;
        }
        self.note(Line::Resume, app, 0, 0);
        if self.apps[app as usize].said.blocked {
            self.say_parallel(app);
        }
        self.advance(app);
    }

    /// A parallel region begins: with the threads that there are, or after asking and creating.
    fn fork(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        let program = Arc::clone(&entry.program);
        let Some(Phase::Parallel { width, iterations, wait, .. }) = entry.cursor.phase(&program) else { return };
        entry.region = Region {
            width: (*width).max(1),
            iterations: (*iterations).max(1),
            wait: *wait,
            size: 1,
            ..Region::default()
        };
        let width = entry.region.width;
        match program.asks {
            Asks::Once if entry.said.sequential => {
                self.say_parallel(app);
                self.await_answer(app);
            }
            Asks::Once => self.create(app),
            Asks::Runnable => {
                if self.say_demand(app, width) {
                    self.await_answer(app);
                } else {
                    self.create(app);
                }
            }
            Asks::Creation => self.create_next(app),
        }
    }

    /// Its master waits on its processor until what the engine says has arrived.
    pub(super) fn await_answer(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        entry.stand = Stand::Forking;
        self.answers.push(app);
        let master = self.apps[app as usize].team[0];
        self.wait_for(master, Doing::Answer, Wait::Spin);
    }

    /// What the engine says to what it asked has been carried out.
    pub(super) fn answered(&mut self, app: u32) {
        if self.defers(app, Deferred::Answer) {
            return;
        }
        let entry = &mut self.apps[app as usize];
        if entry.stand != Stand::Forking || self.threads[entry.team[0] as usize].doing != Doing::Answer {
            return;
        }
        if entry.region.tasks_all > 0 {
            self.begin_tasks(app);
        } else if entry.program.asks != Asks::Creation {
            self.create(app);
        } else if entry.told.count > entry.region.size {
            self.create_one(app);
        } else {
            // Refused: it goes on with fewer, and does not want this one any more.
            let size = entry.region.size;
            self.say_demand(app, size);
            self.begin_region(app);
        }
    }

    /// Asks for the processor of one more thread, or begins.
    fn create_next(&mut self, app: u32) {
        let region = &self.apps[app as usize].region;
        let (size, width) = (region.size, region.width);
        if size >= width {
            return self.begin_region(app);
        }
        self.say_demand(app, size + 1);
        self.await_answer(app);
    }

    /// Creates the threads that the team lacks, one after the other.
    fn create(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        let size = entry.region.width.min(entry.told.count).min(entry.watch.limit()).max(1);
        entry.region.size = size;
        let lacking = size.saturating_sub(entry.team.len() as u32);
        if lacking == 0 || entry.program.creation_ns == 0 {
            return self.begin_region(app);
        }
        entry.region.creating = lacking;
        self.create_one(app);
    }

    fn create_one(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        entry.stand = Stand::Forking;
        let (master, cost) = (entry.team[0], entry.program.creation_ns);
        self.threads[master as usize].overhead += cost;
        self.give(master, Doing::Create, 0);
        self.go_on(master);
    }

    /// The master has created a thread.
    pub(super) fn created(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        let creation = entry.program.asks == Asks::Creation;
        if creation {
            entry.region.size += 1;
        }
        let number = entry.team.len() as u32;
        if !creation || number < entry.region.size {
            self.spawn(app);
        }
        let entry = &mut self.apps[app as usize];
        if creation {
            return self.create_next(app);
        }
        entry.region.creating -= 1;
        if entry.region.creating > 0 { self.create_one(app) } else { self.begin_region(app) }
    }

    /// A new thread, parked.
    pub(super) fn spawn(&mut self, app: u32) -> u32 {
        let number = self.apps[app as usize].team.len() as u32;
        let thread =
            Thread::new(app, number, self.born, self.model.system, self.model.quantum_ns, self.model.favours_new);
        // `NONE` is who ran last where nobody has run.
        self.born = (self.born + 1) % NONE;
        let id = if let Some(id) = self.free_threads.pop() {
            self.threads[id as usize] = thread;
            id
        } else {
            self.threads.push(thread);
            self.threads.len() as u32 - 1
        };
        let entry = &mut self.apps[app as usize];
        entry.team.push(id);
        entry.spread = 0;
        entry.record.threads = entry.record.threads.max(number + 1);
        entry.record.children += u32::from(number > 0);
        self.threads[id as usize].floats = entry.floats;
        self.threads[id as usize].pu = self.place_of_new(app, number);
        id
    }

    /// Threads from this number on have nothing to do.
    pub(super) fn park(&mut self, app: u32, from: u32) {
        for number in from as usize..self.apps[app as usize].team.len() {
            let id = self.apps[app as usize].team[number];
            self.park_one(id);
        }
    }

    pub(super) fn park_one(&mut self, id: u32) {
        if self.threads[id as usize].doing != Doing::Nothing {
            self.threads[id as usize].doing = Doing::Nothing;
            self.block(id);
        }
    }

    /// A segment of work has ended where this thread runs.
    pub(super) fn segment_ended(&mut self, id: u32) {
        let thread = &self.threads[id as usize];
        let (app, pu, doing, number) = (thread.app, thread.pu, thread.doing, thread.number);
        self.end_work(id);
        if doing != Doing::Create {
            self.thread_events += 1;
            self.note(if doing == Doing::Task { Line::Task } else { Line::Segment }, app, number, pu);
        }
        match doing {
            Doing::Serial => self.advance(app),
            Doing::Part => self.part_ended(id),
            Doing::Critical => self.unlock(id),
            Doing::Task => self.task_ended(id),
            Doing::Create => self.created(app),
            Doing::Nothing | Doing::Meet | Doing::Lock | Doing::Answer => {}
        }
    }

    /// Its work is done: the processor counts it and is without anything for this instant.
    fn end_work(&mut self, id: u32) {
        let pu = self.threads[id as usize].pu;
        self.end_stage(pu);
        let thread = &mut self.threads[id as usize];
        self.apps[thread.app as usize].done += thread.given - thread.left;
        thread.given = thread.left;
    }

    /// It waits: on the processor as the phase says.
    pub(super) fn wait_for(&mut self, id: u32, doing: Doing, wait: Wait) {
        let thread = &mut self.threads[id as usize];
        thread.doing = doing;
        thread.spin = match wait {
            Wait::Spin => Nanos::MAX,
            Wait::SpinThenBlock(limit) => limit,
            Wait::Block => 0,
        };
        match (thread.state, wait) {
            (State::Running, Wait::Block) => self.block(id),
            (State::Running, _) => {
                let pu = thread.pu;
                self.begin_stage(pu);
            }
            _ => {}
        }
    }

    /// A thread begins a phase: the pages it touches are placed, and its pace has to be asked for. One that floats touches them where it
    /// will run.
    pub(super) fn prepare(&mut self, id: u32, part: u32) {
        let thread = &mut self.threads[id as usize];
        (thread.part, thread.unpaced) = (part, true);
        let pu = thread.pu;
        if pu != NONE && !thread.floats {
            self.touch_pages(id, pu);
        }
    }

    fn touch_pages(&mut self, id: u32, pu: u32) {
        let thread = &self.threads[id as usize];
        let (app, part) = (thread.app, thread.part);
        let program = Arc::clone(&self.apps[app as usize].program);
        let refs = self.refs(app, &program);
        if refs.is_empty() {
            return;
        }
        let entry = &self.apps[app as usize];
        let master = self.threads[entry.team[0] as usize].pu;
        let by = Toucher {
            pu: PuId(pu),
            master: self.model.node_of(PuId(if master == NONE { pu } else { master })),
            home: entry.home,
            own_nodes: &entry.nodes,
        };
        let mut placed = 0;
        for refs in refs {
            match refs.part {
                Part::Own => placed += self.memory.touch(entry.memory, refs.data, part, &by),
                Part::Master | Part::All if part == 0 => {
                    placed += self.memory.touch(entry.memory, refs.data, 0, &by);
                }
                Part::Master | Part::All => {}
            }
        }
        self.threads[id as usize].overhead += placed * self.model.costs.page_fault_ns;
        if placed > 0 {
            self.resettle(app);
        }
    }

    /// The references of the phase that an application is in.
    fn refs<'a>(&self, app: u32, program: &'a crate::program::Program) -> &'a [Refs] {
        match self.apps[app as usize].cursor.phase(program) {
            Some(Phase::Serial { refs, .. } | Phase::Parallel { refs, .. } | Phase::Tasks { refs, .. }) => refs,
            _ => &[],
        }
    }

    /// Share of the partners it could have that a thread of this application has.
    fn partners(&self, app: u32) -> f64 {
        let region = &self.apps[app as usize].region;
        if region.width <= 1 { 1.0 } else { f64::from(region.size.saturating_sub(1)) / f64::from(region.width - 1) }
    }

    /// The team has another size: what its threads share with each other has changed.
    pub(super) fn unpace_partners(&mut self, app: u32) {
        let program = Arc::clone(&self.apps[app as usize].program);
        if self.refs(app, &program).iter().any(|refs| refs.sharing > 0.0) {
            for number in 0..self.apps[app as usize].team.len() {
                let id = self.apps[app as usize].team[number];
                self.threads[id as usize].unpaced = true;
            }
        }
    }

    /// Asks what a thread's references cost where it is.
    pub(super) fn pace(&mut self, id: u32, pu: u32) {
        if self.threads[id as usize].floats {
            self.touch_pages(id, pu);
        }
        let thread = &self.threads[id as usize];
        let (app, part) = (thread.app, thread.part);
        let program = Arc::clone(&self.apps[app as usize].program);
        let refs = self.refs(app, &program);
        let (memory, partners) = (self.apps[app as usize].memory, self.partners(app));
        let pace = self.memory.pace_among(memory, refs, (part, 0), partners, PuId(pu));
        let thread = &mut self.threads[id as usize];
        (thread.pace, thread.unpaced) = (pace, false);
    }
}
