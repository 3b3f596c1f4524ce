//! Gives free processors to the fittest threads, one at a time, bus by bus.
//!
//! Source: Antonopoulos et al. 2004, §4 (rounds with equation 1); several buses: §5, future work.
//! On a bus whose saturation rate is not known all threads are equally fit, so that the order of
//! the list decides.

use super::buses::Line;
use super::ready::{Entry, Ready};
use super::selection::Selection;
use crate::view::Slot;

/// A rank is the number of turns and, below it, the place in the list.
const POSITION_BITS: u32 = 24;
const POSITION: u32 = (1 << POSITION_BITS) - 1;

/// The threads that may be chosen, and the bandwidth that they are chosen for.
pub trait Rule {
    /// `ABTR_proc` of this bus, as numerator and denominator.
    fn target(&self, line: &Line) -> (i128, i128);

    /// Decides ties: the lower is chosen; of equals the one nearest to the head. Below 256.
    fn turns(&self, entry: &Entry) -> u32;

    /// Says whether this thread may run. `free`: processors left of all buses; `need`: threads that
    /// its application must take at once.
    fn admits(&self, entry: &Entry, free: u32, need: u32) -> bool;

    /// Records that so many threads of this application were chosen.
    fn chosen(&mut self, slot: Slot, threads: u32);
}

/// Fills each bus with threads that belong to it; then, if processors are left, with threads of
/// other buses: a processor in use is worth more than an affinity.
pub fn fill(ready: &mut Ready, selection: &mut Selection, rule: &mut impl Rule) {
    for anywhere in [false, true] {
        for bus in 0..ready.buses.lines.len() as u32 {
            fill_bus(ready, selection, rule, bus, anywhere);
        }
        if ready.buses.lines.len() == 1 {
            return;
        }
    }
}

fn fill_bus(ready: &mut Ready, selection: &mut Selection, rule: &mut impl Rule, bus: u32, anywhere: bool) {
    let line = ready.buses.lines[bus as usize];
    if line.free() == 0 {
        return;
    }
    selection.clear();
    let free = ready.buses.free();
    for (position, entry) in ready.list.iter().enumerate() {
        // A thread that is not admitted now will not be later, with fewer processors left.
        if !entry.chosen && (anywhere || entry.bus == bus) && rule.admits(entry, free, ready.need(entry)) {
            let rate = if line.saturation == 0 { 0 } else { ready.rate(entry) };
            selection.push(rate, rule.turns(entry) << POSITION_BITS | position as u32);
        }
    }
    selection.prepare();
    while ready.buses.lines[bus as usize].free() > 0 {
        let free = ready.buses.free();
        // Others of its application may have been taken along.
        let admitted = |rank: u32| {
            let entry = &ready.list[(rank & POSITION) as usize];
            !entry.chosen && rule.admits(entry, free, ready.need(entry))
        };
        let Some(rank) = selection.take(rule.target(&ready.buses.lines[bus as usize]), admitted) else { return };
        let position = (rank & POSITION) as usize;
        let count = ready.run(position, bus);
        rule.chosen(ready.list[position].slot, count);
    }
}
