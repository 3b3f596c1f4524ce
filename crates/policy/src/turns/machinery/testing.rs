//! For tests of turns: quanta one after another, random situations, and the waits of applications.

use super::ring::request;
use crate::conformance::{Case, app};
use crate::part::Turns;
use crate::random::Random;
use crate::turn::Turn;
use crate::view::{AppId, Slot};

/// Length of a quantum in tests, nanoseconds.
pub const QUANTUM: u64 = 100;

/// Numbers of applications.
pub fn ids(numbers: &[u64]) -> Vec<AppId> {
    numbers.iter().copied().map(AppId).collect()
}

impl Case {
    /// Asks once: the applications that run, the end of the turn, and the next window.
    pub fn ask(&self, turns: &mut dyn Turns) -> (Vec<AppId>, Option<u64>, Vec<AppId>) {
        let (turn, end) = self.turn(turns);
        let app = |slot: &Slot| self.apps[slot.index()].id;
        (turn.running.iter().map(app).collect(), end, turn.next.iter().map(app).collect())
    }

    /// Asks once: the whole answer.
    pub fn turn(&self, turns: &mut dyn Turns) -> (Turn, Option<u64>) {
        let mut turn = Turn::new();
        turn.reset(&self.order);
        let end = self.with_view(|view| turns.now(view, &mut turn));
        assert!(turn.running.is_sorted_by_key(|&slot| self.apps[slot.index()].id), "{turn:?}");
        assert!(turn.running.iter().chain(&turn.next).all(|slot| self.order.contains(slot)), "{turn:?}");
        assert!(turn.next.iter().all(|slot| !turn.running.contains(slot)), "{turn:?}");
        (turn, end)
    }

    /// Lets one quantum pass: the applications that ran, and the next window.
    pub fn quantum(&mut self, turns: &mut dyn Turns) -> (Vec<AppId>, Vec<AppId>) {
        let (running, end, next) = self.ask(turns);
        assert_eq!((running.clone(), end, next.clone()), self.ask(turns), "another answer when asked again");
        self.now_ns = end.unwrap_or(self.now_ns + QUANTUM);
        (running, next)
    }
}

/// One to twenty applications on a small machine.
pub fn random_case(random: &mut Random) -> Case {
    let requests: Vec<u32> = (0..=random.below(20)).map(|_| 1 + random.below(20)).collect();
    let mut case = Case::new(1 + random.below(16)).wants(&requests);
    for app in &mut case.apps {
        app.min = 1 + random.below(3);
    }
    case
}

/// An application comes, goes or changes its request, at a time of its own.
pub fn random_change(case: &mut Case, random: &mut Random) {
    match random.below(6) {
        0 => {
            let id = case.apps.len() as u64 + 1;
            case.order.push(Slot(case.apps.len() as u32));
            case.apps.push(app(id, 1 + random.below(20)));
        }
        1 if case.order.len() > 1 => {
            case.order.remove(random.below(case.order.len() as u32) as usize);
        }
        2 => {
            let slot = case.order[random.below(case.order.len() as u32) as usize];
            case.apps[slot.index()].request = 1 + random.below(20);
        }
        _ => {}
    }
}

/// Checks that a window fits into k·P and into the machine's minimums, or is one application; each
/// in it can have a processor.
pub fn check_window(case: &Case, running: &[AppId], k_milli: u32) {
    case.with_view(|view| {
        let slots: Vec<Slot> =
            view.order.iter().copied().filter(|&slot| running.contains(&view.app(slot).id)).collect();
        let requests: u64 = slots.iter().map(|&slot| u64::from(request(view, slot))).sum();
        let minimums: u32 = slots.iter().map(|&slot| view.app(slot).min).sum();
        let budget = u64::from(view.capacity) * u64::from(k_milli) / 1000;
        assert!(
            slots.len() <= 1 || requests <= budget && minimums <= view.capacity,
            "{running:?}: {requests} of {budget}"
        );
        let anybody = view.order.iter().any(|&slot| view.app(slot).min <= view.capacity);
        assert_eq!(slots.is_empty(), !anybody, "somebody runs, if anybody can");
    });
}

/// The number of quanta that each application has waited.
#[derive(Debug, Default)]
pub struct Sliding {
    waits: Vec<Wait>,
}

/// An application that waits.
#[derive(Debug, Clone, Copy)]
struct Wait {
    app: AppId,
    quanta: usize,
    /// Applications there were when it began to wait, and those that have come since.
    others: usize,
}

impl Sliding {
    /// Ends a quantum in which these applications ran; `before`: the number before the latest
    /// change. Checks that none has waited for more quanta than there were applications that could
    /// run before it.
    pub fn ran(&mut self, case: &Case, running: &[AppId], before: usize) {
        let come = case.order.len().saturating_sub(before);
        let slots = case.order.iter().filter(|slot| case.apps[slot.index()].min <= case.pus.len() as u32);
        let waits = slots.map(|slot| {
            let app = case.apps[slot.index()].id;
            let new = Wait { app, quanta: 0, others: case.order.len().max(before) };
            match self.waits.iter().find(|wait| wait.app == app) {
                Some(_) if running.contains(&app) => new,
                Some(&Wait { quanta, others, .. }) => Wait { app, quanta: quanta + 1, others: others + come },
                None => Wait { quanta: usize::from(!running.contains(&app)), ..new },
            }
        });
        self.waits = waits.collect();
        assert!(self.waits.iter().all(|wait| wait.quanta <= wait.others), "{:?}", self.waits);
    }
}
