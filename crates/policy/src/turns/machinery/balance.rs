//! Moves threads between buses, so that buses have the same load.
//!
//! Source: Antonopoulos et al. 2004, §5, asks for it; the rule is taken here:
//! ```text
//! 1. while a bus has threads that wait, and one of them would wait less on the bus with fewest for its processors: the one nearest to the tail goes
//! 2. if the bus with most demand wants more than its saturation rate, turn for turn, and the one with least wants less than its own:
//!    one thread of each change places, so that their demands come nearest to each other. Once a turn, so that rates can settle
//! ```
//! A bus's demand turn for turn: the sum of the rates of its threads, times the part of them that
//! can run at once.

use super::buses::Line;
use super::ready::Ready;
use std::cmp::Reverse;

/// Moves threads between buses where that gains more than their caches are worth.
pub fn balance(ready: &mut Ready) {
    if ready.buses.lines.len() < 2 {
        return;
    }
    level_counts(ready);
    swap_for_demand(ready);
}

/// Rule 1.
fn level_counts(ready: &mut Ready) {
    let mut from_tail = ready.list.len();
    loop {
        let to = ready.buses.emptiest();
        let lines = &ready.buses.lines;
        let load = |threads: u32, by: &Line| u64::from(threads) * u64::from(by.processors);
        let target = lines[to as usize];
        let crowded = |line: &Line| {
            line.threads > line.processors && load(line.threads, &target) > load(target.threads + 1, line)
        };
        if !lines.iter().any(crowded) {
            return;
        }
        // The threads passed over were not on a crowded bus, and buses only become less crowded.
        let Some(index) = (0..from_tail).rev().find(|&index| crowded(&lines[ready.list[index].bus as usize])) else {
            return;
        };
        ready.move_to(index, to);
        from_tail = index;
    }
}

/// Rule 2.
fn swap_for_demand(ready: &mut Ready) {
    if let Some([(heavy, to), (light, from)]) = swap(ready) {
        ready.move_to(heavy, to);
        ready.move_to(light, from);
    }
}

/// Two threads that should change places, each with the bus it should go to.
fn swap(ready: &Ready) -> Option<[(usize, u32); 2]> {
    let (list, lines) = (&ready.list, &ready.buses.lines);
    let known = || lines.iter().zip(0_u32..).filter(|(line, _)| line.saturation > 0 && line.processors > 0);
    let (high, from) = known().max_by_key(|&(line, number)| (pressure_milli(line), Reverse(number)))?;
    let (low, to) = known().min_by_key(|&(line, number)| (pressure_milli(line), number))?;
    if pressure_milli(high) <= FULL || pressure_milli(low) >= FULL {
        return None;
    }
    let on = |bus: u32| (0..list.len()).filter(move |&index| list[index].bus == bus);
    let rate = |index: usize| u64::from(ready.rate(&list[index]));
    let light = on(to).min_by_key(|&index| (rate(index), Reverse(index)))?;
    // The demand that the swap moves from one bus to the other is best half of the difference, and
    // must be less than all of it.
    let gap = turn_demand(high).saturating_sub(turn_demand(low)) * u64::from(high.threads) / high.at_once().max(1);
    let moved = |index: usize| rate(index).saturating_sub(rate(light));
    let better = on(from).filter(|&index| moved(index) > 0 && moved(index) < gap);
    let heavy = better.min_by_key(|&index| ((2 * moved(index)).abs_diff(gap), Reverse(index)))?;
    Some([(heavy, to), (light, from)])
}

/// Pressure of a bus that is just saturated.
const FULL: u64 = 1000;

impl Line {
    /// Number of its threads that can run at the same time.
    fn at_once(&self) -> u64 {
        u64::from(self.threads.min(self.processors))
    }
}

/// Transactions per millisecond that its threads want in a mean turn.
fn turn_demand(line: &Line) -> u64 {
    line.wanted * line.at_once() / u64::from(line.threads.max(1))
}

/// Demand by saturation, thousandths.
fn pressure_milli(line: &Line) -> u64 {
    turn_demand(line) * FULL / u64::from(line.saturation.max(1))
}

#[cfg(test)]
mod tests {
    use super::super::threading::QUANTUM;
    use crate::conformance::Case;
    use crate::turns::fitness::{Fitness, Of};
    use crate::view::Slot;

    fn b2arr() -> Fitness {
        Fitness::new(Fitness::FIRST, Of::Processors, None, QUANTUM).unwrap()
    }

    #[test]
    fn each_bus_has_its_own() {
        // Two applications fill two buses and stay on them.
        let mut case = Case::with_threads(8, &[8, 8], 0).on_buses(2, 1000);
        let mut turns = b2arr();
        for _ in 0..6 {
            let decided = case.decide(&mut turns);
            assert_eq!(decided.total(), 8);
            case.run(&decided, |_, _| 100);
            assert!(turns.ready.buses.lines.iter().all(|line| line.chosen == 4 && line.threads == 8));
        }
        let of = |turns: &Fitness, bus| turns.ready.list.iter().filter(|entry| entry.bus == bus).count();
        assert_eq!((of(&turns, 0), of(&turns, 1)), (8, 8));
    }

    #[test]
    fn threads_of_a_small_application_stay_together_and_nobody_moves_for_nothing() {
        let mut case = Case::with_threads(8, &[4, 4], 0).on_buses(2, 1000);
        let mut turns = b2arr();
        let first = case.decide(&mut turns);
        assert_eq!(first.preferred, [(Slot(0), 0, 4), (Slot(1), 1, 4)]);
        for _ in 0..5 {
            // One wants much more, but not more than its bus has.
            case.run(&first, |app, _| if app.0 == 1 { 240 } else { 1 });
            assert_eq!(case.decide(&mut turns).preferred, first.preferred);
        }
    }

    #[test]
    fn heavy_threads_move_where_light_ones_are() {
        let mut case = Case::with_threads(8, &[4, 4], 0).on_buses(2, 1000);
        let mut turns = b2arr();
        for _ in 0..6 {
            let decided = case.decide(&mut turns);
            case.run(&decided, |app, _| if app.0 == 1 { 400 } else { 10 });
        }
        let decided = case.decide(&mut turns);
        assert_eq!(decided.preferred.iter().filter(|&&(_, _, count)| count == 2).count(), 4, "{decided:?}");
    }

    #[test]
    fn an_empty_bus_takes_threads_that_wait_on_another() {
        let mut case = Case::with_threads(4, &[2, 2, 2], 0).on_buses(2, 1000);
        let mut turns = b2arr();
        let decided = case.decide(&mut turns);
        case.run(&decided, |_, _| 10);
        // The applications on the second bus go: two of the four others follow.
        let gone: Vec<_> = decided.preferred.iter().filter(|&&(_, bus, _)| bus == 1).map(|&(slot, ..)| slot).collect();
        case.order.retain(|slot| !gone.contains(slot));
        case.lay_out();
        assert_eq!(case.decide(&mut turns).total(), 4);
    }
}
