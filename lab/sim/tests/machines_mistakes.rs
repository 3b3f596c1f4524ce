//! A machine file with a mistake is refused with file, line, field and what was expected; half a
//! machine is never read.

use numaestro_sim::machine;
use numaestro_sim::read::{Files, NoFiles, Text};

/// A machine without mistakes.
const GOOD: &str = r#"name = "two"
about = "Two nodes of four processors"
topology = "numa:2 core:4 pu:1"
distances = [[10, 21], [21, 10]]
cycle = "1 ns"
reserved = "0"

[memory]
page_bytes = 4096
node_pages = 1024

[cache]
level = "pu"
lines = 1024
line_bytes = 64
replacement = "lru"

[access]
unit = "cycles"
hit = 1

[[access.class]]
name = "local"
within = "node"
line = 20

[[access.class]]
name = "remote"
distance = 21
line = 60
delay = { line = 3 }

[[channel]]
name = "memory"
over = "controller"
gb_s = 20

[system]
scheduler = "round-robin"
quantum = "100 ms"
switch = "5 us"
"#;

fn mistake(text: &str) -> String {
    match machine::read(Text::new("two.toml", text), &NoFiles) {
        Ok(_) => "no mistake".to_owned(),
        Err(mistake) => mistake.to_string(),
    }
}

#[test]
fn the_good_one_is_read() {
    let model = machine::read(Text::new("two.toml", GOOD), &NoFiles).unwrap();
    assert_eq!(model.access.class_of.len(), 16);
    assert_eq!(model.channels.len(), 2);
    assert_eq!(model.channels[1].name, "memory 1");
    assert_eq!(model.channels[1].per_ms, 312_500);
    assert_eq!(model.costs.switch_ns, 5000);
    let text = GOOD.replace("cycle = ", "delay = 7\ncycle = ");
    let model = machine::read(Text::new("two.toml", &text), &NoFiles).unwrap();
    assert_eq!((model.delay, model.access.classes[1].cost_ps[2]), (7, 81_000));
}

/// Each: what stands there instead of what, and what is said of it.
#[test]
fn every_mistake_has_file_line_field_and_expectation() {
    let mut wrong = 0;
    let mut check = |from: &str, to: &str, expected: &str| {
        assert_eq!(GOOD.matches(from).count(), 1, "{from} stands there once");
        let found = mistake(&GOOD.replace(from, to));
        if found != expected {
            println!("found    {found}\nexpected {expected}");
            wrong += 1;
        }
    };
    check("cycle = \"1 ns\"\n", "", "two.toml:1: `cycle` is missing: the time of one cycle of its clock");
    check(
        "numa:2 core:4 pu:1",
        "numa:2 cores:4 pu:1",
        "two.toml:3: topology: synthetic description, column 8: expected a level such as pack:2, numa:2, l3:4, core:8, pu:2 or \
         [numa], found \"cores\"",
    );
    check("[21, 10]]", "[21]]", "two.toml:4: distances[1]: expected 2 distances, found 1");
    check("[21, 10]]", "[21, 30]]", "two.toml:4: distances: node distances: node 1 is nearer to node 0 than to itself");
    check("reserved = \"0\"", "reserved = \"8\"", "two.toml:6: reserved: there is no processor 8: the machine has 8");
    check(
        "page_bytes = 4096",
        "page_bytes = 5000",
        "two.toml:9: memory.page_bytes: expected a power of two, found 5000",
    );
    check(
        "lines = 1024\n",
        "lines = \"many\"\n",
        "two.toml:14: cache.lines: expected a whole number, at least 0, found \"many\"",
    );
    check(
        "replacement = \"lru\"",
        "replacement = \"fifo\"",
        "two.toml:16: cache.replacement: expected \"lru\" or \"random\", found \"fifo\"",
    );
    check(
        "hit = 1",
        "hits = 1",
        "two.toml:18: access: `hit` is missing: what a reference costs that hits the processor's own cache",
    );
    check("line = 20", "line = -20", "two.toml:25: access.class.local.line: expected a number, at least 0, found -20");
    check(
        "line = 20",
        "line = 20\nlaod = 10",
        "two.toml:26: access.class.local.laod: unknown field; did you mean `load`? There are name, within, distance, line, load, store, writeback, delay",
    );
    check(
        "within = \"node\"",
        "within = \"rack\"",
        "two.toml:24: access.class.local.within: expected \"node\" or \"package\" or \"machine\", found \"rack\"",
    );
    check(
        "distance = 21",
        "distance = 20",
        "two.toml:22: access.class: no class reaches from processor 0 to node 1: expected a last one within = \"machine\"",
    );
    check("name = \"remote\"", "name = \"local\"", "two.toml:27: access.class[1]: there is a class \"local\" already");
    check(
        "over = \"controller\"",
        "over = \"bus\"",
        "two.toml:33: channel.memory: `each` is missing: \"core\", \"llc\", \"node\", \"package\" or \"machine\"",
    );
    check(
        "gb_s = 20",
        "gb_s = 20\nper_us = 3",
        "two.toml:36: channel.memory.gb_s: expected either `per_us` or `gb_s`, found both",
    );
    check("quantum = \"100 ms\"", "quantum = 0", "two.toml:40: system.quantum: expected a time above 0, found 0");
    check("quantum = \"100 ms\"", "half_life = 0", "two.toml:40: system.half_life: expected a time above 0, found 0");
    check(
        "[system]",
        "[sistem]",
        "two.toml:38: sistem: unknown field; did you mean `system`? There are name, about, topology, xml, distances, cycle, delay, reserved, memory, cache, access, channel, system",
    );
    check("name = \"two\"", "name = \"two", "two.toml:1: invalid basic string, expected `\"`");
    assert_eq!(wrong, 0, "the messages above");
}

#[test]
fn hypercubes_have_the_right_number_of_nodes() {
    let text = GOOD.replace("[[10, 21], [21, 10]]", "{ hypercube = [10, 15, 21] }");
    assert_eq!(
        mistake(&text),
        "two.toml:4: distances.hypercube: expected a hypercube of 2 nodes: 2, 4, 8 ... nodes, and distances for 0 to 1 hops, \
         found 3 distances"
    );
}

#[test]
fn one_processor_uses_at_most_so_many_channels() {
    let text = GOOD.replace("numa:2 core:4", "numa:64 core:1").replace("distances = [[10, 21], [21, 10]]\n", "");
    let text = text.replace("distance = 21", "within = \"machine\"");
    assert_eq!(
        mistake(&text),
        "two.toml:32: channel: expected at most 36 channels that one processor can use, found 64"
    );
}

struct One;

impl Files for One {
    fn text(&self, name: &str) -> Result<String, String> {
        if name == "gone.xml" { Err("gone.xml: no such file".to_owned()) } else { Ok("<topology".to_owned()) }
    }
}

#[test]
fn topologies_can_be_hwlocs_xml() {
    let check = |name: &str, expected: &str| {
        let text = GOOD.replace("topology = \"numa:2 core:4 pu:1\"", &format!("xml = \"{name}\""));
        let mistake = machine::read(Text::new("two.toml", &text), &One).unwrap_err();
        assert_eq!((mistake.line, mistake.field.as_str()), (3, "xml"));
        assert!(mistake.problem.starts_with(expected), "{mistake}");
    };
    check("gone.xml", "gone.xml: no such file");
    check("bad.xml", "bad.xml: hwloc XML: ");
}
