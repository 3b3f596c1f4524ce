//! `docs/policies.md`, written from the headers of the policy files, so that it cannot differ from
//! them.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::finding::Finding;

/// The directory of the policies.
pub const DIRECTORY: &str = "crates/policy/src";
const DOCUMENT: &str = "docs/policies.md";
/// The parts of a policy and the question each answers.
pub const PARTS: [(&str, &str); 5] = [
    ("share", "how many processors does each application get?"),
    ("placement", "which ones?"),
    ("turns", "when does it run?"),
    ("pages", "where do its pages go?"),
    ("admission", "who may start now?"),
];

/// One answer to one part's question.
struct Answer {
    part: &'static str,
    name: String,
    path: String,
    header: String,
}

/// Writes the document.
pub fn write(root: &Path) -> Result<()> {
    let text = document(&collect(root)?);
    std::fs::write(root.join(DOCUMENT), text).with_context(|| format!("cannot write {DOCUMENT}"))
}

/// Checks that the document is the one that [`write()`] would write.
pub fn check(root: &Path) -> Result<Vec<Finding>> {
    let message = "differs from the headers of the policy files: run `cargo xtask policies`";
    Ok(Finding::of_written(root, DOCUMENT, &document(&collect(root)?), message).into_iter().collect())
}

fn collect(root: &Path) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    for (part, _) in PARTS {
        let Ok(entries) = std::fs::read_dir(root.join(DIRECTORY).join(part)) else {
            continue;
        };
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".rs").filter(|stem| *stem != "mod") else {
                continue;
            };
            let path = format!("{DIRECTORY}/{part}/{name}");
            let text = std::fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
            answers.push(Answer { part, name: stem.replace('_', "-"), path, header: header_of(&text) });
        }
    }
    answers.sort_by(|a, b| (part_index(a.part), &a.name).cmp(&(part_index(b.part), &b.name)));
    Ok(answers)
}

fn part_index(part: &str) -> Option<usize> {
    PARTS.iter().position(|(known, _)| *known == part)
}

/// The `//!` lines without their marks.
fn header_of(text: &str) -> String {
    let lines = text.lines().take_while(|line| line.starts_with("//!"));
    let header: Vec<&str> = lines.map(|line| line[3..].strip_prefix(' ').unwrap_or(&line[3..]).trim_end()).collect();
    header.join("\n").trim().to_owned()
}

/// Up to the first full stop that ends a sentence, on one line.
fn first_sentence(header: &str) -> String {
    let paragraph: Vec<&str> = header.lines().take_while(|line| !line.trim().is_empty()).collect();
    let text = paragraph.join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

fn document(answers: &[Answer]) -> String {
    let mut text = String::from(
        "# Policies\n\n\
         <!-- Written by `cargo xtask policies` from the headers of the policy files. Change those. -->\n\n\
         A policy is one answer to each of these questions; any combination that makes sense can be set with\n\
         `numaestro policy set \"share=… placement=…\"`. `numaestro policy list` shows the presets.\n",
    );
    for (part, question) in PARTS {
        let of_part: Vec<&Answer> = answers.iter().filter(|answer| answer.part == part).collect();
        if of_part.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## {part}: {question}\n\n| name | idea |\n|---|---|\n");
        for answer in &of_part {
            let idea = first_sentence(&answer.header).replace('|', "\\|");
            let _ = writeln!(text, "| [`{0}`](#{part}-{0}) | {idea} |", answer.name);
        }
        for answer in of_part {
            let _ = write!(text, "\n### {part} {}\n\n", answer.name);
            let _ = writeln!(text, "{}\n\nSource file: `{}`", demoted(&answer.header), answer.path);
        }
    }
    text
}

/// Headings of a file's header stand below the file's own heading here. Code blocks are marked as
/// text: they are pseudo-code.
fn demoted(header: &str) -> String {
    let mut in_code = false;
    let lines = header.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if !in_code && !is_fence && line.starts_with('#') { format!("###{line}") } else { line.to_owned() }
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_ends_where_the_code_begins() {
        let text = "//! Idea. More.\n//!\n//! # Source\n//! A 2000.\n\nuse x;\n//! not this\n";
        assert_eq!(header_of(text), "Idea. More.\n\n# Source\nA 2000.");
    }

    #[test]
    fn the_first_sentence_is_the_idea() {
        assert_eq!(first_sentence("One\nidea. Another one."), "One idea.");
        assert_eq!(first_sentence("No end\n\nSecond paragraph."), "No end");
    }

    #[test]
    fn headings_go_down_and_code_stays() {
        assert_eq!(demoted("# A\n```text\n# b\n```\n# C"), "#### A\n```text\n# b\n```\n#### C");
    }

    #[test]
    fn every_part_has_its_chapter() {
        let answer = |part, name: &str| Answer {
            part,
            name: name.to_owned(),
            path: format!("{DIRECTORY}/{part}/{name}.rs"),
            header: "Equal shares. More.".to_owned(),
        };
        let text = document(&[answer("share", "equi"), answer("placement", "worst-fit")]);
        assert!(text.contains("| [`equi`](#share-equi) | Equal shares. |"), "{text}");
        assert!(text.contains("## placement: which ones?"), "{text}");
        assert!(!text.contains("## turns"), "a part without answers has no chapter");
    }

    #[test]
    fn a_document_that_differs_is_found() {
        let root = std::env::temp_dir().join(format!("xtask-policies-{}", std::process::id()));
        let part = root.join(DIRECTORY).join("share");
        std::fs::create_dir_all(&part).expect("temporary directory");
        std::fs::create_dir_all(root.join("docs")).expect("temporary directory");
        std::fs::write(part.join("equi.rs"), "//! Equal shares.\n//!\n//! **Source**: A 2000.\n").expect("policy file");
        assert_eq!(check(&root).expect("readable").len(), 1, "no document yet");
        std::fs::create_dir_all(part.join("machinery")).expect("temporary directory");
        std::fs::write(part.join("machinery/rounding.rs"), "//! Serves several answers.\n").expect("file");
        write(&root).expect("writable");
        assert_eq!(check(&root).expect("readable").len(), 0);
        let written = std::fs::read_to_string(root.join(DOCUMENT)).expect("readable");
        assert!(written.contains("### share equi") && !written.contains("rounding"), "{written}");
        std::fs::write(part.join("equi.rs"), "//! Other shares.\n//!\n//! **Source**: A 2000.\n").expect("policy file");
        assert_eq!(check(&root).expect("readable").len(), 1, "the header has changed");
        std::fs::remove_dir_all(&root).expect("temporary directory");
    }
}
