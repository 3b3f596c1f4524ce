//! Pages parts decide where an application's pages go. One answer a file; [`worth`] decides whether
//! pages on other nodes follow.

mod first_touch;
mod home;
mod interleave;
mod machinery;

pub use machinery::worth;

use crate::answer::Answer;
use crate::part::Pages;

/// All answers.
pub(crate) const ANSWERS: &[Answer<dyn Pages>] = &[
    first_touch::ANSWER, // The default.
    home::ANSWER,
    interleave::ANSWER,
];
