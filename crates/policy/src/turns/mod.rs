//! When applications run. One answer a file.

mod always;
mod b2adss;
mod b2arr;
mod chunks;
mod fitness;
mod lqg;
mod machinery;
mod qwg;
mod round_robin;
mod rr;
mod ssw_dss;
mod sw_dss;
mod tick;
mod vtq_dss;

pub use always::Always;
pub use b2adss::B2adss;
pub use b2arr::B2arr;
pub use chunks::Chunks;
pub use fitness::{Fitness, Of};
pub use lqg::Lqg;
pub use machinery::selection::fitness;
pub use qwg::Qwg;
pub use round_robin::RoundRobin;
pub use rr::Rr;
pub use ssw_dss::SswDss;
pub use sw_dss::SwDss;
pub use tick::Tick;
pub use vtq_dss::VtqDss;
