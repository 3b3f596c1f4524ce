//! A conventional policy gives out a part of the processors. The rest go to the threads that fit
//! best into the remaining bandwidth.
//!
//! **Source**: the first general method of Antonopoulos et al. 2004, §4; a part of the bandwidth
//! instead of the processors is proposed there too.
//!
//! **Terms**: P = processors of a bus, all others as [`turns=b2arr`](#turns-b2arr), which is this
//! over `rr`; SBTR = saturation rate of a bus; BTR = rate of a thread; `ABTR` = what is left of
//! SBTR; conventional policy = `base`: `rr`, or any share that depends on requests only.
//!
//! **Algorithm**
//! ```text
//! every quantum, on each bus: those that ran go to the tail of the list; ABTR = SBTR
//!   1. base=rr:    from the head of the list, which is dealt as by `rr`
//!      base=share: what it gives of the processors of this phase, of each application those nearest to the head
//!      of=processors: max(1, floor(first · P)) threads;  of=bandwidth: while their BTR stay within first · SBTR, at least 1
//!   2. while processors and threads are left: ABTR_proc = ABTR / processors left
//!      the thread with most 1000 / (1 + |ABTR_proc - BTR|) runs, of equals the one nearest to the head; ABTR -= its BTR
//! several buses: a thread belongs where it ran last; see `balance`. In between: a free processor goes on with 2
//! ```
//!
//! **Differs from the paper**: several buses. A thread that has not been measured counts as SBTR /
//! P. Where SBTR is not known the order of the list decides. An application with a minimum takes
//! that many threads at once.
//!
//! **Use when** bandwidth is short and another conventional policy than round robin is to choose
//! first. **Avoid when** bandwidth is not short.

use super::machinery::balance::balance;
use super::machinery::buses::{Line, needs_buses};
use super::machinery::division::Division;
use super::machinery::fill::{self, Rule};
use super::machinery::quantum::{QUANTUM_NS, Quantum};
use super::machinery::ready::{Entry, Ready, Verdict};
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
        name: "fitness",
        summary: "Any conventional policy for a part of processors or bandwidth, threads that fit what is left for the rest",
        source: "first general method, Antonopoulos et al. 2004, §4",
    },
    build: |given| Ok(Box::new(Fitness::read(given)?)),
};

/// The resource that the first phase gives a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Of {
    /// Of a bus's processors (the paper's choice).
    #[default]
    Processors,
    /// Of a bus's transactions.
    Bandwidth,
}

/// Config and state.
#[derive(Debug, Clone)]
pub struct Fitness {
    /// This answer, or the case of it that a policy text names.
    info: Info,
    /// Config: the part of the first phase, percent. Default: 50, "heuristically chosen" in the
    /// paper.
    first: u32,
    of: Of,
    /// Config: the conventional policy; none for round robin.
    base: Option<Division>,
    quantum: Quantum,
    pub(super) ready: Ready,
    selection: Selection,
}

impl Fitness {
    /// Default of `first`, percent.
    pub const FIRST: u32 = 50;

    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let (first, of) = first_of(parameters)?;
        let base = parameters.value("base").filter(|base| base != "rr");
        let base = base.map(|base| parameters.share(&base)).transpose()?;
        Self::new(first, of, base, parameters.duration("quantum")?.unwrap_or(QUANTUM_NS))
    }

    /// Over round robin, or over `base`.
    ///
    /// # Errors
    /// If `base` depends on more than requests.
    pub fn new(first: u32, of: Of, base: Option<Box<dyn Share>>, quantum_ns: u64) -> Result<Self, Rejected> {
        Ok(Self {
            info: ANSWER.info,
            first,
            of,
            base: base.map(Division::new).transpose()?,
            quantum: Quantum::new(quantum_ns),
            ready: Ready::new(true),
            selection: Selection::default(),
        })
    }

    /// The same as the answer of another name, of which it is a case.
    pub fn named(self, info: Info) -> Self {
        Self { info, ..self }
    }

    /// Phase 1: the conventional policy chooses.
    fn first_phase(&mut self, view: &View<'_>) {
        let (first, of) = (self.first, self.of);
        let quota = |line: &Line| (u64::from(line.processors) * u64::from(first) / 100).max(1) as u32;
        if let Some(base) = &mut self.base {
            let processors = match of {
                Of::Processors => self.ready.buses.lines.iter().filter(|line| line.processors > 0).map(quota).sum(),
                Of::Bandwidth => view.capacity,
            };
            base.divide(view, &self.ready, processors, 1);
        }
        let base = &self.base;
        self.ready.in_order(|line, entry, count| {
            if base.as_ref().is_some_and(|base| count >= base.count(entry.slot)) {
                return Verdict::Skip;
            }
            let within = match of {
                Of::Processors => line.chosen < quota(line),
                Of::Bandwidth => line.chosen == 0 || line.fits(entry, first),
            };
            if within { Verdict::Take } else { Verdict::Close }
        });
    }
}

impl Line {
    /// Says whether this thread's transactions fit into so many percent of the bus's.
    fn fits(&self, entry: &Entry, percent: u32) -> bool {
        let rate = u64::from(entry.measured().unwrap_or(self.unmeasured));
        100 * u128::from(self.demand + rate) <= u128::from(self.saturation) * u128::from(percent)
    }
}

impl Turns for Fitness {
    fn info(&self) -> Info {
        self.info
    }

    fn needs(&self) -> Needs {
        Needs { preemption: true, bandwidth: true, ..Needs::NONE }
    }

    fn parameters(&self) -> String {
        let first = (self.first != Self::FIRST).then(|| format!("first={}%", self.first));
        let of = (self.of == Of::Bandwidth).then(|| "of=bandwidth".to_owned());
        let base = self.base.as_ref().map(|base| format!("base={}", base.name()));
        join([first, of, self.quantum.parameter(), base])
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
        if over || self.ready.is_idle() {
            self.ready.rotate();
            if self.base.is_none() {
                self.ready.deal();
            }
            self.quantum.begin(view.now_ns);
            balance(&mut self.ready);
            self.first_phase(view);
        }
        fill::fill(&mut self.ready, &mut self.selection, &mut Fittest);
        self.ready.write(view, turn);
        (!self.ready.list.is_empty()).then(|| self.quantum.end())
    }
}

/// The parameters of the first phase: `first=50%` and `of=processors`.
pub(super) fn first_of(parameters: &mut Parameters) -> Result<(u32, Of), Rejected> {
    let first = parameters.percent("first")?.unwrap_or(Fitness::FIRST);
    let of = parameters.choice("of", &[("processors", Of::Processors), ("bandwidth", Of::Bandwidth)])?;
    Ok((first, of.unwrap_or_default()))
}

/// Phase 2: all of the bus's transactions, all threads in the list.
struct Fittest;

impl Rule for Fittest {
    fn target(&self, line: &Line) -> (i128, i128) {
        line.left_of(u64::from(line.saturation))
    }

    fn turns(&self, _: &Entry) -> u32 {
        0
    }

    fn admits(&self, _: &Entry, free: u32, need: u32) -> bool {
        need <= free
    }

    fn chosen(&mut self, _: Slot, _: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::random::Random;
    use crate::turns::machinery::threading::{Decided, QUANTUM, survives};
    use std::collections::BTreeMap;

    type Id = (u64, u32);

    fn b2arr() -> Fitness {
        Fitness::new(Fitness::FIRST, Of::Processors, None, QUANTUM).unwrap()
    }

    fn over_dss() -> Fitness {
        Fitness::new(50, Of::Processors, Some(Box::<crate::share::dss::Dss>::default()), QUANTUM).unwrap()
    }

    /// A thread in the queue, and the pass over the queue in which it runs next.
    type Place = (u64, Id);

    /// The paper's B2ARR, which looks at every thread in every round; of a queue that is dealt.
    fn naive(queue: &mut Vec<Place>, processors: u32, saturation: i64, rate: impl Fn(Id) -> i64) -> Vec<Id> {
        let mut chosen: Vec<Id> = queue.iter().map(|place| place.1).collect();
        let mut left = chosen.split_off(((processors / 2).max(1) as usize).min(queue.len()));
        let mut available = saturation - chosen.iter().map(|&id| rate(id)).sum::<i64>();
        while chosen.len() < processors as usize && !left.is_empty() {
            let unallocated = i64::from(processors - chosen.len() as u32);
            let distance = |id: Id| (available - rate(id) * unallocated).abs();
            let best = (0..left.len()).min_by_key(|&at| (distance(left[at]), at)).unwrap();
            if available < 0 {
                assert_eq!(rate(left[best]), left.iter().map(|&id| rate(id)).min().unwrap());
            }
            available -= rate(left[best]);
            chosen.push(left.remove(best));
        }
        let (ran, waits): (Vec<Place>, Vec<Place>) = queue.iter().partition(|place| chosen.contains(&place.1));
        let served = waits.iter().map(|place| place.0).min();
        *queue = waits;
        queue.extend(ran.iter().map(|&(pass, id)| (served.map_or(pass, |served| pass.min(served)) + 1, id)));
        ran.into_iter().map(|place| place.1).collect()
    }

    #[test]
    fn the_same_as_the_paper_does_it() {
        let mut random = Random::new(0xB2A);
        for round in 0..300 {
            let (processors, saturation) = (1 + random.below(9), 1 + random.below(4000));
            let threads: Vec<u32> = (0..=random.below(6)).map(|_| 1 + random.below(6)).collect();
            let mut case = Case::with_threads(processors, &threads, saturation);
            let mut queue: Vec<Place> =
                case.threads.iter().map(|thread| (0, (u64::from(thread.app.0) + 1, thread.vp))).collect();
            let mut turns = b2arr();
            let spread = [3, 1000][random.below(2) as usize];
            for _ in 0..12 {
                for thread in &mut case.threads {
                    thread.rate = (random.below(5) > 0).then(|| random.below(spread));
                }
                let rates: BTreeMap<Id, Option<u32>> =
                    case.threads.iter().map(|thread| ((u64::from(thread.app.0) + 1, thread.vp), thread.rate)).collect();
                let rate = |id: Id| i64::from(rates[&id].unwrap_or(saturation / processors));
                queue.sort_by_key(|&(pass, (_, vp))| (pass, vp));
                let expected = naive(&mut queue, processors, i64::from(saturation), rate);
                case.decide(&mut turns);
                assert_eq!(turns.ready.running(), expected, "round {round}: {rates:?}");
                case.now_ns += QUANTUM;
            }
        }
    }

    /// "In B2ARR we have heuristically chosen to allocate 50 % of the system processors using RR"
    /// (§4): with 100 % of them it is RR, thread by thread.
    #[test]
    fn with_all_processors_in_the_first_phase_it_is_round_robin() {
        for threads in [&[4, 4, 4, 4][..], &[3, 1, 2], &[1; 8], &[6, 5]] {
            let mut case = Case::with_threads(4, threads, 1000);
            let mut all = Fitness::new(100, Of::Processors, None, QUANTUM).unwrap();
            let mut rr = super::super::rr::Rr::new(QUANTUM);
            for quantum in 0..12 {
                assert_eq!(case.decide(&mut all).count, case.decide(&mut rr).count, "{threads:?}, {quantum}");
                case.now_ns += QUANTUM;
            }
        }
    }

    #[test]
    fn everybody_within_its_place_by_the_first_phase() {
        let mut case = Case::with_threads(6, &[5, 9, 4], 1000);
        let mut turns = b2arr();
        let (mut first, mut quantum) = (BTreeMap::new(), 0);
        while first.len() < 18 {
            let decided = case.decide(&mut turns);
            assert_eq!(decided.total(), 6);
            for thread in turns.ready.running() {
                first.entry(thread).or_insert(quantum);
            }
            // The third application never fits, so only the first phase runs it.
            case.run(&decided, |app, _| if app.0 == 3 { 100_000 } else { 100 });
            quantum += 1;
        }
        let of = |vp| [(1, 5), (2, 9), (3, 4)].into_iter().filter(move |&(_, n)| vp < n).map(move |(app, _)| (app, vp));
        for (place, thread) in (0..9).flat_map(of).enumerate() {
            assert!(first[&thread] < (place as u32 + 1).div_ceil(3), "{thread:?}: {first:?}");
        }
    }

    #[test]
    fn a_light_thread_beside_a_heavy_one() {
        // The head wants nearly all of the bus: of the others, the lightest fits best.
        let mut case = Case::with_threads(2, &[1, 1, 1], 30);
        case.rates(&[28, 27, 1]);
        let mut turns = b2arr();
        assert_eq!(case.decide(&mut turns).count, [1, 0, 1]);
        case.now_ns += QUANTUM;
        assert_eq!(case.decide(&mut turns).count, [0, 1, 1]);
    }

    #[test]
    fn a_bus_of_unknown_rate_goes_round() {
        let mut case = Case::with_threads(2, &[1, 1, 1], 0);
        case.rates(&[28, 27, 1]);
        let mut turns = b2arr();
        for expected in [[1, 1, 0], [1, 0, 1], [0, 1, 1]] {
            assert_eq!(case.decide(&mut turns).count, expected);
            case.now_ns += QUANTUM;
        }
    }

    #[test]
    fn a_part_of_the_bandwidth() {
        let mut case = Case::with_threads(4, &[1, 1, 1, 1, 1, 1], 100);
        case.rates(&[20, 20, 20, 1, 60, 0]);
        let mut turns = Fitness::new(50, Of::Bandwidth, None, QUANTUM).unwrap();
        case.decide(&mut turns);
        // Two of 20 within 50; 60 left for two, 30 each: 20 is nearest; then 40 for one: 60 and 20
        // are taken or as near, 60 - 40 < 40 - 1.
        assert_eq!(turns.ready.running(), [(1, 0), (2, 0), (3, 0), (5, 0)]);
    }

    #[test]
    fn any_share_first() {
        // Four processors in the first phase, two for each.
        let mut case = Case::with_threads(8, &[12, 12], 800);
        case.rates(&[700, 10]);
        let counts = case.decide(&mut over_dss()).count;
        assert_eq!(counts, [2, 6], "the bus is overcommitted, so the lightest are the fittest");
        // One thread that never fits: entitled to less than half a processor, but near the head.
        let mut case = Case::with_threads(8, &[12, 1, 12], 100);
        case.rates(&[10, 700, 10]);
        let of_the_one = [over_dss(), b2arr()].map(|mut turns| case.decide(&mut turns).count[1]);
        assert_eq!(of_the_one, [0, 1]);
        assert!(Fitness::new(50, Of::Processors, Some(Box::new(crate::share::linux24::Linux24)), QUANTUM).is_err());
    }

    #[test]
    fn a_processor_that_becomes_free_goes_to_the_fittest() {
        let mut case = Case::with_threads(2, &[1, 1, 1, 1], 30);
        case.rates(&[20, 10, 2, 10]);
        let mut turns = b2arr();
        assert_eq!(case.decide(&mut turns).count, [1, 1, 0, 0]);
        case.order.remove(1);
        case.lay_out();
        assert_eq!(case.decide(&mut turns).count, [1, 0, 0, 1]);
    }

    #[test]
    fn refuses_where_no_bus_is_known() {
        assert!(b2arr().fits(&[]).unwrap_err().reason.contains("no bus"));
        assert!(b2arr().fits(&Case::with_threads(2, &[], 0).buses).is_ok());
    }

    fn work_conserving(case: &Case, decided: &Decided) {
        assert_eq!(decided.total(), case.capacity().min(case.thread_total()));
    }

    #[test]
    fn survives_whatever_happens() {
        // Threads may change their bus while they wait, so a place in the list promises less.
        let bound = |case: &Case| 2 * case.thread_total() + 1;
        survives(&|| Box::new(b2arr()), &work_conserving, &bound);
        let bandwidth = || Fitness::new(30, Of::Bandwidth, None, QUANTUM).unwrap();
        survives(&|| Box::new(bandwidth()), &work_conserving, &bound);
        survives(&|| Box::new(over_dss()), &work_conserving, &|case| 4 * case.thread_total() + 4);
    }
}
