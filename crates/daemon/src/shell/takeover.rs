//! Takes over the applications of a killed manager, with their processors.

use std::collections::BTreeMap;

use numaestro_host::affinity;
use numaestro_topology::CpuSet;

use super::actuators::Actuators;
use super::{Newcomer, Shell};
use crate::decision::obligations::Allocation;
use crate::hands::masks::SavedMasks;
use crate::hands::notes::Notes;
use crate::senses::machine::node_of_os;
use crate::state::SavedApp;

/// The number of no application.
const NOBODY: u64 = u64::MAX;

impl Shell {
    /// Takes over an application that a former manager had. True if it is there and claims nothing.
    /// `wraps`: it is a wrapper.
    pub(crate) fn take_over(&mut self, newcomer: Newcomer, saved: &SavedApp, wraps: bool) -> bool {
        let app = saved.app;
        self.learn(&newcomer.process, &saved.original);
        self.insert_as(app, newcomer);
        let processors = self.site.processors();
        if let Some(entry) = self.programs.get_mut(app) {
            entry.wants.limit(saved.wish, processors);
            entry.allocation = Allocation::after(saved.epoch);
            entry.options.wait = Some(false);
        }
        if saved.page {
            self.actuators.shared_pages.inherit(app);
        }
        let home = saved.home.and_then(|home| node_of_os(&self.site.machine, home));
        self.actuators.pages.inherit(app, home);
        self.actuators.trees.inherit(app, &saved.strays);
        if let Some(jobserver) = saved.jobserver {
            self.actuators.jobservers.inherit(app, (saved.pid, saved.uid), jobserver);
        }
        if let Some(origin) = &saved.origin {
            self.actuators.cpusets.find(app, saved.pid, origin);
        }
        let claim = if wraps { CpuSet::default() } else { self.claim_of(saved) };
        let nothing = self.site.machine.pu_set(&claim).is_empty();
        let welcome = if nothing { self.arrive_with_nothing(app) } else { self.arrive(app, Some(&claim)) };
        if let Some(wrapper) = saved.wrapper.filter(|wrapper| self.programs.contains(*wrapper)) {
            self.wrap(wrapper, app);
        }
        nothing && welcome.is_ok()
    }

    /// A former manager knew which masks are ours.
    pub(crate) fn remember_masks(&mut self, saved: SavedMasks) {
        self.actuators.trees.remember(saved);
    }

    /// Moves are noted here from now on.
    pub(crate) fn note_moves(&mut self, notes: Notes) {
        self.actuators.trees.note_in(notes);
    }

    /// The state file says everything.
    pub(crate) fn saved_all(&mut self) {
        self.actuators.trees.saved();
    }

    /// The processors that an application of a former manager has: the saved ones, unless the
    /// kernel knows better. Programs may have got later decisions, and have moved.
    fn claim_of(&self, saved: &SavedApp) -> CpuSet {
        let known: CpuSet = saved.cpus.parse().unwrap_or_default();
        if saved.shared {
            return known;
        }
        let confined = self.actuators.cpusets.cpus(saved.app).cloned();
        let seen = confined.or_else(|| affinity::of_process(saved.pid).ok());
        let seen = seen.map(|cpus| cpus.intersection(&self.site.usable)).filter(|cpus| !cpus.is_empty());
        match seen {
            // Threads that may be anywhere say nothing: they have not been moved yet, or a part of
            // the program widens itself.
            Some(seen) if seen != self.site.usable => seen,
            _ => known,
        }
    }

    /// Every application of a former manager is there: groups that it left are dissolved.
    /// `origins`: the groups of origin of their processes.
    pub(crate) fn clear_former_groups(&mut self, origins: &BTreeMap<u64, String>) {
        let Actuators { cpusets, trees, .. } = &mut self.actuators;
        let ours = &mut trees.judge(NOBODY, &self.site.usable);
        cpusets.clear(origins, &self.site.usable, ours, &mut self.wakeups);
    }
}
