//! The regime says how processors are given, and what applications without processors do. The
//! engine derives it from the policy's parts when the policy is switched. The stages then go by the
//! regime and never by a policy's name.

use crate::ledger::Ledger;
use crate::settings::Settings;
use numaestro_policy::{Policy, Rejected};
use numaestro_topology::Machine;

/// Says whether processors have owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Every processor has one owner (space sharing).
    Space,
    /// No processor has an owner: every application runs everywhere, and counts are numbers of
    /// threads.
    Time,
}

/// Says whether every application is given all of its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Every application is, as long as there are processors.
    Any,
    /// The placement is selective: it may give fewer processors, and takes only free ones.
    Selective,
}

/// The state of an application outside its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It is a guest on the processors of others.
    Guest,
    /// It is stopped.
    Stopped,
}

/// The rule for counts within a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// Every decision divides anew.
    Follow,
    /// They hold until the turn ends; processors that are released go to the work-list.
    Hold,
}

/// The rules by which processors are given under the policy in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Regime {
    pub sharing: Sharing,
    pub choice: Choice,
    pub outside: Outside,
    pub counts: Counts,
}

impl Regime {
    pub(crate) fn of(policy: &Policy) -> Self {
        Self {
            sharing: if policy.share.space_shares() { Sharing::Space } else { Sharing::Time },
            choice: if policy.placement.selective() { Choice::Selective } else { Choice::Any },
            outside: if policy.turns.stops() { Outside::Stopped } else { Outside::Guest },
            counts: if policy.turns.holds_counts() { Counts::Hold } else { Counts::Follow },
        }
    }

    /// Processors have owners.
    pub(crate) fn owns(self) -> bool {
        self.sharing == Sharing::Space
    }

    /// The placement may give fewer processors than the share, and takes only free ones.
    pub(crate) fn selects(self) -> bool {
        self.choice == Choice::Selective
    }

    /// An application without processors is stopped.
    pub(crate) fn stops(self) -> bool {
        self.outside == Outside::Stopped
    }

    /// Counts hold until the turn ends.
    pub(crate) fn holds(self) -> bool {
        self.counts == Counts::Hold
    }
}

/// A policy that can be used here.
pub(crate) fn find_policy(
    text: &str,
    seed: u64,
    machine: &Machine,
    settings: &Settings,
    ledger: &Ledger,
) -> Result<Policy, Rejected> {
    let policy = Policy::parse(text, seed)?;
    policy.check(settings.host)?;
    policy.fits(machine, &ledger.not_reserved())?;
    policy.turns.fits(&settings.buses)?;
    Ok(policy)
}
