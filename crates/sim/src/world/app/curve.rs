//! An application that is only a speedup curve: work W is done at rate S(n) on n processors, dW/dt
//! = S(n(t)) (logs, allocation studies).

use crate::Nanos;

/// The progress of such an application.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Work in all, nanoseconds on one processor.
    work: Nanos,
    /// Work left at `marked`, nanoseconds on one processor.
    left: Nanos,
    /// Work after `left`, nanoseconds on one processor, where it measures itself from part to part.
    rest: Nanos,
    /// The present part, nanoseconds on one processor, and the time of its beginning, nanoseconds.
    part: (Nanos, Nanos),
    /// Nanoseconds that a change of processors still costs.
    stall: Nanos,
    /// Everything before this time is accounted for, nanoseconds.
    marked: Nanos,
    /// Work per elapsed nanosecond.
    rate: f64,
    /// Processors it had last.
    size: u32,
}

impl Curve {
    /// It begins now, on so many processors, and measures itself after each `part` of its work,
    /// nanoseconds on one processor.
    pub fn begin(&mut self, now: Nanos, work: Nanos, part: Nanos, size: u32) {
        let part = part.min(work);
        *self = Self { work, left: part, rest: work - part, part: (part, now), marked: now, size, ..Self::default() };
    }

    /// It has other processors. If their number is another one, that costs it `cost` nanoseconds.
    pub fn resize(&mut self, size: u32, cost: Nanos) {
        if size > 0 && self.size != size {
            self.stall += cost;
            self.size = size;
        }
    }

    /// It makes no progress for so many nanoseconds.
    pub fn stall(&mut self, cost: Nanos) {
        self.stall += cost;
    }

    /// Work in all, nanoseconds on one processor.
    pub fn work(&self) -> Nanos {
        self.work
    }

    /// It works at this rate from now on. Returns the time at which its part is done.
    pub fn set_rate(&mut self, rate: f64) -> Nanos {
        self.rate = rate;
        let begins = self.marked.saturating_add(self.stall);
        if self.left == 0 {
            begins
        } else if self.rate > 0.0 {
            begins.saturating_add(libm::ceil(self.left as f64 / self.rate) as u64)
        } else {
            Nanos::MAX
        }
    }

    /// Accounts for the work since the last time. Returns the time that has passed, nanoseconds.
    pub fn advance(&mut self, now: Nanos) -> Nanos {
        let elapsed = now - std::mem::replace(&mut self.marked, now);
        let stalled = elapsed.min(self.stall);
        self.stall -= stalled;
        self.left = self.left.saturating_sub(((elapsed - stalled) as f64 * self.rate) as u64);
        elapsed
    }

    /// Its part is done; the next one has this length. Returns the work and the time of the part
    /// that is done; `None`: all is done.
    pub fn next_part(&mut self, now: Nanos, part: Nanos) -> Option<(Nanos, Nanos)> {
        if self.rest == 0 {
            self.left = 0;
            return None;
        }
        let part = part.min(self.rest);
        (self.left, self.rest) = (part, self.rest - part);
        let (work, began) = std::mem::replace(&mut self.part, (part, now));
        Some((work, now - began))
    }
}
