//! `numaestro sim run`: runs one scenario under one policy with several seeds.

use super::args::RunArgs;
use super::document::{self, Subject};
use super::files::{self, Loaded, quoted};
use super::html::{self, Report};
use super::metric::{METRICS, samples};
use super::occupancy::Grid;
use super::progress::Progress;
use super::recorder::Recorder;
use super::results::{Cell, Results};
use super::runner::{self, Planned, Runner, world};
use super::state::Done;
use super::summary::Summary;
use super::{chart, csv, stop, table};
use crate::say::{self, Tone, paint};
use numaestro_engine::journal;
use numaestro_sim::scenario::Scenario;
use numaestro_sim::stats::stopping::{Next, Stopping};

/// Seeds before --precision looks for the first time.
const SEEDS_MIN: usize = 5;
/// Columns of a chart in a pipe or a report.
const COLUMNS: usize = 100;
/// Columns of a report's chart.
const REPORT_COLUMNS: usize = 240;

/// The subcommand.
pub fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let changes = args.policy.iter().map(|policy| ("policy".to_owned(), quoted(policy)));
    let Loaded { scenario, .. } = files::scenario(&args.what, &changes.collect::<Vec<_>>())?;
    let outputs = [&args.json, &args.csv, &args.jobs, &args.log, &args.journal, &args.html];
    files::check_writable(&outputs.map(Option::as_ref))?;
    let planned = Planned { cell: Cell { parameters: vec![], policy: scenario.policy.clone() }, scenario };
    runner::check(std::slice::from_ref(&planned))?;
    notes(&planned.scenario);
    let stop = stop::on_signal()?;
    let Some((runs, grid)) = simulate(args, &planned, &stop)? else {
        say::note("stopped; a log or journal that was asked for ends where it was");
        return Ok(stop::STOPPED);
    };
    let results = Results { cells: vec![planned.cell.clone()], runs: vec![runs], level: args.what.level / 100.0 };
    say::print(&shown(&planned.scenario, &results))?;
    if let Some(grid) = grid.as_ref().filter(|_| args.chart) {
        let title = paint(
            &format!("\nwho ran where, seed {}", planned.scenario.seed),
            Tone::Strong,
            say::colours(&std::io::stdout()),
        );
        say::print(&format!("{title}\n{}", chart::draw(&grid.0, &planned.scenario.machine.topology)))?;
    }
    write(args, &planned.scenario, &results, grid.as_ref().map(|(_, fine)| fine))
}

/// Notes the oddities of the scenario.
pub fn notes(scenario: &Scenario) {
    for note in &scenario.notes {
        say::note(note);
    }
}

/// The first seed with all that is recorded, then the others; none if it was stopped.
#[allow(clippy::type_complexity)] // The runs, and the first one's chart in two widths.
fn simulate(
    args: &RunArgs,
    planned: &Planned,
    stop: &stop::Stop,
) -> anyhow::Result<Option<(Vec<Summary>, Option<(Grid, Grid)>)>> {
    let scenario = &planned.scenario;
    let most = scenario.seeds as usize;
    let jobs = scenario.source(scenario.seed).total();
    let progress = Progress::new(most as u64, jobs);
    let runner = Runner { progress: &progress, state: None, stop: stop.flag(), checks: args.checks };
    let seeds: Vec<u64> = (0..most as u64).map(|number| scenario.seed.wrapping_add(number)).collect();
    let tick = || progress.job();
    let mut recorder = recorder(args, planned)?;
    recorder.tick = Some(&tick);
    let pool = runner::pool(args.what.workers)?;
    let first = || runner.run(planned, seeds[0], &mut recorder);
    let rest = |seeds: &[u64]| runner.all(std::slice::from_ref(planned), seeds, &Done::new());
    // The first run records, the others run beside it.
    let beside = if args.precision.is_some() { most.min(SEEDS_MIN) } else { most };
    let (first, others) = pool.join(first, || rest(&seeds[1..beside]));
    let (Some((summary, outcome)), Some(others)) = (first?, others?) else { return Ok(None) };
    progress.run();
    let mut runs = vec![summary];
    runs.extend(others.into_iter().flatten());
    if let Some(percent) = args.precision {
        let wanted = Stopping { relative: percent / 100.0, level: args.what.level / 100.0, least: SEEDS_MIN, most };
        while let Next::More(more) = wanted.next(&samples(&runs, METRICS[0].of)) {
            let from = runs.len();
            let Some(found) = pool.install(|| rest(&seeds[from..from + more]))? else { return Ok(None) };
            runs.extend(found.into_iter().flatten());
        }
    }
    recorder.tick = None;
    let occupancy = recorder.close()?;
    let columns = args.width.map_or_else(terminal_columns, usize::from);
    let grids = occupancy.map(|mut seen| (seen.grid(outcome.end, columns), seen.grid(outcome.end, REPORT_COLUMNS)));
    Ok(Some((runs, grids)))
}

fn recorder<'a>(args: &RunArgs, planned: &Planned) -> anyhow::Result<Recorder<'a>> {
    let scenario = &planned.scenario;
    let mut recorder = Recorder::default();
    if let Some(path) = &args.log {
        recorder.log_to(path)?;
    }
    if let Some(path) = &args.journal {
        // The head states the settings of the run's engine, so it comes from a world made like the
        // run's.
        let world = world(planned, scenario.seed)?;
        recorder.journal_to(path, &journal::encode_head(world.engine().machine(), world.settings(), scenario.seed))?;
    }
    if let Some(path) = &args.jobs {
        recorder.jobs_to(path)?;
    }
    if args.chart || args.html.is_some() {
        recorder.collect_occupancy(scenario.machine.topology.pu_count());
    }
    Ok(recorder)
}

/// Columns of the terminal beside the labels.
fn terminal_columns() -> usize {
    let wide = crossterm::terminal::size().map(|(columns, _)| usize::from(columns));
    match wide {
        Ok(columns) if std::io::IsTerminal::is_terminal(&std::io::stdout()) => {
            columns.saturating_sub(24).clamp(20, 400)
        }
        _ => COLUMNS,
    }
}

/// The scenario of a run, for the head of every output.
pub fn about(scenario: &Scenario, set: &[String]) -> Subject {
    Subject {
        scenario: scenario.name.clone(),
        about: scenario.about.clone(),
        machine: scenario.machine.name.clone(),
        processors: scenario.machine.topology.pu_count(),
        contention: contention(scenario).to_owned(),
        warmup: scenario.warmup,
        set: set.to_vec(),
    }
}

const fn contention(scenario: &Scenario) -> &'static str {
    use numaestro_sim::memory::Contention;
    match scenario.contention {
        Contention::None => "none",
        Contention::MaxMin => "max-min",
        Contention::Amva => "amva",
        Contention::Stretch => "stretch",
    }
}

/// One line: the scenario and its machine.
pub fn headline(scenario: &Scenario, what: &str) -> String {
    let text = format!(
        "{} on {} ({} processors, {} to give), contention {}, {what}",
        scenario.name,
        scenario.machine.name,
        scenario.machine.topology.pu_count(),
        scenario.pus(),
        contention(scenario)
    );
    let about = if scenario.about.is_empty() { String::new() } else { format!("\n{}", scenario.about) };
    format!("{}{about}\n\n", paint(&text, Tone::Strong, say::colours(&std::io::stdout())))
}

fn shown(scenario: &Scenario, results: &Results) -> String {
    let runs = &results.runs[0];
    let seeds = match runs.as_slice() {
        [one] => format!("seed {}", one.seed),
        many => format!("seeds {} to {}", many[0].seed, many[many.len() - 1].seed),
    };
    let what = format!("policy {}, {seeds}", scenario.policy);
    format!("{}{}", headline(scenario, &what), table::of_runs(runs, results.level))
}

fn write(args: &RunArgs, scenario: &Scenario, results: &Results, grid: Option<&Grid>) -> anyhow::Result<u8> {
    let about = about(scenario, &args.what.set);
    if let Some(path) = &args.json {
        files::write(path, &document::write(&about, results, None)?)?;
    }
    if let Some(path) = &args.csv {
        files::write(path, &csv::write(&scenario.name, results))?;
    }
    if let Some(path) = &args.html {
        let title = format!("policy {}, seed {}", scenario.policy, scenario.seed);
        let occupancy = grid.map(|grid| (grid, title)).into_iter().collect();
        let machine = &scenario.machine.topology;
        let report = Report { about: &about, results, comparisons: None, occupancy, machine };
        files::write(path, &html::page(&report)?)?;
    }
    Ok(say::OK)
}
