//! The events that go into the engine and the actions that come out of it.
//!
//! Journals have these types as they stand here: names of fields and their order, and names of
//! variants. `tests/journal.rs` pins them.

use numaestro_policy::{AppId, Party};
pub use numaestro_policy::{Class, PageHome};
use numaestro_topology::{NumaNodeId, PuId, PuSet};
use serde::{Deserialize, Serialize};

/// Nanoseconds on the shell's clock; never goes back.
pub type Nanos = u64;

/// The wishes of an application when it arrives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Processors it could use now (clamped to the machine).
    pub request: u32,
    /// Fewest processors it may have.
    pub min: u32,
    /// Most processors it may have.
    pub max: u32,
    /// Weight, thousandths; 1000 is usual.
    pub weight_milli: u32,
    /// Its class: the way to steer it.
    pub class: Class,
    /// `Some(true)`: it waits in the queue until it gets processors of its own; `Some(false)`: it
    /// never waits; `None`: the policy's admission decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
    /// Its user's estimate of its run time, nanoseconds: for backfilling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_ns: Option<Nanos>,
    /// Processors it already has (it attaches again after the shell died): it keeps those that no
    /// other application has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<PuSet>,
    /// The home it had then; with `claim`, it keeps that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<NumaNodeId>,
    /// The only processors that it may have: its user, its launcher or its cpuset gave it these.
    /// Empty: any.
    #[serde(default, skip_serializing_if = "PuSet::is_empty")]
    pub allowed: PuSet,
    /// Its party, an index in [`crate::Settings::parties`]; 0 where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub party: u32,
    /// Memory it is going to need, bytes, as its user says; 0: not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory: u64,
}

fn is_zero<T: PartialEq + Default>(number: &T) -> bool {
    *number == T::default()
}

impl Wish {
    /// The wish of an application that could use this many processors and says nothing else: any
    /// number will do, usual weight, malleable.
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
            allowed: PuSet::new(),
            party: 0,
            memory: 0,
        }
    }
}

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Event {
    /// A new application.
    Arrive {
        /// Its number; greater than every one before.
        app: AppId,
        /// Its wishes. serde does not promise that unknown fields beside flattened ones are
        /// refused; they are, and a test holds it to that.
        #[serde(flatten)]
        wish: Wish,
    },
    /// An application has ended; all its processors are free at once.
    Depart {
        /// The application.
        app: AppId,
    },
    /// An application wants another number of processors; 0: none (a wrapper).
    Request {
        /// The application.
        app: AppId,
        /// Processors that it wants.
        processors: u32,
    },
    /// The user of an application gives it other limits while it runs. Its own requests count
    /// within them.
    Limits {
        /// The application.
        app: AppId,
        /// Fewest processors it may have.
        min: u32,
        /// Most processors it may have.
        max: u32,
        /// Weight, thousandths.
        weight_milli: u32,
    },
    /// An application may have these processors only from now on. Each event replaces the one
    /// before. A set without a processor that can be given bounds nothing.
    Allowed {
        /// The application.
        app: AppId,
        /// The processors; empty: any.
        pus: PuSet,
    },
    /// An application could use this many processors now, and has nothing to run on `idle`. Each
    /// event replaces the one before, so a lost one does no harm. An application that has idle
    /// processors of its own is given no others: the engine counts only the processors it uses.
    Demand {
        /// The application.
        app: AppId,
        /// Processors it could use; 0 counts as 1.
        processors: u32,
        /// Its own processors that are idle, and the processors it was told to vacate and has
        /// already left, while it is still on others of them. No other processors. An idle one is
        /// free as soon as the policy takes it; a vacated one is free at once.
        idle: PuSet,
    },
    /// The shell has found out how an application can be steered.
    Class {
        /// The application.
        app: AppId,
        /// Its class.
        class: Class,
    },
    /// No thread of an application is outside the target of `epoch` any more.
    Adopted {
        /// The application.
        app: AppId,
        /// The `epoch` of the `Action::Target` that it has carried out.
        epoch: u32,
    },
    /// An application is in a sequential phase: all but one of its processors may be lent.
    Sequential {
        /// The application.
        app: AppId,
    },
    /// An application is in a sequential phase and waits for something outside: all its processors
    /// may be lent. It runs as a guest meanwhile.
    Blocked {
        /// The application.
        app: AppId,
    },
    /// An application is parallel again.
    Parallel {
        /// The application.
        app: AppId,
    },
    /// An application has measured its speedup with this many processors, which it had during the
    /// whole measurement. The engine drops the event if the application has another number now.
    Speedup {
        /// The application.
        app: AppId,
        /// Processors during the measurement.
        processors: u32,
        /// Speedup over 1 processor, thousandths.
        speedup_milli: u32,
    },
    /// Bus-transaction rates of an application's threads in the quantum that ends. `None`: the
    /// thread has not run or could not be measured, and its former rate stays. If there are fewer
    /// rates than threads, the last rate counts for all the other threads.
    Bandwidth {
        /// The application.
        app: AppId,
        /// Transactions per millisecond, by virtual processor from 0.
        rates: Vec<Option<u32>>,
    },
    /// The shell has measured (again) how much a bus carries at most.
    Saturation {
        /// Index in [`crate::Settings::buses`].
        bus: u32,
        /// SBTR of all its processors together, transactions per millisecond; 0: not known any
        /// more.
        rate: u32,
    },
    /// The shell has counted an application's pages on each node.
    Memory {
        /// The application.
        app: AppId,
        /// Bytes by NUMA node; empty: not known any more.
        bytes: Vec<u64>,
    },
    /// The shell has read how much memory is free.
    FreeMemory {
        /// Bytes by NUMA node; empty: not known any more.
        bytes: Vec<u64>,
    },
    /// Other parties share the machine from now on. Applications keep the number of their party.
    Parties {
        /// The parties, as in [`crate::Settings::parties`].
        parties: Vec<Party>,
    },
    /// The shell cannot stop an application (a debugger holds it, say): outside its turns it is a
    /// guest on the processors of others.
    Unstoppable {
        /// The application.
        app: AppId,
    },
    /// The shell can stop an application again.
    Stoppable {
        /// The application.
        app: AppId,
    },
    /// A processor went offline or left the shell's cpuset.
    Offline {
        /// The processor.
        pu: PuId,
    },
    /// A processor is back.
    Online {
        /// The processor.
        pu: PuId,
    },
    /// Load that is not managed keeps this many processors busy.
    Unmanaged {
        /// Processors that the load keeps busy.
        processors: u32,
    },
    /// The time has come that `Engine::deadline` gave.
    Timer,
    /// The policy changes. Every allocation that the new one allows stays.
    Policy {
        /// The policy, as `numaestro policy set` takes it.
        policy: String,
    },
}

impl Event {
    /// The application that it is about.
    pub fn app(&self) -> Option<AppId> {
        match self {
            Self::Arrive { app, .. }
            | Self::Depart { app }
            | Self::Request { app, .. }
            | Self::Limits { app, .. }
            | Self::Allowed { app, .. }
            | Self::Demand { app, .. }
            | Self::Class { app, .. }
            | Self::Adopted { app, .. }
            | Self::Sequential { app }
            | Self::Blocked { app }
            | Self::Parallel { app }
            | Self::Speedup { app, .. }
            | Self::Bandwidth { app, .. }
            | Self::Memory { app, .. }
            | Self::Unstoppable { app }
            | Self::Stoppable { app } => Some(*app),
            Self::Saturation { .. }
            | Self::FreeMemory { .. }
            | Self::Parties { .. }
            | Self::Offline { .. }
            | Self::Online { .. }
            | Self::Unmanaged { .. }
            | Self::Timer
            | Self::Policy { .. } => None,
        }
    }
}

/// An order to the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// An application is admitted and may start. Sent once per application, before its first
    /// `Target`.
    Start {
        /// The application.
        app: AppId,
    },
    /// An application waits; `position` 1 is next. Sent again when the position changes.
    Wait {
        /// The application.
        app: AppId,
        /// Place in the queue, from 1.
        position: u32,
    },
    /// An application has these processors from now on. The shell publishes them on its page.
    Target {
        /// The application.
        app: AppId,
        /// Grows by one with every target of this application.
        epoch: u32,
        /// Threads it should have, at least 1: as many as its processors, unless processors have no
        /// owners.
        count: u32,
        /// Its processors.
        pus: PuSet,
        /// Other applications run on some or all of them.
        shared: bool,
        /// Some of its processors are lent while it is sequential.
        lent: bool,
    },
    /// Stop all threads of an application at once, until [`Action::Continue`]. Its processors
    /// belong to others from now on.
    Stop {
        /// The application.
        app: AppId,
    },
    /// An application runs again: put its threads on the processors of its latest target, then let
    /// them go on.
    Continue {
        /// The application.
        app: AppId,
    },
    /// New pages of an application go to `home` from now on. Not sent before the first change from
    /// first touch, because that is what Linux does by itself.
    Pages {
        /// The application.
        app: AppId,
        /// The place for its new pages.
        home: PageHome,
    },
    /// An application did not adopt `epoch` in time: fold all its threads onto `pus` now. The shell
    /// answers with `Adopted`.
    Force {
        /// The application.
        app: AppId,
        /// Epoch of the target that it has not carried out.
        epoch: u32,
        /// The only processors that its threads may run on.
        pus: PuSet,
    },
    /// The engine has refused the event, and nothing has changed.
    Refuse {
        /// The application that the event was about, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        app: Option<AppId>,
        /// The reason, one sentence.
        reason: String,
    },
}

impl Action {
    /// The application that it is about.
    pub fn app(&self) -> Option<AppId> {
        match self {
            Self::Start { app }
            | Self::Wait { app, .. }
            | Self::Target { app, .. }
            | Self::Stop { app }
            | Self::Continue { app }
            | Self::Pages { app, .. }
            | Self::Force { app, .. } => Some(*app),
            Self::Refuse { app, .. } => *app,
        }
    }

    /// It refuses the event that it follows.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refuse { .. })
    }
}
