//! What a comparison says, in a sentence. Only differences that are real count: those that remain
//! after the correction for their number.

use super::results::{Comparison, Results};
use std::collections::BTreeMap;

/// The conclusion; `baseline`: the policy that the others were compared with.
pub fn sentence(results: &Results, comparisons: &[Comparison], baseline: &str) -> String {
    let seeds = results.runs.iter().map(Vec::len).max().unwrap_or(0);
    if comparisons.is_empty() {
        return String::new();
    }
    if seeds < 2 {
        return "One seed is no evidence for any of these policies; --seeds 10 gives some.".to_owned();
    }
    let mut points: BTreeMap<usize, Vec<&Comparison>> = BTreeMap::new();
    for one in comparisons {
        points.entry(one.baseline).or_default().push(one);
    }
    let best: Vec<Option<&Comparison>> = points.values().map(|those| best_of(those)).collect();
    match best[..] {
        [Some(best)] => {
            let ratio = best.ratio.map_or_else(String::new, |found| {
                format!(": {:.2} of it ({:.2} to {:.2})", found.ratio, found.low, found.high)
            });
            let most = if comparisons.len() > 1 { ", the smallest ratio" } else { "" };
            let policy = &results.cells[best.cell].policy;
            format!("The mean response time under {policy} is surely shorter than under {baseline}{ratio}{most}.")
        }
        [None] => format!("No policy has surely a shorter mean response time than {baseline}."),
        _ => at_points(results, &best, baseline),
    }
}

/// The policy with the smallest ratio that is surely below 1.
fn best_of<'a>(those: &[&'a Comparison]) -> Option<&'a Comparison> {
    let ratio = |one: &&&'a Comparison| one.ratio.map(|found| found.ratio).filter(|&ratio| one.real && ratio < 1.0);
    let better = those.iter().filter_map(|one| Some((ratio(&one)?, *one)));
    better.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, one)| one)
}

/// At how many points each policy has the smallest ratio among those that are surely better.
fn at_points(results: &Results, best: &[Option<&Comparison>], baseline: &str) -> String {
    let mut wins: Vec<(&str, usize)> = Vec::new();
    for one in best.iter().flatten() {
        let policy = results.cells[one.cell].policy.as_str();
        match wins.iter_mut().find(|(name, _)| *name == policy) {
            Some((_, count)) => *count += 1,
            None => wins.push((policy, 1)),
        }
    }
    wins.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let all = best.len();
    if wins.is_empty() {
        return format!(
            "No policy has surely a shorter mean response time than {baseline} at any of the {all} points."
        );
    }
    let mut words: Vec<String> = wins.iter().map(|(policy, count)| format!("{policy} at {count}")).collect();
    let open = best.iter().filter(|one| one.is_none()).count();
    if open > 0 {
        words.push(format!("no policy at {open}"));
    }
    let words = words.join(", ");
    format!(
        "Of {all} points, the mean response time is surely shorter than under {baseline}: {words} (where several are, the one with the smallest ratio counts)."
    )
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{example, run};
    use super::*;

    fn said(results: &Results, baseline: &str) -> String {
        sentence(results, &results.comparisons(baseline), baseline)
    }

    #[test]
    fn only_real_differences_count() {
        // dss is slower at one of the two points, and alike at the other.
        let all = example();
        assert_eq!(
            said(&all, "equi"),
            "No policy has surely a shorter mean response time than equi at any of the 2 points."
        );
        assert_eq!(
            said(&all, "dss"),
            "Of 2 points, the mean response time is surely shorter than under dss: equi at 1, no policy at 1 (where several are, the one with the smallest ratio counts)."
        );
        assert_eq!(said(&all, "nobody"), "");
        let mut one = example();
        (one.cells, one.runs) = (one.cells.split_off(2), one.runs.split_off(2));
        assert!(said(&one, "equi").starts_with("No policy has surely"), "{}", said(&one, "equi"));
        let words = said(&one, "dss");
        assert!(words.starts_with("The mean response time under equi is surely shorter than under dss: 0."), "{words}");
        one.runs.iter_mut().for_each(|runs| *runs = vec![run(1, 1.0)]);
        assert!(said(&one, "dss").starts_with("One seed is no evidence"));
    }
}
