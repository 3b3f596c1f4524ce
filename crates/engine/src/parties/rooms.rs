//! Counts the room of each party: the processors that are held for it, and those that it may still
//! have.

use crate::site::Site;
use numaestro_policy::{Party, Shares};

/// The rooms of all parties.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rooms {
    rooms: Vec<Room>,
}

/// One party in the present division.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Room {
    /// Processors it may have in this division at most.
    pub most: u32,
    /// Processors kept for it in this division.
    pub reserved: u32,
    /// Processors it has in the division that is counted.
    pub count: u32,
}

impl Room {
    /// Processors that no other party can have.
    pub(super) fn held(self) -> u32 {
        self.count.max(self.reserved)
    }
}

impl Rooms {
    /// Sets the limits of each party in this division, before anything is given. Processors that
    /// applications keep from a former manager's time count already.
    pub(super) fn open(&mut self, site: &Site) {
        let room = |party: &Party| Room { most: party.most.max(1), reserved: party.reserved.min(party.most), count: 0 };
        self.rooms.clear();
        self.rooms.extend(site.settings.parties.iter().map(room));
        if site.ledger.pins() {
            for &slot in site.ledger.started() {
                let app = site.ledger.app(slot);
                if site.ledger.account(slot).pinned {
                    let room = &mut self.rooms[app.party as usize];
                    room.most = room.most.saturating_sub(app.allocation);
                    room.reserved = room.reserved.saturating_sub(app.allocation);
                }
            }
        }
        let mut left = site.among.capacity();
        for room in &mut self.rooms {
            // With fewer processors than are reserved, the first in the list have theirs.
            room.reserved = room.reserved.min(left);
            left -= room.reserved;
        }
    }

    /// Counts the processors of each party in a division.
    pub(super) fn count(&mut self, site: &Site, shares: &Shares) {
        self.rooms.iter_mut().for_each(|room| room.count = 0);
        for &slot in site.among.order() {
            self.add(site.ledger.app(slot).party, shares.count(slot));
        }
    }

    /// A party has `more` processors more.
    pub(crate) fn add(&mut self, party: u32, more: u32) {
        self.rooms[party as usize].count += more;
    }

    /// The rooms, by party.
    pub(super) fn each(&self) -> &[Room] {
        &self.rooms
    }

    pub(super) fn of(&self, party: u32) -> Room {
        self.rooms[party as usize]
    }

    /// Processors that some party has or that are kept for one.
    pub(super) fn held(&self) -> u32 {
        self.rooms.iter().map(|room| room.held()).sum()
    }

    /// The number of processors that a party may have in addition, of `capacity`.
    pub(crate) fn left_for(&self, party: u32, capacity: u32) -> u32 {
        let room = self.of(party);
        let own = room.held() - room.count;
        room.most.saturating_sub(room.count).min(own + capacity.saturating_sub(self.held()))
    }
}
