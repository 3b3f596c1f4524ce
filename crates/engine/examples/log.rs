//! How long the engine alone takes for a log of rigid jobs: arrivals and departures, nothing in
//! between. Prints JSON.
//!
//! `cargo run --release -p numaestro-engine --example log [LOG.swf|JOBS [POLICY [PUS]]]`
//!
//! A number makes that many jobs in which long queues form: powers of two, log-uniform run times,
//! an offered load above one.

use numaestro_engine::{Action, AppId, Class, Engine, Event, Settings, Wish};
use numaestro_policy::Random;
use numaestro_topology::synthetic;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Instant;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;
/// Processors if nothing else is said: those of the iPSC/860 whose log is best known.
const PUS: u32 = 128;

/// One rigid job, times in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Job {
    submit: u64,
    run: u64,
    estimate: u64,
    processors: u32,
}

/// Jobs of a log in the Standard Workload Format, as far as they ran.
fn read(text: &str, pus: u32) -> Vec<Job> {
    let lines = text.lines().filter(|line| !line.starts_with(';'));
    let mut jobs: Vec<Job> = lines
        .filter_map(|line| {
            // Negative numbers mean unknown.
            let fields: Vec<u64> = line.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
            let positive = |at: usize| fields.get(at).copied().filter(|&value| value > 0);
            let run = *fields.get(3)?;
            let processors = positive(4).or(positive(7))?;
            Some(Job {
                submit: *fields.get(1)? * SECOND,
                run: run * SECOND,
                estimate: positive(8).unwrap_or(run) * SECOND,
                processors: (processors as u32).min(pus),
            })
        })
        .collect();
    jobs.sort_by_key(|job| job.submit);
    jobs
}

fn made_up(count: u32, pus: u32) -> Vec<Job> {
    let mut random = Random::new(1);
    let mut at = 0;
    let widths = pus.ilog2() + 1;
    let job = |_| {
        let run = SECOND << random.below(14);
        let processors = 1 << random.below(widths);
        // Means: run 1170 s, processors (2·pus − 1) / widths, so that this interval offers 1.1
        // times what there is.
        at += u64::from(random.below(2 * 1170 * 2 / widths)) * SECOND * 10 / 11;
        Job { submit: at, run, estimate: run * u64::from(1 + random.below(4)), processors }
    };
    (0..count).map(job).collect()
}

/// What came out.
#[derive(Debug, Default)]
struct Outcome {
    steps: u64,
    engine_ns: u64,
    longest_queue: usize,
    wait_ns: u128,
}

fn run(jobs: &[Job], mut engine: Engine) -> Outcome {
    let mut actions = Vec::new();
    let mut out = Outcome::default();
    let mut ends: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let (mut next, mut waiting) = (0, 0_usize);
    loop {
        let arrival = jobs.get(next).map(|job| job.submit);
        let end = ends.peek().map(|&Reverse((at, _))| at);
        let (now, event) = match (arrival, end) {
            (_, Some(at)) if arrival.is_none_or(|arrival| at <= arrival) => {
                let Some(Reverse((_, app))) = ends.pop() else { unreachable!("it was there") };
                (at, Event::Depart { app: AppId(app) })
            }
            (Some(at), _) => {
                next += 1;
                waiting += 1;
                (at, Event::Arrive { app: AppId(next as u64), wish: wish(&jobs[next - 1]) })
            }
            (None, _) => break,
        };
        let begin = Instant::now();
        engine.step(now, &event, &mut actions);
        out.engine_ns += begin.elapsed().as_nanos() as u64;
        out.steps += 1;
        for action in &actions {
            if let Action::Start { app } = action {
                let job = &jobs[app.0 as usize - 1];
                ends.push(Reverse((now + job.run, app.0)));
                waiting -= 1;
                out.wait_ns += u128::from(now - job.submit);
            }
        }
        out.longest_queue = out.longest_queue.max(waiting);
        engine.recycle(&mut actions);
    }
    out
}

fn wish(job: &Job) -> Wish {
    Wish {
        min: job.processors,
        max: job.processors,
        class: Class::Fold,
        estimate_ns: Some(job.estimate),
        ..Wish::new(job.processors)
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let log = args.next().unwrap_or_else(|| "10000".to_owned());
    let policies = args.next().map_or_else(|| vec!["fcfs".to_owned(), "easy".to_owned()], |policy| vec![policy]);
    let pus: u32 = args.next().map_or(PUS, |pus| pus.parse().expect("a number of processors"));
    let jobs = match log.parse() {
        Ok(count) => made_up(count, pus),
        Err(_) => read(&std::fs::read_to_string(&log).unwrap_or_else(|error| panic!("{log}: {error}")), pus),
    };
    for policy in policies {
        let machine = synthetic::parse(&format!("core:{pus} pu:1")).expect("a machine");
        let settings = Settings { policy: policy.clone(), positions: 0, ..Settings::default() };
        let engine = Engine::new(machine, settings, 1).unwrap_or_else(|rejected| panic!("{rejected}"));
        let begin = Instant::now();
        let out = run(&jobs, engine);
        let seconds = begin.elapsed().as_secs_f64();
        let result: BTreeMap<&str, serde_json::Value> = [
            ("policy", policy.into()),
            ("jobs", jobs.len().into()),
            ("seconds", seconds.into()),
            ("ns_a_step", (out.engine_ns / out.steps.max(1)).into()),
            ("longest_queue", out.longest_queue.into()),
            ("mean_wait_s", (out.wait_ns as f64 / SECOND as f64 / jobs.len().max(1) as f64).into()),
        ]
        .into();
        println!("{}", serde_json::to_string(&result).expect("numbers and words"));
    }
}
