//! Checks that need no simulated run: equation 1, table 1, and the cost of a decision.

use super::platform::{PROCESSORS, Platform};
use super::table::Under;
use super::workloads::WORKLOADS;
use crate::{Estimate, Finding, Judge, Lab, Trouble};
use numaestro_engine::{Action, AppId, Engine, Event, Settings, Wish};
use numaestro_policy::turns::fitness;
use numaestro_sim::stats::moments::{percentile, sorted};
use std::time::{Duration, Instant};

/// A-eq1.
pub fn equation(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for (distance, paper) in [(0, 1000), (1, 500), (3, 250), (9, 100)] {
        let ours = fitness(distance * 1000);
        judge.demand(format!("fitness at distance {distance}"), paper.to_string(), ours, ours == paper);
    }
    // Four threads that together want more than the bus carries: the distance of each is the
    // shortage plus its rate, so the thread with the lowest rate is the fittest.
    let rates = [9_000_u64, 3_000, 11_000, 5_000];
    let short = 4_000;
    let fittest = rates.iter().max_by_key(|&&rate| fitness(short + rate));
    judge.demand(
        "ABTR per processor below 0: the least wins",
        "3",
        fittest.unwrap_or(&0) / 1000,
        fittest == Some(&3_000),
    );
    let (as_defined, quanta) = overcommitted(lab)?;
    let ours = format!("{as_defined} of {quanta} quanta");
    judge.demand(
        "B2ARR where any two fill the bus: two in turn, and the two that want least",
        "always",
        ours,
        as_defined == quanta,
    );
    judge.value("fitness at distance 0", "", Estimate::exact(fitness(0) as f64));
    Ok(judge.verdict(""))
}

/// Eight single threads on four processors, any two of which want more than the bus carries: the
/// number of quanta in which B2ARR runs the threads that it should, and the number of all quanta.
fn overcommitted(lab: &Lab) -> Result<(u32, u32), Trouble> {
    const RATES: [u32; 8] = [20_000, 17_000, 21_000, 16_000, 19_000, 22_000, 18_000, 23_000];
    const QUANTA: u32 = 24;
    let mut engine = engine(lab, Under::B2arr)?;
    let mut now = 0;
    for (number, rate) in (1..).zip(RATES) {
        step(&mut engine, &mut now, &Event::Arrive { app: AppId(number), wish: Wish::new(1) });
        step(&mut engine, &mut now, &Event::Bandwidth { app: AppId(number), rates: vec![Some(rate)] });
    }
    let running = |engine: &Engine| -> Vec<u64> {
        let view = engine.view();
        view.order.iter().map(|&slot| view.app(slot)).filter(|app| app.allocation > 0).map(|app| app.id.0).collect()
    };
    let mut list: Vec<u64> = (1..=8).collect();
    let mut ran = running(&engine);
    let mut right = 0;
    for _ in 0..QUANTA {
        now = engine.deadline().unwrap_or(now).max(now);
        step(&mut engine, &mut now, &Event::Timer);
        // The applications that ran go to the tail. The first two of the list run, and of the rest
        // the two with the lowest rates.
        let (executed, waited): (Vec<u64>, Vec<u64>) = list.iter().partition(|app| ran.contains(app));
        list = [waited, executed].concat();
        let mut rest = list[2..].to_vec();
        rest.sort_by_key(|&app| RATES[app as usize - 1]);
        let mut expected = [&list[..2], &rest[..2]].concat();
        expected.sort_unstable();
        ran = running(&engine);
        right += u32::from(ran == expected);
    }
    Ok((right, QUANTA))
}

fn engine(lab: &Lab, under: Under) -> Result<Engine, Trouble> {
    let platform = Platform::of(lab)?;
    let model = platform.machine(PROCESSORS);
    let settings =
        Settings { policy: under.policy().to_owned(), host: model.host(), buses: model.buses(), ..Settings::default() };
    Engine::new(model.topology.clone(), settings, 1).map_err(|no| Trouble::new(under.policy(), no.reason))
}

/// Tells the engine an event and carries out its actions. Returns the time of all of it.
fn step(engine: &mut Engine, now: &mut u64, event: &Event) -> Duration {
    let mut actions = Vec::new();
    *now += 1;
    let begin = Instant::now();
    engine.step(*now, event, &mut actions);
    let mut taken = begin.elapsed();
    while !actions.is_empty() {
        let targets = actions.iter().filter_map(|action| match action {
            Action::Target { app, epoch, .. } => Some((*app, *epoch)),
            _ => None,
        });
        let told: Vec<_> = targets.collect();
        engine.recycle(&mut actions);
        for (app, epoch) in told {
            *now += 1;
            let begin = Instant::now();
            engine.step(*now, &Event::Adopted { app, epoch }, &mut actions);
            taken += begin.elapsed();
        }
    }
    taken
}

/// A-over: measured on this machine, not simulated. Counters are not read: the rates are given, so
/// that a machine without counters measures the same decisions.
pub fn overhead(lab: &Lab) -> Result<Finding, Trouble> {
    const THREADS: u32 = 64;
    const EACH: u32 = 4;
    /// Percent of a quantum.
    const MOST: f64 = 1.0;
    let threads = THREADS * lab.crowd();
    let mut judge = Judge::new();
    for under in [Under::Rr, Under::Lqg, Under::Qwg, Under::B2arr, Under::B2adss] {
        let mut crowd = Crowd::arrived(lab, under, threads / EACH, EACH)?;
        let share = Estimate::of(&crowd.shares());
        judge.value(format!("measured here: {}", under.name()), "% of a quantum", share);
        let what = format!("{}: a quantum's decisions for {threads} threads < {MOST} % of 100 ms", under.name());
        judge.at_most(what, "negligible", share, MOST);
    }
    Ok(judge.verdict("the machine this ran on was too slow or too busy"))
}

/// Applications that are there, and the engine that decides for them.
struct Crowd {
    engine: Engine,
    now: u64,
    applications: u32,
    /// Threads of each.
    threads: u32,
}

impl Crowd {
    /// Blocks of quanta; the median of each is one value, so that what other programs take away
    /// from this one now and then is not in it.
    const BLOCKS: usize = 5;
    const QUANTA: u32 = 15;
    const QUANTUM_S: f64 = 0.1;

    fn arrived(lab: &Lab, under: Under, applications: u32, threads: u32) -> Result<Self, Trouble> {
        let mut crowd = Self { engine: engine(lab, under)?, now: 0, applications, threads };
        for app in (1..=u64::from(applications)).map(AppId) {
            step(&mut crowd.engine, &mut crowd.now, &Event::Arrive { app, wish: Wish::new(threads) });
        }
        Ok(crowd)
    }

    /// Time of all decisions of a quantum, percent of the quantum, block by block.
    fn shares(&mut self) -> Vec<f64> {
        let block = |_| {
            let times: Vec<f64> = (0..Self::QUANTA).map(|quantum| self.quantum(quantum).as_secs_f64()).collect();
            100.0 * percentile(&sorted(&times), 0.5).unwrap_or(f64::INFINITY) / Self::QUANTUM_S
        };
        (0..Self::BLOCKS).map(block).collect()
    }

    /// A quantum ends: every application's rates are told, then it is decided who runs.
    fn quantum(&mut self, number: u32) -> Duration {
        self.now = self.engine.deadline().unwrap_or(self.now).max(self.now);
        let mut taken = Duration::ZERO;
        for app in 0..self.applications {
            let rate = |vp: u32| Some((app * 7919 + vp * 104_729 + number * 31) % 12_000);
            let rates = (0..self.threads).map(rate).collect();
            let event = Event::Bandwidth { app: AppId(u64::from(app) + 1), rates };
            taken += step(&mut self.engine, &mut self.now, &event);
        }
        taken + step(&mut self.engine, &mut self.now, &Event::Timer)
    }
}

/// A-Tab1.
#[allow(clippy::unnecessary_wraps)] // As all checks.
pub fn table_1(_: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for workload in WORKLOADS {
        let ours = workload.widest(4);
        let shown = ours.map_or_else(|| "cannot be read".to_owned(), |degree| degree.to_string());
        let what = format!("{}: {}", workload.id, workload.composition);
        judge.demand(what, workload.degree.to_string(), shown, ours == Some(workload.degree));
    }
    judge.value("workloads", "", Estimate::exact(WORKLOADS.len() as f64));
    Ok(judge.verdict(""))
}
