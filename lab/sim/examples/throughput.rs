//! Thread events per second of processor time: 16 applications of iterative spin-barrier regions on
//! a machine of 64 or 1024 PUs, space-shared by `equi` under max-min contention, with an arrival
//! now and then; and the same time-shared by a system without a manager.
//!
//! `cargo run --release -p numaestro-sim --example throughput [MACHINE [POLICY [MILLIONS]]]`

use numaestro_sim::dist::Dist;
use numaestro_sim::machine;
use numaestro_sim::program::{Body, Data, PagePlace, Phase, Program, Refs, Split, Wait, Work};
use numaestro_sim::workload::{Arrival, Source};
use numaestro_sim::world::{Setup, World};
use std::sync::Arc;

/// Streams of one program each: the next arrives when the last has ended.
#[derive(Debug)]
struct Streams {
    program: Arc<Program>,
    count: u32,
    given: u64,
}

impl Source for Streams {
    fn next(&mut self) -> Option<Arrival> {
        if self.given == u64::from(self.count) {
            return None;
        }
        self.given += 1;
        Some(self.arrival(self.given as u32, self.given * 100_000))
    }

    fn ended(&mut self, stream: u32, now: u64) -> Option<Arrival> {
        self.given += 1;
        Some(self.arrival(stream, now + 1_000_000))
    }

    fn total(&self) -> Option<u64> {
        None
    }
}

impl Streams {
    fn arrival(&self, stream: u32, at: u64) -> Arrival {
        Arrival { at, job: self.given, stream, program: Arc::clone(&self.program), estimate_ns: None, until: None }
    }
}

fn program(processors: u32, wait: Wait) -> Program {
    let refs = vec![Refs::new(0, 2.0)];
    let region = Phase::Parallel {
        width: processors,
        iterations: 2000,
        work: Work::Divided(Dist::Constant(400_000.0), 0.3),
        refs: refs.clone(),
        wait,
        locked: None,
        curve: None,
    };
    let serial = Phase::Serial { work: Dist::Exponential(50_000.0), refs };
    let body = Body::Phases(vec![Phase::Repeat { times: 5, phases: vec![serial, region] }]);
    Program {
        footprint_lines: 1000,
        data: vec![Data { name: "grid".to_owned(), pages: 16, split: Split::PerThread, place: PagePlace::FirstTouch }],
        ..Program::new("iterative", processors, body)
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "k64".to_owned());
    let policy = arguments.next().unwrap_or_else(|| "equi".to_owned());
    let millions: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(4.0);
    let model = Arc::new(machine::named(&name, 0).expect("a machine of the catalogue"));
    let processors = model.topology.pu_count() as u32;
    let source = Streams { program: Arc::new(program(processors, Wait::Spin)), count: 16, given: 0 };
    let settings = numaestro_engine::Settings { policy, ..Default::default() };
    let setup = Setup { settings, ..Setup::new(model) };
    let mut world = World::new(setup, Box::new(source)).expect("a policy");
    let begun = std::time::Instant::now();
    let mut steps = 0u64;
    while (world.events() as f64) < millions * 1e6 && world.step(&mut ()) {
        steps += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let outcome = world.outcome();
    println!(
        "{name}: {:.2} M thread events/s ({:.1} M in {seconds:.2} s, {steps} steps, {} engine events, {} jobs, {:.3} s simulated, fingerprint {:016x})",
        outcome.thread_events as f64 / seconds / 1e6,
        outcome.thread_events as f64 / 1e6,
        outcome.engine_events,
        outcome.jobs.len(),
        outcome.end as f64 / 1e9,
        outcome.fingerprint,
    );
    let sum = |time: fn(&numaestro_sim::outcome::PuTime) -> u64| {
        outcome.pus.iter().map(time).sum::<u64>() as f64 / outcome.end as f64 / f64::from(processors) * 100.0
    };
    println!(
        "work {:.1} %, spin {:.1} %, reload {:.1} %, overhead {:.1} %, idle {:.1} %",
        sum(|time| time.work),
        sum(|time| time.spin),
        sum(|time| time.reload),
        sum(|time| time.overhead),
        sum(|time| time.idle),
    );
}
