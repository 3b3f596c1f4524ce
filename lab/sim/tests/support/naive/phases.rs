//! What programs do: phase after phase, teams that meet, tasks.

use super::{Naive, Place, Thread, What, constant};
use numaestro_sim::dist::Dist;
use numaestro_sim::program::{Phase, Work};
use numaestro_topology::PuId;

impl Naive {
    pub(super) fn advance(&mut self, app: usize) {
        let entry = &mut self.apps[app];
        entry.phase = entry.phases.pop_front();
        entry.place = Place::Alone;
        match entry.phase.clone() {
            Some(Phase::Serial { work, .. }) => {
                self.rest(app, 1);
                self.touch(app, 0, 0);
                self.work(app, 0, constant(&work));
                self.settle(app);
            }
            Some(Phase::Pause { time }) => {
                self.rest(app, 0);
                self.settle(app);
                self.later(self.now + constant(&time), 0, What::Resume(app));
            }
            Some(Phase::Parallel { .. }) => {
                (self.apps[app].iteration, self.apps[app].size) = (0, 0);
                self.form_team(app);
            }
            Some(Phase::Tasks { count, .. }) => {
                let count = constant(&count) as u32;
                (self.apps[app].tasks, self.apps[app].running) = (count, 0);
                self.apps[app].place = Place::Tasks;
                self.rest(app, 1);
                self.settle(app);
                self.take_task(app, 0);
                self.start_tasks(app);
            }
            Some(other) => panic!("{other:?}"),
            None => {
                self.rest(app, 0);
                self.apps[app].place = Place::Over;
                self.later(self.now, 2, What::End(app));
            }
        }
    }

    /// The team takes the size that it may have, and begins the next iteration.
    pub(super) fn form_team(&mut self, app: usize) {
        let entry = &mut self.apps[app];
        let Some(Phase::Parallel { width, work, .. }) = entry.phase.clone() else { panic!("a team") };
        entry.place = Place::Team;
        let before = entry.size;
        entry.size = width.min(entry.count).max(1) as usize;
        entry.arrived = 0;
        let size = entry.size;
        while entry.threads.len() < size {
            entry.threads.push(Thread::default());
        }
        self.rest(app, size);
        self.apps[app].moved = false;
        self.spread(app);
        self.adopt(app);
        for number in before..size {
            self.touch(app, number, number as u32);
        }
        for number in 0..size {
            let work = match &work {
                Work::Divided(Dist::Constant(total), _) => (total / size as f64).round() as u64,
                Work::Each(each) => constant(each),
                Work::Divided(..) => panic!("would have to be drawn"),
            };
            self.work(app, number, work);
        }
    }

    pub(super) fn meeting(&mut self, app: usize) {
        let entry = &mut self.apps[app];
        entry.iteration += 1;
        let Some(Phase::Parallel { iterations, .. }) = entry.phase else { panic!("a team") };
        let (size, over) = (entry.size as u32, entry.iteration == iterations);
        self.note("meeting", app, size, u32::from(over));
        if over { self.advance(app) } else { self.form_team(app) }
    }

    pub(super) fn take_task(&mut self, app: usize, number: usize) {
        let entry = &mut self.apps[app];
        let Some(Phase::Tasks { count, work, .. }) = entry.phase.clone() else { panic!("tasks") };
        let task = constant(&count) as u32 - entry.tasks;
        (entry.tasks, entry.running) = (entry.tasks - 1, entry.running + 1);
        self.touch(app, number, task);
        self.work(app, number, constant(&work));
    }

    /// Every processor of its own without a task gets one while there are some.
    pub(super) fn start_tasks(&mut self, app: usize) {
        if self.apps[app].place != Place::Tasks {
            return;
        }
        for pu in &self.apps[app].set.clone() {
            let entry = &mut self.apps[app];
            let taken = entry.threads.iter().any(|thread| thread.busy && thread.pu == Some(pu));
            if entry.tasks > 0 && !taken {
                let number = entry.threads.iter().position(|thread| !thread.busy).unwrap_or(entry.threads.len());
                entry.threads.resize(entry.threads.len().max(number + 1), Thread::default());
                entry.threads[number].pu = Some(pu);
                self.take_task(app, number);
            }
        }
    }

    pub(super) fn work_ended(&mut self, app: usize, number: usize) {
        let entry = &mut self.apps[app];
        entry.threads[number].works = false;
        let (place, pu) = (entry.place, entry.threads[number].pu.expect("somewhere"));
        self.note(if place == Place::Tasks { "task" } else { "segment" }, app, number as u32, pu.0);
        match place {
            Place::Alone => self.advance(app),
            Place::Team => {
                self.apps[app].arrived += 1;
                if self.apps[app].arrived == self.apps[app].size {
                    self.later(self.now, 1, What::Meeting(app));
                }
                if self.apps[app].owes && self.outside(app) == 0 {
                    self.adopt(app);
                }
            }
            Place::Tasks => self.task_ended(app, number, pu),
            Place::Waiting | Place::Curve | Place::Over => panic!("no thread works there"),
        }
    }

    pub(super) fn task_ended(&mut self, app: usize, number: usize, pu: PuId) {
        let entry = &mut self.apps[app];
        entry.running -= 1;
        if entry.tasks > 0 && entry.set.contains(pu) {
            return self.take_task(app, number);
        }
        if entry.tasks == 0 && entry.running == 0 {
            self.settle(app);
            self.apps[app].threads[number].busy = false;
            return self.advance(app);
        }
        entry.threads[number].busy = false;
        if entry.owes && self.outside(app) == 0 {
            self.adopt(app);
        }
        self.start_tasks(app);
    }
}
