//! Why a policy cannot be used, in a sentence that says what to do instead.

use std::fmt;

/// A policy that cannot be used, and why, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// One sentence that says what there is instead.
    pub reason: String,
}

impl Rejected {
    /// With this reason.
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
