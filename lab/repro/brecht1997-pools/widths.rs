//! Figure 3: applications wider than a station, and the conclusion of figures 1 to 3 together.

use super::sizes::{self, LEAST, SIZES};
use crate::hector::{Kernel, Streams, per_run};
use crate::{Estimate, Figure, Finding, Judge, Lab, Pair, Shape, Trouble, improvement, ratio};

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
        let best = response(lab, size, None)?;
        judge.value(format!("I({size} over 12)"), "%", improvement(&best, &twelve));
        for other in [1, 2, 12] {
            let worse = response(lab, other, None)?;
            judge.less(format!("R({size}) < R({other}) by {LEAST} %"), "best", Pair::new(&best, &worse), LEAST);
        }
    }
    let (mm_four, mm_twelve) = (response(lab, 4, Some(Kernel::Mm))?, response(lab, 12, Some(Kernel::Mm))?);
    let control = ("MM with pools of 4 and of 12", Pair::new(&mm_four, &mm_twelve));
    for kernel in [Kernel::Hough, Kernel::Simplex] {
        let (four, six) = (response(lab, 4, Some(kernel))?, response(lab, 6, Some(kernel))?);
        judge.value(format!("R(4)/R(6), {}", kernel.name()), "", ratio(&four, &six));
        let what = format!("{}: R(4) within 5 % of R(6)", kernel.name());
        judge.alike(what, "not significant", Pair::new(&four, &six), 5.0, control);
    }
    if lab.draws_figures() {
        judge.figure(figure(lab)?);
    }
    Ok(judge.verdict(""))
}

/// B97-Fig3b.
pub fn architecture_counts_more(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (four, six) = (response(lab, 4, Some(Kernel::Mm))?, response(lab, 6, Some(Kernel::Mm))?);
    judge.value("R(4)/R(6), MM", "", ratio(&four, &six));
    judge.less("R(4) < R(6) by 5 %", "pronounced", Pair::new(&four, &six), 5.0);
    Ok(judge.verdict(""))
}

/// B97-concl.
pub fn conclusion(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for (what, finding) in [
        ("B97-Fig1c: four processes, pools of four", sizes::best_at_four(lab)?),
        ("B97-Fig2b: two processes, pools of two or four", sizes::two_and_four_alike(lab)?),
        ("B97-Fig3b: six processes, yet pools of four", architecture_counts_more(lab)?),
    ] {
        let missed = finding.evidence.iter().filter(|demand| !demand.holds).count();
        let shown = format!("{missed} of {} demands missed", finding.evidence.len());
        judge.demand(what, "holds", shown, missed == 0);
    }
    Ok(judge.verdict(""))
}
