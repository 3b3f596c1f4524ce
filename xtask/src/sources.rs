//! Reads the project's text files once for all checks, without build products and hidden
//! directories.

use std::path::Path;

use anyhow::{Context, Result};

/// One text file of the project.
#[derive(Debug, Clone)]
pub struct Source {
    /// Relative to the repository, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// Text after the last dot of the file's name, or nothing.
    pub fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

/// Directories with build products at the top, and with files that a check must not read anywhere.
const SKIPPED: [&str; 4] = ["target", "build", "node_modules", "__pycache__"];

/// Every text file below `root`, in order of path. Files that are not UTF-8 are left out.
pub fn read(root: &Path) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    descend(root, "", &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn descend(directory: &Path, prefix: &str, found: &mut Vec<Source>) -> Result<()> {
    let entries = std::fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
            // Recorded machines are data of other people's kernels, not text of this project.
            if !hidden && !SKIPPED.contains(&name.as_str()) && path != "testdata" {
                descend(&entry.path(), &format!("{path}/"), found)?;
            }
        } else if kind.is_file() {
            // A file may vanish while somebody else is building; that is no finding.
            if let Ok(text) = std::fs::read_to_string(entry.path()) {
                found.push(Source { path, text });
            }
        }
    }
    Ok(())
}
