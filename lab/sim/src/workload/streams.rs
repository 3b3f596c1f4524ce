//! Closed workloads: lists of programs that run one after the other, several lists side by side.
//!
//! Source: Brecht 1997 (§4: every stream runs the same programs in an order of its own, a small
//! random gap between two of them).

use super::arrival::{Arrival, Source};
use crate::Nanos;
use crate::dist::Dist;
use crate::program::Program;
use crate::random::{Purpose, Stream};
use std::sync::Arc;

/// The order in which each stream runs its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As given.
    Given,
    /// As given, but stream `i` begins with the `i`-th program.
    Rotated,
    /// Shuffled by the seed, for each stream in another way where there are enough ways.
    Shuffled,
}

/// One stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPlan {
    /// Its programs, at least one.
    pub programs: Vec<Arc<Program>>,
    /// Number of runs of the whole list; `None` = until the run ends.
    pub repetitions: Option<u32>,
    /// Nanoseconds from the start of the run to its first arrival.
    pub start: Dist,
    /// Nanoseconds from the end of an application to the arrival of the next.
    pub gap: Dist,
}

/// Several streams.
#[derive(Debug, Clone)]
pub struct Streams {
    streams: Vec<State>,
    /// Streams that have not begun, the last one first.
    first: Vec<(Nanos, u32)>,
}

#[derive(Debug, Clone)]
struct State {
    plan: StreamPlan,
    random: Stream,
    /// Arrivals so far.
    done: u64,
}

/// Entities of the arrival streams above this are shuffles, below it gaps.
const SHUFFLES: u64 = 1 << 32;
/// Shuffles tried until one differs from the ones of the streams before.
const SHUFFLES_TRIED: u32 = 64;

impl Streams {
    /// Streams as planned.
    ///
    /// # Panics
    /// If a stream has no programs.
    pub fn new(mut plans: Vec<StreamPlan>, order: Order, seed: u64) -> Self {
        arrange(&mut plans, order, seed);
        let mut streams = Vec::with_capacity(plans.len());
        let mut first = Vec::with_capacity(plans.len());
        for (number, plan) in (0u32..).zip(plans) {
            assert!(!plan.programs.is_empty(), "a stream without programs");
            let mut random = Stream::new(seed, Purpose::Arrivals, u64::from(number));
            first.push((plan.start.draw_whole(&mut random), number));
            streams.push(State { plan, random, done: 0 });
        }
        first.sort_unstable_by(|a, b| b.cmp(a));
        Self { streams, first }
    }

    fn arrival(&mut self, stream: u32, at: Nanos) -> Option<Arrival> {
        let count = self.streams.len() as u64;
        let state = self.streams.get_mut(stream as usize)?;
        let length = state.plan.programs.len() as u64;
        if state.plan.repetitions.is_some_and(|repetitions| state.done >= u64::from(repetitions) * length) {
            return None;
        }
        let program = state.plan.programs[(state.done % length) as usize].clone();
        // The number must not depend on which stream is faster, because the policy influences that.
        let job = state.done * count + u64::from(stream);
        state.done += 1;
        Some(Arrival { at, job, stream, program, estimate_ns: None, until: None })
    }
}

impl Source for Streams {
    fn next(&mut self) -> Option<Arrival> {
        while let Some((at, stream)) = self.first.pop() {
            if let Some(arrival) = self.arrival(stream, at) {
                return Some(arrival);
            }
        }
        None
    }

    fn ended(&mut self, stream: u32, now: Nanos) -> Option<Arrival> {
        let state = self.streams.get_mut(stream as usize)?;
        let gap = state.plan.gap.draw_whole(&mut state.random);
        self.arrival(stream, now.saturating_add(gap))
    }

    fn total(&self) -> Option<u64> {
        let of = |state: &State| Some(u64::from(state.plan.repetitions?) * state.plan.programs.len() as u64);
        self.streams.iter().map(of).sum()
    }
}

fn arrange(plans: &mut [StreamPlan], order: Order, seed: u64) {
    for number in 0..plans.len() {
        let (before, rest) = plans.split_at_mut(number);
        let programs = &mut rest[0].programs;
        match order {
            Order::Given => {}
            Order::Rotated if programs.is_empty() => {}
            Order::Rotated => {
                let by = number % programs.len();
                programs.rotate_left(by);
            }
            Order::Shuffled => {
                let mut random = Stream::new(seed, Purpose::Arrivals, SHUFFLES + number as u64);
                for _ in 0..SHUFFLES_TRIED {
                    shuffle(programs, &mut random);
                    if before.iter().all(|other| other.programs != *programs) {
                        break;
                    }
                }
            }
        }
    }
}

/// Shuffles by the method of Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut Stream) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u32 + 1) as usize);
    }
}
