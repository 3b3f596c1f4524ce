//! How the libraries in a program are steered.

use serde::{Deserialize, Serialize};

/// An object in a program that owns parallel regions or a pool of threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryStatus {
    /// Name of its file, without `.so` and what follows it.
    pub name: String,
    /// Its runtime: `libgomp`, `libomp`, `OpenBLAS`, …; empty if it is not known.
    pub runtime: String,
    /// How it is steered: `whole`, `follows`, `set`, `answered`, `left`, `absent`; `unlisted`
    /// stands for objects that are more than the program can list.
    pub how: String,
    /// The party that switches between its threads, which are more than the processors: `user`,
    /// `kernel`; else `none`.
    pub folded_by: String,
    /// Threads of its latest team, or the number that was set; 0 if it is not known.
    pub threads: u32,
    /// The reason, as a clause; may be empty.
    pub why: String,
}
