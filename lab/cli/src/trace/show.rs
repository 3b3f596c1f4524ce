//! `numaestro trace show`: draws the run in the terminal, by processor, by application, or one
//! placement.

use super::args::{Rows, ShowArgs};
use super::timeline::{How, Span, Timeline};
use crate::say::{self, counted};
use crate::sim::chart::{self, IDLE, Row, SIGNS};
use numaestro_abi::control::letter;
use numaestro_engine::Nanos;
use numaestro_topology::{PuId, PuSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Stands for load that is not managed, as in `status`.
const UNMANAGED: char = 'x';
/// Stands for more than one guest at a time.
const SEVERAL: char = '+';

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
        "policy {}, {seconds:.3} s, {}, {}\n\n",
        timeline.policy,
        counted(timeline.steps as usize, "event"),
        counted(timeline.apps.len(), "application")
    )
}

/// Two rows for each processor: a letter for whoever had most of its time, and, if there were any,
/// the guests there. Neighbours with equal rows are drawn once.
fn by_processor(timeline: &Timeline, from: Nanos, to: Nanos, width: usize) -> String {
    let letters = letters(timeline);
    let sign = |app: Option<u64>| app.map_or(UNMANAGED, |app| letters[&app]);
    // Processors that are neighbours, with their owners' cells and their guests'.
    let mut bands: Vec<(usize, usize, usize, [String; 2])> = Vec::new();
    for (pu, place) in timeline.machine.pus().iter().enumerate() {
        let node = place.node.index();
        let of = |guests: bool| -> Vec<&Span> {
            timeline.pus[pu].iter().filter(|span| (span.how == How::Guest) == guests).collect()
        };
        let cell = |spans: &[&Span], column: usize| {
            let (start, stop) = column_of(from, to, column, width);
            let mut times: BTreeMap<Option<u64>, Nanos> = BTreeMap::new();
            for span in spans.iter().filter(|span| span.to > start && span.from < stop) {
                *times.entry(span.app).or_default() += span.to.min(stop) - span.from.max(start);
            }
            let all: Nanos = times.values().sum();
            match times.into_iter().max_by_key(|&(app, time)| (time, Reverse(app))) {
                // Two at once, on average, are three halves of the time.
                _ if all * 2 > (stop - start) * 3 => SEVERAL,
                Some((app, time)) if time >= (stop - start).saturating_sub(all) => sign(app),
                _ => IDLE,
            }
        };
        let cells = [of(false), of(true)].map(|spans| (0..width).map(|column| cell(&spans, column)).collect());
        match bands.last_mut() {
            Some(band) if band.2 == node && band.3 == cells => band.1 = pu,
            _ => bands.push((pu, pu, node, cells)),
        }
    }
    let mut rows = Vec::new();
    for (first, last, node, [own, guests]) in bands {
        rows.push(Row { node, label: chart::label(first, last), cells: own });
        if guests.chars().any(|sign| sign != IDLE) {
            rows.push(Row { node, label: "guests".to_owned(), cells: guests });
        }
    }
    let has = |sign: char| rows.iter().any(|row| row.cells.contains(sign));
    let signs: Vec<String> = [(UNMANAGED, "unmanaged load"), (SEVERAL, "several guests")]
        .into_iter()
        .filter(|(sign, _)| has(*sign))
        .map(|(sign, meaning)| format!("{sign} {meaning}  "))
        .collect();
    let names: Vec<(usize, String)> =
        timeline.apps.keys().enumerate().map(|(place, &app)| (place, timeline.name(Some(app)))).collect();
    format!(
        "{}{}",
        head(timeline),
        chart::framed(&rows, (from, to), &chart::legend(names.into_iter(), &signs.concat()))
    )
}

/// The letter of each application, the same in every chart.
fn letters(timeline: &Timeline) -> BTreeMap<u64, char> {
    timeline.apps.keys().enumerate().map(|(place, &app)| (app, letter(place % SIGNS))).collect()
}

/// The time of a column.
fn column_of(from: Nanos, to: Nanos, column: usize, width: usize) -> (Nanos, Nanos) {
    let edge = |column: usize| from + (u128::from(to - from) * column as u128 / width as u128) as Nanos;
    (edge(column), edge(column + 1).max(edge(column) + 1))
}

/// A digit for the number of processors each application had, rounded: `.` none, `+` more than
/// nine, `g` guest on others', `s` stopped, `w` waiting. Load that is not managed has the last row.
fn by_application(timeline: &Timeline, from: Nanos, to: Nanos, width: usize) -> String {
    let mut text = head(timeline);
    let letters = letters(timeline);
    let label = timeline.rows().map(|(app, _)| timeline.name(app).len()).max().unwrap_or(0).clamp(10, 20);
    for (app, row) in timeline.rows() {
        let mut cells = String::new();
        for column in 0..width {
            let (start, stop) = column_of(from, to, column, width);
            let mut area = 0_u128;
            // Time in each state with no processors; the state with most of it is shown.
            let mut without: Vec<(&str, Nanos)> = Vec::new();
            for phase in row.phases.iter().filter(|phase| phase.to > start && phase.from < stop) {
                let time = phase.to.min(stop) - phase.from.max(start);
                area += u128::from(time) * u128::from(phase.count);
                if phase.count == 0 {
                    without.push((if phase.guest > 0 { How::Guest.name() } else { phase.state }, time));
                }
            }
            let mean = (area * 2 + u128::from(stop - start)) / (2 * u128::from(stop - start));
            let resting = without.iter().max_by_key(|(_, time)| *time);
            cells.push(match (mean, resting) {
                (0, Some(("guest", _))) => 'g',
                (0, Some(("stopped", _))) => 's',
                (0, Some(("waiting", _))) => 'w',
                (0, Some(_)) => '.',
                (0, None) => ' ',
                (1..=9, _) => char::from(b'0' + mean as u8),
                _ => '+',
            });
        }
        let sign = app.map_or(UNMANAGED, |app| letters[&app]);
        let _ = writeln!(text, "{sign:>8}  {:>label$.20}  {}", timeline.name(app), cells.trim_end());
    }
    let (from, to) = (Duration::from_nanos(from).as_secs_f64(), Duration::from_nanos(to).as_secs_f64());
    let _ = writeln!(
        text,
        "\n{from:.3} s to {to:.3} s; processors: . none  + more than nine  g guest on others'  s stopped  w waiting"
    );
    text
}

/// A placement as in Brecht 1993, Fig. 1.2: a letter for each processor, `-` for a free one, nodes
/// apart; guests have a line of their own.
fn placement(timeline: &Timeline, at: Nanos) -> String {
    let at = at.min(timeline.end.saturating_sub(1));
    let letters = letters(timeline);
    let sign = |app: Option<u64>| app.map_or(UNMANAGED, |app| letters[&app]);
    let mut there: BTreeMap<Option<u64>, String> = BTreeMap::new();
    let mut guests: BTreeMap<Option<u64>, PuSet> = BTreeMap::new();
    let mut nodes: Vec<String> = Vec::new();
    for node in timeline.machine.numa_nodes() {
        let letter = |pu: PuId| {
            let spans = timeline.at(pu, at);
            for span in &spans {
                there.insert(span.app, format!("{} {}", sign(span.app), timeline.name(span.app)));
                if span.how == How::Guest {
                    guests.entry(span.app).or_default().insert(pu);
                }
            }
            spans.first().map_or('-', |span| sign(span.app))
        };
        nodes.push(node.pus.iter().map(letter).collect());
    }
    let seconds = Duration::from_nanos(at).as_secs_f64();
    let named = if there.is_empty() { "nobody".into() } else { there.into_values().collect::<Vec<_>>().join("  ") };
    let guests: Vec<String> = guests.into_iter().map(|(app, on)| format!("{} on {on}", sign(app))).collect();
    let guests = if guests.is_empty() { String::new() } else { format!("         guests: {}\n", guests.join("  ")) };
    format!("{seconds:.3} s  {}\n         {named}\n{guests}", nodes.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::{crowded, example};
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
        assert!(!text.contains("guests") && !text.contains("unmanaged"), "{text}");
        let part = by_processor(&timeline, timeline.end / 2, timeline.end, 20);
        assert!(part.lines().any(|line| line.contains("2.00 s") && line.ends_with("4.00 s")), "{part}");
    }

    #[test]
    fn guests_and_unmanaged_load_are_shown() {
        let timeline = crowded();
        let text = by_processor(&timeline, 0, timeline.end, 10);
        let rows = |label: &str| -> Vec<&str> {
            text.lines().filter(|line| line.contains(label)).filter_map(|line| line.split(label).nth(1)).collect()
        };
        assert!(rows("guests  ").iter().any(|cells| cells.contains("CCCC")), "{text}");
        assert!(text.lines().any(|line| line.contains("pu ") && line.contains("xx")), "{text}");
        assert!(text.contains("x unmanaged load") && text.contains("C app 3"), "{text}");
        let text = by_application(&timeline, 0, timeline.end, 10);
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
        assert!(row("app 3").contains("gggg"), "{text}");
        assert!(row("unmanaged load").starts_with("       x") && row("unmanaged load").contains("11"), "{text}");
        let at = placement(&timeline, 2_000_000_000);
        assert!(at.contains("C app 3") && at.contains("guests: C on "), "{at}");
        let at = placement(&timeline, timeline.end - 1);
        assert!((at.contains("Ax\n") || at.contains("xA\n")) && at.contains("x unmanaged load"), "{at}");
    }
}
