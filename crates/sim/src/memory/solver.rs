//! What the ways of computing contention have in common. Knows no pages, caches and times.

use super::field::Field;
use numaestro_topology::PuId;
use std::fmt::Debug;

/// Divides channels among those that use them.
///
/// The field says what runs and what it asks for; a solver keeps what it found, so that the next answer begins there.
pub trait Solver: Debug + Send {
    /// What runs on `pu` has just been started in the field, or is about to be stopped.
    fn moved(&mut self, field: &Field, pu: PuId);

    /// The rate of what has just been started, until everything is computed.
    fn guess(&self, field: &Field, pu: PuId) -> f64;

    /// Whether what has moved since the last [`Self::solve`] can have changed anything.
    fn is_stale(&self) -> bool;

    /// Rates of all PUs that may have another one than after the last call. At these rates no channel carries more than
    /// [`Field::capacity`].
    fn solve(&mut self, field: &Field, found: &mut Vec<(PuId, f64)>);

    /// Microseconds that one more transaction over these channels takes longer than `alone_us`, which it takes when nobody is in the way.
    fn wait_us(&self, field: &Field, channels: &[u16], alone_us: f64) -> f64;
}
