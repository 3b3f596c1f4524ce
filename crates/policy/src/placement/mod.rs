//! Placements decide which processors each application gets. One answer a file.

mod affinity;
mod base_priority;
mod best_fit;
mod empty_pool;
mod first_fit;
mod fixed;
mod home;
mod limited;
mod localized;
mod lowest;
mod machinery;
pub mod repartition;
mod worst_fit;
mod worst_fit_jobs;

use crate::answer::Answer;
use crate::part::Placement;

/// All answers.
pub(crate) const ANSWERS: &[Answer<dyn Placement>] = &[
    affinity::ANSWER, // The default.
    first_fit::ANSWER,
    best_fit::ANSWER,
    worst_fit::ANSWER,
    worst_fit_jobs::ANSWER,
    empty_pool::ANSWER,
    localized::ANSWER,
    fixed::ANSWER,
    lowest::ANSWER,
    base_priority::ANSWER,
    home::ANSWER,
    limited::ANSWER,
    repartition::ANSWER,
];
