//! Writes the page of a recording.

use super::message::{May, Message, Step};
use super::page;
use super::teller::Teller;
use crate::output;
use crate::record::Lines;
use crate::say::Failure;
use crate::sim::WRONG_FILE;
use anyhow::Context;
use std::io::Write;
use std::path::Path;

/// Steps in a message.
const TOGETHER: usize = 500;
/// A recording tells the time of day within so many steps, or never.
const CLOCK_WITHIN: usize = 1000;

/// Writes the page, or nothing of it; gives the number of events. `name`: of the recording, for
/// people.
pub fn write(path: &Path, name: &str, lines: Lines) -> anyhow::Result<u64> {
    let mut events = 0;
    output::write(path.to_owned(), |out| {
        page::file(out, |out| {
            events = tell(out, name, lines)?;
            anyhow::Ok(())
        })
    })?;
    Ok(events)
}

/// Writes the messages; gives the number of events.
fn tell(out: &mut dyn Write, name: &str, mut lines: Lines) -> anyhow::Result<u64> {
    let wrong = |line: u64, problem: &str| {
        Failure::error(WRONG_FILE, format!("{name}:{line}: {problem}"), "`numaestro record dump` writes journals")
    };
    let place = || format!("cannot read {name}");
    let head = lines.next().transpose().with_context(place)?.unwrap_or_default();
    let mut teller = Teller::new(&head).map_err(|error| wrong(1, &error.problem))?;
    let mut pending: Vec<Step> = Vec::new();
    let mut begun = false;
    let mut last = 0;
    let mut number = 1;
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        number += 1;
        let line = line.with_context(place)?;
        match teller.line(&line) {
            Err(_) if lines.peek().is_none() => break,
            step => pending.extend(step.map_err(|error| wrong(number, &error.problem))?),
        }
        last = pending.last().map_or(last, |step| step.t);
        if !begun && (teller.has_clock() || pending.len() >= CLOCK_WITHIN) {
            begun = true;
            begin(out, name, &mut teller)?;
        }
        if begun && pending.len() >= TOGETHER {
            send(out, &Message::Steps { steps: &pending })?;
            pending.clear();
        }
    }
    if !begun {
        begin(out, name, &mut teller)?;
    }
    send(out, &Message::Steps { steps: &pending })?;
    send(out, &Message::Now { t: last })?;
    Ok(number - 1)
}

fn begin(out: &mut dyn Write, name: &str, teller: &mut Teller) -> anyhow::Result<()> {
    send(out, &Message::Hello(&teller.hello(name.to_owned(), false, Vec::new(), May::default())))
}

fn send(out: &mut dyn Write, message: &Message) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, message)?;
    Ok(out.write_all(b"\n")?)
}
