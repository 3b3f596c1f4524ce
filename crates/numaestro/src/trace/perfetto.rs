//! Writes trace events as JSON, which Perfetto and Chrome read: a process for the machine with a
//! thread for each processor, a process for each application.
//!
//! **Source**: "Trace Event Format", Chromium project. Times are microseconds; `X` is an interval,
//! `i` a moment, `C` a counter, `M` a name.

use super::timeline::{Kind, Mark, Timeline};
use numaestro_engine::Nanos;
use serde_json::{Value, json};
use std::io::{Result, Write};

/// The machine's process number; applications have their own number plus this plus one.
const MACHINE: u64 = 0;

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
            let row = pu as u64 * 2 + u64::from(span.how == super::timeline::How::Guest);
            events.interval(MACHINE, row, &name, span.from, span.to, &args)?;
        }
    }
    for (&app, row) in &timeline.apps {
        for phase in &row.phases {
            let name = format!("{}, {}", phase.state, phase.count);
            let args = json!({ "processors": phase.count });
            events.interval(process(app), 0, &name, phase.from, phase.to, &args)?;
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

fn names(timeline: &Timeline, events: &mut Events) -> Result<()> {
    events.name("process_name", MACHINE, 0, "processors")?;
    for (index, pu) in timeline.machine.pus().iter().enumerate() {
        let place = format!("PU {index} (CPU {}, node {})", pu.os_index, pu.node.index());
        events.name("thread_name", MACHINE, index as u64 * 2, &place)?;
        let guests = timeline.pus[index].iter().any(|span| span.how == super::timeline::How::Guest);
        if guests {
            events.name("thread_name", MACHINE, index as u64 * 2 + 1, &format!("PU {index}, guests"))?;
        }
    }
    for &app in timeline.apps.keys() {
        events.name("process_name", process(app), 0, &timeline.name(app))?;
        events.name("thread_name", process(app), 0, "state, processors")?;
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
            &json!({ "ph": "i", "s": scope, "name": name, "pid": pid, "tid": 0, "ts": micros(mark.at), "args": args }),
        )
    }
}

#[allow(clippy::cast_precision_loss)] // Exact below 2^53 ns, a hundred days.
fn micros(at: Nanos) -> f64 {
    at as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::example;
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
    }
}
