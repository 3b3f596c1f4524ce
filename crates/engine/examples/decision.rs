//! How long decisions take: arrivals, departures, requests, sequential phases and ends of turns,
//! interleaved, at four sizes. Prints JSON.
//!
//! `cargo run --release -p numaestro-engine --example decision [POLICY [SIZE [RUNS]]]`, where SIZE
//! is one of the four (0 to 3), as for a profiler.
//!
//! Each run tells the same story to a new engine, so each event costs the same work in every run.
//! The time of an event is the least of all runs: what other programs on this machine take away is
//! not in it, what the decision itself needs is.

use numaestro_engine::{Action, AppId, Bus, Engine, Event, Needs, Settings, Wish};
use numaestro_topology::{Machine, synthetic};
use std::time::Instant;

/// Applications and a machine.
const SIZES: [(u64, &str); 4] = [
    (16, "pack:2 numa:2 l3:4 core:8 pu:2"),
    (64, "pack:4 numa:1 l3:4 core:8 pu:2"),
    (256, "pack:4 numa:2 l3:4 core:16 pu:2"),
    (256, "pack:8 numa:8 core:16 pu:1"),
];
/// Threads of each application, where policies choose among threads: 1024 of 64.
const THREADS: u32 = 16;
const QUANTUM_NS: u64 = 100_000_000;
const ROUNDS: usize = 400;
/// Kinds of events that are timed.
const KINDS: [&str; 6] = ["arrival", "departure", "request", "sequential", "adopted", "turn"];

struct Bench {
    engine: Engine,
    actions: Vec<Action>,
    now: u64,
    newest: u64,
    /// Nanoseconds, by kind.
    times: [Vec<u64>; KINDS.len()],
}

impl Bench {
    fn timed(&mut self, kind: usize, event: &Event) {
        self.now += 1000;
        let begin = Instant::now();
        self.engine.step(self.now, event, &mut self.actions);
        self.times[kind].push(begin.elapsed().as_nanos() as u64);
        self.answer();
    }

    /// Every target is carried out.
    fn answer(&mut self) {
        let mut targets = Vec::new();
        while !self.actions.is_empty() {
            targets.clear();
            targets.extend(self.actions.iter().filter_map(|action| match action {
                Action::Target { app, epoch, .. } => Some((*app, *epoch)),
                _ => None,
            }));
            self.engine.recycle(&mut self.actions);
            for &(app, epoch) in &targets {
                self.now += 1;
                let begin = Instant::now();
                self.engine.step(self.now, &Event::Adopted { app, epoch }, &mut self.actions);
                self.times[4].push(begin.elapsed().as_nanos() as u64);
            }
        }
    }

    /// A quantum is over; what was measured in it is known.
    fn turn(&mut self) {
        if self.engine.policy().turns.chooses_threads() {
            let apps: Vec<_> = self.engine.view().order.iter().map(|&slot| self.engine.view().app(slot).id).collect();
            for app in apps {
                let rate = |vp: u32| Some((app.0 as u32 * 7919 + vp * 104_729 + self.now as u32 / 1024) % 5000);
                let rates = (0..THREADS).map(rate).collect();
                self.engine.step(self.now, &Event::Bandwidth { app, rates }, &mut self.actions);
            }
        }
        self.now += QUANTUM_NS;
        self.timed(5, &Event::Timer);
    }

    fn arrive(&mut self, request: u32) {
        self.newest += 1;
        let wish = Wish::new(request);
        self.timed(0, &Event::Arrive { app: AppId(self.newest), wish });
    }
}

/// The whole story, told once.
fn tell(apps: u64, machine: &Machine, policy: &str) -> Bench {
    let pus = machine.pu_count();
    let wanted = if apps == 64 { THREADS } else { pus as u32 };
    let nodes = machine.numa_nodes().iter();
    let buses = nodes.map(|node| Bus { pus: node.pus.clone(), saturation: 30_000 }).collect();
    let host = Needs { requests: true, speedup: true, bandwidth: true, page_control: true, preemption: true };
    let settings = Settings { policy: policy.to_owned(), buses, host, ..Settings::default() };
    let engine = Engine::new(machine.clone(), settings, 1).unwrap_or_else(|rejected| panic!("{rejected}"));
    let mut bench = Bench { engine, actions: Vec::new(), now: 0, newest: 0, times: Default::default() };
    for _ in 1..apps {
        bench.arrive(wanted);
    }
    bench.times = Default::default();
    for round in 0..ROUNDS as u64 {
        bench.arrive(wanted);
        let app = AppId(bench.newest - round * 7 % apps);
        let some = (round % 13 + 1) as u32;
        bench.timed(2, &Event::Request { app, processors: some });
        bench.timed(2, &Event::Request { app, processors: wanted });
        bench.timed(3, &Event::Sequential { app });
        bench.timed(3, &Event::Parallel { app });
        bench.timed(1, &Event::Depart { app });
        bench.answer();
        bench.turn();
    }
    bench
}

fn measure(apps: u64, machine: &str, policy: &str, runs: usize) -> serde_json::Value {
    let machine = synthetic::parse(machine).expect("a machine");
    let mut bench = tell(apps, &machine, policy);
    for _ in 1..runs {
        let again = tell(apps, &machine, policy);
        for (times, again) in bench.times.iter_mut().flatten().zip(again.times.iter().flatten()) {
            *times = (*times).min(*again);
        }
    }
    let results = KINDS.iter().zip(&mut bench.times).map(|(kind, times)| {
        times.sort_unstable();
        // With a queue it can be that nobody is told anything.
        let at = |part: usize| times.get(times.len().saturating_sub(1) * part / 100).copied();
        (
            (*kind).to_owned(),
            serde_json::json!({ "median_ns": at(50), "p99_ns": at(99), "longest_ns": at(100), "n": times.len() }),
        )
    });
    let results: serde_json::Map<_, _> = results.collect();
    serde_json::json!({
        "applications": apps,
        "pus": machine.pu_count(),
        "nodes": machine.numa_nodes().len(),
        "policy": bench.engine.policy().to_string(),
        "runs": runs,
        "decisions": results,
    })
}

fn main() {
    let policy = std::env::args().nth(1).unwrap_or_default();
    let number = |at: usize| -> Option<usize> { std::env::args().nth(at)?.parse().ok() };
    let (only, runs) = (number(2), number(3).unwrap_or(1));
    for (_, (apps, machine)) in SIZES.into_iter().enumerate().filter(|&(size, _)| only.is_none_or(|only| only == size))
    {
        println!("{}", measure(apps, machine, &policy, runs));
    }
}
