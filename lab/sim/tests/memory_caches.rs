//! A cache's loss is a debt, and the debt is what the literature says.

use numaestro_sim::machine;
use numaestro_sim::memory::{Contention, Memory};
use numaestro_sim::random::{Purpose, Stream};
use numaestro_sim::read::{NoFiles, Text};
use numaestro_topology::PuId;
use std::sync::Arc;

fn memory(replacement: &str, level: &str, lines: u64) -> Memory {
    let text = format!(
        "name = \"c\"\nabout = \"-\"\ntopology = \"numa:2 l3:2 core:2 pu:2\"\ncycle = \"1 ns\"\n\
         [memory]\npage_bytes = 4096\nnode_pages = 10\n\
         [cache]\nlevel = \"{level}\"\nlines = {lines}\nline_bytes = 64\nreplacement = \"{replacement}\"\n\
         [access]\nhit = 1\n[[access.class]]\nname = \"m\"\nwithin = \"machine\"\nline = 20\n\
         [[channel]]\nname = \"bus\"\nover = \"bus\"\neach = \"machine\"\nper_us = 100\n"
    );
    let model = machine::read(Text::new("c.toml", &text), &NoFiles).unwrap();
    Memory::new(Arc::new(model), Contention::MaxMin)
}

#[test]
fn exp_of_what_came_in_survives_random_replacement() {
    let mut memory = memory("random", "pu", 1000);
    for (entered, lost_of_800) in [(0, 0), (250, 177), (1000, 506), (2000, 692), (100_000, 800)] {
        let since = memory.entered(PuId(0));
        memory.enter_lines(PuId(0), entered);
        assert_eq!(memory.reload_lines(800, since, true, PuId(0)), lost_of_800);
    }
}

#[test]
fn least_recently_used_loses_in_proportion() {
    let mut memory = memory("lru", "pu", 1000);
    let since = memory.entered(PuId(3));
    memory.enter_lines(PuId(3), 300);
    assert_eq!(memory.reload_lines(500, since, true, PuId(3)), 150);
    memory.enter_lines(PuId(3), 900);
    assert_eq!(memory.reload_lines(500, since, true, PuId(3)), 500);
}

#[test]
fn another_cache_is_cold_and_none_costs_nothing() {
    let warm = memory("lru", "pu", 1000);
    assert_eq!(warm.reload_lines(700, 0, false, PuId(1)), 700);
    assert_eq!(warm.reload_lines(5000, 0, false, PuId(1)), 1000, "what never fits is no debt");
    let none = memory("lru", "pu", 0);
    assert_eq!(none.reload_lines(700, 0, false, PuId(1)), 0);
    assert_eq!(none.reload_ns(PuId(1), 0), 0);
}

#[test]
fn caches_are_shared_as_the_machine_says() {
    let mut shared = memory("lru", "llc", 1000);
    assert!(shared.same_cache(PuId(0), PuId(3)) && !shared.same_cache(PuId(3), PuId(4)));
    shared.enter_lines(PuId(0), 10);
    assert_eq!((shared.entered(PuId(3)), shared.entered(PuId(4))), (10, 0));
    let private = memory("lru", "pu", 1000);
    assert!(private.same_cache(PuId(2), PuId(2)) && !private.same_cache(PuId(2), PuId(3)));
    let core = memory("lru", "core", 1000);
    assert!(core.same_cache(PuId(2), PuId(3)) && !core.same_cache(PuId(1), PuId(2)));
}

/// Foreign lines fall into random sets of a direct-mapped cache that is full of ours.
#[test]
fn a_real_direct_mapped_cache_loses_as_much() {
    let lines: u32 = 4096;
    let mut stream = Stream::new(7, Purpose::Statistics, 0);
    for (quarters, tolerance) in [(1, 0.01), (4, 0.01), (8, 0.01)] {
        let foreign = lines / 4 * quarters;
        let mut ours = vec![true; lines as usize];
        for _ in 0..foreign {
            ours[stream.below(lines) as usize] = false;
        }
        let survives = ours.iter().filter(|&&ours| ours).count() as f64 / f64::from(lines);
        let mut memory = memory("random", "pu", u64::from(lines));
        memory.enter_lines(PuId(0), u64::from(foreign));
        let debt = memory.reload_lines(u64::from(lines), 0, true, PuId(0));
        let model = 1.0 - debt as f64 / f64::from(lines);
        // The sampling error of 4096 lines is below 0.008.
        assert!((survives - model).abs() < 2.0 * tolerance, "{survives} against {model}");
    }
}

#[test]
fn reloading_takes_a_line_from_local_memory_for_each() {
    let memory = memory("lru", "pu", 1000);
    assert_eq!(memory.reload_ns(PuId(0), 1), 20);
    assert_eq!(memory.reload_ns(PuId(0), 700), 14_000);
}
