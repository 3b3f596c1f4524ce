//! Bus-transaction rates, while the policy in force needs them: sampled at the end of every turn, and told to the engine before it decides about the
//! next one. What a bus carries is measured when that begins, and again now and then: a virtual machine may move to other hardware. While nobody needs
//! rates, nothing of this is there, not even a thread.
//!
//! How rates are known is `numaestro_host::sense`'s affair. It must not know what the policy makes of them.

mod sensing;

use std::time::Duration;

use numaestro_abi::control::{BusStatus, RateStatus, RungStatus, SensingStatus};
use numaestro_engine::{Bus, Event};
use numaestro_host::sense::{Subject, ThreadUse};
use numaestro_host::{monotonic_ns, procfs};
use numaestro_policy::AppId;
use numaestro_topology::Machine;
use tracing::warn;

use crate::app::App;
use crate::config::Config;
use crate::manager::Manager;
use sensing::Sensing;

/// A manager that starts under such a policy waits so long for the first measurement of each bus.
const START_PATIENCE: Duration = Duration::from_millis(30);
/// Threads of one application that are looked at.
const THREADS_MAX: usize = 4096;

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Bandwidth {
    /// There only while rates are needed.
    sensing: Option<Box<Sensing>>,
}

/// One bus for each memory node that has processors; one for all where the machine knows no nodes. Nothing has been measured of them.
pub(crate) fn buses(machine: &Machine) -> Vec<Bus> {
    let nodes = machine.numa_nodes().iter().filter(|node| !node.is_memory_only());
    let mut buses: Vec<Bus> = nodes.map(|node| Bus { pus: node.pus.clone(), saturation: 0 }).collect();
    if buses.is_empty() {
        buses.push(Bus { pus: machine.all(), saturation: 0 });
    }
    buses
}

/// Whether this host has a way to know rates.
pub(crate) fn is_offered(config: &Config) -> bool {
    sensing::ladder(config).best().is_some()
}

impl Bandwidth {
    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        if let Some(sensing) = &mut self.sensing {
            sensing.forget(app);
        }
    }

    /// The machine is another one: what was measured on the former is forgotten.
    pub(crate) fn renew(&mut self) {
        self.sensing = None;
    }

    /// Whether the pace of programs is wanted, because nothing counts what they move.
    pub(crate) fn needs_pace(&self) -> bool {
        self.sensing.as_ref().is_some_and(|sensing| sensing.needs_pace())
    }

    /// What people are shown; `None` while rates are not needed.
    pub(crate) fn status(&self) -> Option<SensingStatus> {
        let sensing = self.sensing.as_ref()?;
        let now_ns = monotonic_ns();
        let rung = |state: numaestro_host::sense::State| RungStatus {
            name: state.rung.name().to_owned(),
            error_permille: state.rung.error_permille(),
            caveat: state.rung.caveat().to_owned(),
            lacking: state.lacking,
        };
        let bus = |way: &sensing::Way| BusStatus {
            cpus: way.cpus.to_string(),
            saturation: way.saturation.rate(),
            stretch_milli: way.stretch_milli(now_ns),
        };
        Some(SensingStatus {
            rungs: sensing.ladder.states().into_iter().map(rung).collect(),
            buses: sensing.ways.iter().map(bus).collect(),
            dropped: sensing.ladder.dropped(),
        })
    }

    /// The latest rates of an application, if any are known.
    pub(crate) fn rates(&self, app: u64) -> Option<RateStatus> {
        let sample = self.sensing.as_ref()?.samples.get(&app)?;
        let rung = sample.rung;
        Some(RateStatus {
            rates: sample.rates.clone(),
            rung: rung.map_or("held", numaestro_host::sense::Rung::name).to_owned(),
            error_permille: rung.map(numaestro_host::sense::Rung::error_permille),
        })
    }
}

impl Manager {
    /// At the start: what buses carry is known before the first program comes, if the policy wants to know.
    pub(crate) fn start_bandwidth(&mut self) {
        self.consider_bandwidth();
        let Some(sensing) = &mut self.bandwidth.sensing else { return };
        let mut changed = Vec::new();
        for _ in 0..sensing.ways.len() {
            changed.extend(sensing.wait(START_PATIENCE, monotonic_ns()));
        }
        self.tell_saturations(changed);
    }

    /// Begins or ends sensing, as the policy in force makes it necessary, and takes in what has been measured.
    pub(crate) fn consider_bandwidth(&mut self) {
        let needed = self.brain.needs().bandwidth;
        let now_ns = monotonic_ns();
        if !needed {
            self.bandwidth.sensing = None;
            self.consider_measuring();
            return;
        }
        let sensing = self.bandwidth.sensing.get_or_insert_with(|| {
            let buses = buses(&self.machine);
            Box::new(Sensing::new(&self.config, &buses, &self.machine, &self.usable, now_ns))
        });
        let changed = sensing.changed_buses(now_ns);
        sensing.order(now_ns);
        self.consider_measuring();
        self.tell_saturations(changed);
    }

    fn tell_saturations(&mut self, buses: Vec<u32>) {
        for bus in buses {
            let rate = self.bandwidth.sensing.as_ref().map(|sensing| sensing.ways[bus as usize].saturation.rate());
            if let Some(rate) = rate {
                self.feed(Event::Saturation { bus, rate });
            }
        }
    }

    /// The next event for the engine. If it would end a turn, what was measured in that turn comes first.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let next = self.events.pop_front()?;
        let told = matches!(next, Event::Bandwidth { .. } | Event::Saturation { .. });
        let over = self.brain.turn_ends().filter(|end| !told && *end <= monotonic_ns());
        if let (Some(sensing), Some(end)) = (&mut self.bandwidth.sensing, over)
            && sensing.turn_end_ns != end
        {
            sensing.turn_end_ns = end;
            self.events.push_front(next);
            self.measure_turn();
            return self.events.pop_front();
        }
        Some(next)
    }

    /// Samples every application that has processors; the events stand before all others afterwards.
    fn measure_turn(&mut self) {
        let now_ns = monotonic_ns();
        let apps: Vec<u64> =
            self.apps.values().filter(|entry| entry.can_be_sampled()).map(|entry| entry.number).collect();
        let Some(mut sensing) = self.bandwidth.sensing.take() else { return };
        let elapsed_ns = now_ns.saturating_sub(sensing.sampled_ns);
        let mut totals: Vec<Option<u64>> = vec![Some(0); sensing.ways.len()];
        let mut events = Vec::new();
        for app in apps {
            let times = self.run_times(app);
            let Some(entry) = self.apps.get(&app) else { continue };
            let threads = sensing.teams.entry(app).or_default().look(times, THREADS_MAX).to_vec();
            let rates = sample(&mut sensing, entry, &threads, now_ns);
            add_up(&sensing, entry, &threads, elapsed_ns, &mut totals);
            if rates.iter().any(Option::is_some) {
                events.push(Event::Bandwidth { app: AppId(app), rates });
            }
        }
        for bus in sensing.carried(&totals) {
            let rate = sensing.ways[bus as usize].saturation.rate();
            events.push(Event::Saturation { bus, rate });
        }
        for news in sensing.ladder.news() {
            warn!("{news}");
        }
        sensing.sampled_ns = now_ns;
        self.bandwidth.sensing = Some(sensing);
        for event in events.into_iter().rev() {
            self.events.push_front(event);
        }
    }

    /// Processor time of every thread of an application, nanoseconds.
    fn run_times(&self, app: u64) -> Vec<(u32, u64)> {
        let Some(entry) = self.apps.get(&app) else { return Vec::new() };
        let alone = || vec![entry.pid()];
        let pids = match entry.page {
            // What a program with a page starts is an application of its own.
            Some(_) => alone(),
            None => procfs::tree(entry.pid(), &self.other_roots(entry.pid())).unwrap_or_else(|_| alone()),
        };
        pids.into_iter().flat_map(|pid| procfs::run_times(pid).unwrap_or_default()).collect()
    }
}

impl App {
    fn can_be_sampled(&self) -> bool {
        self.target.is_some() && !self.is_wrapper()
    }
}

/// Rates of one application by virtual processor.
fn sample(sensing: &mut Sensing, entry: &App, threads: &[Option<ThreadUse>], now_ns: u64) -> Vec<Option<u32>> {
    let subject = Subject {
        app: entry.number,
        name: &entry.name,
        threads,
        declared: entry.options.btr,
        stretch_milli: entry.page.as_ref().map_or(0, numaestro_host::memory::SharedPage::stretch_milli),
    };
    let moment = sensing.moment(entry.target.as_ref().map(|target| &target.pus), now_ns);
    let sample = sensing.ladder.sample(&subject, &moment);
    let rates = sensing::fold(&sample.rates, threads, entry.request as usize);
    sensing.samples.insert(entry.number, sample);
    rates
}

/// Adds what one application has moved to the buses that its processors are on.
fn add_up(sensing: &Sensing, entry: &App, threads: &[Option<ThreadUse>], elapsed_ns: u64, totals: &mut [Option<u64>]) {
    let (Some(sample), Some(target)) = (sensing.samples.get(&entry.number), &entry.target) else { return };
    let moved = sensing::total(sample, threads, elapsed_ns);
    for (total, way) in totals.iter_mut().zip(&sensing.ways) {
        let here = way.pus.intersection(&target.pus).len() as u64;
        let everywhere = target.pus.len().max(1) as u64;
        if here > 0 {
            *total = total.zip(moved).map(|(total, moved)| total + moved * here / everywhere);
        }
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
