//! Writes the page of a recording.

use super::message::{May, Message, Step};
use super::page;
use super::teller::Teller;
use crate::output;
use crate::recordings::Journal;
use numaestro_engine::journal;
use std::io::Write;
use std::path::Path;

/// Steps in a message.
const TOGETHER: usize = 500;
/// A recording tells the time of day within so many lines, or never.
const CLOCK_WITHIN: usize = 1000;

/// Writes the page, or nothing of it; gives the number of events.
pub fn write(path: &Path, journal: Journal<'_>) -> anyhow::Result<u64> {
    let mut events = 0;
    output::write(path.to_owned(), |out| {
        page::file(out, |out| {
            events = tell(out, journal)?;
            anyhow::Ok(())
        })
    })?;
    Ok(events)
}

/// Writes the messages; gives the number of events.
fn tell(out: &mut dyn Write, mut journal: Journal<'_>) -> anyhow::Result<u64> {
    let name = journal.name().to_owned();
    let mut teller = journal.headed(Teller::new(journal.head()))?;
    let mut pending: Vec<Step> = Vec::new();
    let mut begun = false;
    let (mut told, mut lines, mut events) = (false, 0, 0);
    while let Some(line) = journal.line()? {
        let Some(step) = line.understood(teller.line(&line.text))? else { break };
        lines += 1;
        events += u64::from(!journal::is_aside(&line.text));
        told |= step.is_some();
        pending.extend(step);
        if !begun && (teller.has_begun() || lines >= CLOCK_WITHIN) {
            begun = true;
            begin(out, &name, &mut teller)?;
        }
        if begun && pending.len() >= TOGETHER {
            send(out, &Message::Steps { steps: &pending })?;
            pending.clear();
        }
    }
    if !begun {
        begin(out, &name, &mut teller)?;
    }
    if !told {
        pending.push(teller.whole());
    }
    send(out, &Message::Steps { steps: &pending })?;
    send(out, &Message::Now { t: teller.end() })?;
    Ok(events)
}

fn begin(out: &mut dyn Write, name: &str, teller: &mut Teller) -> anyhow::Result<()> {
    send(out, &Message::Hello(&teller.hello(name.to_owned(), false, Vec::new(), May::default())))
}

fn send(out: &mut dyn Write, message: &Message) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, message)?;
    Ok(out.write_all(b"\n")?)
}
