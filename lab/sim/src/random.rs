//! Random numbers: one stream for each purpose and entity, so that changing one thing changes no
//! other draw (common random numbers).
//!
//! Source: `SplitMix64` (Steele, Lea, Flood 2014), as in the policies' own streams. Logarithms come
//! from `libm`, so that every machine draws the same numbers.

use numaestro_policy::Random;

/// The purpose of a stream. The numbers are part of the seeds' meaning: never change them, only
/// add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The policy's own choices.
    Policy = 1,
    /// The times at which applications arrive, and the program of each.
    Arrivals = 2,
    /// The behaviour of one application; entity = its number in the workload.
    Program = 3,
    /// The choices of the operating system's scheduler.
    System = 4,
    /// Faults of a chaos run.
    Faults = 5,
    /// Generators of workload models.
    Generator = 6,
    /// Resampling in statistics.
    Statistics = 7,
    /// Errors of the measurements of programs and counters.
    Measuring = 8,
}

/// A stream of random numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream(Random);

impl Stream {
    /// The stream of a run's seed, a purpose and an entity.
    pub fn new(seed: u64, purpose: Purpose, entity: u64) -> Self {
        let mut mixer = Random::new(seed);
        let first = mixer.draw() ^ (purpose as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mut mixer = Random::new(first);
        Self(Random::new(mixer.draw() ^ entity.wrapping_mul(0xA076_1D64_78BD_642F)))
    }

    /// Uniform over all of `u64`.
    pub fn draw(&mut self) -> u64 {
        self.0.draw()
    }

    /// Uniform below `bound`, which is above 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0.below(bound)
    }

    /// Uniform in (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.0.draw() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// Standard normal (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * libm::sqrt(-2.0 * libm::log(s) / s);
            }
        }
    }
}
