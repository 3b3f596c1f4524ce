//! In order of arrival, but an application that does not delay the head of the queue may overtake
//! (EASY backfilling).
//!
//! **Source**: Lifka 1995, §3; the rule as written down by Mu'alem and Feitelson 2001, §2.
//!
//! **Terms**: need(j) = request within its limits; free = processors that running applications
//! leave; end(j) = start + estimate, not before now; shadow = when the head's processors will be
//! free; extra = what will be free then beside them.
//!
//! **Algorithm**
//! ```text
//! while need(head) ≤ free: the head starts
//! shadow = the earliest time at which need(head) processors are free if running ones end at their end(j)
//! extra  = processors free at that time − need(head)
//! in order of arrival, each other j with need(j) ≤ free starts if  now + estimate(j) ≤ shadow  or  need(j) ≤ extra
//! (then extra falls by need(j))
//! ```
//! Without an estimate an application never ends: it overtakes only on extra processors. One that
//! runs longer than its estimate is expected to end at any moment.
//!
//! **Differs from the paper**: it kills jobs at their estimate; here they go on, and the head may
//! start later than its reservation says.
//!
//! **Use when** jobs are rigid and their users give estimates. **Avoid when** nobody does: then it
//! is `fcfs`.

use crate::answer::Answer;
use crate::part::{Admission, Info, Queue, Waiting};
use crate::view::View;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Admission> = Answer {
    info: Info {
        name: "easy",
        summary: "In order of arrival; who delays nobody at the head, by the users' estimates, may overtake",
        source: "Lifka 1995, §3; Mu'alem and Feitelson 2001, §2",
    },
    build: |_| Ok(Box::new(Easy::default())),
};

/// A time that never comes.
const NEVER: u64 = u64::MAX;

/// Config: none. State: a buffer.
#[derive(Debug, Clone, Default)]
pub struct Easy {
    /// Expected end and processors of the running applications.
    ends: Vec<(u64, u32)>,
}

/// The reservation of the head of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reservation {
    shadow: u64,
    extra: u32,
}

impl Admission for Easy {
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
        let (head, others) = queue.waiting.split_first()?;
        let (need, capacity) = (head.need(view.capacity), view.capacity);
        if from == 0 && need <= queue.free {
            return Some(0);
        }
        let from = from.max(1);
        let fits = |waiting: &Waiting| waiting.need(capacity) <= queue.free;
        // The reservation costs more than a search for an application that could use it.
        let first = if queue.free == 0 { None } else { others.get(from - 1..)?.iter().position(fits) }? + from;
        let Reservation { shadow, extra } = self.reserve(view, queue, need);
        let overtakes = |waiting: &Waiting| {
            let in_time = waiting.estimate_ns.is_some_and(|estimate| view.now_ns.saturating_add(estimate) <= shadow);
            fits(waiting) && (in_time || waiting.need(capacity) <= extra)
        };
        queue.waiting[first..].iter().position(overtakes).map(|at| first + at)
    }
}

impl Easy {
    /// Reserves: the time when the head can have `need` processors, and the number that is left
    /// then.
    fn reserve(&mut self, view: &View<'_>, queue: Queue<'_>, need: u32) -> Reservation {
        let now = view.now_ns;
        let end = |start: u64, estimate: Option<u64>| estimate.map_or(NEVER, |ns| start.saturating_add(ns).max(now));
        self.ends.clear();
        for &slot in view.order {
            let app = view.app(slot);
            if app.allocation > 0 {
                self.ends.push((end(app.started_ns, app.estimate_ns), app.allocation.min(app.cap(view.capacity))));
            }
        }
        let fresh = queue.started.iter();
        self.ends.extend(fresh.map(|started| (end(now, started.estimate_ns), started.need(view.capacity))));
        self.ends.sort_unstable();
        let (mut free, mut shadow) = (queue.free, now);
        for &(end, processors) in &self.ends {
            // All applications that end at the same time count, so their order does not matter.
            if free >= need && end > shadow {
                break;
            }
            (free, shadow) = (free + processors, end);
        }
        Reservation { shadow, extra: free.saturating_sub(need) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::view::Slot;

    fn waiting(processors: u32, estimate_ns: Option<u64>) -> Waiting {
        Waiting { app: Slot(99), processors, estimate_ns }
    }

    /// Eight processors, six taken until 100 (four of them) and 200 (two); the head wants six:
    /// shadow 100, extra 0.
    fn next(candidates: &[Waiting], from: usize) -> Option<usize> {
        let mut case = Case::new(8).wants(&[4, 2]).holds(&[4, 2]);
        (case.apps[0].estimate_ns, case.apps[1].estimate_ns) = (Some(100), Some(200));
        let queue = [&[waiting(6, Some(50))], candidates].concat();
        case.with_view(|view| Easy::default().next(view, Queue { waiting: &queue, started: &[], free: 2 }, from))
    }

    #[test]
    fn only_who_ends_before_the_shadow_time() {
        assert_eq!(next(&[waiting(2, Some(100))], 0), Some(1));
        assert_eq!(next(&[waiting(2, Some(101))], 0), None);
        assert_eq!(next(&[waiting(3, Some(1))], 0), None, "it does not fit");
        assert_eq!(next(&[waiting(1, None)], 0), None, "it might never end");
        assert_eq!(next(&[waiting(1, None), waiting(1, Some(9))], 0), Some(2));
        assert_eq!(next(&[waiting(1, Some(9)), waiting(1, Some(9))], 2), Some(2), "from there on");
    }

    #[test]
    fn or_who_uses_extra_processors_only() {
        let mut case = Case::new(8).wants(&[4, 2]).holds(&[4, 2]);
        (case.apps[0].estimate_ns, case.apps[1].estimate_ns) = (Some(100), Some(100));
        let queue = [waiting(7, Some(50)), waiting(2, None), waiting(1, None), waiting(1, None)];
        case.with_view(|view| {
            let mut easy = Easy::default();
            assert_eq!(easy.next(view, Queue { waiting: &queue, started: &[], free: 2 }, 0), Some(2));
            // The application that was taken has the extra processor for ever.
            let (left, started) = ([queue[0], queue[1], queue[3]], [queue[2]]);
            assert_eq!(easy.next(view, Queue { waiting: &left, started: &started, free: 1 }, 2), None);
        });
    }

    #[test]
    fn a_head_that_waits_for_one_without_estimate() {
        let mut case = Case::new(4).wants(&[3]).holds(&[3]);
        case.apps[0].estimate_ns = None;
        let queue = [waiting(4, Some(1)), waiting(1, None), waiting(1, Some(1000))];
        case.with_view(|view| {
            let found = Easy::default().next(view, Queue { waiting: &queue, started: &[], free: 1 }, 0);
            assert_eq!(found, Some(2), "who ends delays nobody, who may not end might");
        });
    }
}
