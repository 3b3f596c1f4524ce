//! Figures 5 and 6: First-Fit against Worst-Fit.

use crate::hector::{Kernel, STATIONS, Snapshots, Streams, per_run, snapshots};
use crate::{Estimate, Figure, Finding, Judge, Lab, Pair, Shape, Trouble, improvement, ratio};
use numaestro_sim::Nanos;

const FIRST: &str = "first-fit(equal=4)";
const WORST: &str = "worst-fit(equal=4)";
/// First-Fit keeps a placement, good or bad, for long, so that runs differ much.
const RUNS: u32 = 60;

fn response(lab: &Lab, placement: &str, kernel: Option<Kernel>) -> Result<Vec<f64>, Trouble> {
    let outcomes = Streams { runs: RUNS, ..Streams::usual(4, placement, 16) }.outcomes(lab)?;
    Ok(per_run(&outcomes, |job| kernel.is_none_or(|kernel| *job.program == *kernel.name())))
}

/// B97-Fig5a.
pub fn worst_over_first(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (mut large, mut worst_bars, mut first_bars) = (0, Vec::new(), Vec::new());
    for kernel in [None].into_iter().chain(Kernel::FIVE.map(Some)) {
        let name = kernel.map_or("COMBINED", Kernel::name);
        let (worst, first) = (response(lab, WORST, kernel)?, response(lab, FIRST, kernel)?);
        let gain = improvement(&worst, &first);
        judge.value(format!("I({name})"), "%", gain);
        worst_bars.push((name.to_owned(), ratio(&worst, &first)));
        first_bars.push((name.to_owned(), Estimate::exact(1.0)));
        match kernel {
            None => {
                judge.less("COMBINED: Worst-Fit lower by 5 %", "significant", Pair::new(&worst, &first), 5.0);
            }
            Some(Kernel::Neural) => {
                let (all_worst, all_first) = (response(lab, WORST, None)?, response(lab, FIRST, None)?);
                let control = ("all jobs", Pair::new(&all_worst, &all_first));
                judge.alike("NEURAL within 4 %", "", Pair::new(&worst, &first), 4.0, control);
            }
            Some(_) => large += u32::from(gain.low() >= 17.0),
        }
    }
    judge.demand("I ≥ 17 % for at least 3 kernels", "≥ 20 % for 3", format!("{large} kernels"), large >= 3);
    judge.figure(
        Figure::new(
            Shape::Bars,
            "Figure 5: Worst-Fit over First-Fit, pools of 4, d = 16",
            "application",
            "normalised mean response",
            "Worst-Fit reduces the mean response times of three of the five applications by 20 % or more.",
        )
        .with("First-Fit", first_bars)
        .with("Worst-Fit", worst_bars),
    );
    Ok(judge.verdict(""))
}

/// Of all samples in which a processor is used: shares with 2 or more jobs on a station; with three
/// on one; with three on three.
#[derive(Default)]
struct Kinds {
    shared: Vec<f64>,
    three_on_one: usize,
    apart: usize,
    examples: [Option<String>; 2],
}

/// Nanoseconds between two samples of figure 6; the paper says only that it is regular.
#[allow(clippy::cast_sign_loss)] // Its range is above 0.
pub fn between_snapshots(lab: &Lab) -> Result<Nanos, Trouble> {
    Ok((lab.constant("snapshots")? * 1e9).round() as Nanos)
}

fn kinds(lab: &Lab, placement: &str) -> Result<Kinds, Trouble> {
    let mut kinds = Kinds::default();
    for run in snapshots(lab, &Streams::usual(4, placement, 16).experiment(lab)?, between_snapshots(lab)?)? {
        let (mut used, mut shared) = (0, 0);
        for taken in run.taken.iter().filter(|taken| taken.iter().any(Option::is_some)) {
            let jobs: Vec<usize> = STATIONS.map(|station| Snapshots::jobs_on(taken, station).len()).collect();
            used += 1;
            shared += u32::from(jobs.iter().any(|&jobs| jobs > 1));
            let full = taken.iter().flatten().count() == 12;
            if jobs.contains(&3) {
                kinds.three_on_one += 1;
                kinds.examples[0].get_or_insert_with(|| Snapshots::written(taken));
            }
            if full && jobs == [1, 1, 1] {
                kinds.apart += 1;
                kinds.examples[1].get_or_insert_with(|| Snapshots::written(taken));
            }
        }
        kinds.shared.push(100.0 * f64::from(shared) / f64::from(used.max(1)));
    }
    Ok(kinds)
}

/// B97-Fig6.
pub fn trace(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (first, worst) = (kinds(lab, FIRST)?, kinds(lab, WORST)?);
    let [together, apart] = first.examples.map(|example| example.unwrap_or_else(|| "never".to_owned()));
    judge.demand("first-fit: each application on a station of its own", "rrrr pppp qqqq", apart, first.apart > 0);
    judge.demand("first-fit: a station with three applications", "abab zbab zzaz", together, first.three_on_one > 0);
    let (first, worst) = (Estimate::of(&first.shared), Estimate::of(&worst.shared));
    judge.value("samples with a shared station, first-fit", "%", first).value("worst-fit", "%", worst);
    judge.at_least("first-fit: at least 20 % of samples share a station", "about half of 25 lines", first, 20.0);
    judge.at_most("first-fit: at most 80 % of samples do", "about half of 25 lines", first, 80.0);
    judge.at_most("worst-fit: none does, %", "", worst, 0.0);
    Ok(judge.verdict(""))
}
