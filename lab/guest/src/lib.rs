//! Virtual machines with several NUMA nodes, and the tests that run in them.
//!
//! The launcher (`numaestro-guest`) makes a Linux of any [`shape`] and runs a command in it. The
//! scenarios of [`inside`] run there and ask the kernel where threads run and where pages lie.
//! `docs/guides/guests.md` shows the use.
//!
//! The scenarios use the manager only as its users do.

pub mod archive;
pub mod boot;
pub mod inside;
pub mod packing;
pub mod plan;
pub mod qemu;
pub mod record;
pub mod shape;
