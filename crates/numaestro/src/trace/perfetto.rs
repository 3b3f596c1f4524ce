//! Writes trace events as JSON, which Perfetto and Chrome read: a process for the machine with a
//! thread for each processor, a process for each application.
//!
//! **Source**: "Trace Event Format", Chromium project. Times are microseconds; `X` is an interval,
//! `i` a moment, `C` a counter, `M` a name.

use super::timeline::{How, Kind, Mark, Timeline};
use numaestro_engine::Nanos;
use serde_json::{Value, json};
use std::io::{Result, Write};

/// The machine's process number; applications have their own number plus this plus one. Viewers
/// take process 0 and thread 0 for the idle loop of a kernel.
const MACHINE: u64 = 1;
/// The one row of an application.
const STATE: u64 = 1;

/// Writes the whole file.
pub fn write(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    let mut events = Events { out, first: true };
    let head = json!({ "policy": timeline.policy, "processors": timeline.pus.len(), "events": timeline.steps });
    write!(events.out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{head},\"traceEvents\":[")?;
    names(timeline, &mut events)?;
    for (pu, spans) in timeline.pus.iter().enumerate() {
        for span in spans {
            let name = timeline.name(span.app);
            let args = json!({ "how": span.how.name(), "app": span.app });
            // Intervals of one row must nest; several applications on one processor do not, so
            // guests have rows of their own.
            events.interval(MACHINE, row(pu, span.how == How::Guest), &name, span.from, span.to, &args)?;
        }
    }
    for (&app, row) in &timeline.apps {
        for phase in &row.phases {
            let guest = if phase.guest == 0 { String::new() } else { format!(", guest on {}", phase.guest) };
            let name = format!("{}, {}{guest}", phase.state, phase.count);
            let args = json!({ "processors": phase.count, "guest": phase.guest });
            events.interval(process(app), STATE, &name, phase.from, phase.to, &args)?;
            events.counter(process(app), phase.from, phase.count)?;
        }
        if let Some(last) = row.phases.last() {
            events.counter(process(app), last.to, 0)?;
        }
    }
    for mark in &timeline.marks {
        events.moment(mark)?;
    }
    writeln!(events.out, "]}}")
}

fn process(app: u64) -> u64 {
    MACHINE + 1 + app
}

/// The row of a processor, and that of the guests on it.
fn row(pu: usize, guests: bool) -> u64 {
    1 + pu as u64 * 2 + u64::from(guests)
}

fn names(timeline: &Timeline, events: &mut Events) -> Result<()> {
    events.name("process_name", MACHINE, row(0, false), "processors")?;
    for (index, pu) in timeline.machine.pus().iter().enumerate() {
        let place = format!("PU {index} (CPU {}, node {})", pu.os_index, pu.node.index());
        events.name("thread_name", MACHINE, row(index, false), &place)?;
        let guests = timeline.pus[index].iter().any(|span| span.how == How::Guest);
        if guests {
            events.name("thread_name", MACHINE, row(index, true), &format!("PU {index}, guests"))?;
        }
    }
    for &app in timeline.apps.keys() {
        events.name("process_name", process(app), STATE, &timeline.name(Some(app)))?;
        events.name("thread_name", process(app), STATE, "state, processors")?;
    }
    Ok(())
}

/// The list, being written.
struct Events<'a> {
    out: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn push(&mut self, event: &Value) -> Result<()> {
        let comma = if std::mem::take(&mut self.first) { "\n" } else { ",\n" };
        write!(self.out, "{comma}{event}")
    }

    fn name(&mut self, what: &str, pid: u64, tid: u64, name: &str) -> Result<()> {
        self.push(&json!({ "ph": "M", "name": what, "pid": pid, "tid": tid, "args": { "name": name } }))
    }

    fn interval(&mut self, pid: u64, tid: u64, name: &str, from: Nanos, to: Nanos, args: &Value) -> Result<()> {
        self.push(&json!({
            "ph": "X", "name": name, "pid": pid, "tid": tid, "ts": micros(from), "dur": micros(to - from), "args": args
        }))
    }

    fn counter(&mut self, pid: u64, at: Nanos, count: u32) -> Result<()> {
        self.push(
            &json!({ "ph": "C", "name": "processors", "pid": pid, "ts": micros(at), "args": { "processors": count } }),
        )
    }

    fn moment(&mut self, mark: &Mark) -> Result<()> {
        let (pid, scope) = mark.app.map_or((MACHINE, "g"), |app| (process(app), "p"));
        let name = match (mark.kind, mark.text.as_str()) {
            (Kind::Policy, text) => format!("policy {text}"),
            (kind, "") => kind.name().to_owned(),
            (kind, text) => format!("{}: {} ({text})", kind.name(), mark.value),
        };
        let args = json!({ "value": mark.value });
        self.push(
            &json!({ "ph": "i", "s": scope, "name": name, "pid": pid, "tid": STATE, "ts": micros(mark.at), "args": args }),
        )
    }
}

#[allow(clippy::cast_precision_loss)] // Exact below 2^53 ns, a hundred days.
fn micros(at: Nanos) -> f64 {
    at as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::{crowded, example};
    use super::*;

    #[test]
    fn every_processor_and_every_application_has_its_row() {
        let timeline = example();
        let mut text = Vec::new();
        write(&timeline, &mut text).unwrap();
        let trace: Value = serde_json::from_slice(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let of =
            |ph: &str, pid: u64| events.iter().filter(move |event| event["ph"] == ph && event["pid"] == pid).count();
        let spans: usize = timeline.pus.iter().map(Vec::len).sum();
        assert_eq!(of("X", MACHINE), spans);
        assert_eq!(of("X", process(2)), timeline.apps[&2].phases.len());
        assert_eq!(of("i", process(1)) + of("i", process(2)) + of("i", MACHINE), timeline.marks.len());
        // Four processors and the process that holds them.
        assert_eq!(of("M", MACHINE), 5);
        let busy: f64 = events
            .iter()
            .filter(|event| event["ph"] == "X" && event["pid"] == MACHINE && event["args"]["app"] == 2)
            .map(|event| event["dur"].as_f64().unwrap())
            .sum();
        assert!((busy - 3e6).abs() < 1.0, "application 2 had two processors for 1.5 s, in microseconds: {busy}");
        let numbers = |of: &str| events.iter().filter_map(|event| event[of].as_u64()).collect::<Vec<_>>();
        assert!(!numbers("pid").contains(&0) && !numbers("tid").contains(&0), "0 is a kernel's idle loop");
    }

    #[test]
    fn guests_have_rows_and_unmanaged_load_has_a_name() {
        let mut text = Vec::new();
        write(&crowded(), &mut text).unwrap();
        let trace: Value = serde_json::from_slice(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let on_processors = |how: &str, name: &str| {
            let intervals = events.iter().filter(|event| event["ph"] == "X" && event["pid"] == MACHINE);
            intervals.filter(|event| event["args"]["how"] == how && event["name"] == name).count()
        };
        assert!(on_processors("guest", "app 3") > 0 && on_processors("unmanaged", "unmanaged load") > 0, "{trace}");
        assert!(events.iter().any(|event| event["args"]["name"] == "PU 0, guests"), "{trace}");
    }
}
