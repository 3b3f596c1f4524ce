//! Compares the three descriptions of the shared page and the messages: Rust, C and `docs/ABI.md`.
//!
//! `layout` asks the Rust compiler, `probe` the C compiler, `table` reads the document, each
//! without the others.

mod layout;
mod probe;
mod table;

use std::path::Path;

use anyhow::{Context, Result};

use crate::finding::Finding;

/// The document with the tables.
const DOCUMENT: &str = "docs/ABI.md";

/// A field by its full name (`page.manager.epoch`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Structure and path in it.
    pub name: String,
    /// Bytes from the beginning of the page or message.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
}

/// A constant that both sides must agree on (`flag.SHARED`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// Group and name.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// Its name in C; empty where the C side does not need it.
    pub c_name: &'static str,
}

/// Compares Rust with C and with the document.
pub fn run(root: &Path) -> Result<Vec<Finding>> {
    let fields = layout::fields();
    let constants = layout::constants();
    let document = std::fs::read_to_string(root.join(DOCUMENT)).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let mut findings = compare_with_table(&fields, &constants, &table::parse(&document));
    let answers = probe::ask(root, &fields, &constants)?;
    findings.extend(compare_with_probe(&fields, &constants, &answers));
    Ok(findings)
}

fn compare_with_table(fields: &[Field], constants: &[Constant], rows: &[table::Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for field in fields {
        match rows.iter().find(|row| row.name == field.name) {
            None => findings.push(Finding::new(DOCUMENT, 0, format!("`{}` has no row", field.name))),
            Some(row) if row.number != field.offset as u64 || row.size != Some(field.size) => {
                let what = format!("`{}` is {} bytes at {:#05x} in Rust", field.name, field.size, field.offset);
                findings.push(Finding::new(DOCUMENT, row.line, what));
            }
            Some(_) => {}
        }
    }
    for constant in constants {
        match rows.iter().find(|row| row.name == constant.name) {
            None => findings.push(Finding::new(DOCUMENT, 0, format!("`{}` has no row", constant.name))),
            Some(row) if row.number != constant.value => {
                let what = format!("`{}` is {:#x} in Rust", constant.name, constant.value);
                findings.push(Finding::new(DOCUMENT, row.line, what));
            }
            Some(_) => {}
        }
    }
    for row in rows {
        let known = fields.iter().any(|field| field.name == row.name)
            || constants.iter().any(|constant| constant.name == row.name);
        if !known {
            findings.push(Finding::new(DOCUMENT, row.line, format!("`{}` does not exist in Rust", row.name)));
        }
    }
    findings
}

fn compare_with_probe(fields: &[Field], constants: &[Constant], answers: &[probe::Answer]) -> Vec<Finding> {
    let seen = |name: &str| answers.iter().find(|answer| answer.name == name);
    let mut findings = Vec::new();
    for field in fields {
        let in_c = seen(&field.name).map(|answer| (answer.number, answer.size));
        if in_c != Some((field.offset as u64, field.size)) {
            let what =
                format!("`{}` is {} bytes at {:#05x} in Rust, {in_c:?} in C", field.name, field.size, field.offset);
            findings.push(Finding::new(probe::HEADERS[0], 0, what));
        }
    }
    for constant in constants.iter().filter(|constant| !constant.c_name.is_empty()) {
        let in_c = seen(&constant.name).map(|answer| answer.number);
        if in_c != Some(constant.value) {
            let what = format!("`{}` is {:#x} in Rust, {in_c:?} in C", constant.c_name, constant.value);
            findings.push(Finding::new(probe::HEADERS[0], 0, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(offset: usize, size: usize) -> Vec<Field> {
        vec![Field { name: "page.a".to_owned(), offset, size }]
    }

    fn constant(value: u64) -> Vec<Constant> {
        vec![Constant { name: "flag.A".to_owned(), value, c_name: "NM_A" }]
    }

    const DOCUMENT_TEXT: &str = "| 0x040 | `page.a` | u32 | x |\n| 2 | `flag.A` | x |\n";

    #[test]
    fn a_document_that_agrees_passes() {
        assert_eq!(compare_with_table(&field(0x40, 4), &constant(2), &table::parse(DOCUMENT_TEXT)), []);
    }

    #[test]
    fn a_document_that_differs_is_found() {
        let rows = table::parse(DOCUMENT_TEXT);
        assert_eq!(compare_with_table(&field(0x44, 4), &constant(2), &rows).len(), 1, "offset");
        assert_eq!(compare_with_table(&field(0x40, 8), &constant(2), &rows).len(), 1, "size");
        assert_eq!(compare_with_table(&field(0x40, 4), &constant(1), &rows).len(), 1, "value");
        assert_eq!(compare_with_table(&[], &constant(2), &rows).len(), 1, "row too many");
        assert_eq!(compare_with_table(&field(0x40, 4), &constant(2), &rows[1..]).len(), 1, "row missing");
    }

    #[test]
    fn a_c_side_that_differs_is_found() {
        let answer = |number, size| vec![probe::Answer { name: "page.a".to_owned(), number, size }];
        assert_eq!(compare_with_probe(&field(0x40, 4), &[], &answer(0x40, 4)).len(), 0);
        assert_eq!(compare_with_probe(&field(0x40, 4), &[], &answer(0x44, 4)).len(), 1);
        assert_eq!(compare_with_probe(&field(0x40, 4), &[], &answer(0x40, 8)).len(), 1);
        assert_eq!(compare_with_probe(&field(0x40, 4), &[], &[]).len(), 1);
        assert_eq!(compare_with_probe(&[], &constant(2), &[]).len(), 1);
    }
}
