//! Definitions of the paper: the states of the search, the quantum, the division of Cluster.

use super::policy::Policy;
use super::runs::{CPUSET, CURVES, DIVISION, Run, Told};
use crate::{Estimate, Finding, Judge, Lab, Status, Trouble};
use numaestro_engine::AppId;
use numaestro_sim::Nanos;
use std::collections::BTreeMap;

/// Number of runs. Seeds change only the variation of work here.
const RUNS: u32 = 3;

/// N-Tab1alloc.
pub fn division(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for asks in [8, 10, 12, 14, 16] {
        let run =
            Run { runs: 1, ..Run::new(DIVISION, Policy::Cluster) }.with("program.epd.processors", &asks.to_string());
        for (told, _) in lab.observed(&run.experiment(lab)?, Told::default)? {
            let counts: Vec<u32> = told.programs.keys().map(|&app| told.of(app).last().copied().unwrap_or(0)).collect();
            let ours: Vec<String> = counts.iter().map(u32::to_string).collect();
            judge.value(format!("CG, EPD asks for {asks}"), "", Estimate::exact(f64::from(counts[4])));
            let what = format!("SP, BT, EPD, FT, CG have 8, 8, 8, 4, 4 where EPD asks for {asks}");
            judge.demand(what, "FT and CG have 4", ours.join(", "), counts == [8, 8, 8, 4, 4]);
        }
    }
    Ok(judge.verdict(""))
}

/// Steps of two from four to this.
fn up_to(most: u32) -> Vec<u32> {
    (2..=most / 2).map(|half| 2 * half).collect()
}

/// N-Fig1.
pub fn states(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    // Program, processors in the steps of its search, and a further step with its return: tests of
    // it may follow, each taken back.
    let cases =
        [("hardly", vec![4, 2, 1], Some([3, 1])), ("up-to-18", up_to(18), Some([20, 18])), ("all", up_to(32), None)];
    for (program, expected, test) in cases {
        let run = Run { runs: 1, ..Run::new(CURVES, Policy::Preset("pdpa")) };
        let run = run.with("workload.kind", "\"closed\"").with("workload.programs", &format!("[\"{program}\"]"));
        for (told, _) in lab.observed(&run.experiment(lab)?, Told::default)? {
            let counts = told.programs.keys().next().map(|&app| told.of(app)).unwrap_or_default();
            let last = f64::from(counts.last().copied().unwrap_or(0));
            judge.value(format!("{program}: found"), "", Estimate::exact(last));
            let (search, after) = counts.split_at(expected.len().min(counts.len()));
            judge.demand(format!("{program}: {}", words(&expected)), "-", words(search), search == expected);
            // A step of the search that does not pay, and three tests.
            let holds = after.len() <= 8
                && after.len() % 2 == 0
                && after.chunks(2).all(|pair| Some([pair[0], pair[1]]) == test);
            judge.demand(format!("{program}: then at most tests, each taken back"), "-", words(after), holds);
        }
    }
    // Both were corrected after a first outcome.
    Ok(judge.fitted("how often the programs report, and that tests of what was found may follow", ""))
}

fn words(counts: &[u32]) -> String {
    let words: Vec<String> = counts.iter().map(u32::to_string).collect();
    words.join(", ")
}

/// N-Fig2.
pub fn quantum(lab: &Lab) -> Result<Finding, Trouble> {
    const QUANTUM: Nanos = 100_000_000;
    let run = Run { runs: RUNS, ..Run::new(CPUSET, Policy::Cluster) }.with("until", "\"10 s\"");
    let mut judge = Judge::new();
    let (mut fell, mut amiss, mut rose) = (0_u32, 0_u32, 0_u32);
    for (told, _) in lab.observed(&run.experiment(lab)?, Told::default)? {
        let mut before: BTreeMap<AppId, u32> = BTreeMap::new();
        for &(at, app, count, asked) in &told.counts {
            let between = !at.is_multiple_of(QUANTUM);
            match before.insert(app, count) {
                Some(had) if count < had => {
                    fell += 1;
                    amiss += u32::from(between && !asked);
                }
                Some(had) if count > had => rose += u32::from(between),
                _ => {}
            }
        }
    }
    judge.value("counts that fell", "", Estimate::exact(f64::from(fell)));
    judge.value("of those, within a quantum without being asked", "", Estimate::exact(f64::from(amiss)));
    judge.value("counts that rose within a quantum", "", Estimate::exact(f64::from(rose)));
    judge.demand(
        "counts fall only at the end of a quantum or by their own request",
        "-",
        amiss,
        amiss == 0 && fell > 0,
    );
    judge.demand("what is released goes to others within the quantum", "-", rose, rose > 0);
    Ok(judge.verdict(""))
}

/// N-Fig3 and N-Fig4.
#[allow(clippy::unnecessary_wraps)] // Claims have one signature.
pub fn elsewhere(_: &Lab) -> Result<Finding, Trouble> {
    let why = "it is an algorithm of the thread library, not of the modelled machine: `cargo test -p numaestro-nanothreads` tests it";
    Ok(Judge::new().with(Status::NotApplicable(why.to_owned())))
}
