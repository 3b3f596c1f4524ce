//! Jobs of a batch system: the steps that its plugin registers, and what people see of them.

use serde::{Deserialize, Serialize};

/// The version of [`BeginStep`]. `client/spank/choice.c` has the same number.
pub const STEP_VERSION: u32 = 1;

/// A step of a job begins on this machine. The asking process is its parent: every process below it
/// belongs to the step, and the step ends with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginStep {
    /// [`STEP_VERSION`] of the plugin.
    pub version: u32,
    /// Number of the job.
    pub job: u32,
    /// Name of the step: `0`, `1`, …, `batch`, `extern`, `interactive`.
    pub step: String,
    /// The job's user.
    pub uid: u32,
    /// Processors that the job was allocated on this machine.
    pub cpus: u32,
    /// The policy that the user asks for; absent: the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The job can run on other numbers of processors; absent: it has those that it was allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malleable: Option<Malleable>,
}

/// The numbers of processors, of one machine, on which a job can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Malleable {
    /// The fewest; nobody else is given them.
    pub min: u32,
    /// The most.
    pub max: u32,
}

/// One job on this machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Its number.
    pub job: u32,
    /// Number of its user.
    pub uid: u32,
    /// Name of its user; absent where the manager has one user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Its steps here, in the order in which they began.
    pub steps: Vec<String>,
    /// Processors that it was allocated here.
    pub cpus: u32,
    /// Absent: it is not malleable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malleable: Option<Malleable>,
    /// The most processors as somebody has set them while it ran; absent: nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// The policy that it asks for; absent: the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// This policy decides now: no other job is here.
    #[serde(default)]
    pub policy_decides: bool,
    /// Its applications now.
    pub applications: u32,
    /// Processors that it has now.
    pub has: f64,
    /// Its processor time so far.
    pub used: ProcessorTime,
}

/// Processor time of a job on one machine, in processor-seconds.
///
/// A job's own processors are those that it was allocated; where the jobs here were allocated more
/// than the machine has, its part of the machine in that ratio.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorTime {
    /// Of the processors that its programs had.
    pub used_s: f64,
    /// Of its own processors that others had meanwhile.
    pub lent_s: f64,
    /// Of the processors that it had beyond its own.
    pub borrowed_s: f64,
}
