//! The parts of a policy as traits: share, placement, turns, pages and admission.

use crate::page_home::PageHome;
use crate::plan::Plan;
use crate::rejected::Rejected;
use crate::shares::Shares;
use crate::turn::Turn;
use crate::view::{Bus, Slot, View};
use dyn_clone::DynClone;
use numaestro_topology::{Machine, PuSet};
use std::fmt::Debug;

/// The part that an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The number of processors of each application.
    Share,
    /// The processors that each application gets.
    Placement,
    /// The times at which an application runs.
    Turns,
    /// The nodes that its pages go to.
    Pages,
    /// The waiting applications that may start.
    Admission,
}

impl Part {
    /// All parts, in the order in which a policy names them.
    pub const ALL: [Self; 5] = [Self::Share, Self::Placement, Self::Turns, Self::Pages, Self::Admission];

    /// The word in policy texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Placement => "placement",
            Self::Turns => "turns",
            Self::Pages => "pages",
            Self::Admission => "admission",
        }
    }
}

/// The description of an answer for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// Its name in policy texts.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Paper and section.
    pub source: &'static str,
}

/// Data and control that an answer needs from its host, or that a host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // Five independent abilities of a host.
pub struct Needs {
    /// Applications say how many processors they want.
    pub requests: bool,
    /// Measured speedups.
    pub speedup: bool,
    /// Bus-transaction rates of threads.
    pub bandwidth: bool,
    /// Pages can be put on chosen nodes.
    pub page_control: bool,
    /// Applications can be stopped for a while.
    pub preemption: bool,
}

impl Needs {
    /// No needs.
    pub const NONE: Self =
        Self { requests: false, speedup: false, bandwidth: false, page_control: false, preemption: false };
    /// Requests only.
    pub const REQUESTS: Self = Self { requests: true, ..Self::NONE };

    /// The needs of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            requests: self.requests | other.requests,
            speedup: self.speedup | other.speedup,
            bandwidth: self.bandwidth | other.bandwidth,
            page_control: self.page_control | other.page_control,
            preemption: self.preemption | other.preemption,
        }
    }

    /// The first thing that `host` lacks, in words.
    pub const fn lacking(self, host: Self) -> Option<&'static str> {
        if self.requests && !host.requests {
            Some("applications' requests")
        } else if self.speedup && !host.speedup {
            Some("measured speedups")
        } else if self.bandwidth && !host.bandwidth {
            Some("bandwidth counters")
        } else if self.page_control && !host.page_control {
            Some("control of page placement")
        } else if self.preemption && !host.preemption {
            Some("stopping applications for a while")
        } else {
            None
        }
    }
}

/// Decides how many processors each application gets.
pub trait Share: DynClone + Debug + Send {
    /// Its description for people.
    fn info(&self) -> Info;

    /// Data and control that it needs from the host.
    fn needs(&self) -> Needs {
        Needs::REQUESTS
    }

    /// Parameters that are not the default, as in policy texts: `leftover=worklist`.
    fn parameters(&self) -> String {
        String::new()
    }

    /// Says whether no processor stays free while an application could use it (WC).
    fn conserves_work(&self) -> bool;

    /// Says whether an application may keep more processors than it could use now (hold, home
    /// clusters).
    fn retains(&self) -> bool {
        false
    }

    /// Says whether it reads homes, so that the placement must give them.
    fn needs_homes(&self) -> bool {
        false
    }

    /// Says whether an application gets all of its request or nothing, and keeps that until it
    /// ends.
    fn grants_whole_requests(&self) -> bool {
        false
    }

    /// Says whether it searches counts and reports the searches ([`Shares::set_search`]).
    fn searches(&self) -> bool {
        false
    }

    /// Says whether owners lose processors at once, without a grace time, even if they run there.
    fn preempts(&self) -> bool {
        false
    }

    /// Says whether processors have owners. If not, every application runs everywhere as the
    /// operating system likes, and counts are numbers of threads.
    fn space_shares(&self) -> bool {
        true
    }

    /// Time at which it wants to be asked again even if nothing happens, nanoseconds.
    fn until(&self, view: &View<'_>) -> Option<u64> {
        let _ = view;
        None
    }

    /// Sets the count of every application in `view.order`; `shares` has been reset. 0: no
    /// processors of its own.
    fn divide(&mut self, view: &View<'_>, shares: &mut Shares);
}

/// Decides which processors each application gets.
pub trait Placement: DynClone + Debug + Send {
    /// Its description for people.
    fn info(&self) -> Info;

    /// Data and control that it needs from the host.
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    /// Parameters that are not the default.
    fn parameters(&self) -> String {
        String::new()
    }

    /// Says whether it may give an application fewer processors than its share although some are
    /// free: it does not give everybody every processor. The engine then divides again, with that
    /// application's cap at the number it was given.
    fn selective(&self) -> bool {
        false
    }

    /// Says whether it can be followed on this machine, of which the PUs in `usable` may be given
    /// to applications.
    ///
    /// # Errors
    /// The reason why not.
    fn fits(&self, machine: &Machine, usable: &PuSet) -> Result<(), Rejected> {
        let _ = (machine, usable);
        Ok(())
    }

    /// Says whether it gives applications homes.
    fn gives_homes(&self) -> bool {
        false
    }

    /// Says whether processors may change hands between applications whose counts stay the same,
    /// because that makes them more local.
    fn moves(&self) -> bool {
        false
    }

    /// Says whether it reads [`crate::App::memory`], so that the shell should tell it.
    fn reads_memory(&self) -> bool {
        false
    }

    /// Follows the turns part's preferred buses; the default ignores them.
    fn prefer(&mut self, preferred: &[(Slot, u32, u32)]) {
        let _ = preferred;
    }

    /// Changes `plan` so that every application in `view.order` has `shares.count` processors (at
    /// most, if it is selective).
    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan);
}

/// Decides when applications run.
pub trait Turns: DynClone + Debug + Send {
    /// Its description for people.
    fn info(&self) -> Info;

    /// Data and control that it needs from the host.
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    /// Parameters that are not the default, as in policy texts: `quantum=50ms`.
    fn parameters(&self) -> String {
        String::new()
    }

    /// Says whether applications without processors are stopped (time sharing). If not, they are
    /// guests on the processors of others.
    fn stops(&self) -> bool {
        false
    }

    /// Says whether counts hold until the turn ends: processors that are released before go to the
    /// work-list (Martorell et al. 2000, §3.4), and nothing is taken from anybody.
    fn holds_counts(&self) -> bool {
        false
    }

    /// Says whether it chooses among threads and so needs [`View::threads`].
    fn chooses_threads(&self) -> bool {
        false
    }

    /// Says whether it can be followed with these buses (none: the shell knows none).
    ///
    /// # Errors
    /// The reason why not.
    fn fits(&self, buses: &[Bus]) -> Result<(), Rejected> {
        let _ = buses;
        Ok(())
    }

    /// Leaves in `turn` the applications that run now, and returns the time to ask again. The
    /// engine asks at every decision, also within a turn: then the answer is the same, unless an
    /// application has come, gone or changed its request.
    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64>;
}

/// Decides where pages go.
pub trait Pages: DynClone + Debug + Send {
    /// Its description for people.
    fn info(&self) -> Info;

    /// Data and control that it needs from the host.
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    /// Says whether it reads homes, so that the placement must give them.
    fn needs_homes(&self) -> bool {
        false
    }

    /// The place for new pages of this application.
    fn home(&self, view: &View<'_>, app: Slot) -> PageHome;
}

/// The result of a trial: an application of the queue started now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Processors of its own that it would get.
    pub count: u32,
    /// Every running application would keep at least one of its own, and its minimum.
    pub others_served: bool,
}

impl Offer {
    /// Says whether it would get `min` processors of its own while each running application keeps
    /// its own.
    pub const fn suffices(self, min: u32) -> bool {
        self.others_served && self.count >= min && self.count >= 1
    }
}

/// An application that waits; small, so that thousands can be looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The application.
    pub app: Slot,
    /// Processors it asks for within its own limits; may be more than there are.
    pub processors: u32,
    /// Its user's estimate of its run time, nanoseconds.
    pub estimate_ns: Option<u64>,
}

impl Waiting {
    /// Processors it needs where there are `capacity`.
    pub fn need(&self, capacity: u32) -> u32 {
        self.processors.min(capacity)
    }
}

/// The queue in the middle of a decision.
#[derive(Debug, Clone, Copy)]
pub struct Queue<'a> {
    /// The applications that wait, in order of arrival.
    pub waiting: &'a [Waiting],
    /// The applications that this decision has started: they are in `View::order`, but without
    /// processors yet.
    pub started: &'a [Waiting],
    /// Processors that neither the running applications nor the started ones need.
    pub free: u32,
}

/// Decides which waiting applications may start.
///
/// The engine asks for the `next` application that is worth the work of dividing, divides as if it
/// ran, and asks whether it `starts`. If it does, the engine asks for `next` again from the same
/// place, else from the place behind it.
pub trait Admission: DynClone + Debug + Send {
    /// Its description for people.
    fn info(&self) -> Info;

    /// Parameters that are not the default, as in policy texts: `initial=2`.
    fn parameters(&self) -> String {
        String::new()
    }

    /// Says whether an application may have to wait behind another. If not, nobody waits and the
    /// engine asks nothing else.
    fn queues(&self) -> bool;

    /// Says whether it counts on running applications to keep their processors until they end,
    /// which only some shares let them do.
    fn keeps_reservations(&self) -> bool {
        false
    }

    /// Says whether it needs searches ([`crate::Shares::set_search`]), which only some shares have.
    fn needs_searches(&self) -> bool {
        false
    }

    /// The first in the queue, at `from` or behind it, that should start as far as can be told
    /// without dividing. Costs next to nothing if there is none.
    fn next(&mut self, view: &View<'_>, queue: Queue<'_>, from: usize) -> Option<usize> {
        let _ = view;
        (from == 0 && !queue.waiting.is_empty()).then_some(0)
    }

    /// Says whether that application starts with this offer.
    fn starts(&mut self, view: &View<'_>, app: Slot, offer: Offer) -> bool {
        offer.suffices(view.app(app).min)
    }
}

// Exact copies of parts whose type is not known, state and random stream included: advice is given
// by a copy of the engine.
dyn_clone::clone_trait_object!(Share);
dyn_clone::clone_trait_object!(Placement);
dyn_clone::clone_trait_object!(Turns);
dyn_clone::clone_trait_object!(Pages);
dyn_clone::clone_trait_object!(Admission);
