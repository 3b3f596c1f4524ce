//! When applications run. One answer a file.

mod always;
mod b2adss;
mod b2arr;
mod balance;
mod buses;
mod chunks;
mod division;
mod fill;
mod fitness;
mod gang;
mod lqg;
mod quantum;
mod qwg;
mod ready;
mod ring;
mod round_robin;
mod rr;
mod selection;
mod ssw_dss;
mod sw_dss;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod threading;
mod tick;
mod vtq_dss;
mod window;

pub use always::Always;
pub use b2adss::B2adss;
pub use b2arr::B2arr;
pub use chunks::Chunks;
pub use fitness::{Fitness, Of};
pub use lqg::Lqg;
pub use qwg::Qwg;
pub use round_robin::RoundRobin;
pub use rr::Rr;
pub use selection::fitness;
pub use ssw_dss::SswDss;
pub use sw_dss::SwDss;
pub use tick::Tick;
pub use vtq_dss::VtqDss;
