//! When applications were there.

use crate::event::{Action, Event, Nanos};
use numaestro_policy::AppId;
use std::collections::BTreeMap;

/// The time that an application was there, nanoseconds on the journal's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Life {
    /// Its arrival. `None`: it is older than what is remembered, or came back to a new manager.
    pub arrived: Option<Nanos>,
    /// Its end. `None`: it has not ended.
    pub ended: Option<Nanos>,
}

/// See the file's header.
#[derive(Debug, Clone, Default)]
pub(super) struct Lives(BTreeMap<AppId, Life>);

impl Lives {
    /// Takes note of an event and of all that followed. One that was refused was never there.
    pub(super) fn note(&mut self, at: Nanos, event: Option<&Event>, actions: &[Action]) {
        match event {
            Some(Event::Arrive { app, wish }) if !actions.iter().any(Action::is_refusal) => {
                let arrived = wish.claim.is_none().then_some(at);
                self.0.insert(*app, Life { arrived, ended: None });
            }
            Some(Event::Depart { app }) => self.0.entry(*app).or_default().ended = Some(at),
            _ => {}
        }
    }

    pub(super) fn of(&self, app: AppId) -> Life {
        self.0.get(&app).copied().unwrap_or_default()
    }
}
