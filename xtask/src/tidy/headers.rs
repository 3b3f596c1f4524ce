//! Checks that every program file says its purpose at its top.

use crate::finding::Finding;
use crate::sources::Source;

/// Shorter than this says nothing.
const PURPOSE_CHARS_MIN: usize = 20;

/// Rust files begin with `//!`, C files with a block comment.
pub fn check(source: &Source) -> Option<Finding> {
    let purpose = match source.extension() {
        "rs" => rust_header(&source.text),
        "c" | "h" => c_header(&source.text),
        _ => return None,
    };
    let complaint = match purpose {
        None if source.extension() == "rs" => "begin with `//!` and say what this file is for",
        None => "begin with a block comment that says what this file is for",
        Some(text) if text.chars().count() < PURPOSE_CHARS_MIN => "the header says too little: what is this file for?",
        Some(_) => return None,
    };
    Some(Finding::new(&source.path, 1, complaint))
}

fn rust_header(text: &str) -> Option<String> {
    let lines = text.lines().take_while(|line| line.starts_with("//!"));
    let header: Vec<&str> = lines.map(|line| line[3..].trim()).collect();
    (!header.is_empty()).then(|| header.join(" ").trim().to_owned())
}

fn c_header(text: &str) -> Option<String> {
    let (comment, _) = text.strip_prefix("/*")?.split_once("*/")?;
    // The licence's tag may share the block, but is no purpose.
    let lines = comment.lines().filter(|line| !line.contains("SPDX-License-Identifier"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).filter(|word| *word != "*").collect();
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source;

    fn passes(path: &str, text: &str) -> bool {
        check(&source(path, text)).is_none()
    }

    #[test]
    fn rust_needs_a_purpose() {
        assert!(passes("a.rs", "//! Reads the machine from sysfs.\nfn f() {}"));
        assert!(!passes("a.rs", "fn f() {}"));
        assert!(!passes("a.rs", "// Reads the machine from sysfs.\nfn f() {}"));
        assert!(!passes("a.rs", "//! Stuff.\nfn f() {}"));
    }

    #[test]
    fn c_needs_a_purpose() {
        assert!(passes("a.c", "/*\n * fft.c - transforms, and checks the result.\n */\n#include <x.h>"));
        assert!(!passes("a.h", "#ifndef A_H\n/* fft.c - transforms, and checks it. */"));
        assert!(!passes("a.c", "/* SPDX-License-Identifier: MIT OR Apache-2.0 */\nint x;"));
    }

    #[test]
    fn other_files_need_none() {
        assert!(passes("Makefile", "all:"));
        assert!(passes("README.md", "# x"));
    }
}
