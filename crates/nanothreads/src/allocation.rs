//! Gives the number of processors when no manager decides: a script, the machine, or the program
//! itself chooses it.
//!
//! The runtime asks for a number and does the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The source of a runtime's number of processors. The runtime asks often (at each visit of a ready
/// queue and at each safe point), so an answer may cost no more than a relaxed load.
pub trait Allocation: Send + Sync {
    /// Processors allotted to this program now (`n_cpus_current`); 0 counts as 1.
    fn processors(&self) -> usize;

    /// Can the number change while the runtime lives? If not, the runtime asks once.
    fn changes(&self) -> bool {
        true
    }
}

/// A number that never changes.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(
    /// Processors.
    pub usize,
);

impl Allocation for Fixed {
    fn processors(&self) -> usize {
        self.0
    }

    fn changes(&self) -> bool {
        false
    }
}

/// A number that other code in this process changes: tests, benchmarks, or a program with a manager
/// of its own.
#[derive(Clone, Debug)]
pub struct Scripted(Arc<AtomicUsize>);

impl Scripted {
    /// An allocation that starts with so many processors.
    pub fn new(processors: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(processors)))
    }

    /// Sets the number of processors. Virtual processors adopt it at their next safe point.
    pub fn set(&self, processors: usize) {
        self.0.store(processors, Ordering::Relaxed);
    }
}

impl Allocation for Scripted {
    fn processors(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Number of processors of the calling thread's affinity mask, at least 1.
pub fn processors_of_the_mask() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Number of processors that this program may ever get, at least 1. `numaestro run` sets the
/// affinity mask to the processors of the start, so under it the list that it gives counts;
/// otherwise the mask.
pub fn processors_at_most() -> usize {
    let named = std::env::var("NUMAESTRO_CPUS_ALL").ok().and_then(|list| length_of(&list));
    named.unwrap_or_else(processors_of_the_mask)
}

/// Number of processors that a list such as `0-3,8` names; `None` if it is not such a list.
fn length_of(list: &str) -> Option<usize> {
    list.split(',').try_fold(0, |count: usize, part| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (usize, usize) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        count.checked_add(high.checked_sub(low)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_counted() {
        assert_eq!(length_of("0-3,8"), Some(5));
        assert_eq!(length_of("7"), Some(1));
        for wrong in ["", "3-1", "a", "0-", "0-18446744073709551615"] {
            assert_eq!(length_of(wrong), None, "{wrong}");
        }
    }
}
