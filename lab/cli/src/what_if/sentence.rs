//! The conclusion in a sentence. What is not sure is not said as if it were.

use super::verdict::{ERROR_LEAST, Errors, Ratio, Verdict};
use crate::recordings::in_words;
use crate::say::counted;

/// A difference that is smaller is none: the sentence has whole percents.
const DIFFERENCE_LEAST: f64 = 0.01;

/// `ran`: the policies of the recorded time in their order; `programs`: their number. `errors` are
/// absent where nothing ended.
pub fn sentence(ran: &[String], verdicts: &[Verdict], programs: usize, errors: Option<Errors>) -> String {
    let Some(errors) = errors else {
        return "Nothing ended in this time, so nothing can be said about other policies.".to_owned();
    };
    let Some(error) = errors.turnaround.map(f64::abs) else {
        return "No program began and ended in this time, so nothing can be said about the mean turnaround.".to_owned();
    };
    let others: Vec<(&Verdict, Ratio)> = verdicts
        .iter()
        // A policy is not compared with itself.
        .filter(|verdict| ran != [verdict.policy.as_str()])
        .filter_map(|verdict| Some((verdict, verdict.turnaround?)))
        .collect();
    let ran_words = in_words(ran);
    let Some((best, ratio)) = others.iter().min_by(|(_, one), (_, other)| one.value.total_cmp(&other.value)) else {
        return format!("{ran_words} is what ran: name other policies by --policies.");
    };
    if ratio.value > 1.0 - DIFFERENCE_LEAST {
        return none_is_better(&ran_words, &others, error);
    }
    let whole = if ran.contains(&best.policy) { " all the time" } else { "" };
    let (low, high) = (percent(1.0 - ratio.high), percent(1.0 - ratio.low));
    let shorter = percent(1.0 - ratio.value);
    format!(
        "{}{whole} would have made the mean turnaround {shorter} % shorter ({low} to {high} %) than {ran_words}, {}. {}",
        best.policy,
        for_whom(best, programs),
        how_sure(best, error)
    )
}

fn percent(share: f64) -> i64 {
    (share * 100.0).round() as i64
}

fn none_is_better(ran: &str, others: &[(&Verdict, Ratio)], error: f64) -> String {
    if error > ERROR_LEAST {
        return format!(
            "It is not sure whether one of these policies would have been better than {ran} for the mean turnaround: \
             the simulation of what ran is wrong by {} %.",
            percent(error)
        );
    }
    let none = format!("None of these policies would have been better than {ran} for the mean turnaround");
    // Some speedups are assumed, and under one of the assumptions it is.
    let perhaps = others.iter().filter(|(_, ratio)| ratio.low < 1.0 - ERROR_LEAST);
    match perhaps.min_by(|(_, one), (_, other)| one.low.total_cmp(&other.low)) {
        Some((perhaps, ratio)) => {
            let shorter = percent(1.0 - ratio.low);
            format!("{none} for sure; {} may have made it up to {shorter} % shorter.", perhaps.policy)
        }
        None => format!("{none}."),
    }
}

fn for_whom(best: &Verdict, programs: usize) -> String {
    let of_all = format!("of {}", counted(programs, "program"));
    match (best.better.len(), best.worse.len()) {
        (0, 0) => "though for no single program surely".to_owned(),
        (better, 0) => format!("better for {better} {of_all} and worse for none"),
        (better, worse) => format!("better for {better} {of_all}, worse for {worse} ({})", best.worse.join(", ")),
    }
}

fn how_sure(best: &Verdict, error: f64) -> String {
    if let Some(why) = best.foretold_badly {
        return format!("This is not sure: {} is foretold badly, because {why}.", best.policy);
    }
    if best.sure {
        return "This is sure as far as the model is.".to_owned();
    }
    format!("This is not sure: the model may be wrong by {} %.", percent(error.max(ERROR_LEAST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// With this error of the mean turnaround.
    fn told(ran: &[&str], verdicts: &[Verdict], turnaround: f64) -> String {
        let errors = Errors { makespan: 0.0, turnaround: Some(turnaround), median: Some(0.0) };
        sentence(&names(ran), verdicts, 2, Some(errors))
    }

    fn verdict(policy: &str, [low, value, high]: [f64; 3]) -> Verdict {
        Verdict {
            policy: policy.to_owned(),
            makespan: None,
            turnaround: Some(Ratio { value, low, high }),
            better: Vec::new(),
            worse: Vec::new(),
            sure: high < 1.0 - ERROR_LEAST,
            foretold_badly: None,
        }
    }

    #[test]
    fn it_names_all_that_ran_and_compares_no_policy_with_itself() {
        let equi = [verdict("equi", [0.97, 0.98, 0.99])];
        let said = told(&["equi", "dss"], &equi, 0.0);
        let begin =
            "equi all the time would have made the mean turnaround 2 % shorter (1 to 3 %) than equi, later dss, ";
        assert!(said.starts_with(begin), "{said}");
        assert_eq!(told(&["equi"], &equi, 0.0), "equi is what ran: name other policies by --policies.");
        let both = [verdict("equi", [0.5, 0.5, 0.5]), verdict("dss", [1.1, 1.1, 1.1])];
        assert!(told(&["equi"], &both, 0.0).starts_with("None of these policies"));
    }

    #[test]
    fn a_difference_that_rounds_to_nothing_is_not_claimed() {
        let said = told(&["equi"], &[verdict("dss", [0.995, 0.997, 1.0])], 0.0);
        assert_eq!(said, "None of these policies would have been better than equi for the mean turnaround.");
    }

    #[test]
    fn where_nothing_ended_nothing_is_said() {
        assert!(sentence(&names(&["equi"]), &[], 4, None).starts_with("Nothing ended in this time"));
        let part = Some(Errors { makespan: 0.0, turnaround: None, median: None });
        assert!(sentence(&names(&["equi"]), &[], 4, part).starts_with("No program began and ended in this time"));
    }

    #[test]
    fn a_large_error_is_said_and_none_is_not_said_flatly() {
        let worse = [verdict("dss", [1.0, 1.2, 1.3])];
        let said = told(&["equi"], &worse, -0.447);
        assert!(
            said.starts_with("It is not sure") && said.contains("the simulation of what ran is wrong by 45 %"),
            "{said}"
        );
        let unsure = [verdict("dss", [0.7, 0.8, 0.95])];
        assert!(told(&["equi"], &unsure, 0.3).ends_with("not sure: the model may be wrong by 30 %."));
        let perhaps = [verdict("dss", [0.6, 1.0, 1.3])];
        let said = told(&["equi"], &perhaps, 0.0);
        assert!(said.ends_with("for sure; dss may have made it up to 40 % shorter."), "{said}");
    }

    #[test]
    fn a_policy_that_is_foretold_badly_is_not_recommended_as_sure() {
        let badly =
            Verdict { foretold_badly: Some("no program reported its speedup"), ..verdict("pdpa", [0.5, 0.5, 0.5]) };
        let said = told(&["equi"], &[badly], 0.0);
        assert!(
            said.ends_with("This is not sure: pdpa is foretold badly, because no program reported its speedup."),
            "{said}"
        );
    }
}
