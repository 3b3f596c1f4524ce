//! Applications in turn, each with all it asks for, until the processors of the quantum run out.
//!
//! **Source**: named in Martorell et al. 2000, §4, without its rule.
//!
//! **Terms**: r(j) = request within the user's limits and the machine; P = `capacity`.
//!
//! **Algorithm**
//! ```text
//! list = applications in order of arrival, circular
//! every quantum: left = P; from the pointer on, each once: r(j) ≤ left: all of r(j);  else what is left, and nobody after it
//!                the pointer moves behind the last that had all it asked for
//! between: what is released goes to those of the quantum that want more, then to those behind them (work-list); newcomers are last in the list
//! all of the quantum have gone: those at the pointer have what is left of it, and then a quantum of their own
//! ```
//!
//! **Differs from the paper**: it says no more than the name. An application is not cut below its
//! minimum.
//!
//! **Progress**: every application runs within n quanta.
//!
//! **Use when** programs cannot use fewer processors than they ask for. **Avoid when** they can:
//! `sw-dss` lets more of them run at once.

use super::machinery::quantum::{QUANTUM_NS, Quantum};
use super::machinery::ring::{self, Ring, behind, request};
use crate::answer::Answer;
use crate::part::{Info, Needs, Turns};
use crate::turn::Turn;
use crate::view::{AppId, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "round-robin",
        summary: "In turn, each with all it asks for, as many as fit into a quantum",
        source: "named in Martorell et al. 2000, §4",
    },
    build: |given| Ok(Box::new(RoundRobin::new(given.duration("quantum")?.unwrap_or(QUANTUM_NS)))),
};

/// Config, state and a buffer.
#[derive(Debug, Clone)]
pub struct RoundRobin {
    quantum: Quantum,
    /// The place where the next quantum begins.
    pointer: AppId,
    /// The applications of this quantum, in the order of the list, and their processors.
    served: Vec<(AppId, u32)>,
    ring: Ring,
}

impl RoundRobin {
    /// With a quantum in nanoseconds.
    pub fn new(quantum_ns: u64) -> Self {
        Self { quantum: Quantum::new(quantum_ns), pointer: AppId(0), served: Vec::new(), ring: Ring::default() }
    }

    /// Serves from the pointer on. Returns the place behind the last that has all it asks for.
    fn serve(&mut self, view: &View<'_>) -> AppId {
        let (mut left, mut pointer) = (view.capacity, self.pointer);
        self.served.clear();
        for slot in self.ring.from(view, self.pointer) {
            let (app, wanted) = (view.app(slot), request(view, slot));
            let count = wanted.min(left);
            if count < app.min.max(1) {
                break;
            }
            self.served.push((app.id, count));
            left -= count;
            if count < wanted {
                break;
            }
            pointer = behind(app.id);
        }
        pointer
    }

    /// Gives processors that have come free since to applications that want more.
    fn share_released(&mut self, view: &View<'_>) {
        for (app, count) in &mut self.served {
            *count = self.ring.find(view, *app).map_or(0, |slot| request(view, slot).min(*count));
        }
        self.served.retain(|&(_, count)| count > 0);
        let mut left = view.capacity.saturating_sub(self.served.iter().map(|&(_, count)| count).sum());
        for (app, count) in &mut self.served {
            let more = self.ring.find(view, *app).map_or(0, |slot| (request(view, slot) - *count).min(left));
            *count += more;
            left -= more;
        }
    }

    fn show(&self, view: &View<'_>, turn: &mut Turn) {
        turn.running.clear();
        for &(app, count) in &self.served {
            if let Some(slot) = self.ring.find(view, app) {
                turn.running.push(slot);
                turn.limit(slot, count);
            }
        }
        let last = self.served.last().map_or(self.pointer, |&(app, _)| behind(app));
        let others = self.ring.from(view, last).filter(|slot| !turn.running.contains(slot));
        turn.next.extend(others);
        turn.running.sort_unstable_by_key(|&slot| view.app(slot).id);
    }
}

impl Turns for RoundRobin {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        ring::NEEDS
    }

    fn parameters(&self) -> String {
        self.quantum.parameter().unwrap_or_default()
    }

    fn stops(&self) -> bool {
        true
    }

    fn holds_counts(&self) -> bool {
        true
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        self.ring.sync(view);
        if self.ring.slots().is_empty() {
            turn.running.clear();
            self.served.clear();
            self.quantum = Quantum::new(self.quantum.length_ns);
            return None;
        }
        if self.quantum.is_over(view.now_ns) {
            self.quantum.begin(view.now_ns);
            self.pointer = self.serve(view);
        } else {
            self.share_released(view);
            if self.served.is_empty() {
                // The pointer stays: the rest of this quantum is a gift.
                self.serve(view);
            }
        }
        self.show(view, turn);
        Some(self.quantum.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::random::Random;
    use crate::turns::machinery::testing::{QUANTUM, Sliding, ids, random_case, random_change};
    use crate::view::Slot;

    fn limits(case: &Case, turns: &mut RoundRobin) -> Vec<(Slot, u32)> {
        case.turn(turns).0.limits().to_vec()
    }

    #[test]
    fn full_requests_and_the_last_cut_to_what_is_left() {
        let mut case = Case::new(8).wants(&[5, 5, 2, 8]);
        let mut turns = RoundRobin::new(QUANTUM);
        assert_eq!(limits(&case, &mut turns), [(Slot(0), 5), (Slot(1), 3)]);
        assert_eq!(case.quantum(&mut turns), (ids(&[1, 2]), ids(&[3, 4])));
        assert_eq!(limits(&case, &mut turns), [(Slot(1), 5), (Slot(2), 2), (Slot(3), 1)]);
        assert_eq!(case.quantum(&mut turns).0, ids(&[2, 3, 4]));
        assert_eq!(limits(&case, &mut turns), [(Slot(3), 8)]);
    }

    #[test]
    fn nobody_is_cut_below_its_minimum() {
        let case = Case::new(8).wants(&[5, 5, 2]).limits(1, 4, 8);
        assert_eq!(case.ask(&mut RoundRobin::new(QUANTUM)).0, ids(&[1]));
    }

    #[test]
    fn what_is_released_goes_to_who_was_cut() {
        let mut case = Case::new(8).wants(&[5, 5, 4]);
        let mut turns = RoundRobin::new(QUANTUM);
        let end = case.ask(&mut turns).1;
        case.now_ns = QUANTUM / 2;
        case.apps[0].request = 4;
        assert_eq!(limits(&case, &mut turns), [(Slot(0), 4), (Slot(1), 4)]);
        case.apps[0].request = 8;
        assert_eq!(
            limits(&case, &mut turns),
            [(Slot(0), 4), (Slot(1), 4)],
            "more than it gave back is for the next quantum"
        );
        case.order.remove(0);
        assert_eq!(limits(&case, &mut turns), [(Slot(1), 5)]);
        case.order.remove(0);
        assert_eq!(case.ask(&mut turns), (ids(&[3]), end, ids(&[])));
    }

    #[test]
    fn everybody_runs_within_n_quanta() {
        let mut random = Random::new(9);
        for _ in 0..300 {
            let mut case = random_case(&mut random);
            let (mut turns, mut waits) = (RoundRobin::new(QUANTUM), Sliding::default());
            for _ in 0..60 {
                let before = case.order.len();
                random_change(&mut case, &mut random);
                let total: u32 = limits(&case, &mut turns).iter().map(|&(_, count)| count).sum();
                assert!(total <= case.pus.len() as u32, "{total}");
                let (running, _) = case.quantum(&mut turns);
                waits.ran(&case, &running, before);
            }
        }
    }
}
