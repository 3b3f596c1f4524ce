//! An application that is only a speedup curve: work W is done at rate S(n) on n processors, dW/dt
//! = S(n(t)) (logs, allocation studies). It may be divided into stretches: between parallel ones it
//! works on one processor, or waits.

use crate::Nanos;
use crate::program::Stretch;
use numaestro_topology::PuSet;

/// The kind of a stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StretchKind {
    /// It works at the rate of its curve.
    #[default]
    Parallel,
    /// It works on one processor.
    Serial,
    /// It waits, and needs no processor.
    Pause,
}

impl From<&Stretch> for StretchKind {
    fn from(stretch: &Stretch) -> Self {
        match stretch {
            Stretch::Parallel(_) => Self::Parallel,
            Stretch::Serial(_) => Self::Serial,
            Stretch::Pause(_) => Self::Pause,
        }
    }
}

/// The progress of such an application.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Stretches that it has begun.
    begun: u64,
    kind: StretchKind,
    /// Left of the present stretch at `marked`, nanoseconds: of a parallel one on one processor.
    left: Nanos,
    /// Parallel work left in all at `marked`, nanoseconds on one processor.
    work_left: Nanos,
    /// Parallel work after which it measures itself, nanoseconds on one processor.
    part: Nanos,
    /// Left of the present part at `marked`.
    part_left: Nanos,
    /// Time in the present part, nanoseconds.
    part_took: Nanos,
    /// Nanoseconds that a change of processors still costs.
    stall: Nanos,
    /// Everything before this time is accounted for, nanoseconds.
    marked: Nanos,
    /// Work per elapsed nanosecond.
    rate: f64,
    /// Processors it had last.
    size: u32,
    /// Processors of which it takes time.
    on: PuSet,
}

impl Curve {
    /// It begins now, on so many processors, and measures itself after each `part` of its parallel
    /// `work` but the last one, nanoseconds on one processor. It has no stretch yet.
    pub fn begin(&mut self, now: Nanos, (part, work): (Nanos, Nanos), size: u32) {
        *self = Self { work_left: work, part, part_left: part, marked: now, size, ..Self::default() };
    }

    /// Its next stretch begins, of so many nanoseconds.
    pub fn stretch(&mut self, kind: StretchKind, length: Nanos) {
        (self.begun, self.kind, self.left) = (self.begun + 1, kind, length);
    }

    /// Stretches that it has begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The kind of its present stretch.
    pub fn kind(&self) -> StretchKind {
        self.kind
    }

    /// Processors of which it takes time.
    pub fn on(&self) -> &PuSet {
        &self.on
    }

    /// It takes time of these processors from now on. Returns those before.
    pub fn move_to(&mut self, pus: PuSet) -> PuSet {
        std::mem::replace(&mut self.on, pus)
    }

    /// It has other processors. If their number is another one, that costs it `cost` nanoseconds.
    pub fn resize(&mut self, size: u32, cost: Nanos) {
        if size > 0 && self.size != size {
            self.size = size;
            self.stall(cost);
        }
    }

    /// It makes no progress for so many nanoseconds. Time of a pause goes on.
    pub fn stall(&mut self, cost: Nanos) {
        if self.kind != StretchKind::Pause {
            self.stall += cost;
        }
    }

    /// It works at this rate from now on. Returns the time at which its stretch or its part is
    /// done.
    pub fn set_rate(&mut self, rate: f64) -> Nanos {
        self.rate = rate;
        let begins = self.marked.saturating_add(self.stall);
        let left = self.due();
        if left == 0 {
            begins
        } else if self.rate > 0.0 {
            begins.saturating_add(libm::ceil(left as f64 / self.rate) as u64)
        } else {
            Nanos::MAX
        }
    }

    /// Left until its stretch or its part is done.
    fn due(&self) -> Nanos {
        if self.kind == StretchKind::Parallel { self.left.min(self.part_left) } else { self.left }
    }

    /// Accounts for the work since the last time. Returns the time that has passed, nanoseconds.
    pub fn advance(&mut self, now: Nanos) -> Nanos {
        let elapsed = now - std::mem::replace(&mut self.marked, now);
        let stalled = elapsed.min(self.stall);
        self.stall -= stalled;
        self.done(((elapsed - stalled) as f64 * self.rate) as u64);
        if self.kind == StretchKind::Parallel {
            self.part_took += elapsed;
        }
        elapsed
    }

    fn done(&mut self, work: Nanos) {
        let work = work.min(self.due());
        self.left -= work;
        if self.kind == StretchKind::Parallel {
            self.part_left -= work;
            self.work_left = self.work_left.saturating_sub(work);
        }
    }

    /// Its stretch or its part is done. Returns the work and the time of the part, if that is done
    /// and another one follows. What the rate has rounded off is done too.
    pub fn ends(&mut self) -> Option<(Nanos, Nanos)> {
        self.done(self.due());
        (self.part_left == 0 && self.work_left > 0).then(|| {
            self.part_left = self.part;
            (self.part, std::mem::take(&mut self.part_took))
        })
    }

    /// Whether its stretch is done.
    pub fn stretch_is_done(&self) -> bool {
        self.left == 0
    }
}
