//! Water-filling with weights, floors and caps, in whole numbers.
//!
//! **Source**: CSS flexible boxes, §9.7 there, as `share=equi` has it; rounded by largest
//! remainder.
//!
//! **Algorithm**
//! ```text
//! open = all
//! repeat: quota(j) = left · weight(j) / weight of open         for j in open
//!         too_much   = sum of quota(j) - cap(j) where positive
//!         too_little = sum of floor(j) - quota(j) where positive
//!         too_much ≥ too_little: fix those above their cap at it
//!         else:                  fix those below their floor at it
//! until none was fixed
//! round quotas down; what is left goes to those below their cap: by rank, then by largest
//! remainder, then to one that has more than that already, then by order
//! ```
//!
//! Every share that no bound has fixed is less than one away from its quota.

use std::cmp::Reverse;

/// One application or party that gets a part of the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Vessel {
    /// Weight, at least 1.
    pub weight: u32,
    /// Least that it gets; not above `cap`. The sum of all floors is not above the total.
    pub floor: u32,
    /// Most that it gets.
    pub cap: u32,
    /// Processors it has now: they decide between equal remainders.
    pub has: u32,
    /// The lower its rank, the sooner it gets a processor that rounding leaves. Ranks differ only
    /// where turns are taken.
    pub rank: u64,
    /// Processors it gets.
    pub got: u32,
    fixed: bool,
    remainder: u64,
}

impl Vessel {
    pub(crate) const fn new(weight: u32, floor: u32, cap: u32, has: u32, rank: u64) -> Self {
        let weight = if weight == 0 { 1 } else { weight };
        Self { weight, floor, cap, has, rank, got: 0, fixed: false, remainder: 0 }
    }
}

/// The sums `too_much` and `too_little`, in processors times weight. Sums of thousands of products
/// need more than 64 bits.
fn beyond(vessels: &[Vessel], left: u32, weight: u64) -> (u128, u128) {
    let (mut much, mut little) = (0, 0);
    for vessel in vessels.iter().filter(|vessel| !vessel.fixed) {
        let quota = u128::from(left) * u128::from(vessel.weight);
        much += quota.saturating_sub(u128::from(vessel.cap) * u128::from(weight));
        little += (u128::from(vessel.floor) * u128::from(weight)).saturating_sub(quota);
    }
    (much, little)
}

/// Divides `total` among `vessels`, as far as their caps allow.
pub(crate) fn fill(total: u32, vessels: &mut [Vessel]) {
    let mut left = total;
    for vessel in vessels.iter_mut() {
        (vessel.got, vessel.fixed) = (0, false);
    }
    loop {
        let weight: u64 = vessels.iter().filter(|vessel| !vessel.fixed).map(|vessel| u64::from(vessel.weight)).sum();
        if weight == 0 {
            return;
        }
        let (much, little) = beyond(vessels, left, weight);
        if much == 0 && little == 0 {
            round(left, weight, vessels);
            return;
        }
        let quota_of = u128::from(left);
        for vessel in vessels.iter_mut().filter(|vessel| !vessel.fixed) {
            let quota = quota_of * u128::from(vessel.weight);
            let bound = if much >= little { vessel.cap } else { vessel.floor };
            let reached = u128::from(bound) * u128::from(weight);
            if if much >= little { quota >= reached } else { quota < reached } {
                (vessel.got, vessel.fixed) = (bound, true);
                left -= bound.min(left);
            }
        }
    }
}

/// Rounds the quotas of the vessels that no bound has fixed to whole numbers.
fn round(left: u32, weight: u64, vessels: &mut [Vessel]) {
    let mut rest = left;
    for vessel in vessels.iter_mut().filter(|vessel| !vessel.fixed) {
        let quota = u64::from(left) * u64::from(vessel.weight);
        (vessel.got, vessel.remainder) = ((quota / weight) as u32, quota % weight);
        rest -= vessel.got;
    }
    // The rest is less than the number of open vessels.
    for _ in 0..rest {
        // A vessel whose quota is its cap has no remainder, but may have the lowest rank.
        let open = vessels.iter().enumerate().filter(|(_, vessel)| !vessel.fixed && vessel.got < vessel.cap);
        let key =
            |(at, vessel): &(usize, &Vessel)| (vessel.rank, Reverse(vessel.remainder), vessel.has <= vessel.got, *at);
        let Some((at, _)) = open.min_by_key(key) else { return };
        // A vessel is rounded up once at most.
        (vessels[at].got, vessels[at].fixed) = (vessels[at].got + 1, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(total: u32, vessels: &[(u32, u32, u32)]) -> Vec<u32> {
        let mut vessels: Vec<_> =
            vessels.iter().map(|&(weight, floor, cap)| Vessel::new(weight, floor, cap, 0, 0)).collect();
        fill(total, &mut vessels);
        vessels.iter().map(|vessel| vessel.got).collect()
    }

    #[test]
    fn by_weight_within_bounds() {
        assert_eq!(filled(8, &[(1000, 0, 8), (2000, 0, 8), (1000, 0, 8)]), [2, 4, 2]);
        assert_eq!(filled(8, &[(1000, 0, 1), (2000, 0, 8), (1000, 0, 8)]), [1, 5, 2]);
        assert_eq!(filled(8, &[(1000, 5, 8), (3000, 0, 8)]), [5, 3]);
        assert_eq!(filled(8, &[(1, 0, 2), (1, 0, 3)]), [2, 3]);
        assert_eq!(filled(0, &[(1, 0, 2)]), [0]);
    }

    #[test]
    fn equal_remainders_stay_where_they_are() {
        let mut vessels = [Vessel::new(1, 0, 8, 3, 0), Vessel::new(1, 0, 8, 4, 0)];
        fill(7, &mut vessels);
        assert_eq!((vessels[0].got, vessels[1].got), (3, 4));
    }

    #[test]
    fn what_rounding_leaves_is_not_for_one_that_is_at_its_cap() {
        // Quotas 3, 3.5 and 3.5: the first is at its cap, and has waited longest.
        let mut vessels = [Vessel::new(6, 0, 3, 0, 1), Vessel::new(7, 0, 8, 0, 2), Vessel::new(7, 0, 8, 0, 3)];
        fill(10, &mut vessels);
        assert_eq!(vessels.map(|vessel| vessel.got), [3, 4, 3]);
    }

    proptest! {
        #[test]
        fn whatever_the_bounds(
            total in 0u32..200,
            drawn in proptest::collection::vec((1u32..5000, 0u32..20, 0u32..60, 0u64..4), 0..12),
        ) {
            let mut room = total;
            let mut vessels: Vec<_> = drawn.iter().map(|&(weight, floor, cap, rank)| {
                let floor = floor.min(cap).min(room);
                room -= floor;
                Vessel::new(weight, floor, cap, 0, rank)
            }).collect();
            fill(total, &mut vessels);
            let got: u32 = vessels.iter().map(|vessel| vessel.got).sum();
            let caps: u32 = vessels.iter().map(|vessel| vessel.cap).sum();
            prop_assert_eq!(got, total.min(caps), "{:?}", vessels);
            for vessel in &vessels {
                prop_assert!(vessel.floor <= vessel.got && vessel.got <= vessel.cap, "{:?}", vessel);
            }
            // A vessel below its cap has no less for its weight than a vessel above its floor, but
            // for rounding.
            for poor in vessels.iter().filter(|vessel| vessel.got < vessel.cap) {
                for rich in vessels.iter().filter(|vessel| vessel.got > vessel.floor) {
                    let level = |got: f64, of: &Vessel| got / f64::from(of.weight);
                    let (low, high) = (level(f64::from(poor.got) + 1.0, poor), level(f64::from(rich.got) - 1.0, rich));
                    prop_assert!(low >= high - 1e-9, "{:?}", vessels);
                }
            }
        }
    }
}
