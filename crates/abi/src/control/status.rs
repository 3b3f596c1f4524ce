//! The picture of everything: the machine, its applications and its processors.

use serde::{Deserialize, Serialize};

use super::{Class, FoldStatus, JobserverStatus, LibraryStatus, MemoryStatus, NodeStatus, RateStatus, SensingStatus};

/// A snapshot of everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the manager.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// Seconds since its start.
    pub uptime_s: f64,
    /// The policy, as `policy set` would take it.
    pub policy: String,
    /// Processors that may be given out, Linux list.
    pub cpus: String,
    /// Processors that the manager's own cgroup leaves it, Linux list; empty where it knows all
    /// that the machine has for everybody, or was told its processors.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub confined: String,
    /// Processors that unmanaged load keeps busy.
    pub unmanaged: u32,
    /// Decisions so far.
    pub decisions: u64,
    /// Nanoseconds of the latest and the longest decision.
    pub decision_ns: [u64; 2],
    /// The manager records ([`Request::Record`](super::Request::Record)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recording: bool,
    /// The sources of transaction rates; absent while the policy does not need rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<SensingStatus>,
    /// Applications, in order of arrival.
    pub apps: Vec<AppStatus>,
    /// PUs, in hardware order.
    pub pus: Vec<PuStatus>,
    /// Application numbers in the queue, first one next; 0: another user's.
    pub queue: Vec<u64>,
    /// NUMA nodes, in hardware order; only in the answer to
    /// [`Request::Memory`](super::Request::Memory).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeStatus>,
}

/// One application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppStatus {
    /// Application number.
    pub app: u64,
    /// Process id.
    pub pid: u32,
    /// The user whose application it is; absent where the manager has one user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The job of a batch system that it belongs to, with the step and the task as far as they are
    /// known: `12`, `12.0`, `12.batch`, `12.0/3`; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Name.
    pub name: String,
    /// How it is steered, as found out: `whole`, `malleable`, `setter`, `fold`.
    pub class: Class,
    /// `waiting`, `running`, `sequential`, `blocked`, `wrapper`.
    pub state: String,
    /// Runtimes found: `libgomp`, `libomp`, `OpenBLAS`, …
    pub runtimes: Vec<String>,
    /// The libraries in it that own parallel regions or a pool of threads, and the program itself
    /// if it does; empty until the program says any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<LibraryStatus>,
    /// Its transaction rates; absent while they are not needed, or nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub btr: Option<RateStatus>,
    /// The places of its memory; absent until the manager has looked at them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryStatus>,
    /// Processors it could use.
    pub request: u32,
    /// Number of processors it has.
    pub count: u32,
    /// Processors it has, Linux list.
    pub cpus: String,
    /// It shares them with other applications.
    pub shared: bool,
    /// Folded: more threads than processors.
    pub folded: bool,
    /// The folding of its team; absent until the program reports any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folding: Option<FoldStatus>,
    /// The jobserver of its build; absent where it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobserver: Option<JobserverStatus>,
    /// The reason why its teams keep their size although somebody allows them to follow; else
    /// empty.
    pub held_by: String,
    /// Threads of its latest parallel region.
    pub team: u32,
    /// Parallel regions so far.
    pub regions: u64,
    /// Decision number it was given, and the one it has carried out.
    pub epoch: [u32; 2],
    /// Weight in thousandths.
    pub weight_milli: u32,
    /// The fewest processors that its user wants it to have.
    #[serde(default)]
    pub min: u32,
    /// The most processors that its user lets it have; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Seconds since its arrival.
    pub age_s: f64,
    /// The reason for its allocation: one sentence.
    pub why: String,
}

/// One processing unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PuStatus {
    /// OS index.
    pub os: u32,
    /// OS index of its NUMA node.
    pub node: u32,
    /// Its core, numbered over the machine.
    pub core: u32,
    /// `free`, `owned`, `leaving`, `reserved`, `unmanaged`, `offline`.
    pub state: String,
    /// Owner.
    pub owner: Option<u64>,
    /// Applications that share it with the owner.
    pub guests: Vec<u64>,
}
