//! Figure 2: the ten policies by load, and the remote references behind it.

use super::runs::{Run, outcomes, remote, responses, usual_forks};
use super::{BEST, CLUSTER_FREE, HOME_CLUSTER, TEN};
use crate::{Estimate, Figure, Finding, Judge, Lab, Pair, Shape, Trouble, ratio};

/// Loads, percent.
pub const LOADS: [u32; 5] = [25, 50, 75, 100, 125];
/// Mean number of threads at which the check looks at the paper's low loads.
const FEW: u32 = 4;
/// The least change of a mean response that counts as an effect, percent; the paper prints no
/// numbers.
pub const LEAST: f64 = 1.0;

/// A policy, and its value in each run.
pub type Measured<'a> = (&'a str, Vec<f64>);

/// Mean response of these policies at a load, run by run.
pub fn at_load<'a>(lab: &Lab, policies: &[&'a str], load: u32, forks: u32) -> Result<Vec<Measured<'a>>, Trouble> {
    let runs: Vec<Run<'_>> = policies.iter().map(|policy| Run::new(policy, load, forks)).collect();
    let found = outcomes(lab, &runs)?;
    Ok(policies.iter().copied().zip(found.iter().map(|found| responses(found))).collect())
}

/// The policy with the smallest mean, and the policy with the largest.
pub fn extremes<'a, 'b>(all: &'b [Measured<'a>]) -> (&'b Measured<'a>, &'b Measured<'a>) {
    let mean = |entry: &Measured<'_>| Estimate::of(&entry.1).mean;
    let least = all.iter().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    let most = all.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    (least.expect("some policy"), most.expect("some policy"))
}

/// The values of one policy.
pub fn of<'b>(all: &'b [Measured<'_>], policy: &str) -> &'b [f64] {
    &all.iter().find(|(name, _)| *name == policy).expect("it was run").1
}

/// A line for each policy.
pub fn figure(title: &str, x: &str, said: &str, policies: &[&str], points: &[(u32, Vec<Measured<'_>>)]) -> Figure {
    let mut figure = Figure::new(Shape::Lines, title, x, "mean response, s", said);
    for policy in policies {
        let line = points.iter().map(|(at, all)| (at.to_string(), Estimate::of(of(all, policy))));
        figure = figure.with(*policy, line);
    }
    figure
}

/// K-Fig2a.
pub fn small_when_low(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let all = at_load(lab, &TEN, 25, FEW)?;
    let (least, most) = extremes(&all);
    let spread = ratio(&most.1, &least.1);
    judge.value(format!("{} / {}", most.0, least.0), "", spread);
    for (policy, responses) in &all {
        judge.value(*policy, "s", Estimate::of(responses));
    }
    judge.at_most("max/min ≤ 1.15", "small", spread, 1.15);
    let high = at_load(lab, &TEN, 75, FEW)?;
    let (least, most) = extremes(&high);
    let apart = ratio(&most.1, &least.1);
    judge.at_least("control: at 75 % max/min ≥ 1.15", "home-cluster policies are better", apart, 1.15);
    Ok(judge.verdict(
        "A fork of more than four threads leaves its cluster at any load, and what it costs to be away from one's pages does not depend on the \
         load.",
    ))
}

/// K-Fig2b.
pub fn home_better(lab: &Lab) -> Result<Finding, Trouble> {
    let forks = usual_forks(lab)?;
    let mut judge = Judge::new();
    for load in [75, 100] {
        let (home, free) = (at_load(lab, &HOME_CLUSTER, load, forks)?, at_load(lab, &CLUSTER_FREE, load, forks)?);
        let (worst, best) = (extremes(&home).1, extremes(&free).0);
        let step = ratio(&worst.1, &best.1);
        judge.value(format!("{} / {} at {load} %", worst.0, best.0), "", step);
        let what = format!("{} (worst home-cluster) below {} (best cluster-free) at {load} %", worst.0, best.0);
        judge.less(what, "shorter", Pair::new(&worst.1, &best.1), LEAST);
    }
    Ok(judge.verdict(""))
}

/// Largest relative difference between concentrated and distributed pages without a home.
pub fn pages_without_home(lab: &Lab) -> Result<Estimate, Trouble> {
    let all = at_load(lab, &CLUSTER_FREE, 75, usual_forks(lab)?)?;
    let differences = ["FR", "FH", "FP"].map(|scheme| {
        let con_over_dist = ratio(of(&all, &format!("{scheme}-Con")), of(&all, &format!("{scheme}-Dist")));
        Estimate { mean: (con_over_dist.mean - 1.0).abs(), ..con_over_dist }
    });
    Ok(differences.into_iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).expect("three schemes"))
}

/// Response of the best policy beyond the full load, over that at low load.
pub fn congestion(lab: &Lab) -> Result<Estimate, Trouble> {
    let forks = usual_forks(lab)?;
    let (high, low) = (at_load(lab, &[BEST], 125, forks)?, at_load(lab, &[BEST], 25, forks)?);
    Ok(ratio(of(&high, BEST), of(&low, BEST)))
}

/// K-Fig2c.
pub fn pages_do_not_matter_without_home(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let forks = usual_forks(lab)?;
    let all = at_load(lab, &CLUSTER_FREE, 75, forks)?;
    let homes = at_load(lab, &["HS-Con", "HS-Dist"], 75, forks)?;
    let control = ("HS-Con and HS-Dist", Pair::new(of(&homes, "HS-Con"), of(&homes, "HS-Dist")));
    for scheme in ["FR", "FH", "FP"] {
        let (con, dist) = (of(&all, &format!("{scheme}-Con")), of(&all, &format!("{scheme}-Dist")));
        judge.value(format!("{scheme}-Con/{scheme}-Dist"), "", ratio(con, dist));
        judge.alike(format!("{scheme}: Con within 15 % of Dist"), "small", Pair::new(con, dist), 15.0, control);
    }
    let few = at_load(lab, &CLUSTER_FREE, 75, FEW)?;
    for scheme in ["FR", "FH", "FP"] {
        let step = ratio(of(&few, &format!("{scheme}-Con")), of(&few, &format!("{scheme}-Dist")));
        judge.value(format!("{scheme}-Con/{scheme}-Dist with forks of {FEW}"), "", step);
    }
    Ok(judge.verdict(
        "Without a reservation a process drifts away from the node where its pages are concentrated, while distributed pages are at least where \
         each thread ran first. The less of its references go to a thread's own pages, the smaller the difference; the paper's share is not known.",
    ))
}

/// K-Fig2d.
pub fn pages_matter_with_home(lab: &Lab) -> Result<Finding, Trouble> {
    let forks = usual_forks(lab)?;
    let mut judge = Judge::new();
    for load in [75, 100, 125] {
        let all = at_load(lab, &HOME_CLUSTER, load, forks)?;
        for (scheme, least) in [("HS", LEAST), ("HB", 0.0)] {
            let (con, dist) = (of(&all, &format!("{scheme}-Con")), of(&all, &format!("{scheme}-Dist")));
            judge.value(format!("{scheme}-Con/{scheme}-Dist at {load} %"), "", ratio(con, dist));
            let what = format!("{scheme}-Con better than {scheme}-Dist at {load} % by {least} %");
            judge.less(what, "better", Pair::new(con, dist), least);
        }
    }
    Ok(judge.verdict(""))
}

/// K-Fig2e.
pub fn best_of_ten(lab: &Lab) -> Result<Finding, Trouble> {
    let forks = usual_forks(lab)?;
    let mut judge = Judge::new();
    let mut points = Vec::new();
    for load in LOADS {
        let all = at_load(lab, &TEN, load, forks)?;
        demand_best(&mut judge, &all, &format!("at {load} %"), if load < 50 { 1.03 } else { 1.0 });
        points.push((load, all));
    }
    let said = "When the load level is low the difference is small; as it increases home-cluster policies become better; HS-Con is best.";
    judge.figure(figure("Figure 2: response by load level", "load level, %", said, &TEN, &points));
    Ok(judge.verdict(""))
}

/// The best is at most `slack` times the smallest of the others; where there is no slack, it is
/// clearly smaller.
pub fn demand_best(judge: &mut Judge, all: &[Measured<'_>], at: &str, slack: f64) {
    let others: Vec<_> = all.iter().filter(|(policy, _)| *policy != BEST).cloned().collect();
    let second = extremes(&others).0;
    let step = ratio(of(all, BEST), &second.1);
    judge.value(format!("{BEST} / {} {at}", second.0), "", step);
    if slack > 1.0 {
        let what = format!("{BEST} within {:.0} % of {} {at}", 100.0 * (slack - 1.0), second.0);
        judge.at_most(what, "smallest", step, slack);
    } else {
        let what = format!("{BEST} below {} {at} by {LEAST} %", second.0);
        judge.less(what, "smallest", Pair::new(of(all, BEST), &second.1), LEAST);
    }
}

/// K-mech.
pub fn fewer_remote_references(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let forks = usual_forks(lab)?;
    let runs: Vec<Run<'_>> = TEN.iter().map(|policy| Run::new(policy, 75, forks)).collect();
    let found = outcomes(lab, &runs)?;
    let all: Vec<Measured<'_>> = TEN.iter().copied().zip(found.iter().map(|found| remote(found))).collect();
    let best = of(&all, BEST);
    let step = ratio(best, of(&all, "HB-Con"));
    judge.value("remote(HS-Con) / remote(HB-Con)", "", step);
    for (policy, shares) in &all {
        let percents: Vec<f64> = shares.iter().map(|share| 100.0 * share).collect();
        judge.value(format!("remote({policy})"), "%", Estimate::of(&percents));
    }
    let few = outcomes(lab, &[BEST, "HB-Con"].map(|policy| Run::new(policy, 75, FEW)))?;
    judge.value("remote(HS-Con) / remote(HB-Con) with forks of 4", "", ratio(&remote(&few[0]), &remote(&few[1])));
    judge.at_most("remote(HS-Con) ≤ 0.5 remote(HB-Con)", "reduced", step, 0.5);
    for (policy, shares) in all.iter().filter(|(policy, _)| *policy != BEST) {
        judge.less(format!("less than under {policy} by {LEAST} %"), "reduced", Pair::new(best, shares), LEAST);
    }
    Ok(judge.verdict(
        "The direction is the paper's, the factor of two is not: a fork wider than a cluster runs outside while home is full, and a thread slides \
         only when home has nothing left to start. With forks of 4 it is half (see evidence).",
    ))
}
