//! Why a machine could not be read. Every message says where, what was expected and what was found
//! instead.

use crate::list::excerpt;

/// A description of a machine that makes no sense, and where it stops making sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A file that must be there is not.
    #[error("{path}: not found (expected {expected})")]
    Missing {
        /// Path below the root of the tree.
        path: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A file (or, for XML, an element) with a text that cannot be understood.
    #[error("{path}: expected {expected}, found \"{found}\"")]
    Garbage {
        /// Path below the root of the tree, or element and line.
        path: String,
        /// What it should hold.
        expected: String,
        /// The offending text, shortened.
        found: String,
    },
    /// A synthetic description with a mistake.
    #[error("synthetic description, column {column}: expected {expected}, found \"{found}\"")]
    Synthetic {
        /// Where; the first character is column 1.
        column: usize,
        /// What would have been right.
        expected: String,
        /// The offending text, shortened; empty at the end.
        found: String,
    },
    /// Not XML.
    #[error("hwloc XML: {0}")]
    Xml(String),
    /// More than this crate handles.
    #[error("{what}: {found} is more than the {limit} that are supported")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there may be.
        limit: u64,
    },
    /// Every part can be read but they contradict each other.
    #[error("{path}: {problem}")]
    Inconsistent {
        /// Where it was noticed.
        path: String,
        /// What contradicts what.
        problem: String,
    },
    /// The machine would have no processor left.
    #[error("no usable processor: {0}")]
    NoProcessor(String),
}

impl TopologyError {
    pub(crate) fn garbage(path: impl Into<String>, expected: impl Into<String>, found: &str) -> Self {
        Self::Garbage { path: path.into(), expected: expected.into(), found: excerpt(found) }
    }

    pub(crate) fn inconsistent(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Inconsistent { path: path.into(), problem: problem.into() }
    }

    pub(crate) fn synthetic(column: usize, expected: impl Into<String>, found: &str) -> Self {
        Self::Synthetic { column, expected: expected.into(), found: excerpt(found) }
    }
}
