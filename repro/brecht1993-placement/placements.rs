//! Placements without and with delay: table 1.3, figures 1.4, 1.6 and 1.7, the multiprogrammed
//! remark and the conclusion.

use super::delays;
use crate::hector::{Alone, Kernel, per_run, side_by_side};
use crate::{Estimate, Figure, Finding, Judge, Lab, Shape, Trouble, improvement, ratio};

/// All on station 3 (figure 1.2).
pub const LOCALIZED: &str = "----/----/----/1234";
/// On stations 1, 2 and 3.
pub const ON_TWELVE: &str = "----/---3/--42/---1";
/// On stations 2 and 3 (section 7.3).
pub const ON_EIGHT: &str = "----/----/--43/--21";
/// As [`ON_TWELVE`], but parent and first child have changed places (section 7.4).
pub const CHILD_BESIDE: &str = "----/---3/--41/---2";

/// Improvement by localization in percent of the non-localized time.
pub fn gain(lab: &Lab, kernel: Kernel, delay: u32) -> Result<Estimate, Trouble> {
    let localized = Alone::new(kernel, LOCALIZED, delay).seconds(lab)?;
    let spread = Alone::new(kernel, ON_TWELVE, delay).seconds(lab)?;
    Ok(improvement(&localized, &spread))
}

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
    let mut printed_gains = Vec::new();
    for kernel in Kernel::ALL {
        let gain = gain(lab, kernel, 0)?;
        judge.value(format!("I({})", kernel.name()), "%", gain);
        if let Some((far, near)) = kernel.seconds_printed() {
            let printed = 100.0 * (1.0 - near / far);
            let what = format!("I({}) within 2 points", kernel.name());
            judge.demand(what, format!("{printed:.1} %"), format!("{gain} %"), (gain.mean - printed).abs() <= 2.0);
            printed_gains.push((kernel, gain.mean));
        }
        judge.demand(format!("I({}) ≤ 10 %", kernel.name()), "not large", format!("{gain} %"), gain.mean <= 10.0);
    }
    let largest = printed_gains.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|&(kernel, _)| kernel);
    let largest_name = largest.map_or("none", Kernel::name);
    judge.demand("MM largest of the three", "MM", largest_name, largest == Some(Kernel::Mm));
    let times = Kernel::ALL.iter().filter_map(|&kernel| Some((kernel, kernel.seconds_printed()?)));
    let printed: Vec<(Kernel, f64)> = times.map(|(kernel, (far, near))| (kernel, near / far)).collect();
    let paper = ("the paper, localized", printed.as_slice());
    let said = "Improvements are not large.";
    judge.figure(normalised(lab, "Figure 1.3: normalised times, d = 0", 0, said, paper)?);
    Ok(judge.fitted(
        "the 4 cycles beyond the station that the ring is taken for were chosen when these times and figure 1.4 were known, and after 3.4 had \
         been fitted to them",
        "",
    ))
}

/// B93-Fig1.4.
pub fn figure_1_4(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let at_least = |judge: &mut Judge, kernel: Kernel, least: f64, paper: &str| -> Result<f64, Trouble> {
        let gain = gain(lab, kernel, 16)?;
        judge.value(format!("I({})", kernel.name()), "%", gain);
        let what = format!("I({}) ≥ {least} %", kernel.name());
        judge.demand(what, paper, format!("{gain} %"), gain.mean >= least);
        Ok(gain.mean)
    };
    let order = [
        at_least(&mut judge, Kernel::Mm, 45.0, "> 50 %")?,
        at_least(&mut judge, Kernel::Fft, 20.0, "> 25 %")?,
        at_least(&mut judge, Kernel::Pde, 17.0, "> 20 %")?,
        at_least(&mut judge, Kernel::Hough, 12.0, "> 15 %")?,
    ];
    let falls = order.windows(2).all(|pair| pair[0] > pair[1]);
    let shown = order.map(|gain| format!("{gain:.1}")).join(" > ");
    judge.demand("MM > FFT > PDE > HOUGH", "50, 25, 20, 15", shown, falls);
    let neural = gain(lab, Kernel::Neural, 16)?;
    judge.value("I(NEURAL)", "%", neural);
    judge.demand("|I(NEURAL)| ≤ 3 %", "not significant", format!("{neural} %"), neural.mean.abs() <= 3.0);
    let simplex = gain(lab, Kernel::Simplex, 16)?;
    judge.value("I(SIMPLEX)", "%", simplex);
    judge.demand("I(SIMPLEX) > 3 %", "benefits", format!("{simplex} %"), simplex.mean > 3.0);
    let said = "MM improves by more than 50 %, FFT 25 %, PDE 20 %, HOUGH 15 %; only NEURAL not significantly.";
    let bounds = [(Kernel::Fft, 0.75), (Kernel::Hough, 0.85), (Kernel::Mm, 0.5), (Kernel::Pde, 0.8)];
    let paper = ("the paper, localized: less than", bounds.as_slice());
    judge.figure(normalised(lab, "Figure 1.4: normalised times, d = 16", 16, said, paper)?);
    Ok(judge.fitted("the bounds of FFT, HOUGH, MM and PDE set how often these kernels refer to shared data; NEURAL has nothing but system calls to refer to", ""))
}

/// B93-mp0.
pub fn multiprogrammed(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for trio in [[Kernel::Fft, Kernel::Hough, Kernel::Mm], [Kernel::Neural, Kernel::Pde, Kernel::Simplex]] {
        let together = lab.outcomes(&side_by_side(trio)?)?;
        let mut all = vec![0.0; together.len()];
        let mut parts = Vec::new();
        for kernel in trio {
            let beside = per_run(&together, |job| *job.program == *kernel.name());
            let alone = Alone::new(kernel, LOCALIZED, 0).queueing().seconds(lab)?;
            let undisturbed = Alone::new(kernel, LOCALIZED, 0).seconds(lab)?;
            for (sum, (with, without)) in all.iter_mut().zip(beside.iter().zip(&undisturbed)) {
                *sum += with / without / trio.len() as f64;
            }
            parts.push((kernel, ratio(&alone, &undisturbed), ratio(&beside, &alone)));
        }
        let (names, added) = (trio.map(Kernel::name).join(", "), percent_over_one(Estimate::of(&all)));
        judge.value(format!("added by queueing: {names}"), "%", added);
        let what = format!("{names}: queueing on ring and buses adds < 2 %");
        judge.demand(what, "not significant", format!("{added} %"), added.mean < 2.0);
        for (kernel, by_itself, by_others) in parts {
            let name = kernel.name();
            judge.value(format!("of which by its own processes, {name}"), "%", percent_over_one(by_itself));
            judge.value(format!("the other reading, by the two others, {name}"), "%", percent_over_one(by_others));
        }
    }
    Ok(judge.verdict(
        "Nearly all of it is queueing of a job's own processes for the bus of their station, whose capacity is not printed. Read as what other \
         jobs add to each alone (the paper goes on: \"therefore conducted in a uniprogrammed setting\"), it is at most 1.1 %, and the claim \
         would hold; but that reading was chosen after the other one had failed.",
    ))
}

/// The part of a ratio above 1, in percent.
pub fn percent_over_one(ratio: Estimate) -> Estimate {
    Estimate { mean: 100.0 * (ratio.mean - 1.0), half: 100.0 * ratio.half, runs: ratio.runs }
}

/// B93-Fig1.6.
pub fn figure_1_6(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (mut small_steps, mut four, mut eight, mut twelve) = (0, Vec::new(), Vec::new(), Vec::new());
    for kernel in Kernel::ALL {
        let seconds = |placement| Alone::new(kernel, placement, 16).seconds(lab);
        let (t4, t8, t12) = (seconds(LOCALIZED)?, seconds(ON_EIGHT)?, seconds(ON_TWELVE)?);
        let [m4, m8, m12] = [&t4, &t8, &t12].map(|times| Estimate::of(times).mean);
        four.push((name(kernel), Estimate::exact(1.0)));
        eight.push((name(kernel), ratio(&t8, &t4)));
        twelve.push((name(kernel), ratio(&t12, &t4)));
        let shown = format!("{m4:.2}, {m8:.2}, {m12:.2} s");
        if kernel == Kernel::Neural {
            let within = [m8, m12].iter().all(|time| (time / m4 - 1.0).abs() <= 0.03);
            judge.demand("NEURAL within 3 %", "no benefit", shown, within);
            continue;
        }
        let what = format!("{}: T(4) < T(8) ≤ T(12)", kernel.name());
        judge.demand(what, "grows", &shown, m4 < m8 && m8 <= m12);
        let step = (m12 - m8) / (m8 - m4);
        judge.value(format!("(T(12)-T(8))/(T(8)-T(4)), {}", kernel.name()), "", Estimate::exact(step));
        small_steps += u32::from(step <= 0.5);
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
        let shown = format!("{gain} %");
        if matches!(kernel, Kernel::Mm | Kernel::Pde) {
            let holds = (10.0..=20.0).contains(&gain.mean);
            judge.demand(format!("{}: 10 to 20 % faster", kernel.name()), "15 %", shown, holds);
        } else {
            judge.demand(format!("{}: faster", kernel.name()), "affected", shown, gain.mean > 0.0);
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
        "Changing places brings one of three children to the parent's station. At most a third of what remoteness costs can go, and \
         of PDE that is a third of 20 to 25 % of its time (figure 1.4): 7 to 8 %, not 15. Where threads have equal parts and meet, even that \
         is not seen, because the slowest still is remote.",
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
        let holds = finding.evidence.iter().all(|demand| demand.holds);
        let missed = finding.evidence.iter().filter(|demand| !demand.holds).count();
        judge.demand(what, "holds", format!("{missed} of {} demands missed", finding.evidence.len()), holds);
    }
    Ok(judge.fitted("table 1.3 and figure 1.4 are fitted", ""))
}
