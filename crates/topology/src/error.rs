//! Errors of reading a machine. Every message gives the place, the expected text and the text found
//! instead.

use crate::list::excerpt;

/// A description of a machine that makes no sense, and the place of the mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A file that must be there is not.
    #[error("{path}: not found (expected {expected})")]
    Missing {
        /// Path below the root of the tree.
        path: String,
        /// Its expected content.
        expected: &'static str,
    },
    /// A file (or, for XML, an element) with a text that cannot be understood.
    #[error("{path}: expected {expected}, found \"{found}\"")]
    Garbage {
        /// Path below the root of the tree, or element and line.
        path: String,
        /// Its expected content.
        expected: String,
        /// The offending text, shortened.
        found: String,
    },
    /// A synthetic description with a mistake.
    #[error("synthetic description, column {column}: expected {expected}, found \"{found}\"")]
    Synthetic {
        /// The place; the first character is column 1.
        column: usize,
        /// The text that would have been right.
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
        /// The kind of object.
        what: &'static str,
        /// Number of objects.
        found: u64,
        /// Largest number allowed.
        limit: u64,
    },
    /// Every part can be read but they contradict each other.
    #[error("{path}: {problem}")]
    Inconsistent {
        /// The place where it was noticed.
        path: String,
        /// The contradiction.
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
