//! Each answer makes itself known by one constant in its own file, which the `mod.rs` of its part
//! lists.

use crate::parameters::Parameters;
use crate::part::Info;
use crate::rejected::Rejected;

/// The name of an answer of the part `P` (`dyn Share`, `dyn Placement` ...), and the function that
/// makes it.
pub struct Answer<P: ?Sized> {
    /// Its name and description for people.
    pub info: Info,
    /// Makes it from its parameters.
    pub build: fn(&mut Parameters) -> Result<Box<P>, Rejected>,
}
