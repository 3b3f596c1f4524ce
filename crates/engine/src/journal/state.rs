//! The whole state as one line: where a journal begins that continues another one.
//!
//! ```text
//! {"at":1000,"state":{"now":990,"policy":"equi",…},"names":{"3":"cg"}}
//! ```

use super::{JournalError, content, text};
use crate::event::Nanos;
use crate::snapshot::Snapshot;
use numaestro_policy::AppId;
use numaestro_quantity::label::label;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// See the file's header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The time of the line, nanoseconds.
    pub at: Nanos,
    /// The engine's state.
    pub state: Snapshot,
    /// The names that people give the applications, where they are known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<AppId, String>,
}

impl State {
    /// The line, without its newline.
    pub fn encode(&self) -> String {
        text(self)
    }

    /// Reads the line. Names are fit to be shown then, whoever has written it.
    ///
    /// # Errors
    /// It is another line, or one that a newer program wrote.
    pub fn decode(line: &str) -> Result<Self, JournalError> {
        if content(line) != Some("state") {
            return Err(JournalError::new("it says no state"));
        }
        let mut state: Self = serde_json::from_str(line).map_err(JournalError::new)?;
        state.names.values_mut().for_each(|name| *name = label(name));
        Ok(state)
    }
}
