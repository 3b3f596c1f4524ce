//! Counts findings by outcome: the one count that the command, its pages and the README show.

use crate::finding::Status;
use serde::{Serialize, Serializer};
use std::fmt;

/// Numbers of claims by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally([u32; Status::WORDS.len()]);

impl Tally {
    /// Claims with this outcome.
    pub fn of(&self, word: &str) -> u32 {
        Status::WORDS.iter().position(|known| *known == word).map_or(0, |place| self.0[place])
    }

    /// All claims.
    pub fn all(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Claims that count: the reproduced ones.
    pub fn reproduced(&self) -> u32 {
        self.0[0]
    }
}

impl<'a> FromIterator<&'a Status> for Tally {
    fn from_iter<T: IntoIterator<Item = &'a Status>>(statuses: T) -> Self {
        let mut tally = Self::default();
        for status in statuses {
            tally.0[status.number()] += 1;
        }
        tally
    }
}

impl fmt::Display for Tally {
    /// `12 reproduced, 3 not reproduced, 1 no power of 16 claims`: outcomes that occur, and
    /// reproduced ones always.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0[0], Status::WORDS[0])?;
        for (word, count) in Status::WORDS.iter().zip(self.0).skip(1).filter(|(_, count)| *count > 0) {
            write!(f, ", {count} {word}")?;
        }
        write!(f, " of {} claims", self.all())
    }
}

impl Serialize for Tally {
    /// `{"reproduced": 12, "not_reproduced": 3, ...}`, every outcome.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Status::WORDS.iter().zip(self.0).map(|(word, count)| (word.replace(' ', "_"), count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_is_counted_once() {
        let why = String::new;
        let all = [
            Status::Reproduced,
            Status::NotReproduced(why()),
            Status::NotApplicable(why()),
            Status::Input(why()),
            Status::Identity(why()),
            Status::Duplicate(why()),
            Status::NoPower(why()),
            Status::Fragile(why()),
            Status::Fitted(why()),
            Status::Reproduced,
        ];
        let tally: Tally = all.iter().collect();
        assert_eq!((tally.reproduced(), tally.all()), (2, 10));
        for word in &Status::WORDS[1..] {
            assert_eq!(tally.of(word), 1, "{word}");
        }
        let few: Tally = all[..2].iter().collect();
        assert_eq!(few.to_string(), "1 reproduced, 1 not reproduced of 2 claims");
    }
}
