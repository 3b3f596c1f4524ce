//! Figure 3: the ten policies by the number of threads forked at once.
//!
//! The paper says that the load level is calculated from the interval between processes, and that
//! it is 75 % here. There are two readings: the interval stays as it is, or it changes with the
//! work of a process. K-Fig3a decides between them (`inputs.toml`), so it does not count.

use super::TEN;
use super::loads::{Measured, demand_best, extremes, figure, of};
use super::runs::{Run, outcomes, responses, usual_forks};
use crate::{Estimate, Finding, Judge, Lab, Trouble, ratio};

/// Mean numbers of threads.
const FEWEST_TO_MOST: [u32; 5] = [1, 2, 4, 8, 16];
/// Percent.
const LOAD: u32 = 75;

fn with_forks(lab: &Lab, policies: &[&'static str], forks: u32) -> Result<Vec<Measured<'static>>, Trouble> {
    let load_forks = if lab.constant("interval follows work")? < 0.5 { usual_forks(lab)? } else { forks };
    let run = |policy| Run::at_interval(policy, LOAD, forks, load_forks);
    let runs: Vec<Run<'_>> = policies.iter().map(|policy| run(policy)).collect();
    let found = outcomes(lab, &runs)?;
    Ok(policies.iter().copied().zip(found.iter().map(|found| responses(found))).collect())
}

/// The slowest of the eight policies other than HS, and the fastest: names, and their ratio.
fn spread(lab: &Lab, forks: u32) -> Result<(String, Estimate), Trouble> {
    let eight: Vec<&str> = TEN.into_iter().filter(|policy| !policy.starts_with("HS")).collect();
    let eight = with_forks(lab, &eight, forks)?;
    let (least, most) = extremes(&eight);
    Ok((format!("{} / {}", most.0, least.0), ratio(&most.1, &least.1)))
}

/// Largest relative difference of eight policies with forks of one or two threads.
pub fn spread_when_few(lab: &Lab) -> Result<Estimate, Trouble> {
    let (one, two) = (spread(lab, FEWEST_TO_MOST[0])?.1, spread(lab, FEWEST_TO_MOST[1])?.1);
    let larger = if one.mean > two.mean { one } else { two };
    Ok(Estimate { mean: larger.mean - 1.0, ..larger })
}

/// K-Fig3a.
pub fn small_when_few(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for forks in &FEWEST_TO_MOST[..2] {
        let (name, step) = spread(lab, *forks)?;
        judge.value(format!("{name}, forks of {forks}"), "", step);
        judge.at_most(format!("max/min of eight ≤ 1.15, forks of {forks}"), "small", step, 1.15);
    }
    let work: Vec<Run<'_>> = ["HB-Dist", "FR-Dist"].iter().map(|policy| Run::new(policy, LOAD, 1)).collect();
    let found = outcomes(lab, &work)?;
    let other = ratio(&responses(&found[0]), &responses(&found[1]));
    judge.value("HB-Dist / FR-Dist, forks of 1, if the interval changes with the work", "", other);
    Ok(judge.verdict(""))
}

/// K-Fig3b.
pub fn best_over_the_range(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let mut points = Vec::new();
    for forks in FEWEST_TO_MOST {
        let all = with_forks(lab, &TEN, forks)?;
        demand_best(&mut judge, &all, &format!("with forks of {forks}"), 1.03);
        points.push((forks, all));
    }
    let title = format!("Figure 3: response by forked threads, load level {LOAD} %");
    let said = "When few threads are forked the difference is small except for HS-Con and HS-Dist; HS-Con is smallest over the entire range.";
    judge.figure(figure(&title, "mean number of threads forked at once", said, &TEN, &points));
    judge.value("HS-Con, forks of 16", "s", Estimate::of(of(&points[4].1, super::BEST)));
    Ok(judge.verdict(""))
}
