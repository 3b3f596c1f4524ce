//! One queue for everybody: while a channel has too little, every reference over it takes longer by
//! the same factor.
//!
//! **Source**: the front-side bus of Antonopoulos et al. 2004, §3: all threads on it suffer, and a
//! thread that uses it little suffers in proportion to its use. The authors print no model; this is
//! the simplest one with that behaviour, and the bus carries no more than it can.
//!
//! **Algorithm**: a thread computes for 1 and is stalled for `m` of its time alone; with the factor
//! `s` of its slowest channel a microsecond of its work takes `1 + m·s` instead of `1 + m`. The
//! factor of a channel is the least, not below 1, with which the transactions of its users fit into
//! it. Channels are done in turn, each by halving an interval, until no factor changes by more than
//! [`CLOSE`].

use super::field::Field;
use super::pace::Pace;
use super::solver::Solver;

/// Relative change of a factor at which it has converged.
const CLOSE: f64 = 1e-6;
/// Rounds over all channels after which the answer is taken as it is, and scaled to fit.
const ROUNDS_MAX: usize = 32;
/// Halvings of an interval: more than the bits of a rate that matter.
const HALVINGS: usize = 48;

/// See the module.
#[derive(Debug)]
pub struct Stretch {
    stale: bool,
    /// Factor by channel.
    factor: Vec<f64>,
    used: Vec<f64>,
    live: Vec<u32>,
}

impl Stretch {
    /// A solver for the channels of a field.
    pub fn new(field: &Field) -> Self {
        let channels = field.channel_count();
        let live = Vec::with_capacity(field.classes_max());
        Self { stale: false, factor: vec![1.0; channels], used: vec![0.0; channels], live }
    }

    /// The rate of a thread if one channel had another factor.
    fn rate_with(&self, pace: &Pace, channel: usize, factor: f64) -> f64 {
        let of = |(other, _): (usize, f32)| if other == channel { factor } else { self.factor[other] };
        let slowest = pace.demands().map(of).fold(1.0, f64::max);
        let stall = 1.0 / pace.rate_alone() - 1.0;
        1.0 / (1.0 + stall * slowest)
    }

    fn rate(&self, pace: &Pace) -> f64 {
        self.rate_with(pace, usize::MAX, 1.0)
    }

    /// The flow of a channel with a factor, transactions per microsecond.
    fn carries(&self, field: &Field, channel: usize, factor: f64) -> f64 {
        let of = |class: usize| {
            let pace = field.pace(class);
            let there =
                pace.demands().find(|&(other, _)| other == channel).map_or(0.0, |(_, per_us)| f64::from(per_us));
            there * self.rate_with(pace, channel, factor) * f64::from(field.threads(class))
        };
        field.users(channel).map(of).sum()
    }

    /// The least factor with which the demands on a channel fit into it.
    fn fit(&self, field: &Field, channel: usize) -> f64 {
        let capacity = field.capacity(channel);
        if !field.is_short(channel) || self.carries(field, channel, 1.0) <= capacity {
            return 1.0;
        }
        let mut high = 2.0;
        while self.carries(field, channel, high) > capacity && high < 1e12 {
            high *= 2.0;
        }
        let mut low = high / 2.0;
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.carries(field, channel, middle) > capacity { low = middle } else { high = middle }
        }
        high
    }
}

impl Solver for Stretch {
    fn moved(&mut self, field: &Field, class: usize) {
        let held = |(channel, _): (usize, f32)| field.is_short(channel) || self.factor[channel] > 1.0;
        self.stale |= field.pace(class).demands().any(held);
    }

    fn guess(&mut self, field: &Field, class: usize) -> f64 {
        self.rate(field.pace(class))
    }

    fn is_stale(&self) -> bool {
        self.stale
    }

    fn solve(&mut self, field: &Field, found: &mut Vec<(usize, f64)>) {
        self.stale = false;
        for _ in 0..ROUNDS_MAX {
            let mut change: f64 = 0.0;
            for channel in 0..self.factor.len() {
                let factor = self.fit(field, channel);
                let before = std::mem::replace(&mut self.factor[channel], factor);
                change = change.max((factor / before - 1.0).abs());
            }
            if change < CLOSE {
                break;
            }
        }
        self.live.clear();
        self.live.extend((0..field.classes_max() as u32).filter(|&class| field.threads(class as usize) > 0));
        self.used.fill(0.0);
        for class in self.live.iter().map(|&class| class as usize) {
            let rate = self.rate(field.pace(class)) * f64::from(field.threads(class));
            for (channel, per_us) in field.pace(class).demands() {
                self.used[channel] += rate * f64::from(per_us) / field.capacity(channel);
            }
        }
        for class in self.live.iter().map(|&class| class as usize) {
            let pace = field.pace(class);
            let most = pace.demands().map(|(channel, _)| self.used[channel]).fold(1.0, f64::max);
            found.push((class, self.rate(pace) / most));
        }
    }

    fn wait_us(&self, channels: &[u16], alone: f64) -> f64 {
        let slowest = channels.iter().map(|&channel| self.factor[usize::from(channel)]).fold(1.0, f64::max);
        alone * (slowest - 1.0)
    }
}
