//! Max-min fair shares: on each channel that is too small, every thread gets an equal share, or all
//! it wants if that is less.
//!
//! **Source**: progressive filling (Bertsekas and Gallager 1992, §6.5.2) on each channel; over
//! several channels the equilibrium is "bottleneck max fairness" (Bonald and Roberts 2015,
//! "Multi-Resource Fairness: Objectives, Algorithms and Performance"): each thread is held by its
//! own demand, or has the largest share of some full channel. That is also the limit of queueing
//! networks far above saturation.
//!
//! **Algorithm**: each channel has a level, the most transactions per microsecond that one thread
//! gets there (infinite while the channel is large enough). A thread's rate is the least of its
//! rate alone and, for its channels, level / its transactions per microsecond of work. When a
//! thread starts or stops on a channel that is too small:
//! 1. fill that channel: raise the level until the sum that its users take (less where other
//!    channels hold them) is its capacity;
//! 2. round the level down to 8 bits (a share of 2^-8), so that small changes end here;
//! 3. if it is another than before, fill the other full channels of its users again;
//! 4. until no level changes. After [`SWEEPS_MAX`] rounds levels are only lowered, which ends at
//!    once and keeps every channel within its capacity.
//!
//! As long as all channels are large enough before and after, nothing is computed at all.

use super::field::Field;
use super::pace::Pace;
use super::solver::Solver;

/// Rounds after which levels are only lowered. Levels of coupled channels settle in three or four.
const SWEEPS_MAX: usize = 16;

/// Bits of a level's mantissa that are kept.
const LEVEL_BITS: u32 = 8;

/// The limits of a class.
#[derive(Debug, Clone, Copy)]
struct Rests {
    /// Its rate.
    rate: f64,
    /// The channel that limits the class; none if its own demand does.
    by: usize,
    /// Its rate without that channel.
    without: f64,
}

/// See the module.
#[derive(Debug)]
pub struct MaxMin {
    /// Transactions per microsecond of one thread, by channel.
    level: Vec<f64>,
    /// Channels to fill.
    stale: Vec<bool>,
    any_stale: bool,
    /// Channels whose level is another than in the last answer.
    moved: Vec<bool>,
    /// Demand of one thread of each class on a channel, and the number of its threads.
    wants: Vec<(f64, f64)>,
    /// Classes that are already in the answer.
    answered: Vec<bool>,
}

impl MaxMin {
    /// A solver for the channels of a field.
    pub fn new(field: &Field) -> Self {
        let channels = field.channel_count();
        Self {
            level: vec![f64::INFINITY; channels],
            stale: vec![false; channels],
            any_stale: false,
            moved: vec![false; channels],
            wants: Vec::with_capacity(field.classes_max()),
            answered: vec![false; field.classes_max()],
        }
    }

    /// The rate of a class at these levels.
    fn rate(&self, field: &Field, class: usize) -> f64 {
        self.rests(field.pace(class), usize::MAX).0.rate
    }

    /// The level at which a channel is exactly full; infinite if it cannot be.
    fn fill(&mut self, field: &Field, channel: usize) -> f64 {
        let capacity = field.capacity(channel);
        let mut wants = std::mem::take(&mut self.wants);
        wants.clear();
        if field.is_short(channel) {
            wants.extend(field.users(channel).map(|class| {
                let (rests, per_us) = self.rests(field.pace(class), channel);
                (per_us * rests.rate, f64::from(field.threads(class)))
            }));
        }
        let level = level_of(&mut wants, capacity);
        self.wants = wants;
        level
    }

    fn set(&mut self, field: &Field, channel: usize, level: f64) {
        let old = std::mem::replace(&mut self.level[channel], level);
        if level.to_bits() == old.to_bits() {
            return;
        }
        self.moved[channel] = true;
        for class in field.users(channel) {
            let pace = field.pace(class);
            let (rests, per_us) = self.rests(pace, channel);
            let (before, after) = (old / per_us, level / per_us);
            for (other, _) in pace.demands().filter(|&(other, _)| other != channel) {
                // The demand of the class there, if this channel limits it now or did.
                let rest = if other == rests.by { rests.without } else { rests.rate };
                let differs = rest.min(before).to_bits() != rest.min(after).to_bits();
                if differs && (field.is_short(other) || self.level[other].is_finite()) {
                    self.stale[other] = true;
                    self.any_stale = true;
                }
            }
        }
    }

    /// The limits of a class apart from one channel that it uses, and its transactions there.
    fn rests(&self, pace: &Pace, but: usize) -> (Rests, f64) {
        let alone = pace.rate_alone();
        let (mut rests, mut there) = (Rests { rate: alone, by: usize::MAX, without: alone }, 0.0);
        for (channel, per_us) in pace.demands() {
            let per_us = f64::from(per_us);
            let level = self.level[channel];
            if channel == but {
                there = per_us;
            } else if level < rests.rate * per_us {
                rests = Rests { rate: level / per_us, by: channel, without: rests.rate };
            } else if level < rests.without * per_us {
                rests.without = level / per_us;
            }
        }
        (rests, there)
    }

    fn settle(&mut self, field: &Field) {
        for _ in 0..SWEEPS_MAX {
            self.any_stale = false;
            for channel in 0..self.level.len() {
                if std::mem::take(&mut self.stale[channel]) {
                    let level = self.fill(field, channel);
                    self.set(field, channel, rounded(level));
                }
            }
            if !self.any_stale {
                return;
            }
        }
        for channel in 0..self.level.len() {
            if self.stale[channel] {
                let level = self.fill(field, channel).min(self.level[channel]);
                self.set(field, channel, rounded(level));
            }
        }
        self.stale.fill(false);
        self.any_stale = false;
    }
}

impl Solver for MaxMin {
    fn moved(&mut self, field: &Field, class: usize) {
        for (channel, _) in field.pace(class).demands() {
            if field.is_short(channel) || self.level[channel].is_finite() {
                self.stale[channel] = true;
                self.any_stale = true;
            }
        }
    }

    fn guess(&mut self, field: &Field, class: usize) -> f64 {
        self.rate(field, class)
    }

    fn is_stale(&self) -> bool {
        self.any_stale
    }

    fn solve(&mut self, field: &Field, found: &mut Vec<(usize, f64)>) {
        self.settle(field);
        for channel in 0..self.level.len() {
            if !std::mem::take(&mut self.moved[channel]) {
                continue;
            }
            for class in field.users(channel) {
                if !std::mem::replace(&mut self.answered[class], true) {
                    found.push((class, self.rate(field, class)));
                }
            }
        }
        for &(class, _) in &*found {
            self.answered[class] = false;
        }
    }

    fn wait_us(&self, channels: &[u16], alone: f64) -> f64 {
        let level = channels.iter().map(|&channel| self.level[usize::from(channel)]).fold(f64::INFINITY, f64::min);
        (1.0 / level - alone).max(0.0)
    }
}

/// The level at which these threads take `capacity`, if each takes the level or, where that is
/// less, its demand.
fn level_of(wants: &mut Vec<(f64, f64)>, capacity: f64) -> f64 {
    if wants.iter().map(|(want, threads)| want * threads).sum::<f64>() <= capacity {
        return f64::INFINITY;
    }
    let mut left = capacity;
    loop {
        let level = left / wants.iter().map(|(_, threads)| threads).sum::<f64>();
        let before = wants.len();
        wants.retain(|&(want, threads)| {
            if want <= level {
                left -= want * threads;
            }
            want > level
        });
        if wants.len() == before || wants.is_empty() {
            return level;
        }
    }
}

/// A level rounded down to [`LEVEL_BITS`] bits.
fn rounded(level: f64) -> f64 {
    f64::from_bits(level.to_bits() & !((1 << (52 - LEVEL_BITS)) - 1))
}
