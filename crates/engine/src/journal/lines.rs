//! Events and actions as JSON. The fields and words of the journal stay when the types inside the
//! program change.

use super::JournalError;
use crate::event::{Action, Class, Event, PageHome, Wish};
use numaestro_policy::{AppId, Party};
use numaestro_topology::{NumaNodeId, PuId, PuSet};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// See [`Class`].
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClassWord {
    Malleable,
    Setter,
    Fold,
}

/// See [`Party`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartyLine {
    weight_milli: u32,
    most: u32,
    reserved: u32,
}

impl From<&Party> for PartyLine {
    fn from(party: &Party) -> Self {
        Self { weight_milli: party.weight_milli, most: party.most, reserved: party.reserved }
    }
}

impl From<PartyLine> for Party {
    fn from(line: PartyLine) -> Self {
        Self { weight_milli: line.weight_milli, most: line.most, reserved: line.reserved }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde wants it.
fn is_zero<T: PartialEq + Default>(number: &T) -> bool {
    *number == T::default()
}

/// See [`Event`].
#[derive(Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum EventLine {
    Arrive {
        app: u64,
        request: u32,
        min: u32,
        max: u32,
        weight_milli: u32,
        class: ClassWord,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimate_ns: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        home: Option<u32>,
        #[serde(default, skip_serializing_if = "is_zero")]
        party: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        memory: u64,
    },
    Depart {
        app: u64,
    },
    Request {
        app: u64,
        processors: u32,
    },
    Demand {
        app: u64,
        processors: u32,
        idle: String,
    },
    Class {
        app: u64,
        class: ClassWord,
    },
    Adopted {
        app: u64,
        epoch: u32,
    },
    Sequential {
        app: u64,
    },
    Blocked {
        app: u64,
    },
    Parallel {
        app: u64,
    },
    Speedup {
        app: u64,
        processors: u32,
        speedup_milli: u32,
    },
    Bandwidth {
        app: u64,
        rates: Vec<Option<u32>>,
    },
    Saturation {
        bus: u32,
        rate: u32,
    },
    Memory {
        app: u64,
        bytes: Vec<u64>,
    },
    FreeMemory {
        bytes: Vec<u64>,
    },
    Parties {
        parties: Vec<PartyLine>,
    },
    Unstoppable {
        app: u64,
    },
    Stoppable {
        app: u64,
    },
    Offline {
        pu: u32,
    },
    Online {
        pu: u32,
    },
    Unmanaged {
        processors: u32,
    },
    Timer,
    Policy {
        policy: String,
    },
}

/// See [`Action`].
#[derive(Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum ActionLine {
    Start {
        app: u64,
    },
    Wait {
        app: u64,
        position: u32,
    },
    Target {
        app: u64,
        epoch: u32,
        count: u32,
        pus: String,
        shared: bool,
        lent: bool,
    },
    Stop {
        app: u64,
    },
    Continue {
        app: u64,
    },
    Pages {
        app: u64,
        home: String,
    },
    Force {
        app: u64,
        epoch: u32,
        pus: String,
    },
    Refuse {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        app: Option<u64>,
        reason: String,
    },
}

impl From<Class> for ClassWord {
    fn from(class: Class) -> Self {
        match class {
            Class::Malleable => Self::Malleable,
            Class::Setter => Self::Setter,
            Class::Fold => Self::Fold,
        }
    }
}

impl From<ClassWord> for Class {
    fn from(word: ClassWord) -> Self {
        match word {
            ClassWord::Malleable => Self::Malleable,
            ClassWord::Setter => Self::Setter,
            ClassWord::Fold => Self::Fold,
        }
    }
}

impl From<&Event> for EventLine {
    fn from(event: &Event) -> Self {
        match event {
            Event::Arrive { app, wish } => Self::Arrive {
                app: app.0,
                request: wish.request,
                min: wish.min,
                max: wish.max,
                weight_milli: wish.weight_milli,
                class: wish.class.into(),
                wait: wish.wait,
                estimate_ns: wish.estimate_ns,
                claim: wish.claim.as_ref().map(PuSet::to_string),
                home: wish.home.map(|node| node.0),
                party: wish.party,
                memory: wish.memory,
            },
            Event::Depart { app } => Self::Depart { app: app.0 },
            Event::Request { app, processors } => Self::Request { app: app.0, processors: *processors },
            Event::Demand { app, processors, idle } => {
                Self::Demand { app: app.0, processors: *processors, idle: idle.to_string() }
            }
            Event::Class { app, class } => Self::Class { app: app.0, class: (*class).into() },
            Event::Adopted { app, epoch } => Self::Adopted { app: app.0, epoch: *epoch },
            Event::Sequential { app } => Self::Sequential { app: app.0 },
            Event::Blocked { app } => Self::Blocked { app: app.0 },
            Event::Parallel { app } => Self::Parallel { app: app.0 },
            Event::Speedup { app, processors, speedup_milli } => {
                Self::Speedup { app: app.0, processors: *processors, speedup_milli: *speedup_milli }
            }
            Event::Bandwidth { app, rates } => Self::Bandwidth { app: app.0, rates: rates.clone() },
            Event::Saturation { bus, rate } => Self::Saturation { bus: *bus, rate: *rate },
            Event::Memory { app, bytes } => Self::Memory { app: app.0, bytes: bytes.clone() },
            Event::FreeMemory { bytes } => Self::FreeMemory { bytes: bytes.clone() },
            Event::Parties { parties } => Self::Parties { parties: parties.iter().map(PartyLine::from).collect() },
            Event::Unstoppable { app } => Self::Unstoppable { app: app.0 },
            Event::Stoppable { app } => Self::Stoppable { app: app.0 },
            Event::Offline { pu } => Self::Offline { pu: pu.0 },
            Event::Online { pu } => Self::Online { pu: pu.0 },
            Event::Unmanaged { processors } => Self::Unmanaged { processors: *processors },
            Event::Timer => Self::Timer,
            Event::Policy { policy } => Self::Policy { policy: policy.clone() },
        }
    }
}

impl TryFrom<EventLine> for Event {
    type Error = JournalError;

    fn try_from(line: EventLine) -> Result<Self, JournalError> {
        Ok(match line {
            EventLine::Arrive {
                app,
                request,
                min,
                max,
                weight_milli,
                class,
                wait,
                estimate_ns,
                claim,
                home,
                party,
                memory,
            } => {
                let (class, home) = (class.into(), home.map(NumaNodeId));
                let claim = claim.as_deref().map(set).transpose()?;
                let wish =
                    Wish { request, min, max, weight_milli, class, wait, estimate_ns, claim, home, party, memory };
                Self::Arrive { app: AppId(app), wish }
            }
            EventLine::Depart { app } => Self::Depart { app: AppId(app) },
            EventLine::Request { app, processors } => Self::Request { app: AppId(app), processors },
            EventLine::Demand { app, processors, idle } => {
                Self::Demand { app: AppId(app), processors, idle: set(&idle)? }
            }
            EventLine::Class { app, class } => Self::Class { app: AppId(app), class: class.into() },
            EventLine::Adopted { app, epoch } => Self::Adopted { app: AppId(app), epoch },
            EventLine::Sequential { app } => Self::Sequential { app: AppId(app) },
            EventLine::Blocked { app } => Self::Blocked { app: AppId(app) },
            EventLine::Parallel { app } => Self::Parallel { app: AppId(app) },
            EventLine::Speedup { app, processors, speedup_milli } => {
                Self::Speedup { app: AppId(app), processors, speedup_milli }
            }
            EventLine::Bandwidth { app, rates } => Self::Bandwidth { app: AppId(app), rates },
            EventLine::Saturation { bus, rate } => Self::Saturation { bus, rate },
            EventLine::Memory { app, bytes } => Self::Memory { app: AppId(app), bytes },
            EventLine::FreeMemory { bytes } => Self::FreeMemory { bytes },
            EventLine::Parties { parties } => Self::Parties { parties: parties.into_iter().map(Party::from).collect() },
            EventLine::Unstoppable { app } => Self::Unstoppable { app: AppId(app) },
            EventLine::Stoppable { app } => Self::Stoppable { app: AppId(app) },
            EventLine::Offline { pu } => Self::Offline { pu: PuId(pu) },
            EventLine::Online { pu } => Self::Online { pu: PuId(pu) },
            EventLine::Unmanaged { processors } => Self::Unmanaged { processors },
            EventLine::Timer => Self::Timer,
            EventLine::Policy { policy } => Self::Policy { policy },
        })
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EventLine::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EventLine::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl From<&Action> for ActionLine {
    fn from(action: &Action) -> Self {
        match action {
            Action::Start { app } => Self::Start { app: app.0 },
            Action::Wait { app, position } => Self::Wait { app: app.0, position: *position },
            Action::Target { app, epoch, count, pus, shared, lent } => Self::Target {
                app: app.0,
                epoch: *epoch,
                count: *count,
                pus: pus.to_string(),
                shared: *shared,
                lent: *lent,
            },
            Action::Stop { app } => Self::Stop { app: app.0 },
            Action::Continue { app } => Self::Continue { app: app.0 },
            Action::Pages { app, home } => Self::Pages { app: app.0, home: page_word(*home) },
            Action::Force { app, epoch, pus } => Self::Force { app: app.0, epoch: *epoch, pus: pus.to_string() },
            Action::Refuse { app, reason } => Self::Refuse { app: app.map(|app| app.0), reason: reason.clone() },
        }
    }
}

impl TryFrom<ActionLine> for Action {
    type Error = JournalError;

    fn try_from(line: ActionLine) -> Result<Self, JournalError> {
        Ok(match line {
            ActionLine::Start { app } => Self::Start { app: AppId(app) },
            ActionLine::Wait { app, position } => Self::Wait { app: AppId(app), position },
            ActionLine::Target { app, epoch, count, pus, shared, lent } => {
                Self::Target { app: AppId(app), epoch, count, pus: set(&pus)?, shared, lent }
            }
            ActionLine::Stop { app } => Self::Stop { app: AppId(app) },
            ActionLine::Continue { app } => Self::Continue { app: AppId(app) },
            ActionLine::Pages { app, home } => Self::Pages { app: AppId(app), home: page_home(&home)? },
            ActionLine::Force { app, epoch, pus } => Self::Force { app: AppId(app), epoch, pus: set(&pus)? },
            ActionLine::Refuse { app, reason } => Self::Refuse { app: app.map(AppId), reason },
        })
    }
}

/// `first-touch`, `interleave`, or the logical number of a node.
fn page_word(home: PageHome) -> String {
    match home {
        PageHome::FirstTouch => "first-touch".to_owned(),
        PageHome::Interleave => "interleave".to_owned(),
        PageHome::Node(node) => node.0.to_string(),
    }
}

fn page_home(word: &str) -> Result<PageHome, JournalError> {
    match word {
        "first-touch" => Ok(PageHome::FirstTouch),
        "interleave" => Ok(PageHome::Interleave),
        node => node.parse().map(|node| PageHome::Node(NumaNodeId(node))).map_err(JournalError::new),
    }
}

fn set(list: &str) -> Result<PuSet, JournalError> {
    list.parse().map_err(JournalError::new)
}
