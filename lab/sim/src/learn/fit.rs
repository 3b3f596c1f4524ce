//! Fits a program to measured runs.
//!
//! In a run, t(n) is the time of parallel work on n processors. The work W is the same in each run,
//! so each run says W = t(1) + S(2)·t(2) + S(4)·t(4) + …, one linear equation in W and the speedups
//! S. Runs alone on one processor and on n give W and S(n) exactly; runs with changing numbers of
//! processors share the error. Reports of the program count where runs leave S(n) open, and
//! S(n) = n where nothing else is known: their equations have small weights (`equations`).
//!
//! The order and the lengths of stretches come from the first of the runs with most processors. On
//! one processor serial work looks like parallel work; the serial time of the other run is taken
//! from it.

use super::equations::Equations;
use super::measured::{Activity, Measured};
use super::program::{Analysis, LearnedProgram, Stretch};
use crate::Nanos;
use crate::program::PhaseSource;
use std::collections::BTreeSet;

/// Weight of a reported speedup beside a measured run.
const REPORTED: f64 = 1e-3;
/// Weight of a speedup that is as large as the number of processors.
const ASSUMED: f64 = 1e-5;
/// A speedup that follows the assumption by more than this share is itself assumed.
const FOLLOWS: f64 = 0.01;
/// Smallest speedup.
const SPEEDUP_LEAST: f64 = 0.01;

/// A reason why nothing can be learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// No run has any length.
    #[error("there is no run with any length")]
    NoRun,
}

/// The program of these runs.
///
/// # Errors
/// There is nothing to learn from.
pub fn fit(name: &str, runs: &[Measured]) -> Result<LearnedProgram, Unfit> {
    let runs: Vec<&Measured> = runs.iter().filter(|run| run.length() > 0).collect();
    let most = runs.iter().map(|run| run.widest()).max().ok_or(Unfit::NoRun)?;
    let shape = *runs.iter().find(|run| run.widest() == most).ok_or(Unfit::NoRun)?;
    let serial = if most > 1 { shape.length_of(Activity::Serial) } else { 0 };
    let times: Vec<Times> = runs.iter().map(|run| Times::of(run, serial)).collect();
    let sizes: Vec<u32> = times
        .iter()
        .flat_map(|times| times.on.iter().map(|(n, _)| *n))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|&n| n > 1)
        .collect();
    let scale = times.iter().map(Times::total).fold(0.0, f64::max).max(1.0);
    let reports: Vec<(u32, f64)> =
        runs.iter().flat_map(|run| &run.reports).map(|report| (report.processors, report.speedup)).collect();
    let solve = |ideal: f64| solve(&times, &sizes, &reports, scale, ideal);
    let (work, speedups) = solve(1.0);
    let other = solve(0.5).1;
    let assumed = |&(n, speedup, other): &(u32, f64, f64)| ((speedup - other).abs() > FOLLOWS * speedup).then_some(n);
    let both = sizes.iter().zip(speedups.iter().zip(&other)).map(|(&n, (&speedup, &other))| (n, speedup, other));
    let mut curve = vec![(1, 1.0)];
    curve.extend(sizes.iter().copied().zip(speedups.iter().map(|speedup| speedup.max(SPEEDUP_LEAST))));
    let program = LearnedProgram {
        name: name.to_owned(),
        processors: most,
        stretches: Vec::new(),
        times: 1,
        assumed: both.filter_map(|point| assumed(&point)).collect(),
        regions: runs.iter().map(|run| run.regions).max().unwrap_or(0),
        is_curve: false,
        phase_source: phase_source(&runs),
        analysis: analysis(&runs),
        residual: 0.0,
        curve,
    };
    let stretches = stretches(shape, &program, work);
    let program = LearnedProgram { stretches, ..program }.compressed();
    Ok(LearnedProgram { residual: residual(&runs, &program), ..program })
}

/// The program of one run whose speedups are known from elsewhere: it does the work of that run.
pub(super) fn with_speedups(name: &str, asks: u32, curve: Vec<(u32, f64)>, run: &Measured) -> LearnedProgram {
    let program = LearnedProgram {
        name: name.to_owned(),
        processors: asks,
        stretches: Vec::new(),
        times: 1,
        curve,
        assumed: Vec::new(),
        regions: run.regions,
        is_curve: false,
        phase_source: phase_source(&[run]),
        analysis: analysis(&[run]),
        residual: 0.0,
    };
    let stretches = stretches(run, &program, 0.0);
    LearnedProgram { stretches, ..program }.compressed()
}

/// The times of parallel work of a run, nanoseconds by number of processors.
struct Times {
    on: Vec<(u32, f64)>,
}

impl Times {
    fn of(run: &Measured, serial: Nanos) -> Self {
        let hidden = if run.widest() <= 1 { serial } else { 0 };
        let lengths = run.parallel_lengths().into_iter().filter(|(n, _)| *n > 0);
        let on = lengths.map(|(n, length)| (n, length.saturating_sub(if n == 1 { hidden } else { 0 }) as f64));
        Self { on: on.filter(|(_, time)| *time > 0.0).collect() }
    }

    fn on(&self, processors: u32) -> f64 {
        self.on.iter().find(|(n, _)| *n == processors).map_or(0.0, |(_, time)| *time)
    }

    fn total(&self) -> f64 {
        self.on.iter().map(|(_, time)| time).sum()
    }
}

/// Work in nanoseconds, and the speedup for each of `sizes`, if S(n) = `ideal` · n where nothing
/// else is known.
fn solve(times: &[Times], sizes: &[u32], reports: &[(u32, f64)], scale: f64, ideal: f64) -> (f64, Vec<f64>) {
    let unknowns = 1 + sizes.len();
    let mut equations = Equations::new(unknowns);
    for run in times.iter().filter(|run| run.total() > 0.0) {
        let factors: Vec<f64> = std::iter::once(1.0).chain(sizes.iter().map(|&n| -run.on(n) / scale)).collect();
        equations.add(&factors, run.on(1) / scale, 1.0);
    }
    let mut one = |n: u32, speedup: f64, weight: f64| {
        if let Some(place) = sizes.iter().position(|&size| size == n) {
            let mut factors = vec![0.0; unknowns];
            factors[1 + place] = 1.0;
            equations.add(&factors, speedup, weight);
        }
    };
    for &(n, speedup) in reports {
        one(n, speedup, REPORTED);
    }
    for &n in sizes {
        one(n, ideal * f64::from(n), ASSUMED);
    }
    let Some(mut found) = equations.solve() else {
        // Without any parallel time there is no work to find.
        return (0.0, sizes.iter().map(|&n| f64::from(n)).collect());
    };
    let work = found.remove(0) * scale;
    (work.max(0.0), found)
}

/// The spans of a run as stretches whose parallel work is `work` nanoseconds in all.
fn stretches(shape: &Measured, program: &LearnedProgram, work: f64) -> Vec<Stretch> {
    let own = |processors: u32| program.speedup(processors.max(1));
    let parallel = shape.spans.iter().filter(|span| span.activity == Activity::Parallel);
    let all: f64 = parallel.map(|span| span.length_ns as f64 * own(span.processors)).sum();
    let factor = if all > 0.0 && work > 0.0 { work / all } else { 1.0 };
    let mut found: Vec<Stretch> = Vec::new();
    for span in &shape.spans {
        let amount_ns = match span.activity {
            Activity::Parallel => libm::round(span.length_ns as f64 * own(span.processors) * factor) as Nanos,
            Activity::Serial | Activity::Paused => span.length_ns,
        };
        match found.last_mut() {
            Some(last) if last.activity == span.activity => last.amount_ns += amount_ns,
            _ => found.push(Stretch { activity: span.activity, amount_ns }),
        }
    }
    found
}

/// A manager looks at the page of a program with regions, and at the threads of one without. Of a
/// program whose regions nobody counted, the phases that the engine has learned show that there is
/// a page.
fn phase_source(runs: &[&Measured]) -> PhaseSource {
    let has_page = runs.iter().any(|run| run.regions > 0 || run.has_told_phases);
    if has_page { PhaseSource::Manager } else { PhaseSource::Threads }
}

/// The first report of its speedup, after the beginning of its parallel work.
fn analysis(runs: &[&Measured]) -> Option<Analysis> {
    let first = |run: &&Measured| {
        let before = run.spans.iter().take_while(|span| span.activity != Activity::Parallel);
        let begins: Nanos = before.map(|span| span.length_ns).sum();
        run.reports.first().map(|report| report.at.saturating_sub(begins).max(1))
    };
    runs.iter().filter_map(first).min().map(|first_ns| Analysis { first_ns })
}

fn residual(runs: &[&Measured], program: &LearnedProgram) -> f64 {
    let constant = runs.iter().filter(|run| run.spans.iter().all(|span| span.processors == run.widest()));
    let share = |run: &&&Measured| {
        let length = run.length() as f64;
        ((program.length_on(run.widest()) - length) / length).abs()
    };
    constant.map(|run| share(&run)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::measured::{Report, Span};
    use super::*;
    use Activity::{Parallel, Paused, Serial};

    const MS: Nanos = 1_000_000;

    fn span(activity: Activity, processors: u32, ms: u64) -> Span {
        Span { activity, processors, length_ns: ms * MS }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3 * b.abs()
    }

    #[test]
    fn two_runs_alone_give_work_and_speedup() {
        let spans = vec![span(Serial, 2, 100), span(Parallel, 2, 500), span(Paused, 2, 60), span(Parallel, 2, 300)];
        let wide = Measured { spans, regions: 40, ..Measured::default() };
        // 100 serial, 60 paused, and 1200 of work.
        let narrow = Measured { spans: vec![span(Parallel, 1, 1300), span(Paused, 1, 60)], ..Measured::default() };
        let found = fit("p", &[narrow, wide]).expect("a program");
        assert!(close(found.speedup(2), 1.5), "{found:?}");
        let amounts: Vec<Nanos> = found.stretches.iter().map(|stretch| stretch.amount_ns / MS).collect();
        assert_eq!(amounts, [100, 750, 60, 450]);
        assert_eq!((found.processors, found.regions, found.assumed.len()), (2, 40, 0));
        assert!(found.residual < 1e-3 && close(found.length_on(1), 1360.0 * MS as f64), "{found:?}");
    }

    #[test]
    fn runs_that_change_their_processors_give_the_same() {
        // Work 1000, S(2) = 1.6, S(4) = 2.5.
        let runs = [
            vec![span(Parallel, 4, 400)],
            vec![span(Parallel, 2, 250), span(Parallel, 4, 240)],
            vec![span(Parallel, 1, 200), span(Parallel, 2, 500)],
        ];
        let runs = runs.map(|spans| Measured { spans, ..Measured::default() });
        let found = fit("p", &runs).expect("a program");
        assert!(close(found.speedup(2), 1.6) && close(found.speedup(4), 2.5), "{found:?}");
        assert!(close(found.length_on(1), 1000.0 * MS as f64) && found.assumed.is_empty());
    }

    #[test]
    fn reports_count_where_runs_say_nothing() {
        let report = Report { at: 90 * MS, processors: 2, speedup: 1.25 };
        let run = Measured { reports: vec![report], ..Measured::busy(2, 800 * MS) };
        let found = fit("p", std::slice::from_ref(&run)).expect("a program");
        assert!(close(found.speedup(2), 1.25) && close(found.length_on(1), 1000.0 * MS as f64), "{found:?}");
        assert!(found.assumed.is_empty());
        assert_eq!(found.analysis, Some(Analysis { first_ns: 90 * MS }));
        let measured = fit("p", &[run, Measured::busy(1, 1600 * MS)]).expect("a program");
        assert!(close(measured.speedup(2), 2.0), "a measured run outweighs a report: {measured:?}");
    }

    #[test]
    fn what_nobody_knows_is_assumed_and_said() {
        let found = fit("p", &[Measured::busy(2, 800 * MS)]).expect("a program");
        assert!(close(found.speedup(2), 2.0), "{found:?}");
        assert_eq!(found.assumed, [2]);
    }

    #[test]
    fn a_sequential_program_asks_for_all_and_uses_one() {
        let wide = Measured { spans: vec![span(Activity::Serial, 2, 700)], ..Measured::default() };
        let found = fit("p", &[wide, Measured::busy(1, 710 * MS)]).expect("a program");
        assert_eq!((found.processors, found.curve.len()), (2, 1));
        assert_eq!(found.stretches, [Stretch { activity: Activity::Serial, amount_ns: 700 * MS }]);
        assert!(found.residual < 0.02, "{found:?}");
    }

    #[test]
    fn phases_are_looked_for_where_a_manager_could_see_them() {
        let of = |run: Measured| fit("p", &[Measured::busy(1, 1600 * MS), run]).expect("a program").phase_source;
        let run = || Measured::busy(2, 800 * MS);
        assert_eq!(of(run()), PhaseSource::Threads);
        assert_eq!(of(Measured { regions: 1, ..run() }), PhaseSource::Manager);
        assert_eq!(of(Measured { has_told_phases: true, ..run() }), PhaseSource::Manager);
    }

    #[test]
    fn nothing_teaches_nothing() {
        assert_eq!(fit("p", &[]), Err(Unfit::NoRun));
        assert_eq!(fit("p", &[Measured::default()]), Err(Unfit::NoRun));
    }
}
