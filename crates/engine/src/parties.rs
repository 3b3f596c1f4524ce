//! Divides the machine among parties before it is divided among applications.
//!
//! **Terms**: *want* of an application: its cap without parties; *part* of a party: the processors
//! that its applications may have together; a party is *present* if it has an application in the
//! present division.
//!
//! **Algorithm**
//! ```text
//! pool     = processors - what absent and modest parties have reserved and do not want
//! part(p)  = the pool by weight of parties, between min(reserved(p), wants of p)
//!            and min(most(p), wants of p)
//! entitled = part(p) by weight of its applications, between their minimums and their wants;
//!            if their minimums do not fit: the heaviest, of equals the earliest, that fit
//!            beside each other
//! a party whose minimums leave some of its part over: again, with that much less for it
//! the share part divides under these bounds; what it leaves unused is lowered, and all of it done
//! again, four times at most
//! ```
//!
//! Where turns are taken, the applications that have waited longest come first when rounding leaves
//! processors or minimums do not fit. Elsewhere weight and remainder decide.
//!
//! A minimum counts within its party's part only: a minimum above the whole part is lowered to the
//! part, so that nobody takes from others by asking for much. In the middle of a turn whose counts
//! hold, the minimum of each application is its present count.
//!
//! With one party without limits, or none, applications have no bound, and this file costs nothing.
//! Where processors have no owners (`linux24`, `sgi-mp`) there is nothing to divide, and parties
//! have no effect.

mod rooms;

use crate::filling::{Vessel, fill};
use crate::ledger::Ledger;
use crate::site::Site;
use numaestro_policy::{Party, Shares, Slot};
pub(crate) use rooms::Rooms;
use std::cmp::Reverse;

/// Divisions among parties in one division among applications, at most.
const ROUNDS_MAX: u32 = 4;

/// The parties in the present division, and buffers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parties {
    /// The entitlements of parties bound their applications, as of the latest division.
    in_force: bool,
    rooms: Rooms,
    /// The parts of parties, by party.
    parts: Vec<Vessel>,
    /// The applications that take part, by party, the heaviest first.
    members: Vec<Member>,
    /// The counts of members, in the order of `members`.
    vessels: Vec<Vessel>,
    /// By slot: the most processors that the share part has wanted to give.
    lowered: Vec<u32>,
    /// Bounds of the latest decision, kept while waiting applications are tried.
    kept: Kept,
    served: Served,
}

/// The bounds of the applications that take part, in their order.
#[derive(Debug, Clone, Default)]
struct Kept {
    in_force: bool,
    bounds: Vec<Bounds>,
}

/// The bounds that its party's part sets on one application, processors.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    entitled: u32,
    min: u32,
}

/// Number of turns so far, where turns are taken, and for each application and party the latest
/// turn at whose end it had processors.
#[derive(Debug, Clone, Default)]
struct Served {
    turns: u64,
    /// Number of that turn, by slot.
    apps: Vec<u64>,
    parties: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    party: usize,
    slot: Slot,
    /// As [`Vessel::rank`].
    rank: u64,
    want: u32,
    /// Processors that it keeps.
    kept: u32,
}

impl Parties {
    /// Says whether the entitlements of parties bound their applications, as of the latest
    /// division.
    pub(crate) fn are_in_force(&self) -> bool {
        self.in_force
    }

    /// Other parties share the machine: until the next division no application is bounded.
    pub(crate) fn lift(&mut self) {
        self.in_force = false;
    }

    /// Keeps the bounds of the applications that take part, before others are tried beside them: a
    /// trial divides, and a division sets new bounds.
    pub(crate) fn keep_bounds(&mut self, site: &Site) {
        let bounds = |&slot: &Slot| {
            let app = site.ledger.app(slot);
            Bounds { entitled: app.entitled, min: app.min }
        };
        self.kept.in_force = self.in_force;
        self.kept.bounds.clear();
        if !site.settings.parties.is_empty() {
            self.kept.bounds.extend(site.among.order().iter().map(bounds));
        }
    }

    /// No application was started: the kept bounds hold again. Dividing anew could give others,
    /// because a division also goes by the present counts.
    pub(crate) fn restore_bounds(&mut self, site: &mut Site) {
        self.in_force = self.kept.in_force;
        for (&slot, bounds) in site.among.order().iter().zip(&self.kept.bounds) {
            site.ledger.entitle(slot, bounds.entitled, bounds.min);
        }
    }

    /// Says whether there is anything to divide among parties. If not, no application is bounded.
    pub(crate) fn apply(&mut self, site: &mut Site) -> bool {
        if site.settings.parties.is_empty() || !site.regime.owns() {
            self.in_force = false;
            return false;
        }
        let (order, ledger) = (site.among.order(), &mut site.ledger);
        let alike = order.windows(2).all(|two| ledger.app(two[0]).party == ledger.app(two[1]).party);
        self.in_force = are_limited(&site.settings.parties) || !alike;
        if !self.in_force {
            for &slot in order {
                ledger.entitle(slot, u32::MAX, ledger.own_minimum(slot));
            }
            return false;
        }
        self.lowered.clear();
        self.lowered.resize(ledger.apps().len(), u32::MAX);
        true
    }

    /// Sets the number of processors that each participating application is entitled to. `hold`:
    /// the minimum of each is its present count.
    pub(crate) fn entitle(&mut self, site: &mut Site, hold: bool) {
        self.list_members(site, hold);
        self.rooms.open(site);
        self.divide_among_parties(site);
        for (member, vessel) in self.members.iter().zip(&self.vessels) {
            let min = site.ledger.app(member.slot).min;
            let min = if vessel.got > 0 { min.min(vessel.got) } else { min };
            site.ledger.entitle(member.slot, vessel.got, min);
        }
    }

    /// Lists the applications that take part, each with its want.
    fn list_members(&mut self, site: &mut Site, hold: bool) {
        let (ledger, capacity, turns) = (&mut site.ledger, site.among.capacity(), site.regime.stops());
        self.members.clear();
        for &slot in site.among.order() {
            ledger.entitle(slot, u32::MAX, ledger.own_minimum(slot));
            let app = ledger.app(slot);
            let possible = app.has_its_minimum(capacity, capacity);
            let want = if possible { app.cap(capacity).min(self.lowered[slot.index()]) } else { 0 };
            let kept = if hold { app.allocation.min(want) } else { 0 };
            let rank = if turns { self.served.apps.get(slot.index()).copied().unwrap_or(0) } else { 0 };
            self.members.push(Member { party: app.party as usize, slot, rank, want, kept });
        }
        let key = |member: &Member| {
            let app = ledger.app(member.slot);
            (member.party, member.rank, Reverse(app.weight_milli), app.id)
        };
        self.members.sort_unstable_by_key(key);
    }

    /// Fills the parts of parties, and the counts of their members; again while a party cannot use
    /// all of its part.
    fn divide_among_parties(&mut self, site: &Site) {
        let turns = site.regime.stops();
        let Self { rooms, parts, members, vessels, served, .. } = self;
        let rank = |party: usize| if turns { served.parties.get(party).copied().unwrap_or(0) } else { 0 };
        parts.clear();
        let open = |(party, known): (usize, &Party)| Vessel::new(known.weight_milli, 0, 0, 0, rank(party));
        parts.extend(site.settings.parties.iter().enumerate().map(open));
        for member in &*members {
            rooms.add(member.party as u32, member.kept);
            let part = &mut parts[member.party];
            part.cap = part.cap.saturating_add(member.want).min(rooms.of(member.party as u32).most);
            part.has += site.ledger.app(member.slot).allocation;
        }
        for _ in 0..ROUNDS_MAX {
            let mut pool = site.among.capacity();
            for (part, room) in parts.iter_mut().zip(rooms.each()) {
                pool -= room.reserved - room.reserved.min(part.cap);
                part.floor = room.held().min(part.cap);
            }
            if parts.iter().map(|part| part.floor).sum::<u32>() > pool {
                parts.iter_mut().zip(rooms.each()).for_each(|(part, room)| part.floor = room.reserved.min(part.cap));
            }
            fill(pool, parts);
            vessels.clear();
            let mut short = false;
            for members in members.chunk_by(|one, other| one.party == other.party) {
                let part = &mut parts[members[0].party];
                let used = divide_one(&site.ledger, part.got, members, vessels);
                short |= used < part.got;
                part.cap = part.cap.min(if used < part.got { used } else { u32::MAX });
            }
            if !short {
                return;
            }
        }
    }

    /// Lowers each count to the application's entitlement, even if the share part lets it keep
    /// more.
    pub(crate) fn clip(site: &Site, shares: &mut Shares) {
        for &slot in site.among.order() {
            let entitled = site.ledger.app(slot).entitled;
            if shares.count(slot) > entitled {
                shares.set(slot, entitled);
                shares.set_exact(slot, u64::from(entitled), 1);
            }
        }
    }

    /// Lowers the want of each application that does not use its entitlement, so that others get
    /// the rest. False if there is nothing to do.
    pub(crate) fn lower_unused(&mut self, site: &Site, shares: &Shares) -> bool {
        self.rooms.count(site, shares);
        let order = site.among.order();
        let all_held = self.rooms.held() >= site.among.capacity();
        if all_held || !order.iter().any(|&slot| self.is_starved(site, shares, slot)) {
            return false;
        }
        let mut lowered = false;
        for &slot in order {
            let count = shares.count(slot);
            if count < site.ledger.app(slot).entitled {
                self.lowered[slot.index()] = count;
                lowered = true;
            }
        }
        lowered
    }

    /// Says whether an application has all that it is entitled to and could use more, and its party
    /// may have more.
    fn is_starved(&self, site: &Site, shares: &Shares, slot: Slot) -> bool {
        let (app, capacity) = (site.ledger.app(slot), site.among.capacity());
        let room = self.rooms.of(app.party);
        shares.count(slot) == app.entitled && app.entitled < app.wanted(capacity) && room.count < room.most
    }

    /// Counts the processors of parties in a division; `None` where parties do not matter.
    pub(crate) fn count(&mut self, site: &Site, shares: &Shares) -> Option<&mut Rooms> {
        if !self.in_force {
            return None;
        }
        self.rooms.count(site, shares);
        Some(&mut self.rooms)
    }

    /// A turn has ended. Where a part is too small for all applications that would run, those that
    /// have waited longest are first in the next turn.
    pub(crate) fn end_turn(&mut self, site: &Site) {
        if !self.in_force {
            return;
        }
        let Served { turns, apps, parties } = &mut self.served;
        *turns += 1;
        apps.resize(site.ledger.apps().len(), 0);
        parties.resize(site.settings.parties.len(), 0);
        for &slot in site.ledger.started() {
            let app = site.ledger.app(slot);
            if app.allocation > 0 {
                apps[slot.index()] = *turns;
                parties[app.party as usize] = *turns;
            }
        }
    }

    /// Says whether counts can hold: the counts that applications would keep are within the limits
    /// of their parties.
    pub(crate) fn allow(&mut self, site: &Site, kept: impl Iterator<Item = (Slot, u32)>) -> bool {
        if !are_limited(&site.settings.parties) {
            return true;
        }
        self.rooms.open(site);
        for (slot, kept) in kept {
            self.rooms.add(site.ledger.app(slot).party, kept);
        }
        let within = self.rooms.each().iter().all(|room| room.count <= room.most);
        within && self.rooms.held() <= site.among.capacity()
    }

    /// P1: no party has more than its most. P2: no party has processors that are reserved for
    /// others. P3: within that, no processor that an application wants stays free, if the share
    /// part is to give `everything`.
    pub(crate) fn check(&mut self, site: &Site, shares: &Shares, everything: bool) {
        if !self.in_force {
            return;
        }
        let (order, capacity) = (site.among.order(), site.among.capacity());
        self.rooms.open(site);
        for &slot in order {
            let app = site.ledger.app(slot);
            self.rooms.add(app.party, app.allocation);
        }
        for (party, room) in self.rooms.each().iter().enumerate() {
            assert!(room.count <= room.most, "P1: party {party} has {} of {}", room.count, room.most);
        }
        let held = self.rooms.held();
        assert!(held <= capacity, "P2: {held} of {capacity} are held, {:?}", self.rooms);
        if cfg!(debug_assertions) && everything && held < capacity {
            let starved = |&&slot: &&Slot| site.ledger.app(slot).allocation > 0 && self.is_starved(site, shares, slot);
            let starved = order.iter().find(starved).map(|&slot| site.ledger.app(slot).id);
            assert!(starved.is_none(), "P3: {held} of {capacity} are held, {starved:?} wants more");
        }
    }
}

/// Says whether one of the parties has limits.
fn are_limited(parties: &[Party]) -> bool {
    parties.iter().any(|party| party.most < u32::MAX || party.reserved > 0)
}

/// Appends the count of each member of a party. Returns the sum.
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
        // It gets the whole part, which is less than its minimum.
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
