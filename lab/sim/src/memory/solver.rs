//! The interface of the ways to compute contention.

use super::field::Field;
use std::fmt::Debug;

/// Divides channels among the classes of threads that use them.
/// The field says which threads run and what they demand. A solver keeps its last answer, so that
/// the next one begins there.
/// answer begins there.
pub trait Solver: Debug + Send {
    /// A thread of this class has just been started in the field, or is about to be stopped.
    fn moved(&mut self, field: &Field, class: usize);

    /// The rate of a class that is new, until everything is computed.
    fn guess(&mut self, field: &Field, class: usize) -> f64;

    /// Whether the moves since the last [`Self::solve`] can have changed anything.
    fn is_stale(&self) -> bool;

    /// Rates of all classes that may have another one than after the last call. At these rates no
    /// channel carries more than [`Field::capacity`].
    fn solve(&mut self, field: &Field, found: &mut Vec<(usize, f64)>);

    /// Microseconds by which one more transaction over these channels takes longer than the `alone`
    /// microseconds that it takes without contention.
    fn wait_us(&self, channels: &[u16], alone: f64) -> f64;
}
