//! [`Engine::step`] takes an event through the stages of a decision, one after the other. Each
//! stage owns its state; all of them share the [`Site`].

use crate::admission::{Admission, Trial};
use crate::arrivals::Arrivals;
use crate::changes::{Changes, Reach};
use crate::clock::Clock;
use crate::division::Division;
use crate::event::{Action, Event, Nanos};
use crate::group;
use crate::handover::{Handover, share_everything};
use crate::invariants::Invariants;
use crate::ledger::Ledger;
use crate::life;
use crate::limits;
use crate::participants::Participants;
use crate::placement::Placement;
use crate::presence;
use crate::regime::{Regime, Sharing, find_policy};
use crate::settings::Settings;
use crate::site::Site;
use crate::snapshot::{Shown, Snapshot};
use crate::targets::Targets;
use crate::threads::Threads;
use crate::turns::Turns;
use crate::unmanaged::Unmanaged;
use numaestro_policy::{AppId, Party, Policy, Rejected, Slot, View};
use numaestro_topology::{Machine, NumaNodeId};

/// The state machine. See the crate's documentation for its contract.
#[derive(Debug, Clone)]
pub struct Engine {
    site: Site,
    policy: Policy,
    /// The seed of every random choice.
    seed: u64,
    clock: Clock,
    arrivals: Arrivals,
    unmanaged: Unmanaged,
    admission: Admission,
    turns: Turns,
    division: Division,
    placement: Placement,
    handover: Handover,
    targets: Targets,
    /// Decisions so far.
    decisions: u64,
}

impl Engine {
    /// An engine for a machine. `seed` determines every random choice.
    ///
    /// # Errors
    /// The policy cannot be parsed, the host cannot give it the data it needs, it does not fit the
    /// machine, or no processor is left to give.
    pub fn new(machine: Machine, settings: Settings, seed: u64) -> Result<Self, Rejected> {
        let ledger = Ledger::new(&machine, &settings.reserved);
        let usable = ledger.usable().len() as u32;
        if usable == 0 {
            return Err(Rejected::new(format!(
                "no processor is left: {} are reserved or not allowed",
                machine.pu_count()
            )));
        }
        let policy = find_policy(&settings.policy, seed, &machine, &settings, &ledger)?;
        let site = Site {
            machine,
            settings,
            regime: Regime::of(&policy),
            now: 0,
            ledger,
            among: Participants::new(usable),
            threads: Threads::default(),
            free_memory: Vec::new(),
        };
        Ok(Self {
            site,
            policy,
            seed,
            clock: Clock::default(),
            arrivals: Arrivals::default(),
            unmanaged: Unmanaged::default(),
            admission: Admission::default(),
            turns: Turns::default(),
            division: Division::new(),
            placement: Placement::default(),
            handover: Handover::default(),
            targets: Targets::default(),
            decisions: 0,
        })
    }

    /// Decides everything that follows from an event. Appends the actions to `actions`, in the
    /// order in which the shell must carry them out. `now` should never go back; if it does, time
    /// goes on from where it was.
    ///
    /// # Panics
    /// If an invariant is broken: a mistake in a policy or here. Do not use the engine afterwards.
    pub fn step(&mut self, now: Nanos, event: &Event, actions: &mut Vec<Action>) {
        let first = actions.len();
        self.site.now = self.clock.advance(now);
        let changes = self.note(event, actions);
        let changes = self.pass_time(changes, actions);
        if changes.reach > Reach::Nothing && self.admit(&changes, actions) {
            let Self { site, policy, turns, division, placement, handover, targets, .. } = self;
            turns.take(site, policy, division);
            match site.regime.sharing {
                Sharing::Space => {
                    placement.place(site, division, policy, turns.work_list(), changes.subject);
                    handover.carry_out(site, placement.plan(), division.parties().are_in_force(), first, actions);
                    targets.spare_stopped(&site.ledger, first, actions);
                }
                // Without owners, all running applications get counts, in their turn or not.
                Sharing::Time => {
                    handover.list_hosted(site, division.parties().are_in_force());
                    handover.exchange_hosted(site);
                    division.divide(site, &mut *policy.share, turns.work_list());
                    share_everything(site, division.shares());
                    handover.exchange_hosted(site);
                }
            }
            turns.close(site, division.shares(), &*policy.share);
            division.check(site, policy, turns.work_list());
        }
        if self.unmanaged.processors() > self.site.ledger.unmanaged() {
            self.unmanaged.mark(&mut self.site);
        }
        if self.site.ledger.is_marked() {
            self.targets.tell(&mut self.site, &self.policy, changes.reclaims, actions);
        }
        self.check();
    }

    /// Time on the shell's clock for [`Event::Timer`] if no other event comes before.
    pub fn deadline(&self) -> Option<Nanos> {
        let grace = self.site.ledger.vacating().deadline(self.site.settings.grace_ns);
        let recovery = self.site.ledger.pins().then(|| self.recovered_at());
        let freed = self.site.has_freed().then_some(self.site.now);
        let all = [freed, grace, recovery, self.unmanaged.deadline(), self.turns.deadline()];
        all.into_iter().flatten().min().map(|at| self.clock.on_shell(at))
    }

    /// Whether the engine wants to be called at this time.
    pub fn is_due(&self, now: Nanos) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// The time, on the shell's clock, at which the present turn ends, if turns end. The shell
    /// tells the measurements of the turn before that.
    pub fn turn_ends(&self) -> Option<Nanos> {
        self.turns.until().map(|at| self.clock.on_shell(at))
    }

    /// Takes back actions that the shell has carried out. The engine uses their sets again and so
    /// allocates nothing.
    pub fn recycle(&mut self, actions: &mut Vec<Action>) {
        self.targets.recycle(actions.drain(..));
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.site.machine
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The settings that the engine was made with.
    pub fn settings(&self) -> &Settings {
        &self.site.settings
    }

    /// The number of applications that wait.
    pub fn queue_len(&self) -> usize {
        self.admission.waiting().len()
    }

    /// The view that the policy is given.
    pub fn view(&self) -> View<'_> {
        self.site.view()
    }

    /// The whole state, for people and tests. Allocates.
    pub fn snapshot(&self) -> Snapshot {
        self.shown().all(self.decisions)
    }

    /// The home that an application has been given by the placement, if any.
    pub fn home(&self, app: AppId) -> Option<NumaNodeId> {
        self.site.ledger.app(self.slot(app)?).home
    }

    pub(crate) fn shown(&self) -> Shown<'_> {
        let unmanaged = self.unmanaged.processors();
        Shown { site: &self.site, policy: &self.policy, admission: &self.admission, unmanaged }
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    pub(crate) fn next_number(&self) -> AppId {
        self.arrivals.next_number()
    }

    /// The slot of an application that has arrived and not ended.
    pub(crate) fn slot(&self, app: AppId) -> Option<Slot> {
        let ledger = &self.site.ledger;
        ledger.slot(app).or_else(|| self.admission.slot(ledger, app))
    }

    /// The free memory of every node, bytes.
    pub(crate) fn set_free_memory(&mut self, bytes: &[u64]) {
        self.site.set_free_memory(bytes);
    }

    /// Records an event in the stage that it concerns.
    fn note(&mut self, event: &Event, actions: &mut Vec<Action>) -> Changes {
        match event {
            Event::Arrive { app, wish } => {
                let recovering = self.site.now < self.recovered_at();
                self.arrivals.arrive(&mut self.site, &mut self.admission, (*app, wish), recovering, actions)
            }
            Event::Depart { app } => match self.slot(*app) {
                Some(slot) => life::depart(&mut self.site, &mut self.admission, slot),
                None => Changes::NONE,
            },
            Event::Request { app, processors } => {
                self.with(*app, |site, admission, slot| life::request(site, admission, slot, *processors, actions))
            }
            Event::Limits { app, min, max, weight_milli } => {
                let stated = limits::Stated { min: *min, max: *max, weight_milli: *weight_milli };
                self.with(*app, |site, admission, slot| limits::change(site, admission, slot, stated, actions))
            }
            Event::Allowed { app, pus } => {
                self.with(*app, |site, admission, slot| life::allow(site, admission, slot, pus))
            }
            Event::Demand { app, processors, idle } => self.with(*app, |site, admission, slot| {
                let idled = site.ledger.idle(slot, idle, site.now);
                let usable = site.ledger.usable_by(slot, *processors).max(1);
                life::request(site, admission, slot, usable, actions).and(Changes::division_if(idled))
            }),
            Event::Class { app, class } => self.with(*app, |site, _, slot| {
                site.ledger.set_class(slot, *class);
                Changes::NONE
            }),
            Event::Adopted { app, epoch } => self.with(*app, |site, _, slot| {
                // A selective placement gives only free processors.
                let left = site.ledger.adopted(slot, *epoch, site.now);
                Changes::division_if(left && site.regime.selects())
            }),
            Event::Sequential { app } => {
                self.with(*app, |site, admission, slot| life::set_sequential(site, admission, slot, true))
            }
            Event::Blocked { app } => self.with(*app, |site, _, slot| life::block(site, slot)),
            Event::Parallel { app } => {
                self.with(*app, |site, admission, slot| life::set_sequential(site, admission, slot, false))
            }
            Event::Speedup { app, processors, speedup_milli } => {
                let wanted = self.policy.needs().speedup;
                self.with(*app, |site, _, slot| {
                    let measured = site.ledger.measured(slot, *processors, *speedup_milli);
                    Changes::division_if(measured && wanted)
                })
            }
            Event::Bandwidth { app, rates } => self.with(*app, |site, _, slot| {
                site.threads.sampled(slot, site.ledger.app(slot).threads(), rates);
                Changes::NONE
            }),
            Event::Saturation { bus, rate } => {
                self.site.set_saturation(*bus, *rate);
                Changes::NONE
            }
            Event::Memory { app, bytes } => self.with(*app, |site, _, slot| {
                site.set_memory(slot, bytes);
                Changes::NONE
            }),
            Event::FreeMemory { bytes } => {
                self.site.set_free_memory(bytes);
                Changes::NONE
            }
            Event::Parties { parties } => self.set_parties(parties),
            Event::Unstoppable { app } => self.with(*app, |site, _, slot| life::set_stoppable(site, slot, false)),
            Event::Stoppable { app } => self.with(*app, |site, _, slot| life::set_stoppable(site, slot, true)),
            Event::Offline { pu } => presence::offline(&mut self.site, *pu, actions),
            Event::Online { pu } => presence::online(&mut self.site, *pu),
            Event::Unmanaged { processors } => {
                let later = self.site.now.saturating_add(self.site.settings.cooldown_ns);
                Changes::division_if(self.unmanaged.set(*processors, later))
            }
            Event::Timer => Changes::NONE,
            Event::Policy { policy } => self.switch(policy, actions),
        }
    }

    /// Applies an event about one application. Changes nothing if there is no such application.
    fn with(&mut self, app: AppId, then: impl FnOnce(&mut Site, &mut Admission, Slot) -> Changes) -> Changes {
        let Some(slot) = self.slot(app) else { return Changes::NONE };
        Changes { subject: Some(slot), ..then(&mut self.site, &mut self.admission, slot) }
    }

    /// Other parties share the machine from now on.
    fn set_parties(&mut self, parties: &[Party]) -> Changes {
        if !self.site.set_parties(parties) {
            return Changes::NONE;
        }
        self.division.parties_mut().lift();
        // Present counts may be above the new limits, so they do not hold.
        self.turns.forget(&mut self.site.ledger);
        Changes::CLAMPS
    }

    fn switch(&mut self, policy: &str, actions: &mut Vec<Action>) -> Changes {
        let Site { machine, settings, ledger, regime, .. } = &mut self.site;
        match find_policy(policy, self.seed.wrapping_add(self.decisions), machine, settings, ledger) {
            Ok(policy) => {
                *regime = Regime::of(&policy);
                self.policy = policy;
                self.turns.forget(ledger);
                ledger.mark_all();
                Changes { clamps: true, ..Changes::GROUP }
            }
            Err(rejected) => {
                actions.push(Action::Refuse { app: None, reason: rejected.reason });
                Changes::NONE
            }
        }
    }

    fn recovered_at(&self) -> Nanos {
        self.clock.since_start(self.site.settings.recovery_ns)
    }

    /// Ends the grace times, turns and other waits whose time has come, besides the event.
    fn pass_time(&mut self, changes: Changes, actions: &mut Vec<Action>) -> Changes {
        let now = self.site.now;
        self.site.ledger.tidy_vacating();
        let waits = !self.site.ledger.vacating().listed().is_empty();
        let taken = waits && self.targets.end_graces(&mut self.site, actions) && self.site.regime.selects();
        let freed = self.site.take_freed();
        let fewer_unmanaged = self.unmanaged.pass_time(now);
        let turn_ended = self.turns.pass_time(now);
        if self.site.ledger.pins() && now >= self.recovered_at() {
            self.site.ledger.unpin_all();
            return changes.and(Changes::GROUP);
        }
        if freed || taken || fewer_unmanaged || turn_ended { changes.and(Changes::DIVISION) } else { changes }
    }

    /// Starts applications of the queue. False if nothing has changed for the running ones.
    fn admit(&mut self, changes: &Changes, actions: &mut Vec<Action>) -> bool {
        self.decisions += 1;
        let site = &mut self.site;
        if changes.clamps {
            self.admission.clamp_wishes(site);
        }
        let only_queue = changes.reach == Reach::Queue && !changes.regrouped && !site.among.is_narrowed();
        group::gather(site, changes, self.unmanaged.processors());
        self.turns.lift_limits(&mut site.ledger);
        site.ledger.forget_old_reports();
        self.division.parties_mut().keep_bounds(site);
        let mut trial = Trial {
            site,
            policy: &mut self.policy,
            division: &mut self.division,
            placement: &mut self.placement,
            subject: changes.subject,
            unmanaged: self.unmanaged.processors(),
        };
        let started = self.admission.admit(&mut trial, actions);
        // A trial changes what a selective placement can give; only a decision sets that right.
        let tried = !self.admission.waiting().is_empty() && self.site.places_anew();
        let decides = started || !only_queue || tried;
        if !decides {
            // The same applications run, with the same wishes, on the same processors.
            self.turns.set_limits(&mut self.site.ledger);
            self.division.parties_mut().restore_bounds(&mut self.site);
        }
        decides
    }

    fn check(&mut self) {
        Invariants {
            site: &self.site,
            policy: &self.policy,
            admission: &self.admission,
            confined: self.division.parties().are_in_force(),
            divided: self.decisions > 0 && self.turns.work_list().is_none(),
        }
        .check();
        self.site.ledger.checked();
    }
}
