//! The actuators together: decides which of them carries a decision out for an application, and
//! remembers whether the system refused it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use numaestro_host::stop::{Group, Remote};
use numaestro_host::{HostError, affinity};
use numaestro_topology::CpuSet;

use crate::config::Config;
use crate::hands::cpusets::Cpusets;
use crate::hands::jobserver::Jobservers;
use crate::hands::pages::{Pages, Subject};
use crate::hands::shared_pages::{Content, SharedPages};
use crate::hands::stops::Stops;
use crate::hands::trees::Trees;
use crate::programs::{App, Programs};

/// See the file's header.
#[derive(Debug)]
pub(super) struct Actuators {
    pub(super) shared_pages: SharedPages,
    pub(super) trees: Trees,
    pub(super) cpusets: Cpusets,
    pub(super) stops: Stops,
    pub(super) pages: Pages,
    pub(super) jobservers: Jobservers,
    /// Applications that the system does not let us move, and why.
    denied: BTreeMap<u64, String>,
}

/// The content of an application's page.
fn content<'a>(app: &'a App, pages: &'a Pages) -> Content<'a> {
    Content { allocation: &app.allocation, class: app.options.class, memory: pages.told(app.number) }
}

impl Actuators {
    pub(super) fn new(config: &Config, attach: PathBuf, cpusets: Cpusets, guard: Option<Remote>) -> Self {
        Self {
            shared_pages: SharedPages::default(),
            trees: Trees::new(attach),
            cpusets,
            stops: Stops::new(config.system, guard),
            pages: Pages::new(config.memory.bytes_per_s()),
            jobservers: Jobservers::default(),
            denied: BTreeMap::new(),
        }
    }

    /// The reason why the system does not let us move an application, if it does not.
    pub(super) fn denied(&self, app: u64) -> Option<&str> {
        self.denied.get(&app).map(String::as_str)
    }

    /// Gives an application a page that says its latest decision.
    pub(super) fn open_page(&mut self, app: &App, grace_us: u32) -> Result<(), HostError> {
        self.shared_pages.open(app.number, app.pid(), grace_us, content(app, &self.pages))
    }

    /// Says the latest decision in the application's page; false if it has none.
    pub(super) fn publish(&self, app: &App) -> bool {
        self.shared_pages.publish(app.number, content(app, &self.pages))
    }

    /// Says in the application's page that there are no limits any more.
    pub(super) fn release(&self, app: &App, original: &CpuSet) {
        self.shared_pages.release(app.number, content(app, &self.pages), original);
    }

    /// Moves an application's processes: by its group, if it has one, else by affinity. A refusal
    /// by the system counts as done: there is nothing more that could be.
    pub(super) fn place(&mut self, app: &App, others: &BTreeSet<u32>, cpus: &CpuSet) {
        let confined = self.cpusets.place(app.number, cpus);
        let done = confined.unwrap_or_else(|| self.trees.place(app.number, app.pid(), others, cpus));
        match done {
            Ok(()) => {
                self.denied.remove(&app.number);
                // A program with a page may be about to carry out an older decision.
                if !self.shared_pages.has(app.number) {
                    self.trees.settled(app.number);
                }
            }
            Err(cause) => drop(self.denied.insert(app.number, cause.to_string())),
        }
    }

    /// Threads of a program with a page that are outside its target come inside.
    pub(super) fn keep_within_target(&mut self, app: &App) {
        if let Some(target) = app.allocation.target().filter(|_| self.shared_pages.has(app.number))
            && let Err(cause) =
                affinity::keep_process_within(app.pid(), &target.cpus, &mut self.trees.judge(app.number, &target.cpus))
            && !cause.is_gone()
        {
            self.denied.insert(app.number, cause.to_string());
        }
    }

    /// All descendants of an application's root, without other applications; `None` for one with a
    /// page: a program that it starts is an application of its own.
    fn tree(&self, app: &App, programs: &Programs) -> Option<BTreeSet<u32>> {
        (!self.shared_pages.has(app.number)).then(|| programs.other_roots(app.pid()))
    }

    /// The processes of an application, as they are stopped.
    pub(super) fn group(&self, app: &App, programs: &Programs) -> Group {
        Group { root: app.pid(), tree: self.tree(app, programs) }
    }

    /// The processes of an application, as their memory is looked at.
    pub(super) fn subject(&self, app: &App, programs: &Programs) -> Subject {
        let tree = (!self.shared_pages.has(app.number)).then(|| programs.shared_roots());
        Subject::new(app.number, app.pid(), app.process.start_time(), tree)
    }

    /// An application has gone, but for its processes.
    pub(super) fn forget(&mut self, app: u64) {
        self.shared_pages.forget(app);
        self.stops.resume(app);
        self.pages.forget(app);
        self.denied.remove(&app);
    }
}
