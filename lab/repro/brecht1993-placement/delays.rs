//! Figure 1.5: the delay switches from 0 to 64 cycles.

use crate::hector::{Alone, Kernel, LOCALIZED, ON_TWELVE, gain};
use crate::{Estimate, Figure, Finding, Judge, Lab, Pair, Shape, Status, Trouble, ratio};
use numaestro_sim::memory::Contention;

/// Settings that the paper shows.
const DELAYS: [u32; 6] = [0, 4, 8, 16, 32, 64];
/// All but NEURAL.
const OTHERS: [Kernel; 5] = [Kernel::Fft, Kernel::Hough, Kernel::Mm, Kernel::Pde, Kernel::Simplex];

/// B93-Fig1.5a.
pub fn benefit_grows(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let mut figure = Figure::new(
        Shape::Lines,
        "Figure 1.5: benefit of localization by delay",
        "delay, cycles",
        "improvement by localization, %",
        "The benefit increases with latency for all applications except NEURAL.",
    );
    for kernel in OTHERS {
        let gains = DELAYS.iter().map(|&delay| gain(lab, kernel, delay)).collect::<Result<Vec<_>, _>>()?;
        for (delays, pair) in DELAYS.windows(2).zip(gains.windows(2)) {
            let what = format!("I({}) rises from d={} to {}", kernel.name(), delays[0], delays[1]);
            let shown = format!("{} and {} %", pair[0], pair[1]);
            judge.demand(what, "increases", shown, pair[0].clearly_below(&pair[1]));
        }
        judge.value(format!("I({}) at d=64", kernel.name()), "%", gains[DELAYS.len() - 1]);
        figure = figure.with(kernel.name(), DELAYS.iter().map(ToString::to_string).zip(gains));
    }
    if lab.draws_figures() {
        let neural = DELAYS.iter().map(|&delay| gain(lab, Kernel::Neural, delay)).collect::<Result<Vec<_>, _>>()?;
        judge.figure(figure.with("NEURAL", DELAYS.iter().map(ToString::to_string).zip(neural)));
    }
    Ok(judge.verdict(""))
}

/// T(64)/T(0), localized.
fn slowdown(lab: &Lab, kernel: Kernel) -> Result<Estimate, Trouble> {
    let slow = Alone::new(kernel, LOCALIZED, 64).seconds(lab)?;
    let fast = Alone::new(kernel, LOCALIZED, 0).seconds(lab)?;
    Ok(ratio(&slow, &fast))
}

/// B93-Fig1.5b.
pub fn unchanged(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for kernel in [Kernel::Mm, Kernel::Pde] {
        let slowdown = slowdown(lab, kernel)?;
        judge.value(format!("T(64)/T(0), {}", kernel.name()), "", slowdown);
        judge.at_most(format!("{}: T(64)/T(0) ≤ 1.01", kernel.name()), "no effect", slowdown, 1.01);
    }
    if !judge.holds() {
        return Ok(judge.verdict(""));
    }
    Ok(judge.with(Status::Identity(
        "mm.toml and pde.toml: all data that their processes refer to is in the parent's module, so nothing leaves the station".to_owned(),
    )))
}

/// B93-Fig1.5c.
pub fn slow_although_localized(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let neural = slowdown(lab, Kernel::Neural)?;
    for kernel in [Kernel::Neural, Kernel::Fft, Kernel::Hough, Kernel::Simplex] {
        let slowdown = slowdown(lab, kernel)?;
        judge.value(format!("T(64)/T(0), {}", kernel.name()), "", slowdown);
        judge.at_least(format!("{}: T(64)/T(0) ≥ 1.05", kernel.name()), "affected", slowdown, 1.05);
        if kernel != Kernel::Neural {
            let what = format!("NEURAL slows down more than {}", kernel.name());
            judge.demand(
                what,
                "especially NEURAL",
                format!("{neural} and {slowdown}"),
                slowdown.clearly_below(&neural),
            );
        }
    }
    if lab.draws_figures() {
        judge.figure(localized_times(lab)?);
    }
    Ok(judge.verdict(""))
}

/// Times of all kernels, localized, by delay.
fn localized_times(lab: &Lab) -> Result<Figure, Trouble> {
    let mut figure = Figure::new(
        Shape::Lines,
        "Figure 1.5: localized times by delay",
        "delay, cycles",
        "time over time without delay",
        "MM and PDE do not change; FFT, HOUGH, SIMPLEX and especially NEURAL do, although localized.",
    );
    for kernel in Kernel::ALL {
        let base = Alone::new(kernel, LOCALIZED, 0).seconds(lab)?;
        let mut points = Vec::new();
        for delay in DELAYS {
            points.push((delay.to_string(), ratio(&Alone::new(kernel, LOCALIZED, delay).seconds(lab)?, &base)));
        }
        figure = figure.with(kernel.name(), points);
    }
    Ok(figure)
}

/// B93-Fig1.5d.
pub fn neural_worse(lab: &Lab) -> Result<Finding, Trouble> {
    /// The least degradation that counts, percent.
    const LEAST: f64 = 0.2;
    let mut judge = Judge::new();
    for delay in [32, 64] {
        let worse = |contention| -> Result<Vec<f64>, Trouble> {
            let seconds = |placement| Alone { contention, ..Alone::new(Kernel::Neural, placement, delay) }.seconds(lab);
            let (near, far) = (seconds(LOCALIZED)?, seconds(ON_TWELVE)?);
            Ok(near.iter().zip(far).map(|(near, far)| near / far).collect())
        };
        let (queueing, without) = (worse(Contention::Amva)?, worse(Contention::None)?);
        let percent = Estimate::of(&queueing).percent_over_one();
        judge.value(format!("localized slower by, d={delay}"), "%", percent);
        judge.value(format!("the same without queueing, d={delay}"), "%", Estimate::of(&without).percent_over_one());
        judge.at_least(
            format!("localized slower by at least {LEAST} % at d={delay}"),
            "slightly worse",
            percent,
            LEAST,
        );
        judge.at_most(format!("by at most 10 % at d={delay}"), "slightly worse", percent, 10.0);
        let what = format!("because processes wait for shared resources: less without queueing at d={delay}");
        judge.less(what, "contention for shared resources", Pair::new(&without, &queueing), LEAST);
    }
    Ok(judge.verdict(""))
}
