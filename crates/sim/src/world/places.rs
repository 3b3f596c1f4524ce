//! Where an application's threads are: it is told a set, and its threads leave what is not in it as the program says. Knows nothing of why
//! it was told.

use super::World;
use super::app::Stand;
use super::log::Line;
use super::thread::{Doing, NONE, State};
use crate::program::{Asks, Body, Vacates};
use numaestro_topology::{PuId, PuSet};

impl World {
    /// It is told which processors are its own from now on.
    pub(super) fn target(&mut self, app: u32, epoch: u32, count: u32, pus: &PuSet, shared: bool) {
        self.note(Line::Target, app, count, epoch);
        let entry = &mut self.apps[app as usize];
        let floats = shared && pus.len() > 1 && pus.len() == self.usable;
        if entry.stand == Stand::Over {
            // It leaves in this very moment, and none of its threads is anywhere.
            (entry.told.epoch, entry.told.shared) = (epoch, shared);
            entry.set.clone_from(pus);
            return;
        }
        let first = entry.told.epoch == 0;
        entry.told.owes |= !entry.set.is_subset(pus);
        if !first && entry.told.count != count.max(1) {
            entry.record.resizes += 1;
            let up = entry.said.processors >= entry.widest;
            entry.record.settled_resizes += u32::from(up && entry.settled == (true, true) && !entry.set.is_empty());
        }
        (entry.told.epoch, entry.told.count, entry.told.shared) = (epoch, count.max(1), shared);
        let changed = entry.set != *pus || entry.floats != floats;
        if changed {
            self.watch_moves(app);
        }
        let entry = &mut self.apps[app as usize];
        if changed && matches!(entry.program.body, Body::Curve { .. }) {
            self.change_curve(app, pus);
        }
        let entry = &mut self.apps[app as usize];
        entry.leaving.or_with(&entry.set);
        entry.leaving.subtract(pus);
        // Nothing has been said yet of what it has just been given.
        entry.said.idle.and_with(&entry.set);
        entry.set.clone_from(pus);
        entry.list.clear();
        entry.list.extend(pus.iter());
        entry.nodes.clear();
        entry.nodes.extend(pus.iter().map(|pu| self.model.node_of(pu)));
        entry.nodes.sort_unstable();
        entry.nodes.dedup();
        entry.moved |= changed;
        entry.floats = floats;
        if first {
            self.begin(app);
        } else if changed && entry.stand != Stand::Curve {
            self.leave(app);
        }
        if self.apps[app as usize].stand == Stand::Curve {
            self.settle_target(app);
        }
    }

    /// Its first processors: its first thread runs on the first of them.
    fn begin(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        entry.record.started = self.now;
        self.level(1);
        self.note(Line::Start, app, 0, 0);
        if self.apps[app as usize].stand != Stand::Curve {
            self.spawn(app);
            self.apps[app as usize].moved = false;
            self.advance(app);
        }
    }

    /// Its threads leave what is not theirs any more: at once, or when the program comes to it.
    fn leave(&mut self, app: u32) {
        let entry = &self.apps[app as usize];
        let unbound = entry.team.iter().any(|&id| self.threads[id as usize].floats != entry.floats);
        let parallel = entry.is_parallel();
        let at_once = entry.program.vacates == Vacates::AtOnce || !parallel || unbound || entry.stopped;
        if at_once {
            self.settle_target(app);
        } else {
            self.slide(app);
        }
        self.start_runners(app);
    }

    /// Active threads outside of the set.
    fn outside(&self, app: u32) -> usize {
        let team = &self.apps[app as usize].team;
        team.iter().filter(|&&id| self.threads[id as usize].is_active() && self.is_outside(id)).count()
    }

    /// Threads outside move to processors of its own that have nothing to do even though all that can start has been started; when none is
    /// outside, it has done what it was told.
    pub(super) fn slide(&mut self, app: u32) {
        let mut outside = self.outside(app);
        if outside > 0 {
            self.start_runners(app);
            let mut idle = std::mem::take(&mut self.scratch);
            self.idle_of(app, &mut idle);
            for number in 0..self.apps[app as usize].team.len() {
                let id = self.apps[app as usize].team[number];
                if self.threads[id as usize].is_active() && self.is_outside(id) {
                    let Some(pu) = idle.first() else { break };
                    idle.remove(pu);
                    self.move_to(id, pu.0, false);
                    outside -= 1;
                }
            }
            self.scratch = idle;
        }
        if outside == 0 {
            self.adopt(app);
        }
    }

    /// Its own processors on which it has nothing to run.
    pub(super) fn idle_of(&self, app: u32, idle: &mut PuSet) {
        let entry = &self.apps[app as usize];
        idle.clone_from(&entry.set);
        for &id in &entry.team {
            let thread = &self.threads[id as usize];
            if thread.doing != Doing::Nothing && thread.pu != NONE {
                idle.remove(PuId(thread.pu));
            }
        }
    }

    /// The same, and what it has been told to leave and has left.
    pub(super) fn unused_of(&self, app: u32, unused: &mut PuSet) {
        self.idle_of(app, unused);
        let entry = &self.apps[app as usize];
        if entry.told.owes {
            unused.or_with(&entry.leaving);
            for &id in &entry.team {
                let thread = &self.threads[id as usize];
                if thread.doing != Doing::Nothing && thread.pu != NONE {
                    unused.remove(PuId(thread.pu));
                }
            }
        }
    }

    /// What it was told last is done, if it has not been: nothing holds its threads where they are.
    pub(super) fn settle_target(&mut self, app: u32) {
        if self.apps[app as usize].moved {
            self.spread(app);
            self.recover(app);
        }
        self.adopt(app);
    }

    /// The team of a region has the size that it will have: its threads are spread, if they are not.
    pub(super) fn place_team(&mut self, app: u32) {
        let entry = &self.apps[app as usize];
        if entry.moved || entry.spread != entry.region.size {
            self.spread(app);
        }
        self.adopt(app);
    }

    /// Says `Adopted`, if it owes that.
    fn adopt(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        if std::mem::take(&mut entry.told.owes) {
            entry.leaving.clear();
            self.say_adopted(app);
        }
    }

    /// A thread has given its processor up: perhaps that was the last one outside of the set.
    pub(super) fn has_left(&mut self, app: u32) {
        if self.apps[app as usize].told.owes && self.outside(app) == 0 {
            self.adopt(app);
        }
    }

    /// Spreads its threads evenly over its set. Those that are well where they are stay.
    pub(super) fn spread(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        entry.moved = false;
        entry.spread = if entry.stand == Stand::Region { entry.region.size } else { 0 };
        let floats = entry.floats;
        let many = match entry.stand {
            Stand::Region | Stand::Tasks => entry.team.len(),
            _ => 1,
        };
        let in_region = (entry.stand == Stand::Region).then_some(entry.region.size as usize);
        let taking_part = |number: usize, doing: Doing| match in_region {
            Some(size) => number < size,
            None => number == 0 || doing != Doing::Nothing,
        };
        let mut movers = std::mem::take(&mut self.movers);
        let mut load = std::mem::take(&mut self.load);
        movers.clear();
        load.clear();
        load.resize(entry.list.len(), 0);
        let count = (0..many.min(entry.team.len()))
            .filter(|&number| taking_part(number, self.threads[entry.team[number] as usize].doing))
            .count();
        let most = count.div_ceil(entry.list.len().max(1)) as u32;
        for number in 0..many.min(entry.team.len()) {
            let id = entry.team[number];
            let thread = &self.threads[id as usize];
            if !taking_part(number, thread.doing) {
                continue;
            }
            match entry.list.binary_search(&PuId(thread.pu)) {
                Ok(_) if floats && thread.floats => {}
                Ok(at) if !floats && !thread.floats && load[at] < most => load[at] += 1,
                _ => movers.push(id),
            }
        }
        let mut at = 0;
        for &id in &movers {
            // Rising levels of load from the first processor on: the least loaded, of equals the first.
            let level = load.iter().copied().min().unwrap_or(0);
            while load.get(at).is_none_or(|&load| load > level) {
                at = if at + 1 < load.len() { at + 1 } else { 0 };
            }
            load[at] += 1;
            let pu = self.apps[app as usize].list[at].0;
            self.move_to(id, pu, floats);
        }
        (self.movers, self.load) = (movers, load);
    }

    /// A thread belongs to a processor from now on, or to its whole set, whatever it does.
    pub(super) fn move_to(&mut self, id: u32, pu: u32, floats: bool) {
        let thread = &self.threads[id as usize];
        let (state, from) = (thread.state, thread.pu);
        if state == State::Running && (from == pu || floats && !self.is_outside(id)) {
            self.threads[id as usize].floats = floats;
            return;
        }
        match state {
            State::Running => {
                self.take_off(from);
            }
            State::Ready => self.unqueue(id),
            State::Blocked | State::New | State::Held => {}
        }
        let thread = &mut self.threads[id as usize];
        (thread.pu, thread.floats) = (pu, floats);
        if state == State::Running {
            self.choose(from);
        }
        if matches!(state, State::Running | State::Ready) {
            self.wake(id);
        }
    }

    /// The processor of a thread that is being created: a program that asks for each thread has just got it; others spread their threads later.
    pub(super) fn place_of_new(&self, app: u32, number: u32) -> u32 {
        let entry = &self.apps[app as usize];
        if number == 0 {
            return entry.list.first().map_or(NONE, |pu| pu.0);
        }
        if entry.program.asks != Asks::Creation {
            return NONE;
        }
        let taken = |pu: u32| entry.team.iter().any(|&id| self.threads[id as usize].pu == pu);
        entry.list.iter().map(|pu| pu.0).find(|&pu| !taken(pu)).unwrap_or(NONE)
    }
}
