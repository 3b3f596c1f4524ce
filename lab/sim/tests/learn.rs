//! Learning finds the program that made the measurements: a known program runs alone in the
//! simulator, and the program learned from these runs has to behave like it, also beside others.
//! Wrong measurements have to be noticed.

use numaestro_sim::learn::{Measured, fit, samples};
use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::program::{Asks, PhaseSource};
use numaestro_sim::read::{NoFiles, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::world::{Observer, World};
use numaestro_topology::PuId;

const MACHINE: &str = r#"
machine = { inline = { name = "two", about = "two", topology = "core:2 pu:1", cycle = "1 ns",
    memory = { page_bytes = 4096, node_pages = 1000 }, access = { unit = "ns", hit = 1, class = [{ name = "all", within = "machine", line = 10 }] },
    system = { quantum = "3 ms" } } }
contention = "none"
"#;

/// Reads a file, waits, and has an imperfect speedup in two parts. It says nothing of its phases.
const KNOWN: &str = r#"
[[program]]
name = "p"
processors = 2
vacates = "at-once"
phase_source = "manager"
phases = [
    { do = "serial", work = "150 ms" },
    { do = "parallel", iterations = 300, work = "2 ms", curve = { table = [[1, 1], [2, 1.7]] } },
    { do = "pause", time = "80 ms" },
    { do = "parallel", iterations = 200, work = "2 ms", curve = { table = [[1, 1], [2, 1.7]] } },
]
"#;

/// Its meetings.
const REGIONS: u64 = 500;

/// A program beside it in mixes.
const OTHER: &str = r#"
[[program]]
name = "q"
processors = 2
phases = [{ do = "parallel", iterations = 400, work = "2 ms" }]
"#;

/// Collects the processor time of the only program.
#[derive(Default)]
struct Meter {
    busy: usize,
    since: u64,
    used: u64,
    changes: Vec<(u64, u64, usize)>,
    running: [bool; 2],
}

impl Observer for Meter {
    fn runs(&mut self, at: u64, pu: PuId, what: numaestro_sim::world::Occupant) {
        self.used += self.busy as u64 * (at - self.since);
        self.since = at;
        self.running[pu.index()] = what.is_some();
        self.busy = self.running.iter().filter(|&&runs| runs).count();
        self.changes.push((at, self.used, self.busy));
    }

    fn ended(&mut self, _: &JobRecord) {}
}

impl Meter {
    /// Samples each 10 ms, as somebody would see them from outside.
    fn samples(&self, end: u64) -> Vec<samples::Sample> {
        let used = |at: u64| {
            let before = self.changes.iter().take_while(|(time, ..)| *time <= at).last();
            before.map_or(0, |(time, used, busy)| used + (at - time) * *busy as u64)
        };
        (1..=end / 10_000_000)
            .map(|number| number * 10_000_000)
            .map(|at| samples::Sample { at, used_ns: used(at) })
            .collect()
    }
}

fn run(text: &str, observer: &mut dyn Observer) -> Outcome {
    let scenario = Scenario::read(Text::new("scenario", text), &NoFiles).expect("a scenario");
    World::new(scenario.setup(1), scenario.source(1)).expect("a world").run(observer)
}

/// The program alone on so many processors, seen from outside.
fn alone(program: &str, processors: u32) -> Measured {
    let text = format!("{MACHINE}{program}").replace("processors = 2", &format!("processors = {processors}"));
    let mut meter = Meter::default();
    let outcome = run(&text, &mut meter);
    let end = outcome.jobs[0].ended;
    let seen = samples::measured(&meter.samples(end), processors, end, 15_000_000);
    Measured { regions: REGIONS, ..seen }
}

/// Makespan and mean response of `p` beside `q` under a policy, nanoseconds.
fn beside(program: &str, policy: &str) -> [f64; 2] {
    let text = format!("policy = \"{policy}\"\n{MACHINE}{program}{OTHER}");
    let outcome = run(&text, &mut ());
    let mean = outcome.jobs.iter().map(|job| job.response() as f64).sum::<f64>() / outcome.jobs.len() as f64;
    [outcome.end as f64, mean]
}

/// Largest difference between the known and the learned program, in all mixes, as a share.
fn largest_error(runs: &[Measured]) -> f64 {
    let learned = fit("p", runs).expect("a program").to_toml();
    let policies = ["equi", "batch", "sw-dss"];
    let errors = policies.iter().flat_map(|policy| {
        let (known, found) = (beside(KNOWN, policy), beside(&learned, policy));
        [0, 1].map(|which| (found[which] / known[which] - 1.0).abs())
    });
    errors.fold(0.0, f64::max)
}

#[test]
fn the_parameters_of_a_known_program_are_found() {
    let found = fit("p", &[alone(KNOWN, 1), alone(KNOWN, 2)]).expect("a program");
    assert!((found.speedup(2) - 1.7).abs() < 0.05, "{found:?}");
    assert!((found.length_on(1) / 1.23e9 - 1.0).abs() < 0.01, "{found:?}");
    let stretches: Vec<u64> = found.stretches.iter().map(|stretch| stretch.amount_ns / 1_000_000).collect();
    assert_eq!(stretches.len(), 4, "{found:?}");
    for (found, known) in stretches.iter().zip([150_u64, 600, 80, 400]) {
        assert!(found.abs_diff(known) <= 25, "{stretches:?}");
    }
    assert!(found.residual < 0.01 && found.assumed.is_empty());
}

#[test]
fn a_learned_program_behaves_like_the_known_one_beside_others() {
    let error = largest_error(&[alone(KNOWN, 1), alone(KNOWN, 2)]);
    assert!(error < 0.03, "{error}");
}

#[test]
fn wrong_measurements_are_noticed() {
    let [narrow, wide] = [1, 2].map(|processors| alone(KNOWN, processors));
    let longer = |run: &Measured, percent: u64| {
        let mut run = run.clone();
        for span in &mut run.spans {
            span.length_ns = span.length_ns * percent / 100;
        }
        run
    };
    let cases = [
        ("twice the work", vec![longer(&narrow, 200), longer(&wide, 200)]),
        ("a speedup of the other kind", vec![narrow.clone(), longer(&wide, 150)]),
        ("no run on one processor", vec![longer(&wide, 130)]),
    ];
    for (what, runs) in cases {
        let error = largest_error(&runs);
        assert!(error > 0.1, "{what} gives an error of {error} only");
    }
}

#[test]
fn the_text_of_a_learned_program_is_read_back() {
    let runs = [alone(KNOWN, 1), alone(KNOWN, 2)];
    let text = fit("a \"quoted\" name", &runs).expect("a program").to_toml();
    let programs = numaestro_sim::program::read(Text::new("learned", &text)).expect("a program file");
    assert_eq!(programs[0].name, "a \"quoted\" name");
    assert_eq!((programs[0].processors, programs[0].asks), (2, Asks::Once(PhaseSource::Manager)));
}
