//! `numaestro sim compare`: compares policies, at every point of the scenario's sweep, on the same
//! jobs.

use super::args::CompareArgs;
use super::files::{self, Loaded, quoted};
use super::html::{self, Report};
use super::occupancy::Grid;
use super::policies::apart;
use super::progress::Progress;
use super::recorder::Recorder;
use super::results::{Cell, Comparison, Results};
use super::run::{about, headline, notes};
use super::runner::{self, Planned, Runner};
use super::state::{self, Done, Kept};
use super::summary::Summary;
use super::{csv, document, slurm, stop, table, verdict};
use crate::finished::{Finished, Origin};
use crate::say::{self, Failure};
use numaestro_sim::scenario::Scenario;
use std::path::PathBuf;

/// Columns of the report's charts.
const COLUMNS: usize = 240;
/// Policies whose schedule the report shows.
const SCHEDULES: usize = 8;

/// The subcommand.
pub fn compare(args: &CompareArgs) -> anyhow::Result<u8> {
    let (loaded, baseline) = load(args)?;
    let scenario = &loaded.scenario;
    files::check_writable(&[&args.json, &args.csv, &args.html, &args.state].map(Option::as_ref))?;
    let planned = plan(scenario);
    runner::check(&planned)?;
    let seeds: Vec<u64> = (0..u64::from(scenario.seeds)).map(|number| scenario.seed.wrapping_add(number)).collect();
    let runs = runner::runs(&planned, &seeds);
    let tasks = if args.slurm.slurm { Some(slurm::check(args, runs.len())?) } else { None };
    notes(scenario);
    let origin = Origin::new(loaded.fingerprint)?;
    let (state, mut done) = open_state(args, &origin)?;
    let keeps = state.as_ref().filter(|_| args.part.is_none());
    if let Err(error) = state::take(&args.finished, &origin, &mut done, keeps) {
        return Err(abandon(state, &done, error));
    }
    let stop = stop::on_signal()?;
    let kept = state.as_ref().map(|state| Kept { state, origin: &origin });
    let whole = match (tasks, kept) {
        (Some(tasks), Some(kept)) => match slurm::run(args, &runs, tasks, kept, &mut done, &stop) {
            Ok(whole) => whole,
            Err(error) => return Err(abandon(state, &done, error)),
        },
        _ => true,
    };
    let mine: Vec<_> = match args.part {
        Some(part) => part.of(&runs),
        None => runs,
    };
    let all = if whole { simulate(args, scenario, &mine, state.as_ref(), &done, &stop)? } else { None };
    let Some(all) = all else {
        stop::say_how_to_go_on(state.as_ref().map(Finished::path));
        return Ok(stop::STOPPED);
    };
    if let (Some(part), Some(state)) = (args.part, &state) {
        say::note(&format!("part {part}: {} in {}", say::counted(all.len(), "run"), state.path().display()));
        return Ok(say::OK);
    }
    let runs = all.chunks(seeds.len().max(1)).map(<[Summary]>::to_vec).collect();
    let cells = planned.iter().map(|one| one.cell.clone()).collect();
    let results = Results { cells, runs, level: args.what.level / 100.0 };
    let comparisons = results.comparisons(&baseline);
    let seeds = if scenario.seeds == 1 {
        "1 seed".to_owned()
    } else {
        format!("{} seeds from {}", scenario.seeds, scenario.seed)
    };
    let verdict = verdict::sentence(&results, &comparisons, &baseline);
    let table = table::of_comparison(&results, &comparisons, &baseline);
    say::print(&format!("{}{table}", headline(scenario, &seeds)))?;
    if !verdict.is_empty() {
        say::print(&format!("\n{verdict}\n"))?;
    }
    write(args, scenario, &planned, &results, &baseline, &comparisons)?;
    if let Some(state) = state.filter(|_| args.state.is_none()) {
        state.remove()?;
    }
    Ok(say::OK)
}

/// The scenario with the policies of the command line, and the baseline, which is always among
/// them.
fn load(args: &CompareArgs) -> anyhow::Result<(Loaded, String)> {
    let with = |policies: &[String]| {
        let list: Vec<String> = policies.iter().map(|policy| quoted(policy)).collect();
        let change = ("sweep.policies".to_owned(), format!("[{}]", list.join(", ")));
        files::scenario(&args.what, &[change])
    };
    let given: Vec<String> = args.policies.iter().flat_map(|list| apart(list)).collect();
    let mut loaded = if given.is_empty() { files::scenario(&args.what, &[])? } else { with(&given)? };
    let mut policies = loaded.scenario.sweep.policies.clone();
    if policies.is_empty() {
        policies.push(loaded.scenario.policy.clone());
    }
    let baseline = args.baseline.clone().unwrap_or_else(|| policies[0].clone());
    if !policies.contains(&baseline) {
        policies.insert(0, baseline.clone());
        loaded = with(&policies)?;
    }
    let points = loaded.scenario.sweep.parameters.iter().any(|parameter| parameter.values.len() > 1);
    if policies.len() < 2 && !points {
        return Err(Failure::error(
            say::USAGE,
            "there is one policy and nothing to compare it with",
            "name others by --policies a,b or in the scenario's [sweep]; `numaestro sim run` runs one",
        ));
    }
    Ok((loaded, baseline))
}

fn plan(scenario: &Scenario) -> Vec<Planned> {
    let points = scenario.points().into_iter();
    let planned = points.map(|point| Planned {
        cell: Cell { parameters: point.values, policy: point.scenario.policy.clone() },
        scenario: point.scenario,
    });
    planned.collect()
}

/// The state file, if there is one, and its finished runs.
fn open_state(args: &CompareArgs, origin: &Origin) -> anyhow::Result<(Option<Finished>, Done)> {
    let beside = |path: &PathBuf| {
        let mut name = path.clone().into_os_string();
        name.push(".state.jsonl");
        PathBuf::from(name)
    };
    let output = args.html.as_ref().or(args.json.as_ref()).or(args.csv.as_ref());
    let Some(path) = args.state.clone().or_else(|| output.map(beside)) else {
        if args.resume {
            return Err(Failure::error(say::USAGE, "--resume needs the state file: add --state FILE", ""));
        }
        return Ok((None, Done::new()));
    };
    if args.resume {
        let (state, done) = state::resume_runs(&path, origin)?;
        return Ok((Some(state), done));
    }
    Ok((Some(state::begin(&path, origin)?), Done::new()))
}

/// Leaves no state file behind where nothing has run: the next call would take it for work.
fn abandon(state: Option<Finished>, done: &Done, error: anyhow::Error) -> anyhow::Error {
    if let Some(state) = state.filter(|state| done.is_empty() && !slurm::is_under_way(state.path())) {
        let _ = state.remove();
    }
    error
}

fn simulate(
    args: &CompareArgs,
    scenario: &Scenario,
    runs: &[(&Planned, u64)],
    state: Option<&Finished>,
    done: &Done,
    stop: &stop::Stop,
) -> anyhow::Result<Option<Vec<Summary>>> {
    let jobs = runs.first().and_then(|(one, _)| one.scenario.source(scenario.seed).total());
    let progress = Progress::new(runs.len() as u64, jobs);
    let runner = Runner { progress: &progress, state, stop: stop.flag(), checks: false };
    runner::pool(args.what.workers)?.install(|| runner.these(runs, done))
}

fn write(
    args: &CompareArgs,
    scenario: &Scenario,
    planned: &[Planned],
    results: &Results,
    baseline: &str,
    comparisons: &[Comparison],
) -> anyhow::Result<()> {
    let about = about(scenario, &args.what.set);
    if let Some(path) = &args.json {
        files::write(path, &document::write(&about, results, Some((baseline, comparisons)))?)?;
    }
    if let Some(path) = &args.csv {
        files::write(path, &csv::write(&scenario.name, results))?;
    }
    if let Some(path) = &args.html {
        files::write(path, &report(&about, scenario, planned, results, baseline, comparisons)?)?;
    }
    Ok(())
}

/// The report, with the schedule of each policy at the first point, of the first seed. It is run
/// once more for it.
fn report(
    about: &document::Subject,
    scenario: &Scenario,
    planned: &[Planned],
    results: &Results,
    baseline: &str,
    comparisons: &[Comparison],
) -> anyhow::Result<String> {
    let first = &planned[0].cell.parameters;
    let at_first = planned.iter().filter(|one| one.cell.parameters == *first).take(SCHEDULES);
    let mut grids = Vec::new();
    for one in at_first {
        let point = if first.is_empty() { String::new() } else { format!(", {}", one.cell.point()) };
        let title = format!("policy {}{point}, seed {}", one.cell.policy, scenario.seed);
        grids.extend(schedule(one, scenario.seed)?.map(|grid| (grid, title)));
    }
    html::page(&Report {
        about,
        results,
        comparisons: Some((baseline, comparisons)),
        occupancy: grids.iter().map(|(grid, title)| (grid, title.clone())).collect(),
        machine: &planned[0].scenario.machine.topology,
    })
}

/// Who ran where, with this seed.
fn schedule(planned: &Planned, seed: u64) -> anyhow::Result<Option<Grid>> {
    let mut recorder = Recorder::default();
    recorder.collect_occupancy(planned.scenario.machine.topology.pu_count());
    let progress = Progress::new(1, None);
    let never = std::sync::atomic::AtomicBool::new(false);
    let runner = Runner { progress: &progress, state: None, stop: &never, checks: false };
    let outcome = runner.run(planned, seed, &mut recorder)?;
    Ok(recorder.close()?.zip(outcome).map(|(mut seen, (_, outcome))| seen.grid(outcome.end, COLUMNS)))
}
