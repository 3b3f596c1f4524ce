//! What the ways of computing contention have in common. Knows no pages, caches and times.

use super::field::Field;
use std::fmt::Debug;

/// Divides channels among the classes of threads that use them.
///
/// The field says what runs and what it asks for; a solver keeps what it found, so that the next
/// answer begins there.
pub trait Solver: Debug + Send {
    /// A thread of this class has just been started in the field, or is about to be stopped.
    fn moved(&mut self, field: &Field, class: usize);

    /// The rate of a class that is new, until everything is computed.
    fn guess(&mut self, field: &Field, class: usize) -> f64;

    /// Whether what has moved since the last [`Self::solve`] can have changed anything.
    fn is_stale(&self) -> bool;

    /// Rates of all classes that may have another one than after the last call. At these rates no
    /// channel carries more than [`Field::capacity`].
    fn solve(&mut self, field: &Field, found: &mut Vec<(usize, f64)>);

    /// Microseconds that one more transaction over these channels takes longer than the `alone`
    /// microseconds that it takes when nobody is in the way.
    fn wait_us(&self, channels: &[u16], alone: f64) -> f64;
}
