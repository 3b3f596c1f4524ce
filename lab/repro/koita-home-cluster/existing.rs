//! Figure 4: the paper's best policy against policies of others.
//!
//! EQUI is only named in the paper. Read as in C-21, shares change at arrivals and departures, and
//! what a process has above its request stays free until the next one. So HS-Con also has to be
//! better than an EQUI whose shares follow requests, where nothing stays free.

use super::BEST;
use super::loads::{LEAST, LOADS, Measured, at_load, figure, of};
use super::runs::usual_forks;
use crate::{Finding, Judge, Lab, Pair, Trouble, ratio};

/// Equipartition in both readings, Dynamic, Cluster-limited; their pages are distributed.
const EXISTING: [(&str, &str); 4] = [
    ("EQUI", "EQUI-Dist"),
    ("EQUI by request", "share=equi placement=base-priority admission=fifo"),
    ("DYN", "DYN-Dist"),
    ("LIM", "LIM-Dist"),
];

/// K-Fig4.
pub fn better_than_existing(lab: &Lab) -> Result<Finding, Trouble> {
    let forks = usual_forks(lab)?;
    let mut judge = Judge::new();
    let (names, policies): (Vec<&str>, Vec<&str>) = EXISTING.into_iter().chain([(BEST, BEST)]).unzip();
    let mut points = Vec::new();
    for load in LOADS {
        let measured = at_load(lab, &policies, load, forks)?;
        let all: Vec<Measured<'_>> =
            names.iter().copied().zip(measured.into_iter().map(|(_, values)| values)).collect();
        let ours = of(&all, BEST);
        for (name, _) in EXISTING {
            let theirs = of(&all, name);
            let step = ratio(ours, theirs);
            judge.value(format!("{BEST} / {name} at {load} %"), "", step);
            if load < 50 {
                judge.at_most(format!("{BEST} ≤ 1.03 {name} at {load} %"), "better", step, 1.03);
            } else {
                let what = format!("{BEST} < {name} at {load} % by {LEAST} %");
                judge.less(what, "better", Pair::new(ours, theirs), LEAST);
            }
        }
        points.push((load, all));
    }
    let said = "The mean response time with HS-Con is better than that with the other policies, under all loads.";
    judge.figure(figure("Figure 4: response by load level", "load level, %", said, &names, &points));
    Ok(judge.verdict(""))
}
