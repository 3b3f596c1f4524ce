//! Figure 1.5: the delay switches from 0 to 64 cycles.

use super::placements::{LOCALIZED, ON_TWELVE, gain, percent_over_one};
use crate::hector::{Alone, Kernel};
use crate::{Estimate, Figure, Finding, Judge, Lab, Shape, Trouble, ratio};
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
        let rises = gains.windows(2).all(|pair| pair[0].mean < pair[1].mean);
        let shown: Vec<String> = gains.iter().map(|gain| format!("{:.1}", gain.mean)).collect();
        judge.demand(
            format!("I({}) rises over 0, 4, 8, 16, 32, 64", kernel.name()),
            "increases",
            shown.join(" < "),
            rises,
        );
        judge.value(format!("I({}) at d=64", kernel.name()), "%", gains[DELAYS.len() - 1]);
        figure = figure.with(kernel.name(), DELAYS.iter().map(ToString::to_string).zip(gains));
    }
    let neural = DELAYS.iter().map(|&delay| gain(lab, Kernel::Neural, delay)).collect::<Result<Vec<_>, _>>()?;
    judge.figure(figure.with("NEURAL", DELAYS.iter().map(ToString::to_string).zip(neural)));
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
        judge.demand(format!("{}: T(64)/T(0) ≤ 1.01", kernel.name()), "no effect", slowdown, slowdown.mean <= 1.01);
    }
    Ok(judge.verdict(""))
}

/// B93-Fig1.5c.
pub fn slow_although_localized(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let mut slowest = (Kernel::Fft, 0.0);
    for kernel in [Kernel::Neural, Kernel::Fft, Kernel::Hough, Kernel::Simplex] {
        let slowdown = slowdown(lab, kernel)?;
        judge.value(format!("T(64)/T(0), {}", kernel.name()), "", slowdown);
        judge.demand(format!("{}: T(64)/T(0) ≥ 1.05", kernel.name()), "affected", slowdown, slowdown.mean >= 1.05);
        if slowdown.mean > slowest.1 {
            slowest = (kernel, slowdown.mean);
        }
    }
    judge.demand("NEURAL largest", "especially NEURAL", slowest.0.name(), slowest.0 == Kernel::Neural);
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
    judge.figure(figure);
    Ok(judge.fitted(
        "NEURAL's share of system calls and how often FFT refers to its tables were set so that NEURAL comes out largest",
        "",
    ))
}

/// B93-Fig1.5d.
pub fn neural_worse(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for delay in [32, 64] {
        let seconds = |placement| {
            Alone { contention: Contention::Amva, ..Alone::new(Kernel::Neural, placement, delay) }.seconds(lab)
        };
        let worse = ratio(&seconds(LOCALIZED)?, &seconds(ON_TWELVE)?);
        let percent = percent_over_one(worse);
        judge.value(format!("localized slower by, d={delay}"), "%", percent);
        let holds = (0.0..=10.0).contains(&percent.mean);
        judge.demand(format!("0 to 10 % slower at d={delay}"), "slightly worse", format!("{percent} %"), holds);
    }
    Ok(judge.verdict(""))
}
