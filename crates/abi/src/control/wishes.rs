//! The wishes that a person changes while an application runs.

use serde::{Deserialize, Serialize};

use super::Class;

/// The most processors, as a person states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Most {
    /// There is no limit any more.
    All,
    /// So many.
    Processors(u32),
}

/// Other wishes for an application that runs. What is absent stays as it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewWishes {
    /// The fewest processors.
    pub min: Option<u32>,
    /// The most processors.
    pub max: Option<Most>,
    /// Share relative to others, thousandths.
    pub weight_milli: Option<u32>,
    /// The class that the user asks for.
    pub class: Option<Class>,
}

/// An application, and the wishes that hold for it from now on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppWishes {
    /// Application number.
    pub app: u64,
    /// Process id.
    pub pid: u32,
    /// Name.
    pub name: String,
    /// The fewest processors.
    pub min: u32,
    /// The most processors; absent: no limit.
    pub max: Option<u32>,
    /// Share relative to others, thousandths.
    pub weight_milli: u32,
    /// The class that the user asks for.
    pub class: Class,
    /// Number of processors that it is to have now.
    pub count: u32,
    /// The reason for this number: one sentence.
    pub why: String,
}
