//! What was decided, counted: actions by kind, how many applications ran at once, how long their numbers of processors were searched for. Knows nothing of
//! why.

use super::World;
use crate::outcome::{Decisions, Level};
use numaestro_engine::{Action, Search};

/// The counters.
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    pub decisions: Decisions,
    /// Started and not ended, over time.
    pub over_time: Vec<Level>,
    running: u32,
}

impl World {
    /// Counts what was decided in one step.
    pub(super) fn count(&mut self, actions: &[Action]) {
        let counted = &mut self.levels.decisions;
        for action in actions {
            match action {
                Action::Start { .. } => counted.starts += 1,
                Action::Wait { .. } => counted.waits += 1,
                Action::Target { .. } => counted.targets += 1,
                Action::Stop { .. } => counted.stops += 1,
                Action::Continue { .. } => counted.continues += 1,
                Action::Pages { .. } => counted.pages += 1,
                Action::Force { .. } => counted.forces += 1,
                Action::Refuse { .. } => counted.refusals += 1,
            }
        }
    }

    /// One more application runs, or one fewer.
    pub(super) fn level(&mut self, change: i32) {
        let levels = &mut self.levels;
        levels.running = levels.running.saturating_add_signed(change);
        let (at, running) = (self.now, levels.running);
        match levels.over_time.last_mut() {
            Some(last) if last.at == at => last.running = running,
            _ => levels.over_time.push(Level { at, running }),
        }
    }

    /// Notes whose number of processors is being searched for, and whose has been found.
    pub(super) fn note_searches(&mut self) {
        if !self.engine.policy().needs().speedup {
            return;
        }
        let now = self.now;
        let view = self.engine.view();
        for &slot in view.order {
            let seen = view.app(slot);
            let Some(&app) = self.by_id.get(&seen.id) else { continue };
            let entry = &mut self.apps[app as usize];
            let going = seen.search == Search::Going;
            match (going, entry.searched) {
                (true, None) => entry.searched = Some(now),
                (false, Some(since)) => {
                    entry.record.searching_ns += now - since;
                    entry.searched = None;
                }
                _ => {}
            }
            let settled = matches!(seen.search, Search::Settled { .. } | Search::Bad);
            entry.settled = (entry.settled.1, settled);
        }
    }
}
