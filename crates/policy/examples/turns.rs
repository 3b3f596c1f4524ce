//! How long the policies that choose threads take for one answer: 64 applications of 16 threads
//! each, 256 PUs, 1 and 4 buses; at the end of a turn and within it. Prints microseconds: median
//! and 99th percentile.
//!
//! `cargo run --release -p numaestro-policy --example turns [TURNS...]`

mod times;

use numaestro_policy::{App, AppId, Bus, Policy, Processor, PuState, Random, Slot, Thread, Turn, View};
use numaestro_topology::{PuId, synthetic};
use std::time::Instant;
use times::percentile;

const APPS: u32 = 64;
const THREADS: u32 = 16;
const PUS: u32 = 256;
const TURNS: usize = 2000;
const QUANTUM: u64 = 100_000_000;
/// Saturation rate of the whole machine, transactions per millisecond.
const SATURATION: u32 = 400_000;

fn app(slot: u32) -> App {
    let id = AppId(u64::from(slot) + 1);
    App { first_thread: slot * THREADS, thread_count: THREADS, ..App::new(id, THREADS) }
}

/// Gives processors as the turn says, as near to its wishes as is simple.
fn carry_out(turn: &Turn, apps: &mut [App], buses: &[Bus]) {
    let mut free: Vec<Vec<PuId>> = buses.iter().map(|bus| bus.pus.iter().collect()).collect();
    for app in apps.iter_mut() {
        app.own.clear();
    }
    let mut give = |slot: Slot, bus: usize, count: u32| {
        for _ in 0..count {
            apps[slot.index()].own.extend(free[bus].pop());
        }
    };
    for &(slot, bus, count) in turn.preferred() {
        give(slot, bus as usize, count);
    }
    if turn.preferred().is_empty() {
        for &(slot, count) in turn.limits() {
            give(slot, 0, count);
        }
    }
}

fn measure(turns: &str, buses: u32) {
    let mut policy = Policy::parse(&format!("turns={turns}"), 0).unwrap_or_else(|rejected| panic!("{rejected}"));
    let machine = synthetic::parse("pack:4 core:64 pu:1").expect("a machine");
    let pus = vec![Processor { state: PuState::Free, ..Processor::default() }; PUS as usize];
    let part = |bus: u32| (0..PUS).filter(|pu| pu * buses / PUS == bus).map(PuId).collect();
    let buses: Vec<Bus> = (0..buses).map(|bus| Bus { pus: part(bus), saturation: SATURATION / buses }).collect();
    let mut apps: Vec<App> = (0..APPS).map(app).collect();
    let order: Vec<Slot> = (0..APPS).map(Slot).collect();
    let thread = |index| Thread { app: Slot(index / THREADS), vp: index % THREADS, last: None, rate: None, samples: 0 };
    let mut threads: Vec<Thread> = (0..APPS * THREADS).map(thread).collect();
    let mut random = Random::new(1);
    let (mut at_end, mut within) = (Vec::new(), Vec::new());
    let mut turn = Turn::new();
    let mut now_ns = 0;
    for _ in 0..TURNS {
        for (times, later) in [(&mut at_end, 0), (&mut within, QUANTUM / 2)] {
            turn.reset(&order);
            let view = View {
                now_ns: now_ns + later,
                machine: &machine,
                pus: &pus,
                apps: &apps,
                order: &order,
                capacity: PUS,
                threads: &threads,
                buses: &buses,
                free_memory: &[],
            };
            let begin = Instant::now();
            policy.turns.now(&view, &mut turn);
            times.push(begin.elapsed().as_nanos() as u64);
        }
        carry_out(&turn, &mut apps, &buses);
        for thread in &mut threads {
            let heavy = 100 * (1 + thread.app.0 % 30);
            (thread.rate, thread.samples) = (Some(heavy + random.below(heavy)), thread.samples + 1);
        }
        now_ns += QUANTUM;
    }
    println!(
        "{turns:32} {} buses  end of turn {:6.1} {:6.1}  within {:6.1} {:6.1}",
        buses.len(),
        percentile(&mut at_end, 50),
        percentile(&mut at_end, 99),
        percentile(&mut within, 50),
        percentile(&mut within, 99)
    );
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let all = ["rr", "b2arr", "b2adss", "lqg", "qwg", "fitness(of=bandwidth,base=dss)", "chunks(mult=4,share=equi)"];
    let all = if asked.is_empty() { all.map(str::to_owned).to_vec() } else { asked };
    for turns in all {
        for buses in [1, 4] {
            measure(&turns, buses);
        }
    }
}
