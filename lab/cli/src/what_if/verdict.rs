//! What the runs say: the error of the simulation, and each policy against the one that ran.

use super::trial::Times;
use serde::Serialize;

/// The simulation of the policy that ran is fitted to it, so its error is the least one. A smaller
/// difference than this is not sure: ratios of real mixes were off by 8 % in the median
/// (`lab/bench/what_if.py`).
pub const ERROR_LEAST: f64 = 0.10;

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
    /// Of several. `None`: there are none, because nothing has ended.
    fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.retain(|ratio| ratio.is_finite());
        ratios.sort_by(f64::total_cmp);
        let (&low, &high) = (ratios.first()?, ratios.last()?);
        Some(Self { value: ratios.iter().sum::<f64>() / ratios.len() as f64, low, high })
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
    /// Of the mean turnaround; absent where no program ran as a whole.
    pub turnaround: Option<f64>,
    /// The median of the absolute ones of each program's turnaround; absent as above.
    pub median: Option<f64>,
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
            turnaround: simulated.mean_turnaround().zip(real.mean_turnaround()).map(|(one, other)| share(one, other)),
            median: each.get(each.len() / 2).copied(),
        }
    }
}

/// A policy against the one that ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The policy.
    pub policy: String,
    /// Its makespan over that of the policy that ran, both simulated; absent where nothing ended.
    pub makespan: Option<Ratio>,
    /// The same of the mean turnaround; absent where no program ran as a whole.
    pub turnaround: Option<Ratio>,
    /// Programs whose turnaround is shorter by more than the model may be wrong, at both bounds.
    pub better: Vec<String>,
    /// Programs whose turnaround is longer.
    pub worse: Vec<String>,
    /// The difference of the mean turnarounds is larger than the model may be wrong, at both ends.
    pub sure: bool,
    /// Why the simulation knows too little about it, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foretold_badly: Option<&'static str>,
}

impl Verdict {
    /// `usual`, `other`: the runs of both policies, each under the same assumptions and seeds.
    pub fn of(policy: &str, usual: &[Times], other: &[Times], names: &[String], errors: Errors) -> Self {
        let ratio = |value: fn(&Times) -> Option<f64>| {
            let pairs = usual.iter().zip(other);
            Ratio::of(pairs.filter_map(|(usual, other)| Some(value(other)? / value(usual)?)).collect())
        };
        let of_program = |place: usize| {
            let pairs = usual.iter().zip(other);
            let ratios: Option<Vec<f64>> = pairs
                .map(|(usual, other)| Some(other.turnarounds.get(place).copied()?? / usual.turnarounds[place]?))
                .collect();
            ratios.and_then(Ratio::of)
        };
        let those = |holds: &dyn Fn(Ratio) -> bool| {
            let places = (0..names.len()).filter(|&place| of_program(place).is_some_and(holds));
            places.map(|place| names[place].clone()).collect()
        };
        let turnaround = ratio(Times::mean_turnaround);
        let error = errors.turnaround.unwrap_or_default().abs().max(ERROR_LEAST);
        let each = errors.median.unwrap_or_default().max(ERROR_LEAST);
        Self {
            policy: policy.to_owned(),
            makespan: ratio(|times| Some(times.makespan)),
            turnaround,
            better: those(&|ratio| ratio.is_less(each)),
            worse: those(&|ratio| ratio.is_more(each)),
            sure: turnaround.is_some_and(|ratio| ratio.is_less(error) || ratio.is_more(error)),
            foretold_badly: None,
        }
    }

    /// The same of a policy about which the simulation knows too little, with the reason.
    pub fn doubted(self, why: Option<&'static str>) -> Self {
        Self { sure: self.sure && why.is_none(), foretold_badly: why, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sentence::sentence;
    use super::*;

    fn times(turnarounds: &[f64]) -> Times {
        let makespan = turnarounds.iter().copied().fold(0.0, f64::max);
        Times { makespan, turnarounds: turnarounds.iter().copied().map(Some).collect() }
    }

    const NONE: Errors = Errors { makespan: 0.0, turnaround: Some(0.0), median: Some(0.0) };

    #[test]
    fn a_difference_counts_only_beyond_the_error_and_under_every_assumption() {
        let names = ["a".to_owned(), "b".to_owned()];
        let usual = [times(&[10.0, 20.0]), times(&[10.0, 22.0])];
        let other = [times(&[5.0, 21.0]), times(&[5.0, 21.0])];
        let found = Verdict::of("x", &usual, &other, &names, NONE);
        assert_eq!((found.better.as_slice(), found.worse.len()), (&names[..1], 0), "b differs in sign: {found:?}");
        assert!(found.sure && found.turnaround.is_some_and(|ratio| ratio.low < ratio.high));
        let ran = ["equi".to_owned()];
        let words = sentence(&ran, std::slice::from_ref(&found), 2, Some(NONE));
        assert!(words.starts_with("x would have made") && words.contains("1 of 2 programs"), "{words}");
        let wrong = Errors { turnaround: Some(-0.3), median: Some(0.6), ..NONE };
        let unsure = Verdict::of("x", &usual, &other, &names, wrong);
        assert!(!unsure.sure && unsure.better.is_empty());
        assert!(sentence(&ran, &[unsure], 2, Some(wrong)).contains("not sure"));
        let worse = Verdict::of("x", &other, &usual, &names, NONE);
        assert!(sentence(&ran, &[worse], 2, Some(NONE)).starts_with("None of these"));
        assert!(!found.doubted(Some("nobody knows")).sure);
    }

    #[test]
    fn no_times_are_no_ratio() {
        let nothing = [Times { makespan: 0.0, turnarounds: vec![None] }];
        let found = Verdict::of("x", &nothing, &nothing, &["a".to_owned()], NONE);
        assert_eq!((found.makespan, found.turnaround, found.sure), (None, None, false));
        let errors = Errors::of(&nothing[0], &nothing[0]);
        assert_eq!((errors.turnaround, errors.median), (None, None));
    }

    #[test]
    fn errors_are_shares_of_what_happened() {
        let found = Errors::of(&times(&[10.0, 20.0]), &times(&[11.0, 20.0]));
        assert!((found.makespan, found.median) == (0.0, Some(0.1_f64.max(11.0 / 10.0 - 1.0))), "{found:?}");
        assert!((found.turnaround.unwrap() - 1.0 / 30.0).abs() < 1e-9);
    }
}
