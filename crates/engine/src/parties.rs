//! The machine is shared among parties before it is shared among applications. Knows nothing of users and groups, nor of any policy's rules.
//!
//! **Terms**: *want* of an application: its cap without parties; *part* of a party: what its applications may have together; *present* is a party
//! that has an application in the present division.
//!
//! **Algorithm**
//! ```text
//! pool     = processors - what absent and modest parties have reserved and do not want
//! part(p)  = the pool by weight of parties, between min(reserved(p), wants of p) and min(most(p), wants of p)
//! entitled = part(p) by weight of its applications, between their minimums and their wants;
//!            if their minimums do not fit: the heaviest, of equals the earliest, that fit beside each other
//! a party whose minimums leave some of its part over: again, with that much less for it
//! the share part divides under these bounds; what it leaves unused is lowered, and all of it done again, four times at most
//! ```
//!
//! Where turns are taken, what rounding leaves, and minimums that do not fit, go by who has waited longest instead of by weight and remainder.
//!
//! A minimum counts within its party's part only: a minimum that is more than the whole part is lowered to it, so that nobody takes from others by asking
//! for much. In the middle of a turn whose counts hold, what everybody has is its minimum.
//!
//! One party without limits, or none: no bound at all, and nothing here costs anything. Where processors have no owners (`linux24`, `sgi-mp`) there is
//! nothing to divide, and parties mean nothing.

mod rooms;

use crate::engine::Engine;
use crate::filling::{Vessel, fill};
use crate::ledger::Ledger;
use numaestro_policy::{Party, Slot};
use std::cmp::Reverse;

/// Divisions in one decision, at most.
const ROUNDS_MAX: u32 = 4;

/// What is known of the parties in the present division, and buffers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parties {
    /// One of them has limits.
    limited: bool,
    /// Applications are bounded by what their parties are entitled to, as of the latest division.
    pub in_force: bool,
    rooms: Vec<Room>,
    /// Parties, as they are filled.
    parts: Vec<Vessel>,
    /// Those that take part, by party, the heaviest first.
    members: Vec<Member>,
    /// The same, as they are filled.
    vessels: Vec<Vessel>,
    /// The most that a share part has wanted to give, by slot.
    lowered: Vec<u32>,
    /// What bounds those in `order` as of the latest decision, while others are tried beside them.
    noted: Vec<Bounds>,
    /// Turns so far, where they are taken, and the latest one at the end of which they had processors: by slot, and by party.
    turns: u64,
    served: Vec<u64>,
    served_by_party: Vec<u64>,
}

/// One party in the present division.
#[derive(Debug, Clone, Copy, Default)]
struct Room {
    /// Processors it may have in this division at most.
    most: u32,
    /// Processors kept for it in this division.
    reserved: u32,
    /// What it has in the division that is looked at.
    count: u32,
}

impl Room {
    /// Processors that nobody else can have.
    fn held(&self) -> u32 {
        self.count.max(self.reserved)
    }
}

/// What its party's part of the machine does to one application.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    entitled: u32,
    min: u32,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    party: usize,
    slot: Slot,
    /// As [`Vessel::rank`].
    rank: u64,
    want: u32,
    /// It keeps these.
    kept: u32,
}

impl Engine {
    /// Other parties from now on.
    pub(crate) fn regroup_parties(&mut self, parties: &[Party]) -> bool {
        if self.settings.parties == parties {
            return false;
        }
        self.settings.parties.clear();
        self.settings.parties.extend_from_slice(parties);
        self.note_parties();
        for app in &mut self.ledger.apps {
            app.party = known_party(parties, app.party);
        }
        self.wishes_stale = true;
        // Counts do not hold beyond new limits.
        self.forget_turn();
        true
    }

    /// Takes down what does not change from decision to decision.
    pub(crate) fn note_parties(&mut self) {
        let parties = &self.settings.parties;
        self.parties.limited = parties.iter().any(|party| party.most < u32::MAX || party.reserved > 0);
        self.parties.in_force = false;
    }

    /// The most that an application of this party can ever have.
    pub(crate) fn most_of(&self, party: u32) -> u32 {
        self.settings.parties.get(party as usize).map_or(u32::MAX, |party| party.most.max(1))
    }

    /// Divides under the bounds of parties, again while what one may have and does not use could be used by others.
    pub(crate) fn divide(&mut self) {
        if !self.parties_matter() {
            self.divide_by_share();
            return;
        }
        self.parties.lowered.clear();
        self.parties.lowered.resize(self.ledger.apps.len(), u32::MAX);
        for _ in 0..ROUNDS_MAX {
            self.entitle();
            self.divide_by_share();
            self.clip_to_parties();
            if !self.lower_unused() {
                return;
            }
        }
    }

    /// Notes what bounds those in `order`, before others are tried beside them: a trial divides, and a division sets new bounds.
    pub(crate) fn note_bounds(&mut self) {
        let Parties { noted, .. } = &mut self.parties;
        let bounds = |&slot: &Slot| {
            let app = &self.ledger.apps[slot.index()];
            Bounds { entitled: app.entitled, min: app.min }
        };
        noted.clear();
        if !self.settings.parties.is_empty() {
            noted.extend(self.order.iter().map(bounds));
        }
    }

    /// Nobody was started: what was noted holds again. Dividing anew would not do, because a division also goes by what everybody has by now.
    pub(crate) fn restore_bounds(&mut self) {
        for (&slot, bounds) in self.order.iter().zip(&self.parties.noted) {
            let app = &mut self.ledger.apps[slot.index()];
            (app.entitled, app.min) = (bounds.entitled, bounds.min);
        }
    }

    /// Whether there is anything to divide among parties. If not, nobody is bounded.
    fn parties_matter(&mut self) -> bool {
        if self.settings.parties.is_empty() || !self.regime.owns() {
            self.parties.in_force = false;
            return false;
        }
        let party = |slot: &Slot| self.ledger.app(*slot).party;
        let alike = self.order.windows(2).all(|two| party(&two[0]) == party(&two[1]));
        let matter = self.parties.limited || !alike;
        if !matter {
            for index in 0..self.order.len() {
                let slot = self.order[index];
                let min = self.minimum(slot);
                let app = &mut self.ledger.apps[slot.index()];
                (app.entitled, app.min) = (u32::MAX, min);
            }
        }
        self.parties.in_force = matter;
        matter
    }

    /// The user's minimum.
    fn minimum(&self, slot: Slot) -> u32 {
        let account = self.ledger.account(slot);
        if account.sequential { 1 } else { account.limits.min }
    }

    /// Sets what every application in `order` is entitled to.
    fn entitle(&mut self) {
        self.list_members();
        self.open_rooms();
        self.divide_among_parties();
        for (member, vessel) in self.parties.members.iter().zip(&self.parties.vessels) {
            let app = &mut self.ledger.apps[member.slot.index()];
            app.entitled = vessel.got;
            if vessel.got > 0 {
                app.min = app.min.min(vessel.got);
            }
        }
    }

    /// Who takes part, with what it wants whatever its party.
    fn list_members(&mut self) {
        let turns = self.regime.stops();
        self.parties.members.clear();
        for index in 0..self.order.len() {
            let slot = self.order[index];
            let min = self.minimum(slot);
            let lowered = self.parties.lowered.get(slot.index()).copied().unwrap_or(u32::MAX);
            let app = &mut self.ledger.apps[slot.index()];
            (app.entitled, app.min) = (u32::MAX, min);
            let possible = app.has_its_minimum(self.capacity, self.capacity);
            let want = if possible { app.cap(self.capacity).min(lowered) } else { 0 };
            let kept = if self.work_list.is_some() { app.allocation.min(want) } else { 0 };
            let rank = if turns { self.parties.served.get(slot.index()).copied().unwrap_or(0) } else { 0 };
            self.parties.members.push(Member { party: app.party as usize, slot, rank, want, kept });
        }
        let apps = &self.ledger.apps;
        let key = |member: &Member| {
            let app = &apps[member.slot.index()];
            (member.party, member.rank, Reverse(app.weight_milli), app.id)
        };
        self.parties.members.sort_unstable_by_key(key);
    }

    /// Limits of each party in this division: those that keep what they have from a former manager's time count already.
    fn open_rooms(&mut self) {
        let mut rooms = std::mem::take(&mut self.parties.rooms);
        rooms.clear();
        let room = |party: &Party| Room { most: party.most.max(1), reserved: party.reserved.min(party.most), count: 0 };
        rooms.extend(self.settings.parties.iter().map(room));
        if self.ledger.some.pinned {
            for &slot in &self.ledger.started {
                let app = self.ledger.app(slot);
                if self.ledger.account(slot).pinned {
                    let room = &mut rooms[app.party as usize];
                    room.most = room.most.saturating_sub(app.allocation);
                    room.reserved = room.reserved.saturating_sub(app.allocation);
                }
            }
        }
        let mut left = self.capacity;
        for room in &mut rooms {
            // With fewer processors than are reserved, the first in the list have theirs.
            room.reserved = room.reserved.min(left);
            left -= room.reserved;
        }
        self.parties.rooms = rooms;
    }

    /// Parts of parties, and of them what each member has; again for those that cannot use all of their part.
    fn divide_among_parties(&mut self) {
        let turns = self.regime.stops();
        let Parties { rooms, parts, members, vessels, served_by_party, .. } = &mut self.parties;
        let rank = |party: usize| if turns { served_by_party.get(party).copied().unwrap_or(0) } else { 0 };
        parts.clear();
        let open = |(party, known): (usize, &Party)| Vessel::new(known.weight_milli, 0, 0, 0, rank(party));
        parts.extend(self.settings.parties.iter().enumerate().map(open));
        for member in &*members {
            let (room, part) = (&mut rooms[member.party], &mut parts[member.party]);
            room.count += member.kept;
            part.cap = part.cap.saturating_add(member.want).min(room.most);
            part.has += self.ledger.apps[member.slot.index()].allocation;
        }
        for _ in 0..ROUNDS_MAX {
            let mut pool = self.capacity;
            for (part, room) in parts.iter_mut().zip(&*rooms) {
                pool -= room.reserved - room.reserved.min(part.cap);
                part.floor = room.held().min(part.cap);
            }
            if parts.iter().map(|part| part.floor).sum::<u32>() > pool {
                parts.iter_mut().zip(&*rooms).for_each(|(part, room)| part.floor = room.reserved.min(part.cap));
            }
            fill(pool, parts);
            vessels.clear();
            let mut short = false;
            let mut begin = 0;
            while begin < members.len() {
                let party = members[begin].party;
                let len = members[begin..].iter().take_while(|member| member.party == party).count();
                let part = &mut parts[party];
                let used = divide_one(&self.ledger, part.got, &members[begin..][..len], vessels);
                short |= used < part.got;
                part.cap = part.cap.min(if used < part.got { used } else { u32::MAX });
                begin += len;
            }
            if !short {
                return;
            }
        }
    }

    /// Nobody has more than it is entitled to, whatever a share part lets them keep.
    fn clip_to_parties(&mut self) {
        for &slot in &self.order {
            let entitled = self.ledger.app(slot).entitled;
            if self.shares.count(slot) > entitled {
                self.shares.set(slot, entitled);
                self.shares.set_exact(slot, u64::from(entitled), 1);
            }
        }
    }

    /// What the share part leaves to those who do not want it is to be others'. False if there is nothing to do.
    fn lower_unused(&mut self) -> bool {
        self.count_parties();
        if self.not_held() == 0 || !self.order.iter().any(|&slot| self.is_starved(slot)) {
            return false;
        }
        let mut lowered = false;
        for &slot in &self.order {
            let (count, entitled) = (self.shares.count(slot), self.ledger.app(slot).entitled);
            if count < entitled {
                self.parties.lowered[slot.index()] = count;
                lowered = true;
            }
        }
        lowered
    }

    /// It has all that it is entitled to, could use more, and its party may have more.
    fn is_starved(&self, slot: Slot) -> bool {
        let app = self.ledger.app(slot);
        let room = &self.parties.rooms[app.party as usize];
        self.shares.count(slot) == app.entitled && app.entitled < app.wanted(self.capacity) && room.count < room.most
    }
}

/// An index that there is.
pub(crate) fn known_party(parties: &[Party], party: u32) -> u32 {
    if (party as usize) < parties.len() { party } else { 0 }
}

/// Appends what each member has of its party's part. Returns the sum.
fn divide_one(ledger: &Ledger, part: u32, members: &[Member], vessels: &mut Vec<Vessel>) -> u32 {
    let begin = vessels.len();
    let kept: u32 = members.iter().map(|member| member.kept).sum();
    let mut left = part.saturating_sub(kept);
    let mut nobody = true;
    for member in members {
        let app = ledger.app(member.slot);
        let fits = member.kept > 0 || member.want >= app.min && app.min <= left;
        let (floor, cap) = match member.kept {
            0 if fits => (app.min.min(member.want), member.want),
            0 => (0, 0),
            kept => (kept, member.want),
        };
        left -= if member.kept > 0 { 0 } else { floor };
        nobody &= !fits;
        vessels.push(Vessel::new(app.weight_milli, floor, cap, app.allocation, member.rank));
    }
    if nobody
        && part > 0
        && let Some(first) = members.iter().position(|member| member.want > 0)
    {
        // The whole part, which is less than its minimum.
        vessels[begin + first].cap = members[first].want;
    }
    let own = &mut vessels[begin..];
    let floors: u32 = own.iter().map(|vessel| vessel.floor).sum();
    if floors > part {
        for vessel in own.iter_mut() {
            vessel.floor = 0;
        }
    }
    fill(part, own);
    own.iter().map(|vessel| vessel.got).sum()
}
