//! The folding of a team as the manager shows it, for people and scripts. The page has numbers
//! only.

use serde::{Deserialize, Serialize};

/// The folding of one application's team, as the program itself reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldStatus {
    /// The party that switches between the threads: `user` (the shim, in user space), `kernel`,
    /// or `none`, because there are no more threads than processors.
    pub by: String,
    /// The reason against user space, one word that never changes
    /// ([`crate::page::why::NAMES`]); `none` if there is none.
    pub reason: String,
    /// The same in words: one clause, empty if there is none.
    pub why: String,
    /// The remedy: one clause, empty if there is no reason.
    pub next: String,
    /// Threads of the team.
    pub threads: u32,
    /// Kernel threads that run them.
    pub carriers: u32,
    /// Switches in user space since the start of the program.
    pub switches: u64,
    /// The same in the latest second.
    pub switches_per_second: u32,
    /// Times that a folded region was given back to the kernel.
    pub unfolds: u32,
    /// Times that a team was folded.
    pub opened: u32,
    /// Times that a folded team was dissolved.
    pub dissolved: u32,
}
