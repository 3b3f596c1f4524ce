//! Queueing: mean waiting times at each channel, as in a closed network of queues with one customer for each thread.
//!
//! **Source**: Schweitzer 1979 and Bard 1979; Lazowska et al. 1984, "Quantitative System Performance", §7.4. A thread's think time is its
//! work and what its references take besides the channels; a channel is a queue with service time 1 / capacity.
//!
//! **Algorithm**: threads of equal pace are one class. With `v` transactions of a class per microsecond of work on a channel of service
//! time `S`, and `q` the mean number that one of its threads has there,
//! * R = S (1 + Σ q of all threads − q), the residence time that an arriving transaction finds (its own thread is not in its way),
//! * time for a microsecond of work = 1 / rate alone + Σ v (R − S), X = its inverse,
//! * q = X v R,
//!
//! until no X and no queue changes by more than [`CLOSE`]. It begins with the queues of the last answer. A converged answer never uses more than the
//! capacity; one that is not yet there is scaled down.

use super::field::Field;
use super::pace::Pace;
use super::solver::Solver;
use numaestro_topology::PuId;

/// Relative change of rates and queues at which they have converged.
const CLOSE: f64 = 1e-6;
/// Iterations after which the answer is taken as it is.
const ITERATIONS_MAX: usize = 1000;

#[derive(Debug)]
struct Class {
    /// One of its threads.
    model: PuId,
    threads: u32,
    rate: f64,
    /// Into `Amva::stays`.
    from: usize,
}

/// What one thread of a class does on one channel.
#[derive(Debug, Clone, Copy)]
struct Stay {
    channel: usize,
    per_us: f64,
    /// Mean number there.
    queue: f64,
}

/// See the module.
#[derive(Debug)]
pub struct Amva {
    stale: bool,
    service_us: Vec<f64>,
    /// Mean number of transactions at each channel.
    queue: Vec<f64>,
    used: Vec<f64>,
    classes: Vec<Class>,
    stays: Vec<Stay>,
    /// Class of each PU that runs something.
    class_of: Vec<u32>,
}

impl Amva {
    /// For the channels of a field.
    pub fn new(field: &Field) -> Self {
        let channels = field.channel_count();
        Self {
            stale: false,
            service_us: (0..channels).map(|channel| 1.0 / field.capacity(channel)).collect(),
            queue: vec![0.0; channels],
            used: vec![0.0; channels],
            classes: Vec::with_capacity(field.pu_count()),
            stays: Vec::new(),
            class_of: vec![0; field.pu_count()],
        }
    }

    fn classify(&mut self, field: &Field) {
        self.classes.clear();
        self.stays.clear();
        for pu in field.runners().filter(|&pu| !field.pace(pu).is_empty()) {
            let pace = field.pace(pu);
            let known = self.classes.iter().position(|class| is_same(field.pace(class.model), pace));
            let class = known.unwrap_or_else(|| {
                self.classes.push(Class { model: pu, threads: 0, rate: field.told(pu), from: self.stays.len() });
                let stay = |(channel, per_us): (usize, f32)| {
                    let per_us = f64::from(per_us);
                    Stay { channel, per_us, queue: field.told(pu) * per_us * self.service_us[channel] }
                };
                self.stays.extend(pace.demands().map(stay));
                self.classes.len() - 1
            });
            self.classes[class].threads += 1;
            self.class_of[pu.index()] = class as u32;
        }
    }

    /// One step for all classes; gives the largest relative change of a rate or a queue.
    fn iterate(&mut self, field: &Field) -> f64 {
        let mut change: f64 = 0.0;
        self.used.fill(0.0);
        for class in &mut self.classes {
            let pace = field.pace(class.model);
            let stays = &mut self.stays[class.from..class.from + pace.len()];
            let mut time = 1.0 / pace.rate_alone();
            for stay in &*stays {
                time += stay.per_us * self.service_us[stay.channel] * (self.queue[stay.channel] - stay.queue).max(0.0);
            }
            let rate = 1.0 / time;
            change = change.max((rate - class.rate).abs() / class.rate);
            class.rate = rate;
            for stay in stays {
                let others = (self.queue[stay.channel] - stay.queue).max(0.0);
                stay.queue = rate * stay.per_us * self.service_us[stay.channel] * (1.0 + others);
                self.used[stay.channel] += f64::from(class.threads) * stay.queue;
            }
        }
        // Rates alone could stand still for one step while queues are still those of the last answer.
        for (new, old) in self.used.iter().zip(&self.queue) {
            change = change.max((new - old).abs() / (1.0 + old));
        }
        std::mem::swap(&mut self.queue, &mut self.used);
        change
    }

    /// Keeps every channel within its capacity.
    fn bound(&mut self, field: &Field) {
        self.used.fill(0.0);
        for class in &self.classes {
            for (channel, per_us) in field.pace(class.model).demands() {
                self.used[channel] +=
                    f64::from(class.threads) * class.rate * f64::from(per_us) * self.service_us[channel];
            }
        }
        for class in &mut self.classes {
            let most = field.pace(class.model).demands().map(|(channel, _)| self.used[channel]).fold(1.0, f64::max);
            class.rate /= most;
        }
    }
}

impl Solver for Amva {
    fn moved(&mut self, _: &Field, _: PuId) {
        self.stale = true;
    }

    fn guess(&self, field: &Field, pu: PuId) -> f64 {
        let pace = field.pace(pu);
        let waits: f64 = pace
            .demands()
            .map(|(channel, per_us)| f64::from(per_us) * self.service_us[channel] * self.queue[channel])
            .sum();
        1.0 / (1.0 / pace.rate_alone() + waits)
    }

    fn is_stale(&self) -> bool {
        self.stale
    }

    fn solve(&mut self, field: &Field, found: &mut Vec<(PuId, f64)>) {
        self.stale = false;
        self.classify(field);
        for _ in 0..ITERATIONS_MAX {
            if self.iterate(field) < CLOSE {
                break;
            }
        }
        self.bound(field);
        for pu in field.runners().filter(|&pu| !field.pace(pu).is_empty()) {
            found.push((pu, self.classes[self.class_of[pu.index()] as usize].rate));
        }
    }

    fn wait_us(&self, _: &Field, channels: &[u16], _: f64) -> f64 {
        channels.iter().map(|&channel| self.service_us[usize::from(channel)] * self.queue[usize::from(channel)]).sum()
    }
}

fn is_same(a: &Pace, b: &Pace) -> bool {
    a.rate_alone().to_bits() == b.rate_alone().to_bits() && a.len() == b.len() && a.demands().eq(b.demands())
}
