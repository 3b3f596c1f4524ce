//! The places of pages: placed once, at the first touch of their part, and freed when their
//! application ends.

use crate::machine::Model;
use crate::program::{Data, DataId, PagePlace, Split};
use numaestro_policy::PageHome;
use numaestro_topology::{NumaNodeId, PuId};

/// Handle of an application's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppMemory(pub u32);

/// The thread that touches data, and the policy's wishes for the pages.
#[derive(Debug, Clone, Copy)]
pub struct Toucher<'a> {
    /// The PU on which it runs.
    pub pu: PuId,
    /// The node of its application's master.
    pub master: NumaNodeId,
    /// The policy's place for pages whose program leaves that to it.
    pub home: PageHome,
    /// Nodes of its application's own processors, for [`PageHome::Interleave`]; if there are none,
    /// the toucher's.
    pub own_nodes: &'a [NumaNodeId],
}

/// Pages by node, in the order of placement.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    /// Every node once, with at least one page.
    pub by_node: Vec<(u16, u64)>,
    /// Sum of pages over the nodes.
    pub total: u64,
}

impl Spread {
    pub(super) fn add(&mut self, node: usize, pages: u64) {
        self.total += pages;
        match self.by_node.iter_mut().find(|(at, _)| usize::from(*at) == node) {
            Some((_, there)) => *there += pages,
            None => self.by_node.push((node as u16, pages)),
        }
    }
}

/// Some data of an application.
#[derive(Debug)]
pub(super) struct Placed {
    pages: u64,
    whole: bool,
    pub(super) place: PagePlace,
    /// The pages of each part; `None` as long as no thread has touched it.
    pub(super) parts: Vec<Option<Spread>>,
    /// The pages of all parts together.
    pub(super) all: Spread,
    /// The node at which round robin goes on.
    next: usize,
}

/// All data of an application.
#[derive(Debug, Default)]
pub struct AppPages(pub(super) Vec<Placed>);

impl AppPages {
    /// Pages of a part; `None` if no thread has touched it.
    pub fn part(&self, data: DataId, part: u32) -> Option<&Spread> {
        let placed = &self.0[data];
        let part = if placed.whole { 0 } else { part as usize };
        placed.parts.get(part)?.as_ref()
    }

    /// Pages of all parts that have been touched.
    pub fn all(&self, data: DataId) -> &Spread {
        &self.0[data].all
    }

    /// See [`super::Memory::pages_of`].
    pub fn spread_of(&self, data: DataId) -> Vec<(NumaNodeId, u64)> {
        self.all(data).by_node.iter().map(|&(node, pages)| (NumaNodeId(u32::from(node)), pages)).collect()
    }
}

/// The memory of all nodes.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) capacity: u64,
    pub(super) used: Vec<u64>,
    /// For each node all nodes, nearest first, for the pages that do not fit.
    nearest: Vec<Vec<u16>>,
    /// Whether the whole machine has ever been too small.
    was_full: bool,
}

impl Nodes {
    /// Takes pages of `node`; pages that do not fit come from the nearest node that has room. When
    /// the whole machine is full, all come from `node` nevertheless: the reaction of a system
    /// without memory (swapping, killing) is not modelled.
    fn take(&mut self, node: NumaNodeId, pages: u64, spread: &mut Spread) {
        let mut left = pages;
        for &at in &self.nearest[node.index()] {
            let at = usize::from(at);
            let here = left.min(self.capacity.saturating_sub(self.used[at]));
            if here > 0 {
                self.used[at] += here;
                spread.add(at, here);
                left -= here;
            }
            if left == 0 {
                return;
            }
        }
        self.was_full = true;
        self.used[node.index()] += left;
        spread.add(node.index(), left);
    }

    /// Takes pages of several nodes in turn, one by one, beginning with number `next`.
    fn take_in_turn(&mut self, nodes: &[NumaNodeId], next: &mut usize, pages: u64, spread: &mut Spread) {
        let count = nodes.len();
        for turn in 0..count.min(pages as usize) {
            let share = pages / count as u64 + u64::from((turn as u64) < pages % count as u64);
            self.take(nodes[(*next + turn) % count], share, spread);
        }
        *next = (*next + (pages % count as u64) as usize) % count;
    }
}

/// Pages of all applications.
#[derive(Debug)]
pub struct Pages {
    pub(super) nodes: Nodes,
    /// All nodes with memory.
    all: Vec<NumaNodeId>,
    pub(super) apps: Vec<Option<AppPages>>,
    free: Vec<u32>,
}

impl Pages {
    /// The memory of a machine, all free.
    pub fn new(model: &Model) -> Self {
        let count = model.topology.numa_nodes().len();
        let nearest = |from: usize| {
            let mut order: Vec<u16> = (0..count as u16).collect();
            let distance = |to: u16| model.topology.node_distance(NumaNodeId(from as u32), NumaNodeId(u32::from(to)));
            order.sort_by_key(|&to| (usize::from(to) != from, class(model, from, to), distance(to), to));
            order
        };
        Self {
            nodes: Nodes {
                capacity: model.node_pages,
                used: vec![0; count],
                nearest: (0..count).map(nearest).collect(),
                was_full: false,
            },
            all: (0..count as u32).map(NumaNodeId).collect(),
            apps: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The pages of an application.
    pub fn of(&self, app: AppMemory) -> &AppPages {
        self.apps[app.0 as usize].as_ref().expect("the application is there")
    }

    /// See [`super::Memory::pages_on`].
    pub fn on(&self, node: NumaNodeId) -> u64 {
        self.nodes.used[node.index()]
    }

    /// See [`super::Memory::enter`].
    pub fn enter(&mut self, data: &[Data]) -> AppMemory {
        let placed = |data: &Data| Placed {
            pages: data.pages,
            whole: data.split == Split::Whole,
            place: data.place,
            parts: Vec::new(),
            all: Spread::default(),
            next: 0,
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.apps.push(None);
            self.apps.len() as u32 - 1
        });
        self.apps[slot as usize] = Some(AppPages(data.iter().map(placed).collect()));
        AppMemory(slot)
    }

    /// See [`super::Memory::leave`].
    pub fn leave(&mut self, app: AppMemory) {
        let pages = self.apps[app.0 as usize].take().expect("the application is there");
        for &(node, count) in pages.0.iter().flat_map(|placed| &placed.all.by_node) {
            self.nodes.used[usize::from(node)] -= count;
        }
        self.free.push(app.0);
    }

    /// See [`super::Memory::touch`].
    pub fn touch(&mut self, model: &Model, app: AppMemory, data: DataId, part: u32, by: &Toucher<'_>) -> u64 {
        let placed = &mut self.apps[app.0 as usize].as_mut().expect("the application is there").0[data];
        let part = if placed.whole { 0 } else { part as usize };
        if placed.parts.get(part).is_some_and(Option::is_some) {
            return 0;
        }
        let mut spread = Spread::default();
        let one = match (placed.place, by.home) {
            (PagePlace::RoundRobin, _) => None,
            (PagePlace::Policy, PageHome::Interleave) if !by.own_nodes.is_empty() => None,
            (PagePlace::Policy, PageHome::Node(node)) => Some(node),
            (PagePlace::Master, _) => Some(by.master),
            (PagePlace::Node(node), _) => Some(NumaNodeId(node)),
            (PagePlace::FirstTouch | PagePlace::Policy, _) => Some(model.node_of(by.pu)),
        };
        if let Some(node) = one {
            self.nodes.take(node, placed.pages, &mut spread);
        } else {
            let nodes = if placed.place == PagePlace::RoundRobin { &self.all } else { by.own_nodes };
            self.nodes.take_in_turn(nodes, &mut placed.next, placed.pages, &mut spread);
        }
        for &(node, pages) in &spread.by_node {
            placed.all.add(usize::from(node), pages);
        }
        if placed.parts.len() <= part {
            placed.parts.resize_with(part + 1, || None);
        }
        placed.parts[part] = Some(spread);
        placed.pages
    }

    /// See [`super::Memory::check`].
    pub fn check(&self) -> Result<(), String> {
        let mut used = vec![0; self.nodes.used.len()];
        for placed in self.apps.iter().flatten().flat_map(|app| &app.0) {
            let touched = placed.parts.iter().flatten();
            let expected = placed.pages * touched.clone().count() as u64;
            let parts: u64 = touched.flat_map(|spread| &spread.by_node).map(|&(_, pages)| pages).sum();
            if parts != expected || placed.all.total != expected {
                return Err(format!(
                    "{expected} pages were touched, {parts} are in parts, {} in all",
                    placed.all.total
                ));
            }
            for &(node, pages) in &placed.all.by_node {
                used[usize::from(node)] += pages;
            }
        }
        for (node, (&here, &kept)) in used.iter().zip(&self.nodes.used).enumerate() {
            if here != kept || (here > self.nodes.capacity && !self.nodes.was_full) {
                return Err(format!(
                    "node {node}: applications have {here} pages, {kept} of {} are kept",
                    self.nodes.capacity
                ));
            }
        }
        Ok(())
    }
}

/// The class of `to` as seen from the processors of `from`; of memory-only nodes only distances are
/// known.
fn class(model: &Model, from: usize, to: u16) -> usize {
    let pus = &model.topology.numa_nodes()[from].pus;
    pus.first().map_or(0, |pu| model.class(pu, NumaNodeId(u32::from(to))))
}
