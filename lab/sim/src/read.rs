//! Reads texts that people write: every mistake names its file, line, field and the expected value.

pub mod fields;
pub mod json;
pub mod tree;

use std::fmt;
use std::ops::Range;

/// A text with the name under which people know it.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// Its file's name, as given.
    pub name: &'a str,
    /// All of it.
    pub text: &'a str,
}

/// No files at all: for texts that must stand alone.
#[derive(Debug, Clone, Copy)]
pub struct NoFiles;

impl Files for NoFiles {
    fn text(&self, name: &str) -> Result<String, String> {
        Err(format!("{name}: files cannot be named here"))
    }
}

/// A mistake in a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mistake {
    /// The file.
    pub file: String,
    /// Line from 1; 0 = the file as a whole.
    pub line: u32,
    /// The field, as in `program.mm.work`; empty where there is none.
    pub field: String,
    /// The expected value, and the value that was found instead.
    pub problem: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl<'a> Text<'a> {
    /// A text and its name.
    pub const fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text }
    }

    /// A mistake in the bytes of `span`.
    pub fn mistake(&self, span: Range<usize>, field: impl Into<String>, problem: impl Into<String>) -> Mistake {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = before.split(|&byte| byte == b'\n').count() as u32;
        Mistake { file: self.name.to_owned(), line, field: field.into(), problem: problem.into() }
    }

    /// A mistake of the text as a whole.
    pub fn mistake_in_all(&self, field: impl Into<String>, problem: impl Into<String>) -> Mistake {
        Mistake { file: self.name.to_owned(), line: 0, field: field.into(), problem: problem.into() }
    }

    /// Reads TOML; a mistake of its grammar or types has line and problem.
    ///
    /// # Errors
    /// The first mistake.
    pub fn toml<T: serde::de::DeserializeOwned>(&self) -> Result<T, Mistake> {
        toml::from_str(self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            self.mistake(span, String::new(), error.message().to_owned())
        })
    }
}

/// Texts by name, for a text that names another one. The command implements it over the file
/// system.
pub trait Files {
    /// The text of this name, as it stands in the text that names it.
    ///
    /// # Errors
    /// The reason why it cannot be had, for people.
    fn text(&self, name: &str) -> Result<String, String>;
}
