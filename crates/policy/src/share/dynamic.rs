//! Processors on demand: free ones, then idle ones, then by preemption from the application with
//! most.
//!
//! **Source**: Dynamic, `McCann`, Vaswani, Zahorjan 1993, as Koita et al. §3.2 compare against
//! (DYN).
//!
//! **Terms**: a(j) = allocation; realised parallelism = `request`; willing to yield = idle.
//!
//! **Algorithm**
//! ```text
//! every application keeps the processors it uses; idle ones stay with it until somebody wants them
//! while one wants more: the one with smallest a(j), of equals the earliest, gets
//!   D1. a free one   D2. an idle one of the application with most idle ones
//!   D3. one of the application with most, if that has a(j) + 2 or more
//! ```
//!
//! **Differs from the paper**: known from its abstract and later descriptions; credits for past
//! modesty are left out. The user's minimum is given at once or not at all, and not taken by D3.
//!
//! **Use when** parallelism changes often and preemption is cheap. **Avoid when** memory is far:
//! applications end up everywhere.

use crate::answer::Answer;
use crate::part::{Info, Needs, Share};
use crate::shares::Shares;
use crate::view::{Slot, View};
use std::cmp::Reverse;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "dynamic",
        summary: "On demand, from who has most: free ones, then idle ones, then by preemption",
        source: "McCann, Vaswani, Zahorjan 1993; DYN of Koita et al. §3.2",
    },
    build: |_| Ok(Box::new(Dynamic::default())),
};

/// Buffers only.
#[derive(Debug, Clone, Default)]
pub struct Dynamic {
    /// Idle processors that are still with their owners, by application.
    idle: Vec<u32>,
    /// Applications that want more.
    open: Vec<Slot>,
}

impl Share for Dynamic {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs { preemption: true, ..Needs::REQUESTS }
    }

    fn conserves_work(&self) -> bool {
        true
    }

    fn retains(&self) -> bool {
        true
    }

    fn preempts(&self) -> bool {
        true
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        let mut free = self.keep(view, shares);
        self.open.clear();
        self.open.extend(view.order.iter().filter(|&&slot| wants(view, shares, slot) > 0));
        while let Some(at) = self.most_modest(view, shares) {
            let slot = self.open[at];
            if !self.give(view, shares, &mut free, slot) || wants(view, shares, slot) == 0 {
                self.open.remove(at);
            }
        }
        for &slot in view.order {
            let count = shares.count(slot);
            if count > 0 {
                shares.set(slot, count + self.idle[slot.index()]);
            }
        }
    }
}

/// Number of processors that it could still use.
fn wants(view: &View<'_>, shares: &Shares, slot: Slot) -> u32 {
    let (app, count) = (view.app(slot), shares.count(slot));
    let cap = app.cap(view.capacity);
    if cap < app.min { 0 } else { cap.saturating_sub(count) }
}

impl Dynamic {
    /// Each application keeps the processors it uses, and its idle ones for the time being. Returns
    /// the number of free ones.
    fn keep(&mut self, view: &View<'_>, shares: &mut Shares) -> u32 {
        self.idle.clear();
        self.idle.resize(view.apps.len(), 0);
        for slot in view.pus.iter().filter(|pu| pu.idle).filter_map(|pu| pu.next) {
            self.idle[slot.index()] += 1;
        }
        let mut left = view.capacity;
        for &slot in view.order {
            let app = view.app(slot);
            let idle = std::mem::take(&mut self.idle[slot.index()]);
            let used = (app.allocation - idle).min(app.cap(view.capacity)).min(left);
            if used >= app.min {
                shares.set(slot, used);
                left -= used;
                self.idle[slot.index()] = idle.min(left);
                left -= self.idle[slot.index()];
            }
        }
        left
    }

    /// Of the applications that want more, the one with fewest; of equals the earliest. An index
    /// into `open`.
    fn most_modest(&self, view: &View<'_>, shares: &Shares) -> Option<usize> {
        (0..self.open.len()).min_by_key(|&at| (shares.count(self.open[at]), view.app(self.open[at]).id))
    }

    /// Gives it one by D1, D2 or D3. False if there is none for it.
    fn give(&mut self, view: &View<'_>, shares: &mut Shares, free: &mut u32, slot: Slot) -> bool {
        let count = shares.count(slot);
        let needed = if count == 0 { view.app(slot).min } else { 1 };
        let idle: u32 = view.order.iter().map(|&other| self.idle[other.index()]).sum();
        if *free + idle < needed {
            return needed == 1 && preempt(view, shares, slot);
        }
        for _ in 0..needed {
            if self.idle[slot.index()] > 0 {
                // The processor is its own: it has found work for it.
                self.idle[slot.index()] -= 1;
            } else if *free > 0 {
                *free -= 1;
            } else if let Some(&most) =
                view.order.iter().max_by_key(|other| (self.idle[other.index()], Reverse(view.app(**other).id)))
            {
                self.idle[most.index()] -= 1;
            }
        }
        shares.set(slot, count + needed);
        true
    }
}

/// Gives it a processor by D3.
fn preempt(view: &View<'_>, shares: &mut Shares, slot: Slot) -> bool {
    let count = shares.count(slot);
    let above_min = |&&other: &&Slot| shares.count(other) > view.app(other).min;
    let most = view.order.iter().filter(above_min).max_by_key(|&&other| (shares.count(other), view.app(other).id));
    let Some(&most) = most.filter(|&&most| shares.count(most) >= count + 2) else { return false };
    shares.set(most, shares.count(most) - 1);
    shares.set(slot, count + 1);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    fn divide(case: &Case) -> Vec<u32> {
        case.divide(&mut Dynamic::default())
    }

    #[test]
    fn free_ones_then_idle_ones_then_preemption() {
        let mut case = Case::new(8).wants(&[2, 3, 2]).holds(&[3, 4]);
        case.pus[2].idle = true;
        case.pus[6].idle = true;
        // D1 the free one, then D2 an idle one: both applications have one, and the earlier one
        // loses it.
        assert_eq!(divide(&case), [2, 4, 2]);
        let case = Case::new(8).wants(&[6, 2, 8]).holds(&[6, 2]);
        assert_eq!(divide(&case), [3, 2, 3]);
    }

    #[test]
    fn no_preemption_for_a_gap_of_one() {
        assert_eq!(divide(&Case::new(5).wants(&[5, 5]).holds(&[3, 2])), [3, 2]);
    }

    #[test]
    fn who_still_wants_more_has_nearly_as_many_as_anybody() {
        let mut random = crate::Random::new(3);
        for _ in 0..2000 {
            let pus = 4 + random.below(29);
            let requests: Vec<u32> = (0..=random.below(6)).map(|_| 1 + random.below(pus)).collect();
            let mut case = Case::new(pus).wants(&requests);
            for pu in 0..pus {
                let slot = random.below(requests.len() as u32);
                let app = &case.apps[slot as usize];
                if random.below(3) > 0 && app.allocation < app.request {
                    case.give(Slot(slot), numaestro_topology::PuId(pu), 0);
                }
            }
            let counts = divide(&case);
            let most = counts.iter().max().unwrap();
            let total: u32 = counts.iter().sum();
            for (count, app) in counts.iter().zip(&case.apps) {
                let wants = *count < app.request.min(pus);
                assert!(!wants || total == pus && *most <= count + 1, "{counts:?} of {pus}, {requests:?}");
            }
        }
    }
}
