//! What the runs say: the error of the simulation, each policy against the one that ran, and a
//! sentence.

use super::trial::Times;
use serde::Serialize;

/// The simulation of the policy that ran is fitted to it, so its error is the least one. A smaller
/// difference than this is not sure: ratios of real mixes were off by 8 % in the median
/// (`bench/what_if.py`).
const ERROR_LEAST: f64 = 0.10;

/// A ratio, and the bounds that the assumptions leave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The middle.
    pub value: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Ratio {
    /// Of several.
    fn of(mut ratios: Vec<f64>) -> Self {
        ratios.retain(|ratio| ratio.is_finite());
        ratios.sort_by(f64::total_cmp);
        let (Some(&low), Some(&high)) = (ratios.first(), ratios.last()) else {
            return Self { value: 1.0, low: 1.0, high: 1.0 };
        };
        Self { value: ratios.iter().sum::<f64>() / ratios.len() as f64, low, high }
    }

    /// It is below 1 by more than the error of the simulation, under every assumption.
    fn is_less(self, error: f64) -> bool {
        self.high < 1.0 - error
    }

    /// The same above.
    fn is_more(self, error: f64) -> bool {
        self.low > 1.0 + error
    }
}

/// The differences of the simulation from what happened, as shares of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// Of the makespan.
    pub makespan: f64,
    /// Of the mean turnaround.
    pub turnaround: f64,
    /// The median of the absolute ones of each program's turnaround.
    pub median: f64,
}

impl Errors {
    /// Of these times against what happened.
    pub fn of(real: &Times, simulated: &Times) -> Self {
        let share = |simulated: f64, real: f64| if real > 0.0 { simulated / real - 1.0 } else { 0.0 };
        let pairs = real.turnarounds.iter().zip(&simulated.turnarounds);
        let mut each: Vec<f64> =
            pairs.filter_map(|(real, simulated)| Some(share((*simulated)?, (*real)?).abs())).collect();
        each.sort_by(f64::total_cmp);
        Self {
            makespan: share(simulated.makespan, real.makespan),
            turnaround: share(simulated.mean_turnaround(), real.mean_turnaround()),
            median: each.get(each.len() / 2).copied().unwrap_or(0.0),
        }
    }
}

/// A policy against the one that ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The policy.
    pub policy: String,
    /// Its makespan over that of the policy that ran, both simulated.
    pub makespan: Ratio,
    /// The same of the mean turnaround.
    pub turnaround: Ratio,
    /// Programs whose turnaround is shorter by more than the model may be wrong, at both bounds.
    pub better: Vec<String>,
    /// Programs whose turnaround is longer.
    pub worse: Vec<String>,
    /// The difference of the mean turnarounds is larger than the model may be wrong, at both ends.
    pub sure: bool,
}

impl Verdict {
    /// `usual`, `other`: the runs of both policies, each under the same assumptions and seeds.
    pub fn of(policy: &str, usual: &[Times], other: &[Times], names: &[String], errors: Errors) -> Self {
        let ratio = |value: fn(&Times) -> f64| {
            Ratio::of(usual.iter().zip(other).map(|(usual, other)| value(other) / value(usual)).collect())
        };
        let of_program = |place: usize| {
            let pairs = usual.iter().zip(other);
            let ratios: Option<Vec<f64>> = pairs
                .map(|(usual, other)| Some(other.turnarounds.get(place).copied()?? / usual.turnarounds[place]?))
                .collect();
            ratios.map(Ratio::of)
        };
        let those = |holds: &dyn Fn(Ratio) -> bool| {
            let places = (0..names.len()).filter(|&place| of_program(place).is_some_and(holds));
            places.map(|place| names[place].clone()).collect()
        };
        let turnaround = ratio(Times::mean_turnaround);
        let error = errors.turnaround.abs().max(ERROR_LEAST);
        let each = errors.median.max(ERROR_LEAST);
        Self {
            policy: policy.to_owned(),
            makespan: ratio(|times| times.makespan),
            turnaround,
            better: those(&|ratio| ratio.is_less(each)),
            worse: those(&|ratio| ratio.is_more(each)),
            sure: turnaround.is_less(error) || turnaround.is_more(error),
        }
    }
}

/// The conclusion in a sentence. `programs`: their number.
pub fn sentence(ran: &str, verdicts: &[Verdict], programs: usize) -> String {
    let best = verdicts.iter().min_by(|one, other| one.turnaround.value.total_cmp(&other.turnaround.value));
    let Some(best) = best.filter(|best| best.turnaround.value < 1.0) else {
        return format!("None of these policies would have been better than {ran} for the mean turnaround.");
    };
    let percent = (1.0 - best.turnaround.value) * 100.0;
    let (low, high) = ((1.0 - best.turnaround.high) * 100.0, (1.0 - best.turnaround.low) * 100.0);
    let whom = match (best.better.len(), best.worse.len()) {
        (0, 0) => "though for no single program surely".to_owned(),
        (better, 0) => format!("better for {better} of {programs} programs and worse for none"),
        (better, worse) => {
            format!("better for {better} of {programs} programs, worse for {worse} ({})", best.worse.join(", "))
        }
    };
    let sure = if best.sure {
        "This is sure as far as the model is"
    } else {
        "This is not sure: the model's own error is as large"
    };
    format!(
        "{} would have made the mean turnaround {percent:.0} % shorter ({low:.0} to {high:.0} %) than {ran}, {whom}. {sure}.",
        best.policy
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(turnarounds: &[f64]) -> Times {
        let makespan = turnarounds.iter().copied().fold(0.0, f64::max);
        Times { makespan, turnarounds: turnarounds.iter().copied().map(Some).collect() }
    }

    const NONE: Errors = Errors { makespan: 0.0, turnaround: 0.0, median: 0.0 };

    #[test]
    fn a_difference_counts_only_beyond_the_error_and_under_every_assumption() {
        let names = ["a".to_owned(), "b".to_owned()];
        let usual = [times(&[10.0, 20.0]), times(&[10.0, 22.0])];
        let other = [times(&[5.0, 21.0]), times(&[5.0, 21.0])];
        let found = Verdict::of("x", &usual, &other, &names, NONE);
        assert_eq!((found.better.as_slice(), found.worse.len()), (&names[..1], 0), "b differs in sign: {found:?}");
        assert!(found.sure && found.turnaround.low < found.turnaround.high);
        let words = sentence("equi", std::slice::from_ref(&found), 2);
        assert!(words.starts_with("x would have made") && words.contains("1 of 2 programs"), "{words}");
        let unsure = Verdict::of("x", &usual, &other, &names, Errors { turnaround: -0.3, median: 0.6, ..NONE });
        assert!(!unsure.sure && unsure.better.is_empty());
        assert!(sentence("equi", &[unsure], 2).contains("not sure"));
        let worse = Verdict::of("x", &other, &usual, &names, NONE);
        assert!(sentence("equi", &[worse], 2).starts_with("None of these"));
    }

    #[test]
    fn errors_are_shares_of_what_happened() {
        let found = Errors::of(&times(&[10.0, 20.0]), &times(&[11.0, 20.0]));
        assert!((found.makespan, found.median) == (0.0, 0.1_f64.max(11.0 / 10.0 - 1.0)), "{found:?}");
        assert!((found.turnaround - 1.0 / 30.0).abs() < 1e-9);
    }
}
