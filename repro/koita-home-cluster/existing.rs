//! Figure 4: the paper's best policy against policies of others.

use super::BEST;
use super::loads::{LOADS, at_load, figure, of};
use super::runs::usual_forks;
use crate::{Estimate, Finding, Judge, Lab, Trouble, ratio};

/// Equipartition, Dynamic, Cluster-limited; their pages are distributed.
const EXISTING: [&str; 3] = ["EQUI-Dist", "DYN-Dist", "LIM-Dist"];

/// K-Fig4.
pub fn better_than_existing(lab: &Lab) -> Result<Finding, Trouble> {
    let forks = usual_forks(lab)?;
    let mut judge = Judge::new();
    let policies = [EXISTING[0], EXISTING[1], EXISTING[2], BEST];
    let mut points = Vec::new();
    for load in LOADS {
        let all = at_load(lab, &policies, load, forks)?;
        for policy in EXISTING {
            let step = ratio(of(&all, BEST), of(&all, policy));
            judge.value(format!("{BEST} / {policy} at {load} %"), "", step);
            let (ours, theirs) = (Estimate::of(of(&all, BEST)), Estimate::of(of(&all, policy)));
            let (limit, slack) = if load < 50 { ("≤ 1.03", 1.03) } else { ("<", 1.0) };
            let holds = if load < 50 { ours.mean <= slack * theirs.mean } else { ours.mean < theirs.mean };
            judge.demand(
                format!("{BEST} {limit} {policy} at {load} %"),
                "better",
                format!("{ours} and {theirs} s"),
                holds,
            );
        }
        points.push((load, all));
    }
    let said = "The mean response time with HS-Con is better than that with the other policies, under all loads.";
    judge.figure(figure("Figure 4: response by load level", "load level, %", said, &policies, &points));
    Ok(judge.verdict(""))
}
