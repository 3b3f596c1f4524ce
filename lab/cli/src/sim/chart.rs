//! The occupancy chart in the terminal: one row for each processor, time across, a letter for each
//! application.

use super::occupancy::Grid;
use numaestro_abi::control;
use numaestro_topology::Machine;
use std::fmt::Write;

/// Applications that have letters of their own.
pub const SIGNS: usize = 51;
/// Stands for nobody.
pub const IDLE: char = '.';
/// Applications named below the chart.
const NAMED: usize = 16;

/// Rows that are equal and neighbours, on one node, are drawn once.
#[derive(Debug, PartialEq)]
pub struct Band<'a> {
    /// First processor, logical index.
    pub first: usize,
    /// Last processor, logical index.
    pub last: usize,
    /// Its node.
    pub node: usize,
    /// The application that had it, by column.
    pub cells: &'a [Option<u64>],
}

/// The rows of a grid, equal neighbours of one node as one.
pub fn bands<'a>(grid: &'a Grid, machine: &Machine) -> Vec<Band<'a>> {
    let mut bands: Vec<Band<'a>> = Vec::new();
    for (pu, cells) in machine.pus().iter().zip(&grid.rows) {
        let (pu, node) = (pu.id.index(), pu.node.index());
        match bands.last_mut() {
            Some(band) if band.node == node && band.cells == cells.as_slice() => band.last = pu,
            _ => bands.push(Band { first: pu, last: pu, node, cells }),
        }
    }
    bands
}

/// Place of an application among the grid's applications, for its letter and its colour.
pub fn place(grid: &Grid, job: u64) -> usize {
    grid.jobs.binary_search_by_key(&job, |(known, _)| *known).unwrap_or(0)
}

/// Draws it.
pub fn draw(grid: &Grid, machine: &Machine) -> String {
    let sign = |cell: &Option<u64>| cell.map_or(IDLE, |job| control::letter(place(grid, job) % SIGNS));
    let rows: Vec<Row> = bands(grid, machine)
        .iter()
        .map(|band| Row {
            node: band.node,
            label: label(band.first, band.last),
            cells: band.cells.iter().map(sign).collect(),
        })
        .collect();
    let names = grid.jobs.iter().enumerate().map(|(at, (job, program))| (at, format!("{job} {program}")));
    framed(&rows, (0, grid.end), &legend(names, ""))
}

/// A row of letters.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The node that it belongs to.
    pub node: usize,
    /// What stands before it.
    pub label: String,
    /// A letter for each column.
    pub cells: String,
}

/// Rows with their labels, the times below them, and the legend.
pub fn framed(rows: &[Row], (from, to): (u64, u64), legend: &str) -> String {
    let width = rows.iter().map(|row| row.label.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut node = None;
    for Row { node: of, label, cells } in rows {
        let named = if node == Some(*of) { String::new() } else { format!("node {of}") };
        node = Some(*of);
        let _ = writeln!(text, "{named:>8}  {label:>width$}  {cells}");
    }
    let columns = rows.first().map_or(0, |row| row.cells.chars().count());
    format!("{text}{}{legend}", axis((from, to), columns, width + 12))
}

/// The label of processors that are neighbours.
pub fn label(first: usize, last: usize) -> String {
    if first == last { format!("pu {first}") } else { format!("pu {first}-{last}") }
}

/// The beginning, the middle (where there is room) and the end of time.
fn axis((from, to): (u64, u64), columns: usize, indent: usize) -> String {
    let (begin, middle, end) = (duration(from), duration(from.midpoint(to)), duration(to));
    let half = columns / 2;
    let rest = columns.saturating_sub(half);
    if middle.len() + 2 + end.len() > rest {
        return format!("{:indent$}{begin}{end:>width$}\n", "", width = columns.saturating_sub(begin.len()));
    }
    format!("{:indent$}{begin:half$}{middle}{end:>width$}\n", "", width = rest - middle.len())
}

/// The meaning of the signs: of nobody's, of others that stand in `signs`, and of the letters of
/// applications, which are given by their places and names.
pub fn legend(names: impl ExactSizeIterator<Item = (usize, String)>, signs: &str) -> String {
    let all = names.len();
    let list: Vec<String> = names
        .take(NAMED)
        .map(|(place, name)| format!("{} {name}", control::letter(place % SIGNS)).trim_end().to_owned())
        .collect();
    let more = all.saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!("  and {more} more, lettered in the same order") };
    let again = if all > SIGNS { " (letters come again)" } else { "" };
    format!("{IDLE} nobody  {signs}{}{more}{again}\n", list.join("  "))
}

/// A time for people: three digits and a unit.
pub fn duration(ns: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1, "ns"), (1_000, "us"), (1_000_000, "ms"), (1_000_000_000, "s")];
    if ns == 0 {
        return "0".to_owned();
    }
    let (size, unit) = UNITS.into_iter().rev().find(|&(size, _)| ns >= size).unwrap_or(UNITS[0]);
    let value = ns as f64 / size as f64;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::super::occupancy::Occupancy;
    use super::*;

    fn machine() -> Machine {
        numaestro_topology::synthetic::parse("numa:2 core:2 pu:1").expect("a machine")
    }

    #[test]
    fn a_snapshot_as_in_the_papers() {
        let mut seen = Occupancy::new(4);
        for pu in 0..2 {
            seen.runs(0, pu, Some(0));
        }
        seen.runs(500_000_000, 2, Some(3));
        seen.ended(0, &"mm".into());
        seen.ended(3, &"sor".into());
        let expected = "  node 0  pu 0-1  AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
  node 1    pu 2  ...............BBBBBBBBBBBBBBB
            pu 3  ..............................
                  0              500 ms   1.00 s
. nobody  A 0 mm  B 3 sor
";
        assert_eq!(draw(&seen.grid(1_000_000_000, 30), &machine()), expected);
        let narrow = draw(&seen.grid(1_000_000_000, 10), &machine());
        assert!(narrow.contains("                  0   1.00 s\n"), "{narrow}");
    }

    #[test]
    fn more_applications_than_letters() {
        let mut seen = Occupancy::new(1);
        for job in 0..60 {
            seen.runs(job * 1000, 0, Some(job));
        }
        let text = draw(&seen.grid(60_000, 60), &numaestro_topology::synthetic::parse("core:1 pu:1").expect("one"));
        assert!(text.contains("and 44 more") && text.contains("letters come again"), "{text}");
        assert!(text.contains("yzABCDEFGHI"), "{text}");
    }

    #[test]
    fn times_for_people() {
        for (ns, expected) in
            [(0, "0"), (999, "999 ns"), (1_500, "1.50 us"), (25_000_000, "25.0 ms"), (3_600_000_000_000, "3600 s")]
        {
            assert_eq!(duration(ns), expected);
        }
    }
}
