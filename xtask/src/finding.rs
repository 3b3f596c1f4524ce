//! One finding of a check, in the form `path:line: what`, which editors can jump to.

use std::fmt;

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
