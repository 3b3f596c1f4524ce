//! Links to a heading lead to one: a browser says nothing of an anchor that is gone, and shows the
//! top of the page.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{links, resolve};
use crate::finding::Finding;
use crate::sources::Source;

/// Checks the links `[text](document#heading)` of all Markdown of the project.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let documents = || sources.iter().filter(|source| source.extension() == "md");
    let known: BTreeMap<&str, BTreeSet<String>> =
        documents().map(|source| (source.path.as_str(), anchors(&source.text))).collect();
    let mut findings = Vec::new();
    for source in documents() {
        for (index, line) in source.text.lines().enumerate() {
            for (target, anchor) in links(line).filter_map(|(target, anchor)| Some((target, anchor?))) {
                let path = if target.is_empty() { source.path.clone() } else { resolve(&source.path, target) };
                if known.get(path.as_str()).is_some_and(|anchors| !anchors.contains(anchor)) {
                    findings.push(Finding::new(&source.path, index + 1, format!("`{path}` has no `#{anchor}`")));
                }
            }
        }
    }
    findings
}

/// What the headings of a document are called in links, as GitHub and mdBook make it.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut in_block = false;
    for line in text.lines() {
        in_block ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if in_block || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().to_lowercase().replace(' ', "-");
        let base: String = kept.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect();
        let numbered = (1..).map(|number| format!("{base}-{number}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn found(text: &str) -> Vec<String> {
        let guide = "# A guide: `set`, again\n\n```\n# a comment\n```\n## Twice\n## Twice\n";
        let findings = check(&[source("docs/guide.md", guide), source("README.md", text)]);
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn headings_are_found_by_their_names_in_links() {
        for anchor in ["a-guide-set-again", "twice", "twice-1"] {
            assert_eq!(found(&format!("[x](docs/guide.md#{anchor})")), Vec::<String>::new());
        }
        assert_eq!(found("# Here\n[x](#here) [y](https://example.org/guide.md#z)"), Vec::<String>::new());
    }

    #[test]
    fn a_heading_that_is_gone_is_found() {
        assert_eq!(found("[x](docs/guide.md#a-comment)"), ["`docs/guide.md` has no `#a-comment`"]);
        assert_eq!(found("[x](#there)"), ["`README.md` has no `#there`"]);
    }
}
