//! What a key can ask for that needs the manager or the terminal.

use numaestro_abi::control::NewWishes;

/// A wish of the user that the model cannot fulfil by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// End.
    Quit,
    /// Stop, as with `SIGTSTP`.
    Suspend,
    /// Ask for the policies there are.
    ListPolicies,
    /// Switch to this one.
    SetPolicy(String),
    /// Other wishes for an application.
    Change(u64, NewWishes),
    /// Stop managing an application.
    Release(u64),
    /// Say why an application has what it has.
    Explain(u64),
}
