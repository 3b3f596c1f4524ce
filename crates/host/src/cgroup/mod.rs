//! Control groups: their mount points, the groups of a process, their limits, and a subtree of our
//! own that keeps programs on their processors.
//!
//! * [`Hierarchies`]: version 2, and of version 1 the controllers that count here (cpuset, cpu),
//!   found in `mountinfo`, so hybrid layouts and containers too.
//! * [`Support`]: says whether a subtree of version 2 with the cpuset controller has been delegated
//!   to this process.
//! * [`Subtree`], [`Group`]: that subtree, and one program's group in it. Affinity is the usual
//!   way; a cpuset is one write for any number of threads, and programs cannot leave it.
//! * [`Limits`]: the limits that the groups above a process set, and the limits that it would lose
//!   by a move.
//!
//! Every path is below a root that tests choose.

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
