//! Keeps the list of threads that are ready, and chooses the threads that run in this turn, by a
//! given rule.
//!
//! Source: Antonopoulos et al. 2004, §4: "ready to execute threads are conceptually organized as a
//! linked list". A thread keeps its place while it runs; when the turn is over, those that ran go
//! to the tail in the order they had. A thread is (application, number): it is followed over turns
//! although slots are used again.
//!
//! The user's minimum, which the paper does not know, is kept: an application below it takes as
//! many threads at once as it needs, or none.

use super::buses::{Buses, Line, Preferences};
use crate::turn::Turn;
use crate::view::{AppId, Slot, View};

/// One thread.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    app: AppId,
    /// Its application's slot.
    pub slot: Slot,
    vp: u32,
    /// BTR, transactions per millisecond, if it has been measured.
    rate: Option<u32>,
    /// The bus it belongs to.
    pub bus: u32,
    /// It runs in this turn.
    pub chosen: bool,
    /// It was there when the epoch began.
    pub member: bool,
    /// Number of turns of this epoch it was chosen for.
    pub runs: u32,
    /// The pass over the list in which it runs next.
    pass: u64,
    /// Its place in the list before it was dealt.
    place: u32,
}

impl Entry {
    /// BTR, if it is known.
    pub fn measured(&self) -> Option<u32> {
        self.rate
    }
}

/// The verdict of a rule on a thread, as it goes through the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Take,
    /// It does not run.
    Skip,
    /// No further thread runs on this bus.
    Close,
}

/// The list.
#[derive(Debug, Clone, Default)]
pub struct Ready {
    /// The threads, head first.
    pub list: Vec<Entry>,
    /// The buses they run on.
    pub buses: Buses,
    /// Number of threads that have been chosen, by slot.
    pub count: Vec<u32>,
    /// Says whether each bus is scheduled by itself.
    apart: bool,
    /// The user's minimum, at least 1, by slot.
    min: Vec<u32>,
    present: Vec<bool>,
    known: Vec<bool>,
    closed: Vec<bool>,
    executed: Vec<Entry>,
    /// Processors by slot, then by bus.
    places: Vec<u32>,
    /// Threads that ran on a bus where they do not belong.
    elsewhere: Vec<u32>,
    preferences: Preferences,
}

impl Ready {
    /// An empty list. With `apart` each bus has its own processors and transactions.
    pub fn new(apart: bool) -> Self {
        Self { apart, ..Self::default() }
    }

    /// Follows the view: threads that have gone leave the list, new ones join its tail, rates are
    /// the latest. `over`: the turn is over, so the threads that ran belong to the buses on which
    /// they ran.
    pub fn sync(&mut self, view: &View<'_>, over: bool) {
        self.present.clear();
        self.present.resize(view.apps.len(), false);
        for &slot in view.order {
            self.present[slot.index()] = true;
        }
        self.min.clear();
        self.min.extend(view.apps.iter().map(|app| app.min.max(1)));
        self.buses.survey(view, self.apart, &self.present);
        self.known.clear();
        self.known.resize(view.threads.len(), false);
        let last_bus = self.buses.lines.len() as u32 - 1;
        let (present, known) = (&self.present, &mut self.known);
        self.list.retain_mut(|entry| {
            let Some(app) = view.apps.get(entry.slot.index()) else { return false };
            if app.id != entry.app || !present[entry.slot.index()] || entry.vp >= app.thread_count {
                return false;
            }
            let index = (app.first_thread + entry.vp) as usize;
            known[index] = true;
            entry.rate = view.threads[index].rate;
            entry.bus = entry.bus.min(last_bus);
            true
        });
        if over {
            self.follow_places(view);
        }
        self.recount(view.apps.len());
        for &slot in view.order {
            self.welcome(view, slot);
        }
        if !over {
            self.shrink();
        }
    }

    /// Threads that ran belong to the buses where their applications had processors. The bus of
    /// each thread is not known, so a thread that may have been where it belongs stays.
    fn follow_places(&mut self, view: &View<'_>) {
        let buses = self.buses.lines.len();
        if buses < 2 {
            return;
        }
        self.places.clear();
        self.places.resize(view.apps.len() * buses, 0);
        for &slot in view.order {
            for pu in &view.app(slot).own {
                self.places[slot.index() * buses + self.buses.of(pu) as usize] += 1;
            }
        }
        self.elsewhere.clear();
        for (index, entry) in self.list.iter().enumerate().filter(|(_, entry)| entry.chosen) {
            match &mut self.places[entry.slot.index() * buses + entry.bus as usize] {
                0 => self.elsewhere.push(index as u32),
                places => *places -= 1,
            }
        }
        for &index in &self.elsewhere {
            let entry = &mut self.list[index as usize];
            let places = &mut self.places[entry.slot.index() * buses..][..buses];
            if let Some(bus) = places.iter().position(|&places| places > 0) {
                places[bus] -= 1;
                entry.bus = bus as u32;
            }
        }
    }

    /// Counts, for each bus, the threads that belong to it and those that have been chosen.
    fn recount(&mut self, slots: usize) {
        self.count.clear();
        self.count.resize(slots, 0);
        for entry in &self.list {
            let line = &mut self.buses.lines[entry.bus as usize];
            let rate = entry.rate.unwrap_or(line.unmeasured);
            line.threads += 1;
            line.wanted += u64::from(rate);
            if entry.chosen {
                line.chosen += 1;
                line.demand += u64::from(rate);
                self.count[entry.slot.index()] += 1;
            }
        }
    }

    /// New threads of one application join the tail: where they ran before (a change of policy),
    /// else together on the emptiest bus, or spread over all if they are too many for one.
    fn welcome(&mut self, view: &View<'_>, slot: Slot) {
        let app = view.app(slot);
        let first = app.first_thread as usize;
        let new = |known: &[bool]| known[first..][..app.thread_count as usize].iter().filter(|known| !**known).count();
        let count = new(&self.known) as u32;
        if count == 0 {
            return;
        }
        let pass = self.list.iter().map(|entry| entry.pass).max().unwrap_or(0);
        let together = self.buses.emptiest();
        let fit = count <= self.buses.lines[together as usize].processors;
        for thread in view.threads_of(slot) {
            if self.known[first + thread.vp as usize] {
                continue;
            }
            let bus = match thread.last {
                Some(pu) => self.buses.of(pu),
                None if fit => together,
                None => self.buses.emptiest(),
            };
            let line = &mut self.buses.lines[bus as usize];
            line.threads += 1;
            line.wanted += u64::from(thread.rate.unwrap_or(line.unmeasured));
            let (app, vp, rate) = (app.id, thread.vp, thread.rate);
            let new = Entry { app, slot, vp, rate, bus, chosen: false, member: false, runs: 0, pass, place: 0 };
            self.list.push(new);
        }
    }

    /// Where processors have gone away within a turn, the chosen threads nearest to the tail do not
    /// run; they keep their places.
    fn shrink(&mut self) {
        let over = |line: &Line| line.chosen > line.processors;
        if !self.buses.lines.iter().any(over) {
            return;
        }
        for index in (0..self.list.len()).rev() {
            let entry = self.list[index];
            if entry.chosen && over(&self.buses.lines[entry.bus as usize]) {
                let rate = u64::from(self.rate(&entry));
                let line = &mut self.buses.lines[entry.bus as usize];
                line.chosen -= 1;
                line.demand -= rate;
                self.list[index].chosen = false;
                self.count[entry.slot.index()] -= 1;
            }
        }
    }

    /// BTR, or the value that counts before it was measured, on the bus where the thread belongs.
    pub fn rate(&self, entry: &Entry) -> u32 {
        entry.rate.unwrap_or(self.buses.lines[entry.bus as usize].unmeasured)
    }

    /// Says whether no thread runs.
    pub fn is_idle(&self) -> bool {
        self.buses.lines.iter().all(|line| line.chosen == 0)
    }

    /// Moves the threads that ran to the tail in the order they had, and chooses none. Each goes on
    /// to its next pass, but not beyond the pass after that of the threads that wait: a rule that
    /// often chooses a thread out of its turn takes no later turn from it.
    pub fn rotate(&mut self) {
        self.executed.clear();
        self.executed.extend(self.list.iter().filter(|entry| entry.chosen));
        self.list.retain(|entry| !entry.chosen);
        let last = self.list.iter().map(|entry| entry.pass + 1).min().unwrap_or(u64::MAX);
        self.list.extend(self.executed.iter().map(|entry| Entry {
            chosen: false,
            pass: last.min(entry.pass + 1),
            ..*entry
        }));
        for line in &mut self.buses.lines {
            (line.chosen, line.demand) = (0, 0);
        }
        self.count.iter_mut().for_each(|count| *count = 0);
    }

    /// Deals the list, pass by pass: first the first threads of all applications, then their second
    /// ones, and so on. So threads of different applications run together, and no application runs
    /// as a gang only because its threads came together.
    pub fn deal(&mut self) {
        for (place, entry) in (0..).zip(&mut self.list) {
            entry.place = place;
        }
        self.list.sort_unstable_by_key(|entry| (entry.pass, entry.vp, entry.place));
    }

    /// Moves a thread to another bus, to which it belongs from now on.
    pub fn move_to(&mut self, index: usize, bus: u32) {
        let before = self.list[index];
        let rate = u64::from(self.rate(&before));
        let from = &mut self.buses.lines[before.bus as usize];
        from.threads -= 1;
        from.wanted -= rate;
        self.list[index].bus = bus;
        let rate = u64::from(self.rate(&self.list[index]));
        let to = &mut self.buses.lines[bus as usize];
        to.threads += 1;
        to.wanted += rate;
    }

    /// Chooses one thread, on a bus that has a processor for it.
    fn choose(&mut self, index: usize, bus: u32) {
        if self.list[index].bus != bus {
            self.move_to(index, bus);
        }
        let rate = u64::from(self.rate(&self.list[index]));
        let entry = &mut self.list[index];
        entry.chosen = true;
        entry.runs += 1;
        let line = &mut self.buses.lines[bus as usize];
        line.chosen += 1;
        line.demand += rate;
        self.count[entry.slot.index()] += 1;
    }

    /// Number of threads of its application that must run at once if this one does.
    pub fn need(&self, entry: &Entry) -> u32 {
        if self.count[entry.slot.index()] > 0 { 1 } else { self.min[entry.slot.index()] }
    }

    /// Runs one thread on this bus, and with it as many others of its application as its minimum
    /// takes. Returns their number; 0 if there is no room for the minimum.
    pub fn run(&mut self, index: usize, bus: u32) -> u32 {
        let (slot, min) = (self.list[index].slot, self.need(&self.list[index]));
        if min > self.buses.free() {
            return 0;
        }
        self.choose(index, bus);
        let mut count = 1;
        for other in 0..self.list.len() {
            if count >= min {
                break;
            }
            let entry = self.list[other];
            if entry.slot == slot
                && !entry.chosen
                && let Some(bus) = self.buses.with_room(entry.bus)
            {
                self.choose(other, bus);
                count += 1;
            }
        }
        count
    }

    /// Goes through the list from its head and runs threads on the buses where they belong, as the
    /// rule says. The rule is given the bus, the thread and the number of threads of its
    /// application that run.
    pub fn in_order(&mut self, mut rule: impl FnMut(&Line, &Entry, u32) -> Verdict) {
        self.closed.clear();
        self.closed.resize(self.buses.lines.len(), false);
        for index in 0..self.list.len() {
            let entry = self.list[index];
            let bus = entry.bus;
            if entry.chosen || self.closed[bus as usize] || self.buses.lines[bus as usize].free() == 0 {
                continue;
            }
            match rule(&self.buses.lines[bus as usize], &entry, self.count[entry.slot.index()]) {
                Verdict::Take => _ = self.run(index, bus),
                Verdict::Skip => {}
                Verdict::Close => self.closed[bus as usize] = true,
            }
        }
    }

    /// Leaves in `turn` the applications that have chosen threads, limited to their number.
    pub fn write(&mut self, view: &View<'_>, turn: &mut Turn) {
        let count = &self.count;
        turn.running.retain(|slot| count[slot.index()] > 0);
        for index in 0..turn.running.len() {
            let slot = turn.running[index];
            turn.limit(slot, self.count[slot.index()]);
        }
        self.preferences.reset(view.apps.len(), self.buses.lines.len());
        for entry in self.list.iter().filter(|entry| entry.chosen) {
            self.preferences.add(entry.slot, entry.bus, 1);
        }
        self.preferences.write(turn);
    }

    /// The threads that run, in the order of the list, as (application, thread), for tests.
    #[cfg(test)]
    pub fn running(&self) -> Vec<(u64, u32)> {
        self.list.iter().filter(|entry| entry.chosen).map(|entry| (entry.app.0, entry.vp)).collect()
    }
}
