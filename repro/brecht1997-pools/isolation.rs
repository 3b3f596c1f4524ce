//! How well jobs are kept apart: Worst-Fit by jobs, and what pools do for the ring.

use crate::hector::{Kernel, STATIONS, Snapshots, Streams, of_widths, per_run, snapshots};
use crate::{Estimate, Finding, Judge, Lab, Status, Trouble, ratio};
use numaestro_sim::memory::Contention;

/// B97-WFjobs.
pub fn by_jobs(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let response = |placement| -> Result<Vec<f64>, Trouble> {
        Ok(per_run(&Streams::usual(4, placement, 16).outcomes(lab)?, |_| true))
    };
    let same = ratio(&response("worst-fit-jobs(equal=4)")?, &response("worst-fit(equal=4)")?);
    judge.value("R(by jobs)/R(by processors)", "", same);
    judge.demand("within 3 %", "similarly", same, (same.mean - 1.0).abs() <= 0.03);
    let (jobs, processors) = (mixed(lab, "worst-fit-jobs(equal=4)")?, mixed(lab, "worst-fit(equal=4)")?);
    judge.value("jobs on a station in use, by jobs", "", jobs).value("by processors", "", processors);
    let holds = jobs.mean <= processors.mean;
    judge.demand(
        "unequal widths: by jobs isolates as well",
        "expected",
        format!("{jobs} and {processors} jobs"),
        holds,
    );
    Ok(judge.verdict(""))
}

/// Mean number of jobs on a station that is used, with streams of jobs of three, two and one process side by side.
fn mixed(lab: &Lab, placement: &str) -> Result<Estimate, Trouble> {
    let kernels = [Kernel::Hough, Kernel::Mm, Kernel::Pde];
    let experiment = of_widths(&[3, 3, 2, 1, 1, 1], &kernels, placement)?;
    let mut means = Vec::new();
    for run in snapshots(lab, &experiment, 500_000_000)? {
        let jobs = run.taken.iter().flat_map(|taken| STATIONS.map(|station| Snapshots::jobs_on(taken, station).len()));
        let used: Vec<usize> = jobs.filter(|&jobs| jobs > 0).collect();
        means.push(used.iter().sum::<usize>() as f64 / used.len().max(1) as f64);
    }
    Ok(Estimate::of(&means))
}

/// B97-cont.
pub fn contention(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let mut all = Vec::new();
    for placement in ["worst-fit(equal=4)", "worst-fit(equal=12)"] {
        let streams = Streams { contention: Contention::Amva, ..Streams::usual(4, placement, 16) };
        let outcomes = streams.outcomes(lab)?;
        let used: Vec<f64> = outcomes
            .iter()
            .map(|outcome| {
                let ring = outcome.channels.iter().filter(|channel| channel.name.starts_with("ring"));
                ring.map(|channel| channel.utilisation).sum::<f64>() * outcome.end as f64
            })
            .collect();
        let free = Streams::usual(4, placement, 16).outcomes(lab)?;
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
