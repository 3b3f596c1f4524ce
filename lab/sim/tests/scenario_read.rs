//! Scenarios as text: what is read, what is swept, and what every mistake looks like.

use numaestro_sim::memory::Contention;
use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::{Scenario, Workload};

/// Files of a test.
struct These(&'static [(&'static str, &'static str)]);

impl Files for These {
    fn text(&self, name: &str) -> Result<String, String> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    }
}

const FILES: These = These(&[
    (
        "log.swf",
        "; MaxProcs: 128\n1 0 -1 100 64 -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n2 100 -1 10 32 -1 -1 -1 -1 -1 0 1 1 -1 -1 -1 -1 -1\n3 300 -1 100 2 -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n",
    ),
    ("bad.swf", "; MaxProcs: 128\n1 0 -1 100 64 -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n2 x\n"),
    ("kernels.toml", "[[program]]\nname = \"fft\"\nprocessors = 4\nphases = [{ do = \"serial\", work = 5 }]\n"),
    ("wrong.toml", "[[program]]\nname = \"fft\"\nprocessors = 4\nphases = [{ do = \"serial\", works = 5 }]\n"),
]);

fn read(text: &str) -> Scenario {
    Scenario::read(Text::new("s.toml", text), &FILES).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))
}

/// What is said of a wrong text, unless it begins as expected.
fn unexpected(text: &str, expected: &str) -> Option<String> {
    let mistake = Scenario::read(Text::new("s.toml", text), &FILES).expect_err(text).to_string();
    (!mistake.starts_with(expected)).then(|| format!("expected {expected}\n   found {mistake}"))
}

#[track_caller]
fn wrong(text: &str, expected: &str) {
    assert_eq!(unexpected(text, expected), None);
}

const PROGRAM: &str = "[[program]]\nname = \"mm\"\nprocessors = 4\nphases = [{ do = \"serial\", work = \"1 ms\" }]\n";

#[test]
fn all_fields() {
    let scenario = read(&format!(
        "name = \"a\"\nabout = \"b\"\nmachine = \"xeon-4\"\npolicy = \"dss\"\ncontention = \"amva\"\nseed = 5\nseeds = 3\n\
         warmup = 0.1\nuntil = \"2 s\"\nprograms = [\"kernels.toml\"]\n[engine]\ngrace = \"3 ms\"\nreclaim = \"1 ms\"\n\
         cooldown = 7\nrecovery = 8\nmove_for_rounding = true\n{PROGRAM}"
    ));
    assert_eq!((scenario.name.as_str(), scenario.about.as_str(), scenario.policy.as_str()), ("a", "b", "dss"));
    assert_eq!((scenario.seed, scenario.seeds, scenario.until), (5, 3, Some(2_000_000_000)));
    assert_eq!(scenario.contention, Contention::Amva);
    let settings = &scenario.settings;
    assert_eq!(
        (settings.grace_ns, settings.reclaim_ns, settings.cooldown_ns, settings.recovery_ns),
        (3_000_000, 1_000_000, 7, 8)
    );
    assert!(settings.move_for_rounding);
    assert_eq!(settings.policy, "dss");
    let names: Vec<&str> = scenario.programs.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names, ["fft", "mm"]);
    // Without a workload each program arrives once.
    let mut source = scenario.source(1);
    assert_eq!(source.total(), Some(2));
    assert_eq!(source.next().unwrap().program.name, "fft");
    assert_eq!(source.next().unwrap().at, 0);
    assert!(source.next().is_none());
    assert_eq!(scenario.points().len(), 1);
}

#[test]
fn a_sweep_has_all_combinations_with_policies_fastest() {
    let scenario = read(&format!(
        "machine = \"hector\"\n{PROGRAM}[sweep]\npolicies = [\"equi\", \"dss\"]\nmachine.delay = [0, 8]\n\
         \"program.mm.processors\" = [2, 3]\n\"program.mm.phases[0].work\" = [\"1 ms\", \"2 ms\"]\n"
    ));
    let points = scenario.points();
    assert_eq!(points.len(), 16);
    assert_eq!(points[1].label, "machine.delay=0 program.mm.processors=2 program.mm.phases[0].work=1 ms policy=dss");
    for point in &points {
        let value = |name: &str| point.values.iter().find(|(known, _)| known == name).unwrap().1.as_str();
        assert_eq!(point.scenario.machine.delay.to_string(), value("machine.delay"));
        assert_eq!(point.scenario.programs[0].processors.to_string(), value("program.mm.processors"));
        assert_eq!(point.scenario.settings.policy, point.scenario.policy);
        assert!(point.label.ends_with(&format!("policy={}", point.scenario.policy)));
        assert!(point.scenario.sweep.policies.is_empty());
    }
    // The same machine is made only once.
    let same = std::sync::Arc::ptr_eq(&points[0].scenario.machine, &points[1].scenario.machine);
    assert!(same && !std::sync::Arc::ptr_eq(&points[0].scenario.machine, &points[15].scenario.machine));
}

#[test]
fn a_machine_may_stand_in_the_scenario() {
    let text = format!(
        "{PROGRAM}[machine]\ndelay = 2\n[machine.inline]\nname = \"two\"\nabout = \"Two nodes\"\ntopology = \"numa:2 core:4 pu:1\"\n\
         cycle = \"1 ns\"\nmemory = {{ page_bytes = 4096, node_pages = 1024 }}\n[machine.inline.access]\nunit = \"cycles\"\nhit = 1\n\
         class = [{{ name = \"local\", within = \"node\", line = 20 }}, {{ name = \"remote\", within = \"machine\", line = 60, delay = {{ line = 3 }} }}]\n"
    );
    let scenario = read(&text);
    assert_eq!((scenario.machine.name.as_str(), scenario.machine.delay, scenario.pus()), ("two", 2, 8));
    wrong(&text.replace("cycle = ", "cycles = "), "s.toml:7: machine.inline");
}

#[test]
fn loads_of_logs_and_models_are_what_is_asked_for() {
    for kind in ["kind = \"lublin\"\njobs = 500", "kind = \"downey\"\njobs = 500", "kind = \"swf\"\nfile = \"log.swf\""]
    {
        let scenario = read(&format!("machine = \"k64\"\n[workload]\n{kind}\nload = 0.6\n"));
        let Workload::Batch { fit, load, .. } = &scenario.workload else { panic!("no batch") };
        assert_eq!((*load, fit.pus), (Some(0.6), 64));
        let mut source = scenario.source(3);
        let (mut work, mut first, mut last) = (0.0, None, 0);
        while let Some(arrival) = source.next() {
            work += numaestro_sim::workload::offered::mean_work(&arrival.program);
            first.get_or_insert(arrival.at);
            last = arrival.at;
        }
        let load = work / ((last - first.unwrap()) as f64 * 64.0);
        assert!((load - 0.6).abs() < 1e-6, "{kind}: {load}");
    }
}

#[test]
fn a_log_says_what_is_left_out() {
    let scenario = read("machine = \"k64\"\n[workload]\nkind = \"swf\"\nfile = \"log.swf\"\nsizes = \"scale\"\n");
    assert_eq!(
        scenario.notes,
        ["log.swf: 2 jobs; left out 1: 1 failed, 0 parts of jobs, 0 without run time, 0 without size"]
    );
    let mut source = scenario.source(1);
    // 64 of 128 processors are 32 of 64.
    assert_eq!(source.next().unwrap().program.processors, 32);
    assert_eq!(source.next().unwrap().program.processors, 1);
}

#[test]
fn odd_things_are_remarked() {
    let scenario = read(
        "machine = \"xeon-4\"\n[[program]]\nname = \"wide\"\nprocessors = 9\nmin = 6\ndata = [{ name = \"d\", pages = 1_000_000_000 }]\n\
         phases = [{ do = \"serial\", work = 1 }]\n",
    );
    assert!(scenario.notes[0].contains("wants 9 processors"), "{:?}", scenario.notes);
    assert!(scenario.notes[1].contains("fewer than 6"), "{:?}", scenario.notes);
    assert!(scenario.notes[2].contains("1000000000 pages"), "{:?}", scenario.notes);
}

#[test]
fn mistakes_have_file_line_field_and_what_was_expected() {
    let mut found: Vec<String> = Vec::new();
    let with = |rest: &str| format!("machine = \"xeon-4\"\n{rest}");
    found.extend(unexpected(
        "machine = \"hecktor\"\n",
        "s.toml:1: machine: no machine is called \"hecktor\"; there is hector",
    ));
    found.extend(unexpected("policy = \"equi\"\n", "s.toml:1: `machine` is missing"));
    found.extend(unexpected(&with(""), "s.toml:1: nothing would run"));
    found.extend(unexpected(&with("color = 1\n"), "s.toml:2: color: unknown field; there are name, about, machine"));
    found.extend(unexpected(&with("policy = \"eqi\"\n"), "s.toml:2: policy: "));
    found.extend(unexpected(
        &with("contention = \"some\"\n"),
        "s.toml:2: contention: expected \"none\" or \"max-min\" or \"amva\" or \"stretch\", found \"some\"",
    ));
    found.extend(unexpected(&with("until = \"soon\"\n"), "s.toml:2: until: expected a time such as 100ms"));
    let told = |entry: &str| {
        let programs = "[[program]]\nname = \"a\"\nprocessors = 1\nphases = [{ do = \"serial\", work = 1 }]\n\
                        [[program]]\nname = \"c\"\nprocessors = 1\nwork = 1\ncurve = \"linear\"\n";
        with(&format!("{programs}[workload]\nkind = \"list\"\narrivals = [{entry}]\n"))
    };
    found.extend(unexpected(
        &told("{ at = 5, program = \"a\", until = 4 }"),
        "s.toml:13: workload.arrivals[0].until: expected a time not before the arrival",
    ));
    found.extend(unexpected(
        &told("{ at = 5, program = \"c\", until = 6 }"),
        "s.toml:13: workload.arrivals[0].until: a program that is only a curve",
    ));
    found.extend(unexpected(&with("seeds = 0\n"), "s.toml:2: seeds: expected a whole number from 1"));
    found.extend(unexpected(&with("warmup = 1.5\n"), "s.toml:2: warmup: expected a share of the jobs"));
    found.extend(unexpected(&with("[engine]\ngrace = true\n"), "s.toml:3: engine.grace: expected a time"));
    found.extend(unexpected(
        &with("[engine]\ngrease = 1\n"),
        "s.toml:3: engine.grease: unknown field; did you mean `grace`? There are grace, reclaim",
    ));
    found.extend(unexpected(
        &with("programs = [\"gone.toml\"]\n"),
        "s.toml:2: programs[0]: cannot read \"gone.toml\": no such file",
    ));
    found.extend(unexpected(
        &with("programs = [\"wrong.toml\"]\n"),
        "wrong.toml:4: program.fft.phases[0]: `work` is missing",
    ));
    found.extend(unexpected(
        &with("[workload]\nkind = \"enclosed\"\n"),
        "s.toml:3: workload.kind: expected \"streams\" or \"closed\" or \"open\"",
    ));
    found.extend(unexpected(
        &with("[workload]\nkind = \"swf\"\nfile = \"bad.swf\"\n"),
        "bad.swf:3: submit time: expected a number, found \"x\"",
    ));
    found.extend(unexpected(&with("[workload]\nkind = \"lublin\"\n"), "s.toml:2: workload: `jobs` is missing"));
    found.extend(unexpected(
        &with("[workload]\nkind = \"lublin\"\njobs = 9\nload = 0\n"),
        "s.toml:5: workload.load: expected an offered load above 0",
    ));
    found.extend(unexpected(
        &with("[workload]\nkind = \"streams\"\nprograms = [\"mm\"]\n"),
        "s.toml:4: workload.programs[0]: no program is called \"mm\"; there is none",
    ));
    let both = "[workload]\nkind = \"lublin\"\njobs = 9\nscale = 2\nload = 1\n";
    found.extend(unexpected(&with(both), "s.toml:6: workload.load: a load makes the intervals by itself"));
    let open = with(&format!("{PROGRAM}[workload]\nkind = \"open\"\n"));
    found.extend(unexpected(&open, "s.toml:6: workload: `interarrival` (time between arrivals) or `load` is missing"));
    found.extend(unexpected(
        &format!("{open}load = 0.5\nmix = [[\"mm\", 0]]\n"),
        "s.toml:9: workload.mix: expected at least one program with a weight",
    ));
    found.extend(unexpected(&with("x = [1, \n"), "s.toml:"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn mistakes_in_points_stand_where_the_sweep_is() {
    let mut found: Vec<String> = Vec::new();
    let with = |sweep: &str| format!("machine = \"hector\"\n{PROGRAM}[sweep]\n{sweep}\n");
    found.extend(unexpected(&with("policies = [\"equi\", \"dsss\"]"), "s.toml:7: policy: "));
    found.extend(unexpected(&with("policies = []"), "s.toml:7: sweep.policies: expected at least one value"));
    found.extend(unexpected(&with("machine.delay = 8"), "s.toml:7: sweep.machine.delay: expected a list of values"));
    found.extend(unexpected(
        &with("program.fft.processors = [1]"),
        "s.toml:7: sweep.program.fft.processors: there is no `fft` in this list",
    ));
    found.extend(unexpected(
        &with("program.mm.processors = [1, 0]"),
        "s.toml:7: program.mm.processors: expected a whole number from 1",
    ));
    found.extend(unexpected(&with("engine.grease = [1]"), "s.toml:7: engine.grease: unknown field"));
    found.extend(unexpected(
        &with("machine.dealy = [1]"),
        "s.toml:7: machine.dealy: unknown field; did you mean `delay`? There are delay, name",
    ));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_a_machine_cannot_hold_is_refused() {
    let text = "machine = \"xeon-4\"\n[[program]]\nname = \"p\"\nprocessors = 4\n";
    let node = format!(
        "{text}data = [{{ name = \"d\", pages = 1, place = {{ node = 3 }} }}]\nphases = [{{ do = \"serial\", work = 1 }}]\n"
    );
    wrong(&node, "s.toml:2: program: data `d` of `p` is on node 3, but xeon-4 has 1 nodes");
    wrong(
        &format!("{text}work = 1\ncurve = {{ rigid = 5 }}\n"),
        "s.toml:2: program: `p` is rigid on 5 processors, but can have 4",
    );
}
