//! Control groups: where they are mounted, where processes are in them, what limits they set, and a
//! subtree of our own in which programs are kept on their processors.
//!
//! * [`Hierarchies`]: version 2, and of version 1 what counts here (cpuset, cpu), found in
//!   `mountinfo`, so hybrid layouts and containers too.
//! * [`Support`]: whether a subtree of version 2 with the cpuset controller has been delegated to
//!   this process.
//! * [`Subtree`], [`Group`]: that subtree, and one program's group in it. Affinity is the usual
//!   way; a cpuset is one write for any number of threads, and programs cannot leave it.
//! * [`Limits`]: what the groups above a process allow it, and what it would lose by being moved.
//!
//! It must not know who should have what. Every path is below a root that tests choose.

mod delegation;
mod group;
mod hierarchies;
mod limits;
mod subtree;

pub use delegation::Support;
pub use group::Group;
pub use hierarchies::{Hierarchies, Place};
pub use limits::{Limits, Quota};
pub use subtree::{Left, Subtree};
