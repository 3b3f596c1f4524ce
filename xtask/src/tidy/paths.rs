//! Documents name only paths that exist: a map with rooms that are gone is worse than none.
//!
//! A backticked word counts as a path of the project when its first part is one of the top
//! directories, or when it is a file of the top itself. Patterns (`*`, `<…>`, `NAME`) and build
//! products are not paths.

use crate::finding::Finding;
use crate::sources::Source;

const TOP: [&str; 11] =
    ["crates", "client", "kernels", "docs", "xtask", "testdata", "scripts", "lab", ".ci", ".cargo", "packaging"];
/// Files of the top directory are recognised by their endings.
const TOP_FILE_ENDINGS: [&str; 2] = [".md", ".toml"];
/// Names with such an ending that belong to the user, not to the project.
const USERS_FILES: [&str; 2] = ["config.toml", "Cargo.toml"];

/// Checks the documents: Markdown at the top and below `docs`.
pub fn check(source: &Source, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let is_document = source.extension() == "md" && (!source.path.contains('/') || source.path.starts_with("docs/"));
    if !is_document {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for path in backticked(line).filter_map(project_path) {
            if !exists(path) {
                findings.push(Finding::new(&source.path, index + 1, format!("`{path}` does not exist")));
            }
        }
        for target in link_targets(line) {
            let path = resolve(&source.path, target);
            if !exists(&path) {
                findings.push(Finding::new(&source.path, index + 1, format!("link to `{path}`, which does not exist")));
            }
        }
    }
    findings
}

fn backticked(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The path in a backticked text, without a line number or anchor; nothing if it is no path of the
/// project.
fn project_path(text: &str) -> Option<&str> {
    let word = text.split([' ', ':', '#', ',']).next()?;
    let is_pattern = word.contains(['*', '<', '{', '…', '$', '[']) || word.contains("NAME") || word.contains("PART");
    let first = word.split('/').next()?;
    let below_top = word.contains('/') && TOP.contains(&first);
    let at_top = !word.contains('/')
        && TOP_FILE_ENDINGS.iter().any(|ending| word.ends_with(ending) && word.len() > ending.len())
        && !USERS_FILES.contains(&word);
    (!is_pattern && (below_top || at_top)).then_some(word.trim_end_matches(['.', '/']))
}

/// Targets of `[text](target)` that are files of the project.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    links(line).map(|(target, _)| target).filter(|target| !target.is_empty() && !target.starts_with("mailto:"))
}

/// Target and anchor of each `[text](target#anchor)` within the project.
pub fn links(line: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    line.match_indices("](").filter_map(|(start, mark)| {
        let inside = line[start + mark.len()..].split([')', ' ']).next()?;
        let (target, anchor) = inside.split_once('#').map_or((inside, None), |(path, rest)| (path, Some(rest)));
        (!target.contains("://")).then_some((target, anchor))
    })
}

/// `target` as seen from the directory of the document at `from`.
pub fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn found(path: &str, line: &str) -> Vec<String> {
        let known = ["crates/engine/src/lib.rs", "docs/ABI.md", "docs/guides/python.md", "README.md", "kernels"];
        let findings = check(&source(path, line), &|path| known.contains(&path));
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_path_that_is_gone_is_found() {
        assert_eq!(found("docs/A.md", "see `crates/engine/src/lib.rs:12` and `kernels/`"), Vec::<String>::new());
        assert_eq!(found("docs/A.md", "see `crates/old/lib.rs`"), ["`crates/old/lib.rs` does not exist"]);
        assert_eq!(found("README.md", "see `LICENCE.md`"), ["`LICENCE.md` does not exist"]);
    }

    #[test]
    fn what_is_no_path_of_the_project_is_left_alone() {
        for text in
            ["`/sys/devices`", "`crates/*/src`", "`docs/<part>.md`", "`libgomp`", "`~/.config/numaestro/config.toml`"]
        {
            assert_eq!(found("docs/A.md", text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(found("crates/x/NOTES.md", "`crates/old/lib.rs`"), Vec::<String>::new());
    }

    #[test]
    fn links_are_resolved_from_their_document() {
        assert_eq!(found("README.md", "[a](docs/ABI.md#page) [b](https://x.org/y)"), Vec::<String>::new());
        assert_eq!(found("docs/guides/python.md", "[a](../ABI.md)"), Vec::<String>::new());
        assert_eq!(
            found("docs/guides/python.md", "[a](ABI.md)"),
            ["link to `docs/guides/ABI.md`, which does not exist"]
        );
    }
}
