//! Windows of applications, one after another, a quantum each; inside a window shares are in
//! proportion to requests.
//!
//! **Source**: Sliding Window DSS (SW-DSS), Martorell et al. 2000, §4.3. The proportions are
//! `share=dss`.
//!
//! **Terms**: r(j) = request within the user's limits and the machine; P = `capacity`; gang =
//! window; k = how much more than the machine a window may ask for.
//!
//! **Algorithm**
//! ```text
//! list = applications in order of arrival, circular
//! window(s) = the longest run of the list from s on, each once, with sum of r ≤ k·P and sum of minimums ≤ P; at least the one at s
//! every quantum: s = the place behind the window; the window runs, the others are stopped
//! somebody comes, goes or changes its request: the same s, window(s) anew; counts stay until the quantum ends (work-list: window, next window)
//! all of the window has gone: the next one has what is left of the quantum, and then one of its own
//! ```
//!
//! **Differs from the paper**: it gives neither k (1 here) nor a rule for a window that has gone.
//! Minimums count, each of them at least 1, so that no window has more applications than
//! processors: those beyond would never run.
//!
//! **Progress**: every application runs within n quanta.
//!
//! **Use when** applications ask for a few processors each and there are too many for the machine
//! at once. **Avoid when** they all ask for the whole machine: then each runs alone, and `always`
//! runs them side by side.

use super::machinery::ring::{self, K_MILLI};
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
        name: "sw-dss",
        summary: "A window of applications that fit together, then the next window",
        source: "SW-DSS, Martorell et al. 2000, §4.3",
    },
    build: |given| Ok(Box::new(SwDss::read(given)?)),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct SwDss {
    window: Window,
}

impl SwDss {
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

impl Turns for SwDss {
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
        let ran = !window.members.is_empty();
        let behind = window.behind();
        if !window.sync(view) {
            window.empty(turn);
            return None;
        }
        if window.expires(view) {
            window.first = behind;
        } else {
            window.gift |= ran && window.members.is_empty();
        }
        window.members.clear();
        window.fill(view);
        Some(window.show(view, turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::random::Random;
    use crate::turns::machinery::testing::{QUANTUM, Sliding, check_window, ids, random_change};

    fn policy(k_milli: u32) -> SwDss {
        SwDss::new(k_milli, QUANTUM)
    }

    #[test]
    fn windows_follow_each_other_and_come_round() {
        let mut case = Case::new(8).wants(&[4, 4, 3, 6, 2, 1]);
        let mut turns = policy(1000);
        let windows: Vec<_> = (0..5).map(|_| case.quantum(&mut turns).0).collect();
        assert_eq!(windows, [ids(&[1, 2]), ids(&[3]), ids(&[4, 5]), ids(&[1, 6]), ids(&[2, 3])]);
        assert_eq!(case.quantum(&mut turns), (ids(&[4, 5]), ids(&[6, 1])), "and who may have what they release");
    }

    #[test]
    fn k_makes_windows_wider_but_never_beyond_one_processor_each() {
        let mut case = Case::new(4).wants(&[3, 3, 4, 1]);
        assert_eq!(case.quantum(&mut policy(1500)).0, ids(&[1, 2]));
        assert_eq!(case.quantum(&mut policy(100)).0, ids(&[1]), "one above k·P is a window of its own");
        let mut many = Case::new(2).wants(&[1; 5]);
        assert_eq!(many.quantum(&mut policy(2000)).0, ids(&[1, 2]), "others would get nothing of two processors");
    }

    #[test]
    fn the_same_window_takes_in_more_or_fewer() {
        let mut case = Case::new(8).wants(&[4, 3]);
        let mut turns = policy(1000);
        let end = case.ask(&mut turns).1;
        case = case.wants(&[1, 1]);
        case.now_ns += QUANTUM / 4;
        assert_eq!(case.ask(&mut turns), (ids(&[1, 2, 3]), end, ids(&[4])));
        case.apps[0].request = 7;
        assert_eq!(case.ask(&mut turns).0, ids(&[1]));
        case.now_ns += QUANTUM;
        assert_eq!(case.ask(&mut turns).0, ids(&[2, 3, 4]));
    }

    #[test]
    fn who_comes_up_in_the_middle_of_a_quantum_still_has_one_of_its_own() {
        let mut case = Case::new(4).wants(&[4, 3, 4]);
        let mut turns = policy(1000);
        let end = case.ask(&mut turns).1;
        case.now_ns += QUANTUM / 2;
        case.order.remove(0);
        assert_eq!(case.ask(&mut turns), (ids(&[2]), end, ids(&[3])));
        case.now_ns += QUANTUM / 2;
        assert_eq!(case.ask(&mut turns).0, ids(&[2]));
        case.now_ns += QUANTUM;
        assert_eq!(case.ask(&mut turns).0, ids(&[3]));
        case.order.clear();
        assert_eq!(case.ask(&mut turns), (ids(&[]), None, ids(&[])), "nobody there, nothing to wait for");
    }

    /// After every event a window is a run of the list within k·P, and every application runs
    /// within n quanta.
    #[test]
    fn everybody_runs_within_n_quanta() {
        let mut random = Random::new(7);
        for _ in 0..300 {
            let (mut case, k) = (crate::turns::machinery::testing::random_case(&mut random), 500 + random.below(2000));
            let mut turns = policy(k);
            let mut waits = Sliding::default();
            for _ in 0..60 {
                let before = case.order.len();
                random_change(&mut case, &mut random);
                let (running, _) = case.quantum(&mut turns);
                check_window(&case, &running, k);
                waits.ran(&case, &running, before);
            }
        }
    }
}
