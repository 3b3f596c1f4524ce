//! The random draws of an application: one stream for each (phase, iteration, thread), so that no
//! draw depends on the order in which threads run.

use crate::Nanos;
use crate::dist::Dist;
use crate::program::Work;
use crate::random::{Purpose, Stream};
use crate::speedup::Curve;

/// The source of one application's draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct Draws(u64);

/// The entity that draws for the team as a whole.
const TEAM: u64 = (1 << 20) - 1;
/// The entity that draws critical sections, beside each thread's own.
const LOCKED: u64 = 1 << 19;

impl Draws {
    /// The draws of a job under a run's seed: the same under every policy.
    pub fn new(seed: u64, job: u64) -> Self {
        Self(Stream::new(seed, Purpose::Program, job).draw())
    }

    fn stream(self, phase: u64, iteration: u32, entity: u64) -> Stream {
        Stream::new(
            self.0 ^ phase.wrapping_mul(0x9E6C_63D0_876A_3F6B),
            Purpose::Program,
            u64::from(iteration) << 20 | entity,
        )
    }

    /// A value that the phase draws once.
    pub fn once(self, phase: u64, dist: &Dist) -> u64 {
        dist.draw_whole(&mut self.stream(phase, 0, TEAM))
    }

    /// A value that a numbered task draws.
    pub fn task(self, phase: u64, task: u32, dist: &Dist) -> u64 {
        dist.draw_whole(&mut self.stream(phase, task, 0))
    }

    /// The total of divided work in one iteration, nanoseconds in all; 0 where each thread has work
    /// of its own.
    pub fn total(self, phase: u64, iteration: u32, work: &Work) -> f64 {
        match work {
            Work::Divided(Dist::Constant(total), _) => *total,
            Work::Divided(total, _) => total.draw(&mut self.stream(phase, iteration, TEAM)).max(0.0),
            Work::Each(_) => 0.0,
        }
    }

    /// One thread's part of one iteration, for a team of `size`, nanoseconds.
    pub fn part(self, phase: u64, iteration: u32, thread: u32, work: &Work, share: Share) -> Nanos {
        let own = match work {
            Work::Divided(_, cv) if *cv <= 0.0 => share.each,
            Work::Divided(_, cv) => {
                share.each * Dist::MeanCv(1.0, *cv).draw(&mut self.stream(phase, iteration, u64::from(thread)))
            }
            Work::Each(own) => own.draw(&mut self.stream(phase, iteration, u64::from(thread))).max(0.0),
        };
        libm::round(own * share.stretch) as Nanos
    }

    /// One thread's critical section in one iteration, nanoseconds.
    pub fn locked(self, phase: u64, iteration: u32, thread: u32, dist: &Dist) -> Nanos {
        dist.draw_whole(&mut self.stream(phase, iteration, LOCKED | u64::from(thread)))
    }
}

/// The common part of every thread of a team in one iteration.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// An even part of divided work, nanoseconds.
    pub each: f64,
    /// n / S(n).
    pub stretch: f64,
}

impl Share {
    /// The share of a team of `size`.
    pub fn new(total: f64, size: u32, curve: Option<&Curve>) -> Self {
        let n = f64::from(size);
        let stretch = curve.map_or(1.0, |curve| n / curve.speedup(size).max(f64::MIN_POSITIVE));
        Self { each: total / n, stretch }
    }
}
