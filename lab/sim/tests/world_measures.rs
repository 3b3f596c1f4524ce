//! What programs and counters measure: speedups as they are, rates as programs have them, noise as
//! it is asked for, and what a bus that is full does.

mod world_support;

use numaestro_engine::{Action, Event};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Model, named};
use numaestro_sim::memory::Contention;
use numaestro_sim::outcome::Outcome;
use numaestro_sim::program::{Analyzer, Body, Data, PagePlace, Phase, Program, Refs, Split, Wait, Work};
use numaestro_sim::speedup::Curve;
use numaestro_sim::world::{Noise, Observer, Setup, World};
use std::sync::Arc;
use world_support::{Listed, curve, machine, setup};

const MS: u64 = 1_000_000;

/// What was said to the engine.
#[derive(Default)]
struct Heard {
    speedups: Vec<(u64, u32, u32)>,
    rates: Vec<(u64, Vec<Option<u32>>)>,
    saturations: Vec<u32>,
}

impl Observer for Heard {
    fn wants_journal(&self) -> bool {
        true
    }

    fn journal(&mut self, at: u64, event: &Event, _actions: &[Action]) {
        match event {
            Event::Speedup { processors, speedup_milli, .. } => self.speedups.push((at, *processors, *speedup_milli)),
            Event::Bandwidth { rates, .. } => self.rates.push((at, rates.clone())),
            Event::Saturation { rate, .. } => self.saturations.push(*rate),
            _ => {}
        }
    }
}

fn hear(setup: Setup, programs: Vec<(u64, Program)>) -> (Heard, Outcome) {
    let mut heard = Heard::default();
    let outcome = world_support::run_with(setup, programs, &mut heard);
    (heard, outcome)
}

fn plain(pus: usize) -> Model {
    machine(pus, numaestro_sim::machine::System::RoundRobin, 100 * MS)
}

fn region(processors: u32, iterations: u32, work: f64, curve: Option<Curve>, refs: Vec<Refs>) -> Phase {
    let work = Work::Divided(Dist::Constant(work), 0.0);
    Phase::Parallel { width: processors, iterations, work, refs, wait: Wait::Spin, locked: None, curve }
}

/// A loop of 60 rounds of 80 ms of work.
fn looping(curve: Curve, analyzer: Analyzer) -> Program {
    let round = vec![region(8, 2, (40 * MS) as f64, Some(curve), Vec::new())];
    let body = Body::Phases(vec![Phase::Repeat { times: 60, phases: round }]);
    Program { analyzer: Some(analyzer), ..Program::new("loop", 8, body) }
}

#[test]
fn a_loop_finds_its_speedup_at_every_number_it_has() {
    let shape = Curve::Amdahl(0.2);
    let one = looping(shape.clone(), Analyzer { baseline: 1, ..Analyzer::default() });
    let (heard, outcome) = hear(setup(plain(8), "pdpa", 1), vec![(0, one)]);
    assert!(heard.speedups.len() >= 10, "{:?}", heard.speedups);
    for &(at, processors, milli) in &heard.speedups {
        let right = shape.speedup(processors) * 1000.0;
        assert!((f64::from(milli) - right).abs() <= 1.0, "{milli} on {processors} at {at}: {right}");
    }
    assert_eq!(u64::from(outcome.jobs[0].speedups), heard.speedups.len() as u64);
}

#[test]
fn the_first_few_threads_are_taken_to_be_efficient_where_nobody_says_otherwise() {
    let (heard, _) = hear(setup(plain(8), "pdpa", 1), vec![(0, looping(Curve::Amdahl(0.2), Analyzer::default()))]);
    let shape = Curve::Amdahl(0.2);
    // As many as it has when it begins to measure, at most four.
    let few = heard.speedups[0].1;
    assert!((1..=4).contains(&few), "{few}");
    for &(_, processors, milli) in &heard.speedups {
        let said = f64::from(few) * shape.speedup(processors) / shape.speedup(few) * 1000.0;
        assert!((f64::from(milli) - said).abs() <= 1.0, "{milli} on {processors}: {:?}", heard.speedups);
    }
    assert!(heard.speedups.iter().any(|&(_, processors, _)| processors != few), "{:?}", heard.speedups);
}

#[test]
fn curves_say_what_they_are() {
    let shape = Curve::Downey { average: 6.0, sigma: 0.5 };
    let (heard, outcome) = hear(setup(plain(8), "pdpa", 1), vec![(0, curve(8, 4e9, shape.clone(), 0))]);
    assert!(heard.speedups.len() >= 50, "{}", heard.speedups.len());
    for &(_, processors, milli) in &heard.speedups {
        assert!((f64::from(milli) - shape.speedup(processors) * 1000.0).abs() <= 1.0, "{milli} on {processors}");
    }
    assert!(outcome.jobs[0].searching_ns > 0 && outcome.jobs[0].searching_ns < outcome.end);
}

#[test]
fn nobody_measures_for_policies_that_do_not_ask() {
    let (heard, _) = hear(setup(plain(8), "equi", 1), vec![(0, looping(Curve::Linear, Analyzer::default()))]);
    assert!(heard.speedups.is_empty() && heard.rates.is_empty() && heard.saturations.is_empty());
}

#[test]
fn noise_is_as_large_as_asked_for() {
    let one = looping(Curve::Linear, Analyzer { baseline: 1, ..Analyzer::default() });
    let noisy = Setup { noise: Noise { speedups: 0.05, rates: 0.0 }, ..setup(plain(8), "pdpa", 1) };
    let (heard, _) = hear(noisy, (0..6).map(|at| (at * MS, one.clone())).collect());
    let errors: Vec<f64> =
        heard.speedups.iter().map(|&(_, n, milli)| f64::from(milli) / f64::from(n) / 1000.0 - 1.0).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let deviation = (errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / errors.len() as f64).sqrt();
    assert!(errors.len() > 50, "{}", errors.len());
    assert!(mean.abs() < 0.03 && (0.03..0.07).contains(&deviation), "{mean} {deviation} of {}", errors.len());
}

/// `threads` threads that each move `rate` lines in a microsecond alone, for so long alone.
fn mover(threads: u32, rate: f64, ms: u64) -> Program {
    let refs = vec![Refs { is_rate: true, ..Refs::new(0, rate) }];
    let data = vec![Data { name: "lines".to_owned(), pages: 0, split: Split::Whole, place: PagePlace::FirstTouch }];
    let work = (ms * MS * u64::from(threads)) as f64;
    Program { data, ..Program::new("mover", threads, Body::Phases(vec![region(threads, 1, work, None, refs)])) }
}

fn bus(policy: &str) -> Setup {
    let mut model = named("xeon-4", 0).expect("a machine");
    model.costs = numaestro_sim::machine::Costs::default();
    Setup { contention: Contention::Stretch, ..setup(model, policy, 1) }
}

#[test]
fn counters_say_what_programs_move() {
    let (heard, outcome) = hear(bus("b2arr"), vec![(0, mover(2, 5.0, 1000)), (0, mover(2, 0.5, 1000))]);
    assert_eq!(heard.saturations, [29_400]);
    assert!(heard.rates.len() >= 16, "{}", heard.rates.len());
    for (_, rates) in &heard.rates {
        for rate in rates.iter().flatten() {
            assert!([5000u32, 500].iter().any(|right| rate.abs_diff(*right) <= 5), "{rate}");
        }
    }
    // The bus is not full, so that alone is as fast; one of them may begin with the second turn.
    assert!((1000..=1100).contains(&(outcome.end / MS)), "{}", outcome.end);
}

#[test]
fn a_full_bus_stretches_all_stalls_alike() {
    // 4 times 11 of 29.4: m = 11 * 0.042373 = 0.4661 of the time is stalled, and 44 / (1 - m + m s)
    // = 29.4 gives s = 2.065.
    let (heard, outcome) = hear(bus("b2arr"), vec![(0, mover(4, 11.0, 1000))]);
    let carried = outcome.channels[0].utilisation;
    assert!((0.996..=1.0).contains(&carried), "{carried}");
    assert!((outcome.end as f64 / 1e9 - 44.0 / 29.4).abs() < 0.005, "{}", outcome.end);
    let rates: Vec<u32> = heard.rates.iter().flat_map(|(_, rates)| rates.iter().copied().flatten()).collect();
    assert!(rates.len() > 40 && rates.iter().all(|rate| rate.abs_diff(7350) < 20), "{rates:?}");
    // Whoever moves little is slowed in proportion to how little: 1 - m + m s with m = 0.0424, s
    // from the sum of all four.
    let mixed = hear(bus("rr"), vec![(0, mover(3, 11.0, 1000)), (0, mover(1, 1.0, 1000))]).1;
    let end = |threads| mixed.jobs.iter().find(|job| job.threads == threads).map(|job| job.ended).unwrap_or_default();
    assert!(end(1) > 1000 * MS && end(1) < 1030 * MS, "{}", end(1));
    assert!(end(3) > 1100 * MS, "{}", end(3));
}

#[test]
fn fewer_partners_share_less() {
    let sharing = |threads| {
        let mut program = mover(4, 2.0, 100);
        program.processors = threads;
        let Body::Phases(phases) = &mut program.body else { panic!("phases") };
        let Phase::Parallel { refs, .. } = &mut phases[0] else { panic!("a region") };
        refs[0].sharing = 0.4;
        hear(bus("equi"), vec![(0, program)]).1.jobs[0].misses() as f64
    };
    let (all, two, alone) = (sharing(4), sharing(2), sharing(1));
    assert!((alone / all - 0.6).abs() < 0.001, "{alone} {all}");
    assert!((two / all - (1.0 - 0.4 * 2.0 / 3.0)).abs() < 0.001, "{two} {all}");
}

#[test]
fn policies_are_switched_when_the_scenario_says() {
    let jobs = vec![(0, mover(4, 1.0, 500)), (0, mover(4, 1.0, 500))];
    let switches = vec![(100 * MS, "lqg".to_owned()), (300 * MS, "equi".to_owned())];
    let world = World::new(Setup { switches, ..bus("equi") }, Listed::new(jobs));
    let mut world = world.expect("a policy");
    while world.now() < 200 * MS && world.step(&mut ()) {}
    assert_eq!(world.engine().policy().to_string(), "lqg");
    let outcome = world.run(&mut ());
    assert_eq!(world.engine().policy().to_string(), "equi");
    assert!(outcome.decisions.stops >= 1 && outcome.jobs.len() == 2);
}

#[test]
fn a_closed_list_keeps_its_level() {
    use numaestro_sim::workload::Closed;
    let program = Arc::new(mover(1, 0.1, 50));
    let source = Box::new(Closed::new(vec![program; 9], Some(3)));
    let outcome = World::new(bus("equi"), source).expect("a policy").run(&mut ());
    assert_eq!(outcome.jobs.len(), 9);
    assert_eq!(outcome.levels.iter().map(|level| level.running).max(), Some(3));
    assert!((outcome.mean_level() - 3.0).abs() < 0.01, "{}", outcome.mean_level());
    assert_eq!(outcome.end / MS, 150);
}
