//! Virtual machines with several NUMA nodes, and the tests that run in them.
//!
//! The launcher (`numaestro-guest`) makes a Linux of any [`shape`] and runs a command in it;
//! [`inside`] is what runs there: scenarios with the kernel's own word on who runs where and which
//! page lies where. `docs/guides/guests.md` shows the use.
//!
//! Must not know: how the manager works. It is used as its users use it.

pub mod archive;
pub mod boot;
pub mod inside;
pub mod packing;
pub mod plan;
pub mod qemu;
pub mod record;
pub mod shape;
