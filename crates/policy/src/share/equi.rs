//! Equal shares, weighted. The others get the processors that one cannot use.
//!
//! **Source**: EQUI as Koita et al. §3.2 compare against (Gupta, Tucker, Urushibara 1991);
//! water-filling with weights and bounds as CSS flexible boxes resolve it (§9.7 there), rounded by
//! largest remainder.
//!
//! **Terms**: job = application; declared maximum = `max`; share = count.
//!
//! **Algorithm**
//! ```text
//! open = all; if their minimums do not fit: the heaviest, of equals the earliest, that fit beside each other (the others get 0)
//! repeat: quota(j) = processors left · weight(j) / weight of open         for j in open
//!         too_much = sum of quota(j) - cap(j) where positive; too_little = sum of min(j) - quota(j) where positive
//!         too_much ≥ too_little: fix those above their cap at it; else fix those below their minimum at it
//! until none was fixed
//! by=max: cap(j) = declared maximum in all of this, and at the end a(j) = min(request, share)
//! round quotas down; what is left goes by largest remainder, then to those that have more than that already, then by arrival
//! ```
//!
//! **Differs from the paper**: weights, minimum, maximum and request bound the share; recomputed
//! when a request changes. With `by=max` shares change when applications arrive and depart, not
//! when requests change, and processors above a request stay free until then. The paper only names
//! EQUI, and says nothing of either.
//!
//! **Use when** nothing is known of the applications. **Avoid when** requests tell how much they
//! really gain: `dss`.

use crate::answer::Answer;
use crate::part::{Info, Share};
use crate::shares::Shares;
use crate::view::{App, Slot, View};
use std::cmp::Reverse;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "equi",
        summary: "Everybody the same, weighted, and what one cannot use the others get",
        source: "EQUI, Koita et al. §3.2; water-filling with weights and bounds",
    },
    build: |given| Ok(Box::new(Equi::new(given.choice("by", &By::ALL)?.unwrap_or_default()))),
};

/// The bound of a share from above. Default: the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// The request: the others get the processors that an application does not ask for.
    #[default]
    Request,
    /// The declared maximum: the share stays the same while requests change, and processors that an
    /// application does not ask for stay free.
    Max,
}

impl By {
    /// All of them, with their words in policy texts.
    pub const ALL: [(&'static str, Self); 2] = [("request", Self::Request), ("max", Self::Max)];

    /// cap(j).
    fn cap(self, view: &View<'_>, app: &App) -> u32 {
        match self {
            Self::Request => app.cap(view.capacity),
            Self::Max => app.max.max(app.min).min(view.capacity).min(app.placeable),
        }
    }
}

/// Config and buffers.
#[derive(Debug, Clone, Default)]
pub struct Equi {
    by: By,
    /// Applications that are served and not fixed yet.
    open: Vec<Slot>,
    /// Remainders, for rounding.
    remainders: Vec<(Reverse<u64>, Reverse<bool>, u32)>,
}

impl Share for Equi {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        if self.by == By::Max { "by=max".into() } else { String::new() }
    }

    fn conserves_work(&self) -> bool {
        self.by == By::Request
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        self.serve(view);
        let mut left = view.capacity;
        while let Some(weight) = self.weight_of_open(view)
            && let Some(bound) = self.bound_to_fix(view, left, weight)
        {
            self.open.retain(|&slot| {
                let Some(count) = bound.fixes(self.by, view, slot, left, weight) else { return true };
                shares.set(slot, count);
                shares.set_exact(slot, u64::from(count), 1);
                false
            });
            // Only one kind of bound is fixed at a time, so the processors left are never fewer
            // than the minimums of the rest.
            left = view.capacity - view.order.iter().map(|&slot| shares.count(slot)).sum::<u32>();
        }
        self.round(view, left, shares);
        if self.by == By::Max {
            clip(view, shares);
        }
    }
}

/// Lowers each share to the application's request.
fn clip(view: &View<'_>, shares: &mut Shares) {
    for &slot in view.order {
        let cap = view.app(slot).cap(view.capacity);
        if shares.count(slot) > cap {
            shares.set(slot, cap);
            shares.set_exact(slot, u64::from(cap), 1);
        }
    }
}

/// The kind of bound that one round fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Cap,
    Min,
}

impl Bound {
    /// The count at which this bound fixes an application, if its quota `left · w / weight` is
    /// beyond the bound.
    fn fixes(self, by: By, view: &View<'_>, slot: Slot, left: u32, weight: u64) -> Option<u32> {
        let app = view.app(slot);
        let quota = u64::from(left) * u64::from(app.weight_milli);
        match self {
            Self::Cap => {
                let cap = by.cap(view, app);
                (quota >= u64::from(cap) * weight).then_some(cap)
            }
            Self::Min => (quota < u64::from(app.min) * weight).then_some(app.min),
        }
    }
}

impl Equi {
    /// A share with this bound.
    pub fn new(by: By) -> Self {
        Self { by, ..Self::default() }
    }

    /// Opens the applications whose minimums fit, the heaviest first, of equals the earliest. With
    /// fewer processors than applications the light ones are left out: they will share, and the
    /// heavy ones need not.
    fn serve(&mut self, view: &View<'_>) {
        let heaviest_first = |&slot: &Slot| (Reverse(view.app(slot).weight_milli), view.app(slot).id);
        self.open.clear();
        let placeable = |slot: &Slot| view.app(*slot).has_its_minimum(view.capacity, view.capacity);
        self.open.extend(view.order.iter().copied().filter(placeable));
        let minimums: u64 = self.open.iter().map(|&slot| u64::from(view.app(slot).min)).sum();
        if minimums > u64::from(view.capacity) {
            let mut left = view.capacity;
            self.open.sort_unstable_by_key(heaviest_first);
            self.open.retain(|&slot| {
                let min = view.app(slot).min;
                let fits = min <= left;
                left -= if fits { min } else { 0 };
                fits
            });
            self.open.sort_unstable_by_key(|&slot| view.app(slot).id);
        }
    }

    fn weight_of_open(&self, view: &View<'_>) -> Option<u64> {
        let weight: u64 = self.open.iter().map(|&slot| u64::from(view.app(slot).weight_milli)).sum();
        (weight > 0).then_some(weight)
    }

    /// The bound that is broken by more in total, if one is broken or reached at all.
    fn bound_to_fix(&self, view: &View<'_>, left: u32, weight: u64) -> Option<Bound> {
        let (mut too_much, mut too_little, mut reached) = (0u64, 0u64, false);
        for &slot in &self.open {
            let app = view.app(slot);
            let quota = u64::from(left) * u64::from(app.weight_milli);
            let (cap, min) = (u64::from(self.by.cap(view, app)) * weight, u64::from(app.min) * weight);
            reached |= quota >= cap;
            too_much += quota.saturating_sub(cap);
            too_little += min.saturating_sub(quota);
        }
        match (reached, too_little > 0) {
            (true, _) if too_much >= too_little => Some(Bound::Cap),
            (_, true) => Some(Bound::Min),
            _ => None,
        }
    }

    /// Rounds the open applications by largest remainder: their quotas lie between their bounds.
    fn round(&mut self, view: &View<'_>, left: u32, shares: &mut Shares) {
        let Some(weight) = self.weight_of_open(view) else { return };
        let mut rest = left;
        self.remainders.clear();
        for (position, &slot) in self.open.iter().enumerate() {
            let app = view.app(slot);
            let quota = u64::from(left) * u64::from(app.weight_milli);
            let count = (quota / weight) as u32;
            shares.set(slot, count);
            shares.set_exact(slot, quota, weight);
            rest -= count;
            // An application that has the processor already keeps it.
            self.remainders.push((Reverse(quota % weight), Reverse(app.allocation > count), position as u32));
        }
        self.remainders.sort_unstable();
        for &(_, _, position) in self.remainders.iter().take(rest as usize) {
            let slot = self.open[position as usize];
            shares.set(slot, shares.count(slot) + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    fn counts(case: &Case) -> Vec<u32> {
        case.divide(&mut Equi::default())
    }

    #[test]
    fn equal_parts_and_the_rest_to_the_first() {
        assert_eq!(counts(&Case::new(16).wants(&[16, 16, 16])), [6, 5, 5]);
    }

    #[test]
    fn what_one_cannot_use_the_others_get() {
        assert_eq!(counts(&Case::new(16).wants(&[2, 16, 16])), [2, 7, 7]);
    }

    #[test]
    fn weights_minimum_and_maximum() {
        let case = Case::new(12).wants(&[12, 12, 12]).weigh(0, 2000);
        assert_eq!(counts(&case), [6, 3, 3]);
        assert_eq!(counts(&case.clone().limits(0, 1, 4)), [4, 4, 4]);
        assert_eq!(counts(&case.limits(2, 6, 12)), [4, 2, 6]);
    }

    #[test]
    fn rounding_stays_where_it_is() {
        assert_eq!(counts(&Case::new(16).wants(&[16, 16, 16]).holds(&[5, 5, 6])), [5, 5, 6]);
    }

    #[test]
    fn more_applications_than_processors_serves_the_first() {
        assert_eq!(counts(&Case::new(2).wants(&[2, 2, 2])), [1, 1, 0]);
    }

    #[test]
    fn more_applications_than_processors_serves_the_heavy() {
        assert_eq!(counts(&Case::new(2).wants(&[2, 2, 2]).weigh(2, 3000)), [1, 0, 1]);
    }

    #[test]
    fn a_minimum_that_does_not_fit_is_passed_over() {
        assert_eq!(counts(&Case::new(4).wants(&[4, 4, 4]).limits(0, 3, 4).limits(1, 3, 4)), [3, 0, 1]);
    }

    #[test]
    fn shares_by_maximum_do_not_depend_on_requests() {
        let by_max = |case: &Case| case.divide(&mut Equi::new(By::Max));
        assert_eq!(by_max(&Case::new(12).wants(&[12, 1, 3])), [4, 1, 3]);
        assert_eq!(by_max(&Case::new(12).wants(&[12, 1, 3]).limits(2, 1, 2)), [5, 1, 2]);
    }
}
