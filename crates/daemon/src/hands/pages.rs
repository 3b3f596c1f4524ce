//! Directs the memory of programs: the actuator keeps the policy's decision on an application's
//! pages and passes it to the mover, which looks and moves; the sensor says where pages are.
//! `pages/mover.rs` finds and moves pages; the policies decide whether moving is worth it
//! ([`numaestro_policy::pages::worth`]).

mod course;
mod mover;
mod orders;
mod places;
mod residency;
mod show;

use std::collections::BTreeMap;
use std::sync::Arc;

use numaestro_engine::{Event, PageHome};
use numaestro_host::monotonic_ns;
use numaestro_host::numa::{MemoryPolicy, NodeMemory};
use numaestro_host::poll::Interest;
use numaestro_policy::AppId;
use numaestro_topology::{Machine, NumaNode, NumaNodeId, PuSet};
use tracing::{info, warn};

use crate::senses::machine::{node_of_os, os_of};
use crate::wakeups::{ShellSource, Wakeups};
use course::{Aim, Distances, Sample, Verdict};
use mover::{Mover, Report};
use orders::Order;
use residency::Places;

pub(crate) use residency::Subject;

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    by_app: BTreeMap<u64, AppMemory>,
    /// There from the first time that it is needed.
    mover: Option<Mover>,
    /// It cannot be started.
    failed: bool,
    /// Bytes that it may move in a second.
    rate: u64,
    /// Nodes as of the latest look.
    nodes: Vec<NodeMemory>,
    /// Looks that have been asked for, by number.
    looks: BTreeMap<u64, Look>,
    next_look: u64,
    /// Memory of programs, of all that there have been, that was moved to other nodes, bytes.
    moved_bytes: u64,
}

/// The state of one application's memory.
#[derive(Debug, Default)]
struct AppMemory {
    name: String,
    arrived_ns: u64,
    /// The nodes where the policy wants its pages; `None`: the policy has said nothing, and a page
    /// goes to the node of the processor that touches it first.
    wanted: Option<PageHome>,
    /// The policy that `run` and its page were told.
    told: Option<MemoryPolicy>,
    /// Its home, which it claims when the engine begins anew.
    claimed: Option<NumaNodeId>,
    /// The number that Linux gives its home, which is the same on a machine that is read anew.
    home_os: Option<u32>,
    aim: Aim,
    watched: bool,
    /// The latest look, and when it was, nanoseconds.
    seen: Option<(Sample, Verdict, u64)>,
    moving: bool,
    /// Bytes moved.
    moved: u64,
    /// A remark for people.
    note: String,
    /// Its spilling has been logged.
    spill_logged: bool,
}

/// A look at the memory of the programs of a user, or of all.
#[derive(Debug)]
struct Look {
    of: Option<u32>,
    /// The connections that wait for it.
    askers: Vec<u64>,
}

/// A look that is done.
#[derive(Debug)]
pub(crate) struct Looked {
    /// The connections that wait for it.
    pub(crate) askers: Vec<u64>,
    /// Processor time, nanoseconds.
    pub(crate) spent_ns: u64,
}

/// The mover's reports.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) events: Vec<Event>,
    /// Looks that are done.
    pub(crate) looked: Vec<Looked>,
    /// Pages have been moved.
    pub(crate) moved: bool,
}

impl Pages {
    pub(crate) fn new(rate: u64) -> Self {
        Self { rate, ..Self::default() }
    }

    /// Another rate, bytes a second.
    pub(crate) fn set_rate(&mut self, rate: u64) {
        self.rate = rate;
        if let Some(mover) = &self.mover {
            mover.tell(Order::Rate(rate));
        }
    }

    /// A new application.
    pub(crate) fn enter(&mut self, app: u64, name: &str, arrived_ns: u64) {
        let memory = AppMemory { name: name.to_owned(), arrived_ns, ..AppMemory::default() };
        self.by_app.insert(app, memory);
    }

    /// It had its home here under a former manager.
    pub(crate) fn inherit(&mut self, app: u64, home: Option<NumaNodeId>) {
        if let Some(memory) = self.by_app.get_mut(&app) {
            memory.claimed = home;
        }
    }

    /// The memory policy that it was told.
    pub(crate) fn told(&self, app: u64) -> Option<&MemoryPolicy> {
        self.by_app.get(&app)?.told.as_ref()
    }

    /// The home that it claims when the engine begins anew.
    pub(crate) fn claimed(&self, app: u64) -> Option<NumaNodeId> {
        self.by_app.get(&app)?.claimed
    }

    /// OS index of its home.
    pub(crate) fn home_os(&self, app: u64) -> Option<u32> {
        self.by_app.get(&app)?.home_os
    }

    /// Memory that was moved to other nodes so far, bytes.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.moved_bytes
    }

    /// The policy says where the new pages of an application go.
    pub(crate) fn want(&mut self, app: u64, home: PageHome) {
        if let Some(memory) = self.by_app.get_mut(&app) {
            memory.wanted = Some(home);
        }
    }

    /// Finds out where the pages of an application on these processors should be; true if it is to
    /// be told something new.
    pub(crate) fn aim(&mut self, app: u64, machine: &Machine, home: Option<NumaNodeId>, pus: &PuSet) -> bool {
        let Some(memory) = self.by_app.get_mut(&app) else { return false };
        memory.claimed = home;
        memory.home_os = home.and_then(|home| os_of(machine, home));
        let stay = places::places_for(machine, memory.wanted.unwrap_or(PageHome::FirstTouch), pus);
        let processors = places::nodes_of(machine, pus).into_iter();
        let processors: Vec<_> = processors.filter_map(|(node, count)| Some((os_of(machine, node)?, count))).collect();
        let told = places::policy_for(memory.wanted, &stay);
        if memory.aim.stay != stay || !places::are_same_nodes(&memory.aim.processors, &processors) {
            let (arrived_ns, since_ns) = (memory.arrived_ns, monotonic_ns());
            memory.aim = Aim { processors, stay, arrived_ns, since_ns, busy_permille: None };
            memory.watched = false;
        } else {
            memory.aim.processors = processors;
        }
        let differs = told != memory.told;
        memory.told = told;
        differs
    }

    /// It has to be told to the mover: it is somewhere else, or its pages should be.
    pub(crate) fn has_moved(&self, app: u64) -> bool {
        self.by_app.get(&app).is_some_and(|memory| !memory.watched)
    }

    /// Tells the mover of an application. After it was told itself.
    pub(crate) fn watch(&mut self, subject: Subject, machine: &Machine, wakeups: &Wakeups) {
        if places::memory_nodes(machine).count() < 2 {
            return;
        }
        let app = subject.app;
        let Some(subject) = self.with_aim(subject) else { return };
        let Some(mover) = self.mover(machine, wakeups) else { return };
        mover.tell(Order::Watch(Box::new(subject)));
        if let Some(memory) = self.by_app.get_mut(&app) {
            (memory.watched, memory.moving) = (true, false);
        }
    }

    fn with_aim(&self, subject: Subject) -> Option<Subject> {
        Some(Subject { aim: self.by_app.get(&subject.app)?.aim.clone(), ..subject })
    }

    /// The mover, started if need be.
    fn mover(&mut self, machine: &Machine, wakeups: &Wakeups) -> Option<&Mover> {
        if self.mover.is_none() && !self.failed {
            let started = Mover::start(self.rate, places_of(machine));
            let watched = started.and_then(|mover| {
                wakeups.watch(mover.wake(), ShellSource::Pages, Interest::Read)?;
                Ok(mover)
            });
            self.mover = watched.inspect_err(|cause| warn!("pages stay where they are: {cause:#}")).ok();
            self.failed = self.mover.is_none();
            if numaestro_host::numa::kernel_balances() {
                info!(
                    "kernel.numa_balancing is on: under first touch the kernel moves pages too; `numaestro doctor` says more"
                );
            }
        }
        self.mover.as_ref()
    }

    /// An application is a wrapper from now on: nobody's pages are its own, until it is a program
    /// again.
    pub(crate) fn overlook(&mut self, app: u64) {
        if let Some(mover) = &self.mover {
            mover.tell(Order::Forget(app));
        }
        if let Some(memory) = self.by_app.get_mut(&app) {
            (memory.watched, memory.moving) = (false, false);
        }
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        self.overlook(app);
        self.by_app.remove(&app);
    }

    /// The machine has been read anew: nodes may be others.
    pub(crate) fn renew(&mut self, machine: &Machine) {
        if let Some(mover) = &self.mover {
            mover.tell(Order::Machine(places_of(machine)));
        }
        self.by_app.values_mut().for_each(|memory| memory.watched = false);
    }

    /// The engine begins anew: each application claims its home on this machine.
    pub(crate) fn begin_anew(&mut self, machine: &Machine) {
        for memory in self.by_app.values_mut() {
            memory.claimed = memory.home_os.and_then(|home| node_of_os(machine, home));
        }
    }

    /// Another connection waits for a look that has been asked for already; false: there is none
    /// of these programs.
    pub(crate) fn join_look(&mut self, asker: u64, of: Option<u32>) -> bool {
        let look = self.looks.values_mut().find(|look| look.of == of);
        look.map(|look| look.askers.push(asker)).is_some()
    }

    /// Looks at the memory of all these, the programs of a user or of all, for the connection that
    /// asks; false if no mover can look.
    pub(crate) fn look(
        &mut self,
        (asker, of): (u64, Option<u32>),
        all: Vec<Subject>,
        machine: &Machine,
        wakeups: &Wakeups,
    ) -> bool {
        let subjects: Vec<Subject> = all.into_iter().filter_map(|subject| self.with_aim(subject)).collect();
        let number = self.next_look;
        let Some(mover) = self.mover(machine, wakeups) else { return false };
        mover.tell(Order::Look(number, subjects));
        self.next_look += 1;
        self.looks.insert(number, Look { of, askers: vec![asker] });
        true
    }

    /// Takes the reports of the mover.
    pub(crate) fn take(&mut self, machine: &Machine) -> Findings {
        let mut findings = Findings::default();
        for report in self.mover.as_ref().map(Mover::take).unwrap_or_default() {
            match report {
                Report::Sample { app, sample, verdict } => {
                    findings.events.extend(self.seen(app, sample, verdict, machine));
                }
                Report::Moved { app, bytes, left, why } => findings.moved |= self.moved(app, bytes, left, why),
                Report::Blind { app, reason } => {
                    info!(app, "its memory cannot be seen: {reason}");
                    if let Some(memory) = self.by_app.get_mut(&app) {
                        memory.note = reason;
                    }
                }
                Report::Nodes(nodes) => {
                    let memory = |node: &NumaNode| nodes.iter().find(|memory| memory.node == node.os_index);
                    let free = |node: &NumaNode| memory(node).map_or(0, |memory| memory.free);
                    let bytes = machine.numa_nodes().iter().map(free).collect();
                    findings.events.push(Event::FreeMemory { bytes });
                    self.nodes = nodes;
                }
                Report::Looked(number, spent_ns) => {
                    let look = self.looks.remove(&number);
                    findings.looked.extend(look.map(|look| Looked { askers: look.askers, spent_ns }));
                }
            }
        }
        findings
    }

    fn seen(&mut self, app: u64, sample: Sample, verdict: Verdict, machine: &Machine) -> Option<Event> {
        let on = |node: &NumaNode| sample.own.get(&node.os_index).copied().unwrap_or(0);
        let bytes = machine.numa_nodes().iter().map(on).collect();
        let memory = self.by_app.get_mut(&app)?;
        let (name, stay) = (&memory.name, &memory.aim.stay);
        memory.note.clear();
        memory.moving = matches!(verdict, Verdict::Move(_)) && memory.watched;
        match verdict {
            Verdict::Spilled(bytes) => {
                if !std::mem::replace(&mut memory.spill_logged, true) {
                    info!(app, name, mib = bytes >> 20, node = ?stay, "its home is full; memory has spilled to other nodes");
                }
            }
            Verdict::Move(bytes) if memory.moving => info!(app, name, mib = bytes >> 20, node = ?stay, "pages follow"),
            Verdict::Settled => memory.spill_logged = false,
            Verdict::Move(_) | Verdict::NotWorth => {}
        }
        memory.seen = Some((sample, verdict, monotonic_ns()));
        Some(Event::Memory { app: AppId(app), bytes })
    }

    fn moved(&mut self, app: u64, bytes: u64, left: u64, why: &str) -> bool {
        self.moved_bytes += bytes;
        let Some(memory) = self.by_app.get_mut(&app) else { return false };
        memory.moving = false;
        memory.moved += bytes;
        info!(app, name = memory.name, mib = bytes >> 20, left_mib = left >> 20, "pages have followed {why}");
        if !why.is_empty() {
            why.clone_into(&mut memory.note);
        }
        true
    }
}

/// The facts of a machine that the mover needs.
fn places_of(machine: &Machine) -> Arc<Places> {
    let node = |pu: &numaestro_topology::Pu| Some((pu.os_index, os_of(machine, pu.node)?));
    Arc::new(Places { distances: Distances::of(machine), node_of: machine.pus().iter().filter_map(node).collect() })
}
