//! The decisions of an engine, each with its effects, and the state that they lead to.

use super::effect::{Effect, Holding};
use super::judge::Circumstances;
use super::lives::{Life, Lives};
use super::origins::Origins;
use super::rule::{Passed, Rule};
use crate::event::{Action, Event, Nanos};
use crate::journal::{self, JournalError, Picture, State};
use crate::settings::Settings;
use crate::snapshot::{AppSnapshot, Snapshot};
use numaestro_policy::{AppId, Policy};
use numaestro_topology::{Machine, PuId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What led to a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// An event.
    Event(Event),
    /// An event about another user's program: it is hidden.
    Veiled,
}

impl Heard {
    pub(super) fn event(&self) -> Option<&Event> {
        match self {
            Self::Event(event) => Some(event),
            Self::Veiled => None,
        }
    }
}

/// A processor has another owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// The processor.
    pub pu: PuId,
    /// The owner before; `None`: nobody.
    pub from: Option<AppId>,
    /// The owner now; `None`: nobody.
    pub to: Option<AppId>,
}

/// One event and all that followed.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Its number, from 0: events before it.
    pub number: u64,
    /// Its time, nanoseconds on the journal's clock.
    pub at: Nanos,
    /// What led to it.
    pub heard: Heard,
    /// What has passed, where the event from outside says nothing by itself.
    pub passed: Option<Passed>,
    /// The number of the earlier decision that led to it then; `None`: time alone did.
    pub behind: Option<u64>,
    /// The policy in force.
    pub policy: Arc<Policy>,
    /// One for each action, in their order.
    pub effects: Vec<Effect>,
    /// The processors that have other owners now.
    pub passes: Vec<Pass>,
}

impl Decision {
    /// It concerns an application: it changes what the application has, or who has it too.
    pub(super) fn concerns(&self, app: AppId) -> bool {
        self.on(app).any(Effect::changes_holding) || self.beside(app).next().is_some()
    }

    /// The effects that put others beside an application that was told nothing.
    pub(super) fn beside(&self, app: AppId) -> impl Iterator<Item = &Effect> {
        self.effects.iter().filter(move |effect| effect.beside.contains(&app))
    }

    /// The effects on an application.
    pub fn on(&self, app: AppId) -> impl Iterator<Item = &Effect> {
        self.effects.iter().filter(move |effect| effect.app == Some(app))
    }
}

/// See the file's header.
#[derive(Debug, Clone)]
pub struct Chronicle {
    machine: Machine,
    settings: Settings,
    policy: Arc<Policy>,
    picture: Picture,
    names: BTreeMap<AppId, String>,
    lives: Lives,
    decisions: VecDeque<Decision>,
    /// Decisions that are kept, at most.
    most: usize,
    /// The number of the next decision.
    next: u64,
    origins: Origins,
    load_at: Option<Nanos>,
    /// The time until which applications keep what they had, when the manager began anew.
    recovers_at: Option<Nanos>,
    /// A step has been heard, or a state.
    begun: bool,
    /// Events about others' programs are hidden.
    veiled: bool,
    now: Nanos,
}

impl Chronicle {
    /// Begins with the first line of a journal. `most`: the latest decisions with effects that are
    /// kept.
    ///
    /// # Errors
    /// The line cannot be read, or names a policy that is not known.
    pub fn new(head: &str, most: usize) -> Result<Self, JournalError> {
        let (machine, settings, _) = journal::decode_head(head)?;
        let policy = read_policy(&settings.policy)?;
        let picture = Picture::empty(&machine, &settings.policy, &settings.reserved);
        Ok(Self {
            machine,
            settings,
            policy,
            picture,
            names: BTreeMap::new(),
            lives: Lives::default(),
            decisions: VecDeque::new(),
            most,
            next: 0,
            origins: Origins::default(),
            load_at: None,
            recovers_at: None,
            begun: false,
            veiled: false,
            now: 0,
        })
    }

    /// Takes the next line of the journal. Lines that tell nothing of decisions change nothing.
    ///
    /// # Errors
    /// The line cannot be read.
    pub fn line(&mut self, line: &str) -> Result<(), JournalError> {
        if let Some((at, actions)) = journal::decode_veiled(line) {
            self.hear(at, Heard::Veiled, actions);
        } else if !journal::is_aside(line) {
            let (at, event, actions) = journal::decode(line)?;
            if let (Event::Arrive { app, .. }, Some(name)) = (&event, journal::name(line)) {
                self.names.insert(*app, name);
            }
            self.hear(at, Heard::Event(event), actions);
        } else if let Ok(state) = State::decode(line) {
            self.resume(state)?;
        }
        Ok(())
    }

    /// Goes on from this state.
    fn resume(&mut self, state: State) -> Result<(), JournalError> {
        self.begun = true;
        self.now = self.now.max(state.at);
        self.names.extend(state.names);
        if state.state.policy != self.picture.snapshot().policy {
            self.policy = read_policy(&state.state.policy)?;
        }
        self.picture = Picture::of(state.state);
        Ok(())
    }

    /// The engine heard an event, and decided.
    pub fn hear(&mut self, at: Nanos, heard: Heard, actions: Vec<Action>) {
        self.now = self.now.max(at);
        if !self.begun {
            (self.begun, self.recovers_at) = (true, Some(at.saturating_add(self.settings.recovery_ns)));
        }
        let befores: Vec<Option<Holding>> = actions.iter().map(|action| self.holding(action.app())).collect();
        let owners: Vec<Option<AppId>> = self.snapshot().pus.iter().map(|pu| pu.owner).collect();
        let load = self.snapshot().unmanaged;
        match &heard {
            Heard::Event(event) => self.picture.hear(self.now, event, &actions),
            Heard::Veiled => {
                self.veiled = true;
                self.picture.follow(self.now, &actions);
            }
        }
        if let Heard::Event(Event::Policy { policy }) = &heard
            && !actions.iter().any(Action::is_refusal)
            && let Ok(policy) = read_policy(policy)
        {
            self.policy = policy;
        }
        self.lives.note(self.now, heard.event(), &actions);
        let passes = self.new_owners(&owners);
        let (elapsed, behind, effects) = self.judge(&heard, actions, befores);
        let number = self.next;
        self.next += 1;
        self.origins.note(number, heard.event(), &effects);
        self.note_load(load, elapsed);
        let matters = matches!(heard.event(), Some(Event::Unmanaged { .. } | Event::Policy { .. }));
        if !effects.is_empty() || !passes.is_empty() || matters {
            if self.decisions.len() == self.most {
                self.decisions.pop_front();
            }
            self.decisions.push_back(Decision {
                number,
                at: self.now,
                heard,
                passed: elapsed,
                behind,
                policy: Arc::clone(&self.policy),
                effects,
                passes,
            });
        }
    }

    fn holding(&self, app: Option<AppId>) -> Option<Holding> {
        self.app(app?).map(Holding::of)
    }

    fn judge(
        &mut self,
        heard: &Heard,
        actions: Vec<Action>,
        befores: Vec<Option<Holding>>,
    ) -> (Option<Passed>, Option<u64>, Vec<Effect>) {
        let recovered = self.recovers_at.is_some_and(|until| self.now >= until);
        let circumstances = Circumstances {
            at: self.now,
            event: heard.event(),
            policy: &self.policy,
            settings: &self.settings,
            origins: &self.origins,
            before: self.decisions.back().map(|decision| decision.number),
            load_at: self.load_at,
            recovered,
        };
        let passed = circumstances.passed();
        let behind = passed.and_then(|passed| circumstances.behind(passed));
        let judge = |(action, before): (Action, Option<Holding>)| {
            let (app, beside) = (action.app(), Vec::new());
            let mut effect = Effect { app, action, before, rule: Rule::Share, cause: None, beside };
            (effect.rule, effect.cause) = circumstances.judge(&effect, passed, behind);
            effect
        };
        let mut effects: Vec<Effect> = actions.into_iter().zip(befores).map(judge).collect();
        let told: BTreeSet<AppId> = effects.iter().filter_map(|effect| effect.app).collect();
        for effect in &mut effects {
            effect.beside = newly_beside(self.snapshot(), effect, &told);
        }
        if recovered {
            self.recovers_at = None;
        }
        (passed, behind, effects)
    }

    fn new_owners(&self, before: &[Option<AppId>]) -> Vec<Pass> {
        let pus = self.snapshot().pus.iter().zip(before);
        pus.filter(|(pu, from)| pu.owner != **from)
            .map(|(pu, from)| Pass { pu: pu.pu, from: *from, to: pu.owner })
            .collect()
    }

    /// Load outside that has become less counts when it has lasted: its news stays until then.
    /// More load counts at once. `before`: processors that it kept busy.
    fn note_load(&mut self, before: u32, passed: Option<Passed>) {
        let load = self.snapshot().unmanaged;
        if load < before {
            self.load_at = Some(self.now);
        } else if load > before || passed == Some(Passed::LessLoad) {
            self.load_at = None;
        }
    }

    /// The decisions that are kept, in order of time.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &Decision> {
        self.decisions.iter()
    }

    /// A decision by its number, if it is kept.
    pub fn decision(&self, number: u64) -> Option<&Decision> {
        let at = self.decisions.binary_search_by_key(&number, |decision| decision.number).ok()?;
        self.decisions.get(at)
    }

    /// The state now.
    pub fn snapshot(&self) -> &Snapshot {
        self.picture.snapshot()
    }

    /// Events about others' programs are hidden: which processors they had is not known.
    pub fn is_veiled(&self) -> bool {
        self.veiled
    }

    /// An application that is there now.
    pub fn app(&self, app: AppId) -> Option<&AppSnapshot> {
        self.snapshot().apps.iter().find(|entry| entry.app == app)
    }

    /// The name of each application that was heard of, where it is known.
    pub fn names(&self) -> &BTreeMap<AppId, String> {
        &self.names
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The time of the latest line, nanoseconds on the journal's clock.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// When an application was there, as far as it was heard.
    pub fn life(&self, app: AppId) -> Life {
        self.lives.of(app)
    }

    /// The latest decision that has changed what an application has, or who has it too.
    pub fn latest_on(&self, app: AppId) -> Option<&Decision> {
        self.decisions().rev().find(|decision| decision.concerns(app))
    }

    /// The same of those before the decision with this number.
    pub(super) fn latest_before(&self, number: u64, app: AppId) -> Option<&Decision> {
        let mut earlier = self.decisions().rev().skip_while(|decision| decision.number >= number);
        earlier.find(|decision| decision.concerns(app))
    }

    /// The decisions in which a processor has come to another owner, the latest first.
    pub fn passes_of(&self, pu: PuId) -> impl Iterator<Item = (&Decision, Pass)> {
        let pass = move |decision: &Decision| decision.passes.iter().find(|pass| pass.pu == pu).copied();
        self.decisions().rev().filter_map(move |decision| Some((decision, pass(decision)?)))
    }
}

/// The applications that are told nothing, and have another one beside them from now on. Those of
/// `told` have effects of their own.
fn newly_beside(now: &Snapshot, effect: &Effect, told: &BTreeSet<AppId>) -> Vec<AppId> {
    if !matches!(effect.action, Action::Target { shared: true, .. }) {
        return Vec::new();
    }
    let gained = effect.gained();
    let others = now.apps.iter().filter(|app| !told.contains(&app.app));
    others.filter(|app| app.holds() && app.pus.intersects(&gained)).map(|app| app.app).collect()
}

/// Numbers chosen at random do not matter: no decision is made here.
fn read_policy(text: &str) -> Result<Arc<Policy>, JournalError> {
    Policy::parse(text, 0).map(Arc::new).map_err(JournalError::new)
}
