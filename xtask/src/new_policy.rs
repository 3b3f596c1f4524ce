//! Writes the skeleton of a policy and lists it in its room: it compiles, passes conformance and
//! can be named at once, so that an author begins with something that runs.
//!
//! The skeletons are Rust files of their own (`xtask/skeletons/`), in which only the name is
//! replaced.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::policies::{DIRECTORY, PARTS};

/// By part, in the order of [`PARTS`].
const SKELETONS: [&str; PARTS.len()] = [
    include_str!("../skeletons/share.rs"),
    include_str!("../skeletons/placement.rs"),
    include_str!("../skeletons/turns.rs"),
    include_str!("../skeletons/pages.rs"),
    include_str!("../skeletons/admission.rs"),
];

/// Writes `crates/policy/src/PART/NAME.rs` and lists it in the room's `mod.rs`.
pub fn write(root: &Path, part: &str, name: &str) -> Result<()> {
    let text = skeleton(part, name)?;
    let module = name.replace('-', "_");
    let (path, list_path) = (format!("{DIRECTORY}/{part}/{module}.rs"), format!("{DIRECTORY}/{part}/mod.rs"));
    if root.join(&path).exists() {
        bail!("{path} exists already");
    }
    let listed = std::fs::read_to_string(root.join(&list_path)).with_context(|| format!("cannot read {list_path}"))?;
    let listed = list(&listed, &module).with_context(|| format!("{list_path} has no list of answers to add to"))?;
    std::fs::write(root.join(&path), text).with_context(|| format!("cannot write {path}"))?;
    std::fs::write(root.join(&list_path), listed).with_context(|| format!("cannot write {list_path}"))?;
    println!("{path} is written, and listed in {list_path}.");
    println!("It runs already: numaestro sim run lab/scenarios/pools-hector.toml --policy {part}={name}");
    println!("Next: say in it what it does, then cargo test -p numaestro-policy && cargo xtask policies");
    Ok(())
}

fn skeleton(part: &str, name: &str) -> Result<String> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !is_name {
        bail!("`{name}` is no name of a policy: lower-case words with hyphens, such as worst-fit");
    }
    let Some(at) = PARTS.iter().position(|(known, _)| *known == part) else {
        let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
        bail!("`{part}` is no part of a policy; the parts are {}", parts.join(", "));
    };
    Ok(SKELETONS[at].replace("\"skeleton\"", &format!("\"{name}\"")).replace("Skeleton", &type_name(name)))
}

/// A room's file with one answer more, the last of its list.
fn list(room: &str, module: &str) -> Option<String> {
    let named = |line: &str| line.strip_suffix(';')?.split_once("mod ").map(|(_, name)| name.to_owned());
    let mut lines: Vec<String> = room.lines().map(str::to_owned).collect();
    let begin = lines.iter().position(|line| line.contains("ANSWERS: "))?;
    let end = begin + lines[begin..].iter().position(|line| line == "];")?;
    lines.insert(end, format!("    {module}::ANSWER,"));
    let first = lines.iter().position(|line| named(line).is_some())?;
    let before = lines.iter().rposition(|line| named(line).is_some_and(|known| known.as_str() < module));
    lines.insert(before.map_or(first, |before| before + 1), format!("mod {module};"));
    Some(lines.join("\n") + "\n")
}

/// `worst-fit` → `WorstFit`.
fn type_name(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_rust_names() {
        assert_eq!(type_name("worst-fit-jobs"), "WorstFitJobs");
    }

    #[test]
    fn an_answer_is_listed_last_and_its_module_in_order() {
        let room =
            "//! R.\n\nmod a;\npub(crate) mod c;\n\npub const ANSWERS: &[X] = &[\n    c::ANSWER,\n    a::ANSWER,\n];\n";
        let listed = list(room, "b").expect("a list");
        assert!(listed.contains("mod a;\nmod b;\npub(crate) mod c;\n"), "{listed}");
        assert!(listed.ends_with("    a::ANSWER,\n    b::ANSWER,\n];\n"), "{listed}");
        assert!(list(room, "_").expect("a list").contains("\n\nmod _;\nmod a;\n"));
        assert_eq!(list("//! R.\n", "b"), None);
    }

    #[test]
    fn a_wrong_part_or_name_is_refused() {
        assert!(skeleton("shares", "x").is_err());
        assert!(skeleton("share", "WorstFit").is_err());
        assert!(skeleton("share", "../x").is_err());
        assert!(skeleton("share", "").is_err());
    }
}
