//! Each thread in turn, as many as there are processors.
//!
//! **Source**: RR of Antonopoulos et al. 2004, §3 and §4.
//!
//! **Terms**: P = `capacity`; list = all threads (virtual processors) that are ready; quantum =
//! turn, 100 ms.
//!
//! **Algorithm**
//! ```text
//! every quantum: those that ran go to the tail of the list, in the order they had
//!                within a pass over the list: the first threads of all applications, then the second ones ...
//!                the first P run; an application has as many processors as it has threads among them, and folds
//! in between:    new threads join the tail; a processor whose thread has ended goes to the head of the list at once
//! ```
//!
//! **Differs from the paper**: it does not say in which order the threads of one application stand.
//! Where each has as many threads as there are processors, RR "forces the application to reduce the
//! degree of parallelism ... instead of time-sharing" (§5). So applications run side by side there,
//! each with a part of its threads; one behind the other they would be gangs. Nor does the paper
//! say what happens to a processor that becomes free within a quantum. An application with a
//! minimum takes that many threads at once. No next quantum is asked for while all threads run.
//!
//! **Use when** the policies of bandwidth are to be compared with it, or there are no counters.
//! **Avoid when** a program suffers from having few of its threads at a time: then `tick` or a
//! gang.

use super::machinery::quantum::{QUANTUM_NS, Quantum};
use super::machinery::ready::{Ready, Verdict};
use crate::answer::Answer;
use crate::part::{Info, Needs, Turns};
use crate::turn::Turn;
use crate::view::View;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "rr",
        summary: "Threads in turn, as many as there are processors",
        source: "RR, Antonopoulos et al. 2004, §3",
    },
    build: |given| Ok(Box::new(Rr::new(given.duration("quantum")?.unwrap_or(QUANTUM_NS)))),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct Rr {
    quantum: Quantum,
    ready: Ready,
}

impl Rr {
    /// With the length of a quantum, nanoseconds.
    pub fn new(quantum_ns: u64) -> Self {
        Self { quantum: Quantum::new(quantum_ns), ready: Ready::new(false) }
    }
}

impl Turns for Rr {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs { preemption: true, ..Needs::NONE }
    }

    fn parameters(&self) -> String {
        self.quantum.parameter().unwrap_or_default()
    }

    fn stops(&self) -> bool {
        true
    }

    fn chooses_threads(&self) -> bool {
        true
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        let over = self.quantum.is_over(view.now_ns);
        self.ready.sync(view, over);
        if over || self.ready.is_idle() {
            self.ready.rotate();
            self.ready.deal();
            self.quantum.begin(view.now_ns);
        }
        self.ready.in_order(|_, _, _| Verdict::Take);
        self.ready.write(view, turn);
        self.ready.list.iter().any(|entry| !entry.chosen).then(|| self.quantum.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::turns::machinery::threading::{QUANTUM, survives};

    #[test]
    fn everybody_within_its_place_by_p_quanta() {
        let mut case = Case::with_threads(4, &[3, 5, 1, 7], 0);
        let mut rr = Rr::new(QUANTUM);
        let mut first = std::collections::BTreeMap::new();
        for quantum in 0..4 {
            let decided = case.decide(&mut rr);
            assert_eq!(decided.total(), 4);
            for thread in rr.ready.running() {
                first.entry(thread).or_insert(quantum);
            }
            case.run(&decided, |_, _| 0);
        }
        let threads = [(1, 3), (2, 5), (3, 1), (4, 7)];
        let dealt =
            (0..7).flat_map(|vp| threads.into_iter().filter(move |&(_, n)| vp < n).map(move |(app, _)| (app, vp)));
        for (place, thread) in dealt.enumerate() {
            assert_eq!(first[&thread], place / 4, "{thread:?}");
        }
    }

    /// Four applications of four threads on four processors, which come one after the other within
    /// a quantum: from the second pass on each has a processor all the time. None is a gang.
    #[test]
    fn applications_as_wide_as_the_machine_run_side_by_side() {
        let mut case = Case::with_threads(4, &[4], 0);
        let mut rr = Rr::new(QUANTUM);
        assert_eq!(case.decide(&mut rr).count, [4]);
        for others in 1..4 {
            case.now_ns += QUANTUM / 10;
            case = case.wants(&[4]);
            case.lay_out();
            assert_eq!(case.decide(&mut rr).count[others], 0);
        }
        let counts: Vec<Vec<u32>> = (0..12)
            .map(|_| {
                case.now_ns += QUANTUM;
                case.decide(&mut rr).count
            })
            .collect();
        assert_eq!(counts[..3], [[0, 2, 1, 1], [0, 1, 2, 1], [0, 1, 1, 2]], "those that came first have run once");
        assert!(counts[3..].iter().all(|count| *count == [1; 4]), "{counts:?}");
    }

    #[test]
    fn those_that_ran_keep_their_order_and_new_ones_go_before_them() {
        let mut case = Case::with_threads(2, &[1, 1, 1], 0);
        let mut rr = Rr::new(QUANTUM);
        let decided = case.decide(&mut rr);
        assert_eq!(decided.count, [1, 1, 0]);
        case.run(&decided, |_, _| 0);
        assert_eq!(case.decide(&mut rr).count, [1, 0, 1]);
        // A fourth one comes within the quantum.
        case = case.wants(&[1]);
        case.lay_out();
        assert_eq!(case.decide(&mut rr).count, [1, 0, 1, 0]);
        case.now_ns += QUANTUM;
        assert_eq!(case.decide(&mut rr).count, [0, 1, 0, 1]);
    }

    #[test]
    fn a_processor_that_becomes_free_goes_to_the_head() {
        let mut case = Case::with_threads(2, &[1, 1, 1, 1], 0);
        let mut rr = Rr::new(QUANTUM);
        case.decide(&mut rr);
        case.order.remove(1);
        case.lay_out();
        assert_eq!(case.decide(&mut rr).count, [1, 0, 1, 0]);
    }

    #[test]
    fn nobody_asks_for_another_quantum_while_all_run() {
        let case = Case::with_threads(4, &[2, 2], 0);
        assert_eq!(case.decide(&mut Rr::new(QUANTUM)).end, None);
    }

    #[test]
    fn a_minimum_is_taken_at_once() {
        let mut case = Case::with_threads(4, &[3, 4], 0).limits(1, 3, 4);
        case.lay_out();
        let mut rr = Rr::new(QUANTUM);
        let decided = case.decide(&mut rr);
        assert_eq!(decided.count, [1, 3]);
        case.run(&decided, |_, _| 0);
        assert_eq!(case.decide(&mut rr).count, [3, 0], "three do not fit beside three");
    }

    #[test]
    fn survives_whatever_happens() {
        let work_conserving = |case: &Case, decided: &crate::turns::machinery::threading::Decided| {
            assert_eq!(decided.total(), case.capacity().min(case.thread_total()));
        };
        survives(&|| Box::new(Rr::new(QUANTUM)), &work_conserving, &|case| {
            case.thread_total().div_ceil(case.capacity().max(1))
        });
    }
}
