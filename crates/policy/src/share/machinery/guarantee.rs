//! Keeps the user's minimum, for policies whose papers have none: it corrects counts that a rule
//! has found.

use crate::shares::Shares;
use crate::view::{Slot, View};
use std::cmp::Reverse;

/// Puts into `out`, in order of arrival, each application whose minimum fits beside those of the
/// earlier ones. The others get nothing: an application never has fewer than its minimum. With
/// minimums of 1 these are the first P.
pub fn served(view: &View<'_>, out: &mut Vec<Slot>) {
    out.clear();
    let mut left = view.capacity;
    for &slot in view.order {
        let app = view.app(slot);
        if app.has_its_minimum(left, view.capacity) {
            left -= app.min;
            out.push(slot);
        }
    }
}

/// Raises every application of `served` that has processors to its minimum. The processors are
/// those left over, then one by one those of the application with most above its own minimum, of
/// equals the latest.
pub fn guarantee(view: &View<'_>, served: &[Slot], shares: &mut Shares) {
    let mut left = view.capacity - shares.total();
    for &slot in served {
        let (count, min) = (shares.count(slot), view.app(slot).min);
        if count == 0 || count >= min {
            continue;
        }
        let from_left = left.min(min - count);
        left -= from_left;
        shares.set(slot, count + from_left);
        while shares.count(slot) < min
            && let Some(giver) = richest(view, served, shares)
        {
            shares.set(giver, shares.count(giver) - 1);
            shares.set(slot, shares.count(slot) + 1);
        }
    }
}

/// The application with most processors above its minimum.
fn richest(view: &View<'_>, served: &[Slot], shares: &Shares) -> Option<Slot> {
    let above = |slot: Slot| shares.count(slot).saturating_sub(view.app(slot).min);
    let candidates = served.iter().enumerate().filter(|&(_, &slot)| above(slot) > 0);
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
            guarantee(view, view.order, &mut shares);
        });
        assert_eq!([0, 1, 2].map(|slot| shares.count(Slot(slot))), [2, 1, 5]);
    }

    #[test]
    fn serves_those_that_fit_beside_the_earlier_ones() {
        let case = Case::new(4).wants(&[4, 4, 4]).limits(0, 3, 4).limits(1, 3, 4);
        let mut out = Vec::new();
        case.with_view(|view| served(view, &mut out));
        assert_eq!(out, [Slot(0), Slot(2)]);
    }
}
