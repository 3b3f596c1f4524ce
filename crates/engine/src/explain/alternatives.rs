//! What would give an application another number of processors, or let it have them alone. A copy
//! of the engine gives each answer, as for advice, so it is what would follow.
//!
//! Where turns are taken there is no answer: the number of a moment says little there.

use crate::account::Phase;
use crate::engine::Engine;
use crate::event::{Event, Nanos};
use crate::rehearsal::Rehearsal;
use numaestro_policy::{AppId, Part, Slot, catalogue};
use numaestro_topology::PuSet;

/// Other applications whose end is tried, at most.
const ENDS_MOST: usize = 8;

/// Something that could be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The user lets it have this many processors.
    Limit {
        /// The most processors.
        max: u32,
    },
    /// Its user gives it this weight.
    Weight {
        /// Thousandths; 1000 is usual.
        weight_milli: u32,
    },
    /// It could use this many processors.
    Use {
        /// Processors.
        processors: u32,
    },
    /// Another application ends.
    End {
        /// The other one.
        app: AppId,
    },
    /// The load outside ends.
    LessLoad,
    /// The policy is this one.
    Policy {
        /// As `numaestro policy set` takes it.
        policy: String,
    },
}

/// What an application would have then, once all have made room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// What would be different.
    pub change: Change,
    /// Processors of its own; 0: it would wait, or share.
    pub count: u32,
    /// The processors that it would run on.
    pub pus: PuSet,
    /// Others would run on some or all of them.
    pub shared: bool,
}

/// What an application has once all have made room.
#[derive(Debug)]
struct Outcome {
    /// Processors of its own.
    count: u32,
    pus: PuSet,
    shared: bool,
}

impl Outcome {
    /// The same for its user: it runs on as many processors, alone or not. Whether a shared one is
    /// its own makes no difference.
    fn is_like(&self, other: &Self) -> bool {
        self.shared == other.shared && (self.count == other.count || self.pus.len() == other.pus.len())
    }
}

impl Engine {
    /// What would give an application another number of processors, or let it have them alone, or
    /// with others: only changes that do. `own`: the applications whose end may be named. Empty
    /// where turns are taken, and for an application that is not there. Allocates; not for the hot
    /// path.
    ///
    /// # Panics
    /// If an invariant is broken, as [`Self::step`]. This engine has not changed even then.
    pub fn alternatives(&self, now: Nanos, app: AppId, own: &dyn Fn(AppId) -> bool) -> Vec<Alternative> {
        let Some(slot) = self.slot(app) else { return Vec::new() };
        let Some(usual) = self.outcome(now, slot, &[], false) else { return Vec::new() };
        let mut found = Vec::new();
        for change in self.changes(slot, own) {
            let waits = change == Change::LessLoad;
            let then = self.outcome(now, slot, &self.events(app, slot, &change), waits);
            // Time alone can change something, too.
            let later = if waits { self.outcome(now, slot, &[], true) } else { None };
            let Some(then) = then.filter(|then| !then.is_like(later.as_ref().unwrap_or(&usual))) else { continue };
            found.push(Alternative { change, count: then.count, pus: then.pus, shared: then.shared });
        }
        found
    }

    /// What it has after these events. `waits`: and after the time for which less load outside has
    /// to last. `None`: it cannot be said.
    fn outcome(&self, now: Nanos, slot: Slot, events: &[Event], waits: bool) -> Option<Outcome> {
        let mut copy = Rehearsal::of(self, now);
        for event in events {
            copy.step(event).ok()?;
        }
        copy.settle().ok()?;
        if waits {
            copy.pass(self.site().settings.cooldown_ns).ok()?;
            copy.settle().ok()?;
        }
        let site = copy.engine.site();
        let steady = site.regime.owns() && !site.regime.stops() && !site.regime.holds();
        let (count, sent) = (site.ledger.app(slot).allocation, &site.ledger.account(slot).sent);
        steady.then(|| Outcome { count, pus: sent.pus.clone(), shared: sent.shared })
    }

    /// The changes to try, those within reach of its user first.
    fn changes(&self, slot: Slot, own: &dyn Fn(AppId) -> bool) -> Vec<Change> {
        let ledger = &self.site().ledger;
        let (app, limits) = (ledger.app(slot), ledger.account(slot).activity.limits);
        let usable = ledger.usable().len() as u32;
        let mut changes = Vec::new();
        // Nobody asks for a wrapper: whatever its limits are, it holds none while its children run.
        let asks = ledger.account(slot).phase != Phase::Wrapper;
        if asks && limits.max < usable {
            changes.push(Change::Limit { max: usable });
        }
        changes.push(Change::Weight { weight_milli: limits.weight_milli.saturating_mul(2) });
        if asks && limits.request < usable {
            changes.push(Change::Use { processors: usable });
        }
        if self.shown().unmanaged > 0 {
            changes.push(Change::LessLoad);
        }
        let may_end = |&other: &Slot| other != slot && own(ledger.app(other).id);
        let mut others: Vec<Slot> = ledger.started().iter().copied().filter(may_end).collect();
        others.sort_by_key(|&other| (std::cmp::Reverse(ledger.app(other).allocation), ledger.app(other).id));
        changes.extend(others.iter().take(ENDS_MOST).map(|&other| Change::End { app: ledger.app(other).id }));
        let shares = catalogue().into_iter().filter(|entry| entry.part == Part::Share.name());
        let present = self.policy().share.info().name;
        let others = shares.filter(|entry| entry.info.name != present && app.allocation > 0);
        changes.extend(others.map(|entry| Change::Policy { policy: format!("share={}", entry.info.name) }));
        changes
    }

    /// What the engine would hear. A shell never asks for more than the limit, so a higher limit
    /// comes with a larger request, unless it is refused.
    fn events(&self, app: AppId, slot: Slot, change: &Change) -> Vec<Event> {
        let limits = self.site().ledger.account(slot).activity.limits;
        let (min, max, weight_milli) = (limits.min, limits.max, limits.weight_milli);
        let request = |processors: &u32| Event::Request { app, processors: *processors };
        match change {
            Change::Limit { max } => vec![Event::Limits { app, min, max: *max, weight_milli }, request(max)],
            Change::Weight { weight_milli } => vec![Event::Limits { app, min, max, weight_milli: *weight_milli }],
            Change::Use { processors } => vec![request(processors)],
            Change::LessLoad => vec![Event::Unmanaged { processors: 0 }],
            Change::End { app } => vec![Event::Depart { app: *app }],
            Change::Policy { policy } => vec![Event::Policy { policy: policy.clone() }],
        }
    }
}
