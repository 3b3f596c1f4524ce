//! The isolation of jobs: Worst-Fit by jobs, and the effect of pools on the ring.

use crate::hector::{Kernel, STATIONS, Snapshots, Streams, of_widths, per_run, snapshots};
use crate::{Estimate, Finding, Judge, Lab, Pair, Status, Trouble, ratio};
use numaestro_sim::memory::Contention;

/// B97-WFjobs.
pub fn by_jobs(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let response = |placement| -> Result<Vec<f64>, Trouble> {
        Ok(per_run(&Streams::usual(4, placement, 16).outcomes(lab)?, |_| true))
    };
    let [jobs, processors, first] =
        ["worst-fit-jobs(equal=4)", "worst-fit(equal=4)", "first-fit(equal=4)"].map(response);
    let (jobs, processors, first) = (jobs?, processors?, first?);
    judge.value("R(by jobs)/R(by processors)", "", ratio(&jobs, &processors));
    let control = ("First-Fit and Worst-Fit", Pair::new(&first, &processors));
    judge.alike("within 3 %", "similarly", Pair::new(&jobs, &processors), 3.0, control);
    let (jobs, processors) = (mixed(lab, "worst-fit-jobs(equal=4)")?, mixed(lab, "worst-fit(equal=4)")?);
    judge.value("pairs of jobs on a station, by jobs", "", Estimate::of(&jobs));
    judge.value("by processors", "", Estimate::of(&processors));
    judge.less("unequal widths: fewer pairs by jobs, by 1 %", "expected", Pair::new(&jobs, &processors), 1.0);
    Ok(judge.verdict(""))
}

/// Mean number of pairs of jobs that are on the same station, with streams of jobs of three
/// processes and of one side by side, in each run.
fn mixed(lab: &Lab, placement: &str) -> Result<Vec<f64>, Trouble> {
    let experiment = of_widths(lab, &[3, 3, 1, 1, 1], &[Kernel::Hough, Kernel::Mm, Kernel::Pde], placement)?;
    let mut means = Vec::new();
    for run in snapshots(lab, &experiment, super::fits::between_snapshots(lab)?)? {
        let mut pairs = 0;
        for (taken, station) in run.taken.iter().flat_map(|taken| STATIONS.map(move |station| (taken, station))) {
            let jobs = Snapshots::jobs_on(taken, station).len();
            pairs += jobs * jobs.saturating_sub(1) / 2;
        }
        means.push(pairs as f64 / run.taken.len().max(1) as f64);
    }
    Ok(means)
}

/// B97-cont.
pub fn contention(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let mut all = Vec::new();
    for placement in ["worst-fit(equal=4)", "worst-fit(equal=12)"] {
        let streams = Streams { contention: Contention::Amva, runs: 10, ..Streams::usual(4, placement, 16) };
        let outcomes = streams.outcomes(lab)?;
        let used: Vec<f64> = outcomes
            .iter()
            .map(|outcome| {
                let ring = outcome.channels.iter().filter(|channel| channel.name.starts_with("ring"));
                ring.map(|channel| channel.utilisation).sum::<f64>() * outcome.end as f64
            })
            .collect();
        let free = Streams { runs: 10, ..Streams::usual(4, placement, 16) }.outcomes(lab)?;
        let added = ratio(&per_run(&outcomes, |_| true), &per_run(&free, |_| true));
        all.push((used, added));
    }
    let carried = ratio(&all[0].0, &all[1].0);
    judge.value("what the ring carries, pools of 4 over none", "", carried);
    judge.value("response with queueing over without, pools of 4", "", all[0].1);
    judge.value("the same, no pools", "", all[1].1);
    Ok(judge.with(Status::NotApplicable(
        "the paper expected less contention and could not observe it; there is no number to compare with, so the ratio is only reported"
            .to_owned(),
    )))
}
