//! The state of the recording, for people and scripts.

use serde::{Deserialize, Serialize};

/// Whether the manager records, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingStatus {
    /// It records.
    pub on: bool,
    /// The directory of its recordings.
    pub directory: String,
    /// Why the latest recording ended before its time; empty: it did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trouble: String,
    /// The next manager of this directory does the same.
    pub kept: bool,
}
