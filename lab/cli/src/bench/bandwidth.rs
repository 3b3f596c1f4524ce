//! `numaestro bench bandwidth`: policies that look at memory bandwidth against one that does not
//! (`rr`), beside programs that do nothing but memory accesses; checks too that each run's journal
//! can be repeated.
//!
//! First it looks whether programs on this machine slow each other down through memory at all:
//! where they do not, there is nothing to gain, and only the price remains. Rates are declared, so
//! that the policies decide the same on machines with and without counters.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::args::LiveArgs;
use super::launch;
use super::live::{self, Bench, Job, Round};
use super::machine::{self, Description};
use super::managed::Managed;
use super::measure::report_of;
use super::mix::{Program, Runtime};
use super::stats;

/// The others are compared with the first.
const POLICIES: [&str; 4] = ["rr", "b2arr", "b2adss", "lqg"];
/// Declared saturation rate of the way to memory, lines per millisecond.
const SATURATION: u32 = 10_000;
/// Slowdown beside memory accesses from which on it is called contention.
const CONTENTION: f64 = 1.15;
/// Longest wait for one probe.
const PROBE_LIMIT: Duration = Duration::from_mins(2);
/// Pairs of a probe alone and beside.
const PROBES: usize = 3;

/// A program with one thread, and the rate that is declared for it.
struct Member {
    job: Job,
    rate: &'static str,
}

struct Workload {
    name: &'static str,
    members: [Member; 4],
}

const fn member(kernel: &'static str, arguments: &'static [&'static str], work_s: f64, rate: &'static str) -> Member {
    Member { job: Job { kernel, arguments, work_s }, rate }
}

// Larger than any cache that a processor of this kind has for itself.
const BBMA: Member = member("bbma", &["--size", "262144"], 0.8, "9000");
const NBBMA: Member = member("nbbma", &[], 0.8, "10");

// They arrive in this order, and `rr` takes them in it: two of a kind together in the first, one of
// each in the second.
const WORKLOADS: [Workload; 5] = [
    Workload { name: "like-by-like", members: [BBMA, BBMA, NBBMA, NBBMA] },
    Workload { name: "alternating", members: [BBMA, NBBMA, BBMA, NBBMA] },
    Workload { name: "sor", members: [member("sor", &[], 0.8, "400"), member("sor", &[], 0.8, "400"), BBMA, NBBMA] },
    Workload { name: "mem", members: [member("mem", &[], 0.8, "6000"), BBMA, NBBMA, NBBMA] },
    // Nothing is to be gained here: by how much a policy's samples and decisions delay programs.
    Workload { name: "quiet", members: [NBBMA; 4] },
];

/// One workload under all policies.
#[derive(Debug, Serialize)]
struct Row {
    workload: &'static str,
    /// Mean turnaround in seconds of every run, by policy.
    turnaround_s: Vec<(&'static str, Vec<f64>)>,
    /// Medians by the one of the first policy.
    ratios: Vec<(&'static str, Option<f64>)>,
    foreign: f64,
    limited: bool,
}

/// Measures all of it.
pub fn bandwidth(args: &LiveArgs) -> Result<ExitCode> {
    let jobs = WORKLOADS.iter().flat_map(|w| w.members.iter().map(|m| &m.job));
    let bench = Bench::new(&args.places, args.length, Duration::from_secs_f64(args.time_limit), jobs)?;
    let slowdown = contention(&bench)?;
    println!(
        "a program that streams, beside one that does nothing but memory accesses: {slowdown:.2} times its time alone"
    );
    if slowdown < CONTENTION {
        println!(
            "  below {CONTENTION}: this machine shows no contention for memory now. What follows is the policies' price, not their gain."
        );
    }
    let (dir, _kept) = live::journals(args)?;
    let rates = dir.join("rates");
    std::fs::write(&rates, format!("{{\"bus\":0,\"saturation\":{SATURATION}}}\n")).context("cannot write the rates")?;
    let files = POLICIES.map(|policy| dir.join(format!("{policy}.journal")));
    let mut managers = Vec::new();
    for (policy, file) in POLICIES.iter().zip(&files) {
        let further: [OsString; 2] = ["--inject-rates".into(), rates.clone().into()];
        managers.push(Managed::start_recorded(&bench.places.numaestro, policy, file, &further)?);
    }
    let mut rows = Vec::new();
    for workload in WORKLOADS.iter().filter(|workload| args.wants(workload.name)) {
        let row = measure(&bench, workload, &managers, args.runs)?;
        print(&row);
        rows.push(row);
    }
    drop(managers);
    let mut replays = Vec::new();
    for (policy, file) in POLICIES.iter().zip(&files) {
        let (equal, said) = live::replay(&bench.places.numaestro, file)?;
        println!("replay {policy:7} {said}");
        replays.push((*policy, equal));
    }
    conclude(args, slowdown, &rows, &replays, bench.processors.len())
}

fn measure(bench: &Bench, workload: &Workload, managers: &[Managed], runs: u32) -> Result<Row> {
    let jobs: Vec<(&Job, Vec<&str>)> =
        workload.members.iter().map(|member| (&member.job, vec!["--max", "1", "--btr", member.rate])).collect();
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); managers.len()];
    for run in 0..runs {
        // Interleaved, and none of them always first.
        for which in 0..managers.len() {
            let which = (which + run as usize) % managers.len();
            rounds[which].push(bench.run(&managers[which], &jobs, |_| {})?);
        }
    }
    let means: Vec<Vec<f64>> = rounds
        .iter()
        .map(|rounds| rounds.iter().filter_map(|round| stats::mean(&round.turnaround_s)).collect())
        .collect();
    let ratio = |samples: &Vec<f64>| stats::ratio_of_medians(samples, &means[0]);
    Ok(Row {
        workload: workload.name,
        ratios: POLICIES.into_iter().zip(means.iter().map(ratio)).collect(),
        foreign: rounds.iter().flatten().map(|round| round.window.foreign()).fold(0.0, f64::max),
        limited: rounds.iter().flatten().any(|round| round.limited),
        turnaround_s: POLICIES.into_iter().zip(means).collect(),
    })
}

/// The slowdown of a program that streams beside one that does nothing but memory accesses, each on
/// a processor of its own.
fn contention(bench: &Bench) -> Result<f64> {
    let [first, second, ..] = bench.processors[..] else { bail!("this needs two processors") };
    let kernel = |name: &str| {
        let [gcc, clang] = [Runtime::Gcc, Runtime::Clang]
            .map(|runtime| bench.places.command(&Program { name: name.to_owned(), runtime }));
        gcc.or(clang).map_err(anyhow::Error::msg)
    };
    let (stream, accesses) = (kernel("mem")?, kernel("bbma")?);
    let once = || -> Result<f64> {
        let mut command = launch::clean_command(&stream.executable);
        command.args(["--json", "--reps", "3", "--size", "480"]).env("OMP_NUM_THREADS", "1");
        let program = launch::start(&mut command, Some(&[first]))?;
        let ended = launch::wait_all(vec![program], Instant::now(), PROBE_LIMIT)?;
        let report = report_of(&ended[0].output).context("`mem` reports nothing")?;
        report.get("wall_s").and_then(serde_json::Value::as_f64).context("`mem` reports no time")
    };
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..PROBES {
        alone.push(once()?);
        let mut command = launch::clean_command(&accesses.executable);
        command.args(["--seconds", "1000", "--size", "524288"]).env("OMP_NUM_THREADS", "1");
        let neighbour = launch::start(&mut command, Some(&[second]))?;
        // Its array is there, and it is at work.
        std::thread::sleep(Duration::from_millis(700));
        let time = once();
        launch::kill(neighbour)?;
        beside.push(time?);
    }
    stats::ratio_of_medians(&beside, &alone).context("no time at all")
}

fn print(row: &Row) {
    println!(
        "{:12} mean turnaround s, and by rr's, of {} runs; others used up to {:.0} %{}",
        row.workload,
        row.turnaround_s[0].1.len(),
        row.foreign * 100.0,
        if row.limited { "; runs were killed, times are lower bounds" } else { "" }
    );
    for ((policy, samples), (_, ratio)) in row.turnaround_s.iter().zip(&row.ratios) {
        let (Some(median), Some(ratio)) = (stats::median(samples), ratio) else { continue };
        let spread = stats::median_deviation(samples).unwrap_or(0.0);
        println!("  {policy:7} {median:6.2} ±{spread:.2}   {ratio:.3}");
    }
}

fn conclude(
    args: &LiveArgs,
    slowdown: f64,
    rows: &[Row],
    replays: &[(&'static str, bool)],
    processors: usize,
) -> Result<ExitCode> {
    #[derive(Serialize)]
    struct Record<'a> {
        machine: Description,
        /// The slowdown of a program that streams, beside one that does nothing but memory
        /// accesses.
        contention: f64,
        saturation: u32,
        rows: &'a [Row],
        replays_equal: &'a [(&'static str, bool)],
    }
    let machine = machine::describe(processors);
    println!("load of this machine at the end: {}", machine.load);
    if let Some(path) = &args.json {
        let record = Record { machine, contention: slowdown, saturation: SATURATION, rows, replays_equal: replays };
        let text = serde_json::to_string_pretty(&record)?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let equal = replays.iter().all(|(_, equal)| *equal);
    Ok(if args.check && !equal { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
