//! Writes a trace of Perfetto: the processors are tracks below their node, the applications are
//! tracks of their states. Below each application stand its decisions and its processors.
//!
//! `proto` has the messages of the format, `packets` writes them. **Source**: "Converting arbitrary
//! timestamped data to Perfetto", documentation of the Perfetto project.

mod packets;
mod proto;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire;

use super::timeline::{AppRow, How, Kind, Mark, Phase, Span, Timeline};
use packets::{Packets, Track};
use proto::DebugAnnotation;
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// Writes the whole file.
pub fn write(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    let mut packets = Packets::new(out);
    if timeline.dated {
        packets.date(timeline.began)?;
    }
    let decisions = machine(timeline, &mut packets)?;
    processors(timeline, &mut packets)?;
    let decisions_of = applications(timeline, &mut packets)?;
    for mark in &timeline.marks {
        // An event may name an application that never was there.
        let track = mark.app.and_then(|app| decisions_of.get(&app)).copied().unwrap_or(decisions);
        moment(track, mark, &mut packets)?;
    }
    Ok(())
}

/// Writes what belongs to no application, and gives the track for the decisions among it.
fn machine(timeline: &Timeline, packets: &mut Packets) -> Result<Track> {
    let about = format!("policy {} at first, {} events", timeline.policy, timeline.steps);
    let machine = packets.track(None, "machine", Some(about))?;
    let decisions = packets.track(Some(machine), "decisions", None)?;
    let free = packets.counter(machine, "free processors")?;
    for &(at, count) in &timeline.free {
        packets.count(free, at, count)?;
    }
    if timeline.rows().any(|(app, _)| app.is_none()) {
        let name = timeline.name(None);
        counts(&timeline.unmanaged, packets.counter(machine, &name)?, |phase| phase.count, packets)?;
    }
    Ok(decisions)
}

/// Writes who is on which processor.
fn processors(timeline: &Timeline, packets: &mut Packets) -> Result<()> {
    let all = packets.track(None, "processors", None)?;
    for node in timeline.machine.numa_nodes().iter().filter(|node| !node.is_memory_only()) {
        let track = packets.track(Some(all), &format!("node {}", node.os_index), None)?;
        for pu in &node.pus {
            let name = format!("PU {} (CPU {})", pu.index(), timeline.machine.pus()[pu.index()].os_index);
            let spans = &timeline.pus[pu.index()];
            let (guests, holders): (Vec<&Span>, Vec<&Span>) = spans.iter().partition(|span| span.how == How::Guest);
            let holders = lanes(holders);
            // A processor that nobody ever has is a row, too.
            for lane in holders.iter().chain(holders.is_empty().then_some(&Vec::new())) {
                occupants(timeline, packets.track(Some(track), &name, None)?, lane, packets)?;
            }
            for lane in lanes(guests) {
                let track = packets.track(Some(track), &format!("PU {}, guests", pu.index()), None)?;
                occupants(timeline, track, &lane, packets)?;
            }
        }
    }
    Ok(())
}

fn occupants(timeline: &Timeline, track: Track, spans: &[&Span], packets: &mut Packets) -> Result<()> {
    for span in spans {
        let name = timeline.name(span.app);
        let mut arguments = vec![DebugAnnotation::text("how", span.how.name())];
        arguments.extend(span.app.map(|app| DebugAnnotation::number("application", app)));
        packets.slice(track, (span.from, span.to), &name, arguments)?;
    }
    Ok(())
}

/// Divides spans among as few tracks as hold them one after the other: viewers take intervals of a
/// track that overlap for calls of each other. They draw tracks of the same name as one row.
fn lanes(spans: Vec<&Span>) -> Vec<Vec<&Span>> {
    let mut lanes: Vec<Vec<&Span>> = Vec::new();
    for span in spans {
        match lanes.iter_mut().find(|lane| lane.last().is_none_or(|last| last.to <= span.from)) {
            Some(lane) => lane.push(span),
            None => lanes.push(vec![span]),
        }
    }
    lanes
}

/// Writes the states and the processors of applications, and gives the tracks for their decisions.
fn applications(timeline: &Timeline, packets: &mut Packets) -> Result<BTreeMap<u64, Track>> {
    let all = packets.track(None, "applications", None)?;
    let mut decisions = BTreeMap::new();
    for (&app, row) in &timeline.apps {
        let states = packets.track(Some(all), &timeline.name(Some(app)), None)?;
        for phase in &row.phases {
            let arguments = vec![
                DebugAnnotation::number("processors", phase.count),
                DebugAnnotation::number("guest_on", phase.guest),
            ];
            packets.slice(states, (phase.from, phase.to), phase.state, arguments)?;
        }
        decisions.insert(app, packets.track(Some(states), "decisions", None)?);
        counts(row, packets.counter(states, "processors")?, |phase| phase.count, packets)?;
        if row.phases.iter().any(|phase| phase.guest > 0) {
            counts(row, packets.counter(states, "guest on")?, |phase| phase.guest, packets)?;
        }
    }
    Ok(decisions)
}

/// Writes a number of each phase, where it changes, and 0 at the end.
fn counts(row: &AppRow, track: Track, number: impl Fn(&Phase) -> u32, packets: &mut Packets) -> Result<()> {
    let mut latest = None;
    for phase in &row.phases {
        let now = number(phase);
        if latest.replace(now) != Some(now) {
            packets.count(track, phase.from, now)?;
        }
    }
    match row.phases.last() {
        Some(last) => packets.count(track, last.to, 0),
        None => Ok(()),
    }
}

fn moment(track: Track, mark: &Mark, packets: &mut Packets) -> Result<()> {
    let name = match (mark.kind, mark.text.as_str()) {
        (Kind::Policy, text) => format!("policy {text}"),
        (kind, "") => kind.name().to_owned(),
        (kind, text) => format!("{}: {} ({text})", kind.name(), mark.value),
    };
    let mut arguments = vec![DebugAnnotation::text("event", mark.kind.name())];
    arguments.extend(mark.app.map(|app| DebugAnnotation::number("application", app)));
    arguments.push(DebugAnnotation::number("value", mark.value));
    arguments.extend((!mark.text.is_empty()).then(|| DebugAnnotation::text("text", mark.text.as_str())));
    packets.instant(track, mark.at, name, arguments)
}
