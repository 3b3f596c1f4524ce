//! `numaestro sim bench`: measures events per second of processor time, and the cost of logs, with
//! the promised numbers beside them.
//!
//! Processor time of one thread: other load on the machine makes it longer only by the caches it
//! takes.

use super::args::BenchArgs;
use super::files::{self, Directory, quoted};
use super::runner;
use super::table;
use crate::say::WRONG_FILE;
use crate::say::{self, Failure};
use crate::texts;
use numaestro_sim::read::Text;
use numaestro_sim::scenario::Scenario;
use numaestro_sim::stats::moments::{percentile, sorted};
use numaestro_sim::world::World;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::path::Path;

/// A promise of `docs/PROMISES.md`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Bound {
    /// Thread events per second of processor time, at least.
    EventsPerSecond(f64),
    /// Seconds of processor time, at most.
    Seconds(f64),
}

/// A measurement to make.
struct Measurement {
    name: String,
    policy: &'static str,
    scenario: Scenario,
    bound: Option<Bound>,
}

/// The result of a measurement.
#[derive(Debug, Serialize)]
struct Found {
    name: String,
    policy: &'static str,
    processors: usize,
    jobs: usize,
    thread_events: u64,
    engine_events: u64,
    /// Processor time of each repetition, seconds.
    seconds: Vec<f64>,
    /// Median.
    median_s: f64,
    events_per_second: f64,
    bound: Option<Bound>,
    /// Kept; `null` without a bound.
    holds: Option<bool>,
}

/// The subcommand.
pub fn bench(args: &BenchArgs) -> anyhow::Result<u8> {
    files::check_writable(&[args.json.as_ref()])?;
    let measurements = measurements(args)?;
    let mut found = Vec::new();
    for one in measurements {
        found.push(measure(&one, args.runs)?);
    }
    say::print(&shown(&found))?;
    if let Some(path) = &args.json {
        let document =
            serde_json::json!({ "numaestro_sim_bench": 1, "version": env!("CARGO_PKG_VERSION"), "found": found });
        files::write(path, &(serde_json::to_string_pretty(&document)? + "\n"))?;
    }
    let broken = found.iter().any(|one| one.holds == Some(false));
    Ok(if args.check && broken { say::FAILED } else { say::OK })
}

fn measurements(args: &BenchArgs) -> anyhow::Result<Vec<Measurement>> {
    let threads = [
        ("threads-64", "equi", include_str!("threads-64.toml"), 2e6),
        ("threads-1024", "equi", include_str!("threads-1024.toml"), 0.5e6),
        ("linux-64", "linux24", include_str!("linux-64.toml"), 2e6),
    ];
    let mut all = Vec::new();
    for (name, policy, text, bound) in threads {
        let quick = args.quick.then(|| ("workload.repetitions".to_owned(), "1".to_owned()));
        let scenario = embedded(name, text, quick.as_slice())?;
        all.push(Measurement { name: name.to_owned(), policy, scenario, bound: Some(Bound::EventsPerSecond(bound)) });
    }
    for policy in ["fcfs", "easy"] {
        let mut changes = vec![("policy".to_owned(), quoted(policy))];
        changes.extend(args.quick.then(|| ("workload.jobs".to_owned(), "1000".to_owned())));
        let scenario = embedded("lublin-256", include_str!("lublin-256.toml"), &changes)?;
        let bound = (policy == "easy" && !args.quick).then_some(Bound::Seconds(0.5));
        all.push(Measurement { name: "lublin-256".to_owned(), policy, scenario, bound });
    }
    for path in &args.swf {
        for policy in ["fcfs", "easy"] {
            all.push(log(path, policy)?);
        }
    }
    Ok(all)
}

fn embedded(name: &str, text: &str, changes: &[(String, String)]) -> anyhow::Result<Scenario> {
    let scenario = Scenario::read_changed(Text::new(name, text), changes, &numaestro_sim::read::NoFiles);
    scenario.map_err(|mistake| anyhow::anyhow!("{mistake}"))
}

/// A log on a machine of its own size, or the next larger one there is.
fn log(path: &Path, policy: &'static str) -> anyhow::Result<Measurement> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    // Nothing of memory is modelled with a log: a flat machine of as many processors as its jobs
    // need.
    let contents = texts::text(path)
        .map_err(|error| Failure::error(WRONG_FILE, format!("cannot read {}: {error}", path.display()), ""))?;
    let parsed = numaestro_sim::workload::swf::Log::read(Text::new(&name, &contents))
        .map_err(|mistake| Failure::error(WRONG_FILE, mistake.to_string(), ""))?;
    let processors = parsed.processors();
    let text = format!(
        "name = {}\npolicy = {}\nseed = 1\n[machine.inline]\nname = \"flat\"\nabout = \"as many processors as the log's machine\"\n\
         topology = \"core:{processors} pu:1\"\ncycle = \"1 ns\"\n[machine.inline.memory]\npage_bytes = 4096\nnode_pages = 1024\n\
         [machine.inline.access]\nhit = 1\nclass = [{{ name = \"all\", within = \"machine\", line = 1 }}]\n\
         [workload]\nkind = \"swf\"\nfile = {}\nestimates = \"perfect\"\n",
        quoted(&name),
        quoted(policy),
        quoted(&name)
    );
    let scenario = Scenario::read_changed(Text::new("log", &text), &[], &Directory::of(path))
        .map_err(|mistake| Failure::error(WRONG_FILE, mistake.to_string(), ""))?;
    let bound = name.starts_with("NASA-iPSC").then_some(Bound::Seconds(0.1));
    Ok(Measurement { name, policy, scenario, bound })
}

fn measure(one: &Measurement, runs: u32) -> anyhow::Result<Found> {
    let (seed, mut seconds, mut outcome) = (one.scenario.seed, Vec::new(), None);
    for _ in 0..runs {
        let before = cpu_seconds();
        let mut world = World::new(one.scenario.setup(seed), one.scenario.source(seed))
            .map_err(|rejected| runner::refused(one.policy, &rejected.to_string()))?;
        outcome = Some(world.run(&mut ()));
        seconds.push(cpu_seconds() - before);
    }
    let outcome = outcome.expect("at least one run");
    let median_s = percentile(&sorted(&seconds), 0.5).unwrap_or(0.0);
    let events_per_second = outcome.thread_events as f64 / median_s;
    let holds = one.bound.map(|bound| match bound {
        Bound::EventsPerSecond(least) => events_per_second >= least,
        Bound::Seconds(most) => median_s <= most,
    });
    Ok(Found {
        name: one.name.clone(),
        policy: one.policy,
        processors: one.scenario.machine.topology.pu_count(),
        jobs: outcome.jobs.len(),
        thread_events: outcome.thread_events,
        engine_events: outcome.engine_events,
        seconds,
        median_s,
        events_per_second,
        bound: one.bound,
        holds,
    })
}

/// Processor time of this thread.
fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn shown(found: &[Found]) -> String {
    let mut rows = vec![
        [
            "",
            "policy",
            "processors",
            "applications",
            "thread events",
            "seconds",
            "events/s",
            "jobs/s",
            "promised",
            "of it",
            "",
        ]
        .map(ToOwned::to_owned),
    ];
    for one in found {
        // A job of a log is one event.
        let threads = one.thread_events > one.jobs as u64;
        let (promised, part) = match one.bound {
            Some(Bound::EventsPerSecond(least)) => {
                (format!(">= {}/s", table::number(least)), format!("{:.2}", one.events_per_second / least))
            }
            Some(Bound::Seconds(most)) => {
                (format!("<= {} s", table::number(most)), format!("{:.2}", one.median_s / most))
            }
            None => (String::new(), String::new()),
        };
        rows.push([
            one.name.clone(),
            one.policy.to_owned(),
            one.processors.to_string(),
            one.jobs.to_string(),
            if threads { one.thread_events.to_string() } else { String::new() },
            table::number(one.median_s),
            if threads { table::number(one.events_per_second) } else { String::new() },
            table::number(one.jobs as f64 / one.median_s),
            promised,
            part,
            one.holds.map_or("", |holds| if holds { "kept" } else { "NOT KEPT" }).to_owned(),
        ]);
    }
    table::aligned(&rows)
}
