//! The state that is kept while rates are needed: the ladder, the buses with their measurements,
//! and the times of the next measurements.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use numaestro_abi::control::{BusStatus, RateStatus, RungStatus, SensingStatus};
use numaestro_engine::{Bus, Event};
use numaestro_host::sense::probe::Probe;
use numaestro_host::sense::prober::{Found, Order, Prober};
use numaestro_host::sense::saturation::Saturation;
use numaestro_host::sense::{Ladder, Moment, Rung, Sample, State, Subject as Source, ThreadUse};
use numaestro_topology::{CpuSet, Machine, PuSet};
use tracing::{info, warn};

use super::Subject;
use super::threads::Threads;
use crate::config::Config;

/// Between two probes, at least; they take a thousandth of a processor at most in any case.
const PROBE_PAUSE_NS: u64 = 2_000_000_000;
/// Processor time of a probe times this is the least pause after it.
const PROBE_COST_FACTOR: u64 = 1000;
/// The result of a probe holds so long.
const FELT_NS: u64 = 5_000_000_000;
/// After a burst that was disturbed, or while a rate is in doubt: the first pause and, doubled each
/// time, the longest.
const RETRY_NS: (u64, u64) = (50_000_000, 60_000_000_000);
/// After a good burst: the saturation rate of a bus can change.
const REMEASURE_NS: u64 = 300_000_000_000;

/// One bus as it is now.
#[derive(Debug)]
struct Way {
    /// Its processors that may be used, OS indices.
    cpus: CpuSet,
    pus: PuSet,
    saturation: Saturation,
    /// A source says its rate: it is not measured.
    said: bool,
    /// The rates of one thread alone.
    alone: Option<Probe>,
    /// The factor by which a stream is slowed down, thousandths, and the time of the probe,
    /// nanoseconds.
    felt: Option<(u32, u64)>,
    /// Transactions per millisecond counted on it in the latest turn, if all applications that ran
    /// were counted.
    carried: Option<u32>,
    burst_at_ns: u64,
    retry_ns: u64,
}

impl Way {
    fn new(bus: &Bus, machine: &Machine, usable: &CpuSet) -> Self {
        Self {
            cpus: machine.os_cpuset(&bus.pus).intersection(usable),
            pus: bus.pus.clone(),
            saturation: Saturation::default(),
            said: false,
            alone: None,
            felt: None,
            carried: None,
            burst_at_ns: 0,
            retry_ns: RETRY_NS.0,
        }
    }

    /// The factor by which a thread that only streams is slower than alone, thousandths, if that
    /// was felt lately.
    fn stretch_milli(&self, now_ns: u64) -> Option<u32> {
        self.felt.filter(|(_, then)| now_ns.saturating_sub(*then) <= FELT_NS).map(|(stretch, _)| stretch)
    }

    /// A probe has come out. A rate that it contradicts is measured again soon.
    fn felt(&mut self, probe: &Probe, now_ns: u64) {
        let Some(alone) = &self.alone else { return };
        let stretch = probe.stretch_milli(alone);
        self.felt = Some((stretch, now_ns));
        if let Some(carried) = self.carried.filter(|_| !self.said) {
            let before = self.saturation.is_wanted();
            self.saturation.felt(stretch, carried);
            if self.saturation.is_wanted() && !before {
                self.burst_at_ns = self.burst_at_ns.min(now_ns);
            }
        }
    }
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Sensing {
    ladder: Ladder,
    /// `None` if its thread could not be had.
    prober: Option<Prober>,
    ways: Vec<Way>,
    threads: BTreeMap<u64, Threads>,
    /// The latest of every application.
    samples: BTreeMap<u64, Sample>,
    /// Time of the latest turn's sample, nanoseconds.
    sampled_ns: u64,
    probe_at_ns: u64,
}

/// The sums over the applications of a turn, built up while they are sampled.
#[derive(Debug)]
pub(crate) struct Turn {
    now_ns: u64,
    elapsed_ns: u64,
    /// Transactions per millisecond by bus; `None`: an application was not counted.
    totals: Vec<Option<u64>>,
}

/// The rungs of this host.
pub(crate) fn ladder(config: &Config) -> Ladder {
    Ladder::open(Path::new("/"), config.inject_rates.as_deref())
}

impl Sensing {
    pub(crate) fn new(config: &Config, buses: &[Bus], machine: &Machine, usable: &CpuSet, now_ns: u64) -> Self {
        let prober = Prober::new().inspect_err(|cause| warn!("what buses carry cannot be measured: {cause}")).ok();
        let ladder = ladder(config);
        for state in ladder.states() {
            info!(rung = state.rung.name(), lacking = state.lacking, "a way to know transaction rates");
        }
        Self {
            ladder,
            prober,
            ways: buses.iter().map(|bus| Way::new(bus, machine, usable)).collect(),
            threads: BTreeMap::new(),
            samples: BTreeMap::new(),
            sampled_ns: now_ns,
            probe_at_ns: 0,
        }
    }

    /// Orders the measurements that are due.
    pub(crate) fn order(&mut self, now_ns: u64) {
        let Some(prober) = self.prober.as_mut().filter(|prober| prober.is_idle()) else { return };
        for (bus, way) in self.ways.iter_mut().enumerate() {
            if !way.said && !way.cpus.is_empty() && now_ns >= way.burst_at_ns {
                way.burst_at_ns = now_ns + way.retry_ns;
                prober.order(Order::Burst(bus as u32, way.cpus.iter().collect()));
            }
        }
        // An application must be running, and a burst must have shown how a thread alone fares.
        if now_ns >= self.probe_at_ns && !self.samples.is_empty() {
            self.probe_at_ns = now_ns + PROBE_PAUSE_NS;
            for (bus, way) in self.ways.iter().enumerate().filter(|(_, way)| way.alone.is_some()) {
                prober.order(Order::Probe(bus as u32, way.cpus.iter().collect()));
            }
        }
    }

    /// Takes in the measurements since, and the sources' saturation rates. Returns the buses whose
    /// saturation rate is another one now.
    pub(crate) fn changed_buses(&mut self, now_ns: u64) -> Vec<u32> {
        let mut changed = Vec::new();
        while let Some(found) = self.prober.as_mut().and_then(Prober::take) {
            changed.extend(self.found(found, now_ns));
        }
        for (bus, rate) in self.ladder.saturations() {
            if let Some(way) = self.ways.get_mut(bus as usize) {
                way.said = true;
                way.saturation.set(rate);
                changed.push(bus);
            }
        }
        changed
    }

    /// Waits for the ordered measurements, but not for long.
    pub(crate) fn wait(&mut self, patience: Duration, now_ns: u64) -> Vec<u32> {
        let found = self.prober.as_mut().filter(|prober| !prober.is_idle()).and_then(|prober| prober.wait(patience));
        found.and_then(|found| self.found(found, now_ns)).into_iter().collect()
    }

    fn found(&mut self, found: Found, now_ns: u64) -> Option<u32> {
        let (Found::Burst(bus, _) | Found::Probe(bus, ..)) = found;
        let buses = self.ways.len() as u64;
        let way = self.ways.get_mut(bus as usize)?;
        match found {
            Found::Burst(_, Some(burst)) => {
                way.alone = Some(burst.alone);
                (way.burst_at_ns, way.retry_ns) = (now_ns + REMEASURE_NS, RETRY_NS.0);
                if way.said {
                    return None;
                }
                way.saturation.set(burst.saturation);
                info!(bus, saturation = burst.saturation, alone = burst.alone.stream, "what a bus carries");
                Some(bus)
            }
            Found::Burst(_, None) => {
                way.burst_at_ns = now_ns + way.retry_ns;
                way.retry_ns = (way.retry_ns * 2).min(RETRY_NS.1);
                None
            }
            Found::Probe(_, probe, cost_ns) => {
                if let Some(probe) = probe {
                    way.felt(&probe, now_ns);
                }
                let pause = cost_ns.saturating_mul(PROBE_COST_FACTOR * buses);
                self.probe_at_ns = self.probe_at_ns.max(now_ns + pause);
                None
            }
        }
    }

    /// The state of the machine for an application on `pus`: that of the bus on which most of them
    /// are.
    fn moment(&self, pus: &PuSet, now_ns: u64) -> Moment {
        let most = |way: &&Way| way.pus.intersection(pus).len();
        let Some(way) = self.ways.iter().max_by_key(most) else { return Moment { now_ns, ..Moment::default() } };
        let stream_rate = way.alone.map_or(0, |alone| alone.stream);
        Moment { now_ns, stream_stretch_milli: way.stretch_milli(now_ns), stream_rate }
    }

    /// The number of buses.
    pub(crate) fn buses(&self) -> usize {
        self.ways.len()
    }

    /// The saturation rates of these buses, for the engine.
    pub(crate) fn saturations(&self, buses: Vec<u32>) -> Vec<Event> {
        let event = |bus: u32| Event::Saturation { bus, rate: self.ways[bus as usize].saturation.rate() };
        buses.into_iter().map(event).collect()
    }

    /// The turn that ends now.
    pub(crate) fn turn(&self, now_ns: u64) -> Turn {
        let elapsed_ns = now_ns.saturating_sub(self.sampled_ns);
        Turn { now_ns, elapsed_ns, totals: vec![Some(0); self.ways.len()] }
    }

    /// Rates of one application by virtual processor.
    pub(crate) fn sample(&mut self, subject: Subject<'_>, turn: &mut Turn) -> Vec<Option<u32>> {
        let Subject { app, name, pids, declared, stretch_milli, pus, request } = subject;
        let threads = self.threads.entry(app).or_default().look(&pids, declared.is_some(), turn.now_ns);
        let source = Source { app, name, threads: &threads, declared, stretch_milli };
        let sample = self.ladder.sample(&source, &self.moment(pus, turn.now_ns));
        if let Some(threads) = self.threads.get_mut(&app) {
            threads.came_out(&sample);
        }
        let rates = fold(&sample.rates, &threads, request as usize);
        // Its transactions are added to the buses of its processors.
        let moved = total(&sample, &threads, turn.elapsed_ns);
        for (sum, way) in turn.totals.iter_mut().zip(&self.ways) {
            let here = way.pus.intersection(pus).len() as u64;
            if here > 0 {
                *sum = sum.zip(moved).map(|(sum, moved)| sum + moved * here / pus.len().max(1) as u64);
            }
        }
        self.samples.insert(app, sample);
        rates
    }

    /// Every application of the turn has been sampled. Gives the buses whose saturation rate is
    /// another one now.
    pub(crate) fn end(&mut self, turn: Turn) -> Vec<u32> {
        self.sampled_ns = turn.now_ns;
        let mut changed = Vec::new();
        for (bus, (way, total)) in self.ways.iter_mut().zip(turn.totals).enumerate() {
            way.carried = total.map(|total| u32::try_from(total).unwrap_or(u32::MAX));
            if let Some(carried) = way.carried.filter(|_| !way.said)
                && way.saturation.carried(carried)
            {
                changed.push(bus as u32);
            }
        }
        changed
    }

    /// The ladder's messages to people since the last time.
    pub(crate) fn take_reports(&mut self) -> Vec<String> {
        self.ladder.news()
    }

    /// The status shown to people.
    pub(crate) fn status(&self, now_ns: u64) -> SensingStatus {
        let rung = |state: State| RungStatus {
            name: state.rung.name().to_owned(),
            error_permille: state.rung.error_permille(),
            caveat: state.rung.caveat().to_owned(),
            lacking: state.lacking,
        };
        let bus = |way: &Way| BusStatus {
            cpus: way.cpus.to_string(),
            saturation: way.saturation.rate(),
            stretch_milli: way.stretch_milli(now_ns),
        };
        SensingStatus {
            rungs: self.ladder.states().into_iter().map(rung).collect(),
            buses: self.ways.iter().map(bus).collect(),
            dropped: self.ladder.dropped(),
        }
    }

    /// The latest rates of an application.
    pub(crate) fn rates(&self, app: u64) -> Option<RateStatus> {
        let sample = self.samples.get(&app)?;
        Some(RateStatus {
            rates: sample.rates.clone(),
            rung: sample.rung.map_or("held", Rung::name).to_owned(),
            error_permille: sample.rung.map(Rung::error_permille),
        })
    }

    /// The best rung that tells anybody's rate without counting: then it is of use to know the pace
    /// of programs.
    pub(crate) fn needs_pace(&self) -> bool {
        self.ladder.best().is_some_and(|rung| !rung.counts())
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        self.ladder.forget(app);
        self.threads.remove(&app);
        self.samples.remove(&app);
    }
}

/// Rates of threads as rates of `vps` virtual processors: where there are more threads, they take
/// turns, and a virtual processor's rate is the mean over the time of its threads.
fn fold(rates: &[Option<u32>], threads: &[Option<ThreadUse>], vps: usize) -> Vec<Option<u32>> {
    if vps == 0 || rates.len() <= vps {
        return rates.to_vec();
    }
    let mut folded = vec![(0_u64, 0_u64); vps];
    for (index, rate) in rates.iter().enumerate() {
        let used_ns = threads.get(index).copied().flatten().map_or(0, |thread| thread.used_ns);
        if let Some(rate) = rate {
            let (sum, weight) = &mut folded[index % vps];
            // A thread whose time is not known counts as little as possible. A rate times a second
            // in microseconds is far from the end of 64 bits.
            let time = (used_ns / 1000).clamp(1, 1_000_000);
            (*sum, *weight) = (*sum + u64::from(*rate) * time, *weight + time);
        }
    }
    folded.into_iter().map(|(sum, weight)| sum.checked_div(weight).and_then(|mean| u32::try_from(mean).ok())).collect()
}

/// Transactions of these threads per millisecond of the last `elapsed_ns`; `None` if they were not
/// counted.
fn total(sample: &Sample, threads: &[Option<ThreadUse>], elapsed_ns: u64) -> Option<u64> {
    if !sample.rung.is_some_and(Rung::counts) {
        return None;
    }
    let used = threads.iter().map(|thread| thread.map_or(0, |thread| thread.used_ns));
    let moved =
        sample.rates.iter().zip(used).map(|(rate, used_ns)| u128::from(rate.unwrap_or(0)) * u128::from(used_ns));
    u64::try_from(moved.sum::<u128>() / u128::from(elapsed_ns.max(1))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(used_ms: &[u64]) -> Vec<Option<ThreadUse>> {
        used_ms.iter().map(|used| Some(ThreadUse { tid: 1, used_ns: used * 1_000_000 })).collect()
    }

    #[test]
    fn threads_that_take_turns_are_one_virtual_processor() {
        let rates = [Some(100), Some(7), Some(400), None];
        assert_eq!(fold(&rates, &threads(&[20, 50, 10, 0]), 2), [Some(200), Some(7)]);
        assert_eq!(fold(&rates, &threads(&[20, 50, 10, 0]), 4), rates);
        assert_eq!(fold(&rates, &[], 2), [Some(250), Some(7)], "as injected, without any thread");
        assert_eq!(fold(&[None, None, None], &[], 2), [None, None]);
    }

    #[test]
    fn what_was_moved_is_rate_times_time() {
        let sample = |rung| Sample { rates: vec![Some(1000), Some(500), None], rung };
        let used = threads(&[100, 50, 100]);
        assert_eq!(total(&sample(Some(Rung::Perf)), &used, 100_000_000), Some(1250));
        assert_eq!(total(&sample(Some(Rung::Estimate)), &used, 100_000_000), None, "guesses are not added up");
        assert_eq!(total(&sample(None), &used, 100_000_000), None);
    }
}
