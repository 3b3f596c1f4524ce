//! The description of a program: its data, its phases, and the ways to steer it.

use super::analyzer::Analyzer;
use crate::Nanos;
use crate::dist::Dist;
use crate::speedup::Curve;
use numaestro_engine::Class;

/// Most processors of a program: as many as the largest machine has.
pub(crate) const PROCESSORS_MAX: u32 = numaestro_topology::PUS_MAX as u32;

/// Index into [`Program::data`].
pub type DataId = usize;

/// The ways in which a program asks for processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// `processors`, once, at its arrival (an OpenMP program). The engine learns from this source
    /// of the phases in which it lends some of them.
    Once(PhaseSource),
    /// As many as it has runnable threads, whenever that changes; it goes on wanting the processors
    /// that it does not get at once (Koita et al. §2.2).
    Runnable,
    /// One more for each thread it creates; where there is none it goes on with fewer threads and
    /// does not ask again for this one in this phase (Brecht 1997, §3). A thread is created once;
    /// it ends, and gives its processor back, when no later phase has work for it.
    Creation,
}

/// By whom the engine learns of the phases of a program in which others can use its processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PhaseSource {
    /// The program says each one when it begins.
    #[default]
    Program,
    /// The manager looks for them while another program lacks processors, as in an unmodified
    /// OpenMP program.
    Manager,
    /// The manager looks for them in the same way by the states of its threads, as in a program
    /// that has no regions.
    Threads,
    /// Nobody.
    Nobody,
}

impl PhaseSource {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Program, Self::Manager, Self::Threads, Self::Nobody];

    /// Its word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Manager => "manager",
            Self::Threads => "threads",
            Self::Nobody => "nobody",
        }
    }
}

/// The time at which a program leaves processors that it has been told to vacate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vacates {
    /// As soon as it is told: the client moves its threads.
    AtOnce,
    /// When the thread on that processor ends its task.
    Task,
    /// When its team meets: at the end of the region or of an iteration.
    Region,
}

/// The place of pages when a thread touches them first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagePlace {
    /// The policy's choice.
    Policy,
    /// To the toucher's node, whatever the policy says (first-hit).
    FirstTouch,
    /// To all nodes in turn.
    RoundRobin,
    /// To the master's node.
    Master,
    /// To this node (its logical index): operating system services, devices.
    Node(u32),
}

/// Whether threads have parts of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// One part for all threads.
    Whole,
    /// A part for each thread of the team, by its number; the pages are those of each part.
    PerThread,
}

/// Some of a program's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    /// Its name for people and for references.
    pub name: String,
    /// Pages of the whole, or of each part.
    pub pages: u64,
    /// Parts.
    pub split: Split,
    /// The place of its pages.
    pub place: PagePlace,
}

/// The part of some data that a thread refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its own (of whole data: all of it).
    Own,
    /// All parts alike.
    All,
    /// The master's.
    Master,
}

/// Memory references of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Refs {
    /// The data they go to.
    pub data: DataId,
    /// The part they go to.
    pub part: Part,
    /// The kind of reference.
    pub op: crate::machine::Op,
    /// References per microsecond of work.
    pub per_us: f64,
    /// Share that hits the processor's cache, at the machine's `hit_ps`.
    pub hits: f64,
    /// Share of the references that leave the cache which is due to partners: it falls in
    /// proportion to the partners that a smaller team lacks.
    pub sharing: f64,
    /// `per_us` is per microsecond of the thread's time when it runs alone, and the phase's work is
    /// such time ([`Program::on`]).
    pub is_rate: bool,
}

impl Refs {
    /// References of threads to their own parts of some data, lines that are brought in; none hits
    /// the cache.
    pub const fn new(data: DataId, per_us: f64) -> Self {
        Self { data, part: Part::Own, op: crate::machine::Op::Line, per_us, hits: 0.0, sharing: 0.0, is_rate: false }
    }
}

/// The ways in which threads wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// They spin on the processor.
    Spin,
    /// They spin on the processor for this long, nanoseconds, then leave it.
    SpinThenBlock(Nanos),
    /// They leave it at once.
    Block,
}

/// The work of a phase.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Nanoseconds in all, divided evenly among the team, each part varied by this coefficient of
    /// variation.
    Divided(Dist, f64),
    /// Nanoseconds for each thread.
    Each(Dist),
}

/// One phase of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The master works alone.
    Serial {
        /// Nanoseconds.
        work: Dist,
        /// Its references.
        refs: Vec<Refs>,
    },
    /// A team, as large as the allocation says, at most `width`.
    Parallel {
        /// Most threads.
        width: u32,
        /// Meetings of the team, at least 1; the work is that of each.
        iterations: u32,
        /// Work of one iteration.
        work: Work,
        /// References.
        refs: Vec<Refs>,
        /// The way in which they wait at the end of each iteration.
        wait: Wait,
        /// A critical section in each thread's iteration, nanoseconds; all phases of a program
        /// share one lock.
        locked: Option<Dist>,
        /// Speedup of the region, if it is not n: work is then stretched by n / S(n).
        curve: Option<Curve>,
    },
    /// A number of threads forked at once and joined; the program's processors take them first come
    /// first served.
    Tasks {
        /// Number of threads.
        count: Dist,
        /// Nanoseconds of each.
        work: Dist,
        /// References; the part "own" goes by the task's number.
        refs: Vec<Refs>,
    },
    /// Off the processor (input, output).
    Pause {
        /// Nanoseconds.
        time: Dist,
    },
    /// From here on it wants this many processors (evolving programs).
    Request {
        /// Number of processors.
        processors: u32,
    },
    /// These phases so many times.
    Repeat {
        /// Number of times.
        times: u32,
        /// The phases.
        phases: Vec<Self>,
    },
}

/// A time in which a program that is only a curve does one thing.
#[derive(Debug, Clone, PartialEq)]
pub enum Stretch {
    /// It works at the rate of its curve; nanoseconds on one processor.
    Parallel(Dist),
    /// It works on one processor, nanoseconds.
    Serial(Dist),
    /// It is off the processors (input, output), nanoseconds.
    Pause(Dist),
}

impl Stretch {
    /// Its length or its work, nanoseconds.
    pub const fn amount(&self) -> &Dist {
        match self {
            Self::Parallel(amount) | Self::Serial(amount) | Self::Pause(amount) => amount,
        }
    }

    /// Mean processor time, nanoseconds.
    pub fn mean_work(&self) -> f64 {
        match self {
            Self::Parallel(work) | Self::Serial(work) => work.mean(),
            Self::Pause(_) => 0.0,
        }
    }
}

/// The behaviour of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Phase by phase, thread by thread.
    Phases(Vec<Phase>),
    /// Only a speedup curve: work W is done at rate S(n) on n processors (logs, allocation
    /// studies). Has no threads.
    Curve {
        /// What it does one after the other; at least one.
        stretches: Vec<Stretch>,
        /// The number of times that the stretches follow each other, at least 1.
        times: u32,
        /// Speedup.
        curve: Curve,
        /// Cost of a change of its processors, nanoseconds.
        resize_ns: Nanos,
    },
}

impl Body {
    /// A curve with so much work, nanoseconds on one processor, in one stretch.
    pub fn curve(work: Dist, curve: Curve, resize_ns: Nanos) -> Self {
        Self::Curve { stretches: vec![Stretch::Parallel(work)], times: 1, curve, resize_ns }
    }
}

/// The limits that a program declares when it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The fewest processors.
    pub min: u32,
    /// The most processors that it may have, whatever it wants; `u32::MAX` where nobody says it.
    pub max: u32,
    /// Weight, thousandths.
    pub weight_milli: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { min: 1, max: u32::MAX, weight_milli: 1000 }
    }
}

/// A program.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Its name for people; one of a kind in a scenario.
    pub name: String,
    /// Processors it wants: its largest team.
    pub processors: u32,
    /// Its limits and its weight.
    pub limits: Limits,
    /// Its class.
    pub class: Class,
    /// The way in which it asks for processors.
    pub asks: Asks,
    /// The time at which it leaves processors.
    pub vacates: Vacates,
    /// Nanoseconds that the master spends on each thread that it creates.
    pub creation_ns: Nanos,
    /// Lines of the working set of one thread, from which its cache debt is computed.
    pub footprint_lines: u64,
    /// Its threads, where there are more than processors, run each other's work when they would
    /// wait for each other (Martorell et al. 2000, §3.2), and a task whose processor was taken goes
    /// on wherever the next one of the program is free (Koita et al. §2.2).
    pub recovers: bool,
    /// A change of its request ends its threads and creates new ones where processors have no
    /// owners, as with the library that Martorell et al. 2000, §6 compare with. Where processors
    /// have owners, its virtual processors stay.
    pub recreates: bool,
    /// It can be stopped. If not, it says so when it arrives.
    pub stoppable: bool,
    /// Its measurement of its own speedup if the policy wants speedups; `None`: as usual.
    pub analyzer: Option<Analyzer>,
    /// Its memory.
    pub data: Vec<Data>,
    /// Its behaviour.
    pub body: Body,
}

impl Program {
    /// A program that asks for so many processors once and says nothing else.
    pub fn new(name: impl Into<String>, processors: u32, body: Body) -> Self {
        Self {
            name: name.into(),
            processors,
            limits: Limits::default(),
            class: Class::Malleable,
            asks: Asks::Once(PhaseSource::Program),
            vacates: Vacates::Region,
            creation_ns: 0,
            footprint_lines: 0,
            recovers: false,
            recreates: false,
            stoppable: true,
            analyzer: None,
            data: Vec::new(),
            body,
        }
    }
}
