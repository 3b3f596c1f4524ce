//! `numaestro sim run` and `sim machines` as a user sees them: tables, files, the chart, and what
//! is said of mistakes.

#[path = "../../../crates/numaestro/tests/user/mod.rs"]
mod user;

use std::path::PathBuf;
use user::{User, json, text};

/// Two programs that arrive one after the other on four processors.
const SCENARIO: &str = r#"name = "two"
about = "Two programs on four processors"
machine = "xeon-4"
policy = "equi"
seeds = 3

[[program]]
name = "sor"
processors = 4
phases = [
  { do = "serial", work = "1 ms" },
  { do = "parallel", iterations = 20, work = { exponential = "8 ms" }, cv = 0.1 },
]

[[program]]
name = "cg"
processors = 2
data = [{ name = "a", pages = 100 }]
phases = [{ do = "parallel", iterations = 10, work = "20 ms", refs = [{ data = "a", per_us = 3 }] }]

[workload]
kind = "streams"
repetitions = 2
stream = [{ programs = ["sor", "cg"] }, { programs = ["cg", "sor"], start = "30 ms" }]
"#;

/// A user who has this scenario in `s.toml`.
fn with(scenario: &str) -> (User, String) {
    let user = User::new();
    std::fs::write(user.path("s.toml"), scenario).expect("writable");
    let path = user.path("s.toml").to_str().expect("text").to_owned();
    (user, path)
}

fn file(user: &User, name: &str) -> String {
    std::fs::read_to_string(user.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn path(user: &User, name: &str) -> String {
    user.path(name).to_str().expect("text").to_owned()
}

#[test]
fn every_subcommand_explains_itself_with_an_example() {
    let user = User::new();
    for name in ["run", "compare", "machines", "bench", "replay"] {
        let help = text(&user.output(["sim", name, "--help"]).stdout);
        assert!(help.contains("Example"), "{name}: {help}");
        assert!(help.contains(&format!("numaestro sim {name}")), "{name}: {help}");
    }
}

#[test]
fn a_run_is_shown_as_a_table_and_nothing_else() {
    let (user, scenario) = with(SCENARIO);
    let output = user.output(["sim", "run", &scenario]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for word in
        ["response, s", "± 90 %", "utilisation", "  work", "  spin", "idle", "makespan", "policy equi, seeds 1 to 3"]
    {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    assert!(shown.lines().any(|line| line.starts_with("sor ")) && shown.lines().any(|line| line.starts_with("cg ")));
    assert!(output.stderr.is_empty(), "no progress where nobody looks on: {}", text(&output.stderr));
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn the_json_has_the_promised_shape() {
    let (user, scenario) = with(SCENARIO);
    let out = path(&user, "o.json");
    let output =
        user.output(["sim", "run", &scenario, "--json", &out, "--level", "95", "--set", "program.cg.processors=3"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let value: serde_json::Value = serde_json::from_str(&file(&user, "o.json")).expect("JSON");
    let keys =
        |value: &serde_json::Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(
        keys(&value),
        [
            "about",
            "cells",
            "contention",
            "level",
            "machine",
            "numaestro_sim",
            "processors",
            "scenario",
            "set",
            "version",
            "warmup"
        ]
    );
    assert_eq!((&value["level"], &value["processors"]), (&0.95.into(), &4.into()));
    assert_eq!(value["set"], serde_json::json!(["program.cg.processors=3"]));
    let cell = &value["cells"][0];
    assert_eq!(keys(cell), ["means", "parameters", "policy", "programs", "runs"]);
    assert_eq!(keys(&cell["means"]["response_s"]), ["half_width", "max", "mean", "min"]);
    assert_eq!(keys(&cell["programs"]), ["cg", "sor"]);
    assert_eq!(
        keys(&cell["runs"][2]),
        [
            "busiest_channel",
            "children",
            "children_away",
            "cpu_s",
            "decisions",
            "engine_events",
            "fingerprint",
            "idle",
            "jobs",
            "level",
            "local_refs",
            "makespan_s",
            "migrations",
            "overhead",
            "programs",
            "refusals",
            "reload",
            "remote_refs",
            "remote_share",
            "response_max_s",
            "response_p50_s",
            "response_p95_s",
            "response_s",
            "search_s",
            "seed",
            "slowdown",
            "spin",
            "stops",
            "system_s",
            "thread_events",
            "utilisation",
            "wait_s",
            "warmup_jobs",
            "work"
        ]
    );
    let mean: f64 = (0..3).map(|at| cell["runs"][at]["response_s"].as_f64().expect("a number")).sum::<f64>() / 3.0;
    assert!((mean - cell["means"]["response_s"]["mean"].as_f64().expect("a number")).abs() < 1e-12);
}

#[test]
fn csv_has_a_line_for_each_seed_and_jobs_one_for_each_application() {
    let (user, scenario) = with(SCENARIO);
    let (csv, jobs) = (path(&user, "o.csv"), path(&user, "jobs.csv"));
    let output = user.output(["sim", "run", &scenario, "--csv", &csv, "--jobs", &jobs]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let csv = file(&user, "o.csv");
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(csv.starts_with(
        "scenario,policy,seed,fingerprint,response_s,response_p50_s,response_p95_s,response_max_s,wait_s,slowdown,cpu_s,makespan_s,\
         utilisation,work,spin,reload,overhead,idle,local_refs,remote_refs,remote_share,migrations,children_away,busiest_channel,level,\
         decisions,stops,search_s,system_s,jobs,thread_events\n"
    ));
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    assert_ne!(lines[1][3], lines[2][3], "seeds differ");
    let jobs = file(&user, "jobs.csv");
    assert_eq!(jobs.lines().count(), 1 + 8, "{jobs}");
    let first: f64 =
        jobs.lines().skip(1).map(|line| line.split(',').nth(6).expect("response").parse::<f64>().expect("s")).sum();
    let shown: f64 = lines[1][4].parse().expect("a number");
    assert!((first / 8.0 - shown).abs() < 1e-9, "the jobs are those of the first seed");
}

#[test]
fn workers_change_nothing() {
    let (user, scenario) = with(SCENARIO);
    let results = ["1", "2", "5"].map(|workers| {
        let names = ["json", "csv", "log", "journal", "html"];
        let mut words =
            vec!["sim".to_owned(), "run".to_owned(), scenario.clone(), "--workers".to_owned(), workers.to_owned()];
        words.extend(["--seeds".to_owned(), "7".to_owned()]);
        words.extend(names.iter().flat_map(|name| [format!("--{name}"), path(&user, name)]));
        let output = user.output(&words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (output.stdout, names.map(|name| file(&user, name)))
    });
    assert!(results[0] == results[1] && results[1] == results[2]);
    assert!(results[0].1[2].lines().count() > 20, "the log has events");
}

#[test]
fn the_chart_shows_who_ran_where() {
    let (user, scenario) = with(
        "machine = \"xeon-4\"\nseeds = 1\n[[program]]\nname = \"left\"\nprocessors = 2\nphases = [{ do = \"parallel\", work = \"20 ms\" }]\n\
         [[program]]\nname = \"right\"\nprocessors = 2\nphases = [{ do = \"parallel\", work = \"40 ms\" }]\n",
    );
    let output = user.output(["sim", "run", &scenario, "--chart", "--width", "20"]);
    let shown = text(&output.stdout);
    let rows: Vec<&str> = shown.lines().filter(|line| line.contains("pu ")).collect();
    let cells: Vec<&str> = rows.iter().filter_map(|row| row.split_whitespace().last()).collect();
    // The first has half as much to do as the second; each has two processors of its own.
    assert_eq!(cells, ["AAAAAAAAAA..........", "BBBBBBBBBBBBBBBBBBBB"], "{shown}\n{}", text(&output.stderr));
    assert!(shown.contains("A 0 left  B 1 right") && shown.contains("20.0 ms"), "{shown}");
}

#[test]
fn precision_takes_as_many_seeds_as_it_needs() {
    let (user, scenario) = with(SCENARIO);
    let runs = |percent: &str| {
        let out = path(&user, "p.json");
        let output = user.output(["sim", "run", &scenario, "--seeds", "200", "--precision", percent, "--json", &out]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let value: serde_json::Value = serde_json::from_str(&file(&user, "p.json")).expect("JSON");
        let response = value["cells"][0]["means"]["response_s"].clone();
        let relative =
            response["half_width"].as_f64().expect("an interval") / response["mean"].as_f64().expect("a mean");
        (value["cells"][0]["runs"].as_array().expect("runs").len(), relative)
    };
    let ((coarse, wide), (fine, narrow)) = (runs("20"), runs("4"));
    assert!(wide <= 0.2 && narrow <= 0.04 && coarse < fine && fine < 200, "{coarse} {wide} {fine} {narrow}");
}

#[test]
fn every_example_runs() {
    let user = User::new();
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut ran = 0;
    for entry in std::fs::read_dir(examples).expect("the examples").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let output = user.output(["sim", "run", &path.display().to_string(), "--seeds", "1"]);
            assert_eq!(output.status.code(), Some(0), "{}: {}", path.display(), text(&output.stderr));
            ran += 1;
        }
    }
    assert!(ran >= 3, "{ran}");
}

// Mistakes.

#[test]
fn a_wrong_file_is_2_and_says_where_and_what() {
    let cases: [(&str, &str, &str, &str); 5] = [
        ("cv = 0.1", "cw = 0.1", "s.toml:12: program.sor.phases[1].cw", "cv"),
        ("machine = \"xeon-4\"", "machine = \"xeon\"", "s.toml:3: machine", "xeon-4"),
        ("policy = \"equi\"", "policy = \"best\"", "s.toml:4: policy", "equi"),
        ("work = \"20 ms\"", "work = \"20 mm\"", "s.toml:19: program.cg.phases[0].work", "ms"),
        ("seeds = 3", "seeds = = 3", "s.toml:5", "="),
    ];
    for (right, wrong, place, expected) in cases {
        let (user, scenario) = with(&SCENARIO.replacen(right, wrong, 1));
        for command in ["run", "compare"] {
            let out = path(&user, "o.json");
            let output = user.output(["sim", command, &scenario, "--json", &out]);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{wrong}: {said}");
            assert!(said.contains(place) && said.contains(expected), "{wrong}: {said}");
            assert!(output.stdout.is_empty() && !PathBuf::from(&out).exists(), "{wrong}: nothing is half-run");
        }
    }
}

#[test]
fn what_the_command_line_changes_is_checked_like_the_file() {
    let (user, scenario) = with(SCENARIO);
    for (words, expected) in [
        (["--policy", "nonsense"], "there is no policy `nonsense`"),
        (["--set", "program.cg.procesors=3"], "unknown field"),
        (["--set", "program.fft.processors=3"], "fft"),
    ] {
        let output = user.output([&["sim", "run", &scenario][..], &words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(expected), "{words:?}: {}", text(&output.stderr));
    }
    for words in [["--set", "nothing"], ["--seeds", "0"], ["--level", "100"], ["--workers", "0"]] {
        let output = user.output([&["sim", "run", &scenario][..], &words].concat());
        assert_eq!(output.status.code(), Some(64), "{words:?}: {}", text(&output.stderr));
    }
    let gone = user.output(["sim", "run", "gone.toml"]);
    assert_eq!(gone.status.code(), Some(2));
    let output = user.output(["sim", "run", &scenario, "--json", &path(&user, "no/where.json")]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", text(&output.stderr));
}

#[test]
fn a_changed_field_changes_what_runs() {
    let (user, scenario) = with(SCENARIO);
    let response = |words: &[&str]| {
        let out = path(&user, "o.json");
        let output = user.output([&["sim", "run", &scenario, "--json", &out][..], words].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let value: serde_json::Value = serde_json::from_str(&file(&user, "o.json")).expect("JSON");
        value["cells"][0]["means"]["response_s"]["mean"].as_f64().expect("a number")
    };
    let before = response(&[]);
    assert!(response(&["--set", "program.cg.phases[0].iterations=100"]) > 2.0 * before);
    assert!((response(&["--set", "policy=equi"]) - before).abs() < 1e-12);
    assert!((response(&["--seed", "50"]) - before).abs() > 1e-9);
}

// Machines.

#[test]
fn machines_are_listed_and_described() {
    let user = User::new();
    let all = json(&user.output(["sim", "machines", "--json"]));
    let names: Vec<&str> = all.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    let shown = text(&user.output(["sim", "machines"]).stdout);
    assert!(names.len() >= 8 && names.contains(&"hector"));
    assert!(names.iter().all(|name| shown.lines().any(|line| line.starts_with(&format!("{name} ")))), "{shown}");
    let one = json(&user.output(["sim", "machines", "epyc-256", "--json"]));
    assert_eq!((&one["processors"], &one["numa_nodes"], &one["packages"]), (&256.into(), &8.into(), &2.into()));
    assert!(text(&user.output(["sim", "machines", "hector"]).stdout).contains("writeback"));
    let output = user.output(["sim", "machines", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("hector"), "{}", text(&output.stderr));
}

#[test]
fn a_machine_of_ones_own_is_read_from_its_file() {
    let user = User::new();
    let machine = "name = \"mine\"\nabout = \"two nodes\"\ntopology = \"numa:2 core:2 pu:1\"\ncycle = \"1 ns\"\n[memory]\npage_bytes = 4096\n\
                   node_pages = 1024\n[access]\nhit = 1\nclass = [{ name = \"near\", within = \"node\", line = 10 }, { name = \"far\", \
                   within = \"machine\", line = 30 }]\n";
    std::fs::write(user.path("mine.toml"), machine).expect("writable");
    let one = json(&user.output(["sim", "machines", &path(&user, "mine.toml"), "--json"]));
    assert_eq!((&one["name"], &one["classes"][1]["line_ns"]), (&"mine".into(), &30.0.into()));
    std::fs::write(user.path("s.toml"), SCENARIO.replace("\"xeon-4\"", "\"mine.toml\"")).expect("writable");
    let output = user.output(["sim", "run", &path(&user, "s.toml")]);
    assert!(text(&output.stdout).contains("mine (4 processors"), "{}", text(&output.stderr));
    std::fs::write(user.path("mine.toml"), machine.replace("hit = 1", "hat = 1")).expect("writable");
    let output = user.output(["sim", "run", &path(&user, "s.toml")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("mine.toml:"), "{}", text(&output.stderr));
}

#[test]
fn the_bench_measures_what_it_promises_to() {
    let user = User::new();
    let out = path(&user, "b.json");
    let output = user.output(["sim", "bench", "--quick", "--runs", "1", "--json", &out]);
    assert_eq!(output.status.code(), Some(0), "without --check nothing fails: {}", text(&output.stderr));
    let value: serde_json::Value = serde_json::from_str(&file(&user, "b.json")).expect("JSON");
    let found = value["found"].as_array().expect("a list");
    let names: Vec<&str> = found.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["threads-64", "threads-1024", "linux-64", "lublin-256", "lublin-256"]);
    assert!(
        found.iter().all(|one| one["median_s"].as_f64().is_some_and(|s| s > 0.0) && one["jobs"].as_u64() > Some(0))
    );
    assert!(found[0]["thread_events"].as_u64() > Some(10_000));
}
