//! The JSON lines on the `control` socket (`SOCK_STREAM`): one [`Request`] a line, one [`Reply`] a
//! line.
//!
//! `Request::Run` with `wait` may be answered by several [`Reply::Waiting`] lines before
//! [`Reply::Run`].

mod class;
mod folding;
mod history;
mod jobs;
mod jobserver;
mod library;
mod memory;
mod naming;
mod policy;
mod recording;
mod refusal;
mod sensing;
mod status;
mod wishes;

pub use class::Class;
pub use folding::FoldStatus;
pub use history::{Alternative, Change, History};
pub use jobs::{BeginStep, JobStatus, Malleable, ProcessorTime, STEP_VERSION};
pub use jobserver::{BuildTool, Jobserver, JobserverStatus};
pub use library::LibraryStatus;
pub use memory::{MemoryStatus, NodeStatus, OnNode};
pub use naming::{AppName, letter};
pub use policy::{Policies, PolicyInfo};
pub use recording::RecordingStatus;
pub use refusal::RefusalKind;
pub use sensing::{BusStatus, RateStatus, RungStatus, SensingStatus};
use serde::{Deserialize, Serialize};
pub use status::{AppStatus, PuStatus, Status};
pub use wishes::{AppWishes, Most, NewWishes};

/// The requests of the command to the manager.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Request {
    /// The asking process is about to become the program.
    Run(Run),
    /// Take over a running process.
    Adopt {
        /// Its process id.
        pid: u32,
        /// As for `run`.
        options: Options,
        /// Also a process on which others depend: init, a kernel thread, an ancestor of the asking
        /// process.
        #[serde(default)]
        force: bool,
    },
    /// Let an application go: full affinity, no limits. Answered by [`Reply::Released`].
    Release {
        /// The application.
        app: AppName,
    },
    /// Change the wishes for an application that runs, at once. Answered by [`Reply::Set`].
    Set {
        /// The application.
        app: AppName,
        /// Its new wishes.
        wishes: NewWishes,
    },
    /// Everything there is to see.
    Status,
    /// [`Reply::Status`] now and after every change, until the connection closes.
    Watch,
    /// As [`Request::Status`], with the present nodes of threads and pages: the manager looks at
    /// everything, which takes about a second for 100 GiB.
    Memory,
    /// The policies there are, and the present one.
    PolicyList,
    /// Switch, live.
    PolicySet {
        /// `"dss"`, or parts: `"share=dss placement=worst-fit admission=fifo"`.
        policy: String,
    },
    /// The processors and nodes that a program would get now. The manager starts and changes
    /// nothing.
    Advise {
        /// As for `run`; `max` is the number of processors that the program could use.
        options: Options,
    },
    /// What the manager has heard and decided lately, for explanations. Answered by
    /// [`Reply::History`].
    History {
        /// The application in question; absent: no particular one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        app: Option<AppName>,
        /// Only the events after an earlier answer: its [`History::next`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
    /// Record from now on, or no more; without `on`: only say whether.
    Record {
        /// The choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<bool>,
    },
    /// A step of a job of a batch system begins. Only administrators may say so. Answered by
    /// [`Reply::Done`].
    BeginStep(BeginStep),
    /// The jobs on this machine: everybody's for administrators, else one's own.
    Jobs,
    /// Change the most processors of a malleable job, at once. Answered by [`Reply::Jobs`] with
    /// this job.
    SetJob {
        /// Its number.
        job: u32,
        /// Within what the job can do.
        most: Most,
    },
    /// Read the configuration again. Only users who may administer may ask.
    Reload,
    /// End the manager in an orderly way: it restores every affinity. Answered by [`Reply::Whole`]
    /// when the manager has read that back from the kernel.
    Stop,
    /// Are you there? Answered by [`Reply::Done`].
    Ping,
}

/// See [`Request::Run`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The program and its arguments, for people.
    pub command: Vec<String>,
    /// Wishes of the user.
    pub options: Options,
}

/// Wishes of the user for one application.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Name to show; empty = the program's.
    pub name: String,
    /// The fewest processors (the program waits, or is refused, where it cannot have them).
    pub min: Option<u32>,
    /// The most processors.
    pub max: Option<u32>,
    /// Share relative to others, thousandths; 1000 is usual.
    pub weight_milli: Option<u32>,
    /// The class that the user asks for.
    pub class: Class,
    /// `Some(true)`: wait in the queue for processors of its own; `Some(false)`: never wait;
    /// `None`: as the policy says.
    pub wait: Option<bool>,
    /// The user's estimate of its run time, nanoseconds: for backfilling.
    pub estimate_ns: Option<u64>,
    /// Bytes of memory it is going to need, as the user says.
    pub memory: Option<u64>,
    /// The bus-transaction rate of each of its threads, as the user declares it: cache lines per
    /// millisecond of execution.
    pub btr: Option<u32>,
    /// The jobserver of a build; absent where the program is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobserver: Option<Jobserver>,
    /// The processors that its user gives it, Linux list: the program would have them without the
    /// manager. Empty: nobody says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub allowed: String,
}

/// The answers of the manager.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// Start now.
    Run {
        /// Application number.
        app: u64,
        /// Linux list of OS indices, e.g. `0-3,8`.
        cpus: String,
        /// Number of processors.
        count: u32,
        /// The most processors that it can ever have, by its user's limit, its cgroup, and what the
        /// manager gives out. Absent: the manager does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u32>,
        /// The memory policy for its new pages, as the kernel writes it: `default`,
        /// `prefer=static:1`, `interleave=static:0-1`. Absent: the manager asks for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<String>,
        /// The manager supplies the tokens of the jobserver that was asked for.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        jobserver: bool,
    },
    /// In the queue.
    Waiting {
        /// Application number.
        app: u64,
        /// 1 = next.
        position: u32,
    },
    /// See [`Status`].
    Status(Box<Status>),
    /// See [`Request::PolicyList`].
    Policies(Policies),
    /// See [`Request::Advise`].
    Advice(Advice),
    /// See [`Request::Reload`].
    Reloaded(Reloaded),
    /// See [`Whole`].
    Whole(Whole),
    /// An application is let go.
    Released {
        /// Application number.
        app: u64,
        /// Process id.
        pid: u32,
        /// Name.
        name: String,
        /// The affinities that were given back.
        #[serde(flatten)]
        whole: Whole,
    },
    /// The application, and after it the applications inside it, with the wishes that hold now.
    Set {
        /// In order of arrival.
        apps: Vec<AppWishes>,
    },
    /// See [`Request::Jobs`].
    Jobs {
        /// In the order of their numbers.
        jobs: Vec<JobStatus>,
    },
    /// See [`History`].
    History(Box<History>),
    /// To [`Request::Record`].
    Recording(RecordingStatus),
    /// To a program that waits in the queue: the manager ends in order, and nobody takes the queue
    /// over.
    Ended,
    /// Done; nothing to say.
    Done,
    /// The manager refuses, and says what to do about it.
    Refused {
        /// One sentence.
        reason: String,
        /// One sentence, may be empty.
        hint: String,
        /// Whether another attempt can help.
        #[serde(default)]
        kind: RefusalKind,
    },
}

/// The manager has given the affinities back, and has read them back from the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// Processes that have the affinity that they would have without the manager.
    pub processes: u32,
    /// Their threads.
    pub threads: u32,
    /// Processes to which the manager could not give it.
    pub left: Vec<LeftBehind>,
    /// Processes with another one, which they or others have set: it stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<LeftBehind>,
}

/// A process that keeps another affinity than its user's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// Process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The reason, one clause.
    pub why: String,
}

/// The configuration has been read again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Files that were read, in order.
    pub files: Vec<String>,
    /// Remarks: names that nobody has, settings that take effect only at the next start.
    pub warnings: Vec<String>,
}

/// The processors and nodes that a program would get if it came now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Processors of its own that it would have once others have made room; 0: it would wait, or
    /// share.
    pub count: u32,
    /// Processors where it would run, Linux list.
    pub cpus: String,
    /// Processors of `cpus` that nobody uses now, Linux list.
    pub free: String,
    /// It would share processors with others.
    pub shared: bool,
    /// Place in the queue where it would wait: 1 is next.
    pub position: Option<u32>,
    /// OS indices of the NUMA nodes of `cpus`, Linux list.
    pub nodes: String,
    /// OS indices of the nodes where its memory should be, Linux list: the best first set that is
    /// large enough.
    pub memory_nodes: String,
    /// Bytes that are free on `memory_nodes`.
    pub memory_free: Option<u64>,
    /// The reason, one sentence.
    pub why: String,
}
