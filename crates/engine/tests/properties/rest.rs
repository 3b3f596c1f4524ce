//! Liveness: everything comes to rest, and at rest everybody has what it should have. Where
//! policies take turns, nothing but the turns goes on.

use super::World;
use numaestro_engine::{AppId, AppSnapshot, AppState, Event, PuSnapshot, PuState, Settings, Snapshot};
use numaestro_policy::{Party, Policy, Shares};
use numaestro_topology::{PuId, PuSet};
use std::collections::BTreeSet;

/// Time after which a search by speedups is over, but for trying again.
const SEARCH_NS: u64 = 60_000_000_000;
/// Turns that are looked at, at least.
const QUANTA: u32 = 4;

fn lends(state: AppState) -> bool {
    matches!(state, AppState::Sequential | AppState::Blocked)
}

/// Whether it could run and does not.
fn waits(app: &AppSnapshot) -> bool {
    app.state == AppState::Stopped && app.min == 1
}

/// Ends of turns after which everybody has had one: with policies of threads, as many as there are
/// threads, each of them the only one that is sure to run.
fn longest_wait(snapshot: &Snapshot) -> u32 {
    let threads: u32 = snapshot.apps.iter().map(|app| app.request.clamp(1, 2 * snapshot.usable.len() as u32)).sum();
    QUANTA + 4 * (threads + snapshot.apps.len() as u32)
}

impl World {
    /// Liveness: with every target answered and time going on, everything comes to rest. Time
    /// sharing never does: then everybody has its turn.
    pub fn settle(&mut self) {
        let calm = self.now + Settings::default().recovery_ns + Settings::default().cooldown_ns;
        let mut had_a_turn = BTreeSet::new();
        let (mut round, mut turns) = (0, 0);
        loop {
            round += 1;
            assert!(round < 20_000, "does not come to rest: {:#?}", self.engine.snapshot());
            let snapshot = self.engine.snapshot();
            let late = snapshot.apps.iter().find(|app| app.adopted < app.epoch && app.state != AppState::Stopped);
            if let Some(app) = late {
                self.step(&Event::Adopted { app: app.app, epoch: app.epoch });
                continue;
            }
            if self.engine.policy().turns.stops() && self.now > calm {
                turns += 1;
                had_a_turn.extend(snapshot.apps.iter().filter(|app| !waits(app)).map(|app| app.app));
                let wait = snapshot.apps.iter().filter(|app| !had_a_turn.contains(&app.app));
                let wait: Vec<AppId> = wait.map(|app| app.app).collect();
                if turns >= QUANTA && (wait.is_empty() || !self.everybody_has_turns()) {
                    return;
                }
                let policy = self.engine.policy();
                assert!(turns < longest_wait(&snapshot), "{wait:?} have no turn by {policy}: {snapshot:#?}");
            } else if !self.engine.policy().share.space_shares() && round > 200 && self.now > calm {
                // Some look at the load every second for ever.
                return;
            } else if self.engine.policy().needs().speedup && self.now > calm + SEARCH_NS {
                // Who looks for a number of processors tries again from time to time.
                return;
            }
            let Some(at) = self.engine.deadline() else { return };
            assert!(at >= self.now, "a deadline that is over");
            self.now = at;
            self.step(&Event::Timer);
        }
    }

    /// Whether the policy in force promises turns to everybody: those of the NANOS family without
    /// windows do not, nor do selective placements, nor shares that leave late ones without.
    /// Policies of buses count on processors that they see on each of them.
    fn everybody_has_turns(&self) -> bool {
        let policy = self.engine.policy();
        let shares = ["dss", "equi"].contains(&policy.share.info().name);
        let load = self.engine.snapshot().unmanaged > 0 && policy.turns.chooses_threads();
        policy.turns.info().name != "tick" && shares && !policy.placement.selective() && !load
    }

    /// At rest: nobody has to leave, everybody has been told, and the shares are those of the
    /// policy.
    pub fn check_rest(&self) {
        let snapshot = self.engine.snapshot();
        for pu in &snapshot.pus {
            assert_eq!(pu.owner, pu.next, "PU {} is still changing hands", pu.pu);
        }
        for app in &snapshot.apps {
            assert!(app.epoch == app.adopted || app.state == AppState::Stopped, "{app:?}");
            let without = app.state == AppState::Waiting || app.state == AppState::Stopped && app.epoch == 0;
            assert_eq!(without, app.count == 0, "{app:?}");
            assert_eq!(app.state == AppState::Stopped, self.programs[&app.app].stopped, "{app:?}");
            assert!(!app.why.is_empty());
            // A stopped one keeps what it was told last, and is told anew when it goes on.
            let told = app.state != AppState::Stopped && !app.allowed.is_empty();
            assert!(!told || app.pus.is_subset(&app.allowed), "{app:?}");
            let owned: PuSet = snapshot.pus.iter().filter(|pu| pu.owner == Some(app.app)).map(|pu| pu.pu).collect();
            if !owned.is_empty() {
                assert_eq!(owned, app.pus, "{app:?}");
            }
            let runs = |id: &AppId| snapshot.apps.iter().any(|app| app.app == *id && app.state != AppState::Blocked);
            let crowded = snapshot.pus.iter().any(|pu| owned.contains(pu.pu) && pu.guests.iter().any(runs));
            assert!(owned.is_empty() || crowded == app.shared, "{app:?}");
        }
        let policy = self.engine.policy();
        if policy.share.space_shares() && !policy.share.retains() && !policy.placement.selective() {
            self.check_shares();
            if self.engine.settings().parties.is_empty() {
                self.check_guests();
            } else {
                self.check_hosts();
            }
        }
    }

    fn check_shares(&self) {
        let view = self.engine.view();
        let mut policy = Policy::parse(&self.engine.policy().to_string(), 0).unwrap();
        let mut shares = Shares::new();
        shares.reset(view.apps.len());
        policy.share.divide(&view, &mut shares);
        if !policy.share.space_shares() {
            return self.check_everybody_is_everywhere();
        }
        // What is idle passes on at the next decision only. The part on demand goes by it: it could
        // even serve somebody now who was left out.
        let idle = view.pus.iter().any(|pu| pu.idle);
        let lenders = idle || self.engine.snapshot().apps.iter().any(|app| lends(app.state));
        for &slot in view.order {
            let (app, count) = (view.app(slot), shares.count(slot));
            let right = app.allocation == count || shares.is_rounding(slot, app.allocation) || lenders;
            assert!(right, "application {} has {} of {count}", app.id, app.allocation);
            assert!(app.allocation >= count.min(app.min) || idle, "application {} of {count}", app.id);
        }
    }

    /// Nobody owns anything but what it holds by a claim.
    fn check_everybody_is_everywhere(&self) {
        let snapshot = self.engine.snapshot();
        let places: PuSet = snapshot.pus.iter().filter(|pu| pu.state != PuState::Unmanaged).map(|pu| pu.pu).collect();
        for &slot in self.engine.view().order {
            let app = snapshot.apps.iter().find(|app| app.app == self.engine.view().app(slot).id).unwrap();
            assert_eq!(self.engine.view().app(slot).allocation, 0);
            let usable = if app.allowed.is_empty() { &snapshot.usable } else { &app.allowed };
            assert!(app.shared && app.count >= 1 && app.pus == places.intersection(usable), "{app:?}");
        }
    }

    /// Says whether an application may have some processors only.
    fn is_bounded(&self, app: AppId) -> bool {
        self.engine.snapshot().apps.iter().any(|known| known.app == app && !known.allowed.is_empty())
    }

    /// With processors to spare nobody is a guest who may be everywhere, and no guest would be
    /// better off elsewhere.
    fn check_guests(&self) {
        let view = self.engine.view();
        let minimums_fit = view.order.iter().map(|&slot| view.app(slot).min).sum::<u32>() <= view.capacity;
        let work_conserving = self.engine.policy().share.conserves_work();
        let is_guest = |slot| view.app(slot).allocation == 0 && !self.is_bounded(view.app(slot).id);
        let guests = view.order.iter().filter(|&&slot| is_guest(slot)).count();
        let late_ones_get_nothing = matches!(self.engine.policy().share.info().name, "cluster" | "demand")
            || self.engine.policy().placement.selective();
        let stopped = self.engine.policy().turns.stops();
        assert!(
            stopped || !minimums_fit || !work_conserving || late_ones_get_nothing || guests == 0,
            "a guest although there is room, with {}: {:#?}",
            self.engine.policy().in_full(),
            self.engine.snapshot().apps
        );
        self.check_balance();
    }

    /// A guest is on processors of its own party, or its party has none.
    fn check_hosts(&self) {
        let (snapshot, view) = (self.engine.snapshot(), self.engine.view());
        let party = |id: AppId| view.apps.iter().find(|app| app.id == id).map(|app| app.party);
        let alike = view.order.windows(2).all(|two| view.app(two[0]).party == view.app(two[1]).party);
        let unlimited = self
            .engine
            .settings()
            .parties
            .iter()
            .all(|party| *party == Party { weight_milli: party.weight_milli, ..Party::default() });
        if alike && unlimited {
            return;
        }
        for pu in &snapshot.pus {
            for &guest in pu.guests.iter().filter(|&&guest| !self.is_bounded(guest)) {
                let owns = |other: &PuSnapshot| other.owner.and_then(party) == party(guest);
                let at_home = pu.owner.and_then(party) == party(guest);
                assert!(at_home || !snapshot.pus.iter().any(owns), "{guest} is on {}: {snapshot:#?}", pu.pu);
            }
        }
    }

    /// The weight on each processor, recomputed: nobody would find less on another one.
    fn check_balance(&self) {
        let snapshot = self.engine.snapshot();
        let app = |id: AppId| snapshot.apps.iter().find(|app| app.app == id).unwrap();
        let weight = |id: AppId, on: usize| u64::from(app(id).weight_milli) / on as u64;
        let owned = |id: AppId| snapshot.pus.iter().filter(|pu| pu.owner == Some(id)).count();
        let most = |id: AppId| if app(id).allowed.is_empty() { usize::MAX } else { app(id).allowed.len() };
        let effective_min = |id: AppId| if lends(app(id).state) { 1 } else { (app(id).min as usize).min(most(id)) };
        let may_be_on = |id: AppId, pu: PuId| app(id).allowed.is_empty() || app(id).allowed.contains(pu);
        let load = |pu: &PuSnapshot| {
            let own = pu.owner.map_or(0, |id| weight(id, owned(id)));
            own + pu.guests.iter().map(|&id| weight(id, effective_min(id))).sum::<u64>()
        };
        let places: Vec<_> =
            snapshot.pus.iter().filter(|pu| matches!(pu.state, PuState::Free | PuState::Owned)).collect();
        for here in &places {
            for &guest in &here.guests {
                let others = places.iter().filter(|there| !there.guests.contains(&guest) && may_be_on(guest, there.pu));
                let elsewhere = others.map(|there| load(there)).min();
                let better =
                    elsewhere.is_some_and(|load_there| load_there + weight(guest, effective_min(guest)) < load(here));
                assert!(!better, "{guest} would be better off elsewhere: {:#?}", snapshot.pus);
            }
        }
    }
}
