//! Pages in the world: the shell says where they are, and those of a program whose home has moved follow it if that is worth it. Knows no policy.
//!
//! The mover is the manager's: a thread of its own that moves a page in `page_move` and works beside the program; what it does becomes
//! visible when the team meets. The program pays as much again, divided among its threads: they find pages gone and addresses translated anew.

use super::World;
use crate::Nanos;
use numaestro_engine::{Event, PageHome};
use numaestro_policy::pages::worth::{Situation, is_worth};

/// The mover's work for one application.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Following {
    /// Since when its pages should be where they should be.
    pub since: Nanos,
    /// Up to when the mover has worked for it; `None`: it does not.
    pub until: Option<Nanos>,
    /// Some of its pages have been placed or moved, and the engine does not know.
    pub news: bool,
}

impl World {
    /// New pages of an application go there from now on, and old ones may follow.
    pub(super) fn rehome(&mut self, app: u32, home: PageHome) {
        let entry = &mut self.apps[app as usize];
        entry.home = home;
        (entry.following.since, entry.following.until) = (self.now, None);
    }

    /// Pages of an application are elsewhere than the engine knows.
    pub(super) fn resettle(&mut self, app: u32) {
        if !std::mem::replace(&mut self.apps[app as usize].following.news, true) {
            self.resettled.push(app);
        }
    }

    /// Before anything else the engine is told where pages are, if the policy looks at that.
    pub(super) fn say_memory(&mut self) {
        if self.resettled.is_empty() || self.events.is_empty() || !self.engine.policy().placement.reads_memory() {
            return;
        }
        while let Some(app) = self.resettled.pop() {
            let entry = &mut self.apps[app as usize];
            let there = self.by_id.get(&entry.id) == Some(&app);
            if std::mem::take(&mut entry.following.news) && there {
                let mut bytes = vec![0; self.model.topology.numa_nodes().len()];
                self.memory.bytes_of(entry.memory, &mut bytes);
                self.events.push_front(Event::Memory { app: entry.id, bytes });
            }
        }
    }

    /// The team meets: what the mover has done meanwhile for this application.
    pub(super) fn follow(&mut self, app: u32) {
        let entry = &self.apps[app as usize];
        let page_ns = self.model.costs.page_move_ns;
        let PageHome::Node(home) = entry.home else { return };
        if page_ns == 0 {
            return;
        }
        let Some(until) = entry.following.until else {
            let now = self.memory.away(entry.memory, home);
            let situation = Situation {
                bytes: now.bytes,
                moves: now.moves,
                excess: now.excess,
                threads: entry.list.len() as u64,
                age_ns: self.now - entry.record.started,
                there_ns: self.now - entry.following.since,
                busy_permille: None,
                rate: u64::from(self.model.page_bytes) * 1_000_000_000 / page_ns,
            };
            if is_worth(&situation) {
                self.apps[app as usize].following.until = Some(self.now);
            }
            return;
        };
        let most = (self.now - until) / page_ns;
        let moved = self.memory.move_pages(entry.memory, home, most);
        let (size, memory) = (u64::from(entry.region.size.max(1)), entry.memory);
        self.apps[app as usize].record.pages_moved += moved;
        let over = self.memory.away(memory, home).moves == 0;
        self.apps[app as usize].following.until = (!over).then_some(until + most * page_ns);
        if moved > 0 {
            for number in 0..self.apps[app as usize].team.len() {
                let id = self.apps[app as usize].team[number] as usize;
                self.threads[id].unpaced = true;
                if (number as u64) < size {
                    self.threads[id].overhead += moved * page_ns / size;
                }
            }
            self.resettle(app);
        }
    }
}
