//! Channels: against exact mean value analysis, the bus of the Xeon, each other, and what must
//! always hold.

use numaestro_policy::PageHome;
use numaestro_sim::machine::{self, Model};
use numaestro_sim::memory::{CHANGE_TOLD, Contention, Memory, Toucher};
use numaestro_sim::program::{Data, PagePlace, Refs, Split};
use numaestro_sim::read::{NoFiles, Text};
use numaestro_topology::{NumaNodeId, PuId};
use proptest::prelude::*;
use std::sync::Arc;

/// Memory references of one thread to one node: (node, per microsecond of work).
type Load = (u32, f64);

struct Bench {
    memory: Memory,
    app: numaestro_sim::memory::AppMemory,
}

impl Bench {
    fn new(model: &Arc<Model>, contention: Contention) -> Self {
        let mut memory = Memory::new(Arc::clone(model), contention);
        let nodes = model.topology.numa_nodes().len() as u32;
        let on = |node| Data { name: format!("{node}"), pages: 1, split: Split::Whole, place: PagePlace::Node(node) };
        let data: Vec<Data> = (0..nodes).map(on).collect();
        let app = memory.enter(&data);
        let by = Toucher { pu: PuId(0), master: NumaNodeId(0), home: PageHome::FirstTouch, own_nodes: &[] };
        for node in 0..data.len() {
            memory.touch(app, node, 0, &by);
        }
        Self { memory, app }
    }

    fn start(&mut self, pu: u32, loads: &[Load]) -> f64 {
        let refs = |&(node, per_us): &Load| Refs::new(node as usize, per_us);
        let refs: Vec<Refs> = loads.iter().map(refs).collect();
        let pace = self.memory.pace(self.app, &refs, 0, 0, PuId(pu));
        self.memory.start(PuId(pu), pace);
        pace.rate_alone()
    }

    fn rate(&mut self, pu: u32) -> f64 {
        self.memory.changed();
        self.memory.settle();
        self.memory.rate(PuId(pu))
    }
}

/// `pus` processors on one bus; a line takes `cost_ns` alone.
fn bus(pus: usize, per_us: f64, cost_ns: f64) -> Arc<Model> {
    let text = format!(
        "name = \"bus\"\nabout = \"-\"\ntopology = \"core:{pus} pu:1\"\ncycle = \"1 ns\"\n\
         [memory]\npage_bytes = 4096\nnode_pages = 1000\n[access]\nhit = 1\n\
         [[access.class]]\nname = \"memory\"\nwithin = \"machine\"\nline = {cost_ns}\n\
         [[channel]]\nname = \"bus\"\nover = \"bus\"\neach = \"machine\"\nper_us = {per_us}\n"
    );
    Arc::new(machine::read(Text::new("bus.toml", &text), &NoFiles).unwrap())
}

/// Throughput of a closed network of `customers` that think `z` and queue for one server of service
/// time `s`, exactly.
fn exact_mva(customers: u32, z: f64, s: f64) -> f64 {
    let (mut queue, mut throughput) = (0.0, 0.0);
    for n in 1..=customers {
        let residence = s * (1.0 + queue);
        throughput = f64::from(n) / (z + residence);
        queue = throughput * residence;
    }
    throughput
}

/// Transactions per microsecond of `n` equal threads that make one in each microsecond of work, on
/// a bus of `per_us`.
fn throughput(n: u32, per_us: f64, contention: Contention) -> f64 {
    let mut bench = Bench::new(&bus(n as usize, per_us, 1e3 / per_us), contention);
    for pu in 0..n {
        bench.start(pu, &[(0, 1.0)]);
    }
    (0..n).map(|pu| bench.rate(pu)).sum()
}

#[test]
fn the_knee_is_as_far_from_exact_mva_as_schweitzers_method_is() {
    // Service 1/64: at N = 4 hardly used; 1/16 and 1/64 at N = 16 and 64: the knee.
    for (n, per_us, low, high) in [(4, 64.0, -0.002, 0.0), (16, 16.0, -0.035, -0.02), (64, 64.0, -0.025, -0.01)] {
        let exact = exact_mva(n, 1.0, 1.0 / per_us);
        let error = throughput(n, per_us, Contention::Amva) / exact - 1.0;
        assert!((low..=high).contains(&error), "N = {n}: {error}");
    }
    // The machine repairman of the literature.
    assert!((exact_mva(64, 1.0, 1.0 / 64.0) - 58.0219).abs() < 1e-4);
    // Fair shares know no knee: this is what they are wrong by.
    let fair = throughput(16, 16.0, Contention::MaxMin);
    assert!((fair - 16.0 / (1.0 + 1.0 / 16.0)).abs() < 1e-9, "{fair}");
}

/// Throughput of one customer of the first class in a closed network of two classes with `n`
/// customers each, think times `z` and one server of service time `s`, exactly (mean value analysis
/// over all populations).
fn exact_mva_of_two(n: [usize; 2], z: [f64; 2], s: f64) -> f64 {
    let mut queue = vec![vec![0.0; n[1] + 1]; n[0] + 1];
    let mut throughput = 0.0;
    for first in 0..=n[0] {
        for second in 0..=n[1] {
            let mut sum = 0.0;
            if first > 0 {
                let residence = s * (1.0 + queue[first - 1][second]);
                throughput = 1.0 / (z[0] + residence);
                sum += first as f64 * throughput * residence;
            }
            if second > 0 {
                let residence = s * (1.0 + queue[first][second - 1]);
                sum += second as f64 / (z[1] + residence) * residence;
            }
            queue[first][second] = sum;
        }
    }
    throughput
}

/// Two threads and two antagonists that do nothing but miss, on the Xeon's bus (Antonopoulos et al.
/// 2004, section 3).
#[test]
fn slowdowns_on_the_bus_of_the_xeon() {
    let cost_us = 0.042_373;
    let slowdown = |solo: f64, contention| {
        let mut bench = Bench::new(&Arc::new(machine::named("xeon-4", 0).unwrap()), contention);
        let per_us = 1.0 / (1.0 / solo - cost_us);
        let alone = bench.start(0, &[(0, per_us)]);
        bench.start(1, &[(0, per_us)]);
        bench.start(2, &[(0, 1e5)]);
        bench.start(3, &[(0, 1e5)]);
        alone / bench.rate(0)
    };
    for (solo, fair) in [(0.5, 1.0), (3.0, 1.0), (6.0, 1.0), (11.65, 1.58)] {
        let service = 1.0 / 29.4;
        let exact = solo / exact_mva_of_two([2, 2], [1.0 / solo - service, cost_us - service], service);
        let found = slowdown(solo, Contention::Amva);
        let error = found / exact - 1.0;
        assert!((-0.001..0.025).contains(&error), "{solo}/us: {found} is not {exact}");
        let found = slowdown(solo, Contention::MaxMin);
        assert!((found - fair).abs() < 0.01, "{solo}/us: {found} is not {fair}");
    }
}

#[test]
fn both_solvers_agree_far_from_the_knee() {
    let both = |n, per_us| {
        let [fair, queueing] =
            [Contention::MaxMin, Contention::Amva].map(|contention| throughput(n, per_us, contention));
        (fair / queueing - 1.0).abs()
    };
    assert!(both(4, 1e5) < 1e-3, "U -> 0: {}", both(4, 1e5));
    for (n, per_us) in [(64, 6.4), (64, 2.0), (16, 1.0)] {
        assert!(both(n, per_us) < 0.02, "U >> 1: {}", both(n, per_us));
    }
}

#[test]
fn a_full_bus_is_shared_equally_and_small_users_are_left_alone() {
    let mut bench = Bench::new(&bus(4, 10.0, 1.0), Contention::MaxMin);
    for pu in 0..3 {
        bench.start(pu, &[(0, 20.0)]);
    }
    let alone = bench.start(3, &[(0, 1.0)]);
    assert!((bench.rate(3) - alone).abs() < 1e-12, "wants less than its share");
    let used: f64 = 20.0 * bench.rate(0);
    assert!((used / 3.0 - 1.0).abs() < 0.01 + used, "three thirds of what is left");
    let sum = 3.0 * used + bench.rate(3);
    assert!((9.9..=10.0).contains(&sum), "{sum}");
}

#[test]
fn rates_come_back_when_the_crowd_has_gone() {
    for contention in [Contention::MaxMin, Contention::Amva] {
        let mut bench = Bench::new(&bus(8, 10.0, 10.0), contention);
        let alone = bench.start(0, &[(0, 5.0)]);
        assert!((bench.rate(0) / alone - 1.0).abs() <= CHANGE_TOLD);
        for pu in 1..8 {
            bench.start(pu, &[(0, 50.0)]);
        }
        let crowded = bench.rate(0);
        assert!(crowded < 0.5 * alone, "{contention:?}: {crowded} of {alone}");
        for pu in 1..8 {
            bench.memory.stop(PuId(pu));
        }
        assert!(bench.memory.changed().contains(&PuId(0)), "{contention:?}: it is told");
        assert!((bench.rate(0) / alone - 1.0).abs() <= 2.0 * CHANGE_TOLD);
        bench.memory.check().unwrap();
    }
}

#[test]
fn what_channels_carried_is_rate_times_time() {
    let mut bench = Bench::new(&bus(4, 10.0, 1.0), Contention::MaxMin);
    let rate = bench.start(0, &[(0, 4.0)]);
    bench.memory.advance(1_000_000);
    bench.memory.stop(PuId(0));
    bench.memory.advance(4_000_000);
    let [channel] = bench.memory.channel_use(4_000_000).try_into().unwrap();
    assert!((channel.utilisation - rate * 4.0 / 10.0 / 4.0).abs() < 1e-5, "{channel:?}");
    assert!((channel.peak_demand - rate * 0.4).abs() < 1e-5);
    for pu in 0..4 {
        bench.start(pu, &[(0, 50.0)]);
    }
    bench.memory.advance(100_000_000);
    let [channel] = bench.memory.channel_use(100_000_000).try_into().unwrap();
    assert!((0.95..=1.0).contains(&channel.utilisation), "{channel:?}");
    assert!(channel.peak_demand > 10.0);
}

#[test]
fn a_busy_bus_reloads_caches_slower() {
    for contention in [Contention::MaxMin, Contention::Amva] {
        let mut bench = Bench::new(&bus(8, 10.0, 100.0), contention);
        assert_eq!(bench.memory.reload_ns(PuId(0), 10), 1000);
        for pu in 1..8 {
            bench.start(pu, &[(0, 100.0)]);
        }
        bench.rate(1);
        let busy = bench.memory.reload_ns(PuId(0), 10);
        // Seven others share 10/us: a line takes 0.7 us, or that and its own service.
        assert!((6500..8500).contains(&busy), "{contention:?}: {busy}");
    }
}

#[test]
fn the_ring_carries_what_leaves_a_station_and_nothing_else() {
    let hector = Arc::new(machine::named("hector", 0).unwrap());
    let names: Vec<&str> = hector.channels.iter().map(|channel| channel.name.as_str()).collect();
    let used = |node| {
        let mut bench = Bench::new(&hector, Contention::Amva);
        bench.start(5, &[(node, 0.1)]);
        bench.memory.advance(1000);
        let uses = bench.memory.channel_use(1000);
        let busy = uses.iter().enumerate().filter(|(_, channel)| channel.utilisation > 0.0);
        busy.map(|(at, _)| names[at].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(used(5), ["module 5"]);
    assert_eq!(used(6), ["module 6", "station bus 1"]);
    assert_eq!(used(9), ["module 9", "station bus 1", "station bus 2", "ring"]);
}

/// Four nodes of four PUs in two packages: controllers, links, a bus for each package and a ring.
fn mesh() -> Arc<Model> {
    let text = "name = \"mesh\"\nabout = \"-\"\ntopology = \"pack:2 numa:2 core:4 pu:1\"\ncycle = \"1 ns\"\n\
        [memory]\npage_bytes = 4096\nnode_pages = 1000\n[access]\nhit = 1\n\
        [[access.class]]\nname = \"local\"\nwithin = \"node\"\nline = 50\n\
        [[access.class]]\nname = \"far\"\nwithin = \"machine\"\nline = 150\n\
        [[channel]]\nname = \"memory\"\nover = \"controller\"\nper_us = 20\n\
        [[channel]]\nname = \"link\"\nover = \"link\"\nper_us = 12\n\
        [[channel]]\nname = \"bus\"\nover = \"bus\"\neach = \"package\"\nper_us = 45\n\
        [[channel]]\nname = \"ring\"\nover = \"ring\"\neach = \"package\"\nper_us = 15\n";
    Arc::new(machine::read(Text::new("mesh.toml", text), &NoFiles).unwrap())
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let per_us = prop_oneof![Just(0.5), Just(4.0), Just(30.0), 0.01f64..100.0];
    prop::collection::vec((0u32..4, per_us), 0..4)
}

/// A thread starts on a PU (what runs there is stopped), or nothing runs there any more.
fn steps() -> impl Strategy<Value = Vec<(u32, Option<Vec<Load>>)>> {
    prop::collection::vec((0u32..16, prop_oneof![4 => loads().prop_map(Some), 1 => Just(None)]), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever starts and stops: no channel carries more than it can, and who is not told of a
    /// change has (nearly) none.
    #[test]
    fn channels_are_never_overfull(steps in steps(), amva in any::<bool>()) {
        let contention = if amva { Contention::Amva } else { Contention::MaxMin };
        let mut bench = Bench::new(&mesh(), contention);
        let mut known = [1.0; 16];
        let mut running: [Option<Vec<Load>>; 16] = Default::default();
        for (now, (pu, loads)) in steps.into_iter().enumerate() {
            bench.memory.advance(now as u64 * 1000);
            bench.memory.stop(PuId(pu));
            known[pu as usize] = 1.0;
            if let Some(loads) = &loads {
                bench.start(pu, loads);
                known[pu as usize] = bench.memory.rate(PuId(pu));
            }
            running[pu as usize] = loads;
            for &changed in bench.memory.changed() {
                prop_assert!(running[changed.index()].is_some(), "only who runs is told");
                known[changed.index()] = f64::NAN;
            }
            bench.memory.settle();
            prop_assert_eq!(bench.memory.check(), Ok(()));
            for pu in 0..16 {
                let rate = bench.memory.rate(PuId(pu));
                prop_assert!(rate > 0.0 && rate <= 1.0);
                let known = &mut known[pu as usize];
                prop_assert!(known.is_nan() || known.to_bits() == rate.to_bits(), "a rate changes only when its PU is told");
                *known = rate;
            }
        }
        for channel in bench.memory.channel_use(60_000) {
            prop_assert!(channel.utilisation <= 1.0, "{:?}", channel);
        }
    }

    /// The way to a state does not matter: what has been started and stopped before leaves nothing
    /// behind.
    #[test]
    fn queueing_forgets_the_past(steps in steps()) {
        let mut bench = Bench::new(&mesh(), Contention::Amva);
        let mut running: [Option<Vec<Load>>; 16] = Default::default();
        for (pu, loads) in steps {
            bench.memory.stop(PuId(pu));
            if let Some(loads) = &loads {
                bench.start(pu, loads);
            }
            bench.memory.changed();
            bench.memory.settle();
            running[pu as usize] = loads;
        }
        let mut fresh = Bench::new(&mesh(), Contention::Amva);
        for (pu, loads) in running.iter().enumerate() {
            if let Some(loads) = loads {
                fresh.start(pu as u32, loads);
            }
        }
        for pu in 0..16 {
            let (old, new) = (bench.rate(pu), fresh.rate(pu));
            prop_assert!((old / new - 1.0).abs() < 3.0 * CHANGE_TOLD, "{}: {} and {}", pu, old, new);
        }
    }

    /// Fair shares: each thread is as fast as alone, or on some full channel nobody gets more than
    /// it does.
    #[test]
    fn everybody_is_held_by_demand_or_by_a_full_channel(steps in steps()) {
        let model = mesh();
        let mut bench = Bench::new(&model, Contention::MaxMin);
        let mut paces = [None; 16];
        for (pu, loads) in steps {
            bench.memory.stop(PuId(pu));
            paces[pu as usize] = None;
            if let Some(loads) = &loads {
                bench.start(pu, loads);
                let refs = |&(node, per_us): &Load| {
                    Refs::new(node as usize, per_us)
                };
                let refs: Vec<Refs> = loads.iter().map(refs).collect();
                paces[pu as usize] = Some(bench.memory.pace(bench.app, &refs, 0, 0, PuId(pu)));
            }
            bench.memory.changed();
            bench.memory.settle();
        }
        // Levels have 8 bits, capacities and rates are within 2^-10.
        let close = 1.0 - (1.0 / 256.0 + 4.0 * CHANGE_TOLD);
        let flows = |channel: usize| -> Vec<(usize, f64)> {
            let of = |(pu, pace): (usize, &Option<numaestro_sim::memory::Pace>)| {
                let (_, per_us) = pace.as_ref()?.demands().find(|&(at, _)| at == channel)?;
                Some((pu, f64::from(per_us) * bench.memory.rate(PuId(pu as u32))))
            };
            paces.iter().enumerate().filter_map(of).collect()
        };
        let channels: Vec<Vec<(usize, f64)>> = (0..model.channels.len()).map(flows).collect();
        for (pu, pace) in paces.iter().enumerate() {
            let Some(pace) = pace else { continue };
            let held = bench.memory.rate(PuId(pu as u32)) >= pace.rate_alone() * close
                || channels.iter().zip(&model.channels).any(|(flows, channel)| {
                    let sum: f64 = flows.iter().map(|&(_, flow)| flow).sum();
                    let most = flows.iter().map(|&(_, flow)| flow).fold(0.0, f64::max);
                    let own = flows.iter().find(|&&(at, _)| at == pu).map_or(0.0, |&(_, flow)| flow);
                    sum >= channel.per_ms as f64 / 1e3 * close && own >= most * close
                });
            prop_assert!(held, "processor {} could be faster: {:?} of {:?}", pu, bench.memory.rate(PuId(pu as u32)), pace);
        }
    }
}
