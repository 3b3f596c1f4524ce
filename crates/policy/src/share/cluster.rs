//! Processors in units of four, round after round in order of arrival.
//!
//! **Source**: Processor Clustering, Martorell et al. 2000, §4.2.
//!
//! **Terms**: the paper's cluster = a unit of `unit` processors, not a hardware group; r(j) =
//! request within the user's limits.
//!
//! **Algorithm**
//! ```text
//! rounds over the applications in order of arrival, while processors remain and one wants more:
//!   at least 4 remain:   j gets min(4, r(j) - a(j))
//!   fewer than 4 remain: j gets the largest of {2, 1} that is ≤ remaining and ≤ r(j) - a(j)
//! ```
//!
//! **Differs from the paper**: the order is not rotated between quanta (the numbers of its Table 1
//! come out so); the user's minimum is kept where there is one.
//!
//! **Use when** programs run best on aligned groups and ask for multiples of four. **Avoid when**
//! every application must get something of its own: late ones get nothing while earlier ones have
//! eight.

use super::machinery::guarantee::{guarantee, served};
use crate::answer::Answer;
use crate::part::{Info, Share};
use crate::shares::Shares;
use crate::view::{Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "cluster",
        summary: "Units of four processors, round after round in order of arrival",
        source: "Martorell et al. 2000, §4.2",
    },
    build: |given| Ok(Box::new(Cluster::new(given.number("unit")?.unwrap_or(Cluster::UNIT)))),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Processors of a unit, 1 or more.
    unit: u32,
    /// Applications that can be served.
    served: Vec<Slot>,
}

impl Cluster {
    /// The default unit, processors (§4.2: neighbours of good locality, and the size that
    /// applications ask for).
    pub const UNIT: u32 = 4;

    /// A share with units of this many processors.
    pub fn new(unit: u32) -> Self {
        Self { unit, served: Vec::new() }
    }
}

impl Default for Cluster {
    fn default() -> Self {
        Self::new(Self::UNIT)
    }
}

impl Share for Cluster {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        if self.unit == Self::UNIT { String::new() } else { format!("unit={}", self.unit) }
    }

    fn conserves_work(&self) -> bool {
        true
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        served(view, &mut self.served);
        let mut left = view.capacity;
        let mut given = true;
        while left > 0 && given {
            given = false;
            for &slot in &self.served {
                let wanted = view.app(slot).cap(view.capacity) - shares.count(slot);
                let grant = self.grant(left, wanted);
                shares.set(slot, shares.count(slot) + grant);
                left -= grant;
                given |= grant > 0;
            }
        }
        guarantee(view, &self.served, shares);
    }
}

impl Cluster {
    /// Processors that one visit gives (§4.2): a unit, or near the end the largest power of two
    /// that fits.
    fn grant(&self, left: u32, wanted: u32) -> u32 {
        if left >= self.unit {
            return self.unit.min(wanted);
        }
        let most = left.min(wanted);
        if most == 0 { 0 } else { 1 << most.ilog2() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn table_1_of_the_paper() {
        // sp 8, bt 12, epd 16, ft 8, cg 16 on 32 processors: "FT and CG get 4" (§6.2).
        assert_eq!(Case::new(32).wants(&[8, 12, 16, 8, 16]).divide(&mut Cluster::default()), [8, 8, 8, 4, 4]);
    }

    #[test]
    fn the_tail_in_twos_and_ones() {
        assert_eq!(Case::new(7).wants(&[8, 8]).divide(&mut Cluster::default()), [5, 2]);
        assert_eq!(Case::new(3).wants(&[8, 8, 8]).divide(&mut Cluster::default()), [2, 1, 0]);
    }
}
