//! Queueing: mean waiting times at each channel, as in a closed network of queues with one customer
//! for each thread.
//!
//! **Source**: Schweitzer 1979 and Bard 1979; Lazowska et al. 1984, "Quantitative System
//! Performance", §7.4. A thread's think time is its work and the time of its references outside the
//! channels; a channel is a queue with service time 1 / capacity.
//!
//! **Algorithm**: threads of equal pace are one class. With `v` transactions of a class per
//! microsecond of work on a channel of service time `S`, and `q` the mean number that one of its
//! threads has there,
//! * R = S (1 + Σ q of all threads − q), the residence time that an arriving transaction finds (its
//!   own thread is not in its way),
//! * time for a microsecond of work = 1 / rate alone + Σ v (R − S), X = its inverse,
//! * q = X v R,
//!
//! until no X and no queue changes by more than [`CLOSE`]. It begins with the queues of the last
//! answer. A converged answer never uses more than the capacity; one that is not yet there is
//! scaled down.

use super::field::Field;
use super::solver::Solver;
use crate::machine::CHANNELS_MAX;

/// Relative change of rates and queues at which they have converged.
const CLOSE: f64 = 1e-5;
/// Iterations after which the answer is taken as it is.
const ITERATIONS_MAX: usize = 1000;

/// See the module.
#[derive(Debug)]
pub struct Amva {
    stale: bool,
    service_us: Vec<f64>,
    /// By channel: the mean number of transactions there, and the number after the next step.
    queue: Vec<f64>,
    sum: Vec<f64>,
    /// Classes that run a thread, filled for each answer.
    live: Vec<u32>,
    /// By class: its rate, and the mean number that one of its threads has at each channel of its
    /// pace.
    rate: Vec<f64>,
    own: Vec<[f64; CHANNELS_MAX]>,
}

impl Amva {
    /// A solver for the channels of a field.
    pub fn new(field: &Field) -> Self {
        let channels = field.channel_count();
        Self {
            stale: false,
            service_us: (0..channels).map(|channel| 1.0 / field.capacity(channel)).collect(),
            queue: vec![0.0; channels],
            sum: vec![0.0; channels],
            live: Vec::with_capacity(field.classes_max()),
            rate: vec![1.0; field.classes_max()],
            own: vec![[0.0; CHANNELS_MAX]; field.classes_max()],
        }
    }

    /// Collects the present classes, and sums the queues from the last rates found for them.
    fn begin(&mut self, field: &Field) {
        self.live.clear();
        self.queue.fill(0.0);
        for class in (0..field.classes_max()).filter(|&class| field.threads(class) > 0) {
            self.live.push(class as u32);
            let threads = f64::from(field.threads(class));
            for ((channel, _), own) in field.pace(class).demands().zip(&self.own[class]) {
                self.queue[channel] += threads * own;
            }
        }
    }

    /// One step for all classes; returns the largest relative change of a rate or a queue.
    fn iterate(&mut self, field: &Field) -> f64 {
        let mut change: f64 = 0.0;
        self.sum.fill(0.0);
        for class in self.live.iter().map(|&class| class as usize) {
            let pace = field.pace(class);
            let threads = f64::from(field.threads(class));
            let own = &mut self.own[class];
            let mut time = 1.0 / pace.rate_alone();
            for ((channel, per_us), own) in pace.demands().zip(&*own) {
                time += f64::from(per_us) * self.service_us[channel] * (self.queue[channel] - own).max(0.0);
            }
            let rate = 1.0 / time;
            change = change.max((rate - self.rate[class]).abs() * time);
            self.rate[class] = rate;
            for ((channel, per_us), own) in pace.demands().zip(own) {
                let others = (self.queue[channel] - *own).max(0.0);
                *own = rate * f64::from(per_us) * self.service_us[channel] * (1.0 + others);
                self.sum[channel] += threads * *own;
            }
        }
        // Rates alone could stand still for one step while queues do not.
        for (new, old) in self.sum.iter().zip(&self.queue) {
            change = change.max((new - old).abs() / (1.0 + old));
        }
        std::mem::swap(&mut self.queue, &mut self.sum);
        change
    }

    /// Keeps every channel within its capacity, which an answer that has not converged may not do.
    fn bound(&mut self, field: &Field) {
        self.sum.fill(0.0);
        for class in self.live.iter().map(|&class| class as usize) {
            let rate = f64::from(field.threads(class)) * self.rate[class];
            for (channel, per_us) in field.pace(class).demands() {
                self.sum[channel] += rate * f64::from(per_us) * self.service_us[channel];
            }
        }
        for class in self.live.iter().map(|&class| class as usize) {
            let most = field.pace(class).demands().map(|(channel, _)| self.sum[channel]).fold(1.0, f64::max);
            self.rate[class] /= most;
        }
    }
}

impl Solver for Amva {
    fn moved(&mut self, _: &Field, _: usize) {
        self.stale = true;
    }

    fn guess(&mut self, field: &Field, class: usize) -> f64 {
        let pace = field.pace(class);
        let wait = |(channel, per_us): (usize, f32)| f64::from(per_us) * self.service_us[channel] * self.queue[channel];
        let rate = 1.0 / (1.0 / pace.rate_alone() + pace.demands().map(wait).sum::<f64>());
        self.rate[class] = rate;
        for ((channel, per_us), own) in pace.demands().zip(&mut self.own[class]) {
            *own = rate * f64::from(per_us) * self.service_us[channel] * (1.0 + self.queue[channel]);
        }
        rate
    }

    fn is_stale(&self) -> bool {
        self.stale
    }

    fn solve(&mut self, field: &Field, found: &mut Vec<(usize, f64)>) {
        self.stale = false;
        self.begin(field);
        for _ in 0..ITERATIONS_MAX {
            if self.iterate(field) < CLOSE {
                break;
            }
        }
        self.bound(field);
        found.extend(self.live.iter().map(|&class| (class as usize, self.rate[class as usize])));
    }

    fn wait_us(&self, channels: &[u16], _: f64) -> f64 {
        channels.iter().map(|&channel| self.service_us[usize::from(channel)] * self.queue[usize::from(channel)]).sum()
    }
}
