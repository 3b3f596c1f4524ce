//! This machine as a machine file of the simulator.
//!
//! Its tree is what numaestro sees. The costs of the system are constants that no mix has
//! determined; none of them is fitted. Memory has one class of references and no channels: learned
//! programs have no references, so contention for memory is not in the model.

use crate::machine_here::this_machine;
use crate::say::{self, Failure};
use numaestro_topology::Machine;

/// Linux's base slice on few processors.
const QUANTUM: &str = "3 ms";
/// Another thread on a processor; the usual order of a switch on Linux.
const SWITCH: &str = "3 us";
/// A thread on another processor, without its cache, which no cache is modelled for; assumed.
const MIGRATION: &str = "20 us";
/// From an event to the adopted decision: the hand-over of docs/ARCHITECTURE.md.
const DECISION: &str = "50 us";
/// A stopped thread goes on: `numaestro bench turns` has 0.6 ms for 64 threads; assumed for a few.
const STOP: &str = "100 us";

/// The file's text.
///
/// # Errors
/// The machine's tree cannot be written as a synthetic description.
pub fn text() -> anyhow::Result<String> {
    text_of(&this_machine()?)
}

/// The same of another machine that numaestro has seen.
///
/// # Errors
/// As [`text`].
pub fn text_of(machine: &Machine) -> anyhow::Result<String> {
    let topology = machine.to_synthetic().ok_or_else(|| {
        let what = "this machine's tree is too irregular for a synthetic description";
        Failure::error(say::FAILED, what, "write a machine file and name it by --machine FILE")
    })?;
    Ok(format!(
        "name = \"here\"\nabout = \"This machine as numaestro sees it; costs are constants\"\ntopology = \"{topology}\"\ncycle = \"1 ns\"\n\n\
         [memory]\npage_bytes = 4096\nnode_pages = 1048576\n\n\
         [access]\nunit = \"ns\"\nhit = 1\n\n[[access.class]]\nname = \"memory\"\nwithin = \"machine\"\nline = 100\n\n\
         [system]\nscheduler = \"round-robin\"\nquantum = \"{QUANTUM}\"\nswitch = \"{SWITCH}\"\nmigration = \"{MIGRATION}\"\n\
         decision = \"{DECISION}\"\nstop = \"{STOP}\"\n"
    ))
}
