//! Tables of text: each column is as wide as its widest field, with two blanks between columns.

use crate::say::{Tone, paint};

/// The side on which the fields of a column stand. Those of the first column stand to the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The lines, without blanks at their ends. A column without any text takes no room.
pub fn lines<R: AsRef<[String]>>(rows: &[R], side: Side) -> Vec<String> {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| rows.iter().map(|row| row.as_ref()[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &R| {
        let fields =
            row.as_ref().iter().zip(&widths).enumerate().filter(|(column, (_, width))| *column == 0 || **width > 0);
        let aligned = fields.map(|(column, (field, &width))| {
            if column == 0 || side == Side::Left { format!("{field:width$}") } else { format!("{field:>width$}") }
        });
        aligned.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Writes the rows as a table with its fields to the left and the first row as its head.
pub fn headed<R: AsRef<[String]>>(rows: &[R], colours: bool) -> String {
    let mut lines = lines(rows, Side::Left);
    if let Some(head) = lines.first_mut() {
        *head = paint(head, Tone::Strong, colours);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_field() {
        let rows = [["", "n", "", "who"], ["x", "100", "", "é"], ["yy", "2", "", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(lines(&rows, Side::Left), ["    n    who", "x   100  é", "yy  2"]);
        assert_eq!(lines(&rows, Side::Right), ["      n  who", "x   100    é", "yy    2"]);
        assert!(headed(&rows, true).lines().next().is_some_and(|head| head.contains('\x1b')));
        assert!(lines::<[String; 0]>(&[], Side::Left).is_empty());
    }
}
