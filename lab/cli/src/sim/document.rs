//! The JSON of `run` and `compare`. Its fields are promised: they may be added to, and never change
//! their meaning.

use super::metric::{Estimate, METRICS, programs, samples};
use super::results::{Comparison, Results};
use super::summary::Summary;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the format.
pub const VERSION: u32 = 1;

/// The scenario of a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Subject {
    /// The scenario's name.
    pub scenario: String,
    /// The scenario's own description.
    pub about: String,
    /// The machine's name.
    pub machine: String,
    /// Its processors.
    pub processors: usize,
    /// The model of queueing for memory.
    pub contention: String,
    /// Share of first applications that is left out.
    pub warmup: f64,
    /// The changes by `--set`.
    pub set: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    numaestro_sim: u32,
    version: &'static str,
    #[serde(flatten)]
    about: &'a Subject,
    level: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a str>,
    cells: Vec<CellDocument<'a>>,
}

/// One policy at one point.
#[derive(Serialize)]
struct CellDocument<'a> {
    policy: &'a str,
    parameters: BTreeMap<&'a str, &'a str>,
    means: BTreeMap<&'static str, Estimate>,
    programs: BTreeMap<String, Option<Estimate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against_baseline: Option<&'a Comparison>,
    runs: &'a [Summary],
}

/// Everything, as one object.
pub fn write(about: &Subject, results: &Results, baseline: Option<(&str, &[Comparison])>) -> anyhow::Result<String> {
    let cells = results.cells.iter().zip(&results.runs).enumerate().map(|(number, (cell, runs))| CellDocument {
        policy: &cell.policy,
        parameters: cell.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        means: means(runs, results.level),
        programs: responses(runs, results.level),
        against_baseline: baseline.and_then(|(_, all)| all.iter().find(|one| one.cell == number)),
        runs,
    });
    let document = Document {
        numaestro_sim: VERSION,
        version: env!("CARGO_PKG_VERSION"),
        about,
        level: results.level,
        baseline: baseline.map(|(name, _)| name),
        cells: cells.collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn means(runs: &[Summary], level: f64) -> BTreeMap<&'static str, Estimate> {
    METRICS.iter().filter_map(|metric| Some((metric.key, Estimate::of(&samples(runs, metric.of), level)?))).collect()
}

/// Mean response time by program.
fn responses(runs: &[Summary], level: f64) -> BTreeMap<String, Option<Estimate>> {
    let one = |name: String| {
        let found = runs.iter().filter_map(|run| run.programs.iter().find(|program| program.program == name));
        let times: Vec<f64> = found.map(|program| program.response_s).collect();
        (name, Estimate::of(&times, level))
    };
    programs(runs).into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::example;
    use super::*;

    #[test]
    fn the_shape_of_a_comparison() {
        let about = Subject {
            scenario: "s".to_owned(),
            about: String::new(),
            machine: "hector".to_owned(),
            processors: 16,
            contention: "max-min".to_owned(),
            warmup: 0.0,
            set: vec![],
        };
        let results = example();
        let comparisons = results.comparisons("equi");
        let text = write(&about, &results, Some(("equi", &comparisons))).expect("numbers");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (&value["numaestro_sim"], &value["machine"], &value["baseline"]),
            (&1.into(), &"hector".into(), &"equi".into())
        );
        let cells = value["cells"].as_array().expect("a list");
        assert_eq!((cells.len(), &cells[2]["parameters"]["machine.delay"]), (4, &"4".into()));
        assert!(cells[0].get("against_baseline").is_none());
        let against = &cells[3]["against_baseline"];
        assert!(against["real"] == true && against["difference_s"]["interval"]["n"] == 3, "{against}");
        assert!(cells[3]["means"]["response_s"]["half_width"].as_f64().is_some_and(|half| half > 0.0));
    }
}
