//! The messages that the page of the dashboard is given, each one JSON object on a line of its own.
//! `web/src/message.ts` reads them.
//!
//! Times (`t`) are whole microseconds since the first event that is known. A processor is named by
//! its place in [`Hello::cpus`].

use serde::Serialize;

/// See the file's header.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Message<'a> {
    /// Begins anew: what came before is to be forgotten.
    Hello(&'a Hello),
    /// What has changed, in order of time.
    Steps {
        /// One or more.
        steps: &'a [Step],
    },
    /// What only a manager that runs knows.
    Status(&'a Status),
    /// Time has passed.
    Now {
        /// The time.
        t: u64,
    },
    /// The manager cannot be asked.
    Lost {
        /// One clause.
        problem: &'a str,
    },
}

/// The version of the messages.
pub const VERSION: u32 = 1;

/// What does not change.
#[derive(Debug, Clone, Serialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// More follows as it happens, and the page may ask for changes.
    pub live: bool,
    /// The machine, or the recording.
    pub title: String,
    /// The policy at its begin.
    pub policy: String,
    /// Milliseconds since 1970 at t = 0; absent where the journal has no times of day.
    pub began_ms: Option<u64>,
    /// The processors in the order of the rows: those of a node stand together.
    pub cpus: Vec<Cpu>,
    /// The policies that may be chosen.
    pub policies: Vec<String>,
    /// What the viewer may change.
    pub may: May,
}

/// What the viewer may change, beside programs.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct May {
    /// The policy.
    pub policy: bool,
}

/// A processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// Number of the operating system.
    #[serde(rename = "cpu")]
    pub os_index: u32,
    /// OS index of its NUMA node.
    pub node: u32,
    /// Package, numbered over the machine.
    pub package: u32,
    /// Core, numbered over the machine.
    pub core: u32,
}

/// One event, and what is different after it. What it does not name is as before.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Step {
    /// Its time.
    pub t: u64,
    /// Processors: place, state, owner, guests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pus: Vec<(u32, &'static str, Option<u64>, Vec<u64>)>,
    /// Applications that are there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apps: Vec<App>,
    /// Applications that have ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<u64>,
    /// The policy from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Processors that load which is not managed keeps busy. Not all of them need to be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmanaged: Option<u32>,
    /// What was decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
}

/// An application.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct App {
    /// Its number.
    #[serde(rename = "app")]
    pub number: u64,
    /// Its program.
    pub name: String,
    /// `waiting`, `running`, …
    pub state: &'static str,
    /// Threads it should have.
    pub count: u32,
    /// Processors that it could use.
    pub request: u32,
    /// The fewest processors.
    pub min: u32,
    /// The most processors; absent: no limit.
    pub max: Option<u32>,
    /// 1 is usual.
    pub weight: f64,
    /// How it is steered.
    pub class: &'static str,
    /// Linux list.
    pub cpus: String,
    /// Others run on some or all of its processors.
    pub shared: bool,
    /// Some of its processors are lent.
    pub lent: bool,
    /// Why it has this and no more: one sentence.
    pub why: String,
}

/// One effect of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The decision's number; its effects have the same.
    pub number: u64,
    /// The earlier decision that made this one necessary.
    pub because: Option<u64>,
    /// The application that it concerns.
    pub app: Option<u64>,
    /// What was heard.
    pub event: String,
    /// The rule that followed from it.
    pub rule: String,
    /// Paper and section.
    pub section: String,
    /// What followed.
    pub action: String,
    /// Threads that it should have before and after.
    pub before: u32,
    /// See `before`.
    pub after: u32,
}

/// What only a manager that runs knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Status {
    /// Its time.
    pub t: u64,
    /// By application.
    pub apps: std::collections::BTreeMap<u64, AppStatus>,
    /// Load that is not managed.
    pub load: Load,
}

/// What only a manager that runs knows of an application.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AppStatus {
    /// Its process.
    pub pid: u32,
    /// Its letter in `numaestro status` and for `numaestro set`, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub letter: Option<char>,
    /// Its user, where the manager has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The viewer may change it.
    pub mine: bool,
    /// 100: one processor was busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// Nodes and the bytes of its own pages there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<(u32, u64)>,
}

/// Load that is not managed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Load {
    /// 100: it keeps one processor busy.
    pub outside_percent: f64,
}
