//! As many applications at once as use the machine well: more when the running ones cannot use the
//! rest of it.
//!
//! **Source**: the long-term part of PDPA, Martorell et al. 2000, §4.4 and §6.4; the condition from
//! the abstract of Corbalán, Martorell, Labarta, OSDI 2000.
//!
//! **Terms**: level = applications that run, n; free = processors that nobody has, nor keeps; start
//! = the number that PDPA starts an application with: BASE, or the request if that is less, on
//! machines below 4·BASE a quarter of them; stable, bad = the state of PDPA's search for an
//! application's count.
//!
//! **Algorithm**
//! ```text
//! the first in the queue starts if  n < max  and  free ≥ start  and
//!     ( n < initial   or  all that run are stable   or  one of them does badly )
//! finish=test: not as long as one that runs is stable, would grow and has tests left: it is tested first, and the level falls
//! ```
//! So the level rises beyond `initial` when processors are free because nobody can use them, and
//! falls again when applications end whose places the others can use.
//!
//! **Differs from the paper**: it tells no rule, and not whether a place that becomes free is used
//! for a test or for the next one in the queue (here, by default, for the next one).
//!
//! **Progress**: where nothing runs the first application starts; every search ends, at the latest
//! when its patience does.
//!
//! **Use when** jobs queue and some of them scale badly. **Avoid when** programs are interactive or
//! never end: with scalable ones on every processor the next waits until one ends (`share`).

use crate::answer::Answer;
use crate::parameters::{Parameters, join};
use crate::part::{Admission, Info, Offer, Queue};
use crate::rejected::Rejected;
use crate::share::pdpa::start;
use crate::view::{Search, Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Admission> = Answer {
    info: Info {
        name: "multiprogramming",
        summary: "As many at once as use the machine well: more when those that run cannot use the rest",
        source: "Martorell et al. 2000, §4.4 and §6.4",
    },
    build: |given| Ok(Box::new(Multiprogramming::read(given)?)),
};

/// Default of the level up to which applications start without conditions on the others (Martorell
/// et al. 2000, §6.4: 4 or 5).
const INITIAL: u32 = 4;
/// Default of PDPA's BASE, processors.
const BASE: u32 = 4;

/// The first use of a place that has become free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Finish {
    /// It goes to the next in the queue.
    #[default]
    Admit,
    /// It goes to tests of the running applications.
    Test,
}

impl Finish {
    /// All of them, with their words in policy texts.
    pub const ALL: [(&'static str, Self); 2] = [("admit", Self::Admit), ("test", Self::Test)];
}

/// Config.
#[derive(Debug, Clone)]
pub struct Multiprogramming {
    initial: u32,
    max: u32,
    base: u32,
    finish: Finish,
}

impl Default for Multiprogramming {
    fn default() -> Self {
        Self { initial: INITIAL, max: u32::MAX, base: BASE, finish: Finish::default() }
    }
}

impl Multiprogramming {
    /// From a policy text: `initial`, `max`, `base`, `finish`.
    ///
    /// # Errors
    /// A value that cannot be read or makes no sense.
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let default = Self::default();
        let initial = parameters.number("initial")?;
        let max = parameters.number("max")?.unwrap_or(default.max);
        let base = parameters.number("base")?.unwrap_or(default.base);
        let finish = parameters.choice("finish", &Finish::ALL)?.unwrap_or_default();
        if let Some(initial) = initial.filter(|&initial| initial > max) {
            return Err(Rejected::new(format!("multiprogramming: initial={initial} is more than max={max}")));
        }
        Ok(Self { initial: initial.unwrap_or(default.initial).min(max), max, base, finish })
    }

    /// Processors that nobody has or has been promised in this decision.
    fn free(&self, view: &View<'_>, queue: Queue<'_>) -> u32 {
        let promised = |slot: Slot| {
            let started = queue.started.iter().find(|waiting| waiting.app == slot);
            started.map_or(0, |waiting| waiting.need(start(self.base, view.capacity)))
        };
        let taken = |&slot: &Slot| view.app(slot).allocation.max(promised(slot));
        view.capacity.saturating_sub(view.order.iter().map(taken).sum())
    }

    /// Says whether one more application may run.
    fn has_room(&self, view: &View<'_>) -> bool {
        let n = view.order.len() as u32;
        let any = |found: fn(Search) -> bool| view.order.iter().any(|&slot| found(view.app(slot).search));
        let grows = any(|search| search == Search::Settled { grows: true });
        if n >= self.max || self.finish == Finish::Test && grows {
            return false;
        }
        let searching = any(|search| matches!(search, Search::None | Search::Going));
        n < self.initial || !searching || any(|search| search == Search::Bad)
    }
}

impl Admission for Multiprogramming {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        let default = Self::default();
        let number = |name: &str, value: u32, default: u32| (value != default).then(|| format!("{name}={value}"));
        let all = [
            number("initial", self.initial, default.initial),
            number("max", self.max, default.max),
            number("base", self.base, default.base),
            (self.finish == Finish::Test).then(|| "finish=test".to_owned()),
        ];
        join(all)
    }

    fn queues(&self) -> bool {
        true
    }

    fn needs_searches(&self) -> bool {
        true
    }

    fn next(&mut self, view: &View<'_>, queue: Queue<'_>, from: usize) -> Option<usize> {
        let head = queue.waiting.first().filter(|_| from == 0)?;
        let starts = self.has_room(view) && self.free(view, queue) >= head.need(start(self.base, view.capacity));
        starts.then_some(0)
    }

    fn starts(&mut self, view: &View<'_>, app: Slot, offer: Offer) -> bool {
        // Others may be without processors for reasons of their own: this one takes only free
        // processors.
        offer.count >= view.app(app).min.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::part::Waiting;

    const STABLE: Search = Search::Settled { grows: false };
    const GROWS: Search = Search::Settled { grows: true };

    fn waiting(processors: u32) -> Waiting {
        Waiting { app: Slot(99), processors, estimate_ns: None }
    }

    /// Says whether an application that wants so many starts on 16 processors beside others that
    /// have 2 each.
    fn starts(admission: &mut Multiprogramming, running: &[Search], wants: u32) -> bool {
        let mut case = Case::new(16).wants(&vec![16; running.len()]).holds(&vec![2; running.len()]);
        for (app, &search) in case.apps.iter_mut().zip(running) {
            app.search = search;
        }
        let queue = [waiting(wants), waiting(1)];
        case.with_view(|view| {
            let next = admission.next(view, Queue { waiting: &queue, started: &[], free: 0 }, 0);
            assert!(next.is_none_or(|at| at == 0), "only the head");
            next.is_some()
        })
    }

    #[test]
    fn up_to_the_initial_level_only_processors_count() {
        let mut admission = Multiprogramming::default();
        assert!(starts(&mut admission, &[], 16));
        assert!(starts(&mut admission, &[Search::Going; 3], 16));
        assert!(!starts(&mut admission, &[Search::Going; 4], 16));
        let mut admission = Multiprogramming { initial: 8, ..admission };
        assert!(!starts(&mut admission, &[Search::Going; 7], 16), "two of four are free");
        assert!(starts(&mut admission, &[Search::Going; 7], 2), "it wants no more");
        assert!(!starts(&mut admission, &[Search::Going; 8], 1), "nothing is free");
    }

    #[test]
    fn beyond_it_if_all_are_stable_or_one_does_badly() {
        let mut admission = Multiprogramming::default();
        assert!(starts(&mut admission, &[STABLE, GROWS, STABLE, STABLE], 16));
        assert!(!starts(&mut admission, &[STABLE, STABLE, STABLE, Search::Going], 16));
        assert!(!starts(&mut admission, &[STABLE, STABLE, STABLE, Search::None], 16), "just started");
        assert!(starts(&mut admission, &[Search::Bad, STABLE, STABLE, Search::Going], 16));
        let mut admission = Multiprogramming { max: 4, ..admission };
        assert!(!starts(&mut admission, &[STABLE; 4], 16));
    }

    #[test]
    fn tests_may_come_first() {
        let mut admission = Multiprogramming { finish: Finish::Test, ..Multiprogramming::default() };
        assert!(!starts(&mut admission, &[GROWS, STABLE], 16));
        assert!(starts(&mut admission, &[STABLE, STABLE], 16), "its tests are used up");
    }

    #[test]
    fn several_may_start_in_one_decision_as_long_as_there_are_processors() {
        let case = Case::new(16).wants(&[16, 16, 16, 16]);
        let queue = [waiting(16)];
        case.with_view(|view| {
            let started: Vec<_> = (0..4).map(|slot| Waiting { app: Slot(slot), ..queue[0] }).collect();
            let mut next = |some: usize| {
                let running = View { order: &view.order[..some], ..*view };
                let queue = Queue { waiting: &queue, started: &started[..some], free: 0 };
                Multiprogramming { initial: 9, ..Multiprogramming::default() }.next(&running, queue, 0)
            };
            assert_eq!([0, 1, 2, 3, 4].map(&mut next), [Some(0), Some(0), Some(0), Some(0), None]);
        });
    }

    #[test]
    fn small_machines_start_applications_with_one() {
        let case = Case::new(2).wants(&[2]).holds(&[1]);
        case.with_view(|view| {
            let queue = Queue { waiting: &[waiting(2)], started: &[], free: 0 };
            assert_eq!(Multiprogramming::default().next(view, queue, 0), Some(0));
        });
    }

    #[test]
    fn what_it_takes_is_enough_for_its_minimum() {
        let case = Case::new(8).wants(&[8, 8]).limits(1, 3, 8);
        case.with_view(|view| {
            let starts =
                |count| Multiprogramming::default().starts(view, Slot(1), Offer { count, others_served: false });
            assert!(starts(3) && !starts(2));
        });
    }
}
