//! First come, first served, all of the request or nothing, until the end.
//!
//! **Source**: named in Martorell et al. 2000, §4; the rule is the usual one of batch systems.
//!
//! **Terms**: r(j) = request within the user's limits; P = `capacity`.
//!
//! **Algorithm**
//! ```text
//! every application that has processors keeps them
//! in order of arrival, the others: min(r(j), P) are free ⇒ j gets them; else stop (no backfill)
//! ```
//!
//! **Differs from the paper**: it gives no rule. An application whose request has fallen is clipped
//! to it; it does not grow again. If processors have gone away, the latest lose first.
//!
//! **Use when** jobs are rigid and the mean turnaround of a queue counts. **Avoid when** a job may
//! never end. Needs `admission=fifo`.

use crate::answer::Answer;
use crate::part::{Info, Share};
use crate::shares::Shares;
use crate::view::View;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "batch",
        summary: "All of the request or nothing, first come first served, until the end",
        source: "named in Martorell et al. 2000, §4",
    },
    build: |_| Ok(Box::new(Batch)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct Batch;

impl Share for Batch {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn conserves_work(&self) -> bool {
        false
    }

    fn grants_whole_requests(&self) -> bool {
        true
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        let mut left = view.capacity;
        for &slot in view.order {
            let app = view.app(slot);
            let kept = app.allocation.min(app.cap(view.capacity)).min(left);
            if kept >= app.min {
                shares.set(slot, kept);
                left -= kept;
            }
        }
        for &slot in view.order {
            let app = view.app(slot);
            if shares.count(slot) > 0 {
                continue;
            }
            let all = app.cap(view.capacity);
            if all > left || all < app.min {
                break;
            }
            shares.set(slot, all);
            left -= all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn the_head_blocks_those_behind_it() {
        let case = Case::new(8).wants(&[6, 4, 2]).holds(&[6, 0, 0]);
        assert_eq!(case.divide(&mut Batch), [6, 0, 0]);
    }

    #[test]
    fn starts_when_it_fits_and_is_clipped_to_the_machine() {
        assert_eq!(Case::new(8).wants(&[4, 4, 1]).divide(&mut Batch), [4, 4, 0]);
        assert_eq!(Case::new(8).wants(&[64]).divide(&mut Batch), [8]);
    }

    #[test]
    fn keeps_what_it_has_while_others_come() {
        assert_eq!(Case::new(8).wants(&[8, 8]).holds(&[3, 5]).divide(&mut Batch), [3, 5]);
    }
}
