//! What has changed since the last decision. Each event, and the passing of time, gives one such
//! value; the stages of the decision go by it, so nobody has to remember what the event was.

use numaestro_policy::Slot;

/// How far a change reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// There is nothing to decide.
    #[default]
    Nothing,
    /// It is about somebody that waits, or waited: nothing has changed for those that run.
    Queue,
    /// Processors may have to be divided anew.
    Division,
}

/// What one step has to decide, and why.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Changes {
    pub reach: Reach,
    /// The application that the event is about.
    pub subject: Option<Slot>,
    /// The event takes back what was lent.
    pub reclaims: bool,
    /// Other applications take part in the division.
    pub regrouped: bool,
    /// The bounds that clamp everybody's wishes are others.
    pub clamps: bool,
}

impl Changes {
    /// Nothing to decide.
    pub(crate) const NONE: Self =
        Self { reach: Reach::Nothing, subject: None, reclaims: false, regrouped: false, clamps: false };
    /// Only for those that wait.
    pub(crate) const QUEUE: Self = Self { reach: Reach::Queue, ..Self::NONE };
    /// For everybody.
    pub(crate) const DIVISION: Self = Self { reach: Reach::Division, ..Self::NONE };
    /// For others than before.
    pub(crate) const GROUP: Self = Self { regrouped: true, ..Self::DIVISION };
    /// For everybody, under other clamps.
    pub(crate) const CLAMPS: Self = Self { clamps: true, ..Self::DIVISION };

    /// For everybody, if that is so.
    pub(crate) fn division_if(so: bool) -> Self {
        if so { Self::DIVISION } else { Self::NONE }
    }

    /// These and others.
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
