//! What is measured of applications and of the machine while they run: speedups, bus-transaction rates, what buses carry, who can be stopped.
//! Knows nothing of how it is measured, nor of what policies make of it.

use crate::account::Vp;
use crate::engine::Engine;
use crate::event::Nanos;
use crate::ledger::Ledger;
use numaestro_policy::{Slot, Speedup};

/// Greatest speedup that is believed, times the number of processors: beyond that it is a mistake or a lie.
const SUPERLINEAR_MAX: u32 = 4;

/// Most points of a speedup curve that are kept for one application.
const CURVE_MAX: usize = 64;

impl Engine {
    /// A speedup was measured with this many processors. True if it is one that policies may use: measured with what the application has now, and possible.
    pub(crate) fn measured(&mut self, slot: Slot, processors: u32, speedup_milli: u32) -> bool {
        let app = &mut self.ledger.apps[slot.index()];
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
        self.policy.needs().speedup
    }

    /// Rates of its threads. Nothing is decided now: the turn's end does that.
    pub(crate) fn sampled(&mut self, slot: Slot, rates: &[Option<u32>]) -> bool {
        let threads = self.ledger.app(slot).threads() as usize;
        let Some(&last) = rates.last() else { return false };
        let account = self.ledger.account_mut(slot);
        account.vps.resize(threads, Vp::default());
        for (vp, known) in account.vps.iter_mut().enumerate() {
            if let Some(rate) = rates.get(vp).copied().unwrap_or(last) {
                (known.rate, known.samples) = (Some(rate), known.samples.wrapping_add(1));
            }
        }
        false
    }

    /// What a bus carries. Nothing is decided now.
    pub(crate) fn saturated(&mut self, bus: u32, rate: u32) -> bool {
        if let Some(bus) = self.settings.buses.get_mut(bus as usize) {
            bus.saturation = rate;
        }
        false
    }

    /// Whether the shell can stop it. True if that changes where it runs now.
    pub(crate) fn stoppable(&mut self, slot: Slot, stoppable: bool) -> bool {
        let account = self.ledger.account_mut(slot);
        let changed = account.unstoppable == stoppable;
        account.unstoppable = !stoppable;
        if changed && !stoppable {
            // It has never been stopped, or goes on by itself.
            account.stopped = false;
            self.ledger.mark(slot);
        }
        changed
    }
}

impl Ledger {
    /// Brings the processor time of these up to date.
    pub(crate) fn account_for_time(&mut self, order: &[Slot], now: Nanos) {
        for &slot in order {
            self.account_for(slot, now);
        }
    }

    /// Brings the processor time of one application up to date, before the number of its processors changes.
    pub(crate) fn account_for(&mut self, slot: Slot, now: Nanos) {
        let account = &mut self.accounts[slot.index()];
        let since = std::mem::replace(&mut account.on_since, now);
        let passed = u64::from(account.on).saturating_mul(now.saturating_sub(since));
        let app = &mut self.apps[slot.index()];
        app.cpu_ns = app.cpu_ns.saturating_add(passed);
    }

    /// A report counts while its application has as many processors as when it was measured.
    pub(crate) fn forget_old_reports(&mut self) {
        for &slot in &self.started {
            let app = &mut self.apps[slot.index()];
            if app.report.is_some_and(|report| report.processors != app.allocation) {
                app.report = None;
            }
        }
    }
}
