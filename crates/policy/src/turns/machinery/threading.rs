//! For tests of policies of threads: situations with threads and buses, random changes of them, and
//! the promises of every answer.

use crate::conformance::{Case, app};
use crate::part::Turns;
use crate::random::Random;
use crate::turn::Turn;
use crate::view::{AppId, Bus, Slot, Thread};
use numaestro_topology::{PuId, PuSet};

/// Length of a quantum in tests, nanoseconds.
pub const QUANTUM: u64 = 100;

/// A decision: processors by slot, the end of the turn, and processors preferred by bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    pub count: Vec<u32>,
    pub end: Option<u64>,
    pub preferred: Vec<(Slot, u32, u32)>,
}

impl Decided {
    /// Processors in use.
    pub fn total(&self) -> u32 {
        self.count.iter().sum()
    }
}

impl Case {
    /// Applications with these numbers of threads, the machine one bus with this saturation rate.
    pub fn with_threads(pus: u32, threads: &[u32], saturation: u32) -> Self {
        let mut case = Self::new(pus).wants(threads);
        case.buses = vec![Bus { pus: (0..pus).map(PuId).collect(), saturation }];
        case.lay_out();
        case
    }

    /// The machine's processors on this many buses, as evenly as possible, each with this
    /// saturation rate.
    pub fn on_buses(mut self, buses: u32, saturation: u32) -> Self {
        let pus = self.pus.len() as u32;
        let part = |bus: u32| (0..pus).filter(|pu| pu * buses / pus == bus).map(PuId).collect::<PuSet>();
        self.buses = (0..buses).map(|bus| Bus { pus: part(bus), saturation }).collect();
        self
    }

    /// Lists the present threads of applications; remaining ones keep their rates.
    pub fn lay_out(&mut self) {
        let before = std::mem::take(&mut self.threads);
        let old: Vec<_> = self.apps.iter().map(|app| (app.first_thread, app.thread_count)).collect();
        for &slot in &self.order {
            let (first, count) = old[slot.index()];
            let app = &mut self.apps[slot.index()];
            (app.first_thread, app.thread_count) = (self.threads.len() as u32, app.threads());
            for vp in 0..app.thread_count {
                let known = before.get((first + vp) as usize).filter(|thread| vp < count && thread.app == slot);
                let new = Thread { app: slot, vp, last: None, rate: None, samples: 0 };
                self.threads.push(known.copied().unwrap_or(new));
            }
        }
    }

    /// A rate for all threads of an application.
    pub fn rate(&mut self, slot: usize, rate: impl Into<Option<u32>>) {
        let (app, rate) = (&self.apps[slot], rate.into());
        for thread in &mut self.threads[app.first_thread as usize..][..app.thread_count as usize] {
            (thread.rate, thread.samples) = (rate, thread.samples + 1);
        }
    }

    /// Rates of the first applications.
    pub fn rates(&mut self, rates: &[u32]) {
        for (slot, &rate) in rates.iter().enumerate() {
            self.rate(slot, rate);
        }
    }

    /// Asks twice, and checks that the answer is a possible one.
    pub fn decide(&self, turns: &mut dyn Turns) -> Decided {
        let first = self.decide_once(turns);
        assert_eq!(first, self.decide_once(turns), "another answer when asked again");
        first
    }

    fn decide_once(&self, turns: &mut dyn Turns) -> Decided {
        let mut turn = Turn::new();
        turn.reset(&self.order);
        let (end, capacity) = self.with_view(|view| (turns.now(view, &mut turn), view.capacity));
        let mut count = vec![0; self.apps.len()];
        for &(slot, processors) in turn.limits() {
            count[slot.index()] = processors;
        }
        for (slot, app) in self.apps.iter().enumerate() {
            let running = turn.running.contains(&Slot(slot as u32));
            assert_eq!(running, count[slot] > 0, "{count:?} {turn:?}");
            assert!(count[slot] == 0 || (app.min..=app.thread_count).contains(&count[slot]), "{app:?} {count:?}");
        }
        assert!(turn.running.is_sorted_by_key(|&slot| self.apps[slot.index()].id), "{turn:?}");
        let decided = Decided { count, end, preferred: turn.preferred().to_vec() };
        assert!(decided.total() <= capacity, "{decided:?}");
        assert!(end.is_none_or(|end| end > self.now_ns), "a turn that is over: {end:?}");
        self.check_buses(&decided);
        decided
    }

    /// Checks that each processor is preferred on a bus, and on one with room.
    fn check_buses(&self, decided: &Decided) {
        if self.buses.len() < 2 || decided.preferred.is_empty() {
            return;
        }
        for (bus, of) in self.buses.iter().enumerate() {
            let on = decided.preferred.iter().filter(|&&(_, on, _)| on as usize == bus);
            let room = of.pus.iter().filter(|pu| self.pus[pu.index()].is_usable()).count();
            assert!(on.map(|&(_, _, count)| count).sum::<u32>() as usize <= room, "{decided:?}");
        }
        for (slot, &count) in decided.count.iter().enumerate() {
            let of = decided.preferred.iter().filter(|(of, ..)| of.index() == slot);
            assert_eq!(of.map(|&(_, _, count)| count).sum::<u32>(), count, "{decided:?}");
        }
    }

    /// Carries a decision out like the engine: the chosen threads run, on the buses preferred for
    /// them, and are measured at `rate(application, number)`.
    pub fn run(&mut self, decided: &Decided, rate: impl Fn(AppId, u32) -> u32) {
        let mut free: Vec<Vec<PuId>> = self.buses.iter().map(|bus| bus.pus.iter().collect()).collect();
        for pus in &mut free {
            pus.retain(|pu| self.pus[pu.index()].is_usable());
        }
        for slot in 0..self.apps.len() {
            let app = &self.apps[slot];
            let mut buses: Vec<u32> = Vec::new();
            for &(_, bus, count) in decided.preferred.iter().filter(|(of, ..)| of.index() == slot) {
                buses.extend((0..count).map(|_| bus));
            }
            buses.resize(decided.count[slot] as usize, 0);
            let mut own = PuSet::new();
            for (vp, &bus) in buses.iter().enumerate() {
                let thread = &mut self.threads[app.first_thread as usize + vp];
                thread.last = free.get_mut(bus as usize).and_then(Vec::pop).or(thread.last);
                own.extend(thread.last);
                (thread.rate, thread.samples) = (Some(rate(app.id, vp as u32)), thread.samples + 1);
            }
            self.apps[slot].own = own;
        }
        self.now_ns = decided.end.unwrap_or(self.now_ns + QUANTUM);
    }

    /// An application comes, goes, wants another number, or is measured or no longer; or a
    /// processor goes or comes back.
    pub fn something_happens(&mut self, random: &mut Random) {
        let some = |random: &mut Random, of: usize| random.below(of.max(1) as u32) as usize;
        match random.below(7) {
            0 | 1 => {
                let id = self.apps.iter().map(|app| app.id.0).max().unwrap_or(0) + 1;
                let wish = app(id, 1 + random.below(12));
                let vacant = (0..self.apps.len()).find(|&slot| !self.order.contains(&Slot(slot as u32)));
                let slot = vacant.unwrap_or(self.apps.len());
                if slot == self.apps.len() {
                    self.apps.push(wish);
                } else {
                    self.apps[slot] = wish;
                }
                self.order.push(Slot(slot as u32));
            }
            2 if !self.order.is_empty() => {
                let gone = self.order.remove(some(random, self.order.len()));
                self.apps[gone.index()].thread_count = 0;
            }
            3 if !self.order.is_empty() => {
                let slot = self.order[some(random, self.order.len())];
                self.apps[slot.index()].request = 1 + random.below(12);
            }
            4 if !self.order.is_empty() => {
                let slot = self.order[some(random, self.order.len())];
                let rate = (random.below(2) == 0).then(|| random.below(1000));
                self.rate(slot.index(), rate);
            }
            5 => {
                let pu = some(random, self.pus.len() - 1) + 1;
                let offline = self.pus.get(pu).is_some_and(crate::Processor::is_usable);
                if let Some(pu) = self.pus.get_mut(pu) {
                    pu.state = if offline { crate::PuState::Offline } else { crate::PuState::Free };
                }
            }
            _ => self.now_ns += u64::from(random.below(2 * QUANTUM as u32)),
        }
        self.lay_out();
    }

    /// Number of threads of the applications that take part.
    pub fn thread_total(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Number of processors.
    pub fn capacity(&self) -> u32 {
        self.with_view(|view| view.capacity)
    }
}

/// Random events on one to three buses: answers are possible, `check` holds for each, and every
/// application that stays runs again within `bound` quanta (G7).
pub fn survives(make: &dyn Fn() -> Box<dyn Turns>, check: &dyn Fn(&Case, &Decided), bound: &dyn Fn(&Case) -> u32) {
    let mut random = Random::new(0xB05);
    for round in 0..150 {
        let mut case = Case::with_threads(1 + random.below(12), &[], 0);
        let buses = (1 + random.below(3)).min(case.pus.len() as u32);
        case = case.on_buses(buses, [0, 500, 3000][random.below(3) as usize]);
        let mut turns = make();
        for _ in 0..60 {
            case.something_happens(&mut random);
            let decided = case.decide(&mut *turns);
            check(&case, &decided);
            if random.below(2) == 0 {
                case.run(&decided, |app, vp| ((app.0 * 37 + u64::from(vp) * 11) % 700) as u32);
            }
        }
        let mut waiting: Vec<_> = case.order.iter().map(|slot| slot.index()).collect();
        for _ in 0..bound(&case) {
            let decided = case.decide(&mut *turns);
            waiting.retain(|&slot| decided.count[slot] == 0);
            case.run(&decided, |app, _| (app.0 * 37 % 700) as u32);
        }
        assert!(
            waiting.is_empty(),
            "round {round}: {waiting:?} never run: {:?} {}",
            case.decide(&mut *turns),
            case.capacity()
        );
    }
}
