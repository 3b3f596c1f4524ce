//! Tasks: a number of threads forked at once; the processors of the application take them first come first served. A runner is the
//! thread that takes tasks on one processor. Knows nothing of teams.

use super::World;
use super::app::{Region, Stand};
use super::thread::{Doing, NONE};
use crate::program::{Asks, Phase, Wait};
use std::sync::Arc;

impl World {
    /// The master forks tasks.
    pub(super) fn fork_tasks(&mut self, app: u32, count: u32) {
        if count == 0 {
            return self.advance(app);
        }
        let entry = &mut self.apps[app as usize];
        entry.region = Region { tasks: count, tasks_all: count, wait: Wait::Block, ..Region::default() };
        let creation = entry.program.creation_ns * u64::from(count);
        let master = entry.team[0];
        self.threads[master as usize].overhead += creation;
        let asked = match self.apps[app as usize].program.asks {
            Asks::Once if self.apps[app as usize].said.sequential => {
                self.say_parallel(app);
                true
            }
            Asks::Once => false,
            Asks::Runnable | Asks::Creation => self.say_demand(app, count),
        };
        if asked { self.await_answer(app) } else { self.begin_tasks(app) }
    }

    /// Its processors begin to take tasks.
    pub(super) fn begin_tasks(&mut self, app: u32) {
        self.apps[app as usize].stand = Stand::Tasks;
        // The team of a region before this may still wait for the next one.
        self.park(app, 1);
        let master = self.apps[app as usize].team[0];
        self.settle_target(app);
        self.take_task(master);
        self.start_runners(app);
    }

    /// Every processor that has none gets a runner, while there are tasks.
    pub(super) fn start_runners(&mut self, app: u32) {
        let entry = &self.apps[app as usize];
        if entry.stand != Stand::Tasks {
            return;
        }
        for at in 0..entry.told.count as usize {
            let entry = &self.apps[app as usize];
            // Where nobody owns processors, the count says how many run; else every processor of its own may.
            if entry.region.tasks == 0 || entry.floats && entry.region.running >= entry.told.count {
                break;
            }
            let Some(&pu) = entry.list.get(at % entry.list.len().max(1)) else { break };
            if !entry.floats && self.has_runner(app, pu.0) {
                continue;
            }
            let idle = entry.team.iter().copied().find(|&id| self.threads[id as usize].doing == Doing::Nothing);
            let id = idle.unwrap_or_else(|| self.spawn(app));
            self.threads[id as usize].pu = pu.0;
            self.threads[id as usize].floats = self.apps[app as usize].floats;
            // Threads are not where a team's would be any more: the next one is spread anew.
            self.apps[app as usize].spread = 0;
            self.take_task(id);
        }
    }

    /// Whether a thread of the application with something to do belongs to a processor.
    pub(super) fn has_runner(&self, app: u32, pu: u32) -> bool {
        let team = &self.apps[app as usize].team;
        team.iter()
            .map(|&id| &self.threads[id as usize])
            .any(|thread| thread.pu == pu && thread.doing != Doing::Nothing)
    }

    /// A thread takes the next task.
    fn take_task(&mut self, id: u32) {
        let app = self.threads[id as usize].app;
        let entry = &mut self.apps[app as usize];
        let program = Arc::clone(&entry.program);
        let Some(Phase::Tasks { work, .. }) = entry.cursor.phase(&program) else { return };
        let number = entry.region.tasks_all - entry.region.tasks;
        entry.region.tasks -= 1;
        entry.region.running += 1;
        let work = entry.draws.task(entry.phase, number, work);
        self.prepare(id, number);
        self.give(id, Doing::Task, work);
        self.go_on(id);
    }

    /// A task has ended: its thread takes the next one, or leaves its processor idle.
    pub(super) fn task_ended(&mut self, id: u32) {
        let app = self.threads[id as usize].app;
        let entry = &mut self.apps[app as usize];
        entry.region.running -= 1;
        let (left, running) = (entry.region.tasks, entry.region.running);
        let surplus = entry.floats && running >= entry.told.count;
        if left > 0 && !surplus && !self.is_outside(id) {
            self.take_task(id);
            self.say_runnable(app);
            return;
        }
        if left == 0 && running == 0 {
            self.settle_target(app);
            // The master joins; it goes on where it was last.
            if self.threads[id as usize].number > 0 {
                self.park_one(id);
            }
            return self.advance(app);
        }
        self.park_one(id);
        self.has_left(app);
        self.start_runners(app);
        self.say_runnable(app);
    }

    /// How many processors it could use, if it says so.
    pub(super) fn say_runnable(&mut self, app: u32) {
        let entry = &self.apps[app as usize];
        if entry.program.asks != Asks::Once {
            let wanted = entry.region.tasks + entry.region.running;
            self.say_demand(app, wanted);
        }
    }

    /// Whether a thread runs where its application was told not to be.
    pub(super) fn is_outside(&self, id: u32) -> bool {
        let thread = &self.threads[id as usize];
        let set = &self.apps[thread.app as usize].set;
        thread.pu != NONE && !set.contains(numaestro_topology::PuId(thread.pu))
    }
}
