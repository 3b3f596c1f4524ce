//! What a manager has heard and decided lately.

use serde::{Deserialize, Serialize};

/// See the file's header.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// A journal as `numaestro record dump` writes it. Its last lines are the present state and the
    /// time on people's clock. A user who is no administrator sees other users' programs in it only
    /// as far as `status` shows them.
    pub journal: String,
    /// `journal` has only the events after [`super::Request::History`]'s `after`, without its first
    /// line; if there are any, the present state is the last line. False also if the manager no
    /// longer remembers those events; then `journal` is whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rest: bool,
    /// Events so far: `after` of the next question.
    #[serde(default)]
    pub next: u64,
    /// The number of the application that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<u64>,
    /// What would give this application another number of processors, or let it have them alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
}

/// Something that would give an application another number of processors, or let it have them
/// alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alternative {
    /// What would be different.
    #[serde(flatten)]
    pub change: Change,
    /// Processors of its own that it would have then; 0: it would wait, or share.
    pub count: u32,
    /// Processors where it would run, Linux list.
    pub cpus: String,
    /// Others would run on some or all of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// Something that could be different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// It may have this many processors.
    Limit {
        /// The most processors.
        max: u32,
    },
    /// It has this weight.
    Weight {
        /// Thousandths; 1000 is usual.
        weight_milli: u32,
    },
    /// It could use this many processors.
    Use {
        /// Processors.
        processors: u32,
    },
    /// Another application ends.
    End {
        /// Its number.
        app: u64,
    },
    /// The load outside ends.
    LessLoad,
    /// The policy is this one.
    Policy {
        /// As `numaestro policy set` takes it.
        policy: String,
    },
}
