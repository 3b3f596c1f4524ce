//! One application as the manager keeps it: the process behind it, its page, what it was told last. What it *may* have is the engine's.

use std::collections::{BTreeMap, BTreeSet};

use numaestro_abi::control::{Class, Options};
use numaestro_abi::page::{flag, runtime};
use numaestro_engine as event;
use numaestro_host::PidFd;
use numaestro_host::memory::{Report, SharedPage};
use numaestro_topology::{CpuSet, PuSet};

/// What the engine said last.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The engine's number of it.
    pub(crate) epoch: u32,
    pub(crate) count: u32,
    pub(crate) pus: PuSet,
    pub(crate) cpus: CpuSet,
    pub(crate) shared: bool,
    pub(crate) lent: bool,
}

/// What is known of a program's phases from its page.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    /// Regions at the latest look, if it was outside of one.
    pub(crate) regions: Option<u64>,
    /// Since when it has been seen outside of any region.
    pub(crate) quiet_since_ns: u64,
    /// The engine was told that it is sequential.
    pub(crate) sequential: bool,
    /// The engine was told that it waits for something outside.
    pub(crate) blocked: bool,
    /// Time and processor time at the latest look of this quiet phase, nanoseconds.
    pub(crate) cpu: Option<(u64, u64)>,
    /// When that was last so.
    pub(crate) seen_ns: Option<u64>,
}

/// What is known of how much a program without a page can use.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    /// Processor time of every thread at the latest look, nanoseconds.
    pub(crate) times: BTreeMap<u32, u64>,
    pub(crate) looked_ns: u64,
    /// Looks since the last reason to look.
    pub(crate) looks: u32,
    /// It was stopped when it was to be looked at.
    pub(crate) missed: bool,
}

/// Whether it runs, as far as turns are concerned.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It does.
    #[default]
    Runs,
    /// It was stopped, or waits unstarted, and has not been told to go on.
    Stopped,
    /// The system does not let us stop it, and why.
    Unstoppable(String),
}

/// One application.
#[derive(Debug)]
pub(crate) struct App {
    /// The application number.
    pub(crate) number: u64,
    pub(crate) process: PidFd,
    /// Who started it; the user of the manager where that is only one.
    pub(crate) uid: u32,
    /// Index of the user's party.
    pub(crate) party: u32,
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) arrived_ns: u64,
    pub(crate) page: Option<SharedPage>,
    pub(crate) runtimes: u32,
    pub(crate) class: event::Class,
    /// Processors it could use on a machine of any size.
    pub(crate) could: u32,
    /// Processors it could use by itself, of those that there are.
    pub(crate) wish: u32,
    /// Processors last asked of the engine for it.
    pub(crate) request: u32,
    /// The application it descends from and that became a wrapper because of it.
    pub(crate) wrapper: Option<u64>,
    /// Applications that made this one a wrapper.
    pub(crate) wrapped: u32,
    pub(crate) target: Option<Target>,
    /// Added to the engine's epochs in the page, so that numbers go on when the engine begins anew.
    pub(crate) epoch_base: u32,
    pub(crate) adopted: u32,
    /// Place in the queue.
    pub(crate) waiting: Option<u32>,
    /// Connection of a `run` that waits for its answer.
    pub(crate) asker: Option<u64>,
    pub(crate) phases: Phases,
    pub(crate) demand: Demand,
    /// Affinity it had when it came.
    pub(crate) original: CpuSet,
    /// Its threads have been moved from outside.
    pub(crate) moved: bool,
    pub(crate) turn: Turn,
    /// The system does not let us move it, and why.
    pub(crate) denied: Option<String>,
    /// Its group, where it is in one.
    pub(crate) cpuset: Option<crate::cpusets::Confined>,
    /// Why it is in none though there are groups.
    pub(crate) stays: Option<String>,
    /// What others allow it.
    pub(crate) allowed: crate::quota::Allowed,
    /// Whether it had a page before the manager was started anew.
    pub(crate) had_page: bool,
    /// Where its memory is to be, and is.
    pub(crate) memory: crate::pages::AppMemory,
    /// It is asked to measure itself.
    pub(crate) measures: bool,
    /// The processes of its tree at the latest look, with their start times; also those that have
    /// left it since.
    pub(crate) members: BTreeMap<u32, u64>,
    /// Those of them that have left the tree: a parent has ended.
    pub(crate) strays: BTreeSet<u32>,
}

impl App {
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn is_wrapper(&self) -> bool {
        self.wrapped > 0
    }

    /// It may look as if it had nothing to do, only because it is not let.
    pub(crate) fn is_stopped(&self) -> bool {
        self.turn == Turn::Stopped
    }

    pub(crate) fn is_unstoppable(&self) -> bool {
        matches!(self.turn, Turn::Unstoppable(_))
    }

    /// Processors it has; 0 before its first target.
    pub(crate) fn count(&self) -> u32 {
        self.target.as_ref().map_or(0, |target| target.count)
    }

    /// The number of its latest decision as its page has it; 0 before the first.
    pub(crate) fn page_epoch(&self) -> u32 {
        self.target.as_ref().map_or(0, |target| self.epoch_base.wrapping_add(target.epoch))
    }

    /// It could use more processors of its own than it has.
    pub(crate) fn wants_more(&self) -> bool {
        !self.is_wrapper()
            && !self.is_stopped()
            && !self.phases.sequential
            && (self.waiting.is_some()
                || self.target.as_ref().is_none_or(|target| target.shared || target.count < self.request))
    }

    /// What it says of itself; zeros without a page.
    pub(crate) fn report(&self) -> Report {
        self.page.as_ref().map_or_else(Report::default, SharedPage::report)
    }

    /// Bits for its page.
    pub(crate) fn flags(&self, target: &Target) -> u32 {
        let mut flags = 0;
        if target.shared {
            flags |= flag::SHARED;
        }
        if target.lent {
            flags |= flag::LENT;
        }
        if self.measures {
            flags |= flag::MEASURE;
        }
        match self.options.class {
            Class::Malleable => flags | flag::RESIZE_ALWAYS,
            Class::Fold => flags | flag::RESIZE_NEVER,
            Class::Auto | Class::Whole | Class::Setter => flags,
        }
    }
}

/// How a program with these runtimes is steered.
pub(crate) fn class_of(runtimes: u32) -> event::Class {
    if runtimes & (runtime::GOMP | runtime::KMP | runtime::API) != 0 {
        event::Class::Malleable
    } else {
        event::Class::Setter
    }
}

/// The names of the runtimes in a bit set.
pub(crate) fn runtime_names(runtimes: u32) -> Vec<String> {
    let names = [
        (runtime::GOMP, "libgomp"),
        (runtime::KMP, "libomp"),
        (runtime::OPENBLAS, "OpenBLAS"),
        (runtime::BLIS, "BLIS"),
        (runtime::MKL, "MKL"),
        (runtime::TBB, "oneTBB"),
        (runtime::API, "numaestro.h"),
    ];
    names.iter().filter(|(bit, _)| runtimes & bit != 0).map(|(_, name)| (*name).to_owned()).collect()
}
