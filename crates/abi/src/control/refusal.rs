//! The kinds of refusals. The command's exit codes follow from them.

use serde::{Deserialize, Serialize};

/// Whether another attempt can help after a refusal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefusalKind {
    /// The same request may work later.
    #[default]
    Later,
    /// The request itself is wrong, whenever it comes.
    Usage,
    /// The asking user may not do this.
    Permission,
    /// It cannot be done: what the request is about is not there.
    Absent,
}
