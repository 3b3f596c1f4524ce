//! A struct with behaviour has few fields: one with many is several components in one.
//!
//! A struct has behaviour if one of its methods changes it (`&mut self`). One that no method
//! changes is a plain record, and may have as many fields as it has things to say.

use crate::code::{without_comments_and_literals, without_test_module};
use crate::finding::Finding;
use crate::sources::Source;

/// Crates that the check looks at.
const CRATES: [&str; 3] = ["crates/daemon/src/", "crates/engine/src/", "lab/sim/src/"];
/// Fields of a struct with behaviour.
const FIELDS_MAX: usize = 15;

/// Structs that may have more: crate, name, and why. An entry that is not needed any more is itself
/// a finding.
const LARGER: &[(&str, &str, &str)] = &[];

/// A struct as its file has it.
struct Struct<'a> {
    path: &'a str,
    line: usize,
    name: String,
    fields: usize,
}

/// Looks at all files of the crates.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    CRATES.iter().flat_map(|root| check_crate(sources, root, LARGER)).collect()
}

fn check_crate(sources: &[Source], root: &str, larger: &[(&str, &str, &str)]) -> Vec<Finding> {
    let (mut structs, mut changed) = (Vec::new(), Vec::new());
    for source in sources.iter().filter(|source| source.extension() == "rs" && source.path.starts_with(root)) {
        let code = without_test_module(&without_comments_and_literals(&source.text));
        read(&source.path, &code, &mut structs, &mut changed);
    }
    let is_larger = |found: &Struct<'_>| found.fields > FIELDS_MAX && changed.contains(&found.name);
    let mut findings = Vec::new();
    for found in structs.iter().filter(|found| is_larger(found)) {
        if !larger.iter().any(|(room, name, _)| *room == root && *name == found.name) {
            let what = format!("{} has {} fields, at most {FIELDS_MAX}: split it by owner", found.name, found.fields);
            findings.push(Finding::new(found.path, found.line, what));
        }
    }
    for (_, name, reason) in larger.iter().filter(|(room, ..)| *room == root) {
        if !structs.iter().any(|found| found.name == *name && is_larger(found)) {
            let what = format!("{name} ({reason}) is not too large any more: take it off the list in xtask");
            findings.push(Finding::new(root, 0, what));
        }
    }
    findings
}

/// Adds the structs of a file, and the names of those that a method changes.
fn read<'a>(path: &'a str, code: &str, structs: &mut Vec<Struct<'a>>, changed: &mut Vec<String>) {
    let lines: Vec<&str> = code.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        // In the usual form: an item of the file begins in the first column, and so does its
        // closing brace.
        let end = || lines[index..].iter().position(|line| line.starts_with('}')).map_or(lines.len(), |at| index + at);
        let item = line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").trim_start_matches("pub ");
        if let Some(rest) = item.strip_prefix("struct ")
            && line.trim_end().ends_with('{')
        {
            let is_field = |line: &&&str| {
                let field = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' '));
                field.is_some_and(|field| field.contains(": "))
            };
            let fields = lines[index + 1..end()].iter().filter(is_field).count();
            structs.push(Struct { path, line: index + 1, name: name_of(rest), fields });
        } else if line.starts_with("impl") && lines[index..end()].iter().any(|line| line.contains("&mut self")) {
            let head = line.split(" where").next().unwrap_or_default();
            let subject = head.rsplit(" for ").next().unwrap_or_default();
            let subject = subject.strip_prefix("impl").map_or(subject, after_parameters);
            changed.push(name_of(subject.trim_start()));
        }
    }
}

/// The text after `<…>`, if it begins with that.
fn after_parameters(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => return &text[at..],
            _ => {}
        }
    }
    text
}

/// The name at the beginning of the text, without the path before it.
fn name_of(text: &str) -> String {
    let path: String = text.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
    path.rsplit(':').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn object(fields: usize, method: &str) -> String {
        let fields = "    pub(crate) f: u32,\n".repeat(fields);
        format!(
            "pub struct Thing<'a> {{\n{fields}}}\n\nimpl<'a> Thing<'a> {{\n    fn f({method}) {{\n        x: y\n    }}\n}}\n"
        )
    }

    #[test]
    fn a_large_struct_that_a_method_changes_is_found() {
        let check = |text: &str| check_crate(&[source("c/a.rs", text)], "c/", &[]);
        assert_eq!(check(&object(16, "&mut self"))[0].line, 1);
        assert!(check(&object(15, "&mut self")).is_empty());
        assert!(check(&object(16, "&self")).is_empty(), "a plain record");
        let elsewhere = [
            source("c/a.rs", &object(16, "&self")),
            source("c/b.rs", "impl Step for crate::a::Thing<'_> {\n    fn g(&mut self) {}\n}\n"),
        ];
        assert_eq!(check_crate(&elsewhere, "c/", &[]).len(), 1);
    }

    #[test]
    fn the_list_of_large_structs_cannot_rot() {
        let large = [("c/", "Thing", "one table")];
        assert!(check_crate(&[source("c/a.rs", &object(16, "&mut self"))], "c/", &large).is_empty());
        assert!(
            check_crate(&[source("c/a.rs", &object(15, "&mut self"))], "c/", &large)[0].what.contains("take it off")
        );
    }
}
