//! Placements without and with delay: table 1.3, figures 1.4, 1.6 and 1.7, the multiprogrammed
//! remark and the conclusion.

use super::delays;
use crate::hector::{Alone, Beside, Kernel, LOCALIZED, ON_TWELVE, gain};
use crate::{Estimate, Figure, Finding, Judge, Lab, Pair, Shape, Trouble, improvement, ratio};

/// On stations 2 and 3 (section 7.3).
pub const ON_EIGHT: &str = "----/----/--43/--21";
/// As [`ON_TWELVE`], but parent and first child have changed places (section 7.4).
pub const CHILD_BESIDE: &str = "----/---3/--41/---2";

/// The least change that counts as an effect where the paper prints none, percent of the time.
const LEAST: f64 = 0.5;

fn name(kernel: Kernel) -> String {
    kernel.name().to_owned()
}

/// Bars of normalised times, non-localized = 1; `printed` is the paper's text on them.
fn normalised(
    lab: &Lab,
    title: &str,
    delay: u32,
    said: &str,
    printed: (&str, &[(Kernel, f64)]),
) -> Result<Figure, Trouble> {
    let mut localized = Vec::new();
    for kernel in Kernel::ALL {
        let near = Alone::new(kernel, LOCALIZED, delay).seconds(lab)?;
        let far = Alone::new(kernel, ON_TWELVE, delay).seconds(lab)?;
        localized.push((name(kernel), ratio(&near, &far)));
    }
    let ones = Kernel::ALL.map(|kernel| (name(kernel), Estimate::exact(1.0)));
    let (legend, printed) = printed;
    let paper = printed.iter().map(|&(kernel, time)| (name(kernel), Estimate::exact(time)));
    Ok(Figure::new(Shape::Bars, title, "application", "normalised execution time", said)
        .with("localized", localized)
        .with("non-localized", ones)
        .printed(legend, paper))
}

/// B93-Tab1.3.
pub fn table_1_3(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for kernel in Kernel::ALL {
        let gain = gain(lab, kernel, 0)?;
        judge.value(format!("I({})", kernel.name()), "%", gain);
        if let Some(printed) = kernel.gain_printed() {
            judge.near(format!("I({}) within 2 points, %", kernel.name()), printed, gain, 2.0);
        }
        judge.at_most(format!("I({}) ≤ 10 %", kernel.name()), "not large", gain, 10.0);
    }
    let largest = gain(lab, Kernel::Mm, 0)?;
    for kernel in [Kernel::Fft, Kernel::Pde] {
        let other = gain(lab, kernel, 0)?;
        let shown = format!("{largest} and {other} %");
        judge.demand(format!("I(MM) > I({})", kernel.name()), "largest", shown, other.clearly_below(&largest));
    }
    let times = Kernel::ALL.iter().filter_map(|&kernel| Some((kernel, kernel.seconds_printed()?)));
    let printed: Vec<(Kernel, f64)> = times.map(|(kernel, (far, near))| (kernel, near / far)).collect();
    let paper = ("the paper, localized", printed.as_slice());
    let said = "Improvements are not large.";
    if lab.draws_figures() {
        judge.figure(normalised(lab, "Figure 1.3: normalised times, d = 0", 0, said, paper)?);
    }
    Ok(judge.verdict(""))
}

/// B93-Fig1.4.
pub fn figure_1_4(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let bounds = [(Kernel::Mm, 45.0, "> 50 %"), (Kernel::Fft, 20.0, "> 25 %"), (Kernel::Pde, 17.0, "> 20 %")];
    let mut order: Vec<(Kernel, Estimate)> = Vec::new();
    for (kernel, least, paper) in bounds {
        let gain = gain(lab, kernel, 16)?;
        judge.value(format!("I({})", kernel.name()), "%", gain);
        judge.at_least(format!("I({}) ≥ {least} %", kernel.name()), paper, gain, least);
        if let Some(&(more, larger)) = order.last() {
            let shown = format!("{larger} and {gain} %");
            let what = format!("I({}) > I({})", more.name(), kernel.name());
            judge.demand(what, "50, 25, 20", shown, gain.clearly_below(&larger));
        }
        order.push((kernel, gain));
    }
    // HOUGH's own bound is an input.
    let hough = gain(lab, Kernel::Hough, 16)?;
    judge.value("I(HOUGH)", "%", hough);
    for (kernel, larger) in &order[2..] {
        let what = format!("I({}) > I(HOUGH)", kernel.name());
        judge.demand(what, "20, 15", format!("{larger} and {hough} %"), hough.clearly_below(larger));
    }
    let neural = gain(lab, Kernel::Neural, 16)?;
    judge.value("I(NEURAL)", "%", neural);
    judge.near("|I(NEURAL)| ≤ 3 %", 0.0, neural, 3.0);
    let simplex = gain(lab, Kernel::Simplex, 16)?;
    judge.value("I(SIMPLEX)", "%", simplex);
    judge.at_least("I(SIMPLEX) ≥ 3 %", "benefits", simplex, 3.0);
    let said = "MM improves by more than 50 %, FFT 25 %, PDE 20 %, HOUGH 15 %; only NEURAL not significantly.";
    let bounds = [(Kernel::Fft, 0.75), (Kernel::Hough, 0.85), (Kernel::Mm, 0.5), (Kernel::Pde, 0.8)];
    let paper = ("the paper, localized: less than", bounds.as_slice());
    if lab.draws_figures() {
        judge.figure(normalised(lab, "Figure 1.4: normalised times, d = 16", 16, said, paper)?);
    }
    Ok(judge.verdict(""))
}

/// Three kernels on a station each, and spread so that each has processes on all three stations.
const APART: [&str; 3] = ["----/1234/----/----", "----/----/1234/----", "----/----/----/1234"];
const MIXED: [&str; 3] = ["----/14--/2---/3---", "----/--3-/-14-/-2--", "----/---2/---3/--14"];

/// What spreading costs the kernels, as a mean ratio of times in each run: all three at once, and
/// each alone. Buses and the ring are so many times slower than Hector's.
fn cost_of_spreading(lab: &Lab, trio: [Kernel; 3], slower: u64) -> Result<[Vec<f64>; 2], Trouble> {
    let (mut at_once, mut alone) = (Vec::new(), Vec::new());
    let add = |sums: &mut Vec<f64>, near: &[f64], far: &[f64]| {
        sums.resize(near.len(), 0.0);
        let ratios = far.iter().zip(near).map(|(far, near)| far / near / 3.0);
        sums.iter_mut().zip(ratios).for_each(|(sum, ratio)| *sum += ratio);
    };
    for (number, kernel) in trio.into_iter().enumerate() {
        let together = |placements: &str| Beside { kernels: &trio, placements, slower }.seconds(lab, kernel);
        let by_itself = |placements: &str| Beside { kernels: &[kernel], placements, slower }.seconds(lab, kernel);
        add(&mut at_once, &together(&APART.join(";"))?, &together(&MIXED.join(";"))?);
        add(&mut alone, &by_itself(APART[number])?, &by_itself(MIXED[number])?);
    }
    Ok([at_once, alone])
}

/// B93-mp0.
pub fn multiprogrammed(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for trio in [[Kernel::Fft, Kernel::Hough, Kernel::Mm], [Kernel::Neural, Kernel::Pde, Kernel::Simplex]] {
        let names = trio.map(Kernel::name).join(", ");
        let [at_once, alone] = cost_of_spreading(lab, trio, 1)?;
        let [slow_at_once, slow_alone] = cost_of_spreading(lab, trio, 5)?;
        judge.value(format!("time spread over localized, all at once: {names}"), "", Estimate::of(&at_once));
        judge.value(format!("the same, each alone: {names}"), "", Estimate::of(&alone));
        judge.alike(
            format!("{names}: spreading costs as much at once as alone, within 2 %"),
            "contention is not significant",
            Pair::new(&at_once, &alone),
            2.0,
            ("the same with a fifth of the rate of buses and ring", Pair::new(&slow_at_once, &slow_alone)),
        );
    }
    Ok(judge.verdict(""))
}

/// B93-Fig1.6.
pub fn figure_1_6(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (mut small_steps, mut four, mut eight, mut twelve) = (0, Vec::new(), Vec::new(), Vec::new());
    for kernel in Kernel::ALL {
        let seconds = |placement| Alone::new(kernel, placement, 16).seconds(lab);
        let (t4, t8, t12) = (seconds(LOCALIZED)?, seconds(ON_EIGHT)?, seconds(ON_TWELVE)?);
        four.push((name(kernel), Estimate::exact(1.0)));
        eight.push((name(kernel), ratio(&t8, &t4)));
        twelve.push((name(kernel), ratio(&t12, &t4)));
        if kernel == Kernel::Neural {
            let (hough4, hough12) = (
                Alone::new(Kernel::Hough, LOCALIZED, 16).seconds(lab)?,
                Alone::new(Kernel::Hough, ON_TWELVE, 16).seconds(lab)?,
            );
            let control = ("HOUGH, 4 and 12", Pair::new(&hough12, &hough4));
            judge.alike("NEURAL: T(8) within 3 % of T(4)", "no benefit", Pair::new(&t8, &t4), 3.0, control);
            judge.alike("NEURAL: T(12) within 3 % of T(4)", "no benefit", Pair::new(&t12, &t4), 3.0, control);
            continue;
        }
        judge.less(format!("{}: T(4) < T(8)", kernel.name()), "grows", Pair::new(&t4, &t8), LEAST);
        let last = ratio(&t8, &t12);
        judge.at_most(format!("{}: T(8) ≤ T(12)", kernel.name()), "grows", last, 1.0 + LEAST / 100.0);
        let steps: Vec<f64> = t4.iter().zip(&t8).zip(&t12).map(|((t4, t8), t12)| (t12 - t8) / (t8 - t4)).collect();
        let step = Estimate::of(&steps);
        judge.value(format!("(T(12)-T(8))/(T(8)-T(4)), {}", kernel.name()), "", step);
        small_steps += u32::from(step.high() <= 0.5);
    }
    judge.demand(
        "T(12)-T(8) ≤ half of T(8)-T(4) for the majority",
        "small",
        format!("{small_steps} of 5"),
        small_steps >= 3,
    );
    judge.figure(
        Figure::new(
            Shape::Bars,
            "Figure 1.6: systems of 4, 8 and 12 processors, d = 16",
            "application",
            "time over localized time",
            "The benefit of localization grows with the size of the system for all but NEURAL; 8 and 12 differ little.",
        )
        .with("4: localized", four)
        .with("8: --43 --21", eight)
        .with("12: ---3 --42 ---1", twelve),
    );
    Ok(judge.verdict(""))
}

/// B93-Fig1.7.
pub fn figure_1_7(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (mut apart, mut beside) = (Vec::new(), Vec::new());
    for kernel in [Kernel::Mm, Kernel::Pde, Kernel::Fft, Kernel::Hough, Kernel::Neural, Kernel::Simplex] {
        let far = Alone::new(kernel, ON_TWELVE, 16).seconds(lab)?;
        let near = Alone::new(kernel, CHILD_BESIDE, 16).seconds(lab)?;
        let gain = improvement(&near, &far);
        judge.value(format!("faster, {}", kernel.name()), "%", gain);
        if matches!(kernel, Kernel::Mm | Kernel::Pde) {
            judge.near(format!("{}: 10 to 20 % faster", kernel.name()), 15.0, gain, 5.0);
        } else {
            judge.less(format!("{}: faster", kernel.name()), "affected", Pair::new(&near, &far), LEAST);
        }
        apart.push((name(kernel), Estimate::exact(1.0)));
        beside.push((name(kernel), ratio(&near, &far)));
    }
    judge.figure(
        Figure::new(
            Shape::Bars,
            "Figure 1.7: children relative to the parent, d = 16",
            "application",
            "normalised execution time",
            "MM and PDE differ by 15 %.",
        )
        .with("---3 --42 ---1", apart)
        .with("---3 --41 ---2", beside),
    );
    Ok(judge.verdict(
        "Changing places brings one of three children to the parent's station. Parent and children do the same work and meet, so the \
         slowest of them counts, and that is still remote.",
    ))
}

/// B93-concl.
pub fn conclusion(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for (what, finding) in [
        ("table 1.3: minor without delay", table_1_3(lab)?),
        ("figure 1.4: large at d = 16", figure_1_4(lab)?),
        ("figure 1.5a: grows with d", delays::benefit_grows(lab)?),
        ("figure 1.6: grows with the size", figure_1_6(lab)?),
    ] {
        let holds = finding.holds();
        let missed = finding.evidence.iter().filter(|demand| !demand.holds).count();
        judge.demand(what, "holds", format!("{missed} of {} demands missed", finding.evidence.len()), holds);
    }
    Ok(judge.verdict(""))
}
