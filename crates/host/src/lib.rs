//! Everything that touches Linux: with `abi` the only crate with `unsafe`, and the only one that
//! names files of the system.
//!
//! * [`DirTree`]: sysfs, or a recorded copy of it, for the topology readers.
//! * [`procfs`]: who descends from whom, and who uses how much.
//! * [`affinity`], [`cgroup`]: where threads may run, and what limits them. [`numa`]: whether pages
//!   may be placed.
//! * [`PidFd`], [`poll`], [`signals`], [`uevent`], [`watch`]: what happens, without asking twice.
//! * [`exec_watch`]: which processes become another program.
//! * [`exec`], [`descriptors`], [`children`]: becoming a program, and starting one. [`stop`]:
//!   stopping and continuing programs.
//! * [`sense`]: how much the threads of a program take of the way to memory, and how much that
//!   carries.
//! * [`memory`]: the shared page. [`socket`], [`rundir`], [`detach`]: how manager and programs find
//!   each other.
//! * [`switching`]: means of programs that switch between their threads by themselves.
//! * [`accounts`]: names and groups of users.
//! * [`listen`], [`notify`]: being started and watched by a service manager.
//!
//! It must not know what a policy is, nor what the manager is about to decide.
#![allow(unsafe_code)]

pub mod accounts;
pub mod affinity;
pub mod cgroup;
pub mod children;
mod clock;
pub mod descriptors;
pub mod detach;
mod error;
pub mod exec;
pub mod exec_watch;
pub mod limits;
pub mod listen;
pub mod memory;
pub mod notify;
pub mod numa;
mod pidfd;
pub mod poll;
pub mod procfs;
pub mod rundir;
pub mod sense;
pub mod signals;
pub mod socket;
pub mod stop;
pub mod switching;
mod tree;
pub mod uevent;
pub mod watch;

pub use clock::monotonic_ns;
pub use error::HostError;
pub use pidfd::PidFd;
pub use tree::DirTree;

/// The user this process acts for.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
