//! The ledger records the owner and the guests of each processor, and which records have changed
//! since the plan, the targets and the checks last read them. Every change goes through a method
//! that keeps all of that in step, so no other file can make half a change.
//!
//! Its modules: `handover` (a processor changes hands), `answers` (owners answer), `guests`,
//! `lifetime` (applications come and go), `presence` (processors come and go), `bounds` (the only
//! processors that an application may have), `measures` (measurements of applications).

mod answers;
mod bounds;
mod guests;
mod handover;
mod lifetime;
mod measures;
mod presence;

pub(crate) use guests::is_place;

use crate::account::{Account, Activity};
use crate::event::Class;
use crate::vacating::Vacating;
use numaestro_policy::{App, AppId, Processor, PuState, Search, Slot};
use numaestro_topology::{Machine, NumaNodeId, PuId, PuSet};

/// Dense arrays by processor and by slot.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    pus: Vec<Processor>,
    apps: Vec<App>,
    accounts: Vec<Account>,
    /// Applications that have been started, in order of arrival.
    started: Vec<Slot>,
    vacant: Vec<Slot>,
    /// A buffer, empty between uses.
    scratch: Vec<PuId>,
    /// Processors that may be owned, unmanaged ones included.
    usable: PuSet,
    /// Sum of all allocations.
    allocated: u32,
    special: Special,
    /// Number of processors that are marked as unmanaged.
    unmanaged: u32,
    /// A processor has become free since this was last taken.
    freed: bool,
    vacating: Vacating,
    /// Applications whose target may have changed since targets were last told, in no order; some
    /// may be gone.
    dirty: Vec<Slot>,
    /// Changes that the plan has not followed yet.
    unplanned: Unplanned,
    /// Records that were written since the last check.
    written: Written,
}

/// Numbers of applications that not every processor can go to, or come from.
#[derive(Debug, Clone, Copy, Default)]
struct Special {
    /// They keep the processors they arrived with.
    pinned: u32,
    /// They may have some of the usable processors only.
    bounded: u32,
}

/// Changes that the plan has not followed yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unplanned {
    /// Processors whose `next` has changed, or which can be given now and could not before, or the
    /// other way round.
    pub pus: Vec<PuId>,
    /// Applications with another home.
    pub homes: Vec<Slot>,
}

/// Records that were written; one may be listed several times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    pub pus: Vec<PuId>,
    pub apps: Vec<Slot>,
}

impl Ledger {
    /// The ledger of a machine on which nothing runs.
    pub(crate) fn new(machine: &Machine, reserved: &PuSet) -> Self {
        let count = machine.pu_count();
        let mut pus = vec![Processor::default(); count];
        let mut usable = PuSet::with_capacity(count);
        for (index, pu) in pus.iter_mut().enumerate() {
            let id = PuId(index as u32);
            if reserved.contains(id) || !machine.allowed().contains(id) {
                pu.state = PuState::Reserved;
            } else {
                usable.insert(id);
            }
        }
        Self {
            pus,
            apps: Vec::new(),
            accounts: Vec::new(),
            started: Vec::new(),
            vacant: Vec::new(),
            scratch: Vec::new(),
            usable,
            allocated: 0,
            special: Special::default(),
            unmanaged: 0,
            freed: false,
            vacating: Vacating::new(count),
            dirty: Vec::new(),
            unplanned: Unplanned { pus: (0..count as u32).map(PuId).collect(), homes: Vec::new() },
            written: Written::default(),
        }
    }

    /// All processors, by number.
    pub(crate) fn pus(&self) -> &[Processor] {
        &self.pus
    }

    pub(crate) fn pu(&self, pu: PuId) -> &Processor {
        &self.pus[pu.index()]
    }

    /// All applications, by slot.
    pub(crate) fn apps(&self) -> &[App] {
        &self.apps
    }

    pub(crate) fn app(&self, slot: Slot) -> &App {
        &self.apps[slot.index()]
    }

    pub(crate) fn account(&self, slot: Slot) -> &Account {
        &self.accounts[slot.index()]
    }

    pub(crate) fn activity(&self, slot: Slot) -> &Activity {
        &self.account(slot).activity
    }

    /// The minimum of an application without parties: the user's, or 1 in a sequential phase.
    pub(crate) fn own_minimum(&self, slot: Slot) -> u32 {
        let activity = self.activity(slot);
        let within = self.within(slot).map_or(u32::MAX, |within| within.len() as u32);
        if activity.sequential { 1 } else { activity.limits.min.min(within) }
    }

    pub(crate) fn activity_mut(&mut self, slot: Slot) -> &mut Activity {
        &mut self.accounts[slot.index()].activity
    }

    /// Applications that have been started, in order of arrival.
    pub(crate) fn started(&self) -> &[Slot] {
        &self.started
    }

    /// Processors that may be owned, unmanaged ones included.
    pub(crate) fn usable(&self) -> &PuSet {
        &self.usable
    }

    /// Sum of all allocations.
    pub(crate) fn allocated(&self) -> u32 {
        self.allocated
    }

    /// Processors that are marked as unmanaged.
    pub(crate) fn unmanaged(&self) -> u32 {
        self.unmanaged
    }

    /// Says whether some application keeps the processors it arrived with.
    pub(crate) fn pins(&self) -> bool {
        self.special.pinned > 0
    }

    pub(crate) fn vacating(&self) -> &Vacating {
        &self.vacating
    }

    /// The slot of an application that has been started.
    pub(crate) fn slot(&self, app: AppId) -> Option<Slot> {
        let at = self.started.binary_search_by_key(&app, |&slot| self.app(slot).id).ok()?;
        Some(self.started[at])
    }

    /// The place that an application has or would have in `order`, which is in order of arrival.
    pub(crate) fn place_in(&self, order: &[Slot], slot: Slot) -> usize {
        let id = self.app(slot).id;
        order.partition_point(|&other| self.app(other).id < id)
    }

    /// Puts slots in order of arrival.
    pub(crate) fn sort(&self, slots: &mut [Slot]) {
        let id = |slot: &Slot| self.app(*slot).id;
        if !slots.is_sorted_by_key(id) {
            slots.sort_unstable_by_key(id);
        }
    }

    /// Changes that the plan has not followed yet.
    pub(crate) fn unplanned(&self) -> &Unplanned {
        &self.unplanned
    }

    /// The plan has followed all changes.
    pub(crate) fn planned(&mut self) {
        self.unplanned.pus.clear();
        self.unplanned.homes.clear();
    }

    /// Records that were written since the last check.
    pub(crate) fn written(&self) -> &Written {
        &self.written
    }

    /// Everything has been checked.
    pub(crate) fn checked(&mut self) {
        self.written.pus.clear();
        self.written.apps.clear();
    }

    /// The target of an application may have changed.
    pub(crate) fn mark(&mut self, slot: Slot) {
        let account = &mut self.accounts[slot.index()];
        if !account.dirty {
            account.dirty = true;
            self.dirty.push(slot);
        }
    }

    /// Every target may have changed.
    pub(crate) fn mark_all(&mut self) {
        for index in 0..self.started.len() {
            self.mark(self.started[index]);
        }
    }

    /// Says whether a processor has become free since this was last taken.
    pub(crate) fn has_freed(&self) -> bool {
        self.freed
    }

    /// Says the same, and forgets it.
    pub(crate) fn take_freed(&mut self) -> bool {
        std::mem::take(&mut self.freed)
    }

    /// Says whether some target may have changed.
    pub(crate) fn is_marked(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Appends all marked applications; some of them may be gone.
    pub(crate) fn take_marked(&mut self, slots: &mut Vec<Slot>) {
        slots.append(&mut self.dirty);
    }

    /// Takes the mark of an application off. False if it had none.
    pub(crate) fn unmark(&mut self, slot: Slot) -> bool {
        std::mem::take(&mut self.accounts[slot.index()].dirty)
    }

    /// Sets the class of an application.
    pub(crate) fn set_class(&mut self, slot: Slot, class: Class) {
        self.apps[slot.index()].class = class;
    }

    /// Sets the party of an application, and the memory it is going to need, bytes.
    pub(crate) fn set_origin(&mut self, slot: Slot, party: u32, needs_memory: u64) {
        let app = &mut self.apps[slot.index()];
        (app.party, app.needs_memory) = (party, needs_memory);
    }

    /// Sets the number of every application's party anew.
    pub(crate) fn renumber_parties(&mut self, number: impl Fn(u32) -> u32) {
        self.apps.iter_mut().for_each(|app| app.party = number(app.party));
    }

    /// An application calls this node its home, or none.
    pub(crate) fn set_home(&mut self, slot: Slot, home: Option<NumaNodeId>) {
        if std::mem::replace(&mut self.apps[slot.index()].home, home) != home {
            self.unplanned.homes.push(slot);
        }
    }

    /// Sets the most processors that the placement has been able to give an application.
    pub(crate) fn set_placeable(&mut self, slot: Slot, processors: u32) {
        self.apps[slot.index()].placeable = processors;
    }

    /// Sets the most processors that an application has in this turn.
    pub(crate) fn set_turn(&mut self, slot: Slot, processors: u32) {
        self.apps[slot.index()].turn = processors;
    }

    /// Sets the most processors that its party leaves an application, and the minimum that counts
    /// under that.
    pub(crate) fn entitle(&mut self, slot: Slot, entitled: u32, min: u32) {
        let app = &mut self.apps[slot.index()];
        (app.entitled, app.min) = (entitled, min);
    }

    /// Sets the state of the search for an application's number of processors.
    pub(crate) fn set_search(&mut self, slot: Slot, search: Search) {
        self.apps[slot.index()].search = search;
    }

    /// Sets the place of an application's threads in the list of all threads.
    pub(crate) fn set_threads(&mut self, slot: Slot, first: u32, count: u32) {
        let app = &mut self.apps[slot.index()];
        (app.first_thread, app.thread_count) = (first, count);
    }
}
