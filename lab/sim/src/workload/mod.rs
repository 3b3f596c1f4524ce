//! Workloads: the applications that arrive, and the times of their arrivals.

mod arrival;
pub mod batch;
mod closed;
pub mod downey;
pub mod elastisim;
mod expression;
pub mod lublin;
pub mod offered;
mod open;
pub mod rtapp;
mod streams;
pub mod swf;

pub use arrival::{Arrival, Source};
pub use closed::Closed;
pub use open::{List, Open};
pub use streams::{Order, StreamPlan, Streams};
