//! Writes a decision into the page, and reads it whole.
//!
//! The manager is the only writer; readers are the threads of one program, which carry a decision
//! out under a lock of their own process. `client/src/adopt.c` does in C what [`read`] and
//! [`adopt`] do here; `tests/loom/page.rs` runs this code under every interleaving that the memory
//! model allows.
//!
//! Nothing here waits: a manager that dies in the middle of a write leaves `sequence` odd, and
//! readers give up.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::page::{CPUSET_WORDS, NODE_WORDS, Page};
use crate::sync::fence;

/// One decision, as it stands in the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Number of the decision.
    pub epoch: u32,
    /// Processors, at least 1.
    pub count: u32,
    /// Bits of [`crate::page::flag`].
    pub flags: u32,
    /// `CLOCK_MONOTONIC` nanoseconds of the decision.
    pub decided_ns: u64,
    /// One of [`crate::page::memory`].
    pub memory: u32,
    /// Bit `i % 64` of word `i / 64` = the NUMA node with OS index `i`.
    pub nodes: [u64; NODE_WORDS],
    /// Bit `i % 64` of word `i / 64` = the PU with OS index `i`.
    pub cpuset: [u64; CPUSET_WORDS],
}

/// Writes a decision. Only the manager calls this, and only from one thread.
pub fn write(page: &Page, target: &Target) {
    let line = &page.manager;
    // Also after a predecessor that died in the middle: odd stays odd until this write is complete.
    let sequence = line.sequence.load(Relaxed) | 1;
    line.sequence.store(sequence, Relaxed);
    fence(Release);
    let used = CPUSET_WORDS - target.cpuset.iter().rev().take_while(|word| **word == 0).count();
    for (place, word) in page.cpuset.iter().zip(target.cpuset) {
        place.store(word, Relaxed);
    }
    for (place, word) in page.nodes.iter().zip(target.nodes) {
        place.store(word, Relaxed);
    }
    line.memory.store(target.memory, Relaxed);
    line.cpuset_words.store(used as u32, Relaxed);
    line.count.store(target.count.max(1), Relaxed);
    line.flags.store(target.flags, Relaxed);
    line.decided_ns.store(target.decided_ns, Relaxed);
    line.epoch.store(target.epoch, Release);
    line.sequence.store(sequence.wrapping_add(1), Release);
}

/// The decision that stands in the page, or `None` if it is being written: try again.
pub fn read(page: &Page) -> Option<Target> {
    let line = &page.manager;
    let before = line.sequence.load(Acquire);
    if before % 2 == 1 {
        return None;
    }
    let target = Target {
        epoch: line.epoch.load(Relaxed),
        count: line.count.load(Relaxed),
        flags: line.flags.load(Relaxed),
        decided_ns: line.decided_ns.load(Relaxed),
        memory: line.memory.load(Relaxed),
        nodes: std::array::from_fn(|i| page.nodes[i].load(Relaxed)),
        cpuset: std::array::from_fn(|i| page.cpuset[i].load(Relaxed)),
    };
    fence(Acquire);
    (line.sequence.load(Relaxed) == before).then_some(target)
}

/// Stores that the program has carried `epoch` out. The thread that holds the program's adoption
/// lock calls this after it has moved the last thread.
pub fn adopt(page: &Page, epoch: u32, folded: bool) {
    page.helper.folded.store(u32::from(folded), Relaxed);
    page.helper.adopted_epoch.store(epoch, Release);
}

/// The latest decision that the program says it has carried out. The manager's view; it may be a
/// lie.
pub fn adopted(page: &Page) -> u32 {
    page.helper.adopted_epoch.load(Acquire)
}
