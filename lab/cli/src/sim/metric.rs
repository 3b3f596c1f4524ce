//! The numbers of a run that are averaged over seeds and compared between policies.

use super::summary::Summary;
use numaestro_sim::stats::{Interval, Moments};
use serde::Serialize;

/// One number of a run.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name in files: the field of [`Summary`].
    pub key: &'static str,
    /// For people, with its unit.
    pub title: &'static str,
    /// Out of a run.
    pub of: fn(&Summary) -> f64,
}

/// Policies are compared by the first.
pub const METRICS: [Metric; 27] = [
    Metric { key: "response_s", title: "response, s", of: |run| run.response_s },
    Metric { key: "response_p50_s", title: "  median", of: |run| run.response_p50_s },
    Metric { key: "response_p95_s", title: "  95th percentile", of: |run| run.response_p95_s },
    Metric { key: "response_max_s", title: "  longest", of: |run| run.response_max_s },
    Metric { key: "wait_s", title: "  waiting to start", of: |run| run.wait_s },
    Metric { key: "slowdown", title: "bounded slowdown", of: |run| run.slowdown },
    Metric { key: "cpu_s", title: "processor time, s", of: |run| run.cpu_s },
    Metric { key: "makespan_s", title: "makespan, s", of: |run| run.makespan_s },
    Metric { key: "utilisation", title: "utilisation", of: |run| run.utilisation },
    Metric { key: "work", title: "  work", of: |run| run.work },
    Metric { key: "spin", title: "  spin", of: |run| run.spin },
    Metric { key: "reload", title: "  reload", of: |run| run.reload },
    Metric { key: "overhead", title: "  overhead", of: |run| run.overhead },
    Metric { key: "idle", title: "idle", of: |run| run.idle },
    Metric { key: "local_refs", title: "local references", of: |run| run.local_refs as f64 },
    Metric { key: "remote_refs", title: "remote references", of: |run| run.remote_refs as f64 },
    Metric { key: "remote_share", title: "  share", of: |run| run.remote_share },
    Metric { key: "migrations", title: "migrations", of: |run| run.migrations as f64 },
    Metric { key: "children_away", title: "created elsewhere", of: |run| run.children_away as f64 },
    Metric { key: "busiest_channel", title: "busiest channel", of: |run| run.busiest_channel },
    Metric { key: "level", title: "applications at a time", of: |run| run.level },
    Metric { key: "decisions", title: "decisions", of: |run| run.decisions as f64 },
    Metric { key: "stops", title: "  stops", of: |run| run.stops as f64 },
    Metric { key: "search_s", title: "searching, s", of: |run| run.search_s },
    Metric { key: "system_s", title: "system time, s", of: |run| run.system_s },
    Metric { key: "jobs", title: "applications", of: |run| run.jobs as f64 },
    Metric { key: "thread_events", title: "thread events", of: |run| run.thread_events as f64 },
];

/// A mean over seeds; with one seed it has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its interval.
    pub half_width: Option<f64>,
    /// Smallest of the runs.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Estimate {
    /// The estimate from these samples, in order of seeds. `None` without any.
    pub fn of(samples: &[f64], level: f64) -> Option<Self> {
        let mean = Moments::of(samples).mean()?;
        Some(Self {
            mean,
            half_width: Interval::of(samples, level).map(|interval| interval.half_width),
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            max: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// One number of each run.
pub fn samples(runs: &[Summary], of: impl Fn(&Summary) -> f64) -> Vec<f64> {
    runs.iter().map(of).collect()
}

/// Names of the programs of all runs, in order.
pub fn programs(runs: &[Summary]) -> Vec<String> {
    let mut names: Vec<String> =
        runs.iter().flat_map(|run| run.programs.iter().map(|program| program.program.clone())).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_a_field_of_the_summary_under_its_key() {
        use super::super::summary::tests::{job, outcome};
        let outcome = outcome(vec![job(1, "a", [0, 1, 3])]);
        let run = Summary::of(&outcome, 1, 0.0, &numaestro_topology::PuSet::new());
        let fields = serde_json::to_value(&run).expect("numbers");
        for metric in METRICS {
            let field = fields[metric.key].as_f64().unwrap_or_else(|| panic!("{} is no field", metric.key));
            assert!((field - (metric.of)(&run)).abs() < 1e-12, "{}", metric.key);
        }
    }

    #[test]
    fn one_seed_has_a_mean_and_no_interval() {
        let one = Estimate::of(&[3.0], 0.9).expect("a sample");
        assert!(one.half_width.is_none() && (one.mean - 3.0).abs() < 1e-12);
        let two = Estimate::of(&[3.0, 5.0], 0.9).expect("samples");
        assert!((two.half_width.expect("an interval") - 6.3137).abs() < 1e-3 && two.max > two.min);
        assert!(Estimate::of(&[], 0.9).is_none());
    }
}
