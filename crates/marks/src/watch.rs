//! Sees each event that an engine hears and each action that it wants, and marks the situations.

use crate::program::{Doing, Program};
use crate::{Marks, Step};
use numaestro_engine::{Action, AppId, Event};
use numaestro_topology::{PuId, PuSet};
use std::collections::BTreeMap;

/// One event, and the actions that followed from it at once.
#[derive(Clone, Copy)]
struct Decision<'a> {
    event: &'a Event,
    actions: &'a [Action],
}

impl<'a> Decision<'a> {
    fn refuses(self) -> bool {
        self.actions.iter().any(|action| matches!(action, Action::Refuse { .. }))
    }

    fn targets(self) -> impl Iterator<Item = (AppId, &'a PuSet)> {
        self.actions.iter().filter_map(|action| match action {
            Action::Target { app, pus, .. } => Some((*app, pus)),
            _ => None,
        })
    }

    fn told(self, app: AppId) -> Option<&'a PuSet> {
        self.targets().find(|(told, _)| *told == app).map(|(_, pus)| pus)
    }

    /// Programs besides this one that are told something.
    fn others_told(self, app: AppId) -> usize {
        self.targets().filter(|(told, _)| *told != app).count()
    }

    fn starts(self) -> usize {
        self.actions.iter().filter(|action| matches!(action, Action::Start { .. })).count()
    }

    fn stops(self) -> bool {
        self.actions.iter().any(|action| matches!(action, Action::Stop { .. }))
    }

    fn goes_on(self, app: Option<AppId>) -> bool {
        let is_it = |who: AppId| app.is_none_or(|app| app == who);
        self.actions.iter().any(|action| matches!(action, Action::Continue { app } if is_it(*app)))
    }
}

/// See the file's header.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    programs: BTreeMap<AppId, Program>,
    /// Processors that unmanaged load keeps busy.
    load: u32,
    /// Some of it has gone, and no time has come since at which a program had more.
    load_gone: bool,
    marks: Marks<Step>,
}

impl Watch {
    /// The situations so far.
    pub fn marks(&self) -> &Marks<Step> {
        &self.marks
    }

    /// The engine is gone, and the next one knows nothing of its programs.
    pub fn forget(&mut self) {
        self.programs.clear();
        (self.load, self.load_gone) = (0, false);
    }

    /// Whether a program still has to leave processors.
    pub fn is_leaving(&self) -> bool {
        self.programs.values().any(|program| !program.leaving().is_empty())
    }

    /// The engine has heard an event, and wants these actions.
    pub fn step(&mut self, event: &Event, actions: &[Action]) {
        let decision = Decision { event, actions };
        match event {
            Event::Arrive { app, wish } => {
                self.arrive(*app, wish.claim.clone().unwrap_or_default(), decision.refuses());
            }
            Event::Depart { app } => self.depart(*app, decision),
            Event::Offline { pu } => self.offline(*pu, decision.refuses()),
            Event::Online { pu } => {
                self.marks.reach_if(Step::OnlineTaken, decision.targets().any(|(_, pus)| pus.contains(*pu)));
            }
            Event::Unmanaged { processors } => self.load(*processors, decision),
            Event::Timer => self.time(decision),
            Event::Policy { .. } => self.switch(decision),
            Event::Parties { .. } => {
                self.marks.reach_if(Step::PartiesMove, decision.targets().next().is_some());
            }
            Event::Sequential { app } | Event::Blocked { app } | Event::Parallel { app } => self.phase(*app, decision),
            _ => self.say(decision),
        }
        for action in actions {
            self.carry_out(action, decision);
        }
    }

    fn arrive(&mut self, app: AppId, claim: PuSet, refused: bool) {
        self.marks.reach_if(Step::ArrivalRefused, refused);
        let others = self.programs.values();
        let clash = others.filter(|other| !other.shared).any(|other| other.told().intersects(&claim));
        self.marks.reach_if(Step::ClaimsClash, clash);
        if !refused {
            self.programs.insert(app, Program::coming_with(claim));
        }
    }

    fn depart(&mut self, app: AppId, decision: Decision<'_>) {
        let Some(program) = self.programs.remove(&app) else { return };
        let (leaving, marks) = (program.leaving(), &mut self.marks);
        let amid = self.programs.values().any(|other| !other.untaken().is_empty());
        let heir = decision.targets().any(|(_, pus)| pus.intersects(&leaving));
        marks.reach_if(Step::LeaverEnds, !leaving.is_empty());
        marks.reach_if(Step::HeirServedByEnd, heir);
        marks.reach_if(Step::HeirEnds, program.started && program.epoch() == 0 && !program.stopped);
        marks.reach_if(Step::EndsUntaken, !program.untaken().is_empty());
        marks.reach_if(Step::EndsAmidTaking, amid);
        marks.reach_if(Step::LenderEnds, program.lent);
        marks.reach_if(Step::GuestEnds, program.shared && !program.stopped);
        marks.reach_if(Step::EndsWaiting, program.position > 0);
        marks.reach_if(Step::EndsStopped, program.stopped);
        marks.reach_if(Step::WrapperEnds, program.doing == Doing::Wrapping);
        marks.reach_if(Step::EndLetsStart, decision.starts() > 0);
    }

    fn offline(&mut self, pu: PuId, refused: bool) {
        self.marks.reach_if(Step::OfflineRefused, refused);
        for program in self.programs.values_mut().filter(|_| !refused) {
            let told = program.told();
            let owned = told.contains(pu) && !program.shared;
            self.marks.reach_if(Step::OfflineOwned, owned);
            self.marks.reach_if(Step::OfflineLast, owned && told.len() == 1);
            self.marks.reach_if(Step::OfflineWhileLeft, program.leaving().contains(pu));
            program.lose(pu);
        }
    }

    fn load(&mut self, processors: u32, decision: Decision<'_>) {
        let before = std::mem::replace(&mut self.load, processors);
        let told = |app| self.programs.get(&app).map(Program::told).unwrap_or_default();
        let less = decision.targets().any(|(app, pus)| !told(app).is_subset(pus));
        self.marks.reach_if(Step::LoadTakes, processors > before && less);
        self.load_gone = processors < before;
    }

    fn time(&mut self, decision: Decision<'_>) {
        let told = |app| self.programs.get(&app).map(Program::told).unwrap_or_default();
        let more = decision.targets().any(|(app, pus)| !told(app).is_empty() && told(app).len() < pus.len());
        if self.load_gone && more {
            self.marks.reach(Step::LoadGives);
            self.load_gone = false;
        }
    }

    fn switch(&mut self, decision: Decision<'_>) {
        if decision.refuses() {
            return self.marks.reach(Step::SwitchRefused);
        }
        let leaving = self.is_leaving();
        self.marks.reach_if(Step::SwitchWhileLeaving, leaving);
        self.marks.reach_if(Step::SwitchGoesOn, decision.goes_on(None));
        self.marks.reach_if(Step::SwitchStarts, decision.starts() > 0);
        self.marks.reach_if(Step::SwitchStops, decision.stops());
    }

    fn phase(&mut self, app: AppId, decision: Decision<'_>) {
        // A guest that has to leave is told fewer processors than it had.
        let leaves = |(told, pus): (AppId, &PuSet)| {
            told != app && self.programs.get(&told).is_some_and(|other| !other.told().is_subset(pus))
        };
        let somebody_leaves = decision.targets().any(leaves);
        let mut others = self.programs.iter().filter(|(other, _)| **other != app);
        let untaken = others.any(|(_, other)| !other.untaken().is_empty());
        let Some(program) = self.programs.get_mut(&app) else { return };
        let is_parallel = matches!(decision.event, Event::Parallel { .. });
        let was = program.doing;
        program.doing = if is_parallel { Doing::Parallel } else { Doing::Lending };
        let back = is_parallel && was == Doing::Lending;
        self.marks.reach_if(Step::TakesBack, back && somebody_leaves);
        self.marks.reach_if(Step::ShortPhase, back && untaken);
        self.marks.reach_if(Step::GuestLends, !is_parallel && program.shared && was == Doing::Parallel);
        let blocks = matches!(decision.event, Event::Blocked { .. });
        self.marks.reach_if(Step::BlockedServesOther, blocks && decision.others_told(app) > 0);
    }

    /// A program says something else of itself, or somebody says it of the program.
    fn say(&mut self, decision: Decision<'_>) {
        let Some(app) = decision.event.app() else { return };
        let Some(program) = self.programs.get_mut(&app) else { return };
        let (told, marks) = (program.told(), &mut self.marks);
        let now = decision.told(app);
        match decision.event {
            Event::Request { processors, .. } => {
                marks.reach_if(Step::AsksWaiting, program.position > 0);
                marks.reach_if(Step::AsksStopped, program.stopped);
                let wraps = *processors == 0;
                marks.reach_if(Step::Wraps, wraps && !told.is_empty() && decision.others_told(app) > 0);
                marks.reach_if(Step::WrapperBack, !wraps && program.doing == Doing::Wrapping && now.is_some());
                program.doing = if wraps { Doing::Wrapping } else { Doing::Parallel };
                if wraps {
                    program.vacate();
                }
            }
            Event::Demand { idle, .. } => {
                marks.reach_if(Step::AsksWaiting, program.position > 0);
                marks.reach_if(Step::AsksStopped, program.stopped);
                let again = std::mem::replace(&mut program.idle_taken, false);
                marks.reach_if(Step::BusyAgain, again && idle.is_empty());
                program.idle.clone_from(idle);
            }
            Event::Limits { .. } => {
                marks.reach_if(Step::LimitsShrink, now.is_some_and(|pus| pus.len() < told.len()));
                marks.reach_if(Step::LimitsGrow, now.is_some_and(|pus| pus.len() > told.len() && !told.is_empty()));
            }
            Event::Allowed { .. } => {
                marks.reach_if(Step::AllowedMoves, now.is_some_and(|pus| *pus != told && !told.is_empty()));
            }
            Event::Class { .. } => marks.reach_if(Step::ClassWhileLeaving, !program.leaving().is_empty()),
            Event::Speedup { .. } => {
                marks.reach_if(Step::SpeedupMoves, now.is_some_and(|pus| pus.len() != told.len()));
            }
            Event::Unstoppable { .. } => {
                marks.reach_if(Step::CannotBeStopped, program.stopped);
                (program.stopped, program.unstoppable) = (false, true);
            }
            Event::Adopted { epoch, .. } => {
                let news = *epoch > program.adopted;
                marks.reach_if(Step::AnswersUnknown, *epoch > program.epoch());
                marks.reach_if(Step::AnswersOld, news && *epoch < program.epoch());
                marks.reach_if(Step::AnswersAfterForce, news && *epoch <= program.forced);
                marks.reach_if(Step::AnswerServesTwo, decision.others_told(app) > 1);
                program.adopt(*epoch);
            }
            _ => {}
        }
    }

    fn carry_out(&mut self, action: &Action, decision: Decision<'_>) {
        let (Action::Start { app }
        | Action::Wait { app, .. }
        | Action::Target { app, .. }
        | Action::Stop { app }
        | Action::Continue { app }
        | Action::Pages { app, .. }
        | Action::Force { app, .. }) = action
        else {
            return;
        };
        let waiting: Vec<AppId> =
            self.programs.iter().filter(|(_, program)| program.position > 0).map(|(app, _)| *app).collect();
        let Some(program) = self.programs.get_mut(app) else { return };
        let marks = &mut self.marks;
        match action {
            Action::Start { .. } => {
                marks.reach_if(Step::Overtakes, waiting.iter().any(|other| other < app));
                marks.reach_if(Step::TwoStart, decision.starts() > 1);
                (program.started, program.position) = (true, 0);
            }
            Action::Wait { position, .. } => {
                let before = program.position;
                marks.reach_if(Step::TwoWait, waiting.iter().any(|other| other != app));
                marks.reach_if(Step::MovesUp, *position < before);
                program.position = *position;
            }
            Action::Target { epoch, pus, shared, lent, .. } => tell(marks, program, (*epoch, pus, *shared, *lent)),
            Action::Force { epoch, .. } => {
                marks.reach_if(Step::ForcedAgain, program.forced > 0);
                program.forced = *epoch;
            }
            Action::Stop { .. } => {
                marks.reach_if(Step::StoppedWhileLeaving, !program.leaving().is_empty());
                marks.reach_if(Step::FirstTurnLater, program.epoch() == 0);
                marks.reach_if(Step::StoppableAgain, program.unstoppable);
                marks.reach_if(Step::TurnChange, decision.goes_on(None));
                program.stopped = true;
                program.vacate();
                program.idle.clear();
            }
            Action::Continue { .. } => {
                let early = !matches!(decision.event, Event::Timer | Event::Policy { .. });
                marks.reach_if(Step::EarlyTurn, early);
                program.stopped = false;
            }
            Action::Pages { home, .. } => {
                let before = program.home.replace(*home);
                marks.reach_if(Step::HomeMoves, before.is_some_and(|before| before != *home));
            }
            Action::Refuse { .. } => {}
        }
    }
}

/// A program is told a target.
fn tell(marks: &mut Marks<Step>, program: &mut Program, target: (u32, &PuSet, bool, bool)) {
    let (epoch, pus, shared, lent) = target;
    let (told, first) = (program.told(), program.epoch() == 0);
    marks.reach_if(Step::ToldAgainWhileLeaving, !program.leaving().is_empty());
    marks.reach_if(Step::RevokedUntaken, !program.untaken().is_subset(pus) && !first);
    marks.reach_if(Step::Lends, lent && !program.lent);
    marks.reach_if(Step::OwnerBecomesGuest, !first && shared && !program.shared);
    marks.reach_if(Step::GuestBecomesOwner, !first && !shared && program.shared);
    marks.reach_if(Step::GoesOnElsewhere, program.stopped && !first && !told.intersects(pus));
    if first && !program.claim.is_empty() {
        marks.reach_if(Step::ClaimKept, program.claim.intersects(pus));
        marks.reach_if(Step::ClaimLost, !program.claim.is_subset(pus));
    }
    let taken = told.intersection(&program.idle).difference(pus);
    marks.reach_if(Step::IdleTaken, !taken.is_empty());
    program.idle_taken |= !taken.is_empty();
    program.idle.subtract(&taken);
    (program.shared, program.lent) = (shared, lent);
    program.target(epoch, pus);
}
