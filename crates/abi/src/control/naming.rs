//! The ways in which people name an application, and the letters under which they see it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of an application in a request. Only the manager knows the processes, so only it finds
/// the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AppName {
    /// Its number, from a program that has read it: nothing else is meant.
    Number(u64),
    /// A word of a person: its letter in `status`, its number, the id of one of its processes, or
    /// its name.
    Word(String),
}

impl fmt::Display for AppName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// The letter of the application that is at `place` in the status, from 0. No letter is a digit, so
/// that it is not mistaken for a count, or `x`, which stands for load that is not managed. `#`:
/// there are no letters left.
pub fn letter(place: usize) -> char {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwyz";
    LETTERS.get(place).map_or('#', |letter| char::from(*letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_letter_for_any_number_of_applications() {
        assert_eq!((letter(0), letter(26), letter(1000)), ('A', 'a', '#'));
    }
}
