//! Table 1 and figure 5: five programs on 32 processors.

use super::policy::Policy;
use super::runs::{CAUSE_UNKNOWN, CPUSET, Run, all, means};
use super::times::{Quotient, Times, around, words};
use crate::{Estimate, Figure, Finding, Judge, Lab, Outcomes, Shape, Trouble, ratio};

/// Streams of `cpuset.toml` with the paper's seconds and system seconds of a thread, each with the
/// native library and under Cluster.
const ROWS: [(&str, [f64; 2], [f64; 2]); 5] = [
    ("SP", [34.7, 26.7], [1.26, 0.04]),
    ("BT", [18.8, 7.51], [2.01, 0.01]),
    ("EPD", [1.37, 1.92], [0.17, 0.02]),
    ("FT", [1.03, 1.04], [0.10, 0.03]),
    ("CG", [21.1, 1.67], [2.48, 0.01]),
];
const SP: u32 = 0;
const BT: u32 = 1;
const EPD: u32 = 2;
const FT: u32 = 3;
const CG: u32 = 4;

fn outcomes(lab: &Lab) -> Result<[Outcomes; 2], Trouble> {
    let mut both = all(lab, &[Run::new(CPUSET, Policy::Native), Run::new(CPUSET, Policy::Cluster)])?;
    let cluster = both.swap_remove(1);
    Ok([both.swap_remove(0), cluster])
}

/// The ratio of the time with the native library to the time under Cluster.
fn gain(both: &[Outcomes; 2], stream: u32) -> Quotient {
    Times::of_stream(&both[0], stream).over(&Times::of_stream(&both[1], stream))
}

/// Both times of a program, as values.
fn show(judge: &mut Judge, both: &[Outcomes; 2], stream: u32) {
    let name = ROWS[stream as usize].0;
    Times::of_stream(&both[0], stream).show(judge, format!("{name}, native"));
    Times::of_stream(&both[1], stream).show(judge, format!("{name}, Cluster"));
}

/// Number of instances of a stream that have ended, run by run.
fn ended(outcomes: &Outcomes, stream: u32) -> Vec<f64> {
    outcomes.iter().map(|run| run.jobs.iter().filter(|job| job.stream == stream).count() as f64).collect()
}

/// N-Tab1t.
pub fn times(lab: &Lab) -> Result<Finding, Trouble> {
    let both = outcomes(lab)?;
    let mut judge = Judge::new();
    let cg = gain(&both, CG);
    for (stream, least) in [(CG, 4.0), (BT, 1.5), (SP, 1.15)] {
        let (name, paper, _) = ROWS[stream as usize];
        let gain = gain(&both, stream);
        gain.show(&mut judge, format!("{name}, native/Cluster"));
        let printed = paper[0] / paper[1];
        let range = around(printed, least);
        let what = format!("{name}: native/Cluster {}", words(&range));
        judge.demand(what, format!("{printed:.2}"), gain, gain.within(&range));
        if stream != CG {
            let more = cg.estimate.mean > gain.estimate.mean;
            judge.demand(format!("CG gains more than {name}"), "yes", cg, more);
        }
    }
    for stream in [SP, BT, EPD, FT, CG] {
        show(&mut judge, &both, stream);
    }
    let row = |side: usize| {
        (SP..=CG).map(move |stream| ROWS[stream as usize].1[side]).map(Estimate::exact).collect::<Vec<_>>()
    };
    let ours =
        |side: usize| (SP..=CG).map(|stream| Times::of_stream(&both[side], stream).estimate()).collect::<Vec<_>>();
    let said = "SP and BT are clearly better under Cluster, CG most of all; EPD is worse, FT the same.";
    let mut figure = Figure::new(Shape::Bars, "Table 1: mean execution times", "program", "seconds", said);
    let programs = || ROWS.iter().map(|row| row.0.to_owned());
    for (side, name) in ["native", "Cluster"].into_iter().enumerate() {
        figure = figure.with(name, programs().zip(ours(side)));
        figure = figure.printed(format!("{name}, the paper"), programs().zip(row(side)));
    }
    judge.figure(figure);
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-Tab1ft.
pub fn ft(lab: &Lab) -> Result<Finding, Trouble> {
    let both = outcomes(lab)?;
    let mut judge = Judge::new();
    let change = Times::of_stream(&both[1], FT).over(&Times::of_stream(&both[0], FT));
    change.show(&mut judge, "FT, Cluster/native");
    show(&mut judge, &both, FT);
    for (name, side) in [("native", 0), ("Cluster", 1)] {
        let processors = |job: &numaestro_sim::outcome::JobRecord| job.cpu_ns as f64 / (job.ended - job.started) as f64;
        let used = means(&both[side], |job| job.stream == FT, processors, |_| 0.0);
        judge.value(format!("processors of FT, {name}"), "", Estimate::of(&used));
    }
    judge.demand("FT: Cluster/native from 0.9 to 1.1", "1.01", change, change.within(&(0.9..=1.1)));
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-Tab1epd.
pub fn epd(lab: &Lab) -> Result<Finding, Trouble> {
    let both = outcomes(lab)?;
    let plain = Run { favours_new: false, ..Run::new(CPUSET, Policy::Native) }.outcomes(lab)?;
    let mut judge = Judge::new();
    let cluster = Times::of_stream(&both[1], EPD);
    let change = cluster.over(&Times::of_stream(&both[0], EPD));
    let without = cluster.over(&Times::of_stream(&plain, EPD));
    change.show(&mut judge, "EPD, Cluster/native");
    without.show(&mut judge, "EPD, Cluster/native without better priority for new processes");
    show(&mut judge, &both, EPD);
    judge.demand("EPD: Cluster/native from 1.1 to 1.8", "1.40", change, change.within(&(1.1..=1.8)));
    judge.demand("without better priority: below 1.1", "conjectured", without, without.within(&(0.0..=1.1)));
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-Tab1sys.
pub fn system(lab: &Lab) -> Result<Finding, Trouble> {
    let both = outcomes(lab)?;
    let mut judge = Judge::new();
    for (stream, (name, _, paper)) in (SP..).zip(ROWS) {
        let each = |outcomes: &Outcomes| {
            let seconds =
                |job: &numaestro_sim::outcome::JobRecord| job.system_ns as f64 / 1e9 / f64::from(job.threads.max(1));
            means(outcomes, |job| job.stream == stream, seconds, |_| f64::NAN)
        };
        let (native, cluster) = (each(&both[0]), each(&both[1]));
        if native.iter().chain(&cluster).any(|seconds| seconds.is_nan()) {
            let what = format!("{name}: an instance ends within the window");
            judge.demand(what, "yes", "not in every run", false);
            continue;
        }
        let gain = ratio(&native, &cluster);
        judge.value(format!("{name}, native/Cluster"), "", gain);
        judge.value(format!("{name}, native"), "s", Estimate::of(&native));
        judge.value(format!("{name}, Cluster"), "s", Estimate::of(&cluster));
        let printed = format!("{:.0}", paper[0] / paper[1]);
        judge.demand(format!("{name}: native/Cluster ≥ 3"), printed, gain, gain.mean >= 3.0);
    }
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-Fig5.
pub fn instances(lab: &Lab) -> Result<Finding, Trouble> {
    let both = outcomes(lab)?;
    let mut judge = Judge::new();
    let in_all = |side: usize| -> Vec<f64> { both[side].iter().map(|run| run.jobs.len() as f64).collect() };
    let mut compare = |name: &str, native: &[f64], cluster: &[f64]| {
        let (native, cluster) = (Estimate::of(native), Estimate::of(cluster));
        judge.value(format!("{name}, Cluster"), "", cluster).value(format!("{name}, native"), "", native);
        let ours = format!("{cluster} against {native}");
        judge.demand(format!("{name}: more under Cluster"), "more", ours, cluster.mean > native.mean);
    };
    compare("all", &in_all(0), &in_all(1));
    for stream in [SP, BT, CG] {
        compare(ROWS[stream as usize].0, &ended(&both[0], stream), &ended(&both[1], stream));
    }
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// The ratio for every program of its time with the native library.
pub fn gains(lab: &Lab) -> Result<Vec<(String, Estimate)>, Trouble> {
    let both = outcomes(lab)?;
    Ok((SP..).zip(ROWS).map(|(stream, row)| (format!("Tab1, {}", row.0), gain(&both, stream).estimate)).collect())
}
