//! The reason why a policy cannot be used, in a sentence that says what to do instead.

use std::fmt;

/// The reason why a policy cannot be used, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// One sentence that says what to use instead.
    pub reason: String,
}

impl Rejected {
    /// A refusal with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for Rejected {}
