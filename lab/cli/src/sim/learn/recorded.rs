//! Runs of a program from a journal's file.

use super::wrong;
use crate::say::Failure;
use crate::say::WRONG_FILE;
use crate::texts;
use anyhow::Context;
use numaestro_engine::journal;
use numaestro_sim::learn::Measured;
use numaestro_sim::learn::journal::Runs;
use std::path::Path;

/// Shorter phases are not told apart, nanoseconds: the manager looks at a program each two
/// milliseconds at most.
const PHASE_NS_LEAST: u64 = 5_000_000;

/// The runs of the applications called `name`.
///
/// # Errors
/// Exit code 2: it is no journal, or has no such application that has ended.
pub fn runs(path: &Path, name: &str) -> anyhow::Result<Vec<Measured>> {
    let place = || format!("cannot read {}", path.display());
    let lines: Vec<String> = texts::lines(path).with_context(place)?.collect::<Result<_, _>>().with_context(place)?;
    let head = lines.first().ok_or_else(|| wrong(path, 1, "it is empty"))?;
    journal::decode_head(head).map_err(|error| wrong(path, 1, &error.problem))?;
    let mut runs = Runs::default();
    for (number, line) in (1..).zip(&lines).skip(1) {
        match runs.line(line) {
            // The last line of a manager that was killed may be cut off.
            Err(error) if number < lines.len() => return Err(wrong(path, number, &error.problem)),
            _ => {}
        }
    }
    let names = runs.names().join(", ");
    let found = runs.measured(name, PHASE_NS_LEAST);
    if found.is_empty() {
        let what = format!("{}: no application called `{name}` has ended in it; there is {names}", path.display());
        return Err(Failure::error(WRONG_FILE, what, "name one by --name"));
    }
    Ok(found)
}
