//! The tables of `docs/ABI.md`.
//!
//! The check compares every row that begins with a number and a backticked name with the program:
//! `| 0x040 | `page.a` | u32 | …` for a field (the third cell is its type), `| 1 | `flag.A` | …`
//! for a constant. Every other row is prose.

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Line in the document, from 1.
    pub line: usize,
    /// Offset or value.
    pub number: u64,
    /// Full name.
    pub name: String,
    /// Bytes of the type in the third cell; nothing if that is no type.
    pub size: Option<usize>,
}

/// All rows that the check compares.
pub fn parse(document: &str) -> Vec<Row> {
    let lines = document.lines().enumerate();
    lines.filter_map(|(index, text)| parse_row(index + 1, text)).collect()
}

fn parse_row(line: usize, text: &str) -> Option<Row> {
    let mut cells = text.strip_prefix('|')?.split('|').map(str::trim);
    let number = parse_number(cells.next()?)?;
    let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?.to_owned();
    let size = cells.next().and_then(size_of_type);
    Some(Row { line, number, name, size })
}

fn parse_number(cell: &str) -> Option<u64> {
    match cell.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => cell.parse().ok(),
    }
}

/// Bytes of `u32`, `u64[16]` and the like.
fn size_of_type(cell: &str) -> Option<usize> {
    let (element, count) = match cell.split_once('[') {
        Some((element, rest)) => (element, rest.strip_suffix(']')?.parse().ok()?),
        None => (cell, 1),
    };
    let bytes = match element {
        "u8" => 1,
        "u16" => 2,
        "u32" => 4,
        "u64" => 8,
        _ => return None,
    };
    Some(bytes * count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_fields_and_constants_are_read() {
        let rows =
            parse("text\n| offset | name |\n|---|---|\n| 0x4c | `page.a` | u64[16] | x |\n| 3 | `kind.B` | y |\n");
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].line, rows[0].number, rows[0].size), (4, 0x4c, Some(128)));
        assert_eq!((rows[1].name.as_str(), rows[1].number, rows[1].size), ("kind.B", 3, None));
    }

    #[test]
    fn types_have_sizes() {
        assert_eq!(size_of_type("u32"), Some(4));
        assert_eq!(size_of_type("u8[24]"), Some(24));
        assert_eq!(size_of_type("pointer"), None);
    }
}
