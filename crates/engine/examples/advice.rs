//! How long advice takes: the copy, the arrival, everybody's making room. Prints JSON.
//!
//! `cargo run --release -p numaestro-engine --example advice [POLICY]`

use numaestro_engine::{Action, AppId, Bus, Engine, Event, Needs, Settings, Wish};
use numaestro_topology::synthetic;
use std::time::Instant;

/// Applications and a machine.
const SIZES: [(u64, &str); 3] = [
    (16, "pack:2 numa:2 l3:4 core:8 pu:2"),
    (64, "pack:4 numa:1 l3:4 core:8 pu:2"),
    (256, "pack:4 numa:2 l3:4 core:16 pu:2"),
];
const ROUNDS: usize = 200;

fn settled(machine: &str, policy: &str, apps: u64) -> Engine {
    let machine = synthetic::parse(machine).expect("a machine");
    let host = Needs { requests: true, speedup: true, bandwidth: true, page_control: true, preemption: true };
    let buses = machine.numa_nodes().iter().map(|node| Bus { pus: node.pus.clone(), saturation: 0 }).collect();
    let settings = Settings { policy: policy.to_owned(), host, buses, ..Settings::default() };
    let mut engine = Engine::new(machine, settings, 1).expect("a policy");
    let mut actions = Vec::new();
    for app in 1..=apps {
        engine.step(app, &Event::Arrive { app: AppId(app), wish: Wish::new(16) }, &mut actions);
        while let Some(at) = actions.iter().position(|action| matches!(action, Action::Target { .. })) {
            if let Action::Target { app, epoch, .. } = actions.swap_remove(at) {
                engine.step(engine.view().now_ns, &Event::Adopted { app, epoch }, &mut actions);
            }
        }
        actions.clear();
    }
    engine
}

fn main() {
    let policy = std::env::args().nth(1).unwrap_or_default();
    let lines = SIZES.map(|(apps, machine)| {
        let engine = settled(machine, &policy, apps);
        let now = engine.view().now_ns + 1;
        let sorted = |what: &dyn Fn()| {
            let mut times: Vec<u64> = (0..ROUNDS)
                .map(|_| {
                    let begin = Instant::now();
                    what();
                    begin.elapsed().as_nanos() as u64
                })
                .collect();
            times.sort_unstable();
            times
        };
        let copy = sorted(&|| drop(std::hint::black_box(engine.clone())));
        let advice = sorted(&|| drop(std::hint::black_box(engine.advise(now, &Wish::new(16), &[]))));
        let found = engine.advise(now, &Wish::new(16), &[]).expect("it can come");
        format!(
            "{{\"apps\":{apps},\"pus\":{},\"copy_ns_p50\":{},\"advice_ns_p50\":{},\"advice_ns_max\":{},\"count\":{}}}",
            engine.machine().pu_count(),
            copy[ROUNDS / 2],
            advice[ROUNDS / 2],
            advice[ROUNDS - 1],
            found.count
        )
    });
    println!("[{}]", lines.join(",\n "));
}
