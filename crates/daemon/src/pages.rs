//! Where the memory of programs goes and whether it follows them: what the policy says of pages is remembered for each application, told to `run`
//! and to its page, and told to the mover, which looks and moves. How pages are found and moved is `pages/mover.rs`'s affair, whether it is worth it
//! the policies' ([`numaestro_policy::pages::worth`]).

mod course;
mod mover;
mod show;

use std::sync::Arc;

use numaestro_abi::control::Reply;
use numaestro_engine::{Event, PageHome};
use numaestro_host::monotonic_ns;
use numaestro_host::numa::{MemoryPolicy, Mode, NodeMemory};
use numaestro_host::poll::Interest;
use numaestro_policy::AppId;
use numaestro_topology::{CpuSet, Machine, NumaNodeId, PuSet};
use std::os::fd::AsFd;
use tracing::{info, warn};

use crate::app::App;
use crate::manager::{Manager, token};
use course::{Aim, Distances, Sample, Verdict};
use mover::{Mover, News, Order, Places, Subject};

/// All programs together.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// There from the first time that it is needed.
    mover: Option<Mover>,
    /// It cannot be started.
    failed: bool,
    /// Nodes as of the latest look.
    nodes: Vec<NodeMemory>,
    /// Connections that wait for a look, by its number.
    askers: std::collections::BTreeMap<u64, u64>,
    next_look: u64,
}

/// What is known of one application's memory.
#[derive(Debug, Default)]
pub(crate) struct AppMemory {
    /// Where the policy wants its pages; `None`: it has not said anything, and they go to who touches them first.
    wanted: Option<PageHome>,
    /// What `run` and its page were told.
    pub(crate) told: Option<MemoryPolicy>,
    /// Its home, which it claims when the engine begins anew; and the number that Linux gives it, which is the same on a machine that is read anew.
    pub(crate) claimed: Option<NumaNodeId>,
    pub(crate) home_os: Option<u32>,
    aim: Aim,
    watched: bool,
    /// The latest look, and when it was.
    seen: Option<(Sample, Verdict, u64)>,
    moving: bool,
    moved: u64,
    /// What else there is to say.
    note: String,
    spill_said: bool,
}

/// OS index of a node.
pub(crate) fn os_of(machine: &Machine, node: NumaNodeId) -> Option<u32> {
    machine.numa_nodes().get(node.index()).map(|node| node.os_index)
}

/// The node with this OS index.
pub(crate) fn node_of_os(machine: &Machine, os_index: u32) -> Option<NumaNodeId> {
    let at = machine.numa_nodes().iter().position(|node| node.os_index == os_index)?;
    Some(NumaNodeId(at as u32))
}

/// Nodes with memory.
fn memory_nodes(machine: &Machine) -> impl Iterator<Item = NumaNodeId> {
    let has_memory = |(_, node): &(usize, &numaestro_topology::NumaNode)| node.memory_bytes != Some(0);
    machine.numa_nodes().iter().enumerate().filter(has_memory).map(|(at, _)| NumaNodeId(at as u32))
}

/// Nodes of these processors, with the number of those.
fn nodes_of(machine: &Machine, pus: &PuSet) -> Vec<(NumaNodeId, u64)> {
    let mut counts = vec![0; machine.numa_nodes().len()];
    for pu in pus {
        counts[machine.pu(pu).node.index()] += 1;
    }
    let nodes = (0..counts.len() as u32).map(NumaNodeId).zip(counts);
    nodes.filter(|(_, count)| *count > 0).collect()
}

/// The nearest node with memory: itself, as a rule.
fn nearest_memory(machine: &Machine, node: NumaNodeId) -> Option<NumaNodeId> {
    memory_nodes(machine).min_by_key(|to| (machine.node_distance(node, *to), to.0))
}

/// OS indices of the nodes where pages of an application on these processors should be.
fn places_for(machine: &Machine, wanted: PageHome, pus: &PuSet) -> Vec<u32> {
    let of_processors = || {
        let nodes = nodes_of(machine, pus).into_iter();
        nodes.filter_map(|(node, _)| nearest_memory(machine, node)).collect()
    };
    let mut nodes: Vec<NumaNodeId> = match wanted {
        PageHome::Node(node) => nearest_memory(machine, node).into_iter().collect(),
        PageHome::Interleave | PageHome::FirstTouch => of_processors(),
    };
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().filter_map(|node| os_of(machine, node)).collect()
}

/// What a program is told, so that its new pages go there.
fn policy_for(wanted: Option<PageHome>, places: &[u32]) -> Option<MemoryPolicy> {
    let nodes: CpuSet = places.iter().copied().collect();
    let mode = match wanted? {
        _ if nodes.is_empty() => return Some(MemoryPolicy::none()),
        PageHome::FirstTouch => return Some(MemoryPolicy::none()),
        PageHome::Node(_) => Mode::Preferred,
        PageHome::Interleave => Mode::Interleave,
    };
    Some(MemoryPolicy { mode, nodes })
}

impl Manager {
    /// The policy says where the new pages of an application go.
    pub(crate) fn pages_go(&mut self, app: u64, home: PageHome) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        entry.memory.wanted = Some(home);
        let Some(pus) = entry.target.as_ref().map(|target| target.pus.clone()) else { return };
        if self.aim_pages(app, &pus) {
            self.publish_again(app);
        }
        self.watch_pages(app);
    }

    /// Finds out where the pages of an application on these processors should be; true if it is to be told something new. Before it is told.
    pub(crate) fn aim_pages(&mut self, app: u64, pus: &PuSet) -> bool {
        let home = self.brain.home(AppId(app));
        let Some(entry) = self.apps.get_mut(&app) else { return false };
        let memory = &mut entry.memory;
        memory.claimed = home;
        memory.home_os = home.and_then(|home| os_of(&self.machine, home));
        let stay = places_for(&self.machine, memory.wanted.unwrap_or(PageHome::FirstTouch), pus);
        let processors = nodes_of(&self.machine, pus).into_iter();
        let processors =
            processors.filter_map(|(node, count)| Some((os_of(&self.machine, node)?, count))).collect::<Vec<_>>();
        let told = policy_for(memory.wanted, &stay);
        let elsewhere = memory.aim.stay != stay || !same_nodes(&memory.aim.processors, &processors);
        if elsewhere {
            let (arrived_ns, since_ns) = (entry.arrived_ns, monotonic_ns());
            memory.aim = Aim { processors, stay, arrived_ns, since_ns, busy_permille: None };
            memory.watched = false;
        } else {
            memory.aim.processors = processors;
        }
        let news = told != memory.told;
        memory.told = told;
        news
    }

    /// OS index of the home of an application, for policies that give one.
    pub(crate) fn home_of(&self, app: u64) -> Option<u32> {
        os_of(&self.machine, self.brain.home(AppId(app))?)
    }

    /// Says a decision again, because something beside processors has changed: a program looks when the number changes.
    fn publish_again(&mut self, app: u64) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        if entry.page.is_none() || entry.target.is_none() {
            return;
        }
        entry.epoch_base = entry.epoch_base.wrapping_add(1);
        let (Some(page), Some(target)) = (&entry.page, &entry.target) else { return };
        if let Err(cause) = page.publish(&entry.decision(target, monotonic_ns())) {
            warn!(app, "cannot wake it: {cause}");
        }
    }

    /// Tells the mover of an application that is somewhere else, or whose pages should be. After it was told itself.
    pub(crate) fn watch_pages(&mut self, app: u64) {
        if memory_nodes(&self.machine).count() < 2 || !self.brain.controls_pages() {
            return;
        }
        let Some(subject) = self.apps.get(&app).filter(|entry| !entry.memory.watched).and_then(|it| self.subject(it))
        else {
            return;
        };
        let Some(mover) = self.mover() else { return };
        mover.tell(Order::Watch(Box::new(subject)));
        if let Some(entry) = self.apps.get_mut(&app) {
            (entry.memory.watched, entry.memory.moving) = (true, false);
        }
    }

    fn subject(&self, entry: &App) -> Option<Subject> {
        entry.target.as_ref().filter(|_| !entry.is_wrapper())?;
        Some(Subject {
            app: entry.number,
            pid: entry.pid(),
            start_time: entry.process.start_time(),
            // What a program with a page starts is an application of its own.
            tree: entry.page.is_none().then(|| self.other_roots(entry.pid())),
            aim: entry.memory.aim.clone(),
        })
    }

    /// Bytes a second.
    fn rate(&self) -> u64 {
        u64::from(self.config.memory.moves_mib_per_s) << 20
    }

    /// The configuration has been read again.
    pub(crate) fn pages_configured(&self) {
        if let Some(mover) = &self.pages.mover {
            mover.tell(Order::Rate(self.rate()));
        }
    }

    /// The mover, started if need be.
    fn mover(&mut self) -> Option<&Mover> {
        if self.pages.mover.is_none() && !self.pages.failed {
            let started = Mover::start(self.rate(), places(&self.machine));
            let watched = started.map_err(anyhow::Error::from).and_then(|mover| {
                self.poller.add(mover.wake.as_fd(), token::PAGES, Interest::Read)?;
                Ok(mover)
            });
            self.pages.mover = watched.inspect_err(|cause| warn!("pages stay where they are: {cause:#}")).ok();
            self.pages.failed = self.pages.mover.is_none();
            if numaestro_host::numa::kernel_balances() {
                info!(
                    "kernel.numa_balancing is on: under first touch the kernel moves pages too; `numaestro doctor` says more"
                );
            }
        }
        self.pages.mover.as_ref()
    }

    /// An application has gone, or is to be left alone.
    pub(crate) fn forget_pages(&self, app: u64) {
        if let Some(mover) = &self.pages.mover {
            mover.tell(Order::Forget(app));
        }
    }

    /// An application is a wrapper from now on: nobody's pages are its own, until it is a program again.
    pub(crate) fn overlook_pages(&mut self, app: u64) {
        self.forget_pages(app);
        if let Some(entry) = self.apps.get_mut(&app) {
            (entry.memory.watched, entry.memory.moving) = (false, false);
        }
    }

    /// The machine has been read anew: nodes may be others.
    pub(crate) fn pages_after_renewal(&mut self) {
        if let Some(mover) = &self.pages.mover {
            mover.tell(Order::Machine(places(&self.machine)));
        }
        for entry in self.apps.values_mut() {
            let home = entry.memory.home_os.and_then(|os_index| node_of_os(&self.machine, os_index));
            (entry.memory.watched, entry.memory.claimed) = (false, home);
        }
    }

    /// The mover has said something.
    pub(crate) fn pages_reported(&mut self) {
        let Some(mover) = &self.pages.mover else { return };
        for news in mover.take() {
            match news {
                News::Sample { app, sample, verdict } => self.seen(app, sample, verdict),
                News::Moved { app, bytes, left, why } => self.pages_moved(app, bytes, left, why),
                News::Blind { app, reason } => {
                    info!(app, "its memory cannot be seen: {reason}");
                    self.note_memory(app, &reason);
                }
                News::Nodes(nodes) => self.nodes_seen(nodes),
                News::Looked(number) => self.looked(number),
            }
        }
    }

    fn nodes_seen(&mut self, nodes: Vec<NodeMemory>) {
        let free = |node: &numaestro_topology::NumaNode| {
            nodes.iter().find(|memory| memory.node == node.os_index).map_or(0, |memory| memory.free)
        };
        let bytes = self.machine.numa_nodes().iter().map(free).collect();
        self.pages.nodes = nodes;
        self.feed(Event::FreeMemory { bytes });
    }

    fn seen(&mut self, app: u64, sample: Sample, verdict: Verdict) {
        let on = |node: &numaestro_topology::NumaNode| sample.own.get(&node.os_index).copied().unwrap_or(0);
        let bytes = self.machine.numa_nodes().iter().map(on).collect();
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let memory = &mut entry.memory;
        let stay = memory.aim.stay.clone();
        memory.note.clear();
        memory.moving = matches!(verdict, Verdict::Move(_)) && memory.watched;
        let name = &entry.name;
        match verdict {
            Verdict::Spilled(bytes) => {
                if !std::mem::replace(&mut memory.spill_said, true) {
                    info!(app, name, mib = bytes >> 20, node = ?stay, "its home is full; memory has spilled to other nodes");
                }
            }
            Verdict::Move(bytes) if memory.moving => info!(app, name, mib = bytes >> 20, node = ?stay, "pages follow"),
            Verdict::Settled => memory.spill_said = false,
            Verdict::Move(_) | Verdict::NotWorth => {}
        }
        memory.seen = Some((sample, verdict, monotonic_ns()));
        self.feed(Event::Memory { app: AppId(app), bytes });
    }

    fn pages_moved(&mut self, app: u64, bytes: u64, left: u64, why: &str) {
        self.service.moved_bytes += bytes;
        let Some(entry) = self.apps.get_mut(&app) else { return };
        entry.memory.moving = false;
        entry.memory.moved += bytes;
        info!(app, name = entry.name, mib = bytes >> 20, left_mib = left >> 20, "pages have followed {why}");
        if !why.is_empty() {
            self.note_memory(app, why);
        }
        self.changed();
    }

    fn note_memory(&mut self, app: u64, note: &str) {
        if let Some(entry) = self.apps.get_mut(&app) {
            note.clone_into(&mut entry.memory.note);
        }
    }

    /// Somebody wants to know where everything is now.
    pub(crate) fn memory_asked(&mut self, number: u64) {
        let subjects: Vec<Subject> = self.apps.values().filter_map(|entry| self.subject(entry)).collect();
        let look = self.pages.next_look;
        let Some(mover) = self.mover() else {
            self.refuse(number, "the thread that looks at memory cannot be started", "`numaestro doctor` says more");
            return;
        };
        mover.tell(Order::Look(look, subjects));
        self.pages.next_look += 1;
        self.pages.askers.insert(look, number);
    }

    fn looked(&mut self, look: u64) {
        let Some(number) = self.pages.askers.remove(&look) else { return };
        let Some(who) = self.connections.get(&number).map(|connection| connection.who) else { return };
        let mut status = self.status_for(who);
        status.nodes = self.node_statuses();
        self.reply(number, &Reply::Status(Box::new(status)));
    }
}

/// The same nodes, whatever the number of processors on each.
fn same_nodes(before: &[(u32, u64)], now: &[(u32, u64)]) -> bool {
    before.len() == now.len() && before.iter().zip(now).all(|(before, now)| before.0 == now.0)
}

/// What the mover needs to know of a machine.
fn places(machine: &Machine) -> Arc<Places> {
    let node = |pu: &numaestro_topology::Pu| Some((pu.os_index, os_of(machine, pu.node)?));
    Arc::new(Places { distances: Distances::of(machine), node_of: machine.pus().iter().filter_map(node).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_where_the_policy_says_and_memory_is() {
        let machine = numaestro_topology::synthetic::parse("numa:4 core:2 pu:1").unwrap();
        let pus: PuSet = [2, 3, 4].into_iter().map(numaestro_topology::PuId).collect();
        assert_eq!(places_for(&machine, PageHome::FirstTouch, &pus), [1, 2]);
        assert_eq!(places_for(&machine, PageHome::Interleave, &pus), [1, 2]);
        assert_eq!(places_for(&machine, PageHome::Node(NumaNodeId(3)), &pus), [3]);
        assert_eq!(nodes_of(&machine, &pus), [(NumaNodeId(1), 2), (NumaNodeId(2), 1)]);
        assert!(places_for(&machine, PageHome::FirstTouch, &PuSet::new()).is_empty());
        let text = |wanted, places: &[u32]| policy_for(wanted, places).map(|policy| policy.to_string());
        assert_eq!(text(None, &[1]), None, "nothing was said, so nothing is");
        assert_eq!(text(Some(PageHome::FirstTouch), &[1]).unwrap(), "default");
        assert_eq!(text(Some(PageHome::Node(NumaNodeId(3))), &[3]).unwrap(), "prefer=static:3");
        assert_eq!(text(Some(PageHome::Interleave), &[1, 2]).unwrap(), "interleave=static:1-2");
        assert_eq!(text(Some(PageHome::Interleave), &[]).unwrap(), "default");
    }

    #[test]
    fn processors_within_the_same_nodes_are_no_reason_to_look() {
        assert!(same_nodes(&[(0, 2), (1, 2)], &[(0, 1), (1, 3)]));
        assert!(!same_nodes(&[(0, 2)], &[(0, 2), (1, 1)]) && !same_nodes(&[(0, 2)], &[(1, 2)]));
    }

    #[test]
    fn nodes_are_named_by_the_numbers_of_linux() {
        let machine = numaestro_topology::synthetic::parse("numa:2 core:1 pu:1").unwrap();
        assert_eq!(node_of_os(&machine, 1), Some(NumaNodeId(1)));
        assert_eq!((node_of_os(&machine, 9), os_of(&machine, NumaNodeId(9))), (None, None));
    }
}
