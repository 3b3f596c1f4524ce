//! Where an application's pages go. One answer a file; [`worth`] is whether those follow that are elsewhere.

mod first_touch;
mod home;
mod interleave;
mod machinery;

pub use machinery::worth;

use crate::answer::Answer;
use crate::part::Pages;

/// All answers; the first is the default.
pub(crate) const ANSWERS: &[Answer<dyn Pages>] = &[first_touch::ANSWER, home::ANSWER, interleave::ANSWER];
