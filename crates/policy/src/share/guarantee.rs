//! The user's minimum, for policies whose papers know none. Knows nothing of the rule that found the counts.

use crate::shares::Shares;
use crate::view::{Slot, View};
use std::cmp::Reverse;

/// Raises every application that has processors, in order of arrival, to its minimum: from processors that are left over, then one
/// by one from the application with most above its own minimum. Who cannot be raised gets 0, as do those that would have
/// fewer than their minimum: fewer is never given.
pub fn guarantee(view: &View<'_>, shares: &mut Shares) {
    let mut left = view.capacity - view.order.iter().map(|&slot| shares.count(slot)).sum::<u32>();
    for &slot in view.order {
        let (count, min) = (shares.count(slot), view.app(slot).min);
        if count == 0 || count >= min {
            continue;
        }
        let from_left = left.min(min - count);
        left -= from_left;
        shares.set(slot, count + from_left);
        while shares.count(slot) < min {
            let Some(giver) = richest(view, shares, slot) else {
                left += shares.count(slot);
                shares.set(slot, 0);
                break;
            };
            shares.set(giver, shares.count(giver) - 1);
            shares.set(slot, shares.count(slot) + 1);
        }
    }
}

/// The other application with most processors above its minimum; of equals the latest.
fn richest(view: &View<'_>, shares: &Shares, but: Slot) -> Option<Slot> {
    let above = |slot: Slot| shares.count(slot).saturating_sub(view.app(slot).min);
    let candidates = view.order.iter().enumerate().filter(|&(_, &slot)| slot != but && above(slot) > 0);
    candidates.min_by_key(|&(position, &slot)| (Reverse(above(slot)), Reverse(position))).map(|(_, &slot)| slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn takes_from_what_is_left_then_from_the_richest() {
        let case = Case::new(8).wants(&[8, 8, 8]).limits(2, 5, 8);
        let mut shares = Shares::new();
        case.with_view(|view| {
            shares.reset(3);
            for (slot, count) in [(0, 2), (1, 4), (2, 1)] {
                shares.set(Slot(slot), count);
            }
            guarantee(view, &mut shares);
        });
        assert_eq!([0, 1, 2].map(|slot| shares.count(Slot(slot))), [1, 2, 5]);
    }

    #[test]
    fn a_minimum_that_cannot_be_had_gives_nothing() {
        let case = Case::new(4).wants(&[4, 4]).limits(0, 3, 4).limits(1, 3, 4);
        let mut shares = Shares::new();
        case.with_view(|view| {
            shares.reset(2);
            shares.set(Slot(0), 2);
            shares.set(Slot(1), 2);
            guarantee(view, &mut shares);
        });
        assert_eq!([shares.count(Slot(0)), shares.count(Slot(1))], [3, 0]);
    }
}
