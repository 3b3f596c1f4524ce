//! Hector and its kernels, as both of Brecht's papers use them: programs from TOML, runs alone and
//! in streams.
//!
//! The constants of the programs are explained in `calibration.md`.

mod figures;
mod kernels;
mod runs;

pub use figures::{Placed, Snapshots, snapshots};
pub use kernels::Kernel;
pub use runs::{Alone, Beside, Streams, of_widths, per_run, significantly_below};

/// Stations 1 to 3, as the papers number them; station 0 is the system's.
pub const STATIONS: std::ops::Range<u32> = 1..4;
/// Processors of a station.
pub const STATION: u32 = 4;
