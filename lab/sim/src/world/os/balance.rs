//! IRIX: once in a while a processor on which threads wait gives one of them to a processor with
//! fewer. Without this, teams that wait on their processors would stay crowded for ever. A
//! processor takes a thread from elsewhere only when it is idle, and a thread that waits on its
//! processor keeps that busy.
//!
//! SGI does not document how often IRIX does so: it is a number of the machine file.

use crate::Nanos;

/// The times at which processors compare themselves with others.
#[derive(Debug)]
pub struct Balance {
    /// Time between two looks of one processor, nanoseconds; 0: it never looks.
    every: Nanos,
    /// By processor: the time of its next look, nanoseconds.
    due: Vec<Nanos>,
}

impl Balance {
    /// Processors that look so often, from this time after the start on.
    pub fn new(every: Nanos, pus: usize) -> Self {
        Self { every, due: vec![every; pus] }
    }

    /// Whether a processor looks now. If so, it does not look again for a while.
    pub fn looks(&mut self, pu: u32, now: Nanos) -> bool {
        let due = &mut self.due[pu as usize];
        let looks = self.every > 0 && now >= *due;
        if looks {
            *due = now + self.every;
        }
        looks
    }
}

/// The processor with fewest threads of `loads`, of equals the lowest, if it has at least two fewer
/// than `here`: then moving one thread makes both more alike.
pub fn emptier(here: usize, loads: impl Iterator<Item = (u32, usize)>) -> Option<u32> {
    let (pu, load) = loads.min_by_key(|&(pu, load)| (load, pu))?;
    (load + 2 <= here).then_some(pu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_apart() {
        let mut balance = Balance::new(100, 2);
        let looks = [0, 99, 100, 199, 200, 350, 400].map(|now| balance.looks(1, now));
        assert_eq!(looks, [false, false, true, false, true, true, false]);
        assert!(balance.looks(0, 350), "each processor by itself");
        assert!(!Balance::new(0, 1).looks(0, 1 << 40));
    }

    #[test]
    fn a_thread_moves_only_to_where_it_gains() {
        assert_eq!(emptier(3, [(0, 2), (1, 2)].into_iter()), None);
        assert_eq!(emptier(3, [(0, 2), (2, 1), (1, 1)].into_iter()), Some(1));
        assert_eq!(emptier(3, std::iter::empty()), None);
    }
}
