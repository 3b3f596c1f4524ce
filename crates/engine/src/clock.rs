//! The engine's time never goes back. When the shell's clock goes back, the engine's time goes on
//! from where it was, and stays ahead by the difference.

use crate::event::Nanos;

/// Both times, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    now: Nanos,
    /// Time by which the engine is ahead of the shell's clock.
    ahead: Nanos,
    /// Time of the first event.
    started: Option<Nanos>,
}

impl Clock {
    /// The engine's time when the shell's clock says `now`.
    pub(crate) fn advance(&mut self, now: Nanos) -> Nanos {
        self.ahead = self.ahead.max(self.now.saturating_sub(now));
        self.now = now.saturating_add(self.ahead);
        self.started.get_or_insert(self.now);
        self.now
    }

    /// An engine's time on the shell's clock.
    pub(crate) fn on_shell(&self, at: Nanos) -> Nanos {
        at.saturating_sub(self.ahead)
    }

    /// The engine's time when so much time has passed since the first event.
    pub(crate) fn since_start(&self, passed: Nanos) -> Nanos {
        self.started.unwrap_or(self.now).saturating_add(passed)
    }
}
