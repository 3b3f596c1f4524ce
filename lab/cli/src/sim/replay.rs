//! `numaestro sim replay`: repeats the journal of the manager or of a simulation with this
//! program's engine.
//!
//! The same events must give the same actions, byte for byte: for this reason a result of the
//! simulator says something about the manager. The journal is read line by line, so it may be of
//! any length.

use super::args::ReplayArgs;
use crate::say::WRONG_FILE;
use crate::say::{self, Failure};
use crate::texts;
use anyhow::Context;
use numaestro_engine::journal::{self, Replay};

/// The subcommand.
pub fn replay(args: &ReplayArgs) -> anyhow::Result<u8> {
    let name = args.journal.display();
    let place = || format!("cannot read {name}");
    let mut lines = texts::lines(&args.journal).with_context(place)?;
    let wrong = |line: u64, problem: &str| {
        let next = "a journal is written by `numaestro daemon --journal` or `numaestro sim run --journal`";
        Failure::error(WRONG_FILE, format!("{name}:{line}: {problem}"), next)
    };
    let head = lines.next().transpose().with_context(place)?.ok_or_else(|| wrong(1, "it is empty"))?;
    let mut replay = Replay::new(&head).map_err(|error| wrong(1, &error.problem))?;
    let mut steps = 0_u64;
    let mut waiting: Option<(u64, String)> = None;
    for (number, line) in (2..).zip(lines) {
        let line = line.with_context(place)?;
        if journal::is_aside(&line) {
            if waiting.is_none() {
                replay.step(&line).map_err(|error| wrong(number, &error.problem))?;
            }
            continue;
        }
        if let Some(former) = waiting.replace((number, line)) {
            steps += 1;
            if let Some(code) = step(&mut replay, &former, steps, &args.journal.display().to_string())? {
                return Ok(code);
            }
        }
    }
    if let Some(last) = waiting {
        steps += 1;
        // The last line of a manager that was killed may be cut off; it was not carried out either.
        let cut_off = journal::decode(&last.1).is_err();
        if cut_off {
            say::note(&format!("the last line, {}, is cut off and not repeated", last.0));
            steps -= 1;
        } else if let Some(code) = step(&mut replay, &last, steps, &args.journal.display().to_string())? {
            return Ok(code);
        }
    }
    let snapshot = replay.engine().snapshot();
    say::print(&format!(
        "{name}: byte-equal: {steps} events, {} decisions, policy {}\n",
        snapshot.decisions, snapshot.policy
    ))?;
    Ok(say::OK)
}

/// Repeats one step; the exit code where it differs.
fn step(replay: &mut Replay, (number, line): &(u64, String), steps: u64, name: &str) -> anyhow::Result<Option<u8>> {
    if let Err(error) = replay.step(line) {
        if journal::decode(line).is_err() {
            return Err(Failure::error(WRONG_FILE, format!("{name}:{number}: {}", error.problem), ""));
        }
        say::print(&format!("{name}:{number}: the first difference, at event {steps}:\n{}\n", error.problem))?;
        return Ok(Some(say::FAILED));
    }
    Ok(None)
}
