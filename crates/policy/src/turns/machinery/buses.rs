//! The buses in a turn: the processors of each, the transactions that have been promised, and the
//! threads that belong to it.
//!
//! Source: Antonopoulos et al. 2004, §5, names several buses as future work: balance each, and move
//! threads between them. Taken here: a thread belongs to the bus on which it ran last; each bus is
//! scheduled by itself.

use crate::rejected::Rejected;
use crate::view::{Bus, PuState, Slot, View};
use numaestro_topology::PuId;

/// A bus, or all processors together where buses do not matter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Line {
    /// P: processors that applications can have on it now.
    pub processors: u32,
    /// SBTR, transactions per millisecond; 0 if not known.
    pub saturation: u32,
    /// BTR of a thread that has not been measured: SBTR / P.
    pub unmeasured: u32,
    /// Number of processors that have been given threads.
    pub chosen: u32,
    /// Sum of their BTR, transactions per millisecond.
    pub demand: u64,
    /// Number of threads that belong to it.
    pub threads: u32,
    /// Sum of their BTR, transactions per millisecond.
    pub wanted: u64,
}

impl Line {
    /// Number of processors without a thread.
    pub fn free(&self) -> u32 {
        self.processors.saturating_sub(self.chosen)
    }

    /// `ABTR_proc` as numerator and denominator: the rest of `budget` for each processor that is
    /// left.
    pub fn left_of(&self, budget: u64) -> (i128, i128) {
        (i128::from(budget) - i128::from(self.demand), i128::from(self.free()))
    }
}

/// All buses.
#[derive(Debug, Clone, Default)]
pub struct Buses {
    pub lines: Vec<Line>,
    /// The bus of each processor, by [`PuId`].
    bus_of: Vec<u32>,
    /// Number of processors of each bus that can be used at all.
    room: Vec<u32>,
}

impl Buses {
    /// Counts the processors of each bus. With `apart` false all are one bus whose saturation does
    /// not matter. `present`: applications by slot that take part; processors of the others do not
    /// count.
    pub fn survey(&mut self, view: &View<'_>, apart: bool, present: &[bool]) {
        let apart = apart && !view.buses.is_empty();
        self.lines.clear();
        self.bus_of.clear();
        self.bus_of.resize(view.pus.len(), 0);
        if apart {
            for (number, bus) in view.buses.iter().enumerate() {
                self.lines.push(Line { saturation: bus.saturation, ..Line::default() });
                for pu in &bus.pus {
                    if let Some(of) = self.bus_of.get_mut(pu.index()) {
                        *of = number as u32;
                    }
                }
            }
        } else {
            self.lines.push(Line::default());
        }
        self.room.clear();
        self.room.resize(self.lines.len(), 0);
        for (pu, &bus) in view.pus.iter().zip(&self.bus_of) {
            let others = pu.next.is_some_and(|slot| !present[slot.index()]);
            if pu.is_usable() {
                self.room[bus as usize] += 1;
                self.lines[bus as usize].processors += u32::from(pu.state != PuState::Unmanaged && !others);
            }
        }
        self.fit(view.capacity);
        for line in &mut self.lines {
            line.unmeasured = line.saturation / line.processors.max(1);
        }
    }

    /// Lowers the sum of processors to `capacity`: some may be kept from applications without being
    /// named.
    fn fit(&mut self, capacity: u32) {
        let mut sum: u32 = self.lines.iter().map(|line| line.processors).sum();
        while sum > capacity {
            let Some(most) = self.lines.iter_mut().rev().max_by_key(|line| line.processors) else { break };
            most.processors -= 1;
            sum -= 1;
        }
        while sum < capacity {
            let roomy = self.lines.iter_mut().zip(&self.room).find(|(line, room)| line.processors < **room);
            let Some((line, _)) = roomy else { break };
            line.processors += 1;
            sum += 1;
        }
    }

    /// The bus of a processor.
    pub fn of(&self, pu: PuId) -> u32 {
        self.bus_of[pu.index()]
    }

    /// Processors of all buses without a thread.
    pub fn free(&self) -> u32 {
        self.lines.iter().map(Line::free).sum()
    }

    /// The bus with fewest threads for its processors, once it has one more; of equals the first.
    /// One without processors only if all are.
    pub fn emptiest(&self) -> u32 {
        let mut best = 0;
        for (number, line) in self.lines.iter().enumerate().skip(1) {
            let than: &Line = &self.lines[best];
            let load = |line: &Line, by: &Line| u64::from(line.threads + 1) * u64::from(by.processors);
            if line.processors > 0 && (than.processors == 0 || load(line, than) < load(than, line)) {
                best = number;
            }
        }
        best as u32
    }

    /// A bus with a processor to spare: `home` if it has one, else the one with most.
    pub fn with_room(&self, home: u32) -> Option<u32> {
        if self.lines[home as usize].free() > 0 {
            return Some(home);
        }
        let most = (0..self.lines.len()).rev().max_by_key(|&bus| self.lines[bus].free())?;
        (self.lines[most].free() > 0).then_some(most as u32)
    }
}

/// Number of processors of each bus that each application is to have, written to the turn.
#[derive(Debug, Clone, Default)]
pub struct Preferences {
    /// Processors by slot, then by bus.
    count: Vec<u32>,
    buses: usize,
}

impl Preferences {
    /// Begins with no preferences.
    pub fn reset(&mut self, slots: usize, buses: usize) {
        self.buses = buses;
        self.count.clear();
        self.count.resize(slots * buses, 0);
    }

    /// Adds so many processors.
    pub fn add(&mut self, slot: Slot, bus: u32, processors: u32) {
        self.count[slot.index() * self.buses + bus as usize] += processors;
    }

    /// Writes the preferences, if there is more than one bus.
    pub fn write(&self, turn: &mut crate::turn::Turn) {
        if self.buses < 2 {
            return;
        }
        for index in 0..turn.running.len() {
            let slot = turn.running[index];
            for bus in 0..self.buses {
                let count = self.count[slot.index() * self.buses + bus];
                if count > 0 {
                    turn.prefer(slot, bus as u32, count);
                }
            }
        }
    }
}

/// Refuses the policy where the buses are not known.
pub fn needs_buses(buses: &[Bus]) -> Result<(), Rejected> {
    if buses.is_empty() {
        return Err(Rejected::new(
            "it chooses threads by the bandwidth they need, and no bus of this machine is known",
        ));
    }
    Ok(())
}
