//! What queueing theory knows exactly, found again by the simulator and the engine together: each
//! within the 99 % interval of its own runs.
//!
//! Sources: Kleinrock 1975 and 1976 (M/M/1, M/M/c, M/D/1, processor sharing); Lazowska et al. 1984,
//! ch. 6 and 7 (mean value analysis).

#![allow(clippy::cast_sign_loss)] // Times are never below 0.

mod support;
mod world_support;

use numaestro_sim::Nanos;
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Model, System, read as machine_file};
use numaestro_sim::memory::Contention;
use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::program::{Body, Data, PagePlace, Phase, Program, Refs, Split, Stretch, Wait};
use numaestro_sim::random::{Purpose, Stream};
use numaestro_sim::read::{NoFiles, Text};
use numaestro_sim::speedup::Curve;
use numaestro_sim::workload::{Arrival, List, Open, Order, Source, StreamPlan, Streams};
use numaestro_sim::world::{Observer, Occupant, Setup, World};
use numaestro_topology::PuId;
use std::sync::Arc;
use support::{confirms, run};
use world_support::{curve, each, machine, program, setup};

/// The unit of service times.
const MS: f64 = 1e6;
/// Share of the jobs, the first ones, in which the queue is not yet what it will be.
const WARM_UP: f64 = 0.2;

/// Poisson arrivals of one program.
fn poisson(program: Program, interval: f64, jobs: u64, seed: u64) -> Box<dyn Source> {
    Box::new(Open::new(vec![(Arc::new(program), 1.0)], Dist::Exponential(interval), 1.0, Some(jobs), seed))
}

/// A job that computes for so long.
fn serial(work: Dist) -> Program {
    program(1, vec![Phase::Serial { work, refs: Vec::new() }])
}

/// A job of so much work that has no threads: on one processor a fluid, so that several share it at
/// once.
fn fluid(work: Dist) -> Program {
    let body = Body::curve(work, Curve::Linear, 0);
    Program { name: "curve".to_owned(), ..Program { body, ..program(1, Vec::new()) } }
}

/// Mean over the jobs that came after the warm-up, in service times.
fn mean(outcome: &Outcome, of: impl Fn(&JobRecord) -> Nanos) -> f64 {
    let first = (outcome.jobs.len() as f64 * WARM_UP) as u64;
    let counted: Vec<f64> = outcome.jobs.iter().filter(|job| job.job >= first).map(|job| of(job) as f64).collect();
    counted.iter().sum::<f64>() / counted.len() as f64 / MS
}

/// A station of `pus` processors with utilisation `rho`.
struct Station {
    pus: usize,
    rho: f64,
    policy: &'static str,
    quantum: u64,
}

impl Station {
    const FCFS: Self = Self { pus: 1, rho: 0.7, policy: "fcfs", quantum: 1_000_000_000 };

    /// One run for each seed.
    fn outcomes(&self, program: &Program, jobs: u64, seeds: u64) -> Vec<Outcome> {
        let one = |seed| {
            let model = machine(self.pus, System::RoundRobin, self.quantum);
            let source = poisson(program.clone(), MS / (self.rho * self.pus as f64), jobs, seed);
            run(setup(model, self.policy, seed), source)
        };
        (1..=seeds).map(one).collect()
    }

    /// What is asked of each of them.
    fn runs(&self, program: &Program, jobs: u64, seeds: u64, of: impl Fn(&JobRecord) -> Nanos) -> Vec<f64> {
        self.outcomes(program, jobs, seeds).iter().map(|outcome| mean(outcome, &of)).collect()
    }
}

fn wait(job: &JobRecord) -> Nanos {
    job.started - job.arrived
}

/// Probability that an arrival waits at M/M/c, and from it the mean wait in service times.
fn erlang_wait(servers: u32, rho: f64) -> f64 {
    let load = rho * f64::from(servers);
    // Erlang's B by its recursion over servers, then C from it.
    let blocked = (1..=servers).fold(1.0, |blocked, n| load * blocked / (f64::from(n) + load * blocked));
    let waits = blocked / (1.0 - rho * (1.0 - blocked));
    waits / (f64::from(servers) * (1.0 - rho))
}

#[test]
fn mm1_first_come_first_served() {
    let outcomes = Station::FCFS.outcomes(&serial(Dist::Exponential(MS)), 3000, 16);
    let samples = |of: fn(&JobRecord) -> Nanos| outcomes.iter().map(|outcome| mean(outcome, of)).collect::<Vec<f64>>();
    confirms("M/M/1 response", &samples(JobRecord::response), 1.0 / (1.0 - 0.7), 0.10);
    confirms("M/M/1 wait", &samples(wait), 0.7 / (1.0 - 0.7), 0.15);
}

/// When each of these jobs (arrival, service) starts, first come first served: as soon as the first
/// of `servers` is free (Kiefer and Wolfowitz 1955).
fn starts(servers: usize, jobs: &[(Nanos, Nanos)]) -> Vec<Nanos> {
    let mut free = vec![0; servers];
    let start = |&(arrived, service): &(Nanos, Nanos)| {
        let first = free.iter_mut().min().expect("a server");
        let start = arrived.max(*first);
        *first = start + service;
        start
    };
    jobs.iter().map(start).collect()
}

#[test]
fn mmc_waits_as_erlang_says() {
    let job = serial(Dist::Exponential(MS));
    let four = Station { pus: 4, rho: 0.8, ..Station::FCFS };
    confirms("M/M/4", &four.runs(&job, 3000, 12, wait), erlang_wait(4, 0.8), 0.25);
}

#[test]
fn m_m_64_waits_as_erlang_says() {
    let truth = erlang_wait(64, 0.9);
    assert!((truth - 0.048_541).abs() < 5e-7, "{truth}");
    // The simulator gives every job the start that the recursion gives it, to the nanosecond ...
    for seed in 1..=3 {
        let source = poisson(serial(Dist::Exponential(MS)), MS / 57.6, 1000, seed);
        let mut jobs = run(setup(machine(64, System::RoundRobin, 1_000_000), "fcfs", seed), source).jobs;
        jobs.sort_by_key(|job| job.job);
        let given: Vec<(Nanos, Nanos)> = jobs.iter().map(|job| (job.arrived, job.cpu_ns)).collect();
        let found: Vec<Nanos> = jobs.iter().map(|job| job.started).collect();
        assert_eq!(found, starts(64, &given));
        assert!(jobs.iter().any(|job| wait(job) > 0), "somebody waits");
    }
    // ... and the recursion, over as many jobs as a narrow interval takes, gives what Erlang says.
    let mean = |seed| {
        let mut source = poisson(serial(Dist::Constant(MS)), MS / 57.6, 60_000, seed);
        let mut services = Stream::new(seed, Purpose::Program, 0);
        let jobs: Vec<(Nanos, Nanos)> = std::iter::from_fn(|| source.next())
            .map(|arrival| (arrival.at, Dist::Exponential(MS).draw_whole(&mut services)))
            .collect();
        let waits: Vec<f64> = starts(64, &jobs).iter().zip(&jobs).map(|(start, job)| (start - job.0) as f64).collect();
        waits[5000..].iter().sum::<f64>() / (waits.len() - 5000) as f64 / MS
    };
    confirms("M/M/64", &(1..=16).map(mean).collect::<Vec<f64>>(), truth, 0.20);
}

#[test]
fn md1_waits_half_as_long_as_mm1() {
    // Pollaczek and Khinchine: rho (1 + cv²) / 2 (1 - rho).
    let station = Station::FCFS;
    for (work, cv2) in [(Dist::Constant(MS), 0.0), (Dist::MeanCv(MS, 0.5), 0.25), (Dist::MeanCv(MS, 1.3), 1.69)] {
        let truth = 0.7 * (1.0 + cv2) / 2.0 / (1.0 - 0.7);
        confirms(&format!("M/G/1, cv² {cv2}"), &station.runs(&serial(work), 2500, 12, wait), truth, 0.25);
    }
}

#[test]
fn processor_sharing_does_not_mind_the_distribution() {
    let station = Station { rho: 0.6, policy: "equi", ..Station::FCFS };
    for work in [Dist::Exponential(MS), Dist::Constant(MS), Dist::MeanCv(MS, 2.0)] {
        let samples = station.runs(&fluid(work.clone()), 2500, 12, JobRecord::response);
        confirms(&format!("M/G/1-PS, {work:?}"), &samples, 1.0 / (1.0 - 0.6), 0.15);
    }
}

#[test]
fn short_slices_share_a_processor() {
    let responses = |program: Program, quantum: u64| {
        let model = machine(1, System::RoundRobin, quantum);
        let source = poisson(program, MS / 0.6, 250, 3);
        let mut jobs = run(setup(model, "equi", 3), source).jobs;
        jobs.sort_by_key(|job| job.job);
        jobs.iter().map(|job| job.response() as f64).collect::<Vec<f64>>()
    };
    for work in [Dist::Exponential(MS), Dist::Constant(MS), Dist::MeanCv(MS, 2.0)] {
        let shared = responses(fluid(work.clone()), 1);
        // The same jobs with slices of 40, 10, 2.5 % of a service time: the distance goes with the
        // length of the slice.
        let distance = |quantum| {
            let sliced = responses(serial(work.clone()), quantum);
            let off: f64 = sliced.iter().zip(&shared).map(|(a, b)| (a - b).abs()).sum();
            off / shared.iter().sum::<f64>()
        };
        let distances = [400_000, 100_000, 25_000].map(distance);
        assert!(distances[2] < 0.02, "{work:?}: {distances:?}");
        assert!(distances[2] < distances[0] / 4.0, "{work:?}: {distances:?}");
    }
    let station = Station { rho: 0.6, policy: "equi", quantum: 50_000, ..Station::FCFS };
    let samples = station.runs(&serial(Dist::MeanCv(MS, 1.3)), 600, 12, JobRecord::response);
    confirms("round robin, cv 1.3", &samples, 1.0 / (1.0 - 0.6), 0.25);
}

/// Throughput of a closed network of `customers` that think `think` and queue for one server of
/// service time `service`, exactly.
fn exact_mva(customers: u32, think: f64, service: f64) -> f64 {
    let (mut queue, mut throughput) = (0.0, 0.0);
    for n in 1..=customers {
        let residence = service * (1.0 + queue);
        throughput = f64::from(n) / (think + residence);
        queue = throughput * residence;
    }
    throughput
}

#[test]
fn the_machine_repairman() {
    let truth = exact_mva(64, 1.0, 1.0 / 64.0);
    assert!((truth - 58.0219).abs() < 1e-4, "{truth}");
    // Applications that are off for 1, then need the one processor for 1/64: a job in each round.
    let phases = vec![
        Phase::Pause { time: Dist::Exponential(64.0 * MS) },
        Phase::Serial { work: Dist::Exponential(MS), refs: Vec::new() },
    ];
    let customer = Arc::new(program(1, vec![Phase::Repeat { times: u32::MAX, phases }]));
    let plan = StreamPlan {
        programs: vec![customer],
        repetitions: Some(1),
        start: Dist::Constant(0.0),
        gap: Dist::Constant(0.0),
    };
    let throughput = |seed| {
        let source = Box::new(Streams::new(vec![plan.clone(); 64], Order::Given, seed));
        let model = machine(1, System::RoundRobin, 1_000_000_000);
        let mut world = World::new(setup(model, "equi", seed), source).expect("a policy");
        let mut until = |time: Nanos| {
            while world.now() < time && world.step(&mut ()) {}
            (world.now(), world.outcome().pus[0].work)
        };
        let (begin, end) = (until(300_000_000), until(1_500_000_000));
        // The utilisation law: the server works 1/64 for each customer.
        (end.1 - begin.1) as f64 / (end.0 - begin.0) as f64 * 64.0
    };
    let samples: Vec<f64> = (1..=16).map(throughput).collect();
    confirms("machine repairman", &samples, truth, 0.03);
}

#[test]
fn barriers_are_one_over_the_harmonic_number_efficient() {
    for (threads, iterations, expected) in [(4u32, 400, 0.480), (16, 200, 0.296), (64, 60, 0.211)] {
        let harmonic: f64 = (1..=threads).map(|n| 1.0 / f64::from(n)).sum();
        assert!((1.0 / harmonic - expected).abs() < 5e-4);
        for wait in [Wait::Spin, Wait::Block] {
            let team = Arc::new(program(threads, vec![each(threads, iterations, Dist::Exponential(MS), wait)]));
            let longest = |seed| {
                let source = Open::new(vec![(team.clone(), 1.0)], Dist::Constant(0.0), 1.0, Some(1), seed);
                let model = machine(threads as usize, System::RoundRobin, 1_000_000);
                run(setup(model, "equi", seed), Box::new(source)).end as f64 / f64::from(iterations) / MS
            };
            let samples: Vec<f64> = (1..=10).map(longest).collect();
            confirms(&format!("{threads} threads, {wait:?}"), &samples, harmonic, 0.06);
        }
    }
}

/// `pus` processors on one bus of this many transactions per microsecond; a line takes a bus cycle
/// alone.
fn bus(pus: u32, per_us: f64) -> Model {
    let text = format!(
        "name = \"bus\"\nabout = \"-\"\ntopology = \"core:{pus} pu:1\"\ncycle = \"1 ns\"\n\
         [memory]\npage_bytes = 4096\nnode_pages = 1000\n[access]\nhit = 1\n\
         [[access.class]]\nname = \"memory\"\nwithin = \"machine\"\nline = {}\n\
         [[channel]]\nname = \"bus\"\nover = \"bus\"\neach = \"machine\"\nper_us = {per_us}\n",
        1e3 / per_us
    );
    machine_file(Text::new("bus.toml", &text), &NoFiles).expect("a machine")
}

#[test]
fn a_bus_is_as_far_from_exact_mean_values_as_schweitzers_method_is() {
    // Threads that make one transaction in each microsecond of work: customers that think 1 and
    // queue for 1 / per_us.
    for (threads, per_us, low, high) in [(4, 64.0, -0.002, 0.0), (16, 16.0, -0.035, -0.02), (64, 64.0, -0.025, -0.01)] {
        let refs = Refs::new(0, 1.0);
        let region = match each(threads, 1, Dist::Constant(10.0 * MS), Wait::Spin) {
            Phase::Parallel { width, iterations, work, wait, locked, curve, .. } => {
                Phase::Parallel { width, iterations, work, refs: vec![refs], wait, locked, curve }
            }
            other => other,
        };
        let data = Data { name: "all".to_owned(), pages: 1, split: Split::Whole, place: PagePlace::FirstTouch };
        let team = Arc::new(Program { data: vec![data], ..program(threads, vec![region]) });
        let source = Open::new(vec![(team, 1.0)], Dist::Constant(0.0), 1.0, Some(1), 1);
        let setup = Setup { contention: Contention::Amva, ..setup(bus(threads, per_us), "equi", 1) };
        let outcome = run(setup, Box::new(source));
        let throughput = f64::from(threads) * 10.0 * MS / outcome.end as f64;
        let error = throughput / exact_mva(threads, 1.0, 1.0 / per_us) - 1.0;
        assert!((low..=high).contains(&error), "{threads} threads: {error}");
        // Bytes: what the bus carried is what the threads asked for.
        let carried = outcome.channels[0].utilisation * per_us;
        assert!((carried / throughput - 1.0).abs() < 1e-5, "{threads} threads: {carried} is not {throughput}");
        let (local, asked) = (outcome.jobs[0].local_refs + outcome.jobs[0].remote_refs, u64::from(threads) * 10_000);
        assert_eq!(local, asked);
    }
}

/// Adds up what curves do on the processors that they are seen to have.
#[derive(Debug)]
struct Progress {
    /// Of each job.
    curves: Vec<Curve>,
    /// Of each processor.
    owner: Vec<Option<u64>>,
    done: Vec<f64>,
    /// Processors given and taken.
    changes: f64,
    since: Nanos,
}

impl Observer for Progress {
    fn runs(&mut self, at: Nanos, pu: PuId, what: Occupant) {
        for (job, (curve, done)) in self.curves.iter().zip(&mut self.done).enumerate() {
            let pus = self.owner.iter().filter(|&&owner| owner == Some(job as u64)).count();
            *done += curve.speedup(pus as u32) * (at - self.since) as f64;
        }
        self.since = at;
        self.changes += 1.0;
        self.owner[pu.index()] = what.map(|(_, job, _)| job);
    }
}

#[test]
fn curves_do_their_work_exactly_whatever_they_have_meanwhile() {
    let curves = [
        Curve::Linear,
        Curve::Amdahl(0.1),
        Curve::Downey { average: 5.0, sigma: 0.8 },
        Curve::Downey { average: 4.0, sigma: 1.7 },
        Curve::Sevcik { imbalance: 1.0, serial: 0.02, overhead: 0.01 },
        Curve::Table(vec![(1, 1.0), (4, 3.5), (16, 6.0)]),
    ];
    for (seed, policy) in (1..=40).zip(["equi", "dss", "equip", "fifo"].into_iter().cycle()) {
        let mut stream = Stream::new(seed, Purpose::Generator, 0);
        let jobs: Vec<(u64, Curve, f64)> = (0..8)
            .map(|_| {
                let curve = curves[stream.below(curves.len() as u32) as usize].clone();
                (u64::from(stream.below(20_000_000)), curve, f64::from(stream.below(40_000_000)))
            })
            .collect();
        let arrivals = jobs.iter().map(|(at, shape, work)| Arrival {
            at: *at,
            job: 0,
            stream: 0,
            program: Arc::new(Program { name: "curve".to_owned(), ..curve(9, *work, shape.clone(), 0) }),
            estimate_ns: None,
            until: None,
        });
        let source = List::new(arrivals.collect());
        let mut order = source.clone();
        let works: Vec<(Curve, f64)> = std::iter::from_fn(|| order.next())
            .map(|arrival| match &arrival.program.body {
                Body::Curve { stretches, curve, .. } => (curve.clone(), stretches.iter().map(Stretch::mean_work).sum()),
                other @ Body::Phases(_) => panic!("a curve of constant work: {other:?}"),
            })
            .collect();
        let mut progress = Progress {
            curves: works.iter().map(|(curve, _)| curve.clone()).collect(),
            owner: vec![None; 16],
            done: vec![0.0; works.len()],
            changes: 0.0,
            since: 0,
        };
        let setup = setup(machine(16, System::RoundRobin, 1_000_000), policy, seed);
        let outcome = World::new(setup, Box::new(source)).expect("a policy").run(&mut progress);
        assert_eq!(outcome.jobs.len(), 8);
        for ((_, work), done) in works.iter().zip(&progress.done) {
            // Never less than its work; a nanosecond on all its processors is lost at most with
            // each change and at the end.
            let (low, high) = (work - 0.1, work + 9.0 * (progress.changes + 1.0));
            assert!((low..=high).contains(done), "{policy}, seed {seed}: {done} of {work}");
        }
    }
}
