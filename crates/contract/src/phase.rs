//! The phases of programs, and the phase that the engine was told.

use numaestro_engine::{AppId, Event, Nanos};
use serde::{Deserialize, Serialize};

/// A program that says its phases leaves out those that are not longer than this, nanoseconds:
/// short ones cost more than they give.
pub const SAID_MIN_NS: Nanos = 100_000;
/// The activity of a program, as far as its processors are concerned. A greater one lends more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It can use all its processors.
    #[default]
    Parallel,
    /// It uses one of them.
    Sequential,
    /// It waits for something outside and uses none.
    Blocked,
}

/// The phase that the engine was told last of one application.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseTold(Phase);

impl PhaseTold {
    /// The program's phase is `to`. The event to tell, if that is news.
    pub fn change(&mut self, app: AppId, to: Phase) -> Option<Event> {
        let before = std::mem::replace(&mut self.0, to);
        (before != to).then_some(match to {
            Phase::Parallel => Event::Parallel { app },
            Phase::Sequential => Event::Sequential { app },
            Phase::Blocked => Event::Blocked { app },
        })
    }

    /// Its phase that the engine knows.
    pub fn phase(self) -> Phase {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: AppId = AppId(1);

    #[test]
    fn a_phase_is_told_once() {
        let mut told = PhaseTold::default();
        assert_eq!(told.change(APP, Phase::Parallel), None);
        assert_eq!(told.change(APP, Phase::Sequential), Some(Event::Sequential { app: APP }));
        assert_eq!(told.change(APP, Phase::Sequential), None);
        assert_eq!(told.change(APP, Phase::Blocked), Some(Event::Blocked { app: APP }));
        assert_eq!(told.change(APP, Phase::Sequential), Some(Event::Sequential { app: APP }));
        assert_eq!(told.change(APP, Phase::Parallel), Some(Event::Parallel { app: APP }));
    }
}
