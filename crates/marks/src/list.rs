//! The list of marks of a kind of run, and the counts of those that were reached.

use std::fmt::{Debug, Write as _};
use std::marker::PhantomData;

/// One mark of a list that [`crate::marks!`] makes.
pub trait Mark: Copy + Eq + Debug + 'static {
    /// The whole list.
    const ALL: &'static [Self];
    /// The situation, as half a sentence.
    fn text(self) -> &'static str;
    /// Its place in [`Self::ALL`].
    fn index(self) -> usize;
}

/// Makes an enum whose variants are marks: a name and half a sentence each.
#[macro_export]
macro_rules! marks {
    ($(#[$about:meta])* $seen:vis enum $name:ident { $($mark:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $seen enum $name {
            $(#[doc = $text] $mark,)+
        }

        impl $crate::Mark for $name {
            const ALL: &'static [Self] = &[$(Self::$mark,)+];

            fn text(self) -> &'static str {
                match self {
                    $(Self::$mark => $text,)+
                }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

/// How often each mark of a list was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks<M> {
    times: Vec<u64>,
    list: PhantomData<M>,
}

impl<M: Mark> Default for Marks<M> {
    fn default() -> Self {
        Self { times: vec![0; M::ALL.len()], list: PhantomData }
    }
}

impl<M: Mark> Marks<M> {
    /// The run has come to this situation.
    pub fn reach(&mut self, mark: M) {
        self.times[mark.index()] += 1;
    }

    /// The run has come to this situation, if the condition holds.
    pub fn reach_if(&mut self, mark: M, holds: bool) {
        if holds {
            self.reach(mark);
        }
    }

    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        for (times, more) in self.times.iter_mut().zip(&other.times) {
            *times += more;
        }
    }

    /// How often it was reached.
    pub fn times(&self, mark: M) -> u64 {
        self.times[mark.index()]
    }

    /// The marks that were never reached.
    pub fn never(&self) -> Vec<M> {
        M::ALL.iter().copied().filter(|mark| self.times(*mark) == 0).collect()
    }

    /// Number of marks that were reached.
    pub fn reached(&self) -> usize {
        M::ALL.len() - self.never().len()
    }

    /// Checks that each mark was reached, but for those that this kind of run cannot come to.
    ///
    /// # Errors
    /// The marks that were never reached, a line each, and the exceptions that are none any more.
    pub fn check(&self, except: &[M]) -> Result<(), String> {
        let mut problems = String::new();
        for mark in self.never().into_iter().filter(|mark| !except.contains(mark)) {
            let _ = writeln!(problems, "never reached: {mark:?}, {}", mark.text());
        }
        for mark in except.iter().filter(|mark| self.times(**mark) > 0) {
            let _ = writeln!(problems, "an exception, but reached: {mark:?}, {}", mark.text());
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::marks! {
        /// For these tests.
        enum Weather {
            Rain = "it rains",
            Snow = "it snows",
            Hail = "it hails",
        }
    }

    #[test]
    fn a_mark_that_is_never_reached_fails_and_is_named() {
        let mut marks = Marks::default();
        marks.reach(Weather::Rain);
        marks.reach_if(Weather::Snow, false);
        assert_eq!(marks.never(), [Weather::Snow, Weather::Hail]);
        assert_eq!(marks.check(&[Weather::Hail]).unwrap_err(), "never reached: Snow, it snows\n");
        marks.reach_if(Weather::Snow, true);
        assert_eq!(marks.check(&[Weather::Hail]), Ok(()));
        assert_eq!(marks.reached(), 2);
    }

    #[test]
    fn an_exception_that_is_reached_fails_and_is_named() {
        let mut marks = Marks::default();
        for mark in Weather::ALL {
            marks.reach(*mark);
        }
        assert_eq!(marks.check(&[]), Ok(()));
        assert_eq!(marks.check(&[Weather::Hail]).unwrap_err(), "an exception, but reached: Hail, it hails\n");
    }

    #[test]
    fn runs_add_up() {
        let (mut one, mut other) = (Marks::default(), Marks::default());
        one.reach(Weather::Rain);
        other.reach(Weather::Rain);
        other.reach(Weather::Hail);
        one.add(&other);
        assert_eq!([2, 0, 1], [Weather::Rain, Weather::Snow, Weather::Hail].map(|mark| one.times(mark)));
    }
}
