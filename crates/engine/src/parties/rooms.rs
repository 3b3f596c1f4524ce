//! How much room parties have left: what is held for them, what they may still have, and what holds after every decision. Knows nothing of how
//! their parts are found.

use super::{Parties, Room};
use crate::engine::Engine;
use crate::ledger::Ledger;
use numaestro_policy::Slot;

impl Engine {
    /// What each party has in the division.
    pub(crate) fn count_parties(&mut self) {
        self.parties.rooms.iter_mut().for_each(|room| room.count = 0);
        for &slot in &self.order {
            let party = self.ledger.app(slot).party as usize;
            self.parties.rooms[party].count += self.shares.count(slot);
        }
    }

    /// Processors that nobody has and that are kept for nobody.
    pub(super) fn not_held(&self) -> u32 {
        self.capacity.saturating_sub(self.parties.rooms.iter().map(Room::held).sum())
    }

    /// Whether anything is left for this party beside what is kept for others, be they there or not.
    pub(crate) fn may_have_some(&self, party: u32) -> bool {
        let mut left = self.ledger.there_is;
        for (at, other) in self.settings.parties.iter().enumerate().filter(|_| self.parties.limited) {
            let kept = other.reserved.min(other.most).min(left);
            if at == party as usize && kept > 0 {
                return true;
            }
            left -= kept;
        }
        left > 0
    }

    /// How many more the party of an application may have, after [`Self::count_parties`]; any number where parties do not matter.
    pub(crate) fn room_of(&self, slot: Slot) -> u32 {
        if !self.parties.in_force {
            return u32::MAX;
        }
        let room = &self.parties.rooms[self.ledger.app(slot).party as usize];
        let own = room.held() - room.count;
        room.most.saturating_sub(room.count).min(own + self.not_held())
    }

    /// Its party has that many more.
    pub(crate) fn add_to_party(&mut self, slot: Slot, more: u32) {
        if self.parties.in_force {
            self.parties.rooms[self.ledger.app(slot).party as usize].count += more;
        }
    }

    /// A turn has ended. Where a part is too small for all who would run, those who have waited longest are first in the next.
    pub(crate) fn note_served(&mut self) {
        if !self.parties.in_force {
            return;
        }
        let Parties { turns, served, served_by_party, .. } = &mut self.parties;
        *turns += 1;
        served.resize(self.ledger.apps.len(), 0);
        served_by_party.resize(self.settings.parties.len(), 0);
        for &slot in &self.ledger.started {
            let app = self.ledger.app(slot);
            if app.allocation > 0 {
                served[slot.index()] = *turns;
                served_by_party[app.party as usize] = *turns;
            }
        }
    }

    /// Whether counts can hold: what those in the turn would keep is within the limits of their parties.
    pub(crate) fn parties_hold(&mut self, kept: impl Fn(&Ledger, Slot) -> u32) -> bool {
        if self.settings.parties.is_empty() || !self.parties.limited {
            return true;
        }
        self.open_rooms();
        for &slot in self.turn.running.iter().chain(&self.turn.next) {
            self.parties.rooms[self.ledger.app(slot).party as usize].count += kept(&self.ledger, slot);
        }
        let rooms = &self.parties.rooms;
        let within = rooms.iter().all(|room| room.count <= room.most);
        within && rooms.iter().map(Room::held).sum::<u32>() <= self.capacity
    }

    /// P1: no party has more than its most. P2: nobody has what is reserved for others. P3: what the
    /// share part would give is given, within that. Checked after every decision in which parties matter.
    pub(crate) fn check_parties(&mut self) {
        if !self.parties.in_force {
            return;
        }
        self.open_rooms();
        for &slot in &self.order {
            let app = self.ledger.app(slot);
            self.parties.rooms[app.party as usize].count += app.allocation;
        }
        for (party, room) in self.parties.rooms.iter().enumerate() {
            assert!(room.count <= room.most, "P1: party {party} has {} of {}", room.count, room.most);
        }
        let held: u32 = self.parties.rooms.iter().map(Room::held).sum();
        assert!(held <= self.capacity, "P2: {held} of {} are held, {:?}", self.capacity, self.parties.rooms);
        let all_of_it = self.policy.share.conserves_work() && !self.regime.selects();
        if cfg!(debug_assertions) && all_of_it && self.work_list.is_none() && held < self.capacity {
            let starved = |&&slot: &&Slot| self.ledger.app(slot).allocation > 0 && self.is_starved(slot);
            let starved = self.order.iter().find(starved).map(|&slot| self.ledger.app(slot).id);
            assert!(starved.is_none(), "P3: {held} of {} are held, {starved:?} wants more", self.capacity);
        }
    }
}
