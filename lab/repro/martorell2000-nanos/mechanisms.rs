//! The claims about mechanisms: recovery of preempted work, and changes of policy at run time.

use super::policy::Policy;
use super::runs::{PARTNERS, Run, SWITCHING, all, means, run_time};
use crate::{Estimate, Finding, Judge, Lab, Status, Trouble, ratio};

/// The reason that was found.
const PARTNERS_WHY: &str = "Under a manager folded teams leave the processor instead of waiting on it, with recovery or without, so that no partner is \
     waited for that could run; what is left is the waiting for the longest of 64 parts that vary by 10 %. The real measurement is \
     `cargo run --release -p numaestro-nanothreads --example recovery`.";

/// N-sync.
pub fn partners(lab: &Lab) -> Result<Finding, Trouble> {
    let with = Run::new(PARTNERS, Policy::Preset("nanos-dss"));
    let without = with.clone().with("program.team.recovers", "false");
    let both = all(lab, &[with, without])?;
    let mut judge = Judge::new();
    let waiting = |side: usize| means(&both[side], |_| true, |job| job.spin_ns as f64 / 1e9, |_| f64::NAN);
    let change = ratio(&waiting(0), &waiting(1));
    judge.value("waiting at meetings, with recovery/without", "", change);
    for (name, side) in [("with recovery", 0), ("without", 1)] {
        judge.value(format!("waiting, {name}"), "s", Estimate::of(&waiting(side)));
        let times = means(&both[side], |_| true, run_time, |outcome| outcome.end as f64 / 1e9);
        judge.value(format!("run time, {name}"), "s", Estimate::of(&times));
    }
    judge.demand("waiting with recovery < 0.5 of that without", "none", change, change.mean < 0.5);
    if judge.holds() {
        return Ok(judge.verdict(""));
    }
    // This run was added afterwards: where nobody tells teams that they lack processors, they wait
    // on those they have.
    let untold = Run::new(PARTNERS, Policy::Preset("linux24"));
    let both = all(lab, &[untold.clone(), untold.with("program.team.recovers", "false")])?;
    let waiting = |side: usize| means(&both[side], |_| true, |job| job.spin_ns as f64 / 1e9, |_| f64::NAN);
    let untold = ratio(&waiting(0), &waiting(1));
    judge.value("the same where nobody has processors of its own", "", untold);
    if untold.mean < 0.5 {
        return Ok(judge
            .with(Status::Fitted(format!("that there is no manager, which was chosen afterwards. {PARTNERS_WHY}"))));
    }
    Ok(judge.verdict(PARTNERS_WHY))
}

/// N-switch.
pub fn switches(lab: &Lab) -> Result<Finding, Trouble> {
    const SHORTER: (&str, &str) = ("program.sp-A.phases[0].times", "100");
    let one = Run::new(SWITCHING, Policy::Preset("nanos-dss")).with(SHORTER.0, SHORTER.1);
    let many = Run { switches: vec!["nanos-equip", "nanos-cluster", "nanos-dss"], ..one.clone() };
    let both = all(lab, &[one, many])?;
    let mut judge = Judge::new();
    let times = |side: usize| means(&both[side], |_| true, run_time, |outcome| outcome.end as f64 / 1e9);
    let change = ratio(&times(1), &times(0));
    judge.value("run time, switching/not", "", change);
    judge.value("run time, not", "s", Estimate::of(&times(0))).value(
        "run time, switching",
        "s",
        Estimate::of(&times(1)),
    );
    judge.demand("switching/not ≤ 1.02", "no overhead", change, change.mean <= 1.02);
    Ok(judge.verdict(""))
}
