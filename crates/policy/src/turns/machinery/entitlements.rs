//! Whole processors out of entitlements that are fractions. The part of an entitlement that
//! rounding leaves out is carried to the next division, so that over some divisions every
//! application has its entitlement, however small it is.
//!
//! **Source**: Antonopoulos et al. 2004, §4, prints no rounding: largest remainder is taken here.
//! Without the carrying, DSS of one quantum and DSS of an epoch would be different entitlements:
//! three, three, one and one thread on four processors would have one processor each in every
//! quantum, and three, three, one and one of the eight slots of two quanta.
//!
//! **Algorithm**
//! ```text
//! claim(j) += exact share of j
//! a(j) = floor(claim(j)), within 0 and cap(j); 0 if below the user's minimum
//! while fewer are given than the exact shares sum up to: 1 (or the minimum) to the largest claim(j) - a(j) below its cap, of equals the earliest
//! while more are given:                                  1 (or the minimum) from the smallest claim(j) - a(j), of equals the latest
//! claim(j) -= a(j), within one slot (or the minimum) of 0
//! ```
//! An application that is owed a whole slot (or its minimum) is overdue: it has that before all
//! others, and overdue ones in the order of the view, which begins with the one that was served
//! longest ago. Without this, claims that are more than there is, as where minimums do not fit side
//! by side, would leave the same application without any for ever.

use crate::shares::Shares;
use crate::view::{AppId, Slot, View};

/// Thousandths of a processor.
const MILLI: i64 = 1000;

/// The application in a slot.
#[derive(Debug, Clone, Copy, Default)]
struct Claim {
    app: Option<AppId>,
    /// Thousandths of a processor that it is still owed; below 0 if it has had too much.
    milli: i64,
    /// a(j) of the latest division.
    count: u32,
    /// cap(j).
    cap: u32,
    /// The user's minimum, at least 1.
    min: u32,
    /// Processors that rounding cannot take away: its minimum if it is overdue and that fits.
    sure: u32,
}

impl Claim {
    /// Thousandths of a processor by which its claim is above its count.
    fn remainder(&self) -> i64 {
        self.milli - i64::from(self.count) * MILLI
    }

    /// Processors that it takes next: all of its minimum at once.
    fn next_more(&self) -> u32 {
        if self.count == 0 { self.min } else { 1 }
    }

    /// Processors that it loses next: all of its minimum at once.
    fn next_less(&self) -> u32 {
        if self.count <= self.min { self.count } else { 1 }
    }
}

/// Claims and counts.
#[derive(Debug, Clone, Default)]
pub struct Entitlements {
    /// By slot.
    claims: Vec<Claim>,
    /// Applications in the order in which they are rounded: remainder and position.
    ranking: Vec<(i64, u32, Slot)>,
}

impl Entitlements {
    /// Turns the exact shares of the applications in `view.order` into counts.
    pub fn grant(&mut self, view: &View<'_>, shares: &Shares) {
        self.claims.resize(view.apps.len(), Claim::default());
        self.claims.iter_mut().for_each(|claim| claim.count = 0);
        let (mut exact_milli, mut given) = (0, 0);
        for &slot in view.order {
            let (app, exact) = (view.app(slot), shares.exact_milli(slot));
            let claim = &mut self.claims[slot.index()];
            let carried = if claim.app == Some(app.id) { claim.milli } else { 0 };
            let (cap, min) = (app.cap(view.capacity), app.min.max(1));
            let milli = i64::try_from(exact).unwrap_or(i64::MAX).saturating_add(carried);
            let count = u32::try_from(milli.max(0) / MILLI).unwrap_or(cap).min(cap);
            let count = if count < min { 0 } else { count };
            let sure = if carried >= i64::from(min) * MILLI { min.min(cap) } else { 0 };
            *claim = Claim { app: Some(app.id), milli, count, cap, min, sure };
            exact_milli += exact;
        }
        let wanted = exact_milli.div_ceil(MILLI as u64).min(u64::from(view.capacity)) as u32;
        let mut left = wanted;
        for slot in view.order {
            let claim = &mut self.claims[slot.index()];
            claim.sure = if claim.sure <= left { claim.sure } else { 0 };
            left -= claim.sure;
            claim.count = claim.count.max(claim.sure);
            given += claim.count;
        }
        while given < wanted && self.round_up(view.order, wanted, &mut given) {}
        while given > wanted && self.round_down(view.order, wanted, &mut given) {}
        self.settle(view.order);
    }

    /// a(j) of the latest division.
    pub fn count(&self, slot: Slot) -> u32 {
        self.claims.get(slot.index()).map_or(0, |claim| claim.count)
    }

    /// Gives to each in order until `wanted` are given. False if nobody can take any.
    fn round_up(&mut self, order: &[Slot], wanted: u32, given: &mut u32) -> bool {
        self.rank(order, |claim| (claim.count + claim.next_more() <= claim.cap).then(|| -claim.remainder()));
        let before = *given;
        for &(_, _, slot) in &self.ranking {
            let claim = &mut self.claims[slot.index()];
            let more = claim.next_more();
            if *given + more <= wanted {
                claim.count += more;
                *given += more;
            }
        }
        *given > before
    }

    /// Takes from each in order until no more than `wanted` are given. False if nobody has any.
    fn round_down(&mut self, order: &[Slot], wanted: u32, given: &mut u32) -> bool {
        self.rank(order, |claim| (claim.count > claim.sure).then(|| -claim.remainder()));
        let before = *given;
        for &(_, _, slot) in self.ranking.iter().rev() {
            if *given > wanted {
                let claim = &mut self.claims[slot.index()];
                let less = claim.next_less();
                claim.count -= less;
                *given -= less;
            }
        }
        *given < before
    }

    /// Sorts the applications that have a key by it, of equals the earliest first.
    fn rank(&mut self, order: &[Slot], key: impl Fn(&Claim) -> Option<i64>) {
        self.ranking.clear();
        for (position, &slot) in (0..).zip(order) {
            if let Some(key) = key(&self.claims[slot.index()]) {
                self.ranking.push((key, position, slot));
            }
        }
        self.ranking.sort_unstable_by_key(|&(key, position, _)| (key, position));
    }

    /// Keeps the claims that are left.
    fn settle(&mut self, order: &[Slot]) {
        for slot in order {
            let claim = &mut self.claims[slot.index()];
            let most = i64::from(claim.min) * MILLI;
            claim.milli = claim.remainder().clamp(-most, most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::part::Share;
    use crate::random::Random;
    use crate::share::dss::Dss;

    /// Divides once.
    fn divide(case: &Case, entitlements: &mut Entitlements) -> Vec<u32> {
        let mut shares = Shares::new();
        shares.reset(case.apps.len());
        case.with_view(|view| {
            Dss::default().divide(view, &mut shares);
            entitlements.grant(view, &shares);
        });
        (0..case.apps.len()).map(|slot| entitlements.count(Slot(slot as u32))).collect()
    }

    #[test]
    fn what_rounding_leaves_out_comes_later() {
        // 1.5, 1.5, 0.5 and 0.5 of four processors.
        let case = Case::new(4).wants(&[3, 3, 1, 1]);
        let mut entitlements = Entitlements::default();
        assert_eq!(divide(&case, &mut entitlements), [2, 2, 0, 0]);
        assert_eq!(divide(&case, &mut entitlements), [1, 1, 1, 1]);
        assert_eq!(divide(&case, &mut entitlements), [2, 2, 0, 0]);
    }

    #[test]
    fn where_all_requests_fit_they_are_the_counts() {
        let mut case = Case::new(4).wants(&[2, 2]);
        let mut entitlements = Entitlements::default();
        assert_eq!(divide(&case, &mut entitlements), [2, 2]);
        case.apps[0].request = 4;
        assert_eq!(divide(&case, &mut entitlements).iter().sum::<u32>(), 4);
    }

    #[test]
    fn a_minimum_comes_at_once_or_not_at_all() {
        let mut case = Case::new(4).wants(&[4, 4]);
        case.apps[0].min = 3;
        let mut entitlements = Entitlements::default();
        let mut sums = [0, 0];
        for _ in 0..12 {
            let counts = divide(&case, &mut entitlements);
            assert!(counts[0] == 0 || counts[0] >= 3, "{counts:?}");
            sums.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
        }
        assert!(sums[0].abs_diff(24) <= 4 && sums.iter().sum::<u32>() <= 48, "{sums:?}");
    }

    /// After any number of divisions nobody is further than a processor from its entitlement, and
    /// no processor is left.
    #[test]
    fn nobody_is_further_than_one_from_its_entitlement() {
        let mut random = Random::new(0xE17);
        for _ in 0..200 {
            let requests: Vec<u32> = (0..=random.below(12)).map(|_| 1 + random.below(12)).collect();
            let processors = requests.len() as u32 + random.below(16);
            let all: u32 = requests.iter().map(|&request| request.min(processors)).sum();
            let case = Case::new(processors).wants(&requests);
            let mut entitlements = Entitlements::default();
            let mut had = vec![0; requests.len()];
            for divisions in 1..60 {
                let counts = divide(&case, &mut entitlements);
                assert_eq!(counts.iter().sum::<u32>(), processors.min(all), "{requests:?} on {processors}");
                for ((had, count), &request) in had.iter_mut().zip(&counts).zip(&requests) {
                    *had += count;
                    let request = f64::from(request.min(processors));
                    let entitled = (request * f64::from(processors) / f64::from(all)).min(request);
                    let owed = entitled * f64::from(divisions) - f64::from(*had);
                    assert!(owed.abs() <= 1.0, "{requests:?} on {processors}: {counts:?} owe {owed}");
                }
            }
        }
    }
}
