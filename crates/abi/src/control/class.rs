//! How a program is steered.

use serde::{Deserialize, Serialize};

/// The ways to steer a program (`docs/design/programs.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The manager finds the class out.
    #[default]
    Auto,
    /// OpenMP teams keep the size that the program gives them. Only `status` says it; no user asks
    /// for it.
    Whole,
    /// The size of teams follows the allocation: the user, or the program, says that any size is
    /// right.
    Malleable,
    /// The client sets the number of threads through the library's own function.
    Setter,
    /// The program keeps its threads; their affinity follows the allocation.
    Fold,
}
