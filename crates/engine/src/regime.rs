//! The regime: how processors are given, and what becomes of those that get none. The engine
//! chooses it when the policy is switched, and goes by it from then on. It asks no answer who it
//! is.

use crate::ledger::Ledger;
use crate::settings::Settings;
use numaestro_policy::{Policy, Rejected};
use numaestro_topology::Machine;

/// Whether processors have owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Every processor has one owner (space sharing).
    Space,
    /// No processor has one: everybody runs everywhere, and counts are numbers of threads.
    Time,
}

/// Whether every application is given all of its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// It is, as long as there are processors.
    Any,
    /// The placement is selective: it may give fewer, and takes no processor that is not free.
    Selective,
}

/// What an application does outside its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It is a guest on the processors of others.
    Guest,
    /// It is stopped.
    Stopped,
}

/// What happens to counts within a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// Every decision divides anew.
    Follow,
    /// They hold until the turn ends; what is released goes to the work-list.
    Hold,
}

/// How processors are given under the policy in force.
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

    /// The placement may give fewer than the share, and takes what is free only.
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
