//! Figure 3: applications wider than a station, and the conclusion of figures 1 to 3 together.

use super::sizes::{self, SIZES};
use crate::hector::{Kernel, Streams, per_run};
use crate::{Estimate, Figure, Finding, Judge, Lab, Shape, Trouble, improvement, ratio};

/// Mean response of each run with six processes each, in seconds: of one kernel, or of all jobs.
fn response(lab: &Lab, size: u32, kernel: Option<Kernel>) -> Result<Vec<f64>, Trouble> {
    let placement = format!("worst-fit(equal={size})");
    let streams = Streams {
        kernels: &Kernel::SIX_WIDE,
        count: 2,
        repetitions: 15,
        parallelism: 6,
        runs: 30,
        ..Streams::usual(4, &placement, 16)
    };
    let outcomes = streams.outcomes(lab)?;
    Ok(per_run(&outcomes, |job| kernel.is_none_or(|kernel| *job.program == *kernel.name())))
}

fn figure(lab: &Lab) -> Result<Figure, Trouble> {
    let mut figure = Figure::new(
        Shape::Bars,
        "Figure 3: six processes each, d = 16",
        "application",
        "mean response, s",
        "Pools of 4 and 6 are best; HOUGH and SIMPLEX do not differ between them, MM is better with 4.",
    );
    for size in SIZES {
        let mut points = Vec::new();
        for kernel in Kernel::SIX_WIDE.map(Some).into_iter().chain([None]) {
            let name = kernel.map_or("COMBINED", Kernel::name).to_owned();
            points.push((name, Estimate::of(&response(lab, size, kernel)?)));
        }
        figure = figure.with(format!("pools of {size}"), points);
    }
    Ok(figure)
}

/// B97-Fig3a.
pub fn four_and_six_best(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let twelve = response(lab, 12, None)?;
    for size in [4, 6] {
        let gain = improvement(&response(lab, size, None)?, &twelve);
        judge.value(format!("I({size} over 12)"), "%", gain);
        judge.demand(format!("R({size}) < R(12)"), "best", format!("{gain} % less"), gain.mean > 0.0);
    }
    for kernel in [Kernel::Hough, Kernel::Simplex] {
        let same = ratio(&response(lab, 4, Some(kernel))?, &response(lab, 6, Some(kernel))?);
        judge.value(format!("R(4)/R(6), {}", kernel.name()), "", same);
        let what = format!("{}: |R(4)/R(6) - 1| ≤ 5 %", kernel.name());
        judge.demand(what, "not significant", same, (same.mean - 1.0).abs() <= 0.05);
    }
    judge.figure(figure(lab)?);
    Ok(judge.verdict(""))
}

/// B97-Fig3b.
pub fn architecture_counts_more(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (four, six) = (response(lab, 4, Some(Kernel::Mm))?, response(lab, 6, Some(Kernel::Mm))?);
    let step = ratio(&four, &six);
    judge.value("R(4)/R(6), MM", "", step);
    judge.demand("R(4) ≤ 0.95 R(6)", "pronounced", step, step.mean <= 0.95);
    let (four, six) = (Estimate::of(&four), Estimate::of(&six));
    judge.demand("intervals disjoint", "", format!("{four} and {six} s"), four.clearly_below(&six));
    Ok(judge.fitted("that MM hands out 152 of its 192 rows was chosen while looking at this figure", ""))
}

/// B97-concl.
pub fn conclusion(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for (what, finding) in [
        ("B97-Fig1c and Fig2c: four processes, pools of four", sizes::best_at_four(lab)?),
        ("B97-Fig2b: two processes, pools of two or four", sizes::two_and_four_alike(lab)?),
        ("B97-Fig3b: six processes, yet pools of four", architecture_counts_more(lab)?),
    ] {
        let missed = finding.evidence.iter().filter(|demand| !demand.holds).count();
        let shown = format!("{missed} of {} demands missed", finding.evidence.len());
        judge.demand(what, "holds", shown, missed == 0);
    }
    Ok(judge.fitted("figure 3 for MM is fitted", ""))
}
