//! The changes since the last decision. Each event, and the passing of time, gives one such value.
//! The stages of the decision go by it, so none of them needs the event itself.

use numaestro_policy::Slot;

/// The part of the decision that a change reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// There is nothing to decide.
    #[default]
    Nothing,
    /// The change is about an application that waits, or waited: nothing has changed for the
    /// running ones.
    Queue,
    /// Processors may have to be divided anew.
    Division,
}

/// The work of one step, and its reasons.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Changes {
    pub reach: Reach,
    /// The application that the event is about.
    pub subject: Option<Slot>,
    /// The event takes lent processors back.
    pub reclaims: bool,
    /// Other applications take part in the division.
    pub regrouped: bool,
    /// The bounds that clamp all wishes have changed.
    pub clamps: bool,
}

impl Changes {
    /// Nothing to decide.
    pub(crate) const NONE: Self =
        Self { reach: Reach::Nothing, subject: None, reclaims: false, regrouped: false, clamps: false };
    /// A decision about waiting applications only.
    pub(crate) const QUEUE: Self = Self { reach: Reach::Queue, ..Self::NONE };
    /// A decision about all applications.
    pub(crate) const DIVISION: Self = Self { reach: Reach::Division, ..Self::NONE };
    /// A decision about all, because other applications take part.
    pub(crate) const GROUP: Self = Self { regrouped: true, ..Self::DIVISION };
    /// A decision about all, under other bounds.
    pub(crate) const CLAMPS: Self = Self { clamps: true, ..Self::DIVISION };

    /// A decision about all applications if `so`, else none.
    pub(crate) fn division_if(so: bool) -> Self {
        if so { Self::DIVISION } else { Self::NONE }
    }

    /// These changes and others.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            reach: self.reach.max(other.reach),
            subject: self.subject.or(other.subject),
            reclaims: self.reclaims || other.reclaims,
            regrouped: self.regrouped || other.regrouped,
            clamps: self.clamps || other.clamps,
        }
    }
}
