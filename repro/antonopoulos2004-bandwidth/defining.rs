//! Checks that need no simulated run: equation 1, table 1, and the cost of a decision.

use super::table::Under;
use super::workloads::WORKLOADS;
use crate::{Estimate, Finding, Judge, Lab, Trouble};
use numaestro_engine::{Action, AppId, Engine, Event, Settings, Wish};
use numaestro_policy::turns::fitness;
use std::time::{Duration, Instant};

/// A-eq1.
pub fn equation(_: &Lab) -> Result<Finding, Trouble> {
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
    let (as_defined, quanta) = overcommitted()?;
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
fn overcommitted() -> Result<(u32, u32), Trouble> {
    const RATES: [u32; 8] = [20_000, 17_000, 21_000, 16_000, 19_000, 22_000, 18_000, 23_000];
    const QUANTA: u32 = 24;
    let mut engine = engine(Under::B2arr)?;
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

fn engine(under: Under) -> Result<Engine, Trouble> {
    let model = super::model::machine(4)?;
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

/// A-over.
pub fn overhead(_: &Lab) -> Result<Finding, Trouble> {
    const THREADS: u32 = 64;
    const EACH: u32 = 4;
    const QUANTA: u32 = 201;
    // 1 % of 100 ms.
    const MOST: Duration = Duration::from_millis(1);
    let mut judge = Judge::new();
    for under in [Under::Rr, Under::Lqg, Under::Qwg, Under::B2arr, Under::B2adss] {
        let mut engine = engine(under)?;
        let mut now = 0;
        for number in 0..THREADS / EACH {
            step(&mut engine, &mut now, &Event::Arrive { app: AppId(u64::from(number) + 1), wish: Wish::new(EACH) });
        }
        let mut times = Vec::new();
        for quantum in 0..QUANTA {
            now = engine.deadline().unwrap_or(now).max(now);
            let mut taken = Duration::ZERO;
            for number in 0..THREADS / EACH {
                let rates = (0..EACH).map(|vp| Some((number * 7919 + vp * 104_729 + quantum * 31) % 12_000)).collect();
                taken += step(&mut engine, &mut now, &Event::Bandwidth { app: AppId(u64::from(number) + 1), rates });
            }
            times.push(taken + step(&mut engine, &mut now, &Event::Timer));
        }
        times.sort_unstable();
        // A measured time never comes out twice the same, so the finding says only a bound above
        // it.
        let median = times[times.len() / 2];
        let ours = if median < MOST { "below 1 ms" } else { "1 ms or more" };
        let what = format!("{}: a quantum's decisions for {THREADS} threads < 1 % of 100 ms", under.name());
        judge.demand(what, "negligible", ours, median < MOST);
    }
    Ok(judge.verdict("the machine this ran on was too slow or too busy"))
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
