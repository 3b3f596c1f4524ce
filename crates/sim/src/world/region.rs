//! Teams: iterations, meetings and the lock, simulated thread by thread. A preempted partner or holder stalls the others because nobody
//! releases them; there is no formula. Knows nothing of how the operating system chooses.

use super::World;
use super::app::{Deferred, Stand};
use super::draws::Share;
use super::log::Line;
use super::queue::{EventQueue, Happening, Rank};
use super::thread::{Doing, NONE};
use crate::program::{Asks, Phase, Vacates};
use std::sync::Arc;

impl World {
    /// The team is there: it begins the first iteration.
    pub(super) fn begin_region(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        entry.stand = Stand::Region;
        while self.apps[app as usize].team.len() < self.apps[app as usize].region.size as usize {
            self.spawn(app);
        }
        let size = self.apps[app as usize].region.size;
        self.watch_begins(app, size);
        self.park(app, size);
        self.place_team(app);
        for number in 0..size as usize {
            let id = self.apps[app as usize].team[number];
            self.prepare(id, number as u32);
        }
        self.iterate(app);
    }

    /// Everybody in the team gets the part of the next iteration.
    fn iterate(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        let program = Arc::clone(&entry.program);
        let Some(Phase::Parallel { work, locked, curve, refs, .. }) = entry.cursor.phase(&program) else { return };
        let (draws, phase, iteration, size) = (entry.draws, entry.phase, entry.region.iteration, entry.region.size);
        entry.region.arrived = 0;
        let share = Share::new(draws.total(phase, iteration, work), size, curve.as_ref());
        // Once everybody has touched the data, paces are what they will be.
        let repace = iteration == 1 && !refs.is_empty();
        for number in 0..size {
            let id = self.apps[app as usize].team[number as usize];
            let part = draws.part(phase, iteration, number, work, share);
            let thread = &mut self.threads[id as usize];
            thread.critical = locked.as_ref().map_or(0, |locked| draws.locked(phase, iteration, number, locked));
            thread.unpaced |= repace;
            self.give(id, Doing::Part, part);
            self.go_on(id);
        }
    }

    /// A thread has done its part; a critical section may follow.
    pub(super) fn part_ended(&mut self, id: u32) {
        let thread = &self.threads[id as usize];
        let app = thread.app as usize;
        if thread.critical == 0 {
            return self.arrive_at_meeting(id);
        }
        if self.apps[app].holder == NONE {
            self.apps[app].holder = id;
            self.enter_critical(id);
        } else {
            self.apps[app].lockers.push_back(id);
            let wait = self.apps[app].region.wait;
            self.wait_for(id, Doing::Lock, wait);
        }
    }

    fn enter_critical(&mut self, id: u32) {
        let critical = std::mem::take(&mut self.threads[id as usize].critical);
        self.give(id, Doing::Critical, critical);
        self.go_on(id);
    }

    /// A critical section has ended: the lock goes to the one that waits longest, wherever that is.
    pub(super) fn unlock(&mut self, id: u32) {
        let app = self.threads[id as usize].app;
        let next = self.apps[app as usize].lockers.pop_front();
        self.apps[app as usize].holder = next.unwrap_or(NONE);
        self.arrive_at_meeting(id);
        if let Some(next) = next {
            self.note(Line::Lock, app, self.threads[next as usize].number, self.threads[next as usize].pu);
            self.enter_critical(next);
        }
    }

    /// A thread waits for its team; the last one releases it.
    fn arrive_at_meeting(&mut self, id: u32) {
        let (app, number) = (self.threads[id as usize].app, self.threads[id as usize].number);
        let entry = &mut self.apps[app as usize];
        entry.region.arrived += 1;
        let region = &entry.region;
        let (last, over) = (region.arrived == region.size, region.iteration + 1 == region.iterations);
        if last {
            self.queue.push(self.now, Rank::Meeting, Happening::Meeting(app));
        }
        if over && number > 0 && entry.program.asks == Asks::Creation {
            // A created thread ends with its work; its processor is given back at once.
            self.park_one(id);
            return self.say_idle(app);
        }
        let mut wait = entry.region.wait;
        if last {
            wait = crate::program::Wait::Spin;
        } else if entry.told.owes && entry.program.vacates == Vacates::Task && self.is_outside(id) {
            wait = crate::program::Wait::Block;
        }
        self.wait_for(id, Doing::Meet, wait);
        if !last {
            self.hand_over(id);
        }
        self.has_left(app);
    }

    /// The team goes on: to the next iteration, resized if it was told so, or out of the region.
    pub(super) fn meeting(&mut self, app: u32) {
        if self.defers(app, Deferred::Meeting) {
            return;
        }
        let entry = &mut self.apps[app as usize];
        let size = entry.region.size;
        entry.region.iteration += 1;
        self.thread_events += u64::from(size);
        let over = entry.region.iteration >= entry.region.iterations;
        self.note(Line::Meeting, app, size, u32::from(over));
        if over {
            self.join(app);
        } else {
            self.measure_iteration(app);
            self.resize(app);
            self.follow(app);
            self.iterate(app);
        }
    }

    /// A program without outer loop measures itself from meeting to meeting.
    fn measure_iteration(&mut self, app: u32) {
        let entry = &self.apps[app as usize];
        if entry.watch.is_on() && entry.watch.has_no_loop() {
            self.watch_ends(app);
            self.watch_round(app);
            let team = self.team_size(app);
            self.watch_begins(app, team);
        }
    }

    /// The region is over.
    fn join(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        entry.stand = Stand::Between;
        if entry.program.asks == Asks::Creation {
            self.retire(app);
            self.say_demand(app, 1);
        }
        self.advance(app);
    }

    /// Created threads are gone; the next region creates new ones.
    pub(super) fn retire(&mut self, app: u32) {
        self.park(app, 1);
        while self.apps[app as usize].team.len() > 1 {
            let id = self.apps[app as usize].team.pop().unwrap_or(NONE);
            self.free_threads.push(id);
        }
    }

    /// Threads that its team should have now.
    fn team_size(&self, app: u32) -> u32 {
        let entry = &self.apps[app as usize];
        let creation = entry.program.asks == Asks::Creation;
        let most = if creation { entry.region.size } else { entry.region.width };
        most.min(entry.told.count).min(entry.watch.limit()).max(1)
    }

    /// The team takes the size that it was told, and leaves what it has to leave.
    fn resize(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        let creation = entry.program.asks == Asks::Creation;
        let size = self.team_size(app);
        let entry = &mut self.apps[app as usize];
        let before = entry.region.size;
        if size == before && !entry.told.owes && !entry.moved {
            return;
        }
        entry.region.size = size;
        let cost = entry.program.creation_ns;
        let mut created = 0;
        while self.apps[app as usize].team.len() < size as usize {
            self.spawn(app);
            created += 1;
        }
        let master = self.apps[app as usize].team[0];
        self.threads[master as usize].overhead += cost * created;
        self.park(app, size);
        self.place_team(app);
        self.unpace_partners(app);
        for number in before..size {
            let id = self.apps[app as usize].team[number as usize];
            self.prepare(id, number);
        }
        if creation && size < before {
            self.say_idle(app);
        }
    }
}
