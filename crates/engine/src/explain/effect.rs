//! What one action changes for an application.

use super::rule::Rule;
use crate::event::Action;
use crate::snapshot::{AppSnapshot, AppState};
use numaestro_policy::AppId;
use numaestro_topology::PuSet;

/// What an application has, as far as it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// Its state.
    pub state: AppState,
    /// Threads it should have; 0 before its first target.
    pub count: u32,
    /// Its processors.
    pub pus: PuSet,
    /// Others run on some or all of them.
    pub shared: bool,
    /// Some of its processors are lent.
    pub lent: bool,
}

impl Holding {
    pub(super) fn of(app: &AppSnapshot) -> Self {
        Self { state: app.state, count: app.count, pus: app.pus.clone(), shared: app.shared, lent: app.lent }
    }
}

/// See the file's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The application; `None`: a refusal that is about none.
    pub app: Option<AppId>,
    /// The action.
    pub action: Action,
    /// What it had before the event; `None`: it was not there.
    pub before: Option<Holding>,
    /// The rule that led to the action.
    pub rule: Rule,
    /// The number of the earlier decision that made this one necessary; `None`: the event itself
    /// did.
    pub cause: Option<u64>,
    /// The applications that were told nothing, and have this one beside them from now on.
    pub beside: Vec<AppId>,
}

impl Effect {
    /// It changes what the application has, or whether it runs.
    pub fn changes_holding(&self) -> bool {
        matches!(
            self.action,
            Action::Target { .. } | Action::Stop { .. } | Action::Continue { .. } | Action::Wait { .. }
        )
    }

    /// The processors that it is told now and did not have before.
    pub(super) fn gained(&self) -> PuSet {
        match (self.told(), &self.before) {
            (Some(told), Some(before)) => told.difference(&before.pus),
            (told, _) => told.cloned().unwrap_or_default(),
        }
    }

    /// The processors that it had before and is told no more.
    pub(super) fn lost(&self) -> PuSet {
        match (&self.before, self.told()) {
            (Some(before), Some(told)) => before.pus.difference(told),
            _ => PuSet::default(),
        }
    }

    fn told(&self) -> Option<&PuSet> {
        match &self.action {
            Action::Target { pus, .. } => Some(pus),
            _ => None,
        }
    }
}
