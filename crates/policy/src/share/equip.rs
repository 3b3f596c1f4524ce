//! The processors divided by the number of applications; the remainder stays unused.
//!
//! **Source**: Equipartition, Martorell et al. 2000, §4.1.
//!
//! **Terms**: P = `capacity`; n = applications; `n_cpus_requested` = request, within the user's
//! limits.
//!
//! **Algorithm**
//! ```text
//! n > P: the first P in order of arrival count, the others get 0
//! a(j) = min(r(j), floor(P / n))
//! leftover=worklist: what is left over goes one by one, in order of arrival, to those with r(j) > a(j)
//! ```
//!
//! **Differs from the paper**: the user's minimum is kept where there is one. A processor that is
//! released leads to a new decision at once, so there is no later moment at which it would visit a
//! work-list.
//!
//! **Use when** a simple reference is wanted, as in the paper. **Avoid when** no processor should
//! be idle: `equi`.

use super::machinery::guarantee::{guarantee, served};
use crate::answer::Answer;
use crate::part::{Info, Share};
use crate::shares::Shares;
use crate::view::{Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "equip",
        summary: "Divide by the number of applications and leave unused what that leaves over",
        source: "Martorell et al. 2000, §4.1",
    },
    build: |given| Ok(Box::new(Equip::new(given.choice("leftover", &Leftover::ALL)?.unwrap_or_default()))),
};

/// The rule for processors that the division leaves over. Default `idle` (the paper: they "can
/// remain unallocated").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftover {
    /// They stay free.
    #[default]
    Idle,
    /// They go to applications that want more.
    Worklist,
}

impl Leftover {
    /// All of them, with their words in policy texts.
    pub const ALL: [(&'static str, Self); 2] = [("idle", Self::Idle), ("worklist", Self::Worklist)];
}

/// Config and state.
#[derive(Debug, Clone, Default)]
pub struct Equip {
    leftover: Leftover,
    /// The n applications among which P is divided.
    served: Vec<Slot>,
}

impl Equip {
    /// A share with a rule for processors that are left over.
    pub fn new(leftover: Leftover) -> Self {
        Self { leftover, served: Vec::new() }
    }
}

impl Share for Equip {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        match self.leftover {
            Leftover::Idle => String::new(),
            Leftover::Worklist => "leftover=worklist".into(),
        }
    }

    fn conserves_work(&self) -> bool {
        self.leftover == Leftover::Worklist
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        served(view, &mut self.served);
        let share = view.capacity / (self.served.len() as u32).max(1);
        for &slot in &self.served {
            shares.set(slot, view.app(slot).cap(view.capacity).min(share));
        }
        guarantee(view, &self.served, shares);
        if self.leftover == Leftover::Worklist {
            give_leftover(view, &self.served, shares);
        }
    }
}

/// Gives one processor in each round to the applications that want more.
fn give_leftover(view: &View<'_>, served: &[Slot], shares: &mut Shares) {
    let mut left = view.capacity - shares.total();
    let mut given = true;
    while left > 0 && given {
        given = false;
        for &slot in served {
            if left > 0 && shares.count(slot) < view.app(slot).cap(view.capacity) {
                shares.set(slot, shares.count(slot) + 1);
                left -= 1;
                given = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn floor_of_the_division_and_leftovers_idle() {
        // Martorell et al. 2000, §4.1: 32 processors, five applications: 6 each; a processor that
        // an application does not request stays unallocated.
        assert_eq!(Case::new(32).wants(&[8, 12, 4, 8, 16]).divide(&mut Equip::default()), [6, 6, 4, 6, 6]);
    }

    #[test]
    fn leftovers_by_the_work_list() {
        let mut equip = Equip::new(Leftover::Worklist);
        assert_eq!(Case::new(32).wants(&[8, 12, 4, 8, 16]).divide(&mut equip), [7, 7, 4, 7, 7]);
    }

    #[test]
    fn more_applications_than_processors() {
        assert_eq!(Case::new(2).wants(&[4, 4, 4]).divide(&mut Equip::default()), [1, 1, 0]);
    }
}
