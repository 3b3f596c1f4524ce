//! The answers, as programs read them.

use super::source::Known;
use numaestro_abi::control::{Alternative, Change};
use numaestro_engine::explain::{Decision, Effect, Life, Link};
use numaestro_engine::{AppId, AppSnapshot, PuState, Snapshot};
use numaestro_topology::PuId;
use serde::Serialize;

/// An answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    App(Box<OfApp>),
    Cpu(Box<OfCpu>),
    Time(Box<OfTime>),
}

/// A link with its time for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Timed {
    /// As RFC 3339 has it; absent where the journal has no times of day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// For people.
    #[serde(skip)]
    pub shown: String,
    #[serde(flatten)]
    pub link: Link,
}

/// An application in few words.
#[derive(Debug, Serialize)]
pub struct Brief {
    pub app: AppId,
    pub name: String,
    /// `waiting`, `running`, …; `ended` where it is not there any more, `not there` where nothing
    /// is known of it at that time.
    pub state: &'static str,
    /// Threads it should have.
    pub count: u32,
    /// Processors that it could use.
    pub request: u32,
    /// Linux list.
    pub cpus: String,
    pub shared: bool,
    pub lent: bool,
    /// Why it has this and no more: one sentence.
    pub why: String,
    /// Its name and number for people.
    #[serde(skip)]
    pub called: String,
}

/// One application.
#[derive(Debug, Serialize)]
pub struct OfApp {
    #[serde(flatten)]
    pub brief: Brief,
    /// What has led to its latest change, the first cause first.
    pub chain: Vec<Timed>,
    /// The changes before, the latest first.
    pub before: Vec<Timed>,
    /// What would give it another number of processors.
    pub alternatives: Vec<Would>,
}

/// An alternative, with its words for people.
#[derive(Debug, Serialize)]
pub struct Would {
    #[serde(flatten)]
    pub alternative: Alternative,
    #[serde(skip)]
    pub shown: String,
}

/// One processor.
#[derive(Debug, Serialize)]
pub struct OfCpu {
    pub cpu: u32,
    /// OS index of its node.
    pub node: u32,
    /// `free`, `owned`, `leaving`, …; `not known`: it may have been another user's, or load outside
    /// may be on it.
    pub state: &'static str,
    /// Load outside that is somewhere, and perhaps here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// Of one that several programs share, it may be one of the guests: they change places, and
    /// nobody is told.
    pub owner: Option<AppId>,
    /// The owner's name for people.
    #[serde(skip)]
    pub called: Option<String>,
    pub guests: Vec<AppId>,
    /// The guests' names for people.
    #[serde(skip)]
    pub guests_called: Vec<String>,
    /// What has led to its latest change of owner, the first cause first.
    pub chain: Vec<Timed>,
    /// Its changes of owner, the latest first.
    pub passes: Vec<Passed>,
}

/// A change of owner.
#[derive(Debug, Serialize)]
pub struct Passed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(skip)]
    pub shown: String,
    pub at_ns: u64,
    pub from: Option<AppId>,
    pub to: Option<AppId>,
    #[serde(skip)]
    pub words: String,
}

/// All applications.
#[derive(Debug, Serialize)]
pub struct OfTime {
    /// The policy in force.
    pub policy: String,
    /// Load outside, if there is any: one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    pub apps: Vec<Brief>,
    /// The latest decisions, the first one first.
    pub decisions: Vec<Timed>,
}

impl Known {
    fn timed(&self, link: Link) -> Timed {
        Timed { time: self.clock.rfc3339(link.at_ns), shown: self.clock.show(link.at_ns), link }
    }

    fn timed_all(&self, links: Vec<Link>) -> Vec<Timed> {
        links.into_iter().map(|link| self.timed(link)).collect()
    }

    fn brief(&self, app: AppId, seen: Option<&AppSnapshot>) -> Brief {
        let chronicle = &self.chronicle;
        let name = chronicle.names().get(&app).cloned().unwrap_or_default();
        let called = chronicle.called(app);
        let life = chronicle.life(app);
        let ended = !self.is_past || life.ended.is_some();
        match seen {
            Some(seen) => Brief {
                app,
                name,
                called,
                state: seen.state.name(),
                count: seen.count,
                request: seen.request,
                cpus: chronicle.machine().os_cpuset(&seen.pus).to_string(),
                shared: seen.shared,
                lent: seen.lent,
                why: chronicle.full_reason(seen),
            },
            None => Brief {
                app,
                name,
                called,
                state: if ended { "ended" } else { "not there" },
                count: 0,
                request: 0,
                cpus: String::new(),
                shared: false,
                lent: false,
                why: if ended { self.end(life) } else { "it is not there at that time".to_owned() },
            },
        }
    }

    /// "it ended at 14:05:02.113, 12.4 s after it had come".
    fn end(&self, life: Life) -> String {
        match (life.ended, life.arrived) {
            (Some(ended), Some(arrived)) => {
                let span = span(ended.saturating_sub(arrived));
                format!("it ended at {}, {span} after it had come", self.clock.show(ended))
            }
            (Some(ended), None) => format!("it ended at {}", self.clock.show(ended)),
            (None, _) => "it has ended".to_owned(),
        }
    }

    /// Each effect of a decision on an application that changes what it has.
    fn changes(&self, decision: &Decision, app: AppId) -> Vec<Timed> {
        let effects = decision.on(app).filter(|effect| effect.changes_holding());
        effects.map(|effect: &Effect| self.timed(self.chronicle.link(decision, effect))).collect()
    }

    fn would(&self, app: AppId, alternative: &Alternative) -> Would {
        let name = self.name_to_type(app);
        let would = match &alternative.change {
            Change::Limit { max } => format!("a limit of {max} (`numaestro set {name} --max {max}`)"),
            Change::Weight { weight_milli } => {
                let weight = f64::from(*weight_milli) / 1000.0;
                format!("a weight of {weight} (`numaestro set {name} --weight {weight}`)")
            }
            Change::Use { processors } => format!("that it could use {processors}"),
            Change::LessLoad => "that the load outside ends".to_owned(),
            Change::End { app } => format!("that {} ends", self.chronicle.called(AppId(*app))),
            Change::Policy { policy } => format!("another policy (`numaestro policy set {policy}`)"),
        };
        Would { alternative: alternative.clone(), shown: would }
    }

    /// What a command takes for an application: its name, if no other one has it and a shell leaves
    /// it as it is; else its number.
    fn name_to_type(&self, app: AppId) -> String {
        let chronicle = &self.chronicle;
        let name = chronicle.names().get(&app).map_or("", String::as_str);
        let others = chronicle.snapshot().apps.iter().filter(|other| other.app != app);
        let is_taken = others.filter_map(|other| chronicle.names().get(&other.app)).any(|other| other == name);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
        // A short name may be another's letter, and a number another's number.
        let is_word = name.len() > 1 && name.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_word && !is_taken && name.chars().all(is_plain) { name.to_owned() } else { app.0.to_string() }
    }
}

/// A time for people: 12.4 s, 5 min 3 s, 2 h 5 min.
fn span(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0..60 => format!("{:.1} s", ns as f64 / 1e9),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

impl OfApp {
    pub fn of(known: &Known, app: AppId, last: usize) -> Self {
        let chronicle = &known.chronicle;
        let brief = known.brief(app, chronicle.app(app));
        // What it had is not why it ended.
        let chain = if brief.state == "ended" { Vec::new() } else { known.timed_all(chronicle.chain(app)) };
        let told: Vec<u64> = chain.iter().map(|timed| timed.link.decision).collect();
        let before = chronicle.decisions().rev().filter(|decision| !told.contains(&decision.number));
        let before = before.flat_map(|decision| known.changes(decision, app)).take(last).collect();
        Self {
            brief,
            chain,
            before,
            alternatives: known.alternatives.iter().map(|found| known.would(app, found)).collect(),
        }
    }
}

impl OfCpu {
    pub fn of(known: &Known, cpu: u32, pu: PuId, last: usize) -> Self {
        let chronicle = &known.chronicle;
        let entry = chronicle.snapshot().pus.get(pu.index());
        let owner = entry.and_then(|entry| entry.owner);
        let state = entry.map_or("not known", numaestro_engine::PuSnapshot::state_name);
        // Whether another user has it is known only of the present.
        let is_hidden = known.is_past && owner.is_none() && chronicle.is_veiled();
        let load = chronicle.load_outside().filter(|_| state == "free" && !is_all_load_placed(chronicle.snapshot()));
        let chain = chronicle.passes_of(pu).next().and_then(|(decision, pass)| {
            let app = pass.to.or(pass.from)?;
            Some(known.timed_all(chronicle.chain_of(decision, app)))
        });
        let passes = chronicle.passes_of(pu).take(last).map(|(decision, pass)| Passed {
            time: known.clock.rfc3339(decision.at),
            shown: known.clock.show(decision.at),
            at_ns: decision.at,
            from: pass.from,
            to: pass.to,
            words: chronicle.pass(pass),
        });
        let machine = chronicle.machine();
        let guests = entry.map(|entry| entry.guests.clone()).unwrap_or_default();
        Self {
            cpu,
            node: machine.numa_nodes()[machine.pu(pu).node.index()].os_index,
            state: if is_hidden || load.is_some() { "not known" } else { state },
            load,
            owner,
            called: owner.map(|owner| chronicle.called(owner)),
            guests_called: guests.iter().map(|&guest| chronicle.called(guest)).collect(),
            guests,
            chain: chain.unwrap_or_default(),
            passes: passes.collect(),
        }
    }
}

/// It is known on which processors the load outside is.
fn is_all_load_placed(snapshot: &Snapshot) -> bool {
    let placed = snapshot.pus.iter().filter(|pu| pu.state == PuState::Unmanaged).count();
    placed >= snapshot.unmanaged as usize
}

impl OfTime {
    pub fn of(known: &Known, last: usize) -> Self {
        let chronicle = &known.chronicle;
        let links = |decision: &Decision| {
            let links: Vec<Timed> =
                decision.effects.iter().rev().map(|effect| known.timed(chronicle.link(decision, effect))).collect();
            links
        };
        let mut decisions: Vec<Timed> = chronicle.decisions().rev().flat_map(links).take(last).collect();
        decisions.reverse();
        Self {
            policy: chronicle.snapshot().policy.clone(),
            load: chronicle.load_outside(),
            apps: chronicle.snapshot().apps.iter().map(|app| known.brief(app.app, Some(app))).collect(),
            decisions,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn spans_for_people() {
        let of = |seconds: u64| super::span(seconds * 1_000_000_000 + 400_000_000);
        assert_eq!([of(12), of(303), of(7505)], ["12.4 s", "5 min 3 s", "2 h 5 min"]);
    }
}
