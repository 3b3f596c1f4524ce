//! The plan of a placement: the next owner of each processor. The engine carries it out.

use crate::view::{Processor, PuState, Slot, View};
use numaestro_topology::{NumaNodeId, PuId, PuSet};

/// The future owner of every processor, being written by a placement.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    next: Vec<Option<Slot>>,
    free: PuSet,
    /// Processors the plan gives, by application.
    count: Vec<u32>,
    touched: Vec<PuId>,
    homes: Vec<Option<NumaNodeId>>,
    rehomed: Vec<Slot>,
}

impl Plan {
    /// An empty plan.
    pub const fn new() -> Self {
        Self {
            next: Vec::new(),
            free: PuSet::new(),
            count: Vec::new(),
            touched: Vec::new(),
            homes: Vec::new(),
            rehomed: Vec::new(),
        }
    }

    /// Starts from the moves that have been announced so far.
    pub fn reset(&mut self, view: &View<'_>) {
        self.touched.clear();
        self.free.clear();
        self.next.clear();
        self.next.extend(view.pus.iter().map(|pu| pu.next));
        for (index, _) in view.pus.iter().enumerate().filter(|(_, pu)| is_free(pu)) {
            self.free.insert(PuId(index as u32));
        }
        self.count.clear();
        self.count.extend(view.apps.iter().map(|app| app.allocation));
        self.rehomed.clear();
        self.homes.clear();
        self.homes.extend(view.apps.iter().map(|app| app.home));
    }

    /// As [`Self::reset`], at a cost that goes with the number of changes. `pus` are all processors
    /// that have another `next` than at the latest reset, or can be given now and could not then,
    /// or the other way round. `homes` are all applications with another home. The plan knows its
    /// own changes since.
    pub fn follow(&mut self, view: &View<'_>, pus: &[PuId], homes: &[Slot]) {
        self.next.resize(view.pus.len(), None);
        self.count.resize(view.apps.len(), 0);
        self.homes.resize(view.apps.len(), None);
        let mut touched = std::mem::take(&mut self.touched);
        for &pu in touched.iter().chain(pus) {
            let (now, entry) = (view.pu(pu), &mut self.next[pu.index()]);
            if *entry != now.next {
                let before = std::mem::replace(entry, now.next);
                if let Some(slot) = before {
                    self.count[slot.index()] -= 1;
                }
                if let Some(slot) = now.next {
                    self.count[slot.index()] += 1;
                }
            }
            if is_free(now) {
                self.free.insert(pu);
            } else {
                self.free.remove(pu);
            }
        }
        touched.clear();
        self.touched = touched;
        for &slot in self.rehomed.iter().chain(homes) {
            self.homes[slot.index()] = view.app(slot).home;
        }
        self.rehomed.clear();
        debug_assert!(self.is_as_if_reset(view), "somebody has changed a processor and not said so");
    }

    fn is_as_if_reset(&self, view: &View<'_>) -> bool {
        let mut pus = view.pus.iter().enumerate();
        let same = |(index, pu): (usize, &Processor)| {
            self.next[index] == pu.next && self.free.contains(PuId(index as u32)) == is_free(pu)
        };
        pus.all(same)
            && view.apps.iter().map(|app| app.allocation).eq(self.count.iter().copied())
            && view.apps.iter().map(|app| app.home).eq(self.homes.iter().copied())
    }

    /// The node that an application calls its home, as planned so far.
    pub fn home(&self, slot: Slot) -> Option<NumaNodeId> {
        self.homes[slot.index()]
    }

    /// Gives an application a home, or takes it away. The placement and the pages part decide what
    /// a home means.
    pub fn set_home(&mut self, slot: Slot, home: Option<NumaNodeId>) {
        self.homes[slot.index()] = home;
        self.rehomed.push(slot);
    }

    /// Applications whose home has been written.
    pub fn rehomed(&self) -> &[Slot] {
        &self.rehomed
    }

    /// Processors that can be given.
    pub fn free(&self) -> &PuSet {
        &self.free
    }

    /// The next owner of a processor.
    pub fn next(&self, pu: PuId) -> Option<Slot> {
        self.next[pu.index()]
    }

    /// Processors the plan gives an application so far.
    pub fn count(&self, slot: Slot) -> u32 {
        self.count[slot.index()]
    }

    /// Gives a free processor to an application.
    ///
    /// # Panics
    /// If it is not free.
    pub fn give(&mut self, pu: PuId, slot: Slot) {
        assert!(self.free.remove(pu), "PU {pu} is not free");
        self.next[pu.index()] = Some(slot);
        self.count[slot.index()] += 1;
        self.touched.push(pu);
    }

    /// Takes a processor from the application that the plan gives it to.
    ///
    /// # Panics
    /// If nobody has it.
    pub fn release(&mut self, pu: PuId) {
        let slot = self.next[pu.index()].take().unwrap_or_else(|| panic!("PU {pu} is nobody's"));
        self.count[slot.index()] -= 1;
        self.free.insert(pu);
        self.touched.push(pu);
    }

    /// Processors whose next owner has been written, possibly several times, possibly without a
    /// change.
    pub fn touched(&self) -> &[PuId] {
        &self.touched
    }
}

/// Says whether a processor can be given.
fn is_free(pu: &Processor) -> bool {
    pu.is_usable() && pu.state != PuState::Unmanaged && pu.next.is_none()
}
