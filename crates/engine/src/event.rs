//! What goes into the engine and what comes out of it.

use numaestro_policy::{AppId, Party};
pub use numaestro_policy::{Class, PageHome};
use numaestro_topology::{NumaNodeId, PuId, PuSet};

/// Nanoseconds on the shell's clock; never goes back.
pub type Nanos = u64;

/// What an application wants when it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Processors it could use now (clamped to the machine).
    pub request: u32,
    /// Never fewer.
    pub min: u32,
    /// Never more.
    pub max: u32,
    /// Thousandths; 1000 is usual.
    pub weight_milli: u32,
    /// How it can be steered.
    pub class: Class,
    /// `Some(true)`: queue it until it gets processors of its own; `Some(false)`: never; `None`:
    /// the policy's admission decides.
    pub wait: Option<bool>,
    /// Its user's estimate of its run time, nanoseconds: for backfilling.
    pub estimate_ns: Option<Nanos>,
    /// What it already has (re-attach after the shell died): it keeps this if nobody else has it.
    pub claim: Option<PuSet>,
    /// The home it had then: with `claim`, it keeps that too.
    pub home: Option<NumaNodeId>,
    /// Whose it is: an index in [`crate::Settings::parties`], 0 where there are none.
    pub party: u32,
    /// Bytes it is going to need, as its user says; 0: not known.
    pub memory: u64,
}

impl Wish {
    /// Of an application that could use this many processors and says nothing else: any number will
    /// do, usual weight, malleable.
    pub const fn new(request: u32) -> Self {
        Self {
            request,
            min: 1,
            max: u32::MAX,
            weight_milli: 1000,
            class: Class::Malleable,
            wait: None,
            estimate_ns: None,
            claim: None,
            home: None,
            party: 0,
            memory: 0,
        }
    }
}

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A new application.
    Arrive {
        /// Its number; greater than every one before.
        app: AppId,
        /// Its wishes.
        wish: Wish,
    },
    /// It is gone; everything it had is free at once.
    Depart {
        /// The application.
        app: AppId,
    },
    /// It wants another number of processors. 0 = none (a wrapper).
    Request {
        /// The application.
        app: AppId,
        /// Processors that it wants.
        processors: u32,
    },
    /// It could use this many processors now, and has nothing to run on `idle`. Says all there is
    /// to say, so that a lost one does no harm. One that has idle processors of its own is not
    /// given others: what it says beyond those it uses is not believed.
    Demand {
        /// The application.
        app: AppId,
        /// How many; 0 counts as 1.
        processors: u32,
        /// Those of its own that are idle, and those it has been told to vacate and has left
        /// already though not yet all of them; others are left out. What the policy takes of the
        /// former is free at once, and the latter are.
        idle: PuSet,
    },
    /// How it can be steered was found out.
    Class {
        /// The application.
        app: AppId,
        /// How.
        class: Class,
    },
    /// No thread of it is outside the target of `epoch` any more.
    Adopted {
        /// The application.
        app: AppId,
        /// The `epoch` of the `Action::Target` it carried out.
        epoch: u32,
    },
    /// It is in a sequential phase: all but one of its processors may be lent.
    Sequential {
        /// The application.
        app: AppId,
    },
    /// It is in a sequential phase and waits for something outside: all its processors may be lent;
    /// it runs as a guest meanwhile.
    Blocked {
        /// The application.
        app: AppId,
    },
    /// It is parallel again.
    Parallel {
        /// The application.
        app: AppId,
    },
    /// It has measured its speedup while it had this many processors (and no fewer or more during
    /// the measurement). Dropped if it has another number now.
    Speedup {
        /// The application.
        app: AppId,
        /// Processors it was measured with.
        processors: u32,
        /// Over one processor, thousandths.
        speedup_milli: u32,
    },
    /// Bus-transaction rates of its threads in the quantum that ends, transactions per millisecond,
    /// by virtual processor from 0. `None`: it has not run or could not be measured, and what is
    /// known stays. If there are fewer than it has threads, the last one is that of all the others.
    Bandwidth {
        /// The application.
        app: AppId,
        /// By virtual processor.
        rates: Vec<Option<u32>>,
    },
    /// How much a bus carries at most has been measured (again).
    Saturation {
        /// Index in [`crate::Settings::buses`].
        bus: u32,
        /// SBTR of all its processors together, transactions per millisecond; 0: not known any
        /// more.
        rate: u32,
    },
    /// Where its pages are now.
    Memory {
        /// The application.
        app: AppId,
        /// By NUMA node; empty: not known any more.
        bytes: Vec<u64>,
    },
    /// Memory that is free now.
    FreeMemory {
        /// By NUMA node; empty: not known any more.
        bytes: Vec<u64>,
    },
    /// Other parties share the machine from now on. Applications keep their numbers of party.
    Parties {
        /// As [`crate::Settings::parties`].
        parties: Vec<Party>,
    },
    /// The shell cannot stop it (it is being debugged, say): outside its turns it is a guest on the
    /// processors of others.
    Unstoppable {
        /// The application.
        app: AppId,
    },
    /// It can be stopped again.
    Stoppable {
        /// The application.
        app: AppId,
    },
    /// A processor went offline or left the shell's cpuset.
    Offline {
        /// The processor.
        pu: PuId,
    },
    /// It is back.
    Online {
        /// The processor.
        pu: PuId,
    },
    /// Load that is not managed keeps this many processors busy.
    Unmanaged {
        /// Processors.
        processors: u32,
    },
    /// The time `Engine::deadline` asked for has come.
    Timer,
    /// Switch the policy, keeping every allocation that the new one allows.
    Policy {
        /// As `numaestro policy set` takes it.
        policy: String,
    },
}

/// Do this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Admitted: it may start (sent once per application, before its first `Target`).
    Start {
        /// The application.
        app: AppId,
    },
    /// It waits; `position` 1 is next. Sent again when the position changes.
    Wait {
        /// The application.
        app: AppId,
        /// Place in the queue.
        position: u32,
    },
    /// These are its processors from now on: publish it.
    Target {
        /// The application.
        app: AppId,
        /// Grows by one with every target of this application.
        epoch: u32,
        /// Threads it should have, at least 1: the number of its processors, unless those have no
        /// owners.
        count: u32,
        /// Its processors.
        pus: PuSet,
        /// Other applications run on (some of) them.
        shared: bool,
        /// Some of its processors are lent while it is sequential.
        lent: bool,
    },
    /// It does not run until [`Action::Continue`]: stop all its threads at once. Its processors are
    /// others' from now on.
    Stop {
        /// The application.
        app: AppId,
    },
    /// It runs again, on the processors of its latest target: put its threads there, then let them
    /// go on.
    Continue {
        /// The application.
        app: AppId,
    },
    /// Its new pages go there from now on. Not sent while they go to who touches them first, which
    /// is what happens by itself.
    Pages {
        /// The application.
        app: AppId,
        /// Where its new pages go.
        home: PageHome,
    },
    /// It did not adopt `epoch` in time: fold all its threads onto `pus` now. The shell answers
    /// with `Adopted`.
    Force {
        /// The application.
        app: AppId,
        /// Of the target that it has not carried out.
        epoch: u32,
        /// Its threads may run here only.
        pus: PuSet,
    },
    /// The event cannot be done, and nothing has changed.
    Refuse {
        /// Which application asked, if any.
        app: Option<AppId>,
        /// One sentence.
        reason: String,
    },
}
