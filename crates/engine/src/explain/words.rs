//! Says in words what happened, what followed by which rule, and the chain of causes that leads to
//! what an application has.

use super::chronicle::{Chronicle, Decision, Pass};
use super::effect::{Effect, Holding};
use super::rule::{Named, Passed, Rule};
use crate::event::{Action, Class, Event, Nanos, PageHome, Wish};
use crate::snapshot::counted;
use numaestro_policy::AppId;
use numaestro_topology::{NumaNodeId, PuId, PuSet};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Links of a chain, at most.
const CHAIN_MOST: usize = 8;

/// One action in words: what happened, the rule, and what followed for an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The number of the decision.
    pub decision: u64,
    /// Its time, nanoseconds on the journal's clock.
    pub at_ns: Nanos,
    /// What happened: a clause.
    pub event: String,
    /// The rule that followed from it.
    #[serde(flatten)]
    pub rule: Named,
    /// The application that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<AppId>,
    /// What followed for it: a clause.
    pub effect: String,
    /// The decision that made this one necessary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
}

impl Chronicle {
    /// One effect of a decision in words.
    pub fn link(&self, decision: &Decision, effect: &Effect) -> Link {
        Link {
            decision: decision.number,
            at_ns: decision.at,
            event: self.event(decision, effect.rule),
            rule: effect.rule.named(&decision.policy),
            app: effect.app,
            effect: self.effect(effect),
            cause: effect.cause,
        }
    }

    /// What has led to the latest change for an application, the first cause first: to what it has,
    /// or to who has it too. A longer chain begins with its eighth link from the end, and one that
    /// began before what is remembered with the first decision that is. Empty: no decision about it
    /// is known.
    pub fn chain(&self, app: AppId) -> Vec<Link> {
        self.latest_on(app).map(|decision| self.chain_of(decision, app)).unwrap_or_default()
    }

    /// What has led to the effects of a decision on an application, the first cause first.
    pub fn chain_of(&self, decision: &Decision, app: AppId) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        let mut next = Some((decision, app));
        while let Some((decision, app)) = next.take().filter(|_| links.len() < CHAIN_MOST) {
            let mut effects: Vec<&Effect> = decision.on(app).collect();
            let is_told = !effects.is_empty();
            if !is_told {
                effects.extend(decision.beside(app));
            }
            links.extend(effects.iter().rev().map(|effect| self.link(decision, effect)));
            if effects.is_empty() {
                links.push(self.silent(decision));
            }
            let cause = effects.iter().rev().find_map(|effect| effect.cause).or(decision.behind);
            next = cause.and_then(|cause| self.decision(cause)).map(|cause| (cause, left_in(cause, decision, app)));
            // Another one came beside it; how it got its processors is told by an earlier decision.
            if next.is_none() && !is_told && !effects.is_empty() {
                next = self.latest_before(decision.number, app).map(|earlier| (earlier, app));
            }
        }
        links.reverse();
        links
    }

    /// All that a decision changed: a link for each effect, or, where it told nobody anything, one
    /// for the processors that came to others.
    pub fn links(&self, decision: &Decision) -> Vec<Link> {
        if decision.effects.is_empty() {
            return vec![self.silent(decision)];
        }
        let link = |effect| {
            let link = self.link(decision, effect);
            Link { cause: link.cause.or(decision.behind), ..link }
        };
        decision.effects.iter().map(link).collect()
    }

    /// A decision that told nobody anything: processors came to others.
    fn silent(&self, decision: &Decision) -> Link {
        let rule = silent_rule(decision);
        let mut passes: BTreeMap<(Option<AppId>, Option<AppId>), PuSet> = BTreeMap::new();
        for pass in &decision.passes {
            passes.entry((pass.from, pass.to)).or_default().insert(pass.pu);
        }
        let passes: Vec<String> = passes.iter().map(|((from, to), pus)| self.went(pus, *from, *to)).collect();
        Link {
            decision: decision.number,
            at_ns: decision.at,
            event: self.event(decision, rule),
            rule: rule.named(&decision.policy),
            app: None,
            effect: if passes.is_empty() { "nothing changed at once".to_owned() } else { passes.join(", ") },
            cause: decision.behind,
        }
    }

    /// A processor has another owner, in words.
    pub fn pass(&self, pass: Pass) -> String {
        self.went(&PuSet::from_iter([pass.pu]), pass.from, pass.to)
    }

    fn went(&self, pus: &PuSet, from: Option<AppId>, to: Option<AppId>) -> String {
        let pus = self.pus(pus);
        match (from, to) {
            (Some(from), Some(to)) => format!("{pus} went from {} to {}", self.called(from), self.called(to)),
            (None, Some(to)) => format!("{pus} went to {}", self.called(to)),
            (Some(from), None) => format!("{} gave {pus} back", self.called(from)),
            (None, None) => format!("{pus} stayed free"),
        }
    }

    /// The name of an application for people.
    pub fn called(&self, app: AppId) -> String {
        match self.names().get(&app) {
            Some(name) if !name.is_empty() => format!("{name} ({app})"),
            _ => format!("application {app}"),
        }
    }

    /// Processors by the numbers of the operating system.
    pub fn pus(&self, pus: &PuSet) -> String {
        let list = self.machine().os_cpuset(pus).to_string();
        if pus.len() == 1 { format!("processor {list}") } else { format!("processors {list}") }
    }

    fn pu(&self, pu: PuId) -> String {
        let known = pu.index() < self.machine().pu_count();
        if known { self.pus(&PuSet::from_iter([pu])) } else { format!("a processor that is not there ({})", pu.0) }
    }

    /// What happened.
    fn event(&self, decision: &Decision, rule: Rule) -> String {
        let Some(event) = decision.heard.event() else {
            return "another user's program began, ended or changed".to_owned();
        };
        let is_refused = decision.effects.iter().any(|effect| effect.action.is_refusal());
        match event {
            Event::Arrive { app, wish } => self.arrival(*app, wish),
            Event::Depart { app } => format!("{} ended", self.called(*app)),
            Event::Request { app, processors: 0 } => format!("{} only waits for its children", self.called(*app)),
            Event::Request { app, processors } => format!("{} asked for {}", self.called(*app), number(*processors)),
            Event::Limits { app, min, max, weight_milli } => {
                let were = if is_refused { "were not changed, as wished, to" } else { "were changed:" };
                let most = if *max == u32::MAX { "no limit".to_owned() } else { format!("at most {max}") };
                let weight = f64::from(*weight_milli) / 1000.0;
                format!("the limits of {} {were} {most}, at least {min}, weight {weight}", self.called(*app))
            }
            Event::Allowed { app, pus } if pus.is_empty() => format!("{} may be anywhere now", self.called(*app)),
            Event::Allowed { app, pus } => format!("{} may be on {} only", self.called(*app), self.pus(pus)),
            Event::Demand { app, processors, idle } if idle.is_empty() => {
                format!("{} could use {}", self.called(*app), number(*processors))
            }
            Event::Demand { app, processors, idle } => format!(
                "{} could use {}, and does not use {} that it has",
                self.called(*app),
                number(*processors),
                self.pus(idle)
            ),
            Event::Class { app, class } => {
                format!("{} was found to be of class {}", self.called(*app), class_word(*class))
            }
            Event::Adopted { app, .. } => format!("{} carried out what it had been told", self.called(*app)),
            Event::Sequential { app } => format!("{} became sequential", self.called(*app)),
            Event::Blocked { app } => format!("{} waits for something outside", self.called(*app)),
            Event::Parallel { app } => format!("{} is parallel again", self.called(*app)),
            Event::Speedup { app, processors, speedup_milli } => format!(
                "{} measured a speedup of {:.2} with {}",
                self.called(*app),
                f64::from(*speedup_milli) / 1000.0,
                number(*processors)
            ),
            Event::Bandwidth { app, .. } => format!("the bus traffic of {} was measured", self.called(*app)),
            Event::Saturation { bus, .. } => format!("the capacity of bus {bus} was measured"),
            Event::Memory { app, .. } => format!("the pages of {} were counted", self.called(*app)),
            Event::FreeMemory { .. } => "the free memory was read".to_owned(),
            Event::Parties { .. } => "other users share the machine now".to_owned(),
            Event::Unstoppable { app } => format!("{} cannot be stopped now", self.called(*app)),
            Event::Stoppable { app } => format!("{} can be stopped again", self.called(*app)),
            Event::Offline { pu } => format!("{} went away", self.pu(*pu)),
            Event::Online { pu } => format!("{} came back", self.pu(*pu)),
            Event::Unmanaged { processors } => format!("load outside keeps {} busy", number(*processors)),
            Event::Timer => time(decision.passed, rule).to_owned(),
            Event::Policy { policy } if is_refused => format!("a change of the policy to {policy} was refused"),
            Event::Policy { policy } => format!("the policy was changed to {policy}"),
        }
    }

    fn arrival(&self, app: AppId, wish: &Wish) -> String {
        match &wish.claim {
            Some(claim) => format!("{} came back to a new manager with {}", self.called(app), self.pus(claim)),
            None => format!("{} arrived and could use {}", self.called(app), number(wish.request.min(wish.max))),
        }
    }

    /// What followed.
    fn effect(&self, effect: &Effect) -> String {
        let app = || effect.app.map(|app| self.called(app)).unwrap_or_default();
        match &effect.action {
            Action::Start { .. } => format!("{} may start", app()),
            Action::Wait { position, .. } => format!("{} waits: number {position} in the queue", app()),
            Action::Target { .. } => format!("{} {}", app(), self.target(effect)),
            Action::Stop { .. } => format!("{} is stopped until its turn", app()),
            Action::Continue { .. } => format!("{} goes on", app()),
            Action::Pages { home, .. } => format!("new pages of {} go {}", app(), self.home(*home)),
            Action::Force { pus, .. } => format!("the threads of {} are folded onto {}", app(), self.pus(pus)),
            Action::Refuse { reason, .. } => format!("refused: {reason}"),
        }
    }

    fn home(&self, home: PageHome) -> String {
        let os = |node: NumaNodeId| self.machine().numa_nodes().get(node.index()).map_or(node.0, |node| node.os_index);
        match home {
            PageHome::FirstTouch => "to the node of the thread that touches them first".to_owned(),
            PageHome::Node(node) => format!("to node {}", os(node)),
            PageHome::Interleave => "to the nodes of its processors in turn".to_owned(),
        }
    }

    /// The target, and how it differs from the one before.
    fn target(&self, effect: &Effect) -> String {
        let Action::Target { count, pus, shared, lent, .. } = &effect.action else { return String::new() };
        let before = effect.before.as_ref().filter(|before| before.count > 0);
        let mut words = match before {
            None => format!("gets {}", self.pus(pus)),
            Some(before) if before.pus == *pus && before.count == *count => format!("keeps {}", self.pus(pus)),
            Some(before) => self.change(before, effect, *count, pus),
        };
        if *shared {
            words += ", beside others";
        } else if before.is_some_and(|before| before.shared) {
            words += ", alone there now";
        }
        if *lent {
            words += "; the others that are its own are lent";
        }
        words
    }

    fn change(&self, before: &Holding, effect: &Effect, count: u32, pus: &PuSet) -> String {
        let (lost, gained) = (effect.lost(), effect.gained());
        let mut words = if before.count == count {
            format!("gets {} instead of {}", self.pus(pus), self.pus(&before.pus))
        } else {
            format!("gets {} instead of {}: {}", number(count), before.count, self.pus(pus))
        };
        if before.count != count && !lost.is_empty() {
            let _ = write!(words, " (it leaves {})", self.pus(&lost));
        } else if before.count != count && !gained.is_empty() && gained.len() < pus.len() {
            let _ = write!(words, " ({} new)", self.pus(&gained));
        }
        words
    }
}

/// What has passed.
const fn time(passed: Option<Passed>, rule: Rule) -> &'static str {
    match passed {
        _ if matches!(rule, Rule::Grace) => "the time to leave was over",
        None | Some(Passed::Leaving) => "processors came free",
        Some(Passed::LessLoad) => "there had been less load outside for long enough",
        Some(Passed::Recovery) => "the time for programs to come back was over",
        Some(Passed::Turn) => "a turn ended",
        Some(Passed::Quantum) => "a quantum ended",
    }
}

/// The rule of a decision that told nobody anything.
fn silent_rule(decision: &Decision) -> Rule {
    match (decision.heard.event(), decision.passed) {
        (Some(Event::Unmanaged { .. }), _) | (_, Some(Passed::LessLoad)) => Rule::Load,
        (Some(Event::Policy { .. }), _) => Rule::Share,
        (Some(Event::Offline { .. } | Event::Online { .. }), _) => Rule::Presence,
        (Some(Event::Parties { .. }), _) => Rule::Parties,
        (_, Some(Passed::Recovery)) => Rule::Recovery,
        (_, Some(Passed::Turn | Passed::Quantum)) => Rule::Turns,
        _ => Rule::Handover,
    }
}

/// The application whose part in the causing decision matters for what an application was told: the
/// one that had to leave its new processors; else itself, if it is there; else the first.
fn left_in(cause: &Decision, decision: &Decision, app: AppId) -> AppId {
    let mut gained = PuSet::default();
    decision.on(app).for_each(|effect| gained.or_with(&effect.gained()));
    let leaves = cause.effects.iter().find(|effect| effect.lost().intersects(&gained)).and_then(|effect| effect.app);
    let itself = || cause.on(app).next().map(|_| app);
    let anybody = || cause.effects.iter().find_map(|effect| effect.app);
    leaves.or_else(itself).or_else(anybody).unwrap_or(app)
}

pub(super) fn number(processors: u32) -> String {
    counted(processors as usize, "processor")
}

const fn class_word(class: Class) -> &'static str {
    match class {
        Class::Malleable => "malleable",
        Class::Setter => "setter",
        Class::Fold => "fold",
    }
}
