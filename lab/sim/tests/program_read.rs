//! Programs as text: every kind of phase and every default, and a dozen wrong files with what is
//! said of them.

use numaestro_sim::dist::Dist;
use numaestro_sim::machine::Op;
use numaestro_sim::program::{
    self, Analyzer, Asks, Body, Class, Data, Limits, PagePlace, Part, Phase, PhaseSource, Program, Refs, Split,
    Stretch, Vacates, Wait, Work,
};
use numaestro_sim::read::Text;
use numaestro_sim::speedup::Curve;

const FULL: &str = r#"
[[program]]
name = "mm"
processors = 8
min = 2
weight = 1.5
class = "fold"
asks = "creation"
vacates = "task"
creation = "50 us"
footprint = 900
data = [
    { name = "a", pages = 10, split = "per-thread", place = "first-touch" },
    { name = "b", pages = 3, place = { node = 2 } },
    { name = "c", pages = 0, place = "round-robin" },
]

[[program.phases]]
do = "serial"
work = { mean = "2 ms", cv = 0.5 }
refs = [{ data = "b", part = "master", op = "store", per_us = 0.5, hits = 0.25 }]

[[program.phases]]
do = "repeat"
times = 3
phases = [
    { do = "parallel", width = 4, iterations = 5, work = "1.5 s", cv = 0.1, wait = { spin_then_block = "50 us" }, locked = "3 us", curve = { amdahl = 0.1 } },
    { do = "parallel", work_each = { exponential = 7 }, wait = "block", refs = [{ data = "a", per_us = 2 }] },
    { do = "tasks", count = { geometric = 4 }, work = { uniform = ["1 ms", "2 ms"] } },
    { do = "pause", time = { lognormal = ["1 s", 2] } },
    { do = "request", processors = 6 },
]

[[program]]
name = "job"
processors = 16
work = { choice = [["1 s", 1], ["3 s", 0.5]] }
curve = { downey = [8, 0.5] }
resize = "1 ms"
max = 12
"#;

fn read(text: &str) -> Vec<Program> {
    program::read(Text::new("p.toml", text)).unwrap_or_else(|mistake| panic!("{mistake}"))
}

#[test]
fn everything_there_is() {
    let programs = read(FULL);
    let data = |name: &str, pages, split, place| Data { name: name.to_owned(), pages, split, place };
    let refs = |data, part, op, per_us, hits| vec![Refs { part, op, hits, ..Refs::new(data, per_us) }];
    let parallel = |width, iterations, work, refs, wait, locked, curve| Phase::Parallel {
        width,
        iterations,
        work,
        refs,
        wait,
        locked,
        curve,
    };
    let inner = vec![
        parallel(
            4,
            5,
            Work::Divided(Dist::Constant(1.5e9), 0.1),
            vec![],
            Wait::SpinThenBlock(50_000),
            Some(Dist::Constant(3e3)),
            Some(Curve::Amdahl(0.1)),
        ),
        parallel(
            8,
            1,
            Work::Each(Dist::Exponential(7.0)),
            refs(0, Part::Own, Op::Line, 2.0, 0.0),
            Wait::Block,
            None,
            None,
        ),
        Phase::Tasks { count: Dist::Geometric(4.0), work: Dist::Uniform(1e6, 2e6), refs: vec![] },
        Phase::Pause { time: Dist::LogNormal(1e9, 2.0) },
        Phase::Request { processors: 6 },
    ];
    let mm = Program {
        name: "mm".to_owned(),
        processors: 8,
        limits: Limits { min: 2, max: u32::MAX, weight_milli: 1500 },
        class: Class::Fold,
        asks: Asks::Creation,
        vacates: Vacates::Task,
        creation_ns: 50_000,
        footprint_lines: 900,
        recovers: false,
        recreates: false,
        stoppable: true,
        analyzer: None,
        data: vec![
            data("a", 10, Split::PerThread, PagePlace::FirstTouch),
            data("b", 3, Split::Whole, PagePlace::Node(2)),
            data("c", 0, Split::Whole, PagePlace::RoundRobin),
        ],
        body: Body::Phases(vec![
            Phase::Serial { work: Dist::MeanCv(2e6, 0.5), refs: refs(1, Part::Master, Op::Store, 0.5, 0.25) },
            Phase::Repeat { times: 3, phases: inner },
        ]),
    };
    assert_eq!(programs[0], mm);
    let curve = Curve::Downey { average: 8.0, sigma: 0.5 };
    let work = Dist::Choice(vec![(1e9, 1.0), (3e9, 0.5)]);
    assert_eq!(programs[1].body, Body::curve(work, curve, 1_000_000));
    assert_eq!(programs[1].limits.max, 12);
}

#[test]
fn what_need_not_be_said() {
    let program = &read("[[program]]\nname = \"p\"\nprocessors = 4\nphases = [{ do = \"parallel\", work = 9 }]\n")[0];
    assert_eq!((program.recovers, program.recreates, program.stoppable, program.analyzer), (false, false, true, None));
    assert_eq!(program.limits, Limits { min: 1, max: u32::MAX, weight_milli: 1000 });
    assert_eq!((program.creation_ns, program.footprint_lines), (0, 0));
    assert_eq!(
        (program.class, program.asks, program.vacates),
        (Class::Malleable, Asks::Once(PhaseSource::Program), Vacates::Region)
    );
    let expected = Phase::Parallel {
        width: 4,
        iterations: 1,
        work: Work::Divided(Dist::Constant(9.0), 0.0),
        refs: vec![],
        wait: Wait::Spin,
        locked: None,
        curve: None,
    };
    assert_eq!(program.body, Body::Phases(vec![expected]));
}

#[test]
fn rates_and_what_managers_ask_of_programs() {
    let text = |more: &str, phase: &str| {
        format!(
            "[[program]]\nname = \"p\"\nprocessors = 4\n{more}\nphases = [{{ do = \"parallel\", work = 9{phase} }}]\n"
        )
    };
    let program = &read(&text(
        "recovers = true\nrecreates = true\nstoppable = false\nanalyzer = { baseline = 1, cost = \"1 us\" }",
        ", rate = 2.5, sharing = 0.5",
    ))[0];
    assert!(program.recovers && program.recreates && !program.stoppable);
    assert_eq!(program.analyzer, Some(Analyzer { baseline: 1, cost_ns: 1000, ..Analyzer::default() }));
    let Body::Phases(phases) = &program.body else { panic!("phases") };
    let Phase::Parallel { refs, .. } = &phases[0] else { panic!("a region") };
    assert_eq!(refs[..], [Refs { is_rate: true, sharing: 0.5, ..Refs::new(0, 2.5) }]);
    assert_eq!((program.data.len(), program.data[0].pages), (1, 0), "rates are of no data");
    assert!(program.has_rates());
    let usual = &read(&text("analyzer = true", ""))[0];
    assert_eq!((usual.analyzer, usual.data.len()), (Some(Analyzer::default()), 0));
    let both = text("data = [{ name = \"a\", pages = 1 }]", ", rate = 1, refs = [{ data = \"a\", per_us = 1 }]");
    let mistake = program::read(Text::new("p.toml", &both)).expect_err("both");
    assert!(mistake.problem.contains("not both"), "{mistake}");
}

#[test]
fn curves() {
    let check = |text: &str, expected| {
        let text = format!("[[program]]\nname = \"p\"\nprocessors = 4\nwork = 1\ncurve = {text}\n");
        let Body::Curve { curve, .. } = &read(&text)[0].body else { panic!("no curve") };
        assert_eq!(*curve, expected, "{text}");
    };
    check("\"linear\"", Curve::Linear);
    check("{ sevcik = [1, 0.02, 0.01] }", Curve::Sevcik { imbalance: 1.0, serial: 0.02, overhead: 0.01 });
    check("{ table = [[1, 1], [4, 3.5]] }", Curve::Table(vec![(1, 1.0), (4, 3.5)]));
    check("{ rigid = 4 }", Curve::Rigid(4));
}

/// Where a mistake in `FULL` is found that has `change.1` instead of `change.0`, unless it is there
/// with this problem.
fn unexpected(change: (&str, &str), line: u32, field: &str, problem: &str) -> Option<String> {
    assert!(FULL.contains(change.0), "nothing to change: {}", change.0);
    let text = FULL.replacen(change.0, change.1, 1);
    let mistake = program::read(Text::new("p.toml", &text)).expect_err(change.1);
    let right = mistake.line == line && mistake.field == field && mistake.problem.contains(problem);
    (!right).then(|| format!("{mistake}\n  expected p.toml:{line}: {field}: {problem}"))
}

#[test]
fn mistakes_in_programs() {
    let mut found: Vec<String> = Vec::new();
    found.extend(unexpected(("processors = 8", "procesors = 8"), 2, "program.mm", "`processors` is missing"));
    found.extend(unexpected(("min = 2", "min = 9"), 5, "program.mm.min", "a whole number from 1 to 8, found 9"));
    found.extend(unexpected(("weight = 1.5", "max = 1"), 6, "program.mm.max", "found 1"));
    found.extend(unexpected(
        ("weight = 1.5", "weight = \"much\""),
        6,
        "program.mm.weight",
        "1 is usual, found \"much\"",
    ));
    found.extend(unexpected(
        ("class = \"fold\"", "class = \"rigid\""),
        7,
        "program.mm.class",
        "\"malleable\" or \"setter\" or \"fold\"",
    ));
    found.extend(unexpected(("\"50 us\"", "\"50 lightyears\""), 10, "program.mm.creation", "a time such as 100ms"));
    found.extend(unexpected(
        ("footprint = 900", "footprnt = 900"),
        11,
        "program.mm.footprnt",
        "unknown field; did you mean `footprint`? There are name, processors, min",
    ));
    found.extend(unexpected(("{ name = \"b\"", "{ name = \"a\""), 14, "program.mm.data[1]", "already data `a`"));
    found.extend(unexpected(
        ("place = { node = 2 }", "place = \"moon\""),
        14,
        "program.mm.data[1].place",
        "\"round-robin\", \"master\" or { node",
    ));
    found.extend(unexpected(
        ("asks = \"creation\"", "phase_source = \"manger\""),
        8,
        "program.mm.phase_source",
        "\"program\" or \"manager\" or \"threads\" or \"nobody\"",
    ));
    found.extend(unexpected(
        ("asks = \"creation\"", "asks = \"creation\"\nphase_source = \"manager\""),
        9,
        "program.mm.phase_source",
        "only of a program with asks = \"once\"",
    ));
    found.extend(unexpected(
        ("resize = \"1 ms\"", "phase_source = \"manager\""),
        39,
        "program.job.phase_source",
        "no threads to look at",
    ));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_curve_may_have_stretches() {
    let text = |more: &str| format!("[[program]]\nname = \"p\"\nprocessors = 4\ncurve = \"linear\"\n{more}\n");
    let program = "stretches = [{ serial = \"2 ms\" }, { parallel = { exponential = 40 } }, { pause = 5 }]\ntimes = 3\n\
                   phase_source = \"nobody\"";
    let read_program = &read(&text(program))[0];
    let amount = Dist::Constant;
    let stretches =
        vec![Stretch::Serial(amount(2e6)), Stretch::Parallel(Dist::Exponential(40.0)), Stretch::Pause(amount(5.0))];
    assert_eq!(read_program.body, Body::Curve { stretches, times: 3, curve: Curve::Linear, resize_ns: 0 });
    assert_eq!(read_program.asks, Asks::Once(PhaseSource::Nobody));
    let wrong = [
        ("", "`work` is missing"),
        ("work = 1\nstretches = [{ serial = 1 }]", "not both"),
        ("stretches = []", "a list of { parallel = work }"),
        ("stretches = [{ tasks = 1 }]", "a list of { parallel = work }"),
        ("stretches = [{ serial = 1, pause = 2 }]", "unknown field"),
        ("stretches = [{ serial = 1 }]\ntimes = 0", "from 1"),
    ];
    for (more, problem) in wrong {
        let mistake = program::read(Text::new("p.toml", &text(more))).expect_err(more);
        assert!(mistake.problem.contains(problem), "{more}: {mistake}");
    }
}

#[test]
fn phases_are_said_or_looked_for_or_not_known() {
    let text = |word| {
        format!(
            "[[program]]\nname = \"p\"\nprocessors = 4\nphase_source = \"{word}\"\nphases = [{{ do = \"parallel\", work = 9 }}]\n"
        )
    };
    let sources = ["program", "manager", "threads", "nobody"].map(|word| read(&text(word))[0].asks);
    assert_eq!(sources, PhaseSource::ALL.map(Asks::Once));
    assert_eq!(PhaseSource::ALL.map(PhaseSource::word), ["program", "manager", "threads", "nobody"]);
}

#[test]
fn mistakes_in_phases_and_curves() {
    let mut found: Vec<String> = Vec::new();
    found.extend(unexpected(
        ("do = \"serial\"", "do = \"serially\""),
        19,
        "program.mm.phases[0].do",
        "or \"repeat\", found \"serially\"",
    ));
    found.extend(unexpected(
        ("cv = 0.5", "cv = -1"),
        20,
        "program.mm.phases[0].work.cv",
        "a coefficient of variation, at least 0",
    ));
    found.extend(unexpected(
        ("data = \"b\"", "data = \"z\""),
        21,
        "program.mm.phases[0].refs[0].data",
        "no data is called \"z\"; there is a, b, c",
    ));
    found.extend(unexpected(
        ("hits = 0.25", "hits = 25"),
        21,
        "program.mm.phases[0].refs[0].hits",
        "a share from 0 to 1, found 25",
    ));
    found.extend(unexpected(
        ("times = 3", "times = 0"),
        25,
        "program.mm.phases[1].times",
        "a whole number, at least 1, found 0",
    ));
    found.extend(unexpected(
        ("work = \"1.5 s\"", "work = \"1.5 s\", work_each = 1"),
        27,
        "program.mm.phases[1].phases[0].work_each",
        "not both",
    ));
    found.extend(unexpected(
        ("work_each = { exponential = 7 }", "width = 2"),
        28,
        "program.mm.phases[1].phases[1]",
        "`work_each` is missing",
    ));
    found.extend(unexpected(
        ("geometric = 4", "geometric = 0.5"),
        29,
        "program.mm.phases[1].phases[2].count.geometric",
        "at least 1",
    ));
    found.extend(unexpected(
        ("uniform = [\"1 ms\", \"2 ms\"]", "uniform = [\"2 ms\", \"1 ms\"]"),
        29,
        "program.mm.phases[1].phases[2].work.uniform",
        "low at most high",
    ));
    found.extend(unexpected(
        ("{ lognormal = [\"1 s\", 2] }", "{ normal = 1 }"),
        30,
        "program.mm.phases[1].phases[3].time",
        "{ exponential = mean }",
    ));
    found.extend(unexpected(
        ("processors = 6", "processors = 9"),
        31,
        "program.mm.phases[1].phases[4].processors",
        "from 1 to 8",
    ));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn mistakes_in_curves_and_names() {
    let mut found: Vec<String> = Vec::new();
    found.extend(unexpected(
        ("[[\"1 s\", 1], [\"3 s\", 0.5]]", "[[\"1 s\", 0]]"),
        37,
        "program.job.work.choice",
        "a weight above 0",
    ));
    found.extend(unexpected(
        ("downey = [8, 0.5]", "downey = [8]"),
        38,
        "program.job.curve.downey",
        "[A, sigma], found 1 values",
    ));
    found.extend(unexpected(("name = \"job\"", "name = \"mm\""), 34, "program[1]", "already a program `mm`"));
    found.extend(unexpected(("name = \"job\"", "name = \"a.b\""), 34, "program[1]", "without `.`"));
    found.extend(unexpected(
        ("curve = { downey", "phases = []\ncurve = { downey"),
        38,
        "program.job.phases",
        "phases or a curve, not both",
    ));
    found.extend(unexpected(("work = { choice", "wrk = { choice"), 34, "program.job", "`work` is missing"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_is_no_list_of_programs() {
    let problem = |text: &str| program::read(Text::new("p.toml", text)).unwrap_err().to_string();
    assert_eq!(problem(""), "p.toml:1: `program` is missing: a file of programs has [[program]] tables");
    assert_eq!(problem("program = 1\n"), "p.toml:1: program: expected [[program]] tables, found 1");
    assert!(problem("[[program]\n").starts_with("p.toml:1: "));
    assert!(problem("\n\nname = 1979-05-27\n").starts_with("p.toml:3: cannot read a date"));
}
