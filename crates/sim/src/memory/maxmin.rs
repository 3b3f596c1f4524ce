//! Max-min fair shares: on each channel that is too small, everybody gets as much as everybody else, or all it wants.
//!
//! **Source**: progressive filling (Bertsekas and Gallager 1992, §6.5.2) on each channel; over several channels the equilibrium is
//! "bottleneck max fairness" (Bonald and Roberts 2015, "Multi-Resource Fairness: Objectives, Algorithms and Performance"): each thread is held
//! by its own demand, or has the largest share of some full channel. That is also the limit of queueing networks far above saturation.
//!
//! **Algorithm**: each channel has a level, the most transactions per microsecond that one thread gets there (infinite while the
//! channel is large enough). A thread's rate is the least of its rate alone and, for its channels, level / its transactions per microsecond
//! of work. When something moves on a channel that is too small:
//! 1. fill that channel: raise the level until what its users take (less where other channels hold them) is its capacity;
//! 2. round the level down to 8 bits (a share of 2^-8), so that small changes end here;
//! 3. if it is another than before, fill the other full channels of its users again;
//! 4. until no level changes. After [`SWEEPS_MAX`] rounds levels are only lowered, which ends at once and keeps every channel within
//!    its capacity.
//!
//! As long as all channels are large enough before and after, nothing is computed at all.

use super::field::Field;
use super::solver::Solver;
use numaestro_topology::PuId;

/// Rounds after which levels are only lowered. Levels of coupled channels settle in three or four.
const SWEEPS_MAX: usize = 16;

/// Bits of a level's mantissa that are kept.
const LEVEL_BITS: u32 = 8;

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
    /// What users of one channel would take.
    wants: Vec<f64>,
    /// PUs that are already in the answer.
    answered: Vec<bool>,
}

impl MaxMin {
    /// For the channels of a field.
    pub fn new(field: &Field) -> Self {
        let channels = field.channel_count();
        Self {
            level: vec![f64::INFINITY; channels],
            stale: vec![false; channels],
            any_stale: false,
            moved: vec![false; channels],
            wants: Vec::with_capacity(field.pu_count()),
            answered: vec![false; field.pu_count()],
        }
    }

    /// The rate of what runs on `pu`, held by all channels but one.
    fn rate_but(&self, field: &Field, pu: PuId, but: usize) -> f64 {
        let pace = field.pace(pu);
        let mut rate = pace.rate_alone();
        for (channel, per_us) in pace.demands() {
            let level = self.level[channel];
            if channel != but && level < rate * f64::from(per_us) {
                rate = level / f64::from(per_us);
            }
        }
        rate
    }

    /// The level at which a channel is exactly full; infinite if it cannot be.
    fn fill(&mut self, field: &Field, channel: usize) -> f64 {
        let capacity = field.capacity(channel);
        let mut wants = std::mem::take(&mut self.wants);
        wants.clear();
        if field.is_short(channel) {
            wants.extend(field.users(channel).map(|pu| {
                let (_, per_us) = field.pace(pu).demands().find(|&(of, _)| of == channel).expect("it is a user");
                f64::from(per_us) * self.rate_but(field, pu, channel)
            }));
        }
        let level = level_of(&mut wants, capacity);
        self.wants = wants;
        level
    }

    fn set(&mut self, field: &Field, channel: usize, level: f64) {
        if level.to_bits() == self.level[channel].to_bits() {
            return;
        }
        self.level[channel] = level;
        self.moved[channel] = true;
        for pu in field.users(channel) {
            for (other, _) in field.pace(pu).demands() {
                if other != channel && (field.is_short(other) || self.level[other].is_finite()) {
                    self.stale[other] = true;
                    self.any_stale = true;
                }
            }
        }
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
    fn moved(&mut self, field: &Field, pu: PuId) {
        for (channel, _) in field.pace(pu).demands() {
            if field.is_short(channel) || self.level[channel].is_finite() {
                self.stale[channel] = true;
                self.any_stale = true;
            }
        }
    }

    fn guess(&self, field: &Field, pu: PuId) -> f64 {
        self.rate_but(field, pu, usize::MAX)
    }

    fn is_stale(&self) -> bool {
        self.any_stale
    }

    fn solve(&mut self, field: &Field, found: &mut Vec<(PuId, f64)>) {
        self.settle(field);
        for channel in 0..self.level.len() {
            if !std::mem::take(&mut self.moved[channel]) {
                continue;
            }
            for pu in field.users(channel) {
                if !std::mem::replace(&mut self.answered[pu.index()], true) {
                    found.push((pu, self.rate_but(field, pu, usize::MAX)));
                }
            }
        }
        for &(pu, _) in &*found {
            self.answered[pu.index()] = false;
        }
    }

    fn wait_us(&self, _: &Field, channels: &[u16], alone_us: f64) -> f64 {
        let level = channels.iter().map(|&channel| self.level[usize::from(channel)]).fold(f64::INFINITY, f64::min);
        (1.0 / level - alone_us).max(0.0)
    }
}

/// The level at which what these take is `capacity`, if they take the level or, where that is less, what they want.
fn level_of(wants: &mut Vec<f64>, capacity: f64) -> f64 {
    if wants.iter().sum::<f64>() <= capacity {
        return f64::INFINITY;
    }
    let mut left = capacity;
    loop {
        let level = left / wants.len() as f64;
        let before = wants.len();
        wants.retain(|&want| {
            if want <= level {
                left -= want;
            }
            want > level
        });
        if wants.len() == before || wants.is_empty() {
            return level;
        }
    }
}

/// Rounded down to [`LEVEL_BITS`] bits.
fn rounded(level: f64) -> f64 {
    f64::from_bits(level.to_bits() & !((1 << (52 - LEVEL_BITS)) - 1))
}
