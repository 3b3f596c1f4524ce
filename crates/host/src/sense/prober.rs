//! Measures beside the work of its owner: a thread of its own probes or bursts when it is told to,
//! and sleeps otherwise. It ends with its owner.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::burst::{self, Burst};
use super::kernel::Buffer;
use super::probe::{self, Probe};
use crate::affinity;
use crate::error::{self, HostError};

/// A burst that is disturbed is repeated at once so often, all in all.
const BURSTS_MAX: u32 = 3;

/// The measurement to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Measure how full the bus of these processors (OS indices) is; the number is the owner's.
    Probe(u32, Vec<u32>),
    /// Measure the saturation rate of the bus of these processors (OS indices); the number is the
    /// owner's.
    Burst(u32, Vec<u32>),
}

/// The result of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The rates that a probe measured on the bus with this number, if the probe was not disturbed;
    /// and the processor time it took, nanoseconds.
    Probe(u32, Option<Probe>, u64),
    /// The rates that a burst measured on the bus with this number, if the burst was not disturbed.
    Burst(u32, Option<Burst>),
}

/// See the file's header.
#[derive(Debug)]
pub struct Prober {
    orders: Sender<Order>,
    found: Receiver<Found>,
    waiting: u32,
}

impl Prober {
    /// Starts the thread.
    pub fn new() -> Result<Self, HostError> {
        let (orders, to_do) = channel();
        let (results, found) = channel();
        let work = move || {
            // Memory of each bus: it stays on the node that has touched it first.
            let mut buffers = BTreeMap::new();
            for order in to_do {
                let result = match order {
                    Order::Probe(bus, cpus) => {
                        let placed = affinity::set(0, &cpus.into_iter().collect()).is_ok();
                        let (probe, cost_ns) = probe::feel(buffers.entry(bus).or_insert_with(Buffer::new));
                        Found::Probe(bus, probe.filter(|_| placed), cost_ns)
                    }
                    Order::Burst(bus, cpus) => Found::Burst(bus, (0..BURSTS_MAX).find_map(|_| burst::measure(&cpus))),
                };
                if results.send(result).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().name("probe".to_owned()).spawn(work).map_err(error::call("start a probe"))?;
        Ok(Self { orders, found, waiting: 0 })
    }

    /// Has something measured.
    pub fn order(&mut self, order: Order) {
        self.waiting += u32::from(self.orders.send(order).is_ok());
    }

    /// Nothing is being measured.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0
    }

    /// A result, if there is one.
    pub fn take(&mut self) -> Option<Found> {
        let found = self.found.try_recv().ok()?;
        self.waiting -= 1;
        Some(found)
    }

    /// A result, waited for.
    pub fn wait(&mut self, patience: Duration) -> Option<Found> {
        let found = self.found.recv_timeout(patience).ok()?;
        self.waiting -= 1;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ordered_is_found() {
        let mut prober = Prober::new().unwrap();
        assert!(prober.is_idle() && prober.take().is_none());
        prober.order(Order::Probe(2, affinity::get(0).unwrap().iter().collect()));
        prober.order(Order::Burst(3, Vec::new()));
        assert!(!prober.is_idle());
        let patience = Duration::from_mins(1);
        assert!(matches!(prober.wait(patience), Some(Found::Probe(2, _, cost_ns)) if cost_ns > 0));
        assert_eq!(prober.wait(patience), Some(Found::Burst(3, None)), "there is no bus without processors");
        assert!(prober.is_idle());
    }
}
