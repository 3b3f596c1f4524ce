//! A window over the applications: the members run together in one quantum. Policies decide how it
//! slides.

use super::quantum::Quantum;
use super::ring::{Ring, Room, behind};
use crate::turn::Turn;
use crate::view::{AppId, View};

/// Config, state and buffers of the policies that slide a window.
#[derive(Debug, Clone)]
pub struct Window {
    /// Config: requests in a window, thousandths of the machine (k).
    pub k_milli: u32,
    /// Config and state: its length, and when the present one began.
    pub quantum: Quantum,
    /// The place where it begins.
    pub first: AppId,
    /// Its applications, in the order of the list.
    pub members: Vec<AppId>,
    /// The present window began in the middle of a quantum, when all of the one before had gone:
    /// the rest of the quantum is a gift.
    pub gift: bool,
    ring: Ring,
}

impl Window {
    /// An empty window.
    pub fn new(k_milli: u32, quantum_ns: u64) -> Self {
        let quantum = Quantum::new(quantum_ns);
        Self { k_milli, quantum, first: AppId(0), members: Vec::new(), gift: false, ring: Ring::default() }
    }

    /// Follows arrivals and departures. Members that have gone leave the window. False if there is
    /// no application.
    pub fn sync(&mut self, view: &View<'_>) -> bool {
        self.ring.sync(view);
        self.members.retain(|&app| self.ring.find(view, app).is_some());
        !self.ring.slots().is_empty()
    }

    /// Empties the window and the turn, and ends the quantum.
    pub fn empty(&mut self, turn: &mut Turn) {
        turn.running.clear();
        self.quantum = Quantum::new(self.quantum.length_ns);
        self.gift = false;
    }

    /// Begins a quantum if it is time. True if the window slides: it was there for a whole one.
    pub fn expires(&mut self, view: &View<'_>) -> bool {
        if !self.quantum.is_over(view.now_ns) {
            return false;
        }
        self.quantum.begin(view.now_ns);
        !std::mem::take(&mut self.gift)
    }

    /// Removes members from the end until the rest fits.
    pub fn shrink(&mut self, view: &View<'_>) {
        let (ring, mut room) = (&self.ring, Room::new(view, self.k_milli));
        let mut fits = |app: AppId| ring.find(view, app).is_some_and(|slot| room.take(view, slot));
        let fitting = self.members.iter().copied().map_while(|app| fits(app).then_some(())).count();
        self.members.truncate(fitting);
    }

    /// Takes in the applications behind its members, or from `first` on if it has none, as long as
    /// they fit.
    pub fn fill(&mut self, view: &View<'_>) {
        let mut room = Room::new(view, self.k_milli);
        for &app in &self.members {
            if let Some(slot) = self.ring.find(view, app) {
                room.take(view, slot);
            }
        }
        let from = self.members.last().map_or(self.first, |&last| behind(last));
        for slot in self.ring.from(view, from) {
            let app = view.app(slot).id;
            if self.members.first() == Some(&app) || !room.take(view, slot) {
                break;
            }
            self.members.push(app);
        }
        self.first = self.members.first().copied().unwrap_or(self.first);
    }

    /// Writes the turn: the window runs, and the one behind it may take released processors.
    /// Returns the end of the quantum.
    pub fn show(&self, view: &View<'_>, turn: &mut Turn) -> u64 {
        turn.running.clear();
        turn.running.extend(self.members.iter().filter_map(|&app| self.ring.find(view, app)));
        turn.running.sort_unstable_by_key(|&slot| view.app(slot).id);
        let mut room = Room::new(view, self.k_milli);
        for slot in self.ring.from(view, self.behind()) {
            if self.members.first() == Some(&view.app(slot).id) || !room.take(view, slot) {
                break;
            }
            turn.next.push(slot);
        }
        self.quantum.end()
    }

    /// The place behind the window.
    pub fn behind(&self) -> AppId {
        self.members.last().map_or(self.first, |&last| behind(last))
    }
}
