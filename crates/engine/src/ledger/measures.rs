//! Records measurements of applications: processor time, speedups, and the nodes of their pages. It
//! drops a speedup that was measured with another number of processors, or that is not possible.

use super::Ledger;
use crate::event::Nanos;
use numaestro_policy::{Slot, Speedup};

/// Greatest speedup that counts, times the number of processors: a greater one is a mistake or a
/// lie.
const SUPERLINEAR_MAX: u32 = 4;

/// Most points of a speedup curve that are kept for one application.
const CURVE_MAX: usize = 64;

impl Ledger {
    /// A speedup was measured with this many processors. True if policies may use it: the
    /// application has the same number now, and the speedup is possible.
    pub(crate) fn measured(&mut self, slot: Slot, processors: u32, speedup_milli: u32) -> bool {
        let app = &mut self.apps[slot.index()];
        let most = processors.saturating_mul(SUPERLINEAR_MAX).saturating_mul(1000);
        if processors == 0 || processors != app.allocation || speedup_milli == 0 || speedup_milli > most {
            return false;
        }
        let report = Speedup { processors, speedup_milli };
        match app.speedup.binary_search_by_key(&processors, |point| point.processors) {
            Ok(at) => app.speedup[at] = report,
            Err(at) => {
                if app.speedup.len() == CURVE_MAX {
                    app.speedup.pop();
                }
                app.speedup.insert(at.min(app.speedup.len()), report);
            }
        }
        (app.report, app.reports) = (Some(report), app.reports + 1);
        true
    }

    /// Drops reports that were measured with another number of processors than the application has
    /// now.
    pub(crate) fn forget_old_reports(&mut self) {
        for &slot in &self.started {
            let app = &mut self.apps[slot.index()];
            if app.report.is_some_and(|report| report.processors != app.allocation) {
                app.report = None;
            }
        }
    }

    /// Sets the memory of an application, bytes by node.
    pub(crate) fn set_memory(&mut self, slot: Slot, bytes: impl Iterator<Item = u64>) {
        let memory = &mut self.apps[slot.index()].memory;
        memory.clear();
        memory.extend(bytes);
    }

    /// Brings the processor time of one application up to date, before the number of its processors
    /// changes.
    #[inline]
    pub(crate) fn account_for(&mut self, slot: Slot, now: Nanos) {
        let account = &mut self.accounts[slot.index()];
        let since = std::mem::replace(&mut account.on_since, now);
        let passed = u64::from(account.on).saturating_mul(now.saturating_sub(since));
        let app = &mut self.apps[slot.index()];
        app.cpu_ns = app.cpu_ns.saturating_add(passed);
    }
}
