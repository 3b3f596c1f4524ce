//! Everything that touches Linux: with `abi` the only crate with `unsafe`, and the only one that
//! names files of the system.
//!
//! * [`DirTree`]: sysfs, or a recorded copy of it, for the topology readers.
//! * [`procfs`]: which process descends from which, and how much processor time each uses.
//! * [`affinity`], [`cgroup`]: where threads may run, and the limits on them. [`reach`]: the
//!   processors that the kernel leaves to this process. [`numa`]: whether pages may be placed.
//! * [`PidFd`], [`poll`], [`signals`], [`uevent`], [`watch`]: notices of events, so that nobody has
//!   to poll.
//! * [`exec_watch`]: which processes become another program. [`image`]: what a file is before it is
//!   started.
//! * [`exec`], [`descriptors`], [`children`]: becoming a program, and starting one. [`stop`]:
//!   stopping and continuing programs.
//! * [`sense`]: how much bandwidth the threads of a program take of the way to memory, and how much
//!   the way carries.
//! * [`memory`]: the shared page. [`socket`], [`rundir`], [`detach`]: how manager and programs find
//!   each other.
//! * [`switching`]: means of programs that switch between their threads by themselves.
//! * [`jobserver`]: the pipe whose tokens are the jobs that a build may start.
//! * [`accounts`]: names and groups of users.
//! * [`lines`]: files of lines for administrators.
//! * [`listen`], [`notify`]: being started and watched by a service manager.
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
pub mod image;
pub mod jobserver;
pub mod limits;
pub mod lines;
mod link;
pub mod listen;
pub mod memory;
pub mod notify;
pub mod numa;
mod pidfd;
pub mod poll;
pub mod procfs;
pub mod reach;
pub mod rundir;
pub mod sense;
pub mod signals;
pub mod socket;
pub mod stop;
pub mod switching;
mod tree;
pub mod uevent;
pub mod watch;

pub use clock::{boot_ns, monotonic_ns, thread_time_ns};
pub use error::HostError;
pub use pidfd::PidFd;
pub use tree::DirTree;

/// The name of this machine, as the kernel has it; empty if it cannot be read.
pub fn node_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// The user this process acts for.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
