//! Every application runs everywhere, and guesses by itself how many threads the machine can bear.
//!
//! **Source**: the SGI-MP library that Martorell et al. 2000, §3.1, §6 compare with; they tell its
//! effect, not its rule.
//!
//! **Terms**: load = the total demand for virtual processors (§1); count = number of threads; P =
//! `capacity`. With `sees=active` load is a number that a program can count by itself: the threads
//! that are there now.
//!
//! **Algorithm**
//! ```text
//! j arrives: a(j) = r(j)
//! once a second, each application by itself:  seen(j) = load · (1 ± up to 30 %, uniformly, another one each time)
//! a(j) = max(1, min(r(j), r(j) · P / seen(j)))
//! ```
//!
//! With `sees=active` the programs that have made room see a small load, and take their threads
//! back: views never agree, which is the paper's complaint (§3.1).
//!
//! **Differs from the paper**: it gives no numbers. A second is the period of the library's
//! sampling thread; the error makes the views of applications differ; nobody has measured it.
//!
//! **Use when** a manager is to be compared with programs that adapt by themselves. **Avoid when**
//! anything else is possible.

use crate::answer::Answer;
use crate::part::{Info, Needs, Share};
use crate::random::Random;
use crate::shares::Shares;
use crate::view::{AppId, Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "sgi-mp",
        summary: "Everybody everywhere; each program guesses the load once a second and adapts its threads",
        source: "Martorell et al. 2000, §3.1",
    },
    build: |given| {
        let active = given.choice("sees", &[("requests", false), ("active", true)])?.unwrap_or(false);
        Ok(Box::new(SgiMp::new(active, given.seed())))
    },
};

/// Time between two looks of one application at the load.
const PERIOD_NS: u64 = 1_000_000_000;
/// Largest error of a look, thousandths of the load.
const ERROR_MILLI: u32 = 300;

/// The load that one application believes in.
#[derive(Debug, Clone, Copy)]
struct Sample {
    app: AppId,
    /// Time of its next look, nanoseconds.
    due_ns: u64,
    /// The load it has seen, thousandths of a thread; `None` before its first look.
    seen_milli: Option<u64>,
    /// Threads it has.
    count: u32,
}

/// The state of the share.
#[derive(Debug, Clone)]
pub struct SgiMp {
    random: Random,
    /// Says whether the load is the number of threads that exist, not of those asked for.
    active: bool,
    /// Samples by slot.
    samples: Vec<Option<Sample>>,
}

impl SgiMp {
    /// A share with the seed of its random stream. `active`: the load is the number of threads that
    /// exist, not of those asked for.
    pub fn new(active: bool, seed: u64) -> Self {
        Self { random: Random::new(seed), active, samples: Vec::new() }
    }
}

impl Share for SgiMp {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs::REQUESTS
    }

    fn parameters(&self) -> String {
        if self.active { "sees=active".to_owned() } else { String::new() }
    }

    fn conserves_work(&self) -> bool {
        false
    }

    fn space_shares(&self) -> bool {
        false
    }

    fn until(&self, view: &View<'_>) -> Option<u64> {
        view.order.iter().filter_map(|&slot| self.sample(view, slot)).map(|sample| sample.due_ns).min()
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        self.samples.resize(view.apps.len(), None);
        let load: u64 = view.order.iter().map(|&slot| u64::from(self.demand(view, slot))).sum();
        for &slot in view.order {
            let seen = self.look(view, slot, load);
            let threads = view.app(slot).threads();
            let count = active(threads, view.capacity, seen);
            if let Some(sample) = &mut self.samples[slot.index()] {
                sample.count = count;
            }
            shares.set(slot, count);
        }
    }
}

impl SgiMp {
    fn sample(&self, view: &View<'_>, slot: Slot) -> Option<Sample> {
        let sample = self.samples.get(slot.index()).copied().flatten()?;
        (sample.app == view.app(slot).id).then_some(sample)
    }

    /// Threads that an application adds to the load that others see.
    fn demand(&self, view: &View<'_>, slot: Slot) -> u32 {
        let threads = view.app(slot).threads();
        if self.active { self.sample(view, slot).map_or(threads, |sample| sample.count.min(threads)) } else { threads }
    }

    /// The load that it believes in now; it looks again if it is time to.
    fn look(&mut self, view: &View<'_>, slot: Slot, load: u64) -> Option<u64> {
        let (app, due_ns) = (view.app(slot).id, view.now_ns.saturating_add(PERIOD_NS));
        let mut sample = self.sample(view, slot).unwrap_or(Sample {
            app,
            due_ns,
            seen_milli: None,
            count: view.app(slot).threads(),
        });
        if view.now_ns >= sample.due_ns {
            let factor = 1000 - ERROR_MILLI + self.random.below(2 * ERROR_MILLI + 1);
            sample = Sample { app, due_ns, seen_milli: Some(load * u64::from(factor)), count: sample.count };
        }
        self.samples[slot.index()] = Some(sample);
        sample.seen_milli
    }
}

/// Threads: r(j) · P / seen(j), within 1 and r(j).
fn active(threads: u32, capacity: u32, seen_milli: Option<u64>) -> u32 {
    let Some(seen_milli) = seen_milli else { return threads };
    let quota = u64::from(threads) * u64::from(capacity) * 1000 / seen_milli.max(1);
    quota.clamp(1, u64::from(threads)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use std::collections::BTreeSet;

    /// Counts at a time.
    fn at(share: &mut SgiMp, case: &Case, now_ns: u64) -> Vec<u32> {
        let mut shares = Shares::new();
        case.with_view(|view| {
            shares.reset(case.apps.len());
            share.divide(&View { now_ns, ..*view }, &mut shares);
        });
        (0..case.apps.len()).map(|slot| shares.count(Slot(slot as u32))).collect()
    }

    #[test]
    fn begins_with_everything_and_looks_after_a_second() {
        let case = Case::new(64).wants(&[64, 64, 64]);
        let mut share = SgiMp::new(false, 1);
        assert_eq!(at(&mut share, &case, 0), [64, 64, 64]);
        assert_eq!(case.with_view(|view| share.until(view)), Some(PERIOD_NS));
        assert_eq!(at(&mut share, &case, PERIOD_NS - 1), [64, 64, 64]);
        let later = at(&mut share, &case, PERIOD_NS);
        assert_eq!(case.with_view(|view| share.until(view)), Some(2 * PERIOD_NS));
        assert_eq!(at(&mut share, &case, PERIOD_NS), later, "a look is one look");
        // 64 · 64 / (192 · 1.3) = 16.4 and 64 · 64 / (192 · 0.7) = 30.5.
        assert!(later.iter().all(|count| (16..=30).contains(count)), "{later:?}");
    }

    #[test]
    fn views_differ_between_applications_and_from_second_to_second() {
        let case = Case::new(64).wants(&[64, 64, 64, 64]);
        let mut share = SgiMp::new(false, 7);
        at(&mut share, &case, 0);
        let mut seen = BTreeSet::new();
        for second in 1..=50 {
            seen.extend(at(&mut share, &case, second * PERIOD_NS));
        }
        // Quotas from 12 to 22 of 64 · 64 / 256 = 16.
        assert!(seen.first() == Some(&12) && seen.last() >= Some(&21), "{seen:?}");
    }

    #[test]
    fn those_that_see_what_is_there_take_it_back() {
        let case = Case::new(64).wants(&[64, 64, 64]);
        let mut share = SgiMp::new(true, 2);
        assert_eq!(share.parameters(), "sees=active");
        at(&mut share, &case, 0);
        let small = at(&mut share, &case, PERIOD_NS);
        assert!(small.iter().all(|count| (16..=30).contains(count)), "{small:?}");
        // Their threads are now about as many as fit, so each believes it can have nearly all.
        let large = at(&mut share, &case, 2 * PERIOD_NS);
        assert!(large.iter().all(|count| (38..=64).contains(count)), "{large:?}");
    }

    #[test]
    fn never_below_one_nor_above_its_request() {
        let case = Case::new(1).wants(&[1, 8, 1]);
        let mut share = SgiMp::new(false, 3);
        at(&mut share, &case, 0);
        assert_eq!(at(&mut share, &case, PERIOD_NS), [1, 1, 1]);
        let mut alone = SgiMp::new(false, 3);
        let case = Case::new(64).wants(&[4]);
        at(&mut alone, &case, 0);
        assert_eq!(at(&mut alone, &case, PERIOD_NS), [4]);
    }
}
