//! A window of applications that moves on by one every quantum, so that all but one keep their
//! caches.
//!
//! **Source**: Step Sliding Window DSS (SSW-DSS), Martorell et al. 2000, §4.3. The proportions are
//! `share=dss`.
//!
//! **Terms**: as `sw-dss`; W = the window.
//!
//! **Algorithm**
//! ```text
//! every quantum: W = W without its first; then those behind W as long as sum of r(W) ≤ k·P and sum of minimums ≤ P;
//!                if W is empty: the one behind it, whatever it asks for
//! somebody comes, goes or changes its request: those of W that are there and still fit, then as above
//! W runs, the others are stopped; counts stay until the quantum ends (work-list: W, then those behind it)
//! ```
//!
//! **Differs from the paper**: as `sw-dss`.
//!
//! **Progress**: every application runs within n quanta, and all but one of a window run again in
//! the next.
//!
//! **Use when** caches matter and applications ask for parts of the machine. **Avoid when** each
//! asks for the whole: then it is `sw-dss`.

use super::machinery::ring::{self, K_MILLI, behind};
use super::machinery::window::Window;
use crate::answer::Answer;
use crate::parameters::{Parameters, join};
use crate::part::{Info, Needs, Turns};
use crate::rejected::Rejected;
use crate::turn::Turn;
use crate::view::View;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "ssw-dss",
        summary: "A window of applications that moves on by one application every quantum",
        source: "SSW-DSS, Martorell et al. 2000, §4.3",
    },
    build: |given| Ok(Box::new(SswDss::read(given)?)),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct SswDss {
    window: Window,
}

impl SswDss {
    /// With k in thousandths and a quantum in nanoseconds.
    pub fn new(k_milli: u32, quantum_ns: u64) -> Self {
        Self { window: Window::new(k_milli, quantum_ns) }
    }

    /// From a policy text: `k`, `quantum`.
    ///
    /// # Errors
    /// A value that cannot be read.
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let (k, quantum) = (parameters.milli("k")?, parameters.duration("quantum")?);
        Ok(Self::new(k.unwrap_or(K_MILLI), quantum.unwrap_or(super::machinery::quantum::QUANTUM_NS)))
    }
}

impl Turns for SswDss {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        ring::NEEDS
    }

    fn parameters(&self) -> String {
        join([ring::k_parameter(self.window.k_milli), self.window.quantum.parameter()])
    }

    fn stops(&self) -> bool {
        true
    }

    fn holds_counts(&self) -> bool {
        true
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        let window = &mut self.window;
        let (ran, last) = (window.members.first().copied(), window.behind());
        if !window.sync(view) {
            window.empty(turn);
            return None;
        }
        let gone = ran.is_some() && window.members.is_empty();
        if gone {
            window.first = last;
        }
        if window.expires(view) {
            // The first may have gone by itself: then the window has moved on already.
            if window.members.first().is_some_and(|&first| ran == Some(first)) {
                window.first = behind(window.members.remove(0));
            }
        } else {
            window.gift |= gone;
        }
        window.shrink(view);
        window.fill(view);
        Some(window.show(view, turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::random::Random;
    use crate::turns::machinery::testing::{QUANTUM, Sliding, check_window, ids, random_case, random_change};

    fn policy(k_milli: u32) -> SswDss {
        SswDss::new(k_milli, QUANTUM)
    }

    #[test]
    fn leaves_out_the_first_and_takes_in_what_fits() {
        let mut case = Case::new(8).wants(&[4, 3, 1, 6, 2, 1]);
        let mut turns = policy(1000);
        let windows: Vec<_> = (0..5).map(|_| case.quantum(&mut turns).0).collect();
        assert_eq!(windows, [ids(&[1, 2, 3]), ids(&[2, 3]), ids(&[3, 4]), ids(&[4, 5]), ids(&[1, 5, 6])]);
    }

    #[test]
    fn one_that_is_too_large_for_a_window_is_one() {
        let mut case = Case::new(4).wants(&[1, 4, 4, 1]);
        let mut turns = policy(500);
        let windows: Vec<_> = (0..4).map(|_| case.quantum(&mut turns).0).collect();
        assert_eq!(windows, [ids(&[1]), ids(&[2]), ids(&[3]), ids(&[1, 4])]);
    }

    #[test]
    fn a_request_that_grows_sends_the_last_away_and_one_that_shrinks_lets_more_in() {
        let mut case = Case::new(8).wants(&[2, 3, 3, 2]);
        let mut turns = policy(1000);
        assert_eq!(case.ask(&mut turns).0, ids(&[1, 2, 3]));
        case.apps[1].request = 4;
        assert_eq!(case.ask(&mut turns).0, ids(&[1, 2]));
        case.apps[1].request = 1;
        assert_eq!(case.ask(&mut turns).0, ids(&[1, 2, 3, 4]));
    }

    #[test]
    fn all_but_the_first_run_again_and_everybody_within_n_quanta() {
        let mut random = Random::new(8);
        for _ in 0..300 {
            let (mut case, k) = (random_case(&mut random), 500 + random.below(2000));
            let mut turns = policy(k);
            let mut waits = Sliding::default();
            let mut before = case.quantum(&mut turns).0;
            for round in 0..60 {
                let n = case.order.len();
                let changes = round % 3 == 0;
                if changes {
                    random_change(&mut case, &mut random);
                }
                let (running, _) = case.quantum(&mut turns);
                check_window(&case, &running, k);
                let again = before.iter().filter(|app| running.contains(app)).count();
                assert!(changes || again + 1 >= before.len(), "{before:?} then {running:?}");
                waits.ran(&case, &running, n);
                before = running;
            }
        }
    }
}
