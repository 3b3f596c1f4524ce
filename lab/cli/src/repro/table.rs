//! Writes the findings as a table for terminals.

use super::judged::{Judged, measured, tally, trials};
use crate::say::{Tone, paint};
use numaestro_repro::finding::Value;
use numaestro_repro::{Finding, Status};
use std::fmt::Write;

/// Columns of text below the line of a claim.
const WIDTH: usize = 100;
const INDENT: usize = 17;

/// One line for each claim, its reason below it where it has one, and the summaries; the second one
/// is empty where nothing was measured.
pub fn table(judged: &[Judged], evidence: bool, measured_summary: &str, colours: bool) -> String {
    let mut text = String::new();
    let mut before = "";
    for one in judged {
        let Judged { chosen: (paper, claim), finding, .. } = one;
        if before != paper.key {
            let gap = if before.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}", paint(paper.key, Tone::Strong, colours));
            before = paper.key;
        }
        let status = paint(&format!("{:<15}", finding.status.word()), tone(&finding.status), colours);
        let _ = writeln!(text, "{:<14} {} {status} {}", claim.id, claim.kind.sign(), ours(finding));
        let mut line = |word: &str, what: &str| {
            if !what.is_empty() {
                let _ = writeln!(text, "{:INDENT$}{word:<10}{}", "", wrap(what, INDENT + 10, WIDTH));
            }
        };
        line("paper", claim.reported);
        line("demanded", claim.tolerance);
        line("because", finding.status.reason());
        for (word, what) in trials(one).into_iter().chain(measured(one)) {
            line(word, &what);
        }
        if evidence {
            for demand in &finding.evidence {
                let word = if demand.holds { "holds" } else { "missed" };
                let paper = if demand.paper.is_empty() { String::new() } else { format!(" (paper: {})", demand.paper) };
                let off = demand.residual.map_or_else(String::new, |residual| format!(", off by {residual:+.2}"));
                line(word, &format!("{}: {}{off}{paper}", demand.what, demand.ours));
            }
        }
    }
    let _ = writeln!(text, "\n{}", tally(judged));
    if !measured_summary.is_empty() {
        let _ = writeln!(text, "{}", wrap(measured_summary, 0, WIDTH));
    }
    text
}

/// The most telling values: `I(MM) 50.3 ±0.1 %`.
pub fn ours(finding: &Finding) -> String {
    let shown: Vec<String> = finding.ours.iter().take(3).map(value).collect();
    shown.join(", ")
}

/// A value with its name and unit; `≥` where it is a lower bound.
pub fn value(value: &Value) -> String {
    let bound = if value.censored { "≥ " } else { "" };
    format!("{} {bound}{}{}", value.name, value.estimate, unit(value.unit))
}

/// A unit behind a number.
fn unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

fn tone(status: &Status) -> Tone {
    match status {
        Status::Reproduced => Tone::Good,
        Status::NotReproduced(_) => Tone::Bad,
        Status::NoPower(_) | Status::Fragile(_) | Status::Fitted(_) => Tone::Warn,
        Status::NotApplicable(_) | Status::Input(_) | Status::Identity(_) | Status::Duplicate(_) => Tone::Dim,
    }
}

/// Breaks `text` at spaces so that with `indent` columns before it no line is wider than `width`.
pub fn wrap(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 2, 9), "one two\n  three");
        assert_eq!(wrap("incompressible", 2, 5), "incompressible");
    }
}
