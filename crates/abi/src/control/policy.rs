//! The policies that there are, and the present one.

use serde::{Deserialize, Serialize};

/// The policies there are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policies {
    /// The present one, as `policy set` would take it.
    pub current: String,
    /// The one with which the next manager begins.
    #[serde(default)]
    pub next: String,
    /// All policies and parts.
    pub available: Vec<PolicyInfo>,
}

/// One policy or part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyInfo {
    /// `share`, `placement`, `turns`, `pages`, `admission` or `preset`.
    pub part: String,
    /// Its name.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// Paper and section.
    pub source: String,
}
