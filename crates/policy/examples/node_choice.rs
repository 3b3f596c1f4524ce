//! The choice of groups alone: how long it takes, and how far it is from the best there is. Prints
//! JSON.
//!
//! `cargo run --release -p numaestro-policy --example node_choice`

use numaestro_policy::placement::repartition::{Arranger, Costs, Ground, PoolLevels, Seat, Weights, optimum};
use numaestro_policy::{Random, Tie};
use numaestro_topology::{NumaNodeId, synthetic};
use std::time::Instant;

/// A random situation: programs hold something, want something, and have their pages somewhere.
fn fill(random: &mut Random, ground: &Ground, nodes: u32, arranger: &mut Arranger, wanted: &[u16]) {
    arranger.board.reset(ground.groups(), wanted.len());
    arranger.memory.reset(ground, nodes as usize);
    for (number, &wanted) in wanted.iter().enumerate() {
        arranger.board.enter(Seat { wanted, number: number as u32 });
        let row = match random.below(2) {
            0 => vec![0; ground.groups()],
            _ => ground.reach(NumaNodeId(random.below(nodes))).to_vec(),
        };
        arranger.memory.enter_row(&row);
    }
    // Who is there is mostly in one place, as it is when programs have come one by one.
    for group in 0..ground.groups() {
        let resident = random.below(wanted.len() as u32) as usize;
        for _ in ground.members(group) {
            match random.below(8) {
                0 => arranger.board.add_room(group, 1),
                1 => arranger.board.holds(random.below(wanted.len() as u32) as usize, group),
                _ => arranger.board.holds(resident, group),
            }
        }
    }
}

fn gaps() {
    let mut random = Random::new(1);
    let (mut gaps, mut equal) = (Vec::new(), 0);
    for _ in 0..5000 {
        let machines = ["numa:4 core:4 pu:1", "numa:3 core:4 pu:1", "pack:2 numa:2 core:3 pu:1", "numa:2 core:8 pu:1"];
        let machine = synthetic::parse(machines[random.below(4) as usize]).expect("a machine");
        let nodes = machine.numa_nodes().len() as u32;
        let distances = (0..nodes * nodes).map(|at| if at % (nodes + 1) == 0 { 10 } else { 14 + random.below(20) });
        let machine = machine.with_node_distances(distances.collect()).expect("distances");
        let ground = Ground::form(&machine, &PoolLevels::default(), machine.all());
        let mut arranger = Arranger::new(Weights::default(), Tie::Lowest, 0);
        let mut left = machine.pu_count() as u32;
        let programs = 1 + random.below(5);
        let wanted: Vec<u16> = (0..programs)
            .map(|_| {
                let wanted = random.below(left.min(8) + 1);
                left -= wanted;
                wanted as u16
            })
            .collect();
        fill(&mut random, &ground, nodes, &mut arranger, &wanted);
        let costs = |arranger: &Arranger, of: &dyn Fn(&Costs<'_>) -> i64| {
            of(&Costs { ground: &ground, memory: &arranger.memory, weights: arranger.weights })
        };
        let best = costs(&arranger, &|costs| optimum(costs, &arranger.board));
        arranger.arrange(&ground);
        let ours = costs(&arranger, &|costs| costs.total(&arranger.board));
        equal += u32::from(ours == best);
        gaps.push((ours - best) as f64 / best.max(1) as f64);
    }
    gaps.sort_by(f64::total_cmp);
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let at = |permille: usize| gaps[(gaps.len() - 1) * permille / 1000];
    println!(
        "{{\"what\": \"gap to the optimum\", \"cases\": {}, \"optimal\": {:.4}, \"mean\": {mean:.4}, \"p90\": {:.4}, \"p99\": {:.4}, \"max\": {:.4}}}",
        gaps.len(),
        f64::from(equal) / gaps.len() as f64,
        at(900),
        at(990),
        at(1000)
    );
}

fn times() {
    for (text, programs, each) in [
        ("pack:4 numa:4 core:16 pu:1", 17, 15),
        ("pack:4 numa:4 core:16 pu:1", 64, 4),
        ("pack:8 numa:8 core:16 pu:1", 20, 50),
        ("pack:8 numa:8 core:16 pu:1", 65, 15),
        ("pack:8 numa:8 core:16 pu:1", 256, 4),
    ] {
        let machine = synthetic::parse(text).expect("a machine");
        let nodes = machine.numa_nodes().len() as u32;
        let ground = Ground::form(&machine, &PoolLevels::default(), machine.all());
        let mut arranger = Arranger::new(Weights::default(), Tie::Lowest, 0);
        let (mut random, mut times) = (Random::new(2), Vec::new());
        for _ in 0..300 {
            fill(&mut random, &ground, nodes, &mut arranger, &vec![each; programs]);
            let begin = Instant::now();
            arranger.arrange(&ground);
            times.push(begin.elapsed().as_nanos());
        }
        times.sort_unstable();
        println!(
            "{{\"what\": \"choice from a random situation\", \"machine\": \"{text}\", \"programs\": {programs}, \"median_ns\": {}, \"p99_ns\": {}}}",
            times[times.len() / 2],
            times[times.len() * 99 / 100]
        );
    }
}

fn main() {
    gaps();
    times();
}
