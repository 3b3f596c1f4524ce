//! What each event leads to. Knows no policy's rules and nothing of how actions are carried out.

use crate::event::{Action, Event, Nanos};
use crate::guests::Guests;
use crate::ledger::Ledger;
use crate::parties::Parties;
use crate::regime::Regime;
use crate::settings::Settings;
use crate::worklist::WorkList;
use numaestro_policy::{AppId, Plan, Policy, Rejected, Shares, Slot, Thread, Turn, View, Waiting};
use numaestro_topology::{Machine, PuSet};

/// The state machine. See the crate's documentation for its contract.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) machine: Machine,
    pub(crate) settings: Settings,
    pub(crate) policy: Policy,
    pub(crate) regime: Regime,
    pub(crate) seed: u64,
    pub(crate) now: Nanos,
    /// By how much the shell's clock has gone back so far; the engine's time is ahead of it by this.
    pub(crate) gone_back: Nanos,
    /// Time of the first event.
    pub(crate) started: Option<Nanos>,
    pub(crate) ledger: Ledger,
    pub(crate) newest: Option<AppId>,
    /// Processors taken by load that is not managed.
    pub(crate) unmanaged: u32,
    /// A smaller number of them, and when it counts.
    pub(crate) unmanaged_soon: Option<(u32, Nanos)>,
    /// When the turns part wants to be asked again.
    pub(crate) turn_until: Option<Nanos>,
    /// When that, or the share part, wants to be asked again.
    pub(crate) turn_ends: Option<Nanos>,
    /// Processors that the latest division between turns gave nobody.
    pub(crate) left_over: u32,
    /// In the middle of a turn whose counts hold.
    pub(crate) work_list: Option<WorkList>,
    /// The application that the present event is about.
    pub(crate) subject: Option<Slot>,
    /// The event of this step takes back what was lent.
    pub(crate) reclaims: bool,
    /// The event of this step is about somebody that waits, or waited: nothing has changed for those that run.
    pub(crate) only_queue: bool,
    /// What policies see of everybody's wishes has to be written anew.
    pub(crate) wishes_stale: bool,
    /// Those that this decision has started.
    pub(crate) fresh: Vec<Waiting>,
    /// Among whom processors are divided, in order of arrival.
    pub(crate) order: Vec<Slot>,
    /// Processors that those in `order` may own.
    pub(crate) capacity: u32,
    /// Who runs now, as the turns part says.
    pub(crate) turn: Turn,
    /// Threads of those that have been started, if the turns part chooses threads.
    pub(crate) threads: Vec<Thread>,
    /// A buffer.
    pub(crate) taken: PuSet,
    pub(crate) shares: Shares,
    pub(crate) plan: Plan,
    pub(crate) guests: Guests,
    /// All that run, in order of arrival, whether they take part in the division or not.
    pub(crate) hosted: Vec<Slot>,
    /// Where the actions of the present step begin.
    pub(crate) first_action: usize,
    /// Sets that actions have given back.
    pub(crate) sets: Vec<PuSet>,
    pub(crate) decisions: u64,
    /// Memory that is free, bytes by NUMA node.
    pub(crate) free_memory: Vec<u64>,
    /// What the present division leaves to parties.
    pub(crate) parties: Parties,
}

impl Engine {
    /// An engine for a machine. `seed` determines every random choice.
    ///
    /// # Errors
    /// A policy that cannot be read, that the host cannot feed or that the machine does not fit; no processor left to give.
    pub fn new(machine: Machine, settings: Settings, seed: u64) -> Result<Self, Rejected> {
        let policy = Policy::parse(&settings.policy, seed)?;
        policy.check(settings.host)?;
        let ledger = Ledger::new(&machine, &settings.reserved);
        if ledger.usable.is_empty() {
            return Err(Rejected::new(format!(
                "no processor is left: {} are reserved or not allowed",
                machine.pu_count()
            )));
        }
        policy.fits(&machine, &ledger.not_reserved())?;
        policy.turns.fits(&settings.buses)?;
        let mut engine = Self {
            machine,
            settings,
            regime: Regime::of(&policy),
            policy,
            seed,
            now: 0,
            gone_back: 0,
            started: None,
            ledger,
            newest: None,
            unmanaged: 0,
            unmanaged_soon: None,
            turn_until: None,
            turn_ends: None,
            left_over: 0,
            work_list: None,
            subject: None,
            reclaims: false,
            only_queue: false,
            wishes_stale: false,
            fresh: Vec::new(),
            order: Vec::new(),
            capacity: 0,
            turn: Turn::new(),
            threads: Vec::new(),
            taken: PuSet::new(),
            shares: Shares::new(),
            plan: Plan::new(),
            guests: Guests::default(),
            hosted: Vec::new(),
            first_action: 0,
            sets: Vec::new(),
            decisions: 0,
            free_memory: Vec::new(),
            parties: Parties::default(),
        };
        engine.note_parties();
        Ok(engine)
    }

    /// Everything that follows from an event. Appends to `actions`, in the order in which they must be carried out. `now` should
    /// never go back; if it does, time goes on from where it was.
    ///
    /// # Panics
    /// If an invariant is broken, which is a mistake in a policy or here; the engine must not be used afterwards.
    pub fn step(&mut self, now: Nanos, event: &Event, actions: &mut Vec<Action>) {
        self.gone_back = self.gone_back.max(self.now.saturating_sub(now));
        self.now = now.saturating_add(self.gone_back);
        self.started.get_or_insert(self.now);
        (self.subject, self.first_action) = (None, actions.len());
        (self.reclaims, self.only_queue) = (false, false);
        let by_event = self.note(event, actions);
        let by_time = self.note_time(actions);
        if by_event || by_time {
            self.only_queue &= !by_time && !self.ledger.regrouped;
            self.decide(actions);
        }
        if self.unmanaged > 0 {
            self.mark_unmanaged();
        }
        self.tell(actions);
        self.check();
    }

    /// When [`Event::Timer`] is wanted, on the shell's clock, if nothing else happens before.
    pub fn deadline(&self) -> Option<Nanos> {
        let vacate = |&slot: &Slot| {
            let account = self.ledger.account(slot);
            match account.forced {
                Some((at, _)) => Some(at.saturating_add(self.settings.grace_ns)),
                None => Some(account.leaving_since?.saturating_add(account.leaving_grace)),
            }
        };
        let grace = self.ledger.vacating.iter().filter_map(vacate).min();
        let pinned = |&slot: &Slot| self.ledger.account(slot).pinned;
        let recovering = self.ledger.some.pinned && self.ledger.started.iter().any(pinned);
        let recovery = recovering.then(|| self.recovered_at());
        let next = [grace, recovery, self.unmanaged_soon.map(|(_, at)| at), self.turn_ends].into_iter().flatten().min();
        next.map(|at| at.saturating_sub(self.gone_back))
    }

    /// Gives actions that were carried out back, so that their sets are used again and nothing has to be allocated.
    pub fn recycle(&mut self, actions: &mut Vec<Action>) {
        for action in actions.drain(..) {
            if let Action::Target { pus, .. } | Action::Force { pus, .. } = action {
                self.sets.push(pus);
            }
        }
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How many wait.
    pub fn queue_len(&self) -> usize {
        self.ledger.queue.len()
    }

    /// What the policy sees.
    pub fn view(&self) -> View<'_> {
        View {
            now_ns: self.now,
            machine: &self.machine,
            pus: &self.ledger.pus,
            apps: &self.ledger.apps,
            order: &self.order,
            capacity: self.capacity,
            threads: &self.threads,
            buses: &self.settings.buses,
            free_memory: &self.free_memory,
        }
    }

    pub(crate) fn recovered_at(&self) -> Nanos {
        self.started.unwrap_or(self.now).saturating_add(self.settings.recovery_ns)
    }

    /// Writes an event down. True if there is something to decide.
    fn note(&mut self, event: &Event, actions: &mut Vec<Action>) -> bool {
        match event {
            Event::Arrive { app, wish } => self.arrive(*app, wish, actions),
            Event::Depart { app } => self.with(*app, Self::depart),
            Event::Request { app, processors } => {
                self.with(*app, |engine, slot| engine.request(slot, *processors, actions))
            }
            Event::Demand { app, processors, idle } => self.with(*app, |engine, slot| {
                let idled = engine.ledger.idle(slot, idle, engine.now);
                let usable = engine.ledger.usable_by(slot, *processors);
                engine.request(slot, usable.max(1), actions) || idled
            }),
            Event::Class { app, class } => self.with(*app, |engine, slot| {
                engine.ledger.apps[slot.index()].class = *class;
                false
            }),
            Event::Adopted { app, epoch } => self.with(*app, |engine, slot| {
                // A selective placement has left what was being vacated for when it is free.
                engine.ledger.adopted(slot, *epoch, engine.now) && engine.regime.selects()
            }),
            Event::Sequential { app } => self.with(*app, |engine, slot| engine.sequential(slot, true)),
            Event::Blocked { app } => self.with(*app, Self::blocked),
            Event::Parallel { app } => self.with(*app, |engine, slot| engine.sequential(slot, false)),
            Event::Speedup { app, processors, speedup_milli } => {
                self.with(*app, |engine, slot| engine.measured(slot, *processors, *speedup_milli))
            }
            Event::Bandwidth { app, rates } => self.with(*app, |engine, slot| engine.sampled(slot, rates)),
            Event::Saturation { bus, rate } => self.saturated(*bus, *rate),
            Event::Memory { app, bytes } => self.with(*app, |engine, slot| engine.resides(slot, bytes)),
            Event::FreeMemory { bytes } => self.memory_left(bytes),
            Event::Parties { parties } => self.regroup_parties(parties),
            Event::Unstoppable { app } => self.with(*app, |engine, slot| engine.stoppable(slot, false)),
            Event::Stoppable { app } => self.with(*app, |engine, slot| engine.stoppable(slot, true)),
            Event::Offline { pu } => self.offline(*pu, actions),
            Event::Online { pu } => self.online(*pu),
            Event::Unmanaged { processors } => self.note_unmanaged(*processors),
            Event::Timer => false,
            Event::Policy { policy } => self.switch(policy, actions),
        }
    }

    /// Events about applications that are gone, or never were, lead to nothing.
    fn with(&mut self, app: AppId, then: impl FnOnce(&mut Self, Slot) -> bool) -> bool {
        let Some(slot) = self.ledger.slot(app) else { return false };
        self.subject = Some(slot);
        then(self, slot)
    }

    /// A policy that can be used here.
    fn find_policy(&self, text: &str) -> Result<Policy, Rejected> {
        let policy = Policy::parse(text, self.seed.wrapping_add(self.decisions))?;
        policy.check(self.settings.host)?;
        policy.fits(&self.machine, &self.ledger.not_reserved())?;
        policy.turns.fits(&self.settings.buses)?;
        Ok(policy)
    }

    fn switch(&mut self, policy: &str, actions: &mut Vec<Action>) -> bool {
        match self.find_policy(policy) {
            Ok(policy) => {
                self.regime = Regime::of(&policy);
                self.policy = policy;
                self.forget_turn();
                (self.wishes_stale, self.ledger.regrouped) = (true, true);
                self.ledger.dirty_all();
                true
            }
            Err(rejected) => {
                actions.push(Action::Refuse { app: None, reason: rejected.reason });
                false
            }
        }
    }

    /// What the passing of time leads to. True if there is something to decide.
    fn note_time(&mut self, actions: &mut Vec<Action>) -> bool {
        let mut decide = self.end_graces(actions) && self.regime.selects();
        if let Some((processors, at)) = self.unmanaged_soon
            && self.now >= at
        {
            (self.unmanaged, self.unmanaged_soon) = (processors, None);
            decide = true;
        }
        if self.turn_ends.is_some_and(|at| self.now >= at) {
            self.turn_ends = None;
            decide = true;
        }
        if self.ledger.some.pinned && self.now >= self.recovered_at() {
            for index in 0..self.ledger.started.len() {
                let account = &mut self.ledger.accounts[self.ledger.started[index].index()];
                decide |= std::mem::take(&mut account.pinned);
            }
            self.ledger.some.pinned = false;
            self.ledger.regrouped |= decide;
        }
        decide
    }

    /// Forces those whose grace time is over, and takes from those that the shell could not force either. True if something was taken.
    fn end_graces(&mut self, actions: &mut Vec<Action>) -> bool {
        self.ledger.forget_vacated();
        let mut taken = false;
        for index in 0..self.ledger.vacating.len() {
            let slot = self.ledger.vacating[index];
            let (now, grace) = (self.now, self.settings.grace_ns);
            let account = self.ledger.account_mut(slot);
            let over = |since: Nanos, grace: Nanos| now >= since.saturating_add(grace);
            match (account.forced, account.leaving_since) {
                (Some((at, epoch)), _) if over(at, grace) => {
                    self.ledger.release_announced(slot, epoch, now);
                    taken = true;
                }
                (None, Some(since)) if over(since, account.leaving_grace) => {
                    account.forced = Some((now, account.sent.epoch));
                    let mut pus = self.sets.pop().unwrap_or_default();
                    pus.clone_from(&account.sent.pus);
                    let epoch = account.sent.epoch;
                    actions.push(Action::Force { app: self.ledger.app(slot).id, epoch, pus });
                }
                _ => {}
            }
        }
        taken
    }
}
