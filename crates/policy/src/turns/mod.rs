//! Turns parts decide when applications run. One answer a file.

mod always;
mod b2adss;
mod b2arr;
mod chunks;
mod fitness;
mod lqg;
pub(crate) mod machinery;
mod qwg;
mod round_robin;
mod rr;
mod ssw_dss;
mod sw_dss;
mod tick;
mod vtq_dss;

pub use machinery::selection::fitness;

use crate::answer::Answer;
use crate::part::Turns;

/// All answers.
pub(crate) const ANSWERS: &[Answer<dyn Turns>] = &[
    always::ANSWER, // The default.
    tick::ANSWER,
    round_robin::ANSWER,
    sw_dss::ANSWER,
    ssw_dss::ANSWER,
    vtq_dss::ANSWER,
    rr::ANSWER,
    b2arr::ANSWER,
    b2adss::ANSWER,
    lqg::ANSWER,
    qwg::ANSWER,
    fitness::ANSWER,
    chunks::ANSWER,
];
