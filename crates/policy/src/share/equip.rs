//! Divide the processors by the number of applications, and leave unused what that leaves over.
//!
//! **Source**: Equipartition, Martorell et al. 2000, §4.1.
//!
//! **Terms**: P = `capacity`; n = applications; `n_cpus_requested` = request, within the user's limits.
//!
//! **Algorithm**
//! ```text
//! n > P: the first P in order of arrival get 1 each, the others 0
//! else   a(j) = min(r(j), floor(P / n))
//! leftover=worklist: what is left over goes one by one, in order of arrival, to those with r(j) > a(j)
//! ```
//!
//! **Differs from the paper**: the user's minimum is kept where there is one. A processor that is released leads to a new decision at
//! once, so there is no later moment at which it would visit a work-list.
//!
//! **Use when** a simple reference is wanted, as in the paper. **Avoid when** no processor should be idle: `equi`.

use super::guarantee;
use crate::part::{Info, Share};
use crate::shares::Shares;
use crate::view::View;

/// What happens to processors that the division leaves over. Default `idle` (the paper: they "can remain unallocated").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftover {
    /// They stay free.
    #[default]
    Idle,
    /// They go to applications that want more.
    Worklist,
}

/// Config; there is no state.
#[derive(Debug, Default)]
pub struct Equip {
    /// See [`Leftover`].
    pub leftover: Leftover,
}

impl Share for Equip {
    fn info(&self) -> Info {
        crate::catalogue::EQUIP
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
        let n = view.order.len() as u32;
        if n > view.capacity {
            for &slot in view.order.iter().take(view.capacity as usize) {
                shares.set(slot, 1);
            }
        } else if n > 0 {
            let share = view.capacity / n;
            for &slot in view.order {
                shares.set(slot, view.app(slot).request.min(view.app(slot).max).min(share));
            }
        }
        guarantee(view, shares);
        if self.leftover == Leftover::Worklist {
            give_leftover(view, shares);
        }
    }
}

/// One processor a turn to those that want more; who has none is first raised to its minimum, if that is possible.
fn give_leftover(view: &View<'_>, shares: &mut Shares) {
    let mut left = view.capacity - shares.total();
    let mut given = true;
    while left > 0 && given {
        given = false;
        for &slot in view.order {
            let app = view.app(slot);
            let count = shares.count(slot);
            let more = if count == 0 { app.min } else { 1 };
            if more <= left && count + more <= app.cap(view.capacity) {
                shares.set(slot, count + more);
                left -= more;
                given = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Case, share_conformance};

    #[test]
    fn floor_of_the_division_and_leftovers_idle() {
        // Martorell et al. 2000, §4.1: 32 processors, five applications: 6 each, what is requested less stays unallocated.
        assert_eq!(Case::new(32).wants(&[8, 12, 4, 8, 16]).divide(&mut Equip::default()), [6, 6, 4, 6, 6]);
    }

    #[test]
    fn leftovers_by_the_work_list() {
        let mut equip = Equip { leftover: Leftover::Worklist };
        assert_eq!(Case::new(32).wants(&[8, 12, 4, 8, 16]).divide(&mut equip), [7, 7, 4, 7, 7]);
    }

    #[test]
    fn more_applications_than_processors() {
        assert_eq!(Case::new(2).wants(&[4, 4, 4]).divide(&mut Equip::default()), [1, 1, 0]);
    }

    #[test]
    fn conforms() {
        share_conformance(&mut Equip::default());
        share_conformance(&mut Equip { leftover: Leftover::Worklist });
    }
}
