//! One finding of a check, in the form `path:line: what`, which editors can jump to.

use std::fmt;
use std::path::Path;

/// The place of a defect and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Relative to the repository, with `/`.
    pub path: String,
    /// From 1; 0 = the whole file.
    pub line: usize,
    /// One sentence.
    pub what: String,
}

impl Finding {
    /// A finding about a line (from 1), or about the whole file (0).
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }

    /// A document that we write is another text than `expected`; at its first line that differs.
    pub fn of_written(root: &Path, document: &str, expected: &str, what: &str) -> Option<Self> {
        let present = std::fs::read_to_string(root.join(document)).unwrap_or_default();
        let line = || present.lines().zip(expected.lines()).take_while(|(a, b)| a == b).count() + 1;
        (present != expected).then(|| Self::new(document, line(), what))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}: {}", self.path, self.what)
        } else {
            write!(f, "{}:{}: {}", self.path, self.line, self.what)
        }
    }
}
