//! Every application runs everywhere, and guesses by itself how many threads the machine can bear.
//!
//! **Source**: the SGI-MP library that Martorell et al. 2000, §3.1, §6 compare with; they tell its
//! effect, not its rule.
//!
//! **Terms**: load = threads that are there now, which is what a program can count by itself; P =
//! `capacity`; limit = most threads that a library lets its program have.
//!
//! **Algorithm**
//! ```text
//! j arrives: limit(j) = r(j)
//! once a period, each application by itself:  seen(j) = load · (1 ± up to `error`, uniformly, another one each time)
//!     aim = max(1, min(r(j), r(j) · P / seen(j)));  limit(j) goes towards aim, by at most `step` threads
//! a(j) = min(r(j), limit(j)) between two regions; a program that asks for less and for more again has the same limit
//! ```
//!
//! Programs that have made room see a small load, and take their threads back: views never agree,
//! and the machine stays overcommitted. That is the paper's complaint (§3.1).
//!
//! With `sees=requests` the load is the sum of what all programs ask for, which none of them can
//! know. With `step=all` a library goes all the way in one look. Both together divide the machine
//! nearly as a manager does. With `aims=room` a library wants the processors that others leave:
//! aim = a(j) + P − seen(j), so that the threads of all become as many as there are processors.
//! `period` is the time between two looks, `error` the largest error of a look.
//!
//! **Differs from the paper**: it gives no numbers. The library adapts by default (`OMP_DYNAMIC` is
//! true on IRIX), at the beginning of a region. It "does not detect that the application performs
//! bad" (§6.2), so a look changes as little as it can: one thread. A second is the period of the
//! library's sampling thread; the error makes the views of applications differ; nobody has measured
//! them.
//!
//! **Use when** a manager is to be compared with programs that adapt by themselves. **Avoid when**
//! anything else is possible.

use crate::answer::Answer;
use crate::parameters::join;
use crate::part::{Info, Needs, Share};
use crate::random::Random;
use crate::rejected::Rejected;
use crate::shares::Shares;
use crate::view::{AppId, Slot, View};
use numaestro_quantity::DURATION;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "sgi-mp",
        summary: "Everybody everywhere; each program guesses the load once a second and adapts its threads",
        source: "Martorell et al. 2000, §3.1",
    },
    build: |given| {
        let sees = given.choice("sees", &Sees::ALL)?.unwrap_or_default();
        let usual = Looks::default();
        let aims = given.choice("aims", &Aims::ALL)?.unwrap_or_default();
        let period_ns = given.duration("period")?.unwrap_or(usual.period_ns);
        let error_milli = given.percent("error")?.map_or(usual.error_milli, |percent| 10 * percent);
        let step = match given.value("step").as_deref() {
            None => usual.step,
            Some("all") => u32::MAX,
            Some(text) => text.parse().ok().filter(|step| *step > 0).ok_or_else(|| {
                Rejected::new(format!("sgi-mp: step={text} should be a number of threads from 1 on, or `all`"))
            })?,
        };
        Ok(Box::new(SgiMp::new(sees, Looks { period_ns, error_milli, step, aims }, given.seed())))
    },
};

/// Config: the way in which a library looks at the load and follows it. Nobody prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    /// Time between two looks of one application, nanoseconds. Default: a second, the period of the
    /// library's sampling thread.
    pub period_ns: u64,
    /// Largest error of a look, thousandths of the load, up to 1000. Default: 300, assumed.
    pub error_milli: u32,
    /// Threads by which one look changes a limit. Default: 1, assumed.
    pub step: u32,
    /// The number that it goes towards. Default: a part of the machine.
    pub aims: Aims,
}

impl Default for Looks {
    fn default() -> Self {
        Self { period_ns: 1_000_000_000, error_milli: 300, step: 1, aims: Aims::Part }
    }
}

/// The number of threads towards which a library goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aims {
    /// Its request's part of the load.
    #[default]
    Part,
    /// What it has, and the processors that nobody uses, or less what is too many.
    Room,
}

impl Aims {
    /// All of them, with their words in policy texts.
    pub const ALL: [(&'static str, Self); 2] = [("part", Self::Part), ("room", Self::Room)];
}

/// The threads that a library counts as load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sees {
    /// The ones that exist.
    #[default]
    Active,
    /// The ones that programs ask for.
    Requests,
}

impl Sees {
    /// All of them, with their words in policy texts.
    pub const ALL: [(&'static str, Self); 2] = [("active", Self::Active), ("requests", Self::Requests)];
}

/// The state of one application's library.
#[derive(Debug, Clone, Copy)]
struct Library {
    app: AppId,
    /// Time of its next look, nanoseconds.
    due_ns: u64,
    /// Most threads that it lets its program have.
    limit: u32,
}

/// The state of the share.
#[derive(Debug, Clone)]
pub struct SgiMp {
    random: Random,
    sees: Sees,
    looks: Looks,
    /// By slot.
    libraries: Vec<Option<Library>>,
}

impl SgiMp {
    /// A share whose libraries see this load and look at it in this way, with the seed of its
    /// random stream.
    pub fn new(load: Sees, looks: Looks, seed: u64) -> Self {
        Self { random: Random::new(seed), sees: load, looks, libraries: Vec::new() }
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
        let sees = (self.sees == Sees::Requests).then(|| "sees=requests".to_owned());
        let (usual, looks) = (Looks::default(), self.looks);
        let period =
            (looks.period_ns != usual.period_ns).then(|| format!("period={}", DURATION.write(looks.period_ns)));
        let error = (looks.error_milli != usual.error_milli).then(|| format!("error={}%", looks.error_milli / 10));
        let step = match looks.step {
            step if step == usual.step => None,
            u32::MAX => Some("step=all".to_owned()),
            step => Some(format!("step={step}")),
        };
        let aims = (looks.aims == Aims::Room).then(|| "aims=room".to_owned());
        join([sees, period, error, step, aims])
    }

    fn conserves_work(&self) -> bool {
        false
    }

    fn space_shares(&self) -> bool {
        false
    }

    fn until(&self, view: &View<'_>) -> Option<u64> {
        view.order.iter().filter_map(|&slot| self.library(view, slot)).map(|library| library.due_ns).min()
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        self.libraries.resize(view.apps.len(), None);
        let load: u64 = view.order.iter().map(|&slot| u64::from(self.demand(view, slot))).sum();
        for &slot in view.order {
            let limit = self.look(view, slot, load);
            shares.set(slot, view.app(slot).threads().min(limit));
        }
    }
}

impl SgiMp {
    fn library(&self, view: &View<'_>, slot: Slot) -> Option<Library> {
        let library = self.libraries.get(slot.index()).copied().flatten()?;
        (library.app == view.app(slot).id).then_some(library)
    }

    /// Threads that an application adds to the load that others see.
    fn demand(&self, view: &View<'_>, slot: Slot) -> u32 {
        let threads = view.app(slot).threads();
        match self.sees {
            Sees::Requests => threads,
            Sees::Active => self.library(view, slot).map_or(threads, |library| threads.min(library.limit)),
        }
    }

    /// The limit of an application's library now; it looks at the load if it is time to.
    fn look(&mut self, view: &View<'_>, slot: Slot, load: u64) -> u32 {
        let (app, threads) = (view.app(slot).id, view.app(slot).threads());
        let due_ns = view.now_ns.saturating_add(self.looks.period_ns);
        let mut library = self.library(view, slot).unwrap_or(Library { app, due_ns, limit: u32::MAX });
        if view.now_ns >= library.due_ns {
            let error = self.looks.error_milli;
            let factor = 1000 - error + self.random.below(2 * error + 1);
            // A limit above what the program asks for is none.
            let before = library.limit.min(threads);
            let seen_milli = load * u64::from(factor);
            let aim = match self.looks.aims {
                Aims::Part => aim(threads, view.capacity, seen_milli),
                Aims::Room => {
                    let own = u64::from(before) + u64::from(view.capacity);
                    own.saturating_sub(seen_milli / 1000).clamp(1, u64::from(threads)) as u32
                }
            };
            let after = aim.clamp(before.saturating_sub(self.looks.step), before.saturating_add(self.looks.step));
            let limit = match library.limit {
                _ if after < threads => after,
                limit if limit < threads => u32::MAX,
                limit => limit,
            };
            library = Library { app, due_ns, limit };
        }
        self.libraries[slot.index()] = Some(library);
        library.limit
    }
}

/// Threads: r(j) · P / seen(j), within 1 and r(j).
fn aim(threads: u32, capacity: u32, seen_milli: u64) -> u32 {
    let quota = u64::from(threads) * u64::from(capacity) * 1000 / seen_milli.max(1);
    quota.clamp(1, u64::from(threads)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use std::collections::BTreeSet;

    const PERIOD_NS: u64 = 1_000_000_000;

    /// All the way in one look.
    fn at_once() -> Looks {
        Looks { step: u32::MAX, ..Looks::default() }
    }

    /// Counts at a time.
    fn at(share: &mut SgiMp, case: &Case, now_ns: u64) -> Vec<u32> {
        let mut shares = Shares::new();
        case.with_view(|view| {
            shares.reset(case.apps.len());
            share.divide(&View { now_ns, ..*view }, &mut shares);
        });
        (0..case.apps.len()).map(|slot| shares.count(Slot(slot as u32))).collect()
    }

    /// A library that knows what all ask for and goes all the way at once.
    fn clairvoyant(seed: u64) -> SgiMp {
        SgiMp::new(Sees::Requests, at_once(), seed)
    }

    #[test]
    fn begins_with_everything_and_looks_after_a_second() {
        let case = Case::new(64).wants(&[64, 64, 64]);
        let mut share = clairvoyant(1);
        assert_eq!(share.parameters(), "sees=requests,step=all");
        assert_eq!(at(&mut share, &case, 0), [64, 64, 64]);
        assert_eq!(case.with_view(|view| share.until(view)), Some(PERIOD_NS));
        assert_eq!(at(&mut share, &case, PERIOD_NS - 1), [64, 64, 64]);
        let later = at(&mut share, &case, PERIOD_NS);
        assert_eq!(case.with_view(|view| share.until(view)), Some(2 * PERIOD_NS));
        assert_eq!(at(&mut share, &case, PERIOD_NS), later, "a look is one look");
        // 64 · 64 / (192 · 1.3) = 16.4 and 64 · 64 / (192 · 0.7) = 30.5.
        assert!(later.iter().all(|count| (16..=30).contains(count)), "{later:?}");
    }

    /// The paper's library "does not detect": after a look three times as many threads are there as
    /// processors, less one each.
    #[test]
    fn a_look_changes_one_thread() {
        let case = Case::new(64).wants(&[64, 64, 64]);
        let mut share = SgiMp::new(Sees::Active, Looks::default(), 1);
        assert_eq!(share.parameters(), "");
        at(&mut share, &case, 0);
        for second in 1..=20 {
            let counts = at(&mut share, &case, u64::from(second) * PERIOD_NS);
            assert_eq!(counts, [64 - second; 3]);
        }
    }

    /// Where each sees only what is there, the machine is never divided: √(64 · 192) = 111 threads
    /// are on 64 processors when nobody wants to change, but for the errors of the views.
    #[test]
    fn the_machine_stays_overcommitted() {
        let case = Case::new(64).wants(&[64, 64, 64]);
        let mut share = SgiMp::new(Sees::Active, Looks::default(), 3);
        at(&mut share, &case, 0);
        for second in 1..=300 {
            let threads: u32 = at(&mut share, &case, second * PERIOD_NS).iter().sum();
            assert!(second < 60 || (90..=140).contains(&threads), "{threads} at {second} s");
        }
    }

    #[test]
    fn a_limit_outlives_a_phase_with_a_smaller_request() {
        let mut case = Case::new(8).wants(&[8, 8]);
        let mut share = SgiMp::new(Sees::Active, Looks::default(), 5);
        at(&mut share, &case, 0);
        assert_eq!(at(&mut share, &case, PERIOD_NS), [7, 7]);
        case.apps[0].request = 1;
        assert_eq!(at(&mut share, &case, PERIOD_NS + 10), [1, 7]);
        case.apps[0].request = 8;
        assert_eq!(at(&mut share, &case, PERIOD_NS + 20), [7, 7]);
    }

    #[test]
    fn views_differ_between_applications_and_from_second_to_second() {
        let case = Case::new(64).wants(&[64, 64, 64, 64]);
        let mut share = clairvoyant(7);
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
        let mut share = SgiMp::new(Sees::Active, at_once(), 2);
        assert_eq!(share.parameters(), "step=all");
        at(&mut share, &case, 0);
        let small = at(&mut share, &case, PERIOD_NS);
        assert!(small.iter().all(|count| (16..=30).contains(count)), "{small:?}");
        // Their threads are now about as many as fit, so each believes it can have nearly all.
        let large = at(&mut share, &case, 2 * PERIOD_NS);
        assert!(large.iter().all(|count| (38..=64).contains(count)), "{large:?}");
    }

    #[test]
    fn looks_are_as_told() {
        let case = Case::new(64).wants(&[64, 64, 64]);
        let looks = Looks { period_ns: 3 * PERIOD_NS, error_milli: 0, step: 5, aims: Aims::Part };
        let mut share = SgiMp::new(Sees::Active, looks, 1);
        assert_eq!(share.parameters(), "period=3s,error=0%,step=5");
        at(&mut share, &case, 0);
        assert_eq!(at(&mut share, &case, 2 * PERIOD_NS), [64; 3]);
        assert_eq!(at(&mut share, &case, 3 * PERIOD_NS), [59; 3]);
        // Without an error all of them see 64 · 64 / 192 = 21 of the requests.
        let mut share = SgiMp::new(Sees::Requests, Looks { error_milli: 0, ..at_once() }, 1);
        at(&mut share, &case, 0);
        assert_eq!(at(&mut share, &case, PERIOD_NS), [21; 3]);
    }

    /// Where each wants the room that others leave, the threads of all become the processors.
    #[test]
    fn room_divides_the_machine() {
        let case = Case::new(64).wants(&[64, 64, 64]);
        let mut share = SgiMp::new(Sees::Active, Looks { error_milli: 0, aims: Aims::Room, ..Looks::default() }, 1);
        assert_eq!(share.parameters(), "error=0%,aims=room");
        at(&mut share, &case, 0);
        for second in 1..=60 {
            let threads: u32 = at(&mut share, &case, second * PERIOD_NS).iter().sum();
            assert!(second < 43 || (63..=66).contains(&threads), "{threads} at {second} s");
        }
    }

    #[test]
    fn never_below_one_nor_above_its_request() {
        let case = Case::new(1).wants(&[1, 8, 1]);
        let mut share = clairvoyant(3);
        at(&mut share, &case, 0);
        assert_eq!(at(&mut share, &case, PERIOD_NS), [1, 1, 1]);
        let mut alone = clairvoyant(3);
        let case = Case::new(64).wants(&[4]);
        at(&mut alone, &case, 0);
        assert_eq!(at(&mut alone, &case, PERIOD_NS), [4]);
    }
}
