//! The places of memory as the manager shows them: nodes, and the pages of one application.

use serde::{Deserialize, Serialize};

/// One NUMA node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// OS index.
    pub node: u32,
    /// Its processors, Linux list.
    pub cpus: String,
    /// Bytes of memory.
    pub total: u64,
    /// Bytes that nobody uses; page cache is not free.
    pub free: u64,
}

/// An amount on one NUMA node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnNode {
    /// OS index of the node.
    pub node: u32,
    /// Bytes, or threads.
    pub count: u64,
}

/// The places of one application's memory, as of the latest look: at a
/// [`super::Request::Memory`], else when the manager last had a reason to look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStatus {
    /// The places of its new pages: `first-touch`, `home`, `interleave`, `its own` (it has set a
    /// policy that is not ours).
    pub policy: String,
    /// OS index of its home node, if it has one.
    pub home: Option<u32>,
    /// OS indices of the nodes where its pages should be, Linux list.
    pub wanted: String,
    /// Threads by the node of the processor they ran on last.
    pub threads: Vec<OnNode>,
    /// Its own (anonymous) pages, bytes.
    pub bytes: Vec<OnNode>,
    /// Pages of files, and of memory it shares, bytes.
    pub shared: Vec<OnNode>,
    /// Share of its own pages that are where they should be, thousandths.
    pub at_home_permille: u32,
    /// Bytes that are elsewhere and could be moved.
    pub elsewhere: u64,
    /// Bytes that are elsewhere because there is no room where they should be.
    pub spilled: u64,
    /// The mover is moving them.
    pub moving: bool,
    /// Bytes moved so far.
    pub moved: u64,
    /// Milliseconds since the look.
    pub age_ms: u64,
    /// A remark: one clause, may be empty.
    pub note: String,
}
