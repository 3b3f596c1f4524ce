//! Admission decides when a waiting application starts. One answer a file; a user's `wait` or
//! `no-wait` goes before all of them, in the engine.

mod easy;
mod fcfs;
mod fifo;
mod multiprogramming;
mod share;

use crate::answer::Answer;
use crate::part::Admission;

/// All answers.
pub(crate) const ANSWERS: &[Answer<dyn Admission>] = &[
    share::ANSWER, // The default.
    fifo::ANSWER,
    fcfs::ANSWER,
    easy::ANSWER,
    multiprogramming::ANSWER,
];
