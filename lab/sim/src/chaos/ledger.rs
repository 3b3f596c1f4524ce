//! A second ledger of the engine's promises, kept from events and actions alone, so that it can
//! check the engine's own.
//!
//! The promise: an application is alone on its processors if they are not shared. An application
//! may still be where an earlier target put it, until it has said that it carried a later one out,
//! or has been forced to it and had its grace time once more.

use crate::Nanos;
use numaestro_engine::{Action, AppId, Class, Event};
use numaestro_topology::{PuId, PuSet};
use std::collections::BTreeMap;

/// One target.
#[derive(Debug, Clone)]
struct Target {
    epoch: u32,
    pus: PuSet,
    shared: bool,
}

/// The targets of one application, and its answers.
#[derive(Debug, Clone, Default)]
struct Entry {
    started: bool,
    folds: bool,
    targets: Vec<Target>,
    /// Its processors by the latest target, whether it is there or not.
    told: PuSet,
    adopted: u32,
    /// The processors that it has called idle, until it is given them anew.
    idle: PuSet,
    /// Epoch and engine time of the latest `Force`.
    forced: (u32, Nanos),
    /// It is stopped.
    stopped: bool,
}

impl Entry {
    fn latest(&self) -> Option<&Target> {
        self.targets.last()
    }

    /// Where the application is a guest by now, it may have lost its idle processors: then they do
    /// not come back when it calls them busy.
    fn say_idle(&mut self, idle: &PuSet) {
        let guest = self.latest().filter(|told| told.shared);
        let before = guest.map(|told| self.idle.intersection(&told.pus)).unwrap_or_default();
        self.idle = idle.union(&before);
        // Processors that it has been told to leave, and says that it has left, stay left, whatever
        // it says later.
        if !self.targets.is_empty() {
            let left = idle.difference(&self.told);
            self.targets.iter_mut().for_each(|told| told.pus.subtract(&left));
        }
    }

    /// Adds a target. The application has already left idle processors that are not its own any
    /// more.
    fn target(&mut self, epoch: u32, pus: &PuSet, shared: bool) {
        let lost = self.idle.difference(pus);
        let given = if shared { PuSet::new() } else { pus.difference(&self.told) };
        self.targets.iter_mut().for_each(|told| told.pus.subtract(&lost));
        self.idle = self.idle.difference(&lost).difference(&given);
        self.targets.retain(|told| told.epoch >= self.adopted);
        self.told.clone_from(pus);
        self.targets.push(Target { epoch, pus: pus.clone(), shared });
    }

    /// The processors among `pus` where it may be after a promise to be alone there.
    fn alone_on(&self, pus: &PuSet, now: Nanos, grace: Nanos) -> PuSet {
        let since = if self.folds { self.targets.len().saturating_sub(1) } else { 0 };
        let gone = if now >= self.forced.1.saturating_add(grace) { self.forced.0 } else { 0 };
        let mut there = PuSet::new();
        for told in &self.targets[since..] {
            if told.epoch >= self.adopted.max(gone) && !told.shared && told.pus.intersects(pus) {
                there.or_with(&told.pus.intersection(pus));
            }
        }
        there.difference(&self.idle)
    }
}

/// The promises to all applications.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<AppId, Entry>,
    grace: Nanos,
    offline: PuSet,
    pus: usize,
}

impl Ledger {
    /// The ledger of an engine for a machine of so many processors, which forces after so many
    /// nanoseconds.
    pub fn new(pus: usize, grace: Nanos) -> Self {
        Self { grace, pus, ..Self::default() }
    }

    /// Notes an event before the engine hears it.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Depart { app } => _ = self.entries.remove(app),
            Event::Class { app, class } => self.with(*app, |entry| {
                if entry.folds {
                    // While the class was fold, old targets did not count; they must not come back.
                    let past = entry.targets.len().saturating_sub(1);
                    entry.targets.drain(..past);
                }
                entry.folds = *class == Class::Fold;
            }),
            Event::Demand { app, idle, .. } => self.with(*app, |entry| entry.say_idle(idle)),
            Event::Unstoppable { app } => self.with(*app, |entry| entry.stopped = false),
            Event::Request { app, processors } => self.with(*app, |entry| {
                if *processors == 0 {
                    // A wrapper holds nothing: it has no threads that would have to leave.
                    entry.targets.iter_mut().for_each(|told| told.pus.clear());
                    entry.told.clear();
                }
            }),
            Event::Adopted { app, epoch } => self.with(*app, |entry| {
                if entry.latest().is_some_and(|told| *epoch <= told.epoch) {
                    entry.adopted = entry.adopted.max(*epoch);
                }
            }),
            Event::Arrive { .. }
            | Event::Limits { .. }
            | Event::Allowed { .. }
            | Event::Sequential { .. }
            | Event::Blocked { .. }
            | Event::Parallel { .. }
            | Event::Speedup { .. }
            | Event::Bandwidth { .. }
            | Event::Saturation { .. }
            | Event::Memory { .. }
            | Event::FreeMemory { .. }
            | Event::Parties { .. }
            | Event::Stoppable { .. }
            | Event::Offline { .. }
            | Event::Online { .. }
            | Event::Unmanaged { .. }
            | Event::Timer
            | Event::Policy { .. } => {}
        }
    }

    fn with(&mut self, app: AppId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(&app) {
            change(entry);
        }
    }

    /// Notes an event after the engine has heard it, and whether the engine refused it.
    pub fn heard(&mut self, event: &Event, refused: bool) {
        match event {
            Event::Arrive { app, wish } => {
                if !refused {
                    self.entries.entry(*app).or_default().folds = wish.class == Class::Fold;
                }
            }
            Event::Offline { pu } => {
                if !refused && pu.index() < self.pus {
                    self.offline.insert(*pu);
                    for entry in self.entries.values_mut() {
                        entry.targets.iter_mut().for_each(|told| _ = told.pus.remove(*pu));
                        entry.told.remove(*pu);
                    }
                }
            }
            Event::Online { pu } => _ = self.offline.remove(*pu),
            Event::Depart { .. }
            | Event::Request { .. }
            | Event::Limits { .. }
            | Event::Allowed { .. }
            | Event::Demand { .. }
            | Event::Class { .. }
            | Event::Adopted { .. }
            | Event::Sequential { .. }
            | Event::Blocked { .. }
            | Event::Parallel { .. }
            | Event::Speedup { .. }
            | Event::Bandwidth { .. }
            | Event::Saturation { .. }
            | Event::Memory { .. }
            | Event::FreeMemory { .. }
            | Event::Parties { .. }
            | Event::Unstoppable { .. }
            | Event::Stoppable { .. }
            | Event::Unmanaged { .. }
            | Event::Timer
            | Event::Policy { .. } => {}
        }
    }

    /// Checks and notes an action that the engine wants at `now` on its own clock, nanoseconds.
    ///
    /// # Errors
    /// The promise that the action breaks.
    pub fn see(&mut self, action: &Action, now: Nanos) -> Result<(), String> {
        match action {
            Action::Start { app } => {
                let entry = self.known(*app)?;
                if std::mem::replace(&mut entry.started, true) {
                    return Err(format!("{app} is started twice"));
                }
            }
            Action::Wait { app, position } => {
                if self.known(*app)?.started || *position == 0 {
                    return Err(format!("{app} is to wait at {position} after its start"));
                }
            }
            Action::Target { app, epoch, count, pus, shared, .. } => {
                self.see_target(*app, *epoch, *count, pus, *shared, now)?;
            }
            Action::Force { app, epoch, pus } => {
                let entry = self.known(*app)?;
                if entry.stopped {
                    return Err(format!("{app} is forced, and it is stopped"));
                }
                let right = entry.latest().is_some_and(|told| told.epoch == *epoch && told.pus.is_subset(pus));
                if !right {
                    return Err(format!("{app} is forced to {pus} of epoch {epoch}, which is not its target"));
                }
                // The processors of an earlier `Force` have been vacated or taken by now.
                entry.adopted = entry.adopted.max(entry.forced.0);
                entry.forced = (*epoch, now);
            }
            Action::Stop { app } => {
                let entry = self.known(*app)?;
                if !entry.started || std::mem::replace(&mut entry.stopped, true) {
                    return Err(format!("{app} is stopped, started: {}", entry.started));
                }
                // No thread of it runs anywhere, and none of its processors is idle.
                entry.targets.iter_mut().for_each(|told| told.pus.clear());
                entry.idle.clear();
            }
            Action::Continue { app } => {
                let entry = self.known(*app)?;
                let somewhere = entry.latest().is_some_and(|told| !told.pus.is_empty());
                if !std::mem::replace(&mut entry.stopped, false) || !somewhere {
                    return Err(format!("{app} is to go on, but was not stopped, or is nowhere"));
                }
            }
            Action::Pages { app, .. } => _ = self.known(*app)?,
            Action::Refuse { reason, .. } if reason.is_empty() => return Err("it refuses without a reason".to_owned()),
            Action::Refuse { .. } => {}
        }
        Ok(())
    }

    fn known(&mut self, app: AppId) -> Result<&mut Entry, String> {
        self.entries.get_mut(&app).ok_or_else(|| format!("{app} is not there, and something is to be done with it"))
    }

    fn see_target(
        &mut self,
        app: AppId,
        epoch: u32,
        count: u32,
        pus: &PuSet,
        shared: bool,
        now: Nanos,
    ) -> Result<(), String> {
        if count == 0 || pus.is_empty() {
            return Err(format!("{app} is to have {count} threads on {pus}"));
        }
        if pus.iter().any(|pu: PuId| pu.index() >= self.pus || self.offline.contains(pu)) {
            return Err(format!("{app} is given {pus}, but {} are offline", self.offline));
        }
        if !shared {
            for (other, entry) in self.entries.iter().filter(|(other, _)| **other != app) {
                let both = entry.alone_on(pus, now, self.grace);
                if !both.is_empty() {
                    return Err(format!("{app} is given {both} while {other} was promised to be alone there"));
                }
            }
        }
        let entry = self.known(app)?;
        let before = entry.latest().map_or(0, |told| told.epoch);
        if !entry.started || epoch != before + 1 {
            return Err(format!("{app} is told epoch {epoch} after {before}, started: {}", entry.started));
        }
        entry.target(epoch, pus, shared);
        Ok(())
    }
}
