//! What hardware counters would say: how many transactions each thread has made per time on a processor since they were read last. Knows no policy.
//!
//! They are read at the end of every turn, just before the engine is asked who runs in the next. A thread that has run for less than [`LEAST_NS`] since
//! then keeps what it has until the next reading.

use super::World;
use super::processor::Stage;
use super::thread::State;
use crate::random::{Purpose, Stream};
use numaestro_engine::Event;
use numaestro_topology::PuId;

/// Time on a processor below which a rate would be mostly chance.
const LEAST_NS: i64 = 1_000_000;

impl World {
    /// Tells the engine what each bus carries at most, if it wants to know.
    pub(super) fn say_saturations(&mut self) {
        if self.engine.policy().needs().bandwidth {
            let buses = self.engine.settings().buses.iter();
            let said = (0..).zip(buses).map(|(bus, what)| Event::Saturation { bus, rate: what.saturation });
            self.events.extend(said);
        }
    }

    /// Reads the counters of all threads, if the policy wants to know.
    pub(super) fn say_rates(&mut self) {
        if !self.engine.policy().needs().bandwidth {
            return;
        }
        // In order of arrival.
        let apps: Vec<u32> = self.by_id.values().copied().collect();
        for app in apps {
            let team = std::mem::take(&mut self.apps[app as usize].team);
            let rates: Vec<Option<u32>> = team.iter().map(|&id| self.read_counters(id)).collect();
            let entry = &mut self.apps[app as usize];
            entry.team = team;
            if rates.iter().any(Option::is_some) {
                // Virtual processors beyond its present team would do as its threads do.
                let known = rates.iter().rev().find_map(|&rate| rate);
                let mut rates = rates;
                if rates.len() < entry.program.processors as usize {
                    rates.push(known);
                }
                self.events.push_back(Event::Bandwidth { app: entry.id, rates });
            }
        }
    }

    /// Transactions per millisecond on a processor since the last reading.
    fn read_counters(&mut self, id: u32) -> Option<u32> {
        let (mut moved, mut ran) = (0.0, 0);
        let thread = &self.threads[id as usize];
        if thread.state == State::Running {
            let pu = thread.pu;
            self.account(pu);
            let (entry, thread) = (&self.pus[pu as usize], &self.threads[id as usize]);
            ran = (self.now - entry.taken).cast_signed();
            if entry.stage == Stage::Work {
                let (local, remote) = self.memory.local_remote_per_us(PuId(pu));
                moved = (thread.left - entry.left) as f64 / 1000.0 * (local + remote);
            }
        }
        let (noise, seed) = (self.noise.rates, self.seed);
        let thread = &mut self.threads[id as usize];
        let (all, time) = (thread.moved + moved, thread.ran + ran);
        if time < LEAST_NS {
            return None;
        }
        // What the running segment and the time since it got its processor add later has been read already.
        (thread.moved, thread.ran) = (-moved, -ran);
        let mut rate = all.max(0.0) * 1e6 / time as f64;
        if noise > 0.0 {
            self.samples += 1;
            rate *= (1.0 + noise * Stream::new(seed, Purpose::Measuring, self.samples).normal()).max(0.0);
        }
        Some(libm::round(rate).min(f64::from(u32::MAX)) as u32)
    }
}
