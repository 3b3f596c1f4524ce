//! Writes the results of a campaign: the tables on stdout, the Markdown for the README, the JSON.

use std::fmt::Write;

use serde::Serialize;

use super::bounds::{Limit, Outcome};
use super::campaign::{Cell, MixResult};
use super::machine::Description;
use super::setup::Setup;
use super::stats;

/// Everything, for the JSON file.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    /// A note of the caller's, such as a date.
    pub note: &'a str,
    /// The machine of the measurement.
    pub machine: &'a Description,
    /// Length of an ideal run, longest run (seconds), share of foreign load (0 to 1), counted runs.
    pub settings: Settings,
    /// Every run of every mix.
    pub mixes: &'a [MixResult],
    /// Mixes that were left out, with the reason.
    pub skipped: &'a [(String, String)],
    /// Rivals over the mixes.
    pub rivals: Vec<Rival>,
    /// Every promise.
    pub bounds: &'a [Outcome],
}

/// See [`Record::settings`].
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Settings {
    /// Length of an ideal run, seconds.
    pub length_s: f64,
    /// Longest run, seconds.
    pub time_limit_s: f64,
    /// Share of foreign load, 0 to 1.
    pub foreign: f64,
    /// Counted runs of each cell.
    pub runs: usize,
}

/// A rival set-up over all mixes: rival / numaestro.
#[derive(Debug, Clone, Serialize)]
pub struct Rival {
    /// The set-up.
    pub setup: Setup,
    /// Number of mixes.
    pub mixes: usize,
    /// Geometric mean of the ratios of the makespans.
    pub makespan: f64,
    /// The same of the mean turnarounds.
    pub turnaround: f64,
    /// Smallest ratio of makespans, and where.
    pub worst: (f64, String),
}

/// Compares numaestro with each rival over the mixes.
pub fn rivals(results: &[MixResult]) -> Vec<Rival> {
    Setup::RIVALS.iter().filter_map(|&setup| rival(setup, results)).collect()
}

fn rival(setup: Setup, results: &[MixResult]) -> Option<Rival> {
    let ratio = |result: &MixResult| {
        let makespan = result.makespan_ratio(setup, Setup::Numaestro)?;
        Some((makespan, result.turnaround_ratio(setup, Setup::Numaestro)?, result.mix.clone()))
    };
    let ratios: Vec<(f64, f64, String)> = results.iter().filter_map(ratio).collect();
    let worst = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Rival {
        setup,
        mixes: ratios.len(),
        makespan: stats::geometric_mean(&ratios.iter().map(|ratio| ratio.0).collect::<Vec<_>>())?,
        turnaround: stats::geometric_mean(&ratios.iter().map(|ratio| ratio.1).collect::<Vec<_>>())?,
        worst: (worst.0, worst.2.clone()),
    })
}

/// The table of one mix.
pub fn mix_table(result: &MixResult) -> String {
    let programs: Vec<String> = result.programs.iter().map(|(name, reps)| format!("{name} × {reps}")).collect();
    let mut text = format!("{}  ({})\n", result.mix, programs.join(", "));
    let head = ["set-up", "makespan", "± s", "turnaround", "/ reference", "/ numaestro", "runs"];
    writeln!(
        text,
        "  {:15} {:>9} {:>7} {:>10} {:>11} {:>11}  {}",
        head[0], head[1], head[2], head[3], head[4], head[5], head[6]
    )
    .expect("a String takes everything");
    for cell in &result.cells {
        writeln!(text, "{}", mix_row(result, cell)).expect("a String takes everything");
    }
    text
}

fn mix_row(result: &MixResult, cell: &Cell) -> String {
    let makespans = cell.makespans();
    let sign = if cell.limited() { ">" } else { "" };
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{sign}{value:.3}"));
    let deviation = stats::median_deviation(&makespans).map_or("-".to_owned(), |value| format!("{value:.3}"));
    let ratio = |other: Setup| {
        let bound = ratio_sign(cell.limited(), result.cell(other).is_some_and(Cell::limited));
        result.makespan_ratio(cell.setup, other).map_or("-".to_owned(), |value| format!("{bound}{value:.2}"))
    };
    let mark = if cell.setup == result.reference { "*" } else { "" };
    format!(
        "  {:15} {:>9} {deviation:>7} {:>10} {:>11} {:>11}  {}",
        format!("{}{mark}", cell.setup.name()),
        number(stats::median(&makespans)),
        number(stats::median(&cell.turnarounds())),
        ratio(result.reference),
        ratio(Setup::Numaestro),
        remarks(cell),
    )
}

/// The sign before a ratio whose sides may be lower bounds.
fn ratio_sign(above_limited: bool, below_limited: bool) -> &'static str {
    match (above_limited, below_limited) {
        (false, false) => "",
        (true, false) => ">",
        (false, true) => "<",
        (true, true) => "?",
    }
}

fn remarks(cell: &Cell) -> String {
    let kept = cell.kept().count();
    let rejected = cell.runs.iter().filter(|run| run.rejected).count();
    let mut words = vec![kept.to_string()];
    if let Some(other) = cell.same_as {
        words.push(format!("(the runs of {})", other.name()));
    }
    if rejected > 0 {
        words.push(format!("({rejected} rejected)"));
    }
    let limited = cell.kept().filter(|run| run.limited).count();
    if limited > 0 {
        words.push(format!("({limited} reached the time limit)"));
    }
    if cell.noisy {
        let shares: Vec<f64> = cell.kept().map(|run| run.foreign * 100.0).collect();
        let most = shares.iter().copied().fold(0.0, f64::max);
        words.push(format!("NOISY: up to {most:.0} % of the machine went to others"));
    }
    if let Some(error) = cell.error() {
        words.push(format!("ERROR: {error}"));
    }
    words.join(" ")
}

/// The rivals over all mixes, and every promise.
pub fn summary(rivals: &[Rival], outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for rival in rivals {
        writeln!(
            text,
            "{} / numaestro over {} mixes: makespan {:.2}, mean turnaround {:.2} (geometric means); worst {:.2} ({})",
            rival.setup.name(),
            rival.mixes,
            rival.makespan,
            rival.turnaround,
            rival.worst.0,
            rival.worst.1
        )
        .expect("a String takes everything");
    }
    for outcome in outcomes {
        let error = outcome.error.map_or(String::new(), |error| format!(" ± {error:.3}"));
        let (verdict, value) = match (outcome.holds, outcome.value) {
            (Some(true), Some(value)) => ("holds", format!("{value:.3}{error}")),
            (Some(false), Some(value)) => ("FAILS", format!("{value:.3}{error}")),
            _ => continue,
        };
        writeln!(
            text,
            "{verdict}  {}: {value} ({}), worst {}",
            outcome.bound.what,
            limit(outcome.bound.limit),
            outcome.worst_mix
        )
        .expect("a String takes everything");
    }
    text
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::EachAtMost(x) => format!("each at most {x}"),
        Limit::EachAtLeast(x) => format!("each at least {x}"),
        Limit::MeanAtLeast(x) => format!("mean at least {x}"),
    }
}

/// The table for the README: makespan of every set-up as a multiple of the reference.
pub fn markdown(results: &[MixResult], rivals: &[Rival], machine: &Description, settings: Settings) -> String {
    let columns = [Setup::Plain, Setup::Dynamic, Setup::Static, Setup::Passive, Setup::Numaestro, Setup::NumaestroFifo];
    let mut rows =
        vec![row(&["mix".to_owned(), "reference, s".to_owned()], &columns.map(|setup| setup.name().to_owned()))];
    rows.push(row(&["---".to_owned(), "---".to_owned()], &columns.map(|_| "---".to_owned())));
    for result in results {
        let seconds = result.cell(result.reference).and_then(|cell| stats::median(&cell.makespans()));
        let noisy = if result.cells.iter().any(|cell| cell.noisy) { " (noisy)" } else { "" };
        let seconds = seconds.map_or("-".to_owned(), |value| format!("{value:.2}"));
        rows.push(row(
            &[format!("{}{noisy}", result.mix), seconds],
            &columns.map(|setup| markdown_cell(result, setup)),
        ));
    }
    let mean = |setup| rivals.iter().find(|rival| rival.setup == setup).map(|rival| format!("{:.2}", rival.makespan));
    let head = ["**rival / numaestro, geometric mean**".to_owned(), String::new()];
    rows.push(row(&head, &columns.map(|setup| mean(setup).unwrap_or_default())));
    format!(
        "{}\n\nMakespan as a multiple of the reference (`ideal`; `static` where no constant split is ideal); medians of {} \
         interleaved runs, {} processors, Linux {}, {}; `>`: killed after {} s.\n",
        rows.join("\n"),
        settings.runs,
        machine.processors,
        machine.kernel,
        machine.cpu,
        settings.time_limit_s
    )
}

fn row<const N: usize>(head: &[String; 2], columns: &[String; N]) -> String {
    format!("| {} | {} |", head.join(" | "), columns.join(" | "))
}

fn markdown_cell(result: &MixResult, setup: Setup) -> String {
    let Some(cell) = result.cell(setup) else { return String::new() };
    if cell.error().is_some() {
        return "error".to_owned();
    }
    let sign = ratio_sign(cell.limited(), result.cell(result.reference).is_some_and(Cell::limited));
    let value =
        result.makespan_ratio(setup, result.reference).map_or("-".to_owned(), |ratio| format!("{sign}{ratio:.2}"));
    if setup == Setup::Numaestro { format!("**{value}**") } else { value }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Run;
    use super::*;

    fn cell(setup: Setup, makespan_s: f64, limited: bool, noisy: bool) -> Cell {
        let run = Run {
            makespan_s,
            turnaround_s: vec![makespan_s],
            cpu_s: vec![],
            foreign: if noisy { 0.3 } else { 0.0 },
            steal_s: 0.0,
            limited,
            error: None,
            rejected: false,
        };
        Cell { setup, runs: vec![run], same_as: None, noisy }
    }

    fn result(noisy: bool) -> MixResult {
        let cells = vec![
            cell(Setup::Ideal, 1.0, false, false),
            cell(Setup::Plain, 20.0, true, false),
            cell(Setup::Numaestro, 1.25, false, noisy),
        ];
        MixResult { mix: "pair/gcc/sor".to_owned(), programs: vec![], reference: Setup::Ideal, cells }
    }

    #[test]
    fn a_lower_bound_is_marked_wherever_it_is_shown() {
        let result = result(false);
        let table = mix_table(&result);
        assert!(table.contains(">20.000") && table.contains(">20.00") && table.contains(">16.00"), "{table}");
        assert!(table.contains("reached the time limit"), "{table}");
        assert_eq!(markdown_cell(&result, Setup::Plain), ">20.00");
        assert_eq!(markdown_cell(&result, Setup::Numaestro), "**1.25**");
        assert_eq!(markdown_cell(&result, Setup::Passive), "");
    }

    #[test]
    fn noise_is_shown_with_its_size() {
        let table = mix_table(&result(true));
        assert!(table.contains("NOISY: up to 30 %"), "{table}");
        let machine = super::super::machine::describe(2);
        let settings = Settings { length_s: 0.8, time_limit_s: 20.0, foreign: 0.06, runs: 1 };
        let results = [result(true)];
        let text = markdown(&results, &rivals(&results), &machine, settings);
        assert!(text.contains("| pair/gcc/sor (noisy) | 1.00 | >20.00 |"), "{text}");
        let columns: Vec<usize> =
            text.lines().take_while(|line| !line.is_empty()).map(|line| line.matches('|').count()).collect();
        assert!(columns.len() == 4 && columns.iter().all(|&count| count == columns[0]), "{text}");
    }

    #[test]
    fn rivals_are_compared_with_numaestro() {
        let rivals = rivals(&[result(false)]);
        assert_eq!(rivals.len(), 1);
        assert!((rivals[0].makespan - 16.0).abs() < 1e-9 && rivals[0].worst.1 == "pair/gcc/sor");
        let text = summary(&rivals, &super::super::bounds::judge(&[result(false)]));
        assert!(text.contains("FAILS  libgomp SOR, CG, FT pairs / ideal: 1.250"), "{text}");
    }
}
