//! Limits the lines of the log that a user can cause: after the first ones, those that are left out
//! are counted.

use std::collections::BTreeMap;

use crate::identity::payer::Payer;

/// Lines of one user in a period.
const LINES: u32 = 10;
/// The period, nanoseconds.
pub(crate) const PERIOD_NS: u64 = 10_000_000_000;

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Sparing {
    /// Lines of each user in this period. There are not more users than connections.
    lines: BTreeMap<Payer, u32>,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// It is written.
    Written,
    /// The same, and it is the first since the period began: [`Sparing::renew`] is due at its end.
    First,
    LeftOut,
}

impl Sparing {
    /// A user causes a line.
    pub(crate) fn line(&mut self, payer: Payer) -> Line {
        let first = self.lines.is_empty();
        let lines = self.lines.entry(payer).or_default();
        *lines = lines.saturating_add(1);
        match *lines {
            _ if first => Line::First,
            1..=LINES => Line::Written,
            _ => Line::LeftOut,
        }
    }

    /// The period is over. Gives the users of whom lines were left out, and how many.
    pub(crate) fn renew(&mut self) -> Vec<(Payer, u32)> {
        let left_out = |(payer, lines): (Payer, u32)| (lines > LINES).then(|| (payer, lines - LINES));
        std::mem::take(&mut self.lines).into_iter().filter_map(left_out).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_some_lines_and_the_others_are_counted() {
        let [alice, bob] = [1, 2].map(|uid| Payer { uid: Some(uid), contained: false });
        let mut log = Sparing::default();
        let lines: Vec<Line> = (0..1000).map(|_| log.line(alice)).collect();
        assert_eq!(lines[0], Line::First);
        assert!(lines[1..10].iter().all(|line| *line == Line::Written));
        assert!(lines[10..].iter().all(|line| *line == Line::LeftOut));
        assert_eq!(log.line(bob), Line::Written, "one user's lines push out nobody else's");
        assert_eq!(log.renew(), [(alice, 990)]);
        assert_eq!(log.line(alice), Line::First);
    }
}
