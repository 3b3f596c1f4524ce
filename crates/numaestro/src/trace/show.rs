//! `numaestro trace show`: draws the run in the terminal, by processor, by application, or one
//! placement.

use super::args::{Rows, ShowArgs};
use super::timeline::Timeline;
use crate::say;
use crate::sim::chart::{self, SIGNS};
use crate::sim::occupancy::Occupancy;
use numaestro_abi::control::letter;
use numaestro_engine::Nanos;
use numaestro_topology::PuId;
use std::fmt::Write;
use std::time::Duration;

/// Columns for the label before a row.
const MARGIN: usize = 22;

/// The subcommand.
pub fn show(args: &ShowArgs) -> anyhow::Result<u8> {
    let timeline = Timeline::read(&args.journal)?;
    let text = if let Some(at) = args.at {
        placement(&timeline, at)
    } else {
        let from = args.from.unwrap_or(0).min(timeline.end);
        let to = args.to.unwrap_or(timeline.end).clamp(from, timeline.end);
        let width = args.width.map_or_else(terminal, usize::from).saturating_sub(MARGIN).max(10);
        match args.by {
            Rows::Processor => by_processor(&timeline, from, to, width),
            Rows::Application => by_application(&timeline, from, to, width),
        }
    };
    say::print(&text)?;
    Ok(say::OK)
}

fn terminal() -> usize {
    crossterm::terminal::size().map_or(100, |(columns, _)| usize::from(columns))
}

/// One line: the run and its length.
fn head(timeline: &Timeline) -> String {
    let seconds = Duration::from_nanos(timeline.end).as_secs_f64();
    format!(
        "policy {}, {seconds:.3} s, {} events, {} applications\n\n",
        timeline.policy,
        timeline.steps,
        timeline.apps.len()
    )
}

/// A letter for the application that had most of each processor's time.
fn by_processor(timeline: &Timeline, from: Nanos, to: Nanos, width: usize) -> String {
    let mut seen = Occupancy::new(timeline.pus.len());
    for (pu, spans) in timeline.pus.iter().enumerate() {
        // Owners only: a guest beside its owner is in the other chart. Where there is no owner, the
        // first guest stands for all.
        let mut end = 0;
        for span in spans.iter().filter(|span| span.to > from && span.from < to) {
            if span.from < end {
                continue;
            }
            let (start, stop) = (span.from.max(from) - from, span.to.min(to) - from);
            seen.runs(start, pu, Some(span.app));
            seen.runs(stop, pu, None);
            end = span.to;
        }
    }
    for &app in timeline.apps.keys() {
        seen.ended(app, &timeline.apps[&app].name.as_str().into());
    }
    let grid = seen.grid(to - from, width);
    format!("{}{}", head(timeline), chart::draw(&grid, &timeline.machine))
}

/// A digit for the number of processors each application had, rounded: `.` none, `+` more than
/// nine, `s` stopped, `w` waiting.
fn by_application(timeline: &Timeline, from: Nanos, to: Nanos, width: usize) -> String {
    let mut text = head(timeline);
    let edge = |column: usize| from + (u128::from(to - from) * column as u128 / width as u128) as Nanos;
    let label = timeline.apps.keys().map(|&app| timeline.name(app).len()).max().unwrap_or(0).clamp(10, 20);
    for (place, (app, row)) in timeline.apps.iter().enumerate() {
        let mut cells = String::new();
        for column in 0..width {
            let (start, stop) = (edge(column), edge(column + 1).max(edge(column) + 1));
            let mut area = 0_u128;
            // Time in each state with no processors; the state with most of it is shown.
            let mut without: Vec<(&str, Nanos)> = Vec::new();
            for phase in row.phases.iter().filter(|phase| phase.to > start && phase.from < stop) {
                let time = phase.to.min(stop) - phase.from.max(start);
                area += u128::from(time) * u128::from(phase.count);
                if phase.count == 0 {
                    without.push((phase.state, time));
                }
            }
            let mean = (area * 2 + u128::from(stop - start)) / (2 * u128::from(stop - start));
            let resting = without.iter().max_by_key(|(_, time)| *time);
            cells.push(match (mean, resting) {
                (0, Some(("stopped", _))) => 's',
                (0, Some(("waiting", _))) => 'w',
                (0, Some(_)) => '.',
                (0, None) => ' ',
                (1..=9, _) => char::from(b'0' + mean as u8),
                _ => '+',
            });
        }
        let _ =
            writeln!(text, "{:>8}  {:>label$.20}  {}", letter(place % SIGNS), timeline.name(*app), cells.trim_end());
    }
    let (from, to) = (Duration::from_nanos(from).as_secs_f64(), Duration::from_nanos(to).as_secs_f64());
    let _ = writeln!(text, "\n{from:.3} s to {to:.3} s; processors: . none  + more than nine  s stopped  w waiting");
    text
}

/// A placement as in Brecht 1993, Fig. 1.2: a letter for each processor, `-` for a free one, nodes
/// apart.
fn placement(timeline: &Timeline, at: Nanos) -> String {
    let at = at.min(timeline.end.saturating_sub(1));
    let mut places = Vec::new();
    let mut nodes: Vec<String> = Vec::new();
    for node in timeline.machine.numa_nodes() {
        let letter = |pu: PuId| {
            let Some(app) = timeline.at(pu, at) else { return '-' };
            let place = timeline.apps.keys().position(|&known| known == app).unwrap_or(0);
            places.push((place, app));
            letter(place % SIGNS)
        };
        nodes.push(node.pus.iter().map(letter).collect());
    }
    places.sort_unstable();
    places.dedup();
    let named: Vec<String> =
        places.iter().map(|&(place, app)| format!("{} {}", letter(place % SIGNS), timeline.name(app))).collect();
    let seconds = Duration::from_nanos(at).as_secs_f64();
    format!(
        "{seconds:.3} s  {}\n         {}\n",
        nodes.join("/"),
        if named.is_empty() { "nobody".into() } else { named.join("  ") }
    )
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::example;
    use super::*;

    #[test]
    fn a_placement_is_a_letter_for_each_processor() {
        let timeline = example();
        let second = 1_000_000_000;
        assert!(placement(&timeline, second / 2).starts_with("0.500 s  AA/AA\n"));
        let both = placement(&timeline, 2 * second);
        assert!(both.starts_with("2.000 s  AA/BB\n") || both.starts_with("2.000 s  BB/AA\n"), "{both}");
        assert!(both.contains("A app 1  B app 2"), "{both}");
    }

    #[test]
    fn a_chart_by_application_counts_processors() {
        let timeline = example();
        let text = by_application(&timeline, 0, timeline.end, 8);
        let row =
            |app: &str| text.lines().find(|line| line.contains(app)).unwrap().split(app).nth(1).unwrap().to_owned();
        assert_eq!(row("app 1").trim_start_matches(' '), "44422244", "{text}");
        assert_eq!(row("app 2").trim(), ".222", "{text}");
    }

    #[test]
    fn a_chart_by_processor_has_a_row_for_each() {
        let timeline = example();
        let text = by_processor(&timeline, 0, timeline.end, 8);
        assert!(text.contains("AAAAAAAA"), "{text}");
        assert!(text.contains("AAABBBAA"), "{text}");
    }
}
