//! The numbers numaestro promises, as data; decides whether the measured ones hold.
//!
//! It uses only the results of mixes.

use serde::Serialize;

use super::campaign::MixResult;
use super::mix::matches;
use super::setup::Setup;
use super::stats;

/// The compared time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Time until the last program has ended.
    Makespan,
    /// Mean time until a program has ended.
    Turnaround,
}

/// The limit of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// No mix above this.
    EachAtMost(f64),
    /// No mix below this.
    EachAtLeast(f64),
    /// The geometric mean over the mixes not below this.
    MeanAtLeast(f64),
}

/// One promise: the ratio `above` / `below` of medians over `mixes`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// The promise in words.
    pub what: &'static str,
    /// The mixes; `*` stands for any text.
    pub mixes: &'static [&'static str],
    /// The compared time.
    pub metric: Metric,
    /// Set-up in the numerator.
    pub above: Setup,
    /// Set-up in the denominator.
    pub below: Setup,
    /// The limit of the ratio.
    pub limit: Limit,
}

/// The outcome of a promise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The promise.
    pub bound: Bound,
    /// The worst ratio, or the mean; `None` if nothing of it was measured.
    pub value: Option<f64>,
    /// Standard error of `value`; `None` with too few runs.
    pub error: Option<f64>,
    /// The mix with the worst ratio.
    pub worst_mix: String,
    /// Number of mixes that took part.
    pub mixes: usize,
    /// `None` = not measured.
    pub holds: Option<bool>,
}

/// Nanoseconds per region that the shim may add: libgomp, libomp.
pub const SHIM_NS: [f64; 2] = [20.0, 30.0];
/// Microseconds from decision to adoption in regions of 50 µs: median, 99th percentile.
pub const ADOPT_US: [f64; 2] = [100.0, 1000.0];
/// Microseconds from `set` until the limit is in force in regions of 50 µs: 99th percentile.
pub const SET_US: f64 = 2000.0;
/// The time until a limit is in force, and that of a region, recording by not recording: median.
pub const RECORDING: f64 = 1.01;
/// Milliseconds to take processors back from 64 threads that do not react.
pub const TAKEBACK_MS: f64 = 2.0;
/// Milliseconds from the death of a program until another has its processors.
pub const KILL_MS: f64 = 5.0;
/// Time of two ninja builds and an OpenMP program by the one with the best choice by hand.
pub const BUILDS_RATIO: f64 = 1.05;
/// Seconds for which a build may have more jobs than processors and one.
pub const BUILD_JOBS_S: f64 = 1.0;
/// Seconds until the tokens of a killed build are there again.
pub const BUILD_TOKENS_S: f64 = 2.0;
/// Milliseconds to stop and to continue 64 threads.
pub const STOP_MS: f64 = 1.0;
/// Percent of one processor that the manager uses under a quantum of 100 ms while nothing changes.
pub const QUANTUM_PERCENT: f64 = 0.1;
/// Makespan under PDPA by the one under equal shares, where a program that does not scale outlives
/// one that does.
pub const PDPA_RATIO: f64 = 0.8;
/// Makespan under PDPA by the one with the right counts from the beginning.
pub const SEARCH_RATIO: f64 = 1.05;
/// Seconds after a start or an end until PDPA has found the right counts.
pub const COUNTS_S: f64 = 2.0;
/// Longest time of programs while the policy is switched every second, as a ratio to their time
/// without switches.
pub const SWITCH_RATIO: f64 = 1.02;

const fn of_ideal(what: &'static str, mixes: &'static [&'static str], at_most: f64) -> Bound {
    let limit = Limit::EachAtMost(at_most);
    Bound { what, mixes, metric: Metric::Makespan, above: Setup::Numaestro, below: Setup::Ideal, limit }
}

const fn against(what: &'static str, mixes: &'static [&'static str], rival: Setup, limit: Limit) -> Bound {
    Bound { what, mixes, metric: Metric::Makespan, above: rival, below: Setup::Numaestro, limit }
}

const fn not_above(what: &'static str, mixes: &'static [&'static str], rival: Setup, at_most: f64) -> Bound {
    let limit = Limit::EachAtMost(at_most);
    Bound { what, mixes, metric: Metric::Makespan, above: Setup::Numaestro, below: rival, limit }
}

/// Every promise about programs side by side.
pub const BOUNDS: [Bound; 28] = [
    of_ideal("libgomp SOR, CG, FT pairs / ideal", &["pair/gcc/sor", "pair/gcc/cg", "pair/gcc/ft"], 1.05),
    against(
        "plain / numaestro, libgomp SOR and CG pairs",
        &["pair/gcc/sor", "pair/gcc/cg"],
        Setup::Plain,
        Limit::EachAtLeast(10.0),
    ),
    against("plain / numaestro, libgomp FT pair", &["pair/gcc/ft"], Setup::Plain, Limit::EachAtLeast(4.0)),
    of_ideal("libgomp persistent-region SOR pair / ideal", &["pair/gcc/sorp"], 1.10),
    of_ideal("libomp pairs / ideal", &["pair/clang/*"], 1.05),
    of_ideal("four OpenMP programs / ideal", &["quad/gcc/*", "quad/clang/*"], 1.05),
    Bound {
        what: "fifo / sharing, four programs, mean turnaround",
        mixes: &["quad/gcc/*", "quad/clang/*"],
        metric: Metric::Turnaround,
        above: Setup::NumaestroFifo,
        below: Setup::Numaestro,
        limit: Limit::EachAtMost(0.85),
    },
    not_above("one ends early / static split (libgomp)", &["early/gcc/*"], Setup::Static, 0.80),
    not_above("evolving / plain (libgomp)", &["evolving/gcc/*"], Setup::Plain, 0.80),
    not_above("one waits while the other computes / static split", &["turns/*"], Setup::Static, 0.80),
    not_above("one waits while the other computes / plain", &["turns/*"], Setup::Plain, 1.03),
    not_above("DuckDB pair / plain", &["pair/library/duckdb"], Setup::Plain, 1.03),
    not_above("one ends early / OMP_DYNAMIC", &["early/*"], Setup::Dynamic, 1.0),
    not_above("evolving / OMP_DYNAMIC", &["evolving/*"], Setup::Dynamic, 1.0),
    of_ideal("beside an unmanaged hog / on the processors left", &["hog/*"], 1.10),
    of_ideal("NumPy pair / ideal", &["pair/python/matmul"], 1.05),
    of_ideal("NumPy quadruple / ideal", &["quad/python/matmul"], 1.05),
    of_ideal("scikit-learn pair / ideal", &["pair/python/learn"], 1.10),
    of_ideal("pairs and quadruples of Python libraries / ideal", &["pair/library/*", "quad/library/*"], 1.05),
    of_ideal("any program alone / without numaestro", &["alone/*"], 1.01),
    against("plain / numaestro, every mix", &["*"], Setup::Plain, Limit::EachAtLeast(0.97)),
    against("OMP_DYNAMIC / numaestro, every mix", &["*"], Setup::Dynamic, Limit::EachAtLeast(0.97)),
    against("static split / numaestro, every mix", &["*"], Setup::Static, Limit::EachAtLeast(0.97)),
    against("passive / numaestro, every mix", &["*"], Setup::Passive, Limit::EachAtLeast(0.97)),
    against("plain / numaestro, geometric mean", &["*"], Setup::Plain, Limit::MeanAtLeast(3.0)),
    against("OMP_DYNAMIC / numaestro, geometric mean", &["*"], Setup::Dynamic, Limit::MeanAtLeast(1.10)),
    against("static split / numaestro, geometric mean", &["*"], Setup::Static, Limit::MeanAtLeast(1.10)),
    against("passive / numaestro, geometric mean", &["*"], Setup::Passive, Limit::MeanAtLeast(1.10)),
];

/// Judges every promise.
pub fn judge(results: &[MixResult]) -> Vec<Outcome> {
    BOUNDS.iter().map(|bound| outcome(bound, results)).collect()
}

fn outcome(bound: &Bound, results: &[MixResult]) -> Outcome {
    let taken = results.iter().filter(|result| bound.mixes.iter().any(|pattern| matches(pattern, &result.mix)));
    let ratios: Vec<(f64, &str)> =
        taken.filter_map(|result| Some((safe_ratio(bound, result)?, result.mix.as_str()))).collect();
    let worst = match bound.limit {
        Limit::EachAtMost(_) => ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)),
        _ => ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0)),
    };
    let value = match bound.limit {
        Limit::MeanAtLeast(_) if ratios.iter().any(|ratio| ratio.0 <= 0.0) => Some(0.0),
        Limit::MeanAtLeast(_) => stats::geometric_mean(&ratios.iter().map(|ratio| ratio.0).collect::<Vec<_>>()),
        _ => worst.map(|worst| worst.0),
    };
    let relative = match bound.limit {
        Limit::MeanAtLeast(_) => mean_error(bound, results),
        _ => worst.and_then(|worst| ratio_error(bound, results.iter().find(|result| result.mix == worst.1)?)),
    };
    Outcome {
        bound: *bound,
        value,
        error: value.zip(relative).map(|(value, relative)| value * relative).filter(|error| error.is_finite()),
        worst_mix: worst.map(|worst| worst.1.to_owned()).unwrap_or_default(),
        mixes: ratios.len(),
        holds: value.map(|value| holds(bound.limit, value)),
    }
}

fn ratio_error(bound: &Bound, result: &MixResult) -> Option<f64> {
    match bound.metric {
        Metric::Makespan => result.makespan_ratio_error(bound.above, bound.below),
        Metric::Turnaround => result.turnaround_ratio_error(bound.above, bound.below),
    }
}

/// Relative standard error of a geometric mean over all mixes that were measured.
fn mean_error(bound: &Bound, results: &[MixResult]) -> Option<f64> {
    let errors: Vec<f64> = results.iter().filter_map(|result| ratio_error(bound, result)).collect();
    (!errors.is_empty()).then(|| errors.iter().map(|error| error * error).sum::<f64>().sqrt() / errors.len() as f64)
}

fn holds(limit: Limit, value: f64) -> bool {
    match limit {
        Limit::EachAtMost(most) => value <= most,
        Limit::EachAtLeast(least) | Limit::MeanAtLeast(least) => value >= least,
    }
}

/// The ratio; where one side is only known as a lower bound or failed, the value that is worst for
/// the promise.
fn safe_ratio(bound: &Bound, result: &MixResult) -> Option<f64> {
    let (above, below) = (result.cell(bound.above)?, result.cell(bound.below)?);
    let at_most = matches!(bound.limit, Limit::EachAtMost(_));
    let unknown = if at_most { above.limited() } else { below.limited() };
    if unknown || above.error().is_some() || below.error().is_some() {
        return Some(if at_most { f64::INFINITY } else { 0.0 });
    }
    match bound.metric {
        Metric::Makespan => result.makespan_ratio(bound.above, bound.below),
        Metric::Turnaround => result.turnaround_ratio(bound.above, bound.below),
    }
}

#[cfg(test)]
mod tests {
    use super::super::campaign::Cell;
    use super::super::measure::Run;
    use super::super::mix;
    use super::*;

    fn cell(setup: Setup, makespan_s: f64, limited: bool, error: Option<&str>) -> Cell {
        let error = error.map(str::to_owned);
        let run = Run {
            makespan_s,
            turnaround_s: vec![makespan_s],
            cpu_s: vec![],
            foreign: 0.0,
            steal_s: 0.0,
            limited,
            error,
            rejected: false,
        };
        Cell { setup, runs: vec![run], same_as: None, noisy: false }
    }

    fn result(mix: &str, cells: Vec<Cell>) -> MixResult {
        MixResult { mix: mix.to_owned(), programs: vec![], reference: Setup::Ideal, cells }
    }

    fn find<'a>(outcomes: &'a [Outcome], what: &str) -> &'a Outcome {
        outcomes.iter().find(|outcome| outcome.bound.what.starts_with(what)).expect("such a bound")
    }

    #[test]
    fn every_bound_meets_a_mix_that_measures_it() {
        for bound in &BOUNDS {
            for pattern in bound.mixes {
                let met = mix::all().into_iter().any(|mix| {
                    matches(pattern, &mix.name)
                        && mix.setups.contains(&bound.above)
                        && mix.setups.contains(&bound.below)
                });
                assert!(met, "{} {pattern}", bound.what);
            }
        }
    }

    #[test]
    fn the_worst_mix_decides_and_the_mean_is_geometric() {
        let pair = |name: &str, plain: f64| {
            result(name, vec![cell(Setup::Plain, plain, false, None), cell(Setup::Numaestro, 1.0, false, None)])
        };
        let outcomes = judge(&[pair("pair/gcc/sor", 16.0), pair("pair/gcc/cg", 9.0)]);
        let factor = find(&outcomes, "plain / numaestro, libgomp SOR");
        assert_eq!((factor.value, factor.holds, factor.worst_mix.as_str()), (Some(9.0), Some(false), "pair/gcc/cg"));
        let mean = find(&outcomes, "plain / numaestro, geometric mean");
        assert!(mean.holds == Some(true) && mean.mixes == 2 && mean.value.is_some_and(|v| (v - 12.0).abs() < 1e-9));
        assert_eq!(find(&outcomes, "libomp pairs").holds, None, "what was not measured neither holds nor fails");
    }

    #[test]
    fn a_lower_bound_never_makes_a_promise_true() {
        let slow = [result(
            "pair/gcc/sor",
            vec![cell(Setup::Ideal, 20.0, true, None), cell(Setup::Numaestro, 20.0, true, None)],
        )];
        assert_eq!(find(&judge(&slow), "libgomp SOR").holds, Some(false));
        let both = [result(
            "pair/gcc/sor",
            vec![cell(Setup::Plain, 20.0, true, None), cell(Setup::Numaestro, 20.0, true, None)],
        )];
        assert_eq!(find(&judge(&both), "plain / numaestro, every").holds, Some(false));
        let rival = [result(
            "pair/gcc/sor",
            vec![cell(Setup::Plain, 20.0, true, None), cell(Setup::Numaestro, 1.0, false, None)],
        )];
        assert_eq!(find(&judge(&rival), "plain / numaestro, libgomp SOR").holds, Some(true));
    }

    #[test]
    fn an_error_breaks_a_promise() {
        let wrong = [result(
            "pair/gcc/sor",
            vec![cell(Setup::Ideal, 1.0, false, None), cell(Setup::Numaestro, 1.0, false, Some("sor: failed"))],
        )];
        assert_eq!(find(&judge(&wrong), "libgomp SOR").holds, Some(false));
    }
}
