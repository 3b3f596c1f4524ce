//! The set-ups: ways for a user to let programs share a machine; numaestro is one of them.

/// One way to run a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setup {
    /// Space-shared by hand with knowledge of the mix: disjoint processors, as many threads.
    Ideal,
    /// Nothing is done.
    Plain,
    /// `OMP_DYNAMIC=true`.
    Dynamic,
    /// Machine / programs threads each, on processors of their own, for the whole run.
    Static,
    /// `OMP_WAIT_POLICY=passive`.
    Passive,
    /// `numaestro run`, default policy.
    Numaestro,
    /// `numaestro run`, `admission=fifo`.
    NumaestroFifo,
}

impl Setup {
    /// All set-ups.
    pub const ALL: [Self; 7] =
        [Self::Ideal, Self::Plain, Self::Dynamic, Self::Static, Self::Passive, Self::Numaestro, Self::NumaestroFifo];
    /// The set-ups where programs run side by side all the time.
    pub const SIDE_BY_SIDE: [Self; 6] =
        [Self::Ideal, Self::Plain, Self::Dynamic, Self::Static, Self::Passive, Self::Numaestro];
    /// The set-ups where there are more programs than processors.
    pub const CROWDED: [Self; 7] = Self::ALL;
    /// The set-ups where no constant division is ideal.
    pub const CHANGING: [Self; 5] = [Self::Plain, Self::Dynamic, Self::Static, Self::Passive, Self::Numaestro];
    /// The set-ups for a program alone.
    pub const ALONE: [Self; 6] = Self::SIDE_BY_SIDE;
    /// The set-ups that numaestro is compared with.
    pub const RIVALS: [Self; 4] = [Self::Plain, Self::Dynamic, Self::Static, Self::Passive];

    /// As the user names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::Plain => "plain",
            Self::Dynamic => "dynamic",
            Self::Static => "static",
            Self::Passive => "passive",
            Self::Numaestro => "numaestro",
            Self::NumaestroFifo => "numaestro-fifo",
        }
    }

    /// Its summary, in a line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Ideal => "space-shared by hand: taskset on disjoint processors and as many threads",
            Self::Plain => "plain Linux, every program asks for the whole machine",
            Self::Dynamic => "OMP_DYNAMIC=true",
            Self::Static => "static split by hand: processors / programs threads each, taskset",
            Self::Passive => "OMP_WAIT_POLICY=passive",
            Self::Numaestro => "numaestro run -- PROGRAM",
            Self::NumaestroFifo => "numaestro run -- PROGRAM, with admission=fifo",
        }
    }

    /// The manager's policy where this set-up has a manager.
    pub fn policy(self) -> Option<&'static str> {
        match self {
            Self::Numaestro => Some("default"),
            Self::NumaestroFifo => Some("admission=fifo"),
            _ => None,
        }
    }
}
