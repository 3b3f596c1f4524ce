//! Tables of results for a terminal or a pipe. Pure functions of the results.

use super::metric::{Estimate, METRICS, programs, samples};
use super::results::{Comparison, Results};
use super::summary::{ProgramSummary, Summary};
use crate::columns::{self, Side};
use crate::say::counted;
use std::fmt::Write;

/// One policy: every metric over the seeds, and the programs.
pub fn of_runs(runs: &[Summary], level: f64) -> String {
    let percent = percent(level);
    let mut rows = vec![[String::new(), "mean".to_owned(), format!("± {percent}"), "from".to_owned(), "to".to_owned()]];
    for metric in METRICS {
        let Some(estimate) = Estimate::of(&samples(runs, metric.of), level) else { continue };
        if metric.key == "thread_events" || (estimate.max == 0.0 && OPTIONAL.contains(&metric.key)) {
            continue;
        }
        let [mean, half] = cells(&estimate);
        rows.push([metric.title.to_owned(), mean, half, number(estimate.min), number(estimate.max)]);
    }
    format!("{}\n{}", aligned(&rows), of_programs(runs, level))
}

/// Metrics that say nothing where they are 0 in all runs.
const OPTIONAL: [&str; 10] = [
    "wait_s",
    "local_refs",
    "remote_refs",
    "remote_share",
    "migrations",
    "children_away",
    "busiest_channel",
    "stops",
    "search_s",
    "system_s",
];

fn of_programs(runs: &[Summary], level: f64) -> String {
    let percent = percent(level);
    let mut rows = vec![
        [
            "program",
            "applications",
            "response, s",
            &format!("± {percent}"),
            "wait, s",
            "processor time, s",
            "remote",
            "migrations",
        ]
        .map(ToOwned::to_owned),
    ];
    for name in programs(runs) {
        let of = |field: fn(&ProgramSummary) -> f64| {
            let found = runs.iter().filter_map(|run| run.programs.iter().find(|program| program.program == name));
            Estimate::of(&found.map(field).collect::<Vec<_>>(), level)
        };
        let mean = |field| of(field).map_or_else(String::new, |estimate| number(estimate.mean));
        let [response, half] = of(|program| program.response_s).map_or_else(Default::default, |found| cells(&found));
        rows.push([
            name.clone(),
            mean(|program| program.jobs as f64),
            response,
            half,
            mean(|program| program.wait_s),
            mean(|program| program.cpu_s),
            mean(|program| program.remote_share),
            mean(|program| program.migrations),
        ]);
    }
    aligned(&rows)
}

/// Several policies, point by point, and how each differs from the baseline.
pub fn of_comparison(results: &Results, comparisons: &[Comparison], baseline: &str) -> String {
    let percent = percent(results.level);
    let mut text = String::new();
    let mut points: Vec<String> = results.cells.iter().map(super::results::Cell::point).collect();
    points.dedup();
    for point in points {
        if !point.is_empty() {
            let _ = writeln!(text, "{point}");
        }
        let mut rows = vec![
            [
                "policy",
                "response, s",
                &format!("± {percent}"),
                "utilisation",
                "remote",
                "migrations",
                "difference, s",
                &format!("± {percent}"),
                "ratio",
                "p",
                "",
            ]
            .map(ToOwned::to_owned),
        ];
        for (cell, _) in results.cells.iter().enumerate().filter(|(_, cell)| cell.point() == point) {
            rows.push(row(results, comparisons, cell));
        }
        text.push_str(&aligned(&rows));
        text.push('\n');
    }
    let tests = comparisons.iter().filter(|one| one.difference_s.is_some()).count();
    if tests > 0 {
        let _ = writeln!(
            text,
            "difference, ratio: to {baseline}, on the same jobs, with {percent} intervals; p: of no difference, corrected for {}; \
             * p <= 0.05",
            counted(tests, "comparison")
        );
    } else if !comparisons.is_empty() {
        let _ = writeln!(text, "one seed: nothing can be said about differences; add --seeds 10");
    }
    text
}

fn row(results: &Results, comparisons: &[Comparison], cell: usize) -> [String; 11] {
    let runs = &results.runs[cell];
    let estimate = |key: &str| {
        let metric = METRICS.iter().find(|metric| metric.key == key)?;
        Estimate::of(&samples(runs, metric.of), results.level)
    };
    let mean = |key| estimate(key).map_or_else(String::new, |estimate| number(estimate.mean));
    let [response, half] = estimate("response_s").map_or_else(Default::default, |found| cells(&found));
    let comparison = comparisons.iter().find(|one| one.cell == cell);
    let difference = comparison.and_then(|one| one.difference_s);
    let ratio = comparison.and_then(|one| one.ratio);
    [
        results.cells[cell].policy.clone(),
        response,
        half,
        mean("utilisation"),
        mean("remote_share"),
        mean("migrations"),
        difference
            .map_or_else(String::new, |found| format!("{}{}", sign(found.interval.mean), number(found.interval.mean))),
        difference.map_or_else(String::new, |found| number(found.interval.half_width)),
        ratio.map_or_else(String::new, |found| format!("{:.3}", found.ratio)),
        comparison
            .and_then(|one| one.p_holm)
            .map_or_else(String::new, |p| if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }),
        if comparison.is_some_and(|one| one.real) { "*".to_owned() } else { String::new() },
    ]
}

fn sign(x: f64) -> &'static str {
    if x > 0.0 { "+" } else { "" }
}

fn cells(estimate: &Estimate) -> [String; 2] {
    [number(estimate.mean), estimate.half_width.map_or_else(|| "-".to_owned(), number)]
}

/// `90 %`.
pub fn percent(level: f64) -> String {
    format!("{} %", (level * 1000.0).round() / 10.0)
}

/// Four digits that count; large and small ones with an exponent.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || !x.is_finite() {
        format!("{x}")
    } else if !(1e-4..1e7).contains(&size) {
        format!("{x:.3e}")
    } else if size >= 1000.0 {
        format!("{x:.0}")
    } else {
        let digits = (3.0 - size.log10().floor()).clamp(1.0, 7.0);
        #[allow(clippy::cast_sign_loss)] // Clamped to positive numbers.
        let text = format!("{x:.0$}", digits as usize);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// The first column to the left, all others to the right.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    columns::lines(rows, Side::Right).join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::example;
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (x, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.123_456, "0.1235"),
            (12.3456, "12.35"),
            (-123.456, "-123.5"),
            (123_456.0, "123456"),
            (1.5e9, "1.500e9"),
            (2e-6, "2.000e-6"),
            (0.001_234_6, "0.001235"),
        ] {
            assert_eq!(number(x), expected);
        }
    }

    #[test]
    fn a_comparison_shows_points_differences_and_marks() {
        let results = example();
        let text = of_comparison(&results, &results.comparisons("equi"), "equi");
        let marked: Vec<&str> = text.lines().filter(|line| line.ends_with('*')).collect();
        assert_eq!(marked.len(), 1, "{text}");
        assert!(marked[0].starts_with("dss") && marked[0].contains("+2.033"), "{text}");
        assert!(text.contains("machine.delay=0\n") && text.contains("corrected for 2 comparisons"), "{text}");
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    }

    #[test]
    fn one_seed_says_that_it_says_nothing() {
        let mut results = example();
        results.runs.iter_mut().for_each(|runs| runs.truncate(1));
        let text = of_comparison(&results, &results.comparisons("equi"), "equi");
        assert!(text.contains("one seed") && !text.contains('*'), "{text}");
        assert!(of_runs(&results.runs[0], 0.9).contains("response, s"), "{text}");
    }
}
