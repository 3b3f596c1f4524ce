//! What references cost when nobody is in the way is arithmetic, and comes out exactly.

use numaestro_policy::PageHome;
use numaestro_sim::machine::{self, Model, Op};
use numaestro_sim::memory::{AppMemory, Contention, Memory, Toucher};
use numaestro_sim::program::{Data, PagePlace, Part, Refs, Split};
use numaestro_topology::{NumaNodeId, PuId};
use std::sync::Arc;

fn named(name: &str, delay: u32) -> Arc<Model> {
    Arc::new(machine::named(name, delay).expect("a machine of this name"))
}

fn data(pages: u64, split: Split, place: PagePlace) -> Data {
    Data { name: "data".to_owned(), pages, split, place }
}

fn refs(part: Part, op: Op, per_us: f64, hits: f64) -> Refs {
    Refs { part, op, hits, ..Refs::new(0, per_us) }
}

fn by(model: &Model, pu: u32) -> Toucher<'static> {
    Toucher { pu: PuId(pu), master: model.node_of(PuId(pu)), home: PageHome::FirstTouch, own_nodes: &[] }
}

/// An application whose parts have been touched from these PUs.
fn touched(memory: &mut Memory, model: &Model, pus: &[u32]) -> AppMemory {
    let app = memory.enter(&[data(1, Split::PerThread, PagePlace::FirstTouch)]);
    for (part, &pu) in pus.iter().enumerate() {
        assert_eq!(memory.touch(app, 0, part as u32, &by(model, pu)), 1);
    }
    app
}

#[test]
fn a_rate_is_work_over_work_and_references() {
    let model = named("hector-worst", 16);
    for contention in [Contention::None, Contention::MaxMin, Contention::Amva] {
        let mut memory = Memory::new(Arc::clone(&model), contention);
        let app = touched(&mut memory, &model, &[4, 5, 8]);
        for (part, op, cycles) in [
            (0, Op::Load, 10.0),
            (0, Op::Line, 19.0),
            (1, Op::Writeback, 62.0),
            (2, Op::Line, 85.0),
            (2, Op::Store, 33.0),
        ] {
            let pace = memory.pace(app, &[refs(Part::Own, op, 0.125, 0.25)], part, 0, PuId(4));
            let stall_us = 0.125 * (0.25 + 0.75 * cycles) * 0.06;
            let rate = 1.0 / (1.0 + stall_us);
            assert!((pace.rate_alone() - rate).abs() < 1e-14, "{op:?}: {} is not {rate}", pace.rate_alone());
            memory.start(PuId(4), pace);
            // Alone on its channels, nobody is in its way under any contention.
            memory.changed();
            memory.settle();
            assert!((memory.rate(PuId(4)) - rate).abs() < 1e-14);
            let (local, remote) = memory.local_remote_per_us(PuId(4));
            let expected = if part == 0 { (0.09375, 0.0) } else { (0.0, 0.09375) };
            assert_eq!((local, remote), expected);
            memory.stop(PuId(4));
        }
    }
}

/// The slope of time over delay is the number of remote references times the packets each sends.
#[test]
fn hectors_time_is_linear_in_the_delay() {
    let time_ns = |name: &str, delay, op, from: &[u32]| {
        let model = named(name, delay);
        let mut memory = Memory::new(Arc::clone(&model), Contention::None);
        let app = touched(&mut memory, &model, from);
        let pace = memory.pace(app, &[refs(Part::All, op, 2.0, 0.5)], 0, 0, PuId(4));
        // One millisecond of work: 1000 references miss.
        1e6 / pace.rate_alone()
    };
    // Eight pages: two local, two in the station, four remote, so that 500 of 1000 misses are
    // remote.
    let pages = [4, 4, 5, 6, 8, 9, 12, 13];
    for name in ["hector", "hector-worst"] {
        for (op, packets) in [(Op::Load, 2.0), (Op::Store, 1.0), (Op::Line, 3.0), (Op::Writeback, 4.0)] {
            let intercept = time_ns(name, 0, op, &pages);
            for delay in [1, 2, 4, 8, 16, 32, 64] {
                let slope = (time_ns(name, delay, op, &pages) - intercept) / f64::from(delay) / 60.0;
                assert!((slope - 500.0 * packets).abs() < 1e-6, "{name} {op:?} d = {delay}: {slope}");
            }
            let local = (time_ns(name, 64, op, &[4, 5, 6, 7]) - time_ns(name, 0, op, &[4, 5, 6, 7])).abs();
            assert!(local < 1e-6, "localized times do not move with the delay");
        }
    }
}

/// Mean cost of a miss on the ratio machine with a share h of the pages in the own cluster: 1.3 h +
/// 4.8 (1 - h).
#[test]
fn the_ratio_machine_costs_what_its_pages_say() {
    let model = named("k64", 0);
    let mean = |local: usize, remote: usize| {
        let mut memory = Memory::new(Arc::clone(&model), Contention::default());
        let pus: Vec<u32> = (0..local).map(|_| 0).chain((0..remote).map(|at| 4 + (at as u32 * 4) % 60)).collect();
        let app = touched(&mut memory, &model, &pus);
        // Ten misses in a microsecond of work, which is ten cycles: the stall in cycles is that of
        // a miss.
        let pace = memory.pace(app, &[refs(Part::All, Op::Line, 10.0, 0.0)], 0, 0, PuId(0));
        1.0 / pace.rate_alone() - 1.0
    };
    for (local, remote, expected) in
        [(10, 0, 1.30), (9, 1, 1.65), (5, 5, 3.05), (4, 12, 3.925), (1, 15, 4.58125), (0, 7, 4.8)]
    {
        let found = mean(local, remote);
        assert!((found - expected).abs() < 1e-12, "{local} local of {}: {found}", local + remote);
    }
}

#[test]
fn hits_cost_one_and_leave_no_trace_in_memory() {
    let model = named("k64", 0);
    let mut memory = Memory::new(Arc::clone(&model), Contention::default());
    let app = touched(&mut memory, &model, &[0]);
    let pace = memory.pace(app, &[refs(Part::Own, Op::Load, 10.0, 1.0)], 0, 0, PuId(0));
    assert!((pace.rate_alone() - 0.5).abs() < 1e-15);
    assert_eq!(pace.local_remote_per_us(), (0.0, 0.0));
}

#[test]
fn own_all_and_masters_parts() {
    let model = named("k64", 0);
    let mut memory = Memory::new(Arc::clone(&model), Contention::default());
    let app = touched(&mut memory, &model, &[0, 4, 4, 4]);
    let cost = |memory: &mut Memory, part, thread, master, pu| {
        let pace = memory.pace(app, &[refs(part, Op::Line, 10.0, 0.0)], thread, master, PuId(pu));
        1.0 / pace.rate_alone() - 1.0
    };
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    close(cost(&mut memory, Part::Own, 1, 0, 4), 1.3);
    close(cost(&mut memory, Part::Own, 1, 0, 0), 4.8);
    close(cost(&mut memory, Part::Master, 1, 0, 4), 4.8);
    close(cost(&mut memory, Part::Master, 1, 0, 0), 1.3);
    close(cost(&mut memory, Part::All, 3, 0, 0), (1.3 + 3.0 * 4.8) / 4.0);
    // Not touched yet: as if it were local.
    close(cost(&mut memory, Part::Own, 9, 0, 0), 1.3);
}

#[test]
fn machines_all_of_whose_memory_costs_the_same_do_not_care_for_places() {
    let text = "name = \"uma\"\nabout = \"-\"\ntopology = \"numa:4 core:4 pu:1\"\ncycle = \"1 ns\"\n\
                [memory]\npage_bytes = 4096\nnode_pages = 100\n[access]\nhit = 1\n\
                [[access.class]]\nname = \"all\"\nwithin = \"machine\"\nline = 50\n";
    let files = numaestro_sim::read::NoFiles;
    let model = Arc::new(machine::read(numaestro_sim::read::Text::new("uma", text), &files).unwrap());
    let mut memory = Memory::new(Arc::clone(&model), Contention::default());
    let app = touched(&mut memory, &model, &[0, 5, 10, 15]);
    let wanted = [refs(Part::Own, Op::Line, 3.0, 0.1)];
    let first = memory.pace(app, &wanted, 0, 0, PuId(0)).rate_alone().to_bits();
    for pu in 0..16 {
        for part in 0..4 {
            assert_eq!(memory.pace(app, &wanted, part, 0, PuId(pu)).rate_alone().to_bits(), first);
        }
    }
    assert_eq!(model.class(PuId(0), NumaNodeId(3)), 0);
}
