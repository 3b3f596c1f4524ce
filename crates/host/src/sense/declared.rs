//! Gives the rate that the user has declared for a program: the same for each of its threads, at
//! all times.

use super::{Moment, Outcome, Rung, Source, Subject};

/// See the file's header.
#[derive(Debug, Default, Clone, Copy)]
pub struct Declared;

impl Source for Declared {
    fn rung(&self) -> Rung {
        Rung::Declared
    }

    fn sample(&mut self, subject: &Subject<'_>, _moment: &Moment) -> Outcome {
        match subject.declared {
            Some(rate) => Outcome::Rates(subject.everywhere(f64::from(rate))),
            None => Outcome::Nothing("no rate has been declared for it".to_owned()),
        }
    }
}
