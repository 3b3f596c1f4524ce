//! How many processors each application gets. One answer a file; knows nothing of which processors.

mod batch;
mod cluster;
mod demand;
mod dss;
mod dynamic;
mod equi;
mod equip;
mod guarantee;
mod linux24;
mod pdpa;
mod pdpa_search;
mod sgi_mp;

pub use batch::Batch;
pub use cluster::Cluster;
pub use demand::{Demand, Idle};
pub use dss::Dss;
pub use dynamic::Dynamic;
pub use equi::{By, Equi};
pub use equip::{Equip, Leftover};
pub use guarantee::{guarantee, served};
pub use linux24::Linux24;
pub use pdpa::Pdpa;
pub(crate) use pdpa_search::start;
pub use sgi_mp::SgiMp;
