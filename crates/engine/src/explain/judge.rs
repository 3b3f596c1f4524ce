//! Finds the rule of an action and the earlier decision behind it: from the event, the policy in
//! force, and the difference for the application.

use super::effect::Effect;
use super::origins::Origins;
use super::rule::{Passed, Rule};
use crate::event::{Action, Event, Nanos};
use crate::settings::Settings;
use crate::snapshot::AppState;
use numaestro_policy::{AppId, Policy};

/// The circumstances of a decision.
pub(super) struct Circumstances<'a> {
    pub at: Nanos,
    /// `None`: it is hidden, because it was about another user's program.
    pub event: Option<&'a Event>,
    pub policy: &'a Policy,
    pub settings: &'a Settings,
    pub origins: &'a Origins,
    /// The number of the decision before.
    pub before: Option<u64>,
    /// The time of the news of load outside that nothing has followed from.
    pub load_at: Option<Nanos>,
    /// Applications that came back to a new manager may be given others from now on.
    pub recovered: bool,
}

impl Circumstances<'_> {
    /// What has passed, where the event says nothing by itself.
    pub(super) fn passed(&self) -> Option<Passed> {
        match self.event {
            Some(Event::Adopted { .. } | Event::Timer) => {}
            _ => return None,
        }
        let turns = self.policy.turns.stops() || self.policy.turns.holds_counts();
        Some(if self.told(self.event).is_some() {
            Passed::Leaving
        } else if self.load_at.is_some_and(|heard| self.at >= heard.saturating_add(self.settings.cooldown_ns)) {
            Passed::LessLoad
        } else if self.recovered {
            Passed::Recovery
        } else if turns && self.event == Some(&Event::Timer) {
            if self.policy.turns.stops() { Passed::Turn } else { Passed::Quantum }
        } else {
            Passed::Leaving
        })
    }

    /// The earlier decision behind that.
    pub(super) fn behind(&self, passed: Passed) -> Option<u64> {
        match (passed, self.event) {
            (Passed::LessLoad, _) => self.origins.of_load(),
            (Passed::Recovery | Passed::Turn | Passed::Quantum, _) => None,
            // Processors that came free in the decision before are given out in the next.
            (Passed::Leaving, event) => self.told(event).or(self.before),
        }
    }

    /// The decision that told an application what it has carried out now.
    fn told(&self, event: Option<&Event>) -> Option<u64> {
        match event {
            Some(Event::Adopted { app, epoch }) => self.origins.of_target(*app, *epoch),
            _ => None,
        }
    }

    /// Finds the rule of an action, and the earlier decision that made it necessary. `passed`,
    /// `behind`: of the whole decision, as above.
    pub(super) fn judge(&self, effect: &Effect, passed: Option<Passed>, behind: Option<u64>) -> (Rule, Option<u64>) {
        match &effect.action {
            Action::Start { .. } | Action::Wait { .. } => (Rule::Admission, behind),
            Action::Stop { .. } | Action::Continue { .. } => (Rule::Turns, behind),
            Action::Pages { .. } => (Rule::Pages, behind),
            // An application that was told to leave without another target has adopted it long ago.
            Action::Force { app, epoch, .. } => (Rule::Grace, self.origins.of_target(*app, *epoch).or(behind)),
            Action::Refuse { .. } => (Rule::Refusal, None),
            Action::Target { .. } if !self.policy.share.space_shares() => (Rule::Share, behind),
            Action::Target { .. } => match passed {
                Some(passed) => self.by_time(effect, passed, behind),
                None => (self.by_event(effect), None),
            },
        }
    }

    /// The rule of a target that time, or an application that left, has made necessary.
    fn by_time(&self, effect: &Effect, passed: Passed, behind: Option<u64>) -> (Rule, Option<u64>) {
        if let Some(origin) = self.origins.of_processors(&effect.gained()) {
            return (Rule::Handover, Some(origin));
        }
        let rule = match passed {
            Passed::LessLoad => Rule::Load,
            Passed::Recovery => Rule::Recovery,
            Passed::Turn | Passed::Quantum => by_difference(effect),
            Passed::Leaving => Rule::Handover,
        };
        (rule, behind)
    }

    fn by_event(&self, effect: &Effect) -> Rule {
        let own = |app: &AppId| effect.app == Some(*app);
        match self.event {
            Some(Event::Sequential { .. } | Event::Blocked { .. } | Event::Parallel { .. }) => Rule::Lending,
            Some(Event::Demand { app, idle, .. }) if !idle.is_empty() && !own(app) => Rule::Lending,
            Some(Event::Offline { .. } | Event::Online { .. }) => Rule::Presence,
            Some(Event::Unmanaged { .. }) => Rule::Load,
            Some(Event::Parties { .. }) => Rule::Parties,
            Some(Event::Arrive { app, wish }) if wish.claim.is_some() && own(app) => Rule::Recovery,
            _ => by_difference(effect),
        }
    }
}

/// The rule by what is different for the application.
fn by_difference(effect: &Effect) -> Rule {
    let Action::Target { count, pus, shared, lent, .. } = &effect.action else { return Rule::Share };
    let Some(before) = &effect.before else { return if *shared { Rule::Sharing } else { Rule::Share } };
    if before.state == AppState::Stopped {
        Rule::Turns
    } else if *shared && !before.shared {
        Rule::Sharing
    } else if *lent != before.lent {
        Rule::Lending
    } else if *count != before.count {
        Rule::Share
    } else if *pus != before.pus {
        Rule::Placement
    } else if *shared == before.shared {
        Rule::Share
    } else {
        Rule::Sharing
    }
}
