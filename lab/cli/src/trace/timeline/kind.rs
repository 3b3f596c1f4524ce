//! The kinds of marks, by their numbers in files.

/// The kind of a mark. The numbers are those of Paraver's event types, and stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Arrive = 1,
    Depart = 2,
    Request = 3,
    Target = 4,
    Stop = 5,
    Continue = 6,
    Force = 7,
    Speedup = 8,
    Bandwidth = 9,
    Policy = 10,
    Turn = 11,
    Unmanaged = 12,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::Arrive,
        Self::Depart,
        Self::Request,
        Self::Target,
        Self::Stop,
        Self::Continue,
        Self::Force,
        Self::Speedup,
        Self::Bandwidth,
        Self::Policy,
        Self::Turn,
        Self::Unmanaged,
    ];

    /// The name and the meaning of the value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrive => "arrives, wants processors",
            Self::Depart => "ends",
            Self::Request => "wants processors",
            Self::Target => "told processors",
            Self::Stop => "stopped",
            Self::Continue => "goes on",
            Self::Force => "folded by the manager",
            Self::Speedup => "speedup, thousandths",
            Self::Bandwidth => "bus transactions per ms",
            Self::Policy => "policy switched",
            Self::Turn => "turn ends",
            Self::Unmanaged => "unmanaged load, processors",
        }
    }
}
