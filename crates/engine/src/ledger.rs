//! The ledger: who owns which processor, who waits, and what has changed. Knows nothing of why; `handover` says how a processor changes hands.

use crate::account::Sent;
pub(crate) use crate::account::{Account, Limits, Phase};
use crate::event::Nanos;
use crate::queue::Queue;
use numaestro_policy::{App, AppId, Class, PageHome, Processor, PuState, Search, Slot};
use numaestro_topology::{Machine, PuId, PuSet};

/// Dense arrays by processor and by slot.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    pub pus: Vec<Processor>,
    /// Epoch with which the vacating of a processor was announced; 0 = not yet.
    pub leave_epoch: Vec<u32>,
    pub apps: Vec<App>,
    pub accounts: Vec<Account>,
    /// Applications that have been started, in order of arrival.
    pub started: Vec<Slot>,
    /// Those that wait.
    pub queue: Queue,
    vacant: Vec<Slot>,
    /// A buffer, empty between uses.
    pub scratch: Vec<PuId>,
    /// Processors that may be owned, unmanaged ones included.
    pub usable: PuSet,
    /// How many of them are not taken by load that is not managed, as of the latest decision; at least 1.
    pub there_is: u32,
    /// Sum of all allocations.
    pub allocated: u32,
    /// Whose target may have changed in this step, in no order; some of them may be gone.
    pub dirty: Vec<Slot>,
    /// All that have something to vacate, among others that had.
    pub vacating: Vec<Slot>,
    /// Who takes part in the division has changed.
    pub regrouped: bool,
    /// False only if nobody is pinned; and if no processor is marked as unmanaged.
    pub some: Rare,
    /// What the plan does not know yet.
    pub news: News,
    /// What has been written in this step, to be checked.
    pub written: Written,
}

/// Things that are seldom there: while they are not, nobody has to look for them.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Rare {
    pub pinned: bool,
    pub unmanaged: bool,
}

/// What has changed since the plan was in step with the ledger.
#[derive(Debug, Clone, Default)]
pub(crate) struct News {
    /// Processors that have another `next`, or can be given or not, other than before.
    pub pus: Vec<PuId>,
    /// Applications with another home.
    pub homes: Vec<Slot>,
}

/// What one step has written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    pub pus: Vec<PuId>,
    pub apps: Vec<Slot>,
}

impl Ledger {
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
            leave_epoch: vec![0; count],
            apps: Vec::new(),
            accounts: Vec::new(),
            started: Vec::new(),
            queue: Queue::default(),
            vacant: Vec::new(),
            scratch: Vec::new(),
            there_is: usable.len() as u32,
            usable,
            allocated: 0,
            dirty: Vec::new(),
            vacating: Vec::new(),
            regrouped: true,
            some: Rare::default(),
            news: News { pus: (0..count as u32).map(PuId).collect(), homes: Vec::new() },
            written: Written::default(),
        }
    }

    /// PUs that may be given to applications now or when they come back.
    pub(crate) fn not_reserved(&self) -> PuSet {
        let there = self.pus.iter().enumerate().filter(|(_, pu)| pu.state != PuState::Reserved);
        there.map(|(index, _)| PuId(index as u32)).collect()
    }

    /// The slot of a live application.
    pub(crate) fn slot(&self, app: AppId) -> Option<Slot> {
        let id = |slot: Slot| self.apps[slot.index()].id;
        if let Ok(at) = self.started.binary_search_by_key(&app, |&slot| id(slot)) {
            return Some(self.started[at]);
        }
        let at = self.queue.waiting().binary_search_by_key(&app, |waiting| id(waiting.app)).ok()?;
        Some(self.queue.waiting()[at].app)
    }

    /// Its place in the queue, counted from 0.
    pub(crate) fn place_in_queue(&self, slot: Slot) -> Option<usize> {
        let id = self.app(slot).id;
        self.queue.position(slot, |other| self.app(other).id < id)
    }

    /// Where it is or would be in `order`, which is in order of arrival.
    pub(crate) fn place_in(&self, order: &[Slot], slot: Slot) -> usize {
        let id = self.app(slot).id;
        order.partition_point(|&other| self.app(other).id < id)
    }

    pub(crate) fn app(&self, slot: Slot) -> &App {
        &self.apps[slot.index()]
    }

    pub(crate) fn account(&self, slot: Slot) -> &Account {
        &self.accounts[slot.index()]
    }

    pub(crate) fn account_mut(&mut self, slot: Slot) -> &mut Account {
        &mut self.accounts[slot.index()]
    }

    /// Its target may have changed.
    pub(crate) fn mark(&mut self, slot: Slot) {
        let account = &mut self.accounts[slot.index()];
        if !account.dirty {
            account.dirty = true;
            self.dirty.push(slot);
        }
    }

    /// It takes part from now on, or is a wrapper.
    pub(crate) fn start(&mut self, slot: Slot, phase: Phase, now: Nanos) {
        let at = self.place_in(&self.started, slot);
        self.started.insert(at, slot);
        self.apps[slot.index()].started_ns = now;
        let account = self.account_mut(slot);
        (account.phase, account.position) = (phase, 0);
        self.mark(slot);
        self.written.apps.push(slot);
    }

    /// A slot for the latest arrival, all of its sets empty; it neither waits nor has it been started.
    pub(crate) fn enter(&mut self, id: AppId, class: Class) -> Slot {
        let slot = self.vacant.pop().unwrap_or_else(|| {
            let pus = self.pus.len();
            self.accounts.push(Account::vacant(pus));
            let set = || PuSet::with_capacity(pus);
            self.apps.push(App { own: set(), held: set(), ..App::new(id, 0) });
            Slot(self.apps.len() as u32 - 1)
        });
        let app = &mut self.apps[slot.index()];
        (app.id, app.class, app.home, app.cpu_ns, app.started_ns, app.placeable) = (id, class, None, 0, 0, u32::MAX);
        (app.turn, app.report, app.reports, app.search, app.thread_count) = (u32::MAX, None, 0, Search::None, 0);
        (app.entitled, app.party, app.needs_memory) = (u32::MAX, 0, 0);
        app.memory.clear();
        app.speedup.clear();
        app.held.clear();
        slot
    }

    /// The application is gone: what it has goes to those that are next, or is free.
    pub(crate) fn leave(&mut self, slot: Slot, now: Nanos) {
        self.give_up_all(slot, now);
        if let Some(at) = self.place_in_queue(slot) {
            self.queue.remove(at);
        } else {
            let at = self.place_in(&self.started, slot);
            debug_assert_eq!(self.started.get(at), Some(&slot));
            self.started.remove(at);
            self.regrouped = true;
        }
        let account = self.account_mut(slot);
        account.phase = Phase::Gone;
        account.blocked = false;
        account.guest_of.clear();
        account.sent.pus.clear();
        account.sent = Sent { pus: std::mem::take(&mut account.sent.pus), ..Sent::default() };
        (account.adopted, account.sequential, account.pinned, account.dirty, account.position) =
            (0, false, false, false, 0);
        (account.team, account.pages) = (0, PageHome::FirstTouch);
        (account.stopped, account.unstoppable, account.on) = (false, false, 0);
        account.vps.clear();
        if self.apps[slot.index()].home.take().is_some() {
            self.news.homes.push(slot);
        }
        self.vacant.push(slot);
    }

    /// Everything it owns or is to own is free or somebody else's, at once.
    pub(crate) fn give_up_all(&mut self, slot: Slot, now: Nanos) {
        let mut pus = std::mem::take(&mut self.scratch);
        // What it owns is its own or leaving, so these are all.
        pus.extend(self.app(slot).own.iter());
        pus.extend(self.account(slot).leaving.iter());
        for pu in pus.drain(..) {
            if self.pus[pu.index()].next == Some(slot) {
                self.write_next(pu, None);
            }
            if self.pus[pu.index()].owner == Some(slot) {
                self.let_go(pu, now);
            }
        }
        self.scratch = pus;
        self.settle_leaving(slot);
    }

    /// It vacates everything, as if others were next.
    pub(crate) fn lend_all(&mut self, slot: Slot, now: Nanos) {
        let mut pus = std::mem::take(&mut self.scratch);
        pus.extend(self.app(slot).own.iter());
        for pu in pus.drain(..) {
            self.assign(pu, None, now);
        }
        self.scratch = pus;
    }

    /// Notes which of its processors an application has nothing to run on; those that it was to vacate, it has vacated. True if that is news.
    pub(crate) fn idle(&mut self, slot: Slot, idle: &PuSet, now: Nanos) -> bool {
        let mut news = false;
        for pu in &self.accounts[slot.index()].owned {
            let entry = &mut self.pus[pu.index()];
            news |= std::mem::replace(&mut entry.idle, idle.contains(pu)) != entry.idle;
        }
        if self.account(slot).leaving.intersects(idle) {
            let leave_epoch = &self.leave_epoch;
            let vacated = |pu: &PuId| idle.contains(*pu) && leave_epoch[pu.index()] > 0;
            let mut pus = std::mem::take(&mut self.scratch);
            pus.extend(self.accounts[slot.index()].leaving.iter().filter(vacated));
            for pu in pus.drain(..) {
                self.let_go(pu, now);
                news = true;
            }
            self.scratch = pus;
            self.settle_leaving(slot);
        }
        news
    }

    /// What an application that says it could use this many processors can be taken to want: one that has some of its own idle uses the
    /// others, and no more.
    pub(crate) fn usable_by(&self, slot: Slot, processors: u32) -> u32 {
        let idle = self.account(slot).owned.iter().filter(|pu| self.pus[pu.index()].idle).count() as u32;
        match idle {
            0 => processors,
            _ => processors.min(self.app(slot).allocation - idle),
        }
    }

    /// Everybody's target may have changed.
    pub(crate) fn dirty_all(&mut self) {
        for index in 0..self.started.len() {
            self.mark(self.started[index]);
        }
    }

    /// This processor is to be checked at the end of the step.
    pub(crate) fn wrote(&mut self, pu: PuId) {
        if self.written.pus.last() != Some(&pu) {
            self.written.pus.push(pu);
        }
    }

    /// It is to be checked at the end of the step.
    pub(crate) fn changed(&mut self, slot: Slot) {
        if self.written.apps.last() != Some(&slot) {
            self.written.apps.push(slot);
        }
    }

    /// A processor is gone. Its owner has lost it at once.
    pub(crate) fn offline(&mut self, pu: PuId, now: Nanos) {
        self.assign(pu, None, now);
        if let Some(owner) = self.pus[pu.index()].owner {
            self.let_go(pu, now);
            self.settle_leaving(owner);
        }
        let entry = &mut self.pus[pu.index()];
        (entry.state, entry.guests) = (PuState::Offline, 0);
        self.usable.remove(pu);
        self.news.pus.push(pu);
        self.written.pus.push(pu);
        for index in 0..self.started.len() {
            let slot = self.started[index];
            if self.account_mut(slot).guest_of.remove(pu) {
                self.mark(slot);
                self.changed(slot);
            }
        }
    }

    /// Leaves a free processor to load that is not managed, or gives it back.
    pub(crate) fn set_unmanaged(&mut self, pu: PuId, unmanaged: bool) {
        self.pus[pu.index()].state = if unmanaged { PuState::Unmanaged } else { PuState::Free };
        self.some.unmanaged |= unmanaged;
        self.news.pus.push(pu);
        self.written.pus.push(pu);
    }

    /// A processor is back.
    pub(crate) fn online(&mut self, pu: PuId, now: Nanos) {
        let entry = &mut self.pus[pu.index()];
        (entry.state, entry.since_ns) = (PuState::Free, now);
        self.usable.insert(pu);
        self.news.pus.push(pu);
        self.written.pus.push(pu);
    }
}
