//! Address spaces: the home of each application's pages, and the references of its present phase. A
//! thread's pace and its page faults follow from both and from its processor, so that the scheduler
//! needs no programs.
//!
//! Pages whose home has moved follow it if that is worth it. The mover is the manager's: a thread
//! of its own that moves a page in `page_move` and works beside the program; its work becomes
//! visible when the team meets. The program pays as much again, divided among its threads: they
//! find pages gone and addresses translated anew.

use crate::Nanos;
use crate::machine::Model;
use crate::memory::{AppMemory, Memory, Pace, Toucher};
use crate::program::{Data, Part, Refs};
use numaestro_engine::PageHome;
use numaestro_policy::pages::worth::{Situation, is_worth};
use numaestro_topology::{NumaNodeId, PuId, PuSet};
use std::sync::Arc;

/// The address space of one application.
#[derive(Debug)]
struct Space {
    memory: AppMemory,
    /// References of its present phase.
    refs: Vec<Refs>,
    /// Share of its possible partners that a thread has.
    partners: f64,
    home: PageHome,
    /// NUMA nodes of its processors.
    nodes: Vec<NumaNodeId>,
    /// Time since which its pages should be at `home`, nanoseconds.
    homed: Nanos,
    /// Time up to which the mover has worked for it, nanoseconds; `None`: it does not.
    moved: Option<Nanos>,
    /// Some of its pages have been placed or moved, and the world has not taken note.
    changed: bool,
}

/// A meeting of a team, for the mover.
#[derive(Debug, Clone, Copy)]
pub struct Meeting {
    /// Time of the meeting, nanoseconds.
    pub now: Nanos,
    /// Time of its application's start, nanoseconds.
    pub started: Nanos,
    /// Number of its processors.
    pub processors: u64,
}

/// The address spaces of all applications, by place.
#[derive(Debug)]
pub struct Spaces {
    model: Arc<Model>,
    entries: Vec<Space>,
    /// Places of applications whose pages have changed.
    changed: Vec<u32>,
}

impl Spaces {
    /// No address spaces.
    pub fn new(model: Arc<Model>) -> Self {
        Self { model, entries: Vec::new(), changed: Vec::new() }
    }

    /// An application with this memory arrives at a place.
    pub fn enter(&mut self, memory: &mut Memory, app: u32, data: &[Data]) {
        let space = Space {
            memory: memory.enter(data),
            refs: Vec::new(),
            partners: 1.0,
            home: PageHome::FirstTouch,
            nodes: Vec::new(),
            homed: 0,
            moved: None,
            changed: false,
        };
        match self.entries.get_mut(app as usize) {
            Some(place) => *place = space,
            None => self.entries.push(space),
        }
    }

    /// An application is gone.
    pub fn leave(&self, memory: &mut Memory, app: u32) {
        memory.leave(self.entries[app as usize].memory);
    }

    /// An application begins a phase with these references.
    pub fn refer(&mut self, app: u32, refs: &[Refs]) {
        let own = &mut self.entries[app as usize].refs;
        own.clear();
        own.extend_from_slice(refs);
    }

    /// The team has another size, so that each thread has this share of its partners.
    pub fn set_partners(&mut self, app: u32, partners: f64) {
        self.entries[app as usize].partners = partners;
    }

    /// Whether the references of its threads depend on the size of its team.
    pub fn shares(&self, app: u32) -> bool {
        self.entries[app as usize].refs.iter().any(|refs| refs.sharing > 0.0)
    }

    /// An application has these processors.
    pub fn allot(&mut self, app: u32, pus: &PuSet) {
        let nodes = &mut self.entries[app as usize].nodes;
        nodes.clear();
        for node in pus.iter().map(|pu| self.model.node_of(pu)) {
            // Most neighbours share theirs, which leaves little to sort.
            if nodes.last() != Some(&node) {
                nodes.push(node);
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
    }

    /// New pages of an application go to `home` from now on, and old ones may follow.
    pub fn rehome(&mut self, app: u32, home: PageHome, now: Nanos) {
        let space = &mut self.entries[app as usize];
        (space.home, space.homed, space.moved) = (home, now, None);
    }

    /// A thread on `pu` touches the data of its phase; `master` is the processor of its master.
    /// Returns the cost of page faults, nanoseconds.
    pub fn touch(&mut self, memory: &mut Memory, app: u32, part: u32, pu: PuId, master: PuId) -> Nanos {
        let space = &mut self.entries[app as usize];
        if space.refs.is_empty() {
            return 0;
        }
        let master = self.model.node_of(master);
        let by = Toucher { pu, master, home: space.home, own_nodes: &space.nodes };
        let mut placed = 0;
        for refs in &space.refs {
            match refs.part {
                Part::Own => placed += memory.touch(space.memory, refs.data, part, &by),
                Part::Master | Part::All if part == 0 => placed += memory.touch(space.memory, refs.data, 0, &by),
                Part::Master | Part::All => {}
            }
        }
        if placed > 0 {
            self.note_change(app);
        }
        placed * self.model.costs.page_fault_ns
    }

    /// The pace of a thread on a processor.
    pub fn pace(&self, memory: &mut Memory, app: u32, part: u32, pu: PuId) -> Pace {
        let space = &self.entries[app as usize];
        memory.pace_among(space.memory, &space.refs, (part, 0), space.partners, pu)
    }

    /// The team meets: the work of the mover becomes visible. Returns the number of pages that have
    /// moved.
    pub fn follow(&mut self, memory: &mut Memory, app: u32, meeting: Meeting) -> u64 {
        let space = &mut self.entries[app as usize];
        let page_ns = self.model.costs.page_move_ns;
        let PageHome::Node(home) = space.home else { return 0 };
        if page_ns == 0 {
            return 0;
        }
        let Meeting { now, started, processors } = meeting;
        let Some(until) = space.moved else {
            let away = memory.away(space.memory, home);
            let situation = Situation {
                bytes: away.bytes,
                moves: away.moves,
                excess: away.excess,
                threads: processors,
                age_ns: now - started,
                there_ns: now - space.homed,
                busy_permille: None,
                rate: u64::from(self.model.page_bytes) * 1_000_000_000 / page_ns,
            };
            space.moved = is_worth(&situation).then_some(now);
            return 0;
        };
        let most = (now - until) / page_ns;
        let moved = memory.move_pages(space.memory, home, most);
        let over = memory.away(space.memory, home).moves == 0;
        space.moved = (!over).then_some(until + most * page_ns);
        if moved > 0 {
            self.note_change(app);
        }
        moved
    }

    /// Whether the pages of any application have changed since they were taken last.
    pub fn have_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Takes the place of an application whose pages have changed since it was taken last; `None`:
    /// there is no other.
    pub fn take_changed(&mut self) -> Option<u32> {
        while let Some(app) = self.changed.pop() {
            // Another application may have taken its place.
            if std::mem::take(&mut self.entries[app as usize].changed) {
                return Some(app);
            }
        }
        None
    }

    /// Bytes of its pages, by NUMA node.
    pub fn bytes(&self, memory: &Memory, app: u32) -> Vec<u64> {
        let mut bytes = vec![0; self.model.topology.numa_nodes().len()];
        memory.bytes_of(self.entries[app as usize].memory, &mut bytes);
        bytes
    }

    fn note_change(&mut self, app: u32) {
        if !std::mem::replace(&mut self.entries[app as usize].changed, true) {
            self.changed.push(app);
        }
    }
}
