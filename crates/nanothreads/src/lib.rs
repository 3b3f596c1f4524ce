//! Malleable user-level threads: the heir of the Nano-threads Library (Martorell et al. 2000,
//! §2.1).
//!
//! A program divides its work into nano-threads, as many as it likes; a few virtual processors, one
//! operating-system thread each, run them. When the manager takes a processor away, a virtual
//! processor gives it back at its next safe point (the end of a nano-thread, a join, a barrier, a
//! chunk of a loop) and parks. Others steal the jobs in its queue, and recover the nano-thread it
//! was in the middle of: they hand it their processor when they would otherwise wait. When the
//! manager gives one more, a parked virtual processor goes on. So a program grows and shrinks
//! within one task, and no nano-thread waits for a preempted partner.
//!
//! ```
//! use nanothreads::{Runtime, Scripted};
//!
//! let processors = Scripted::new(2);
//! let runtime = Runtime::builder().vps(2).allocation(processors.clone()).build()?;
//! processors.set(1); // from now on one processor does it all
//! let (a, b) = runtime.join(|| 1 + 1, || 2 + 2);
//! assert_eq!((a, b), (2, 4));
//! # Ok::<(), nanothreads::BuildError>(())
//! ```
//!
//! Nano-threads are **tied** unless the runtime is built otherwise: one that has waited goes on
//! with the virtual processor it began on, so references to thread-local data stay valid. See
//! [`Builder::untied`].
//!
//! The same in C: `include/nanothreads.h`.
//!
//! This crate sees the manager only as an [`Allocation`], never its policies, pages or messages.

#![allow(unsafe_code)] // Stacks, jobs on them and the C API: each use says why it is sound.

mod affinity;
mod allocation;
mod barrier;
mod capi;
mod fiber;
mod graph;
mod idle;
mod inbox;
mod job;
mod join;
mod latch;
mod manager;
#[cfg(all(loom, test))]
mod model;
mod parallel_for;
mod registry;
mod runtime;
mod scope;
mod seats;
mod spawn;
mod sync;
mod vp;

pub use allocation::{Allocation, Fixed, Scripted};
pub use barrier::Barrier;
pub use graph::{Cycle, Graph, Task};
pub use join::join;
pub use parallel_for::{parallel_for, parallel_for_chunks};
pub use runtime::{BuildError, Builder, Runtime, Statistics};
pub use scope::{Scope, scope};
pub use spawn::{JoinHandle, spawn};
