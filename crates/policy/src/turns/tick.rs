//! All applications run, and the share part divides anew when a quantum is over.
//!
//! **Source**: Martorell et al. 2000, §3.4: the scheduler thread of the CPU manager, figure 2.
//!
//! **Terms**: a *quantum* is the time between two decisions; the *work-list* has the applications
//! that want more than they have.
//!
//! **Algorithm**
//! ```text
//! running = all admitted applications
//! when the quantum is over: the share part divides
//! between: nothing is taken; what is released goes to the work-list, one processor at a time
//! an application without processors does not run
//! ```
//!
//! **Differs from the paper**: a quantum begins with the first application, not with the manager,
//! so that nobody waits on an empty machine.
//!
//! **Use when** requests change often and moving processors at each change costs more than it
//! gains. **Avoid when** applications come and go within a few quanta: they wait for the next one.

use crate::answer::Answer;
use crate::part::{Info, Needs, Turns};
use crate::turn::Turn;
use crate::view::View;
use numaestro_quantity::DURATION;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "tick",
        summary: "Everybody runs, and counts hold for a quantum; what is released before goes to who wants more",
        source: "Martorell et al. 2000, §3.4",
    },
    build: |given| Ok(Box::new(Tick::new(given.duration("quantum")?.unwrap_or(Tick::QUANTUM_NS)))),
};

/// The quantum, and when the present one ends.
#[derive(Debug, Clone)]
pub struct Tick {
    quantum_ns: u64,
    ends: Option<u64>,
}

impl Tick {
    /// Default length of a quantum, nanoseconds, as in the paper.
    pub const QUANTUM_NS: u64 = 100_000_000;

    /// With a quantum of this length.
    pub const fn new(quantum_ns: u64) -> Self {
        Self { quantum_ns, ends: None }
    }
}

impl Turns for Tick {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs { preemption: true, ..Needs::NONE }
    }

    fn parameters(&self) -> String {
        if self.quantum_ns == Self::QUANTUM_NS {
            String::new()
        } else {
            format!("quantum={}", DURATION.write(self.quantum_ns))
        }
    }

    fn stops(&self) -> bool {
        true
    }

    fn holds_counts(&self) -> bool {
        true
    }

    fn now(&mut self, view: &View<'_>, _turn: &mut Turn) -> Option<u64> {
        let begins = match self.ends {
            _ if view.order.is_empty() => {
                self.ends = None;
                return None;
            }
            Some(end) if view.now_ns < end => return self.ends,
            // The quantum keeps its beat, however late this is asked.
            Some(end) => view.now_ns - (view.now_ns - end) % self.quantum_ns,
            None => view.now_ns,
        };
        self.ends = Some(begins.saturating_add(self.quantum_ns));
        self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    const MS: u64 = 1_000_000;

    fn ask(tick: &mut Tick, case: &mut Case, now_ns: u64) -> Option<u64> {
        case.now_ns = now_ns;
        case.with_view(|view| {
            let mut turn = Turn::new();
            turn.reset(view.order);
            let end = tick.now(view, &mut turn);
            assert_eq!((turn.running.as_slice(), turn.limits()), (view.order, &[][..]));
            end
        })
    }

    #[test]
    fn everybody_runs_and_quanta_follow_one_another() {
        let (mut tick, mut case) = (Tick::new(100 * MS), Case::new(2).wants(&[1, 1, 1]));
        assert_eq!(ask(&mut tick, &mut case, 7 * MS), Some(107 * MS));
        assert_eq!(ask(&mut tick, &mut case, 50 * MS), Some(107 * MS));
        assert_eq!(ask(&mut tick, &mut case, 107 * MS), Some(207 * MS));
        // Late by two beats and a half.
        assert_eq!(ask(&mut tick, &mut case, 457 * MS), Some(507 * MS));
    }

    #[test]
    fn nobody_waits_on_an_empty_machine() {
        let (mut tick, mut case, mut nobody) = (Tick::new(100 * MS), Case::new(2).wants(&[1]), Case::new(2));
        assert_eq!(ask(&mut tick, &mut nobody, 3 * MS), None);
        assert_eq!(ask(&mut tick, &mut case, 9 * MS), Some(109 * MS));
        assert_eq!(ask(&mut tick, &mut nobody, 20 * MS), None);
        assert_eq!(ask(&mut tick, &mut case, 30 * MS), Some(130 * MS));
    }
}
