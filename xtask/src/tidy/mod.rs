//! Checks every file of the project: one small check per file of this module, each a pure function
//! of paths and texts.

mod anchors;
mod circles;
mod fields;
mod headers;
mod length;
mod names;
mod paths;
mod places;
mod purity;

use std::path::Path;

use anyhow::Result;

use crate::finding::Finding;
use crate::sources;

/// Runs every check on every file below `root`.
pub fn run(root: &Path) -> Result<Vec<Finding>> {
    let sources = sources::read(root)?;
    let mut findings = Vec::new();
    for source in &sources {
        findings.extend(headers::check(source));
        findings.extend(names::check(source));
        findings.extend(places::check(source));
        findings.extend(purity::check(source));
        findings.extend(length::check_functions(source));
        findings.extend(length::check_comments(source));
        findings.extend(paths::check(source, &|path| root.join(path).exists()));
    }
    findings.extend(length::check_files(&sources));
    findings.extend(anchors::check(&sources));
    findings.extend(circles::check(&sources));
    findings.extend(fields::check(&sources));
    Ok(findings)
}

/// A source for the tests of the checks.
#[cfg(test)]
fn source(path: &str, text: &str) -> sources::Source {
    sources::Source { path: path.to_owned(), text: text.to_owned() }
}
