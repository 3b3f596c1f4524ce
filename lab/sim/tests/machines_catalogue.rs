//! The machines that come with the simulator are those of the papers, to the cycle.

use numaestro_sim::machine::{self, Model, Op, System};
use numaestro_topology::{Level, NumaNodeId, PuId};

fn named(name: &str, delay: u32) -> Model {
    machine::named(name, delay).unwrap_or_else(|| panic!("{name} is a machine"))
}

/// Cycles of a reference from a PU to a node's memory, times ten.
fn tenths(model: &Model, pu: u32, node: u32, op: Op) -> u64 {
    let ps = model.cost_ps(PuId(pu), NumaNodeId(node), op);
    (ps * 10 + model.cycle_ps / 2) / model.cycle_ps
}

fn cycles(model: &Model, pu: u32, node: u32, op: Op) -> u64 {
    let tenths = tenths(model, pu, node, op);
    assert_eq!(tenths % 10, 0, "{}: whole cycles", model.name);
    tenths / 10
}

#[test]
fn all_can_be_had_by_name() {
    for &name in machine::names() {
        let model = named(name, 0);
        assert_eq!(model.name, name);
        assert!(machine::describe(&model).starts_with(name));
        let pairs = model.topology.pu_count() * model.topology.numa_nodes().len();
        assert_eq!(model.access.class_of.len(), pairs, "{name}");
        for pu in model.topology.pus() {
            assert_eq!(model.class(pu.id, pu.node), 0, "{name}: the own node is the nearest class");
        }
    }
    assert!(machine::named("hector2", 0).is_none());
}

/// B93-Tab1.4, B97-Tab1.
#[test]
fn hector_has_the_printed_times() {
    let rows = [
        (0, [27, 17, 37, 42]),
        (4, [35, 21, 49, 58]),
        (8, [43, 25, 61, 74]),
        (16, [59, 33, 85, 106]),
        (32, [91, 49, 133, 170]),
        (64, [155, 81, 229, 298]),
    ];
    for (delay, ring) in rows {
        let hector = named("hector-worst", delay);
        let of = |node| Op::ALL.map(|op| cycles(&hector, 4, node, op));
        assert_eq!(of(4), [10, 10, 19, 19], "local");
        assert_eq!(of(5), [19, 9, 29, 62], "station");
        assert_eq!(of(8), ring, "ring, d = {delay}");
    }
    for delay in [0, 1, 2, 4, 8, 16, 32, 64] {
        let hector = named("hector-worst", delay);
        let d = u64::from(delay);
        let formulas = [27 + 2 * d, 17 + d, 37 + 3 * d, 42 + 4 * d];
        assert_eq!(Op::ALL.map(|op| cycles(&hector, 15, 0, op)), formulas);
    }
}

#[test]
fn average_positions_on_hectors_ring_are_nearer_by_4_6_cycles() {
    for delay in [0, 1, 16, 64] {
        let (average, worst) = (named("hector", delay), named("hector-worst", delay));
        for op in Op::ALL {
            assert_eq!(tenths(&average, 4, 12, op) + 46, tenths(&worst, 4, 12, op));
            assert_eq!(tenths(&average, 4, 4, op), tenths(&worst, 4, 4, op));
            assert_eq!(tenths(&average, 4, 7, op), tenths(&worst, 4, 7, op));
        }
        // 29 + 3.4 + 3d.
        assert_eq!(tenths(&average, 4, 12, Op::Line), 324 + 30 * u64::from(delay));
    }
}

/// B93-Tab1.1.
#[test]
fn levels_of_the_three_machines() {
    let check = |name: &str, cycle_ns: f64, hit: Option<u64>, levels: &[(u32, u64, usize)]| {
        let model = named(name, 0);
        assert!((model.cycle_ps as f64 / 1e3 - cycle_ns).abs() < 0.02, "{name}");
        if let Some(hit) = hit {
            assert_eq!(model.access.hit_ps, hit * model.cycle_ps, "{name}");
        }
        let mut last = 0;
        let mut reached = 0;
        for &(node, latency, size) in levels {
            assert_eq!(cycles(&model, 0, node, Op::Line), latency, "{name}");
            assert!(latency > last, "{name}: strictly increasing");
            last = latency;
            let class = model.class(PuId(0), NumaNodeId(node));
            let within = |pu: &&numaestro_topology::Pu| model.class(PuId(0), pu.node) <= class;
            reached = model.topology.pus().iter().filter(within).count();
            assert_eq!(reached, size, "{name}: processors up to this level");
        }
        assert_eq!(reached, model.topology.pu_count());
    };
    check("hector-worst", 60.0, None, &[(0, 19, 1), (1, 29, 4), (4, 37, 16)]);
    check("ksr1", 50.0, None, &[(0, 18, 1), (1, 126, 32), (32, 756, 64)]);
    check("dash", 30.0, Some(15), &[(0, 29, 4), (1, 132, 64)]);
}

#[test]
fn hector_is_four_stations_of_four_with_one_for_the_system() {
    let hector = named("hector", 0);
    assert_eq!(hector.topology.pu_count(), 16);
    assert_eq!(hector.topology.numa_nodes().len(), 16);
    assert_eq!(hector.topology.packages().len(), 4);
    assert_eq!(hector.reserved.to_string(), "0-3");
    assert_eq!(hector.node_pages * u64::from(hector.page_bytes), 4 << 20);
    assert_eq!(hector.cache.lines * u64::from(hector.cache.line_bytes), 16 << 10);
}

#[test]
fn the_ratio_machine_is_1_to_1_3_to_4_8() {
    let k64 = named("k64", 0);
    assert_eq!((k64.topology.pu_count(), k64.topology.numa_nodes().len()), (64, 16));
    let hit = k64.access.hit_ps;
    for op in Op::ALL {
        assert_eq!(k64.cost_ps(PuId(5), NumaNodeId(1), op) * 10, hit * 13);
        assert_eq!(k64.cost_ps(PuId(5), NumaNodeId(0), op) * 10, hit * 48);
    }
}

#[test]
fn the_origin_is_a_hypercube() {
    let origin = named("origin2000-64", 0);
    assert_eq!((origin.topology.pu_count(), origin.topology.numa_nodes().len()), (64, 32));
    // SGI documents `slice_size`: 3 ticks of 10 ms.
    assert_eq!((origin.quantum_ns, origin.irix.half_life_ns), (30_000_000, 200_000_000));
    for (node, ns) in [(0, 300), (1, 640), (3, 980), (7, 1320), (15, 1660), (31, 2000), (16, 640)] {
        assert_eq!(origin.cost_ps(PuId(0), NumaNodeId(node), Op::Line), ns * 1000);
    }
    let mut at_hops = [0; 6];
    for node in 0..32 {
        at_hops[origin.class(PuId(63), NumaNodeId(node))] += 1;
    }
    assert_eq!(at_hops, [1, 5, 10, 10, 5, 1]);
}

#[test]
fn present_day_machines_have_their_sizes() {
    let epyc = named("epyc-256", 0);
    let sizes = (epyc.topology.pu_count(), epyc.topology.numa_nodes().len(), epyc.topology.llcs().len());
    assert_eq!(sizes, (256, 8, 16));
    assert_eq!(epyc.cache.level, Level::Llc);
    assert_eq!(epyc.topology.node_distance(NumaNodeId(0), NumaNodeId(7)), 32);
    let quad = named("quad-1024", 0);
    assert_eq!((quad.topology.pu_count(), quad.topology.packages().len()), (1024, 4));
    let xeon = named("xeon-4", 0);
    assert_eq!((xeon.topology.pu_count(), xeon.system), (4, System::Linux24));
    assert_eq!(xeon.channels.iter().map(|channel| channel.per_ms).collect::<Vec<_>>(), [29_400]);
}

#[test]
fn people_see_tree_costs_and_channels() {
    let text = machine::describe(&named("hector-worst", 16));
    for line in [
        "Machine (16 PUs, 16 cores",
        "  kept for the system: 0-3",
        "A reference costs, in cycles of 60 ns (delay switches: 16):",
        "               load     store      line writeback",
        "  ring         59.0      33.0      85.0     106.0",
        "Channel ring: 11.11 transactions/us",
        "System: round robin, time slice 100 ms",
    ] {
        assert!(text.contains(line), "`{line}` is not in\n{text}");
    }
}
