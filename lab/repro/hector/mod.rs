//! Hector and its kernels, as both of Brecht's papers use them: programs from TOML and constants,
//! runs alone and in streams.
//!
//! Everything that no program's structure says is a constant of the papers' files of inputs
//! (`constants`): `machine` takes the ring's distance and the channels' rates from them, `balance`
//! the work and the references of each kernel.

mod balance;
mod constants;
mod figures;
mod kernels;
mod machine;
mod prototype;
mod rows;
mod runs;

pub use constants::NAMES;
pub use figures::{Placed, Snapshots, snapshots};
pub use kernels::Kernel;
pub use prototype::Hector;
pub use rows::{LOCALIZED, ON_TWELVE, ROWS, gain, speedup};
pub use runs::{Alone, Beside, Streams, of_widths, per_run, significantly_below};

/// Stations 1 to 3, as the papers number them; station 0 is the system's.
pub const STATIONS: std::ops::Range<u32> = 1..4;
/// Processors of a station.
pub const STATION: u32 = 4;

/// A lab with the constants at their centre, and few runs.
#[cfg(test)]
pub fn lab() -> crate::Lab {
    crate::Lab::under(crate::Statistics::Quick, conditions())
}

/// The constants at their centre.
#[cfg(test)]
pub fn conditions() -> crate::Conditions {
    let crate::Paper { basis, claims, .. } = crate::brecht1993_placement::PAPER;
    let inputs = crate::inputs::Inputs::read(basis.file, basis.constants, basis.rows, claims);
    let constants = inputs.unwrap_or_else(|mistake| panic!("{mistake}")).centre();
    crate::Conditions { constants, ..crate::Conditions::default() }
}
