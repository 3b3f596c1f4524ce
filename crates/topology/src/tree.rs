//! The source of sysfs texts is a trait, so that a recorded machine is as good as this one.

use std::collections::BTreeMap;

/// Read access to a tree of small text files. Paths are relative to its root and begin without a
/// slash: `sys/devices/system/cpu/online`.
pub trait Tree {
    /// The whole text of a file; `None` if it is not there or cannot be read.
    fn read(&self, path: &str) -> Option<String>;

    /// Names (not paths) of a directory's entries; empty if it is not there.
    fn list(&self, path: &str) -> Vec<String>;
}

/// A tree in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemTree {
    files: BTreeMap<String, String>,
}

/// A line of a recorded tree that is not `path<TAB>content`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected a path, a tab and the content, found \"{found}\"")]
pub struct RecordError {
    /// The line, from 1.
    pub line: usize,
    /// The text of the line, shortened.
    pub found: String,
}

impl MemTree {
    /// An empty tree.
    pub const fn new() -> Self {
        Self { files: BTreeMap::new() }
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: impl Into<String>, content: impl Into<String>) {
        self.files.insert(path.into(), content.into());
    }

    /// Removes a file, or all below a directory; gives how many files went.
    pub fn remove(&mut self, path: &str) -> usize {
        let before = self.files.len();
        self.files.retain(|file, _| file != path && below(file, path).is_none());
        before - self.files.len()
    }

    /// Paths and contents in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_str()))
    }

    /// Reads the recorded form: one file a line, `path<TAB>content`; in the content `\n`, `\t`,
    /// `\r` and `\\` stand for themselves as in Rust. Empty lines and lines that begin with `#` are
    /// left out. The newline that ends every sysfs file is not written.
    ///
    /// # Errors
    /// The first line without a tab, or with an unknown escape.
    pub fn from_text(text: &str) -> Result<Self, RecordError> {
        let mut out = Self::new();
        for (position, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let error = || RecordError { line: position + 1, found: crate::list::excerpt(line) };
            let (path, content) = line.split_once('\t').ok_or_else(error)?;
            out.insert(path, unescape(content).ok_or_else(error)?);
        }
        Ok(out)
    }

    /// The recorded form, as [`Self::from_text`] reads it.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (path, content) in self.iter() {
            let content = content.strip_suffix('\n').unwrap_or(content);
            let content = content.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
            out.extend([path, "\t", &content, "\n"]);
        }
        out
    }
}

impl Tree for MemTree {
    fn read(&self, path: &str) -> Option<String> {
        self.files.get(path).cloned()
    }

    fn list(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let prefix = format!("{path}/");
        for (file, _) in self.files.range(prefix.clone()..).take_while(|(file, _)| file.starts_with(&prefix)) {
            let Some(name) = below(file, path).and_then(|rest| rest.split('/').next()) else { continue };
            if names.last().is_none_or(|last| last != name) {
                names.push(name.to_owned());
            }
        }
        names.dedup();
        names
    }
}

/// The part of a path after `directory/`.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    path.strip_prefix(directory)?.strip_prefix('/')
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' {
            match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            }
        } else {
            c
        });
    }
    Some(out)
}
