//! The programs of the paper (§2): five of the NAS suite, three microbenchmarks, and one of ours
//! whose traffic comes in bursts.
//!
//! A program is one parallel loop with a barrier at the end of each iteration. It moves so many
//! lines in a microsecond as its rate says. A processor that it loses is lost at the end of the
//! quantum, wherever its thread is (§4: "deallocates all executing threads"), and under the manager
//! its other threads take up the work that the preempted one has left (§2).

use super::platform::whole;
use crate::{Lab, Trouble};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::Op;
use numaestro_sim::program::{Body, Data, PagePlace, Phase, Program, Refs, Split, Vacates, Wait, Work};
use std::sync::Arc;

/// The applications.
pub const APPLICATIONS: [&str; 5] = ["BT", "CG", "SP", "FT", "MG"];
/// The constants with their rates.
const RATES: [&str; 5] = ["rate BT", "rate CG", "rate SP", "rate FT", "rate MG"];
/// Applications that are known to move many lines for their work (§1 calls such programs
/// memory-intensive, and names none): CG, SP, MG, as indices of [`APPLICATIONS`].
pub const INTENSIVE: [usize; 3] = [1, 2, 4];
/// The data of a program, as an index: one object without pages, which is local everywhere.
const LINES: usize = 0;
/// A microbenchmark works longer than anybody looks at it, nanoseconds.
const ENDLESS: f64 = 9e10;
/// Threads of the program with bursts.
pub const BURSTY_THREADS: u32 = 2;
/// Its bursts, each a quantum of its threads long.
const BURSTS: u32 = 30;
/// Barriers in a burst.
const MEETINGS: u32 = 10;

/// The programs with the lab's constants.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Transactions per microsecond of one thread alone, by application.
    rates: [f64; 5],
    /// Share of its misses that a thread of a team of four has because of its partners.
    partners: f64,
    /// Lines of a thread's working set.
    working_set: u64,
    /// Lines of a cache.
    cache: u64,
    /// Work of an iteration in all threads, nanoseconds.
    meeting: f64,
    /// Coefficient of variation of a thread's part of an iteration.
    imbalance: f64,
    /// The way in which threads wait at a barrier.
    wait: Wait,
    /// Work of a program, nanoseconds.
    work: f64,
    /// Transactions per microsecond of the microbenchmarks: streaming, quiet.
    micro: (f64, f64),
    /// Transactions per microsecond in a burst.
    burst: f64,
    /// A quantum, nanoseconds.
    quantum: f64,
}

impl Suite {
    /// The programs with the lab's constants.
    ///
    /// # Errors
    /// A constant is missing.
    pub fn of(lab: &Lab) -> Result<Self, Trouble> {
        let mut rates = [0.0; 5];
        for (rate, name) in rates.iter_mut().zip(RATES) {
            *rate = lab.constant(name)?;
        }
        Ok(Self {
            rates,
            partners: lab.constant("partner misses")?,
            working_set: whole(lab.constant("working set")?),
            cache: whole(lab.constant("cache")?),
            meeting: lab.constant("meeting")? * 1e6,
            imbalance: lab.constant("imbalance")?,
            wait: Wait::SpinThenBlock(whole(lab.constant("spin")? * 1e6)),
            work: lab.constant("work")? * 1e9,
            micro: (lab.constant("streaming")?, lab.constant("quiet")?),
            burst: lab.constant("burst")?,
            quantum: lab.constant("quantum")? * 1e6,
        })
    }

    /// Transactions per microsecond of one thread of an application alone.
    pub const fn rate(&self, application: usize) -> f64 {
        self.rates[application]
    }

    /// A program by its name, with this many threads, under the manager.
    ///
    /// # Errors
    /// There is no such program.
    pub fn program(&self, name: &str, threads: u32) -> Result<Arc<Program>, Trouble> {
        let (streaming, quiet) = self.micro;
        let program = match name {
            // Flushes the cache whenever it gets a processor, then uses what is in it.
            "FLUSH" => self.micro(name, self.cache, 0.0),
            // Goes on reading and writing back to back.
            "BBMA" => self.micro(name, self.cache, streaming),
            // Disturbs neither caches nor the bus.
            "nBBMA" => self.micro(name, 0, quiet),
            // A quantum of much traffic, a quantum of none, as long as its threads have the bus for
            // themselves: the latest quantum says the contrary of the next.
            "bursty" => {
                let work = self.quantum * f64::from(threads) / f64::from(MEETINGS);
                let phases = [self.burst, 0.0].map(|rate| self.region(threads, MEETINGS, work, rate));
                self.team(name, threads, vec![Phase::Repeat { times: BURSTS, phases: phases.into() }])
            }
            _ => {
                let at = APPLICATIONS.iter().position(|known| *known == name);
                let at = at.ok_or_else(|| Trouble::new(name, "there is no such program"))?;
                let meetings = whole((self.work / self.meeting).round().max(1.0)) as u32;
                let work = self.work / f64::from(meetings);
                self.team(name, threads, vec![self.region(threads, meetings, work, self.rates[at])])
            }
        };
        Ok(Arc::new(program))
    }

    /// The same program without the manager: nobody tells it of preempted threads.
    ///
    /// # Errors
    /// There is no such program.
    pub fn native(&self, name: &str, threads: u32) -> Result<Arc<Program>, Trouble> {
        let mut program = (*self.program(name, threads)?).clone();
        program.recovers = false;
        Ok(Arc::new(program))
    }

    fn team(&self, name: &str, threads: u32, phases: Vec<Phase>) -> Program {
        Program {
            recovers: true,
            vacates: Vacates::AtOnce,
            footprint_lines: self.working_set,
            data: lines(),
            ..Program::new(name, threads, Body::Phases(phases))
        }
    }

    fn micro(&self, name: &str, footprint_lines: u64, rate: f64) -> Program {
        let mut phase = self.region(1, 1, ENDLESS, 0.0);
        if let Phase::Parallel { refs, .. } = &mut phase {
            *refs = vec![Refs { is_rate: true, ..Refs::new(LINES, rate) }];
        }
        Program { footprint_lines, data: lines(), ..Program::new(name, 1, Body::Phases(vec![phase])) }
    }

    fn region(&self, width: u32, iterations: u32, work: f64, rate: f64) -> Phase {
        let line = Refs { is_rate: true, op: Op::Load, sharing: self.partners, ..Refs::new(LINES, rate) };
        Phase::Parallel {
            width,
            iterations,
            work: Work::Divided(Dist::Constant(work), self.imbalance),
            refs: vec![line],
            wait: self.wait,
            locked: None,
            curve: None,
        }
    }
}

/// What [`LINES`] is the index of.
fn lines() -> Vec<Data> {
    vec![Data { name: "lines".to_owned(), pages: 0, split: Split::Whole, place: PagePlace::FirstTouch }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::antonopoulos2004_bandwidth::tests::lab;

    fn region(program: &Program) -> (u32, u32, f64, Refs) {
        let Body::Phases(phases) = &program.body else { panic!("phases") };
        let Phase::Parallel { width, iterations, work: Work::Divided(Dist::Constant(work), _), refs, .. } = &phases[0]
        else {
            panic!("a region")
        };
        (*width, *iterations, *work, refs[0].clone())
    }

    #[test]
    fn applications_have_their_rates_and_their_work() {
        let suite = Suite::of(&lab(&[("rate CG", 7.25), ("work", 3.0), ("meeting", 7.0)])).unwrap();
        let (width, iterations, work, refs) = region(&suite.program("CG", 3).unwrap());
        assert_eq!((width, refs.op, refs.per_us.to_bits()), (3, Op::Load, 7.25_f64.to_bits()));
        assert!((f64::from(iterations) * work - 3e9).abs() < 1.0 && iterations == 429);
        assert!(suite.program("LU", 4).is_err());
    }

    #[test]
    fn only_the_manager_tells_of_preempted_threads() {
        let suite = Suite::of(&lab(&[])).unwrap();
        for name in APPLICATIONS {
            let managed = suite.program(name, 4).unwrap();
            assert!(managed.recovers && managed.vacates == Vacates::AtOnce, "{name}");
            assert!(!suite.native(name, 4).unwrap().recovers, "{name}");
        }
    }

    #[test]
    fn microbenchmarks_differ_in_cache_and_bus() {
        let suite = Suite::of(&lab(&[])).unwrap();
        let of = |name: &str| {
            let program = suite.program(name, 1).unwrap();
            (program.footprint_lines > 0, region(&program).3.per_us > 1.0)
        };
        assert_eq!([of("FLUSH"), of("BBMA"), of("nBBMA")], [(true, false), (true, true), (false, false)]);
    }
}
