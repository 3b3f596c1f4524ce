//! A copy of the engine in which each application carries its targets out at once: what would
//! follow from an event, without the event.
//!
//! The earliest arrival carries its targets out first. The time that programs really take changes
//! nothing; their order changes the answer where a placement is selective or breaks ties at random,
//! or where turns are taken.

use crate::account::Phase;
use crate::engine::Engine;
use crate::event::{Action, Event, Nanos};
use crate::site::Site;
use numaestro_policy::{Rejected, Slot};

/// Work that may be spent on finding an application's turn: turns, times the applications that take
/// part in each. If its turn is farther away, the answer is that it waits for its turn.
const LOOK_AHEAD: usize = 1024;
/// Targets that each application carries out, at most, until all have made room.
const SETTLE_MAX: usize = 8;

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Rehearsal {
    pub(crate) engine: Engine,
    actions: Vec<Action>,
    now: Nanos,
}

impl Rehearsal {
    /// A copy at this time of the shell's clock.
    pub(crate) fn of(engine: &Engine, now: Nanos) -> Self {
        Self { engine: engine.clone(), actions: Vec::new(), now }
    }

    /// The copy hears an event. An event that it refuses changes nothing.
    pub(crate) fn step(&mut self, event: &Event) -> Result<(), Rejected> {
        self.engine.step(self.now, event, &mut self.actions);
        let refused = self.actions.iter().find_map(|action| match action {
            Action::Refuse { reason, .. } => Some(Rejected::new(reason.clone())),
            _ => None,
        });
        self.engine.recycle(&mut self.actions);
        refused.map_or(Ok(()), Err)
    }

    /// Lets all applications carry their targets out, the earliest arrival first, and calls the
    /// engine where it is due. It ends because each vacated processor has its next owner; the bound
    /// is for a policy that goes on deciding.
    pub(crate) fn settle(&mut self) -> Result<(), Rejected> {
        for _ in 0..SETTLE_MAX * (self.engine.site().ledger.apps().len() + 1) {
            if self.engine.is_due(self.now) {
                self.step(&Event::Timer)?;
                continue;
            }
            let ledger = &self.engine.site().ledger;
            let late = |slot: &&Slot| {
                let (epoch, adopted) = ledger.epochs(**slot);
                adopted < epoch && !ledger.activity(**slot).stopped
            };
            let Some(&slot) = ledger.started().iter().find(late) else { return Ok(()) };
            let (app, (epoch, _)) = (ledger.app(slot).id, ledger.epochs(slot));
            self.step(&Event::Adopted { app, epoch })?;
        }
        Ok(())
    }

    /// So much time passes.
    pub(crate) fn pass(&mut self, time: Nanos) -> Result<(), Rejected> {
        self.now = self.now.saturating_add(time);
        self.step(&Event::Timer)
    }

    /// Where turns are taken, goes on until the application has processors.
    pub(crate) fn await_turn(&mut self, slot: Slot) -> Result<(), Rejected> {
        for _ in 0..LOOK_AHEAD / self.engine.site().ledger.started().len().max(1) {
            let Site { regime, ledger, .. } = self.engine.site();
            let turns = regime.stops() || regime.holds();
            let runs = ledger.account(slot).phase == Phase::Running;
            if !turns || !runs || ledger.app(slot).allocation > 0 {
                return Ok(());
            }
            let Some(at) = self.engine.deadline() else { return Ok(()) };
            self.now = self.now.max(at);
            self.step(&Event::Timer)?;
            self.settle()?;
        }
        Ok(())
    }
}
