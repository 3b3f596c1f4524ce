//! How many processors each application gets. One answer a file; knows nothing of which processors.

mod batch;
mod cluster;
mod demand;
mod dss;
mod dynamic;
mod equi;
mod equip;
mod linux24;
mod machinery;
mod pdpa;
mod sgi_mp;

pub use batch::Batch;
pub use cluster::Cluster;
pub use demand::{Demand, Idle};
pub use dss::Dss;
pub use dynamic::Dynamic;
pub use equi::{By, Equi};
pub use equip::{Equip, Leftover};
pub use linux24::Linux24;
pub use pdpa::Pdpa;
pub(crate) use pdpa::start;
pub use sgi_mp::SgiMp;
