//! What the simulator's guide says about its files: every field is taken, and every field is named.
//! The guide's examples are tried with those of all guides (`guides.rs`).

#[path = "../../../crates/numaestro/tests/user/mod.rs"]
mod user;

use std::path::PathBuf;
use user::{User, text};

fn guide(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs a scenario and gives what is shown.
fn shown(scenario: &str, words: &[&str]) -> String {
    let user = User::new();
    let path = user.path("s.toml").display().to_string();
    std::fs::write(&path, scenario).expect("writable");
    let output = user.output([&["sim", words[0], path.as_str()][..], &words[1..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Every field of machines, programs and scenarios; where one field excludes another, one of them.
const EVERYTHING: &str = r#"name = "all"
about = "every field"
contention = "amva"
seed = 3
seeds = 2
warmup = 0.1
until = "1 h"
policy = "dss"
[machine]
delay = 2
[machine.inline]
name = "mine"
about = "inline"
topology = "pack:2 numa:1 core:4 pu:1"
distances = [[10, 21], [21, 10]]
cycle = "1 ns"
reserved = "0"
[machine.inline.memory]
page_bytes = 4096
node_pages = 1000
[machine.inline.cache]
level = "pu"
lines = 1000
line_bytes = 64
replacement = "lru"
[machine.inline.access]
unit = "ns"
hit = 1
class = [{ name = "near", distance = 10, line = 60, load = 50, delay = { line = 1 } }, { name = "far", within = "machine", line = 120, store = 20, writeback = 30 }]
[[machine.inline.channel]]
name = "ctl"
over = "controller"
gb_s = 20
[[machine.inline.channel]]
name = "l"
over = "link"
per_us = 20
[machine.inline.system]
scheduler = "irix"
quantum = "30 ms"
switch = "5 us"
migration = "1 us"
page_fault = "1 us"
decision = "50 us"
[engine]
grace = "5 ms"
reclaim = "1 ms"
cooldown = "1 ms"
recovery = "1 s"
move_for_rounding = true
[[program]]
name = "p"
processors = 4
min = 2
weight = 2
class = "fold"
asks = "runnable"
vacates = "task"
creation = "10 us"
footprint = 500
data = [{ name = "d", pages = 10, split = "per-thread", place = { node = 1 } }, { name = "e", pages = 10, place = "round-robin" }]
phases = [
 { do = "serial", work = { mean = "1 ms", cv = 2 }, refs = [{ data = "d", per_us = 1, op = "store", part = "master", hits = 0.5 }] },
 { do = "parallel", work_each = { lognormal = ["1 ms", 0.5] }, width = 3, iterations = 3, wait = { spin_then_block = "3 ms" }, locked = "10 us", curve = { table = [[1, 1.0], [4, 3.0]] } },
 { do = "tasks", count = { geometric = 4 }, work = { uniform = ["1 ms", "2 ms"] } },
 { do = "pause", time = "1 ms" },
 { do = "request", processors = 2 },
 { do = "repeat", times = 2, phases = [{ do = "parallel", work = { choice = [["1 ms", 1], ["5 ms", 2]] }, cv = 0.2, wait = "block", curve = { sevcik = [1, 0.1, 0.01] } }] },
]
[[program]]
name = "c"
processors = 7
work = "1 s"
curve = { downey = [4, 0.5] }
resize = "1 ms"
[workload]
kind = "open"
mix = [["p", 3], ["c", 1]]
load = 0.8
jobs = 40
interarrival = { exponential = "1 s" }
"#;

#[test]
fn every_field_is_taken_and_conservation_holds() {
    let table = shown(EVERYTHING, &["run", "--checks"]);
    assert!(table.contains("all on mine (8 processors, 7 to give), contention amva, policy dss"), "{table}");
}

#[test]
fn every_kind_of_workload_is_taken() {
    let kinds = [
        "{ kind = \"streams\", order = \"shuffled\", start = \"1 ms\", gap = \"2 ms\", stream = [{ programs = [\"p\"], repetitions = 2 }, \
         { programs = [\"c\", \"p\"] }] }",
        "{ kind = \"streams\", order = \"rotated\", programs = [\"p\", \"c\"], streams = 2 }",
        "{ kind = \"open\", programs = [\"p\"], interarrival = { exponential = \"1 s\" }, scale = 0.5, jobs = 5 }",
        "{ kind = \"list\", arrivals = [{ at = \"1 ms\", program = \"p\", count = 2, estimate = \"1 s\" }] }",
        "{ kind = \"lublin\", jobs = 20, types = \"batch\", load = 0.5, estimates = \"perfect\", \
         turn = { downey = { average = 5, sigma = 1 } } }",
        "{ kind = \"downey\", jobs = 20, work = [\"1 s\", \"100 s\"], average = [1, 7], sigma = [0, 1], interarrival = \"10 s\", \
         turn = { sevcik = { imbalance = 1, serial = 0.1, overhead = 0.001 } }, estimates = \"none\", scale = 2 }",
    ];
    for kind in kinds {
        shown(EVERYTHING, &["run", "--checks", "--set", "until=\"1000 h\"", "--set", &format!("workload={kind}")]);
    }
}

#[test]
fn the_guide_names_every_field() {
    fn keys(value: &toml::Value, found: &mut Vec<String>) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    found.push(key.clone());
                    keys(value, found);
                }
            }
            toml::Value::Array(items) => {
                for item in items {
                    keys(item, found);
                }
            }
            _ => {}
        }
    }
    let mut used = Vec::new();
    keys(&toml::Value::Table(EVERYTHING.parse().expect("TOML")), &mut used);
    let guide = guide("simulator.md");
    let quoted = guide.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let named: Vec<&str> = quoted.flat_map(|code| code.split(|c: char| !(c.is_alphanumeric() || c == '_'))).collect();
    let missing: Vec<&String> = used.iter().filter(|key| !named.contains(&key.as_str())).collect();
    assert!(missing.is_empty() && used.len() > 80, "{missing:?} of {}", used.len());
}
