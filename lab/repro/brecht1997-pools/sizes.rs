//! Figures 1 and 2: pool sizes, delays and parallelism.

use crate::hector::{Kernel, Placed, Streams, per_run, significantly_below};
use crate::{Estimate, Figure, Finding, Judge, Lab, Outcomes, Pair, Shape, Status, Trouble, improvement, ratio};
use numaestro_sim::memory::Contention;

/// Pool sizes of the figures.
pub const SIZES: [u32; 5] = [1, 2, 4, 6, 12];
/// Delays of figure 1.
const DELAYS: [u32; 3] = [0, 8, 16];
/// The least change of a mean response that counts as an effect where the paper prints none,
/// percent.
pub const LEAST: f64 = 1.0;
/// Most runs, percent, in which a difference that is "not significant" may be so by the bars of the
/// paper, and fewest in which a significant one is.
const HALF: f64 = 50.0;

/// All runs of a workload with pools of this size.
fn outcomes(lab: &Lab, parallelism: u32, size: u32, delay: u32) -> Result<Outcomes, Trouble> {
    let placement = format!("worst-fit(equal={size})");
    let usual = Streams::usual(parallelism, &placement, delay);
    // Two jobs of two on a station leave room that comes and goes: runs differ. Every size has as
    // many runs, so that they can be compared in pairs.
    let runs = if parallelism == 2 { 60 } else { usual.runs };
    Streams { runs, ..usual }.outcomes(lab)
}

/// Mean response of each run, in seconds: of one kernel, or of all jobs.
pub fn response(
    lab: &Lab,
    parallelism: u32,
    size: u32,
    delay: u32,
    kernel: Option<Kernel>,
) -> Result<Vec<f64>, Trouble> {
    Ok(per_run(&outcomes(lab, parallelism, size, delay)?, |job| {
        kernel.is_none_or(|kernel| *job.program == *kernel.name())
    }))
}

/// Percent of the runs in which pools of `size` are significantly better than one pool, by the bars
/// of the paper.
fn significant(lab: &Lab, parallelism: u32, size: u32, delay: u32) -> Result<Estimate, Trouble> {
    let (new, old) = (outcomes(lab, parallelism, size, delay)?, outcomes(lab, parallelism, 12, delay)?);
    Ok(significantly_below(&new, &old, |_| true))
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
    judge.near("|I(4 over 12)| ≤ 8 % at d=0", 0.0, without, 8.0);
    let by_bars = significant(lab, 4, 4, 0)?;
    judge.at_most(
        "4 over 12, d=0: significant by the bars in at most half of the runs, %",
        "not significant",
        by_bars,
        HALF,
    );
    let apart = [16, 0].map(|delay| -> Result<Vec<f64>, Trouble> {
        let (four, twelve) = (response(lab, 4, 4, delay, None)?, response(lab, 4, 12, delay, None)?);
        Ok(four.iter().zip(&twelve).map(|(four, twelve)| 100.0 * (1.0 - four / twelve)).collect())
    });
    let [with, without] = apart;
    let points: Vec<f64> = with?.iter().zip(without?).map(|(with, without)| with - without).collect();
    judge.at_least("10 points below that at d=16", "substantial at 16", Estimate::of(&points), 10.0);
    Ok(judge.verdict(""))
}

/// B97-Fig1b.
pub fn gain_grows(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let gains = DELAYS.iter().map(|&delay| gain(lab, 4, delay, None)).collect::<Result<Vec<_>, _>>()?;
    for (delay, gain) in DELAYS.iter().zip(&gains).rev() {
        judge.value(format!("I(4 over 12), d={delay}"), "%", *gain);
    }
    for (delays, pair) in DELAYS.windows(2).zip(gains.windows(2)) {
        let what = format!("I(4 over 12) increases from d={} to {}", delays[0], delays[1]);
        judge.demand(what, "increases", format!("{} and {} %", pair[0], pair[1]), pair[0].clearly_below(&pair[1]));
    }
    judge.at_least("at least 10 % at d=16", "substantial", gains[2], 10.0);
    let by_bars = significant(lab, 4, 4, 16)?;
    judge.at_least("4 over 12, d=16: significant by the bars in at least half of the runs, %", "", by_bars, HALF);
    let said =
        "Without delay no significant improvement; with delay it grows; the closer the pool size is to 4 the better.";
    if lab.draws_figures() {
        judge.figure(by_delay(lab, "Figure 1, COMBINED: response by pool size", said, None)?);
    }
    Ok(judge.verdict(""))
}

/// B97-Fig1c.
pub fn best_at_four(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let all = SIZES.iter().map(|&size| response(lab, 4, size, 16, None)).collect::<Result<Vec<_>, _>>()?;
    let [one, two, four, six, twelve] = &all[..] else { unreachable!("five sizes") };
    for (size, responses) in SIZES.iter().zip(&all) {
        judge.value(format!("R({size})"), "s", Estimate::of(responses));
    }
    for (what, new, old) in [
        ("R(4) < R(2)", four, two),
        ("R(4) < R(6)", four, six),
        ("R(2) < R(1)", two, one),
        ("R(6) < R(12)", six, twelve),
    ] {
        judge.less(format!("{what} by {LEAST} %"), "the closer to 4 the better", Pair::new(new, old), LEAST);
    }
    let away: Vec<f64> = lab
        .observed(&Streams::usual(4, "worst-fit(equal=4)", 16).experiment(lab)?, Placed::default)?
        .iter()
        .map(|(placed, _)| 100.0 * away(placed))
        .collect();
    let what = "pools of 4: at most 5 % of the children on another station than their parent";
    judge.at_most(what, "each application executes within one station", Estimate::of(&away), 5.0);
    let said = "Four processes: least with pools of four. Two: pools of two and four alike. Eight: not affected.";
    if lab.draws_figures() {
        judge.figure(by_parallelism(lab, "Figure 2, COMBINED: response by pool size, d = 16", said, None)?);
    }
    Ok(judge.verdict(""))
}

/// Share of the children that began on another station than their parent.
fn away(placed: &Placed) -> f64 {
    let (mut away, mut all) = (0, 0);
    for processes in placed.jobs.values() {
        let Some(parent) = processes.get(&0) else { continue };
        let children = processes.range(1..).map(|(_, &pu)| Placed::station(pu) != Placed::station(*parent));
        children.for_each(|is_away| (away, all) = (away + u32::from(is_away), all + 1));
    }
    f64::from(away) / f64::from(all.max(1))
}

/// B97-Fig2c: what is demanded is what figure 1 demands at d = 16.
pub fn best_at_four_again(lab: &Lab) -> Result<Finding, Trouble> {
    Ok(Finding { status: Status::Duplicate("B97-Fig1c".to_owned()), ..best_at_four(lab)? })
}

/// B97-Fig1d.
pub fn six_hardly_better(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (six, four) = (gain(lab, 6, 16, None)?, gain(lab, 4, 16, None)?);
    judge.value("I(6 over 12)", "%", six).value("I(4 over 12)", "%", four);
    judge.at_least(format!("I(6 over 12) ≥ {LEAST} %"), "a trend to better", six, LEAST);
    let (by_bars, control) = (significant(lab, 4, 6, 16)?, significant(lab, 4, 4, 16)?);
    judge.at_most(
        "6 over 12: significant by the bars in at most half of the runs, %",
        "not significant",
        by_bars,
        HALF,
    );
    judge.at_least("control: 4 over 12 in at least half, %", "substantial", control, HALF);
    Ok(judge.verdict(""))
}

/// B97-Fig1e.
pub fn neural_not_improved(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (four, twelve) = (response(lab, 4, 4, 16, None)?, response(lab, 4, 12, 16, None)?);
    let control = ("all jobs, 4 and 12, d=16,", Pair::new(&four, &twelve));
    for delay in DELAYS {
        let neural = |size| response(lab, 4, size, delay, Some(Kernel::Neural));
        judge.value(format!("I(4 over 12), d={delay}"), "%", gain(lab, 4, delay, Some(Kernel::Neural))?);
        let (four, twelve) = (neural(4)?, neural(12)?);
        let what = format!("NEURAL: 4 and 12 within 4 % at d={delay}");
        judge.alike(what, "not improved", Pair::new(&four, &twelve), 4.0, control);
    }
    let said = "NEURAL is the exception: it suffers from an excessive number of system calls.";
    if lab.draws_figures() {
        judge.figure(by_delay(lab, "Figure 1, NEURAL: response by pool size", said, Some(Kernel::Neural))?);
    }
    Ok(judge.verdict(""))
}

/// B97-Fig1f.
pub fn both_are_no_pools(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (four, twelve) = (response(lab, 4, 4, 16, None)?, response(lab, 4, 12, 16, None)?);
    let control = ("pools of 4 and of 12, d=16,", Pair::new(&four, &twelve));
    for delay in DELAYS {
        let (one, twelve) = (response(lab, 4, 1, delay, None)?, response(lab, 4, 12, delay, None)?);
        judge.value(format!("R(1)/R(12), d={delay}"), "", ratio(&one, &twelve));
        judge.alike(format!("within 5 % at d={delay}"), "equivalent", Pair::new(&one, &twelve), 5.0, control);
    }
    Ok(judge.verdict(""))
}

/// B97-Fig2a.
pub fn eight_not_affected(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let (four, twelve) = (response(lab, 4, 4, 16, None)?, response(lab, 4, 12, 16, None)?);
    let control = ("with four processes, pools of 4 and of 12", Pair::new(&four, &twelve));
    let twelve = response(lab, 8, 12, 16, None)?;
    for size in &SIZES[..4] {
        let responses = response(lab, 8, *size, 16, None)?;
        judge.value(format!("R({size})/R(12)"), "", ratio(&responses, &twelve));
        let what = format!("R({size}) within 8 % of R(12)");
        judge.alike(what, "not significantly affected", Pair::new(&responses, &twelve), 8.0, control);
        let what = format!("{size} over 12: significant by the bars in at most half of the runs, %");
        judge.at_most(what, "not significantly affected", significant(lab, 8, *size, 16)?, HALF);
    }
    Ok(judge.verdict(""))
}

/// B97-Fig2b.
pub fn two_and_four_alike(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let sized = |size| response(lab, 2, size, 16, None);
    let (two, four, six, twelve) = (sized(2)?, sized(4)?, sized(6)?, sized(12)?);
    judge.value("R(2)/R(4)", "", ratio(&two, &four));
    for (size, responses) in [(2, &two), (4, &four), (6, &six), (12, &twelve)] {
        judge.value(format!("R({size})"), "s", Estimate::of(responses));
    }
    let control = ("R(4) and R(12)", Pair::new(&four, &twelve));
    judge.alike("R(2) within 3 % of R(4)", "no significant difference", Pair::new(&two, &four), 3.0, control);
    for (name, best) in [("R(2)", &two), ("R(4)", &four)] {
        judge.less(format!("{name} < R(6) by {LEAST} %"), "best", Pair::new(best, &six), LEAST);
        judge.less(format!("{name} < R(12) by {LEAST} %"), "best", Pair::new(best, &twelve), LEAST);
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
        judge.at_least(format!("R8(MM) ≥ 0.97 R4(MM), pools of {size}"), "equal or higher", step, 0.97);
    }
    let shown: &[u32] = if lab.draws_figures() { &[4, 12] } else { &[] };
    for size in shown {
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
    if lab.draws_figures() {
        judge.figure(by_parallelism(lab, "Figure 2, MM: response by pool size, d = 16", said, Some(Kernel::Mm))?);
    }
    Ok(judge.verdict(
        "Eight processes do half as much each, references included, so that they gain wherever four are not localized either. For \
         eight never to gain, what remoteness costs must grow with their number. Queueing for the parent's module goes that way, but \
         not far enough (last two values); any other such cost would be there when localized, too, where S(4) = 3.4 leaves no room.",
    ))
}
