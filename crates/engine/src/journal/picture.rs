//! The engine's state as far as events and actions tell it, for recordings: an engine cannot be
//! asked, because it would have to hear all events from its first one on, and to be the version
//! that was recorded.
//!
//! A processor is its owner's until the owner has adopted a target without it, or somebody else is
//! told that it is his alone. Where two have it, the first of them owns it, and the other is a
//! guest. No action tells which processors the engine leaves to load outside, and users who are no
//! administrators are not told whose the others' processors are. Only a state says both: they stay
//! as it says until somebody who is known has them.

use crate::event::{Action, Event, Nanos};
use crate::snapshot::{AppSnapshot, AppState, PuSnapshot, Snapshot};
use numaestro_policy::{AppId, PuState};
use numaestro_topology::{Machine, PuId, PuSet};
use std::collections::BTreeMap;

/// See the file's header.
#[derive(Debug, Clone)]
pub struct Picture {
    snapshot: Snapshot,
    /// Processors of former targets, with the number of the target that has to be adopted before
    /// they are vacated.
    leaving: BTreeMap<AppId, Vec<(u32, PuSet)>>,
}

impl Picture {
    /// Nobody has anything.
    pub fn empty(machine: &Machine, policy: &str, reserved: &PuSet) -> Self {
        let usable = machine.allowed();
        let state = |pu| {
            if reserved.contains(pu) {
                PuState::Reserved
            } else if usable.contains(pu) {
                PuState::Free
            } else {
                PuState::Offline
            }
        };
        let pus = (0..machine.pu_count() as u32).map(PuId);
        let pus =
            pus.map(|pu| PuSnapshot { pu, state: state(pu), owner: None, next: None, guests: Vec::new() }).collect();
        let snapshot = Snapshot {
            now: 0,
            policy: policy.to_owned(),
            usable: usable.clone(),
            unmanaged: 0,
            decisions: 0,
            apps: Vec::new(),
            pus,
            queue: Vec::new(),
            work_list: Vec::new(),
        };
        Self::of(snapshot)
    }

    /// Goes on from this state.
    pub fn of(snapshot: Snapshot) -> Self {
        let mut leaving = BTreeMap::new();
        for app in &snapshot.apps {
            let mut rest = PuSet::default();
            for pu in snapshot.pus.iter().filter(|pu| pu.owner == Some(app.app)) {
                rest.insert(pu.pu);
            }
            rest.subtract(&app.pus);
            if app.adopted < app.epoch && !rest.is_empty() {
                leaving.insert(app.app, vec![(app.epoch, rest)]);
            }
        }
        Self { snapshot, leaving }
    }

    /// The state now.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The engine heard an event, and decided.
    pub fn hear(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        // A refused event has changed nothing.
        if !actions.iter().any(Action::is_refusal) {
            self.heard(event);
            if matches!(event, Event::Unmanaged { .. } | Event::Policy { .. }) {
                // Reasons tell of load outside and the policy, also to those that are told nothing.
                self.forget_reasons();
            }
        }
        self.follow(at, actions);
    }

    /// The engine decided, and the event is not known.
    pub fn follow(&mut self, at: Nanos, actions: &[Action]) {
        self.snapshot.now = self.snapshot.now.max(at);
        for action in actions {
            self.decided(action);
        }
        if !actions.is_empty() {
            // The reasons were true before.
            self.forget_reasons();
        }
        self.settle();
    }

    fn forget_reasons(&mut self) {
        self.snapshot.apps.iter_mut().for_each(|app| app.why.clear());
    }

    fn app(&mut self, app: AppId) -> Option<&mut AppSnapshot> {
        self.snapshot.apps.iter_mut().find(|entry| entry.app == app)
    }

    fn set_state(&mut self, app: AppId, state: AppState) {
        if let Some(entry) = self.app(app) {
            entry.state = state;
        }
    }

    /// The engine passes over processors that the machine does not have.
    fn set_presence(&mut self, pu: PuId, state: PuState) {
        if let Some(entry) = self.snapshot.pus.get_mut(pu.index()) {
            entry.state = state;
        }
    }

    fn set_unmanaged(&mut self, processors: u32) {
        self.snapshot.unmanaged = processors;
        if processors == 0 {
            let left = self.snapshot.pus.iter_mut().filter(|pu| pu.state == PuState::Unmanaged);
            left.for_each(|pu| pu.state = PuState::Free);
        }
    }

    fn heard(&mut self, event: &Event) {
        match event {
            Event::Arrive { app, wish } => {
                self.snapshot.apps.retain(|entry| entry.app != *app);
                self.snapshot.apps.push(AppSnapshot {
                    app: *app,
                    state: AppState::Waiting,
                    class: wish.class,
                    request: wish.request,
                    min: wish.min,
                    max: wish.max,
                    weight_milli: wish.weight_milli,
                    count: 0,
                    pus: PuSet::default(),
                    shared: false,
                    lent: false,
                    epoch: 0,
                    adopted: 0,
                    position: 0,
                    allowed: wish.allowed.clone(),
                    why: String::new(),
                });
            }
            Event::Depart { app } => {
                self.snapshot.apps.retain(|entry| entry.app != *app);
                self.leaving.remove(app);
            }
            Event::Request { app, processors } => {
                if let Some(entry) = self.app(*app) {
                    entry.request = *processors;
                }
            }
            Event::Demand { app, processors, .. } => {
                if let Some(entry) = self.app(*app) {
                    entry.request = (*processors).max(1);
                }
            }
            Event::Limits { app, min, max, weight_milli } => {
                if let Some(entry) = self.app(*app) {
                    (entry.min, entry.max, entry.weight_milli) = (*min, *max, *weight_milli);
                }
            }
            Event::Allowed { app, pus } => {
                if let Some(entry) = self.app(*app) {
                    entry.allowed.clone_from(pus);
                }
            }
            Event::Class { app, class } => {
                if let Some(entry) = self.app(*app) {
                    entry.class = *class;
                }
            }
            Event::Adopted { app, epoch } => {
                if let Some(entry) = self.app(*app) {
                    entry.adopted = entry.adopted.max(*epoch);
                }
                if let Some(parts) = self.leaving.get_mut(app) {
                    parts.retain(|(until, _)| until > epoch);
                }
            }
            Event::Sequential { app } => self.set_state(*app, AppState::Sequential),
            Event::Blocked { app } => self.set_state(*app, AppState::Blocked),
            Event::Parallel { app } => self.set_state(*app, AppState::Running),
            Event::Offline { pu } => self.set_presence(*pu, PuState::Offline),
            Event::Online { pu } => self.set_presence(*pu, PuState::Free),
            Event::Unmanaged { processors } => self.set_unmanaged(*processors),
            Event::Policy { policy } => self.snapshot.policy.clone_from(policy),
            Event::Speedup { .. }
            | Event::Bandwidth { .. }
            | Event::Saturation { .. }
            | Event::Memory { .. }
            | Event::FreeMemory { .. }
            | Event::Parties { .. }
            | Event::Unstoppable { .. }
            | Event::Stoppable { .. }
            | Event::Timer => {}
        }
    }

    fn decided(&mut self, action: &Action) {
        match action {
            Action::Start { app } | Action::Continue { app } => self.set_state(*app, AppState::Running),
            Action::Stop { app } => self.set_state(*app, AppState::Stopped),
            Action::Wait { app, position } => {
                if let Some(entry) = self.app(*app) {
                    (entry.state, entry.position) = (AppState::Waiting, *position);
                }
            }
            Action::Target { app, epoch, count, pus, shared, lent } => {
                let Some(entry) = self.app(*app) else { return };
                let mut rest = std::mem::replace(&mut entry.pus, pus.clone());
                (entry.epoch, entry.count, entry.shared, entry.lent) = (*epoch, *count, *shared, *lent);
                rest.subtract(pus);
                let parts = self.leaving.entry(*app).or_default();
                // What it is given again it need not leave.
                for (_, part) in &mut *parts {
                    part.subtract(pus);
                }
                if !rest.is_empty() {
                    parts.push((*epoch, rest));
                }
                if !shared {
                    for (other, parts) in &mut self.leaving {
                        for (_, part) in parts.iter_mut().filter(|_| other != app) {
                            part.subtract(pus);
                        }
                    }
                }
            }
            // Processors that are taken are free when somebody else is told that they are his.
            Action::Force { .. } | Action::Pages { .. } | Action::Refuse { .. } => {}
        }
    }

    /// The owner and the guests of every processor. An application that asks for none is a wrapper
    /// and holds nothing, whatever it was told.
    fn settle(&mut self) {
        for app in &mut self.snapshot.apps {
            match (app.state, app.request) {
                (AppState::Running, 0) => app.state = AppState::Wrapper,
                (AppState::Wrapper, 1..) => app.state = AppState::Running,
                _ => {}
            }
        }
        let claims = self.claims();
        let Snapshot { apps, pus, .. } = &mut self.snapshot;
        for (entry, claim) in pus.iter_mut().zip(claims) {
            entry.guests.clear();
            if matches!(entry.state, PuState::Offline | PuState::Reserved) {
                (entry.owner, entry.next) = (None, None);
                continue;
            }
            let is_unknown = entry.state == PuState::Owned && entry.owner.is_none();
            let kept = entry.owner.filter(|_| claim.is_kept);
            // One that is told to have others beside it is the owner only where there is no other.
            let heir = kept.or(claim.alone).or(claim.first);
            (entry.state, entry.owner, entry.next) = match (claim.left.filter(|_| kept.is_none()), heir) {
                (Some(left), heir) => (PuState::Leaving, Some(left), heir),
                (None, Some(owner)) => (PuState::Owned, Some(owner), Some(owner)),
                (None, None) if is_unknown || entry.state == PuState::Unmanaged => (entry.state, None, None),
                (None, None) => (PuState::Free, None, None),
            };
        }
        for app in apps.iter().filter(|app| app.holds()) {
            for pu in &app.pus {
                let Some(entry) = pus.get_mut(pu.index()) else { continue };
                if entry.state == PuState::Owned && entry.owner != Some(app.app) {
                    entry.guests.push(app.app);
                }
            }
        }
    }

    /// By processor. One pass over what each application has, because most have little.
    fn claims(&self) -> Vec<Claim> {
        let pus = &self.snapshot.pus;
        let mut claims = vec![Claim::default(); pus.len()];
        for app in &self.snapshot.apps {
            for pu in app.pus.iter().filter(|_| app.holds()) {
                let Some(claim) = claims.get_mut(pu.index()) else { continue };
                claim.is_kept |= pus[pu.index()].owner == Some(app.app);
                claim.first = claim.first.or(Some(app.app));
                claim.alone = claim.alone.or(Some(app.app).filter(|_| !app.shared));
            }
            for pu in self.leaving.get(&app.app).into_iter().flatten().flat_map(|(_, part)| part) {
                if let Some(claim) = claims.get_mut(pu.index()) {
                    claim.left = claim.left.or(Some(app.app));
                }
            }
        }
        claims
    }
}

/// The applications that may have a processor.
#[derive(Debug, Clone, Copy, Default)]
struct Claim {
    /// Its owner has it still.
    is_kept: bool,
    /// The first that was told it.
    first: Option<AppId>,
    /// The first that was told it without others.
    alone: Option<AppId>,
    /// The first that has not left it yet.
    left: Option<AppId>,
}
