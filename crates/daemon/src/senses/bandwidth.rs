//! The sensor of bus-transaction rates, while the policy in force needs them: it samples at the end
//! of every turn, before the engine decides about the next one. It measures the saturation rate of
//! a bus when sensing begins, and again now and then: a virtual machine may move to other hardware.
//! While no policy needs rates, nothing of this exists, not even a thread.
//!
//! `numaestro_host::sense` reads the rates.

mod sensing;
mod threads;

use std::time::Duration;

use numaestro_abi::control::{RateStatus, SensingStatus};
use numaestro_engine::{Bus, Event};
use numaestro_host::monotonic_ns;
use numaestro_policy::AppId;
use numaestro_topology::{Machine, PuSet};
use tracing::warn;

use crate::config::Config;
use crate::senses::machine::Site;
use sensing::Sensing;

/// A manager that starts under such a policy waits so long for the first measurement of each bus.
const START_PATIENCE: Duration = Duration::from_millis(30);

/// An application that can be sampled.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) app: u64,
    pub(crate) name: &'a str,
    /// Its processes.
    pub(crate) pids: Vec<u32>,
    /// Its rate as its user says, transactions per millisecond.
    pub(crate) declared: Option<u32>,
    /// The factor by which it is slower than alone, by its own report, thousandths; 0: it does not
    /// report.
    pub(crate) stretch_milli: u32,
    pub(crate) pus: &'a PuSet,
    /// Processors it asked for: so many virtual processors it has.
    pub(crate) request: u32,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Bandwidth {
    /// There only while rates are needed.
    sensing: Option<Box<Sensing>>,
}

/// One bus for each memory node that has processors; one for all where the machine knows no nodes.
/// Nothing has been measured of them.
pub(crate) fn buses(machine: &Machine) -> Vec<Bus> {
    let nodes = machine.numa_nodes().iter().filter(|node| !node.is_memory_only());
    let mut buses: Vec<Bus> = nodes.map(|node| Bus { pus: node.pus.clone(), saturation: 0 }).collect();
    if buses.is_empty() {
        buses.push(Bus { pus: machine.all(), saturation: 0 });
    }
    buses
}

/// Says whether this host has a way to know rates.
pub(crate) fn is_offered(config: &Config) -> bool {
    sensing::ladder(config).best().is_some()
}

impl Bandwidth {
    /// Begins or ends sensing, as the policy in force needs it, and gives the events of buses
    /// measured since.
    pub(crate) fn watch(&mut self, needed: bool, config: &Config, site: &Site) -> Vec<Event> {
        if !needed {
            self.sensing = None;
            return Vec::new();
        }
        let now_ns = monotonic_ns();
        let sensing = self.sensing.get_or_insert_with(|| {
            let buses = buses(&site.machine);
            Box::new(Sensing::new(config, &buses, &site.machine, &site.usable, now_ns))
        });
        let changed = sensing.changed_buses(now_ns);
        sensing.order(now_ns);
        sensing.saturations(changed)
    }

    /// Waits a moment for the first measurement of each bus, so that it is known before the first
    /// program comes.
    pub(crate) fn wait(&mut self) -> Vec<Event> {
        let Some(sensing) = &mut self.sensing else { return Vec::new() };
        let changed = (0..sensing.buses()).flat_map(|_| sensing.wait(START_PATIENCE, monotonic_ns())).collect();
        sensing.saturations(changed)
    }

    /// Samples these applications.
    pub(crate) fn look(&mut self, subjects: Vec<Subject<'_>>) -> Vec<Event> {
        let Some(sensing) = &mut self.sensing else { return Vec::new() };
        let mut events = Vec::new();
        let mut turn = sensing.turn(monotonic_ns());
        for subject in subjects {
            let app = AppId(subject.app);
            let rates = sensing.sample(subject, &mut turn);
            if rates.iter().any(Option::is_some) {
                events.push(Event::Bandwidth { app, rates });
            }
        }
        let changed = sensing.end(turn);
        events.extend(sensing.saturations(changed));
        for report in sensing.take_reports() {
            warn!("{report}");
        }
        events
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        if let Some(sensing) = &mut self.sensing {
            sensing.forget(app);
        }
    }

    /// The machine is another one: measurements of the former one are forgotten.
    pub(crate) fn renew(&mut self) {
        self.sensing = None;
    }

    /// Says whether the pace of programs is wanted, because nothing counts their transactions.
    pub(crate) fn needs_pace(&self) -> bool {
        self.sensing.as_ref().is_some_and(|sensing| sensing.needs_pace())
    }

    /// The status shown to people; `None` while rates are not needed.
    pub(crate) fn status(&self) -> Option<SensingStatus> {
        Some(self.sensing.as_ref()?.status(monotonic_ns()))
    }

    /// The latest rates of an application, if any are known.
    pub(crate) fn rates(&self, app: u64) -> Option<RateStatus> {
        self.sensing.as_ref()?.rates(app)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_is_on_one_bus() {
        for (text, expected) in [("numa:2 core:4 pu:1", 2), ("core:4 pu:1", 1)] {
            let machine = numaestro_topology::synthetic::parse(text).unwrap();
            let buses = buses(&machine);
            assert_eq!(buses.len(), expected, "{text}");
            for pu in &machine.all() {
                assert_eq!(buses.iter().filter(|bus| bus.pus.contains(pu)).count(), 1);
            }
        }
    }

    #[test]
    fn there_is_always_some_way_to_know_rates() {
        assert!(is_offered(&Config::default()));
    }
}
