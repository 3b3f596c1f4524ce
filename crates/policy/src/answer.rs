//! How an answer makes itself known: one constant in its own file, which the room's `mod.rs` lists.

use crate::parameters::Parameters;
use crate::part::Info;
use crate::rejected::Rejected;

/// An answer to the question of the part `P` (`dyn Share`, `dyn Placement` ...): how it is named,
/// and how it is made.
pub struct Answer<P: ?Sized> {
    /// What people are told.
    pub info: Info,
    /// Makes it from its parameters.
    pub build: fn(&mut Parameters) -> Result<Box<P>, Rejected>,
}
