//! The whole state of the engine, as owned data.

use crate::account::Phase;
use crate::admission::Admission;
use crate::event::{Class, Nanos};
use crate::site::Site;
use numaestro_policy::{AppId, Policy, PuState, Slot};
use numaestro_topology::{PuId, PuSet};
use serde::{Deserialize, Serialize};

/// The state of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AppState {
    /// In the queue.
    Waiting,
    /// Running.
    Running,
    /// In a sequential phase.
    Sequential,
    /// It waits for something outside, and lends everything.
    Blocked,
    /// It does not run until its next turn.
    Stopped,
    /// Its children run; it holds nothing.
    Wrapper,
}

impl AppState {
    /// The word for people and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Sequential => "sequential",
            Self::Blocked => "blocked",
            Self::Stopped => "stopped",
            Self::Wrapper => "wrapper",
        }
    }
}

/// One application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppSnapshot {
    /// Its number.
    pub app: AppId,
    /// Its state.
    pub state: AppState,
    /// Its class.
    pub class: Class,
    /// Processors it could use.
    pub request: u32,
    /// Its minimum.
    pub min: u32,
    /// Its maximum.
    pub max: u32,
    /// Its weight, thousandths.
    pub weight_milli: u32,
    /// Processors of its latest target; 0 before the first.
    pub count: u32,
    /// The processors of its latest target.
    pub pus: PuSet,
    /// Others run on some or all of them.
    pub shared: bool,
    /// Some of its processors are lent.
    pub lent: bool,
    /// Epoch of its latest target; 0 before the first.
    pub epoch: u32,
    /// Largest epoch it has carried out.
    pub adopted: u32,
    /// Place in the queue; 0 = not in it.
    pub position: u32,
    /// The only processors that it may have; empty: any.
    #[serde(default, skip_serializing_if = "PuSet::is_empty")]
    pub allowed: PuSet,
    /// The reason for its count: one sentence.
    pub why: String,
}

impl AppSnapshot {
    /// It holds the processors that it was told.
    pub(crate) const fn holds(&self) -> bool {
        !matches!(self.state, AppState::Waiting | AppState::Stopped | AppState::Wrapper)
    }
}

/// One processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PuSnapshot {
    /// The processor.
    pub pu: PuId,
    /// Its state.
    pub state: PuState,
    /// The application that owns it.
    pub owner: Option<AppId>,
    /// The application that owns it once announced moves are done.
    pub next: Option<AppId>,
    /// The applications that run on it besides its owner.
    pub guests: Vec<AppId>,
}

impl PuSnapshot {
    /// The word for people and files.
    pub const fn state_name(&self) -> &'static str {
        match self.state {
            PuState::Free => "free",
            PuState::Owned => "owned",
            PuState::Leaving => "leaving",
            PuState::Reserved => "reserved",
            PuState::Unmanaged => "unmanaged",
            PuState::Offline => "offline",
        }
    }
}

/// The whole state of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time of the latest event, nanoseconds.
    pub now: Nanos,
    /// The policy, as `Event::Policy` takes it.
    pub policy: String,
    /// Processors that may be given out.
    pub usable: PuSet,
    /// Processors taken by load that is not managed.
    pub unmanaged: u32,
    /// Decisions so far.
    pub decisions: u64,
    /// The applications, in order of arrival.
    pub apps: Vec<AppSnapshot>,
    /// The processors, in hardware order.
    pub pus: Vec<PuSnapshot>,
    /// The queue, first one next.
    pub queue: Vec<AppId>,
    /// Applications that could use more processors than they have, in order of arrival (the
    /// work-list of Martorell et al. 2000, §5.2).
    pub work_list: Vec<AppId>,
}

/// The parts of the engine that a snapshot shows.
pub(crate) struct Shown<'a> {
    pub site: &'a Site,
    pub policy: &'a Policy,
    pub admission: &'a Admission,
    /// Processors that load outside keeps busy.
    pub unmanaged: u32,
}

impl Shown<'_> {
    /// The whole state.
    pub(crate) fn all(&self, decisions: u64) -> Snapshot {
        let ledger = &self.site.ledger;
        let queue = self.admission.waiting().iter().map(|waiting| waiting.app);
        let mut arrival: Vec<Slot> = ledger.started().iter().copied().chain(queue.clone()).collect();
        ledger.sort(&mut arrival);
        let id = |&slot: &Slot| ledger.app(slot).id;
        let lacks = |slot: &&Slot| {
            let app = ledger.app(**slot);
            ledger.account(**slot).phase == Phase::Running && app.allocation < app.request.min(app.max)
        };
        Snapshot {
            now: self.site.now,
            policy: self.policy.to_string(),
            usable: ledger.usable().clone(),
            unmanaged: self.unmanaged,
            decisions,
            apps: arrival.iter().map(|&slot| self.app(slot)).collect(),
            pus: (0..ledger.pus().len() as u32).map(|pu| self.pu(PuId(pu))).collect(),
            queue: queue.map(|slot| id(&slot)).collect(),
            work_list: arrival.iter().filter(lacks).map(id).collect(),
        }
    }

    /// One application.
    pub(crate) fn app(&self, slot: Slot) -> AppSnapshot {
        let (app, account) = (self.site.ledger.app(slot), self.site.ledger.account(slot));
        let (activity, sent) = (&account.activity, &account.sent);
        let limits = activity.limits;
        AppSnapshot {
            app: app.id,
            state: match account.phase {
                Phase::Waiting | Phase::Gone => AppState::Waiting,
                Phase::Wrapper => AppState::Wrapper,
                Phase::Running if activity.stopped => AppState::Stopped,
                Phase::Running if activity.blocked => AppState::Blocked,
                Phase::Running if activity.sequential => AppState::Sequential,
                Phase::Running => AppState::Running,
            },
            class: app.class,
            request: limits.request,
            min: limits.min,
            max: limits.max,
            weight_milli: limits.weight_milli,
            count: sent.count,
            pus: sent.pus.clone(),
            shared: sent.shared,
            lent: sent.lent,
            epoch: sent.epoch,
            adopted: sent.adopted,
            position: self.position(slot),
            allowed: account.within.clone(),
            why: self.why(slot),
        }
    }

    /// Its place in the queue, counted from 1; 0 = not in it.
    fn position(&self, slot: Slot) -> u32 {
        self.admission.place(&self.site.ledger, slot).map_or(0, |at| at as u32 + 1)
    }

    fn pu(&self, pu: PuId) -> PuSnapshot {
        let ledger = &self.site.ledger;
        let entry = ledger.pu(pu);
        let id = |slot: Slot| ledger.app(slot).id;
        let guests = ledger.started().iter().filter(|&&slot| ledger.account(slot).guest_of.contains(pu));
        PuSnapshot {
            pu,
            state: entry.state,
            owner: entry.owner.map(id),
            next: entry.next.map(id),
            guests: guests.map(|&slot| id(slot)).collect(),
        }
    }

    /// The reason for an application's count, one sentence.
    fn why(&self, slot: Slot) -> String {
        let (app, account) = (self.site.ledger.app(slot), self.site.ledger.account(slot));
        let activity = &account.activity;
        let share = self.policy.share.info().name;
        let (running, capacity) = (self.site.among.order().len(), self.site.among.capacity());
        match account.phase {
            Phase::Gone => String::new(),
            Phase::Waiting if activity.limits.wait == Some(true) => {
                format!("waits, as wished, for processors of its own: number {} in the queue", self.position(slot))
            }
            Phase::Waiting => format!("waits for processors of its own: number {} in the queue", self.position(slot)),
            Phase::Wrapper => "its children run; it holds no processors itself".to_owned(),
            Phase::Running if account.pinned => "keeps what it had when the manager was started again".to_owned(),
            Phase::Running if activity.stopped => {
                let turns = self.policy.turns.info().name;
                let taking = counted(self.taking_turns(), "application");
                let have = if running == 1 { "1 has".to_owned() } else { format!("{running} have") };
                format!("stopped until its turn: of {taking} that take turns {have} processors now, by turns={turns}")
            }
            Phase::Running if activity.blocked => {
                "it waits for something outside: its processors are lent until it works again".to_owned()
            }
            Phase::Running if activity.team > 0 && app.allocation == 0 => {
                format!("share={share} gives nobody processors: {} threads wherever they like", activity.team)
            }
            Phase::Running if app.allocation == 0 && app.entitled == 0 => {
                "its user's part is taken by the user's other programs: it shares with them".to_owned()
            }
            Phase::Running if app.allocation == 0 && self.site.ledger.within(slot).is_some() => {
                "others have the processors that it may have: it shares with them".to_owned()
            }
            Phase::Running if app.allocation == 0 && app.min > 1 => {
                format!("its minimum of {} is not to be had, so it shares with others", app.min)
            }
            Phase::Running if app.allocation == 0 => {
                let (running, capacity) = (counted(running, "application"), counted(capacity as usize, "processor"));
                format!("{running} on {capacity}: it shares with others{}", self.outside())
            }
            Phase::Running if activity.sequential && app.allocation < activity.parallel_count => {
                format!(
                    "sequential: {} of its {} processors are lent",
                    activity.parallel_count - app.allocation,
                    activity.parallel_count
                )
            }
            Phase::Running if account.owned.is_empty() && account.sent.epoch == 0 => {
                "its processors are being vacated by others".to_owned()
            }
            Phase::Running if self.others_stopped() => {
                let (taking, turns) = (counted(self.taking_turns(), "application"), self.policy.turns.info().name);
                let has = app.allocation;
                format!(
                    "its turn: {has} of {}; {taking} take turns, by turns={turns}{}",
                    counted(capacity as usize, "processor"),
                    self.outside()
                )
            }
            Phase::Running if !account.within.is_empty() && app.allocation >= account.within.len() as u32 => {
                format!("all that it may have: {} of {capacity} processors", app.allocation)
            }
            Phase::Running if running == 1 => {
                format!("alone: {} of {capacity} processors{}", app.allocation, self.outside())
            }
            Phase::Running if app.allocation >= app.request.min(app.max) => {
                format!("all it asked for: {} of {capacity} processors among {running} applications", app.allocation)
            }
            Phase::Running if app.allocation == app.entitled => {
                format!("{} of {capacity} processors: all that its user's part leaves it", app.allocation)
            }
            Phase::Running => format!(
                "{} of {capacity} processors among {running} applications by share={share}{}",
                app.allocation,
                self.outside()
            ),
        }
    }

    /// The load outside, for the end of a reason; empty where there is none.
    fn outside(&self) -> String {
        let load = load_outside(self.unmanaged, self.site.ledger.usable().len());
        load.map_or_else(String::new, |load| format!("; {load}"))
    }

    /// Applications that run, in their turn or not.
    fn taking_turns(&self) -> usize {
        let ledger = &self.site.ledger;
        ledger.started().iter().filter(|&&slot| ledger.account(slot).phase == Phase::Running).count()
    }

    /// Some application waits for its turn.
    fn others_stopped(&self) -> bool {
        let ledger = &self.site.ledger;
        ledger.started().iter().any(|&slot| ledger.account(slot).activity.stopped)
    }
}

/// "load outside keeps 1 of 2 processors busy". `None`: there is none.
pub(crate) fn load_outside(busy: u32, usable: usize) -> Option<String> {
    let busy = usable.min(busy as usize);
    (busy > 0).then(|| format!("load outside keeps {busy} of {} busy", counted(usable, "processor")))
}

/// "1 processor", "2 processors".
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
