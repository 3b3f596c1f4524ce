//! Processors in proportion to the requests of applications.
//!
//! **Source**: Dynamic Space Sharing, Martorell et al. 2000, §4.3 (after Polychronopoulos et al.,
//! PDCS 1999).
//!
//! **Terms**: r(j) = request within the user's limits, times its weight; R = sum of r; P =
//! `capacity`.
//!
//! **Algorithm**
//! ```text
//! n > P: the first P count, the others get 0
//! R ≤ P: a(j) = r(j)
//! else q(j) = P · r(j) / R,  a(j) = max(1, floor(q(j)))
//!      while processors are left: 1 to the unsatisfied with largest q(j) - a(j), of equals the one with fewest, then the earliest
//!      while too many are given:  1 from the one above 1 with largest a(j) - q(j), of equals the latest
//! ```
//!
//! **Differs from the paper**: it prints no rounding; this one gives its Table 2 (21, 16, 6, 6, 5,
//! 5, 5). The user's weight multiplies the request; the user's minimum takes the place of 1.
//!
//! **Use when** requests say how parallel a program is. **Avoid when** every program asks for the
//! whole machine: then `equi` is the same and simpler.

use super::machinery::guarantee::{guarantee, served};
use crate::answer::Answer;
use crate::part::{Info, Share};
use crate::shares::Shares;
use crate::view::{Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "dss",
        summary: "In proportion to what each application asks for",
        source: "Martorell et al. 2000, §4.3",
    },
    build: |_| Ok(Box::new(Dss::default())),
};

/// State: only buffers that are used again.
#[derive(Debug, Clone, Default)]
pub struct Dss {
    /// Applications that can be served.
    served: Vec<Slot>,
    /// Their weighted requests.
    terms: Vec<(Slot, u64)>,
    /// The order in which they are rounded: smallest key first.
    order: Vec<(i128, u32, u32)>,
}

impl Share for Dss {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn conserves_work(&self) -> bool {
        true
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        served(view, &mut self.served);
        let requests: u64 = self.served.iter().map(|&slot| u64::from(request(view, slot))).sum();
        if requests <= u64::from(view.capacity) {
            for &slot in &self.served {
                shares.set(slot, request(view, slot));
                shares.set_exact(slot, u64::from(request(view, slot)), 1);
            }
        } else {
            self.proportional(view, shares);
        }
        guarantee(view, &self.served, shares);
    }
}

/// r(j).
fn request(view: &View<'_>, slot: Slot) -> u32 {
    view.app(slot).cap(view.capacity)
}

impl Dss {
    fn proportional(&mut self, view: &View<'_>, shares: &mut Shares) {
        self.terms.clear();
        let weigh = |&slot: &Slot| (slot, u64::from(request(view, slot)) * u64::from(view.app(slot).weight_milli));
        self.terms.extend(self.served.iter().map(weigh));
        let total: u64 = self.terms.iter().map(|&(_, term)| term).sum();
        let capacity = u64::from(view.capacity);
        for &(slot, term) in &self.terms {
            let floor = (capacity * term / total) as u32;
            shares.set(slot, floor.clamp(1, request(view, slot)));
            shares.set_exact(slot, capacity * term, total);
        }
        while shares.total() < view.capacity && self.round_up(view, total, shares) {}
        while shares.total() > view.capacity && self.round_down(view, total, shares) {}
    }

    /// Adds 1 to each in order, until all processors are given; false if no application can have
    /// more. Within a round the order does not change: an application that was given one has more
    /// than its quota.
    fn round_up(&mut self, view: &View<'_>, total: u64, shares: &mut Shares) -> bool {
        let capacity = u64::from(view.capacity);
        let mut left = view.capacity - shares.total();
        self.order.clear();
        for (position, &(slot, term)) in self.terms.iter().enumerate() {
            let count = shares.count(slot);
            if count < request(view, slot) {
                self.order.push((-surplus(capacity * term, count, total), count, position as u32));
            }
        }
        self.order.sort_unstable();
        for &(_, count, position) in &self.order {
            if left > 0 {
                shares.set(self.terms[position as usize].0, count + 1);
                left -= 1;
            }
        }
        !self.order.is_empty()
    }

    /// Takes 1 from each in order, until no more processors are given than there are; false if no
    /// application can have less.
    fn round_down(&mut self, view: &View<'_>, total: u64, shares: &mut Shares) -> bool {
        let capacity = u64::from(view.capacity);
        let mut excess = shares.total() - view.capacity;
        self.order.clear();
        for (position, &(slot, term)) in self.terms.iter().enumerate() {
            let count = shares.count(slot);
            if count > 1 {
                self.order.push((surplus(capacity * term, count, total), u32::MAX - position as u32, position as u32));
            }
        }
        self.order.sort_unstable();
        for &(_, _, position) in &self.order {
            if excess > 0 {
                let slot = self.terms[position as usize].0;
                shares.set(slot, shares.count(slot) - 1);
                excess -= 1;
            }
        }
        !self.order.is_empty()
    }
}

/// The surplus (q(j) - a(j)) · R.
fn surplus(quota: u64, count: u32, total: u64) -> i128 {
    i128::from(quota) - i128::from(count) * i128::from(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn table_2_of_the_paper() {
        let case = Case::new(64).wants(&[32, 24, 8, 8, 8, 8, 8]);
        assert_eq!(case.divide(&mut Dss::default()), [21, 16, 6, 6, 5, 5, 5]);
    }

    #[test]
    fn small_loads_get_what_they_ask() {
        assert_eq!(Case::new(16).wants(&[3, 5, 8]).divide(&mut Dss::default()), [3, 5, 8]);
    }

    #[test]
    fn a_small_request_beside_large_ones_gets_one() {
        assert_eq!(Case::new(4).wants(&[64, 1, 64]).divide(&mut Dss::default()), [2, 1, 1]);
    }

    #[test]
    fn more_applications_than_processors() {
        assert_eq!(Case::new(2).wants(&[4, 4, 4]).divide(&mut Dss::default()), [1, 1, 0]);
    }
}
