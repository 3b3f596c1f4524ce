//! Processors for several quanta at once by any share, then threads so divided over these quanta
//! that each wants about the same bandwidth.
//!
//! **Source**: the second general method of Antonopoulos et al. 2004, §4.
//!
//! **Terms**: epoch = `mult` quanta; chunk = the threads of one quantum; P, n(j) = processors,
//! threads of an application; a(j) = slots: times that threads of an application run in this epoch;
//! BTR = rate of a thread; `SBTR_avg` = mean of the BTR of all threads of a bus.
//!
//! **Algorithm**
//! ```text
//! every epoch: a(j) = what the share gives of mult · P processors to requests of mult · n(j), without a minimum, by largest remainder, of
//!   equals the longest waiting first; what rounding leaves out counts in the next epoch
//! every quantum: those that ran go to the tail of the list; ABTR = P · SBTR_avg
//!   must(j) = a(j) - n(j) · (quanta of the epoch after this one): what could not be used later
//!   while processors are left: ABTR_proc = ABTR / processors left
//!     of the threads with a(j) > 0 that were there when the epoch began, each once a quantum; once the must(j) sum up to the processors left, only
//!     where must(j) > 0: the one with most 1000 / (1 + |ABTR_proc - BTR|), of equals the one that ran least in the epoch, then nearest to the head
//!     ABTR -= its BTR; a(j) -= 1; must(j) -= 1
//! in between: a free processor goes on with this; new threads wait for the next epoch
//! ```
//!
//! **Differs from the paper**: it has no must(j), without which slots are lost at the epoch's end.
//! Several buses as `turns=fitness`. A new epoch begins at once where no thread could run
//! otherwise.
//!
//! **Use when** applications are to have fair numbers of processors and bandwidth is short. **Avoid
//! when** programs change faster than an epoch.

use super::machinery::balance::balance;
use super::machinery::buses::{Line, needs_buses};
use super::machinery::division::Division;
use super::machinery::fill::{self, Rule};
use super::machinery::quantum::{QUANTUM_NS, Quantum};
use super::machinery::ready::{Entry, Ready};
use super::machinery::selection::Selection;
use crate::answer::Answer;
use crate::parameters::{Parameters, join};
use crate::part::{Info, Needs, Share, Turns};
use crate::rejected::Rejected;
use crate::turn::Turn;
use crate::view::{Bus, Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "chunks",
        summary: "Any share for some quanta at once, each with threads of about the same bandwidth",
        source: "second general method, Antonopoulos et al. 2004, §4",
    },
    build: |given| Ok(Box::new(Chunks::read(given)?)),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct Chunks {
    /// This answer, or the case of it that a policy text names.
    info: Info,
    /// Config: quanta of an epoch, 1 to 64. Default: 2, "heuristically chosen" in the paper.
    mult: u32,
    division: Division,
    quantum: Quantum,
    ready: Ready,
    selection: Selection,
    epoch: Epoch,
}

/// The rest of an epoch.
#[derive(Debug, Clone, Default)]
struct Epoch {
    /// Number of quanta after this one.
    after: u32,
    /// a(j), by slot.
    left: Vec<u32>,
    /// must(j), by slot.
    must: Vec<u32>,
    musts: u32,
    /// n(j) of the applications that were there when it began, by slot.
    members: Vec<u32>,
    /// must(j) holds no application back any more: those that must run cannot.
    lifted: bool,
}

impl Chunks {
    /// Default of `mult`.
    pub const MULT: u32 = 2;
    /// Longest epoch.
    pub const MULT_MAX: u32 = 64;

    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let mult = parameters.number("mult")?.unwrap_or(Self::MULT);
        let share = parameters.value("share").unwrap_or_else(|| "dss".to_owned());
        Self::new(mult, parameters.share(&share)?, parameters.duration("quantum")?.unwrap_or(QUANTUM_NS))
    }

    /// A turns part with the share that divides an epoch, and the epoch's length in quanta.
    ///
    /// # Errors
    /// If the share depends on more than requests, or the epoch is too long.
    pub fn new(mult: u32, share: Box<dyn Share>, quantum_ns: u64) -> Result<Self, Rejected> {
        if !(1..=Self::MULT_MAX).contains(&mult) {
            return Err(Rejected::new(format!(
                "mult={mult} should be a number of quanta from 1 to {}",
                Self::MULT_MAX
            )));
        }
        Ok(Self {
            info: ANSWER.info,
            mult,
            division: Division::new(share)?,
            quantum: Quantum::new(quantum_ns),
            ready: Ready::new(true),
            selection: Selection::default(),
            epoch: Epoch::default(),
        })
    }

    /// The same as the answer of another name, of which it is a case.
    pub fn named(self, info: Info) -> Self {
        Self { info, ..self }
    }

    fn begin_epoch(&mut self, view: &View<'_>) {
        self.ready.rotate();
        for entry in &mut self.ready.list {
            (entry.member, entry.runs) = (true, 0);
        }
        let capacity: u32 = self.ready.buses.lines.iter().map(|line| line.processors).sum();
        self.division.divide(view, &self.ready, capacity.saturating_mul(self.mult), self.mult);
        self.epoch.after = self.mult;
        self.epoch.left.clear();
        self.epoch.left.extend((0..view.apps.len()).map(|slot| self.division.count(Slot(slot as u32))));
    }

    /// The next chunk; the epoch has one quantum less.
    fn begin_chunk(&mut self, view: &View<'_>) {
        self.ready.rotate();
        self.quantum.begin(view.now_ns);
        balance(&mut self.ready);
        self.epoch.after -= 1;
        self.fill(view);
    }

    /// Gives the processors that are free now.
    fn fill(&mut self, view: &View<'_>) {
        if self.ready.buses.free() == 0 {
            return;
        }
        self.epoch.look(&self.ready, view.apps.len());
        fill::fill(&mut self.ready, &mut self.selection, &mut self.epoch);
        if self.ready.buses.free() > 0 {
            self.epoch.lifted = true;
            fill::fill(&mut self.ready, &mut self.selection, &mut self.epoch);
        }
    }
}

impl Epoch {
    /// Finds must(j), with the present threads.
    fn look(&mut self, ready: &Ready, slots: usize) {
        self.members.clear();
        self.members.resize(slots, 0);
        for entry in ready.list.iter().filter(|entry| entry.member) {
            self.members[entry.slot.index()] += 1;
        }
        self.left.resize(slots, 0);
        self.must.clear();
        for (slot, left) in self.left.iter_mut().enumerate() {
            // A thread that runs in this quantum already cannot run again in it.
            let waiting = self.members[slot].saturating_sub(ready.count[slot]);
            let later = self.members[slot] * self.after;
            *left = (*left).min(waiting + later);
            self.must.push(left.saturating_sub(later));
        }
        self.musts = self.must.iter().sum();
        self.lifted = false;
    }
}

impl Rule for Epoch {
    fn target(&self, line: &Line) -> (i128, i128) {
        // (P · wanted / threads - demand) / free, without the fraction.
        let threads = i128::from(line.threads.max(1));
        let budget = i128::from(line.processors) * i128::from(line.wanted);
        (budget - i128::from(line.demand) * threads, i128::from(line.free()) * threads)
    }

    fn turns(&self, entry: &Entry) -> u32 {
        // No longer than an epoch, and far from overflow.
        entry.runs.min(Chunks::MULT_MAX)
    }

    fn admits(&self, entry: &Entry, free: u32, need: u32) -> bool {
        let slot = entry.slot.index();
        let free_to_choose = self.lifted || self.musts < free || self.must[slot] > 0;
        entry.member && self.left[slot] >= need && need <= free && free_to_choose
    }

    fn chosen(&mut self, slot: Slot, threads: u32) {
        let (left, must) = (&mut self.left[slot.index()], &mut self.must[slot.index()]);
        *left = left.saturating_sub(threads);
        let fewer = (*must).min(threads);
        *must -= fewer;
        self.musts -= fewer;
    }
}

impl Turns for Chunks {
    fn info(&self) -> Info {
        self.info
    }

    fn needs(&self) -> Needs {
        Needs { preemption: true, bandwidth: true, ..Needs::REQUESTS }
    }

    fn parameters(&self) -> String {
        let mult = (self.mult != Self::MULT).then(|| format!("mult={}", self.mult));
        let share = Some(self.division.name()).filter(|share| share != "dss").map(|share| format!("share={share}"));
        join([mult, self.quantum.parameter(), share])
    }

    fn stops(&self) -> bool {
        true
    }

    fn chooses_threads(&self) -> bool {
        true
    }

    fn fits(&self, buses: &[Bus]) -> Result<(), Rejected> {
        needs_buses(buses)
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        let over = self.quantum.is_over(view.now_ns);
        self.ready.sync(view, over);
        if over && self.epoch.after > 0 {
            self.begin_chunk(view);
        } else if !over {
            self.fill(view);
        }
        if self.ready.is_idle() || over && self.quantum.is_over(view.now_ns) {
            self.begin_epoch(view);
            self.begin_chunk(view);
        }
        self.ready.write(view, turn);
        (!self.ready.list.is_empty()).then(|| self.quantum.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::random::Random;
    use crate::share::dss::Dss;
    use crate::share::equip::{Equip, Leftover};
    use crate::turns::machinery::threading::{QUANTUM, survives};
    use std::collections::BTreeMap;

    fn over_dss(mult: u32) -> Chunks {
        Chunks::new(mult, Box::<Dss>::default(), QUANTUM).unwrap()
    }

    #[test]
    fn every_slot_is_used_and_no_thread_twice_in_a_chunk() {
        let mut random = Random::new(0xC40);
        for round in 0..400 {
            let (processors, mult) = (1 + random.below(8), 1 + random.below(4));
            let threads: Vec<u32> = (0..=random.below(7)).map(|_| 1 + random.below(8)).collect();
            let mut case = Case::with_threads(processors, &threads, 1000);
            let mut turns = over_dss(mult);
            let all: u32 = threads.iter().map(|&n| n.min(processors)).sum();
            // Requests are no more than the machine can give.
            case.apps.iter_mut().for_each(|app| app.request = app.request.min(processors));
            case.lay_out();
            for _ in 0..3 {
                let mut slots: BTreeMap<usize, u32> = BTreeMap::new();
                for quantum in 0..mult {
                    for thread in &mut case.threads {
                        thread.rate = (random.below(4) > 0).then(|| random.below(500));
                    }
                    let decided = case.decide(&mut turns);
                    if quantum == 0 {
                        slots =
                            (0..threads.len()).map(|slot| (slot, turns.division.count(Slot(slot as u32)))).collect();
                        assert_eq!(slots.values().sum::<u32>(), mult * processors.min(all), "round {round}");
                    }
                    for (slot, &count) in decided.count.iter().enumerate() {
                        let left = slots.get_mut(&slot).unwrap();
                        assert!(count <= *left && count <= case.apps[slot].thread_count, "round {round}: {decided:?}");
                        *left -= count;
                    }
                    case.now_ns += QUANTUM;
                }
                assert!(slots.values().all(|&left| left == 0), "round {round}: slots are left: {slots:?}");
            }
        }
    }

    #[test]
    fn both_chunks_want_the_same() {
        let mut case = Case::with_threads(2, &[1, 1, 1, 1], 100);
        case.rates(&[40, 38, 2, 0]);
        let mut turns = over_dss(2);
        // The mean is 20, so 40 a chunk: 38 is nearest to 20; then 2 is.
        assert_eq!(case.decide(&mut turns).count, [0, 1, 1, 0]);
        case.now_ns += QUANTUM;
        assert_eq!(case.decide(&mut turns).count, [1, 0, 0, 1]);
    }

    #[test]
    fn new_threads_wait_for_the_next_epoch_and_holes_are_filled() {
        let mut case = Case::with_threads(2, &[1, 1, 1, 1], 100);
        let mut turns = over_dss(2);
        assert_eq!(case.decide(&mut turns).count, [1, 1, 0, 0]);
        case = case.wants(&[4]);
        case.order.remove(0);
        case.lay_out();
        assert_eq!(case.decide(&mut turns).count, [0, 1, 1, 0, 0]);
        case.now_ns += QUANTUM;
        assert_eq!(case.decide(&mut turns).count[3], 1);
        case.now_ns += QUANTUM;
        assert!(case.decide(&mut turns).count[4] > 0);
    }

    #[test]
    fn nobody_waits_on_an_empty_machine() {
        let mut case = Case::with_threads(2, &[1], 100);
        let mut turns = over_dss(2);
        case.decide(&mut turns);
        case = case.wants(&[2]);
        case.order.remove(0);
        case.lay_out();
        assert_eq!(case.decide(&mut turns).count, [0, 2]);
    }

    /// The entitlements of three, three, one and one thread on four processors do not depend on the
    /// length of an epoch: 1.5, 1.5, 0.5 and 0.5 processors.
    #[test]
    fn entitlements_are_the_same_in_epochs_of_any_length() {
        for mult in [1, 2, 4] {
            let mut case = Case::with_threads(4, &[3, 3, 1, 1], 1000);
            let mut turns = over_dss(mult);
            let mut ran = [0; 4];
            for _ in 0..8 {
                let decided = case.decide(&mut turns);
                decided.count.iter().zip(&mut ran).for_each(|(count, ran)| *ran += count);
                case.now_ns += QUANTUM;
            }
            assert_eq!(ran, [12, 12, 4, 4], "epochs of {mult} quanta");
        }
    }

    #[test]
    fn more_applications_than_slots_take_turns() {
        let mut case = Case::with_threads(1, &[1, 1, 1, 1, 1], 100);
        let mut turns = over_dss(2);
        let mut ran = [0; 5];
        for _ in 0..10 {
            let decided = case.decide(&mut turns);
            decided.count.iter().zip(&mut ran).for_each(|(count, ran)| *ran += count);
            case.now_ns += QUANTUM;
        }
        assert_eq!(ran, [2; 5]);
    }

    #[test]
    fn any_share() {
        // Equip gives three applications one processor each of four, and leaves one.
        let mut case = Case::with_threads(4, &[4, 4, 4], 100);
        let mut turns = Chunks::new(1, Box::new(Equip::new(Leftover::Idle)), QUANTUM).unwrap();
        assert_eq!(case.decide(&mut turns).count, [1, 1, 1]);
        case.now_ns += QUANTUM;
        assert_eq!(case.decide(&mut turns).count, [1, 1, 1]);
        assert!(Chunks::new(65, Box::<Dss>::default(), QUANTUM).is_err());
    }

    #[test]
    fn survives_whatever_happens() {
        for mult in [1, 2, 5] {
            let bound = move |case: &Case| (mult + 1) * (case.thread_total() + 2);
            survives(&|| Box::new(over_dss(mult)), &|_, _| {}, &bound);
        }
    }
}
