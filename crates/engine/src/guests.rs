//! Gives each application without processors of its own a place as a guest on processors of others.
//! There can be more applications than processors.
//!
//! Every guest runs on 1 processor (on its minimum, if it has one). The load of a processor is the
//! weight of the applications that run on it. Guests stay where they are; new ones go where the
//! load is least. Then a guest moves to the least loaded processor while it would find less load
//! there. Each move lowers the load that the guest sees, so it ends.

use crate::ledger::{Ledger, is_place};
use numaestro_policy::Slot;
use numaestro_topology::{Machine, PuId};

/// Buffers for spreading guests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guests {
    /// Weight on each processor, thousandths.
    load: Vec<u64>,
    /// Processors on which guests may run.
    places: Vec<PuId>,
    /// Applications that have no processors of their own.
    homeless: Vec<Slot>,
    /// Processors that one guest is on.
    present: Vec<PuId>,
    /// Processors that applications of each party own, if guests stay with their own party.
    by_party: Vec<usize>,
}

impl Guests {
    /// Finds places for all applications in `order` that have no processors of their own, and
    /// removes the others as guests.
    ///
    /// A guest that may have some processors only is on these. Where parties matter
    /// (`confined`), any other is on processors of its own party. If its party has none, it may
    /// be anywhere.
    pub(crate) fn spread(&mut self, machine: &Machine, ledger: &mut Ledger, order: &[Slot], confined: bool) {
        self.homeless.clear();
        for &slot in order {
            if ledger.app(slot).allocation == 0 {
                self.homeless.push(slot);
            } else {
                ledger.remove_guests(slot);
            }
        }
        if self.homeless.is_empty() {
            return;
        }
        let guests = std::mem::take(&mut self.homeless);
        self.places.clear();
        let places = ledger.pus().iter().enumerate().filter(|(_, pu)| is_place(pu.state));
        self.places.extend(places.map(|(index, _)| PuId(index as u32)));
        self.weigh_owners(ledger);
        self.count_owned(ledger, confined);
        for &slot in &guests {
            self.keep_valid(ledger, slot);
        }
        for &slot in &guests {
            self.place(machine, ledger, slot);
        }
        for _ in 0..guests.len() + ledger.pus().len() {
            if !self.improve(ledger, &guests) {
                break;
            }
        }
        self.homeless = guests;
    }

    fn weigh_owners(&mut self, ledger: &Ledger) {
        self.load.clear();
        self.load.extend(ledger.pus().iter().map(|pu| {
            pu.next.map_or(0, |slot| {
                let app = ledger.app(slot);
                u64::from(app.weight_milli) / u64::from(app.allocation.max(1))
            })
        }));
    }

    fn count_owned(&mut self, ledger: &Ledger, confined: bool) {
        self.by_party.clear();
        if confined {
            for pu in ledger.pus().iter().filter(|pu| is_place(pu.state)) {
                if let Some(next) = pu.next {
                    let party = ledger.app(next).party as usize;
                    self.by_party.resize(self.by_party.len().max(party + 1), 0);
                    self.by_party[party] += 1;
                }
            }
        }
    }

    /// Number of processors that it has to stay on, if there are such: those that it may have, else
    /// those of its party.
    fn own_places(&self, ledger: &Ledger, slot: Slot) -> Option<usize> {
        if let Some(within) = ledger.within(slot) {
            return Some(self.places.iter().filter(|&&pu| within.contains(pu)).count());
        }
        self.by_party.get(ledger.app(slot).party as usize).copied().filter(|&owned| owned > 0)
    }

    /// Says whether it may run on this processor.
    fn may_be_on(&self, ledger: &Ledger, slot: Slot, pu: PuId) -> bool {
        if let Some(within) = ledger.within(slot) {
            return within.contains(pu);
        }
        let party = |slot: Slot| ledger.app(slot).party;
        self.own_places(ledger, slot).is_none() || ledger.pu(pu).next.is_some_and(|next| party(next) == party(slot))
    }

    /// Number of processors it wants to run on.
    fn wanted(&self, ledger: &Ledger, slot: Slot) -> usize {
        let places = self.own_places(ledger, slot).unwrap_or(self.places.len());
        (ledger.app(slot).min as usize).clamp(1, places.max(1))
    }

    /// Load that one guest adds to each processor it is on, thousandths.
    fn weight(ledger: &Ledger, slot: Slot) -> u64 {
        let app = ledger.app(slot);
        u64::from(app.weight_milli) / u64::from(app.min)
    }

    /// It stays where it is, as far as that is possible and wanted.
    fn keep_valid(&mut self, ledger: &mut Ledger, slot: Slot) {
        let mut present = std::mem::take(&mut self.present);
        present.clear();
        present.extend(ledger.account(slot).guest_of.iter());
        let mut left = self.wanted(ledger, slot);
        for &pu in &present {
            if left > 0 && is_place(ledger.pu(pu).state) && self.may_be_on(ledger, slot, pu) {
                left -= 1;
                self.load[pu.index()] += Self::weight(ledger, slot);
            } else {
                ledger.remove_guest(slot, pu);
            }
        }
        self.present = present;
    }

    /// Adds the processors that it lacks where the load is least; of equals where it was before,
    /// then near to that, then the lowest number.
    fn place(&mut self, machine: &Machine, ledger: &mut Ledger, slot: Slot) {
        let lacking = self.wanted(ledger, slot) - ledger.account(slot).guest_of.len();
        for _ in 0..lacking {
            let near = ledger.account(slot).sent.pus.first();
            let on = &ledger.account(slot).guest_of;
            let places = self.places.iter().copied().filter(|&pu| !on.contains(pu) && self.may_be_on(ledger, slot, pu));
            let key = |&pu: &PuId| {
                let known = ledger.account(slot).sent.pus.contains(pu);
                (self.load[pu.index()], !known, near.map(|near| machine.distance(near, pu)), pu)
            };
            let Some(best) = places.min_by_key(key) else { return };
            ledger.add_guest(slot, best);
            self.load[best.index()] += Self::weight(ledger, slot);
        }
    }

    /// Moves every guest, the latest first, once if that helps it. False if none moved.
    fn improve(&mut self, ledger: &mut Ledger, guests: &[Slot]) -> bool {
        let mut moved = false;
        // When a guest leaves a processor, its load may fall below this within the round; the next
        // round finds it.
        let lowest = self.places.iter().map(|pu| self.load[pu.index()]).min().unwrap_or(0);
        for &slot in guests.iter().rev() {
            let on = &ledger.account(slot).guest_of;
            let weight = Self::weight(ledger, slot);
            let Some(most) = on.iter().max_by_key(|pu| (self.load[pu.index()], *pu)) else { continue };
            if lowest + weight >= self.load[most.index()] {
                continue;
            }
            let others = self.places.iter().copied().filter(|&pu| !on.contains(pu) && self.may_be_on(ledger, slot, pu));
            let Some(least) = others.min_by_key(|&pu| (self.load[pu.index()], pu)) else { continue };
            if self.load[least.index()] + weight < self.load[most.index()] {
                ledger.remove_guest(slot, most);
                ledger.add_guest(slot, least);
                self.load[most.index()] -= weight;
                self.load[least.index()] += weight;
                moved = true;
            }
        }
        moved
    }
}
