//! Checks every creation of a process in the engine's journal.

use crate::hector::{STATION, Streams};
use crate::{Estimate, Finding, Judge, Lab, Trouble};
use numaestro_engine::{Action, AppId, Event};
use numaestro_sim::Nanos;
use numaestro_sim::world::Observer;
use numaestro_topology::{PuId, PuSet};
use std::collections::BTreeMap;

/// Counts violations of the invariants.
#[derive(Debug)]
struct Watch {
    /// Processors of a pool.
    pool: u32,
    own: BTreeMap<AppId, PuSet>,
    creations: u32,
    refused: u32,
    /// Processes placed in another pool although one of its own had room (I1).
    spanned: u32,
    /// Processes refused although a processor was free (I7).
    needlessly: u32,
    /// Processors with two owners.
    doubled: u32,
}

impl Watch {
    fn new(pool: u32) -> Self {
        Self { pool, own: BTreeMap::new(), creations: 0, refused: 0, spanned: 0, needlessly: 0, doubled: 0 }
    }

    fn pool_of(&self, pu: PuId) -> u32 {
        pu.0 / self.pool
    }

    fn is_free(&self, pu: PuId) -> bool {
        !self.own.values().any(|own| own.contains(pu))
    }

    /// Processors of applications: the ones of stations 1 to 3.
    fn usable() -> impl Iterator<Item = PuId> {
        (STATION..4 * STATION).map(PuId)
    }

    fn grown(&mut self, app: AppId, pus: &PuSet) {
        let before = self.own.get(&app).cloned().unwrap_or_default();
        for pu in pus.iter().filter(|&pu| !before.contains(pu)) {
            self.creations += 1;
            self.doubled += u32::from(!self.is_free(pu));
            let pools: Vec<u32> = before.iter().map(|pu| self.pool_of(pu)).collect();
            let outside = !pools.is_empty() && !pools.contains(&self.pool_of(pu));
            let room = Self::usable().any(|other| pools.contains(&self.pool_of(other)) && self.is_free(other));
            // Where several are placed at once, the first ones may fill a pool before the last
            // ones.
            let filled = pus.iter().filter(|&pu| pools.contains(&self.pool_of(pu)) && !before.contains(pu)).count();
            let free = Self::usable().filter(|&pu| pools.contains(&self.pool_of(pu)) && self.is_free(pu)).count();
            self.spanned += u32::from(outside && room && filled < free);
        }
    }
}

impl Observer for Watch {
    fn wants_journal(&self) -> bool {
        true
    }

    fn wants_runs(&self) -> bool {
        false
    }

    fn journal(&mut self, _at: Nanos, event: &Event, actions: &[Action]) {
        if let Event::Depart { app } = event {
            self.own.remove(app);
        }
        let targets = || {
            actions.iter().filter_map(|action| match action {
                Action::Target { app, pus, .. } => Some((*app, pus)),
                _ => None,
            })
        };
        // One decision: the processors that it takes are free before it gives them, in any order of
        // its actions.
        for (app, pus) in targets() {
            if let Some(own) = self.own.get_mut(&app) {
                own.and_with(pus);
            }
        }
        for (app, pus) in targets() {
            self.grown(app, pus);
            self.own.insert(app, pus.clone());
        }
        if let Event::Demand { app, processors, .. } = event {
            let has = self.own.get(app).map_or(0, PuSet::len) as u32;
            if has < *processors {
                self.refused += 1;
                self.needlessly += u32::from(Self::usable().any(|pu| self.is_free(pu)));
            }
        }
    }
}

/// B97-span.
pub fn invariants(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for placement in ["worst-fit(equal=4)", "worst-fit(equal=2)", "first-fit(equal=4)"] {
        let pool = if placement.contains('2') { 2 } else { 4 };
        let streams = Streams { count: 5, repetitions: 4, ..Streams::usual(4, placement, 16) };
        let runs = lab.observed(&streams.experiment(lab)?, || Watch::new(pool))?;
        let sum = |count: fn(&Watch) -> u32| runs.iter().map(|(watch, _)| count(watch)).sum::<u32>();
        let (creations, refused) = (sum(|watch| watch.creations), sum(|watch| watch.refused));
        judge.value(format!("creations, {placement}"), "", Estimate::exact(f64::from(creations)));
        judge.value(format!("refused, {placement}"), "", Estimate::exact(f64::from(refused)));
        judge.demand(format!("{placement}: some creations are refused"), "fail when full", refused, refused > 0);
        for (what, count) in [
            ("to another pool while its own had room", sum(|watch| watch.spanned)),
            ("refused with a processor free", sum(|watch| watch.needlessly)),
            ("two processes on a processor", sum(|watch| watch.doubled)),
        ] {
            judge.demand(format!("{placement}: {what}"), "0", count, count == 0);
        }
    }
    Ok(judge.verdict(""))
}
