//! Writes the four text files of Paraver: records (.prv), the meaning of their numbers (.pcf),
//! names of rows (.row), windows that show them (.cfg).
//!
//! An application is a Paraver application with a task for each node, and each processor it has at
//! once there is a thread (`layout`); load that is not managed is the last application; a processor
//! is a CPU of its node. So Paraver shows the run by processor and by application. **Source**:
//! Pillet, Labarta, Cortés, Girona, "PARAVER: A Tool to Visualize and Analyse Parallel Code", 1995;
//! the format's description of the Barcelona Supercomputing Center, and its program `paramedir`,
//! which reads records and windows.

mod date;
mod layout;
#[cfg(test)]
mod tests;
mod windows;

use super::timeline::{How, Kind, Timeline};
use layout::{Layout, Place};
use numaestro_engine::Nanos;
use numaestro_topology::PuId;
use std::fmt::Write as _;
use std::io::{Result, Write};
pub use windows::windows;

/// Added to the number of a kind of mark: numbers of our own, far from those of other tools.
const EVENT_BASE: u32 = 77_000_000;
/// The event type that carries the number of an application's processors.
const COUNT: u32 = EVENT_BASE;

/// States of applications and of their threads, by their numbers in the file.
const STATES: [(&str, (u8, u8, u8)); 10] = [
    ("idle", (200, 200, 200)),
    ("running", (0, 90, 181)),
    ("leaving", (230, 159, 0)),
    ("guest", (86, 180, 233)),
    ("waiting", (240, 228, 66)),
    ("stopped", (213, 94, 0)),
    ("sequential", (0, 158, 115)),
    ("blocked", (204, 121, 167)),
    ("wrapper", (150, 150, 150)),
    ("unmanaged", (90, 90, 90)),
];

fn state(name: &str) -> usize {
    STATES.iter().position(|(known, _)| *known == name).unwrap_or(0)
}

fn of(how: How) -> usize {
    state(how.name())
}

/// One record and its sort key: time, then states before events.
type Record = (Nanos, u8, String);

/// Writes the .prv file.
pub fn records(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    let layout = Layout::new(timeline);
    writeln!(out, "{}", header(timeline, &layout))?;
    let mut records: Vec<Record> = Vec::new();
    for (pu, spans) in (0..).map(PuId).zip(&timeline.pus) {
        for span in spans {
            let place = layout.of_span(&timeline.machine, pu, span);
            records.push(state_record(place, span.from, span.to, of(span.how)));
        }
    }
    for (app, row) in timeline.rows() {
        let place = layout.of_whole(app);
        for phase in &row.phases {
            // While it is on processors, its threads' states show its activity.
            if app.is_some() && phase.count + phase.guest == 0 && phase.state != "running" {
                records.push(state_record(place, phase.from, phase.to, state(phase.state)));
            }
            records.push(event_record(place, phase.from, COUNT, phase.count.into()));
        }
        if let Some(last) = row.phases.last() {
            records.push(event_record(place, last.to, COUNT, 0));
        }
    }
    for mark in &timeline.marks {
        records.push(event_record(layout.of_whole(mark.app), mark.at, event_type(mark.kind), mark.value));
    }
    records.sort_by_key(|record| (record.0, record.1));
    for (_, _, record) in &records {
        writeln!(out, "{record}")?;
    }
    Ok(())
}

fn state_record((cpu, application, task, thread): Place, from: Nanos, to: Nanos, state: usize) -> Record {
    (from, 1, format!("1:{cpu}:{application}:{task}:{thread}:{from}:{to}:{state}"))
}

fn event_record((cpu, application, task, thread): Place, at: Nanos, kind: u32, value: u64) -> Record {
    (at, 2, format!("2:{cpu}:{application}:{task}:{thread}:{at}:{kind}:{value}"))
}

fn event_type(kind: Kind) -> u32 {
    EVENT_BASE + kind as u32
}

/// `#Paraver (date):length_ns:nodes(cpus,…):applications:tasks(threads:node,…):…`. The date is of
/// the journal, so that the same file gives the same bytes.
fn header(timeline: &Timeline, layout: &Layout) -> String {
    let nodes = timeline.machine.numa_nodes();
    let cpus: Vec<String> = nodes.iter().map(|node| node.pus.len().to_string()).collect();
    let date = date::of(timeline.began / 1_000_000_000);
    let (end, count) = (timeline.end.max(1), layout.applications.len());
    let mut text = format!("#Paraver ({date}):{end}_ns:{}({}):{count}", nodes.len(), cpus.join(","));
    for application in &layout.applications {
        let tasks = application.tasks.iter().map(|task| format!("{}:{}", task.threads, task.node.index() + 1));
        let tasks: Vec<String> = tasks.collect();
        // Writing to a text cannot fail.
        let _ = write!(text, ":{}({})", tasks.len(), tasks.join(","));
    }
    text
}

/// Writes the .pcf file.
pub fn labels(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "DEFAULT_OPTIONS\n\nLEVEL               CPU\nUNITS               NANOSEC\nLOOK_BACK           100")?;
    writeln!(out, "SPEED               1\nFLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000")?;
    writeln!(out, "YMAX_SCALE          {}\n", timeline.pus.len())?;
    writeln!(out, "DEFAULT_SEMANTIC\n\nTHREAD_FUNC         State As Is\n\nSTATES")?;
    for (number, (name, _)) in STATES.iter().enumerate() {
        writeln!(out, "{number}    {name}")?;
    }
    writeln!(out, "\nSTATES_COLOR")?;
    for (number, (_, (red, green, blue))) in STATES.iter().enumerate() {
        writeln!(out, "{number}    {{{red},{green},{blue}}}")?;
    }
    writeln!(out, "\nEVENT_TYPE\n6    {COUNT}    Processors of the application\n")?;
    for kind in Kind::ALL {
        writeln!(out, "EVENT_TYPE\n6    {}    {}\n", event_type(kind), kind.name())?;
    }
    Ok(())
}

/// Writes the .row file.
pub fn rows(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    let layout = Layout::new(timeline);
    let nodes = timeline.machine.numa_nodes();
    let names = layout.pus.iter().map(|&pu| {
        let known = &timeline.machine.pus()[pu.index()];
        format!("PU {} (CPU {}, node {})", pu.index(), known.os_index, nodes[known.node.index()].os_index)
    });
    level("CPU", names.collect(), out)?;
    level("NODE", nodes.iter().map(|node| format!("node {}", node.os_index)).collect(), out)?;
    level("APPL", layout.applications.iter().map(|application| application.name.clone()).collect(), out)?;
    let (mut tasks, mut threads) = (Vec::new(), Vec::new());
    for application in &layout.applications {
        for task in &application.tasks {
            let name = format!("{}, node {}", application.name, nodes[task.node.index()].os_index);
            threads.extend((1..=task.threads).map(|thread| format!("{name}, processor {thread}")));
            tasks.push(name);
        }
    }
    level("TASK", tasks, out)?;
    level("THREAD", threads, out)
}

fn level(level: &str, names: Vec<String>, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "LEVEL {level} SIZE {}", names.len())?;
    for name in names {
        writeln!(out, "{name}")?;
    }
    writeln!(out)
}
