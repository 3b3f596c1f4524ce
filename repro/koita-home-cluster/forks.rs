//! Figure 3: the ten policies by the number of threads forked at once.
//!
//! The paper says that the load level is calculated from the interval between processes, and that
//! it is 75 % here. There are two readings: the interval stays as it is, or it changes with the
//! work of a process. With the second, few threads mean more processes than there are homes (16),
//! and HB and HS are more than twice as slow as the others with forks of one thread. The paper does
//! not say that of few threads, so K-Fig3a decides for the first reading, and does not count.
//! K-Fig3b does not hold with the second, and does not count either.

use super::TEN;
use super::loads::{Measured, at_load, demand_best, extremes, figure, of};
use super::runs::{FORKS, Run, outcomes, responses};
use crate::{Estimate, Finding, Judge, Lab, Trouble, ratio};

/// Mean numbers of threads.
const FEWEST_TO_MOST: [u32; 5] = [1, 2, 4, 8, 16];
/// Percent.
const LOAD: u32 = 75;

fn with_forks(lab: &Lab, forks: u32) -> Result<Vec<Measured<'static>>, Trouble> {
    let runs: Vec<Run<'_>> = TEN.iter().map(|policy| Run::at_interval(policy, LOAD, forks)).collect();
    let found = outcomes(lab, &runs)?;
    Ok(TEN.iter().copied().zip(found.iter().map(|found| responses(found))).collect())
}

/// K-Fig3a.
pub fn small_when_few(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let spread = |all: Vec<Measured<'static>>| {
        let eight: Vec<_> = all.into_iter().filter(|(policy, _)| !policy.starts_with("HS")).collect();
        let (least, most) = extremes(&eight);
        (format!("{} / {}", most.0, least.0), ratio(&most.1, &least.1))
    };
    for forks in &FEWEST_TO_MOST[..2] {
        let (name, step) = spread(with_forks(lab, *forks)?);
        judge.value(format!("{name}, forks of {forks}"), "", step);
        let shown = format!("{:.0} %", 100.0 * (step.mean - 1.0));
        judge.demand(format!("(max - min)/min of eight ≤ 15 %, forks of {forks}"), "small", shown, step.mean <= 1.15);
    }
    let work: Vec<Run<'_>> = ["HB-Dist", "FR-Dist"].iter().map(|policy| Run::new(policy, LOAD, 1)).collect();
    let found = outcomes(lab, &work)?;
    let other = ratio(&responses(&found[0]), &responses(&found[1]));
    judge.value("HB-Dist / FR-Dist, forks of 1, if the interval changes with the work", "", other);
    Ok(judge.fitted("decided between two readings of the load level", ""))
}

/// The same demands with the other reading of the load level.
fn if_the_interval_changes(lab: &Lab) -> Result<Judge, Trouble> {
    let mut judge = Judge::new();
    for forks in FEWEST_TO_MOST {
        let all = at_load(lab, &TEN, LOAD, forks)?;
        demand_best(&mut judge, &all, &format!("with forks of {forks}"), 1.03);
    }
    Ok(judge)
}

/// K-Fig3b.
pub fn best_over_the_range(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let mut points = Vec::new();
    for forks in FEWEST_TO_MOST {
        let all = with_forks(lab, forks)?;
        demand_best(&mut judge, &all, &format!("with forks of {forks}"), 1.03);
        points.push((forks, all));
    }
    let title = format!("Figure 3: response by forked threads, interval of {LOAD} % with forks of {FORKS}");
    let said = "When few threads are forked the difference is small except for HS-Con and HS-Dist; HS-Con is smallest over the entire range.";
    judge.figure(figure(&title, "mean number of threads forked at once", said, &TEN, &points));
    judge.value("HS-Con, forks of 16", "s", Estimate::of(of(&points[4].1, super::BEST)));
    let other = if_the_interval_changes(lab)?.missed();
    if other.is_empty() {
        judge.demand("if the interval changes with the work, too", "", "every demand holds", true);
        return Ok(judge.verdict(""));
    }
    let which = format!(
        "that the interval stays was decided by this figure; if it changed with the work, these would fail: {}",
        other.join("; ")
    );
    Ok(judge.fitted(&which, ""))
}
