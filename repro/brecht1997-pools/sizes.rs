//! Figures 1 and 2: pool sizes, delays and parallelism.

use crate::hector::{Kernel, Streams, per_run};
use crate::{Estimate, Figure, Finding, Judge, Lab, Shape, Trouble, improvement, ratio};
use numaestro_sim::memory::Contention;

/// Pool sizes of the figures.
pub const SIZES: [u32; 5] = [1, 2, 4, 6, 12];
/// Delays of figure 1.
const DELAYS: [u32; 3] = [0, 8, 16];

/// Mean response of each run, in seconds: of one kernel, or of all jobs.
pub fn response(
    lab: &Lab,
    parallelism: u32,
    size: u32,
    delay: u32,
    kernel: Option<Kernel>,
) -> Result<Vec<f64>, Trouble> {
    let placement = format!("worst-fit(equal={size})");
    let usual = Streams::usual(parallelism, &placement, delay);
    // Two jobs of two on a station leave room that comes and goes: runs differ, and the paper
    // compares these two sizes.
    let runs = if parallelism == 2 && (size == 2 || size == 4) { 60 } else { usual.runs };
    let outcomes = Streams { runs, ..usual }.outcomes(lab)?;
    Ok(per_run(&outcomes, |job| kernel.is_none_or(|kernel| *job.program == *kernel.name())))
}

/// I(`size` over 12) in percent.
fn gain(lab: &Lab, size: u32, delay: u32, kernel: Option<Kernel>) -> Result<Estimate, Trouble> {
    Ok(improvement(&response(lab, 4, size, delay, kernel)?, &response(lab, 4, 12, delay, kernel)?))
}

/// Response by pool size, one line for each of `lines`.
fn figure(
    title: &str,
    said: &str,
    lines: impl IntoIterator<Item = (String, Result<Vec<Estimate>, Trouble>)>,
) -> Result<Figure, Trouble> {
    let mut figure = Figure::new(Shape::Lines, title, "pool size", "mean response, s", said);
    for (name, estimates) in lines {
        figure = figure.with(name, SIZES.iter().map(ToString::to_string).zip(estimates?));
    }
    Ok(figure)
}

fn by_size(lab: &Lab, parallelism: u32, delay: u32, kernel: Option<Kernel>) -> Result<Vec<Estimate>, Trouble> {
    SIZES.iter().map(|&size| Ok(Estimate::of(&response(lab, parallelism, size, delay, kernel)?))).collect()
}

fn by_delay(lab: &Lab, title: &str, said: &str, kernel: Option<Kernel>) -> Result<Figure, Trouble> {
    figure(title, said, DELAYS.map(|delay| (format!("delay {delay}"), by_size(lab, 4, delay, kernel))))
}

fn by_parallelism(lab: &Lab, title: &str, said: &str, kernel: Option<Kernel>) -> Result<Figure, Trouble> {
    figure(
        title,
        said,
        [2, 4, 8].map(|processes| (format!("{processes} processes"), by_size(lab, processes, 16, kernel))),
    )
}

/// B97-Fig1a.
pub fn no_gain_without_delay(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (without, with) = (gain(lab, 4, 0, None)?, gain(lab, 4, 16, None)?);
    judge.value("I(4 over 12), d=0", "%", without).value("I(4 over 12), d=16", "%", with);
    judge.demand("|I(4 over 12)| ≤ 8 % at d=0", "not significant", format!("{without} %"), without.mean.abs() <= 8.0);
    let apart = with.mean - without.mean;
    judge.demand("10 points below that at d=16", "substantial at 16", format!("{apart:.1} points"), apart >= 10.0);
    Ok(judge.verdict(""))
}

/// B97-Fig1b.
pub fn gain_grows(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let gains = DELAYS.iter().map(|&delay| gain(lab, 4, delay, None)).collect::<Result<Vec<_>, _>>()?;
    for (delay, gain) in DELAYS.iter().zip(&gains).rev() {
        judge.value(format!("I(4 over 12), d={delay}"), "%", *gain);
    }
    let shown: Vec<String> = gains.iter().map(|gain| format!("{:.1}", gain.mean)).collect();
    let rises = gains.windows(2).all(|pair| pair[0].mean < pair[1].mean);
    judge.demand("increases 0 < 8 < 16", "increases", shown.join(" < "), rises);
    judge.demand("at least 10 % at d=16", "substantial", format!("{} %", gains[2]), gains[2].mean >= 10.0);
    let four = Estimate::of(&response(lab, 4, 4, 16, None)?);
    let twelve = Estimate::of(&response(lab, 4, 12, 16, None)?);
    judge.demand("intervals disjoint at d=16", "", format!("{four} and {twelve} s"), four.clearly_below(&twelve));
    let said =
        "Without delay no significant improvement; with delay it grows; the closer the pool size is to 4 the better.";
    judge.figure(by_delay(lab, "Figure 1, COMBINED: response by pool size", said, None)?);
    Ok(judge.verdict(""))
}

/// B97-Fig1c and B97-Fig2c.
pub fn best_at_four(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let [one, two, four, six, twelve] = sizes(lab, 4, None)?;
    judge.value("R(4)", "s", four).value("R(2)", "s", two).value("R(6)", "s", six).value("R(12)", "s", twelve);
    judge.demand("R(4) < R(2)", "", format!("{four} and {two} s"), four.mean < two.mean);
    judge.demand("R(4) < R(6)", "", format!("{four} and {six} s"), four.mean < six.mean);
    for (name, response) in [("R(2)", two), ("R(6)", six)] {
        let holds = response.mean <= 1.02 * twelve.mean;
        judge.demand(format!("{name} ≤ 1.02 R(12)"), "", format!("{response} and {twelve} s"), holds);
    }
    let least = [one, two, six, twelve].iter().all(|other| four.mean < other.mean);
    judge.demand("least at 4", "4", if least { "4" } else { "another" }, least);
    let said = "Four processes: least with pools of four. Two: pools of two and four alike. Eight: not affected.";
    judge.figure(by_parallelism(lab, "Figure 2, COMBINED: response by pool size, d = 16", said, None)?);
    Ok(judge.verdict(""))
}

fn sizes(lab: &Lab, parallelism: u32, kernel: Option<Kernel>) -> Result<[Estimate; 5], Trouble> {
    let all = by_size(lab, parallelism, 16, kernel)?;
    Ok([all[0], all[1], all[2], all[3], all[4]])
}

/// B97-Fig1d.
pub fn six_hardly_better(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let step = ratio(&response(lab, 4, 6, 16, None)?, &response(lab, 4, 12, 16, None)?);
    let (six, four) = (gain(lab, 6, 16, None)?, gain(lab, 4, 16, None)?);
    judge.value("I(6 over 12)", "%", six).value("I(4 over 12)", "%", four);
    judge.demand("R(6) ≤ 1.02 R(12)", "a trend to better", step, step.mean <= 1.02);
    let half = six.mean <= four.mean / 2.0;
    judge.demand("I(6 over 12) ≤ half of I(4 over 12)", "not significant", format!("{six} and {four} %"), half);
    Ok(judge.verdict(""))
}

/// B97-Fig1e.
pub fn neural_not_improved(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for delay in DELAYS {
        let gain = gain(lab, 4, delay, Some(Kernel::Neural))?;
        judge.value(format!("I(4 over 12), d={delay}"), "%", gain);
        judge.demand(format!("|I| ≤ 4 % at d={delay}"), "not improved", format!("{gain} %"), gain.mean.abs() <= 4.0);
    }
    let said = "NEURAL is the exception: it suffers from an excessive number of system calls.";
    judge.figure(by_delay(lab, "Figure 1, NEURAL: response by pool size", said, Some(Kernel::Neural))?);
    Ok(judge.verdict(""))
}

/// B97-Fig1f.
pub fn both_are_no_pools(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for delay in DELAYS {
        let same = ratio(&response(lab, 4, 1, delay, None)?, &response(lab, 4, 12, delay, None)?);
        judge.value(format!("R(1)/R(12), d={delay}"), "", same);
        judge.demand(format!("within 5 % at d={delay}"), "equivalent", same, (same.mean - 1.0).abs() <= 0.05);
    }
    Ok(judge.verdict(""))
}

/// B97-Fig2a.
pub fn eight_not_affected(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let all = sizes(lab, 8, None)?;
    let (least, most) =
        all.iter().fold((f64::MAX, 0.0_f64), |(low, high), response| (low.min(response.mean), high.max(response.mean)));
    let spread = 100.0 * (most - least) / least;
    judge.value("(max - min)/min", "%", Estimate::exact(spread));
    for (size, response) in SIZES.iter().zip(all) {
        judge.value(format!("R({size})"), "s", response);
    }
    judge.demand("(max - min)/min ≤ 8 %", "not significantly affected", format!("{spread:.1} %"), spread <= 8.0);
    Ok(judge.verdict(""))
}

/// B97-Fig2b.
pub fn two_and_four_alike(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let [_, two, four, six, twelve] = sizes(lab, 2, None)?;
    let (twos, fours) = (response(lab, 2, 2, 16, None)?, response(lab, 2, 4, 16, None)?);
    let (alike, of_ten) = (ratio(&twos, &fours), ratio(&twos[..10], &fours[..10]));
    judge
        .value("R(2)/R(4)", "", alike)
        .value("R(2)/R(4) of the first 10 runs", "", of_ten)
        .value("R(4)", "s", four)
        .value("R(6)", "s", six)
        .value("R(12)", "s", twelve);
    judge.demand("|R(2)/R(4) - 1| ≤ 3 %", "no significant difference", alike, (alike.mean - 1.0).abs() <= 0.03);
    for (name, response) in [("R(2)", two), ("R(4)", four)] {
        let best = response.mean < six.mean && response.mean < twelve.mean;
        judge.demand(format!("{name} < R(6), R(12)"), "best", format!("{response}, {six}, {twelve} s"), best);
    }
    Ok(judge.verdict(""))
}

/// B97-Fig2d.
pub fn more_is_not_better(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for size in SIZES {
        let (eight, four) =
            (response(lab, 8, size, 16, Some(Kernel::Mm))?, response(lab, 4, size, 16, Some(Kernel::Mm))?);
        let step = ratio(&eight, &four);
        judge.value(format!("R8/R4, pools of {size}"), "", step);
        judge.demand(format!("R8(MM) ≥ 0.97 R4(MM), pools of {size}"), "equal or higher", step, step.mean >= 0.97);
    }
    for size in [4, 12] {
        let queueing = |parallelism| -> Result<Vec<f64>, Trouble> {
            let placement = format!("worst-fit(equal={size})");
            let streams =
                Streams { contention: Contention::Amva, runs: 10, ..Streams::usual(parallelism, &placement, 16) };
            Ok(per_run(&streams.outcomes(lab)?, |job| *job.program == *Kernel::Mm.name()))
        };
        let step = ratio(&queueing(8)?, &queueing(4)?);
        judge.value(format!("the same with queueing for modules, buses and ring, pools of {size}"), "", step);
    }
    let said = "MM with eight processes is as slow as with four or slower, whatever the pool size.";
    judge.figure(by_parallelism(lab, "Figure 2, MM: response by pool size, d = 16", said, Some(Kernel::Mm))?);
    Ok(judge.verdict(
        "Eight processes do half as much each, references included, so that they gain wherever four are not localized either. For \
         eight never to gain, what remoteness costs must grow with their number. Queueing for the parent's module goes that way, but \
         not far enough (last two values); any other such cost would be there when localized, too, where S(4) = 3.4 leaves no room.",
    ))
}
