//! Files and functions stay short enough to be read in one go.
//!
//! Functions of Rust are clippy's business (`too_many_lines`); those of C are counted here.

use crate::finding::Finding;
use crate::sources::Source;

/// Lines of a file, tests included.
const FILE_LINES_MAX: usize = 400;
/// Columns of a line of comment.
const COMMENT_COLUMNS_MAX: usize = 100;
/// Lines from the opening to the closing brace of a C function.
const C_FUNCTION_LINES_MAX: usize = 80;

/// Files that may be longer: path, lines, and why. An entry that is not needed any more is itself a
/// finding.
const LONGER: &[(&str, usize, &str)] = &[
    ("client/fold/team.c", 732, "the scheduler: the way of a context through a meeting is one translation unit"),
    ("client/shim/kmp_inside.c", 660, "the constructs of one runtime, over one private table of its entries"),
    ("crates/numaestro/tests/left_behind.rs", 620, "one story, told for each way in which a manager ends"),
];

/// Every file of the list is at most as long as it says, every other one at most
/// [`FILE_LINES_MAX`].
pub fn check_files(sources: &[Source]) -> Vec<Finding> {
    check_files_against(sources, LONGER)
}

fn check_files_against(sources: &[Source], longer: &[(&str, usize, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| matches!(source.extension(), "rs" | "c" | "h")) {
        let lines = source.text.lines().count();
        let entry = longer.iter().find(|(path, ..)| *path == source.path);
        let max = entry.map_or(FILE_LINES_MAX, |(_, max, _)| *max);
        if lines > max {
            findings.push(Finding::new(&source.path, 0, format!("{lines} lines, at most {max}: split it by a noun")));
        } else if entry.is_some() && lines <= FILE_LINES_MAX {
            findings.push(Finding::new(&source.path, 0, "short enough now: take it off the list in xtask"));
        }
    }
    for (path, _, reason) in longer {
        if !sources.iter().any(|source| source.path == *path) {
            findings.push(Finding::new(path, 0, format!("is on xtask's list of long files ({reason}) but is gone")));
        }
    }
    findings
}

/// C functions in the usual form: they begin in the first column and their closing brace stands
/// there.
pub fn check_functions(source: &Source) -> Vec<Finding> {
    if !matches!(source.extension(), "c" | "h") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut head: Option<usize> = None;
    for (index, line) in source.text.lines().enumerate() {
        if line.starts_with('}') {
            if let Some(start) = head.take().filter(|start| index - start > C_FUNCTION_LINES_MAX) {
                let what = format!("function of {} lines, at most {C_FUNCTION_LINES_MAX}", index - start);
                findings.push(Finding::new(&source.path, start + 1, what));
            }
        } else if line.starts_with(|c: char| c.is_alphabetic() || c == '_') && !line.ends_with(':') {
            // `int f(…)`; a structure or a table has no parenthesis in its first line and may be as
            // long as it likes.
            head = line.contains('(').then_some(index);
        }
    }
    findings
}

/// Comments end at a column. Tables, fenced text and indented examples keep their layout.
pub fn check_comments(source: &Source) -> Vec<Finding> {
    if !matches!(source.extension(), "rs" | "c" | "h") {
        return Vec::new();
    }
    let (mut findings, mut fenced) = (Vec::new(), false);
    for (index, line) in source.text.lines().enumerate() {
        let Some(text) = comment(line.trim_start(), source.extension() == "rs") else {
            fenced = false;
            continue;
        };
        let is_fence = text.trim_start().starts_with("```");
        let keeps_layout = fenced || is_fence || text.starts_with('|') || text.starts_with("    ");
        fenced ^= is_fence;
        // A macro of C goes on after the backslash.
        let columns = line.trim_end_matches(['\\', ' ']).chars().count();
        if columns > COMMENT_COLUMNS_MAX && !keeps_layout {
            let what = format!("comment of {columns} columns, at most {COMMENT_COLUMNS_MAX}");
            findings.push(Finding::new(&source.path, index + 1, what));
        }
    }
    findings
}

/// The text of a line that is all comment, without its mark and one space.
fn comment(line: &str, is_rust: bool) -> Option<&str> {
    if !is_rust {
        return line.strip_prefix("/* ").or_else(|| line.strip_prefix("* "));
    }
    let text = line.strip_prefix("//")?.trim_start_matches(['/', '!']);
    Some(text.strip_prefix(' ').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn a_long_file_is_found_unless_it_has_a_reason() {
        let long = "x\n".repeat(FILE_LINES_MAX + 1);
        let sources = [source("a.rs", &long)];
        assert_eq!(check_files_against(&sources, &[]).len(), 1);
        assert_eq!(check_files_against(&sources, &[("a.rs", 500, "one table")]).len(), 0);
        assert_eq!(check_files_against(&sources, &[("a.rs", 400, "one table")]).len(), 1);
    }

    #[test]
    fn the_list_of_long_files_cannot_rot() {
        let sources = [source("a.rs", "x\n")];
        assert!(check_files_against(&sources, &[("a.rs", 500, "one table")])[0].what.contains("take it off"));
        assert!(check_files_against(&sources, &[("b.rs", 500, "one table")])[0].what.contains("gone"));
    }

    #[test]
    fn a_comment_ends_at_its_column() {
        let long = "word ".repeat(20);
        for (path, text, found) in [
            ("a.rs", format!("/// {long}word\n"), 1),
            ("a.rs", format!("/// {}\n", "word ".repeat(19)), 0),
            ("a.rs", format!("/// | {long}word |\n"), 0),
            ("a.rs", format!("//! ```text\n//! {long}word\n//! ```\n//! {long}word\n"), 1),
            ("a.rs", format!("let a = 1; // {long}word\n"), 0),
            ("a.c", format!("/* {long}word */\n"), 1),
            ("a.c", format!("/* a\n * {long}word\n */\n"), 1),
            ("a.c", format!("/* a\n *     {long}word\n */\n"), 0),
            ("a.md", format!("/* {long}word */\n"), 0),
        ] {
            assert_eq!(check_comments(&source(path, &text)).len(), found, "{text}");
        }
    }

    #[test]
    fn long_texts_that_are_no_program_are_fine() {
        let long = "x\n".repeat(FILE_LINES_MAX + 1);
        assert_eq!(check_files_against(&[source("docs/a.md", &long)], &[]).len(), 0);
    }

    #[test]
    fn a_long_c_function_is_found() {
        let body = "    x();\n".repeat(C_FUNCTION_LINES_MAX + 1);
        for head in ["int f(void)\n{\n", "int f(void) {\n", "static int f(int a,\n             int b) {\n"] {
            let found = check_functions(&source("a.c", &format!("{head}{body}}}\n")));
            assert_eq!(found.len(), 1, "{head}");
        }
        let short = "int f(void)\n{\n    x();\n}\n".repeat(60);
        assert_eq!(check_functions(&source("a.c", &short)).len(), 0);
        let table = format!("int table[] = {{\n{body}}};\n");
        assert_eq!(check_functions(&source("a.c", &table)).len(), 0);
    }
}
