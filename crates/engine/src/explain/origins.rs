//! Which earlier decision makes an action necessary that follows from time alone, or from an
//! application that has left processors.

use super::effect::Effect;
use crate::event::{Action, Event};
use numaestro_policy::AppId;
use numaestro_topology::PuSet;
use std::collections::BTreeMap;

/// A target that its application has not adopted yet.
#[derive(Debug, Clone)]
struct Told {
    epoch: u32,
    decision: u64,
    /// The processors that it has to leave.
    lost: PuSet,
}

/// See the file's header.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins {
    told: BTreeMap<AppId, Vec<Told>>,
    /// The latest news of load outside, which the engine may follow only later.
    load: Option<u64>,
}

impl Origins {
    /// The decision that told an application to leave some of these processors. Of several, the
    /// latest.
    pub(super) fn of_processors(&self, gained: &PuSet) -> Option<u64> {
        let all = self.told.values().flatten();
        all.filter(|told| told.lost.intersects(gained)).map(|told| told.decision).max()
    }

    /// The decision that told an application this target.
    pub(super) fn of_target(&self, app: AppId, epoch: u32) -> Option<u64> {
        let told = self.told.get(&app)?;
        told.iter().rev().find(|told| told.epoch <= epoch).map(|told| told.decision)
    }

    /// The decision that heard of load outside, as long as nothing has followed from it.
    pub(super) fn of_load(&self) -> Option<u64> {
        self.load
    }

    /// Takes note of a decision. The questions about it come before.
    pub(super) fn note(&mut self, number: u64, event: Option<&Event>, effects: &[Effect]) {
        match event {
            Some(Event::Adopted { app, epoch }) => {
                if let Some(told) = self.told.get_mut(app) {
                    told.retain(|told| told.epoch > *epoch);
                }
            }
            Some(Event::Depart { app }) => {
                self.told.remove(app);
            }
            Some(Event::Unmanaged { .. }) => self.load = Some(number),
            _ => {}
        }
        for effect in effects {
            if let Action::Target { app, epoch, .. } = effect.action {
                self.told.entry(app).or_default().push(Told { epoch, decision: number, lost: effect.lost() });
            }
        }
    }
}
