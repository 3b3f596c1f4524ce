//! Applications start strictly in order of arrival.
//!
//! **Source**: FCFS of the parallel workloads literature (Lifka 1995, §2; Mu'alem and Feitelson
//! 2001, §2).
//!
//! **Terms**: need(j) = request within its limits; free = processors that running applications
//! leave.
//!
//! **Algorithm**
//! ```text
//! while need(head) ≤ free: the head starts
//! ```
//!
//! **Differs from the paper**: no.
//!
//! **Use when** order must be kept, or as the baseline for `easy`. **Avoid when** wide jobs come
//! among narrow ones: processors stay free.

use crate::answer::Answer;
use crate::part::{Admission, Info, Queue};
use crate::view::View;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Admission> = Answer {
    info: Info {
        name: "fcfs",
        summary: "Strictly in order of arrival, when all of the request is free",
        source: "Mu'alem and Feitelson 2001, §2",
    },
    build: |_| Ok(Box::new(Fcfs)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct Fcfs;

impl Admission for Fcfs {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn queues(&self) -> bool {
        true
    }

    fn keeps_reservations(&self) -> bool {
        true
    }

    fn next(&mut self, view: &View<'_>, queue: Queue<'_>, from: usize) -> Option<usize> {
        let head = queue.waiting.first().filter(|_| from == 0)?;
        (head.need(view.capacity) <= queue.free).then_some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::part::Waiting;
    use crate::view::Slot;

    #[test]
    fn only_the_head_and_only_if_it_fits() {
        let case = Case::new(8);
        let waiting = [5, 1].map(|processors| Waiting { app: Slot(processors), processors, estimate_ns: None });
        case.with_view(|view| {
            let next = |free, from| Fcfs.next(view, Queue { waiting: &waiting, started: &[], free }, from);
            assert_eq!(next(5, 0), Some(0));
            assert_eq!(next(4, 0), None, "the second would fit");
            assert_eq!(next(8, 1), None);
        });
    }

    #[test]
    fn a_wish_beyond_the_machine_is_the_machine() {
        let waiting = [Waiting { app: Slot(0), processors: 64, estimate_ns: None }];
        Case::new(8).with_view(|view| {
            assert_eq!(Fcfs.next(view, Queue { waiting: &waiting, started: &[], free: 8 }, 0), Some(0));
        });
    }
}
