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
    /// The users of one channel, filled for each search of its factor.
    users: Vec<User>,
}

/// The threads of a class as users of one channel: all that a trial of its factor needs.
#[derive(Debug, Clone, Copy)]
struct User {
    /// Transactions per microsecond of work, of one thread.
    per_us: f64,
    threads: f64,
    /// Time that one thread is stalled alone, over the time that it computes.
    stall: f64,
    /// The largest factor of its other channels.
    elsewhere: f64,
}

impl User {
    /// The flow of all its threads with this factor, transactions per microsecond.
    fn flow(&self, factor: f64) -> f64 {
        self.per_us * (1.0 / (1.0 + self.stall * self.elsewhere.max(factor))) * self.threads
    }
}

impl Stretch {
    /// A solver for the channels of a field.
    pub fn new(field: &Field) -> Self {
        let channels = field.channel_count();
        let live = Vec::with_capacity(field.classes_max());
        let users = Vec::with_capacity(field.classes_max());
        Self { stale: false, factor: vec![1.0; channels], used: vec![0.0; channels], live, users }
    }

    fn rate(&self, pace: &Pace) -> f64 {
        let slowest = pace.demands().map(|(channel, _)| self.factor[channel]).fold(1.0, f64::max);
        1.0 / (1.0 + stall(pace) * slowest)
    }

    /// Collects the users of a channel.
    fn survey(&mut self, field: &Field, channel: usize) {
        self.users.clear();
        for class in field.users(channel) {
            let pace = field.pace(class);
            let (mut per_us, mut elsewhere) = (0.0, 1.0_f64);
            for (other, flow) in pace.demands() {
                if other == channel {
                    per_us = f64::from(flow);
                } else {
                    elsewhere = elsewhere.max(self.factor[other]);
                }
            }
            let threads = f64::from(field.threads(class));
            self.users.push(User { per_us, threads, stall: stall(pace), elsewhere });
        }
    }

    /// The flow of the surveyed channel with a factor, transactions per microsecond.
    fn carries(&self, factor: f64) -> f64 {
        self.users.iter().map(|user| user.flow(factor)).sum()
    }

    /// The least factor with which the demands on a channel fit into it.
    fn fit(&mut self, field: &Field, channel: usize) -> f64 {
        if !field.is_short(channel) {
            return 1.0;
        }
        self.survey(field, channel);
        let capacity = field.capacity(channel);
        if self.carries(1.0) <= capacity {
            return 1.0;
        }
        let mut high = 2.0;
        while self.carries(high) > capacity && high < 1e12 {
            high *= 2.0;
        }
        let mut low = high / 2.0;
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.carries(middle) > capacity { low = middle } else { high = middle }
        }
        high
    }
}

/// Time that a thread is stalled alone, over the time that it computes.
fn stall(pace: &Pace) -> f64 {
    1.0 / pace.rate_alone() - 1.0
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
