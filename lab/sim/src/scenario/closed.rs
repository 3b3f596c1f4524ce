//! `kind = "closed"` of a workload as it is read: one list of programs, worked off so many at a
//! time.

use super::parts::Parts;
use crate::program::Program;
use crate::read::Mistake;
use crate::read::fields::Fields;
use std::sync::Arc;

/// Programs in their order, and the number that run at a time (`None`: all arrive at the start).
pub(super) type List = (Vec<Arc<Program>>, Option<u32>);

/// Reads the list; without one, every program of the scenario.
pub(super) fn read(fields: &mut Fields<'_>, parts: &Parts<'_>) -> Result<List, Mistake> {
    let once = match fields.get("programs") {
        Some(names) => parts.programs_named(&names)?,
        None => parts.programs.all().to_vec(),
    };
    let repetitions = fields.read("repetitions", |field| field.whole32(1..=1 << 20))?.unwrap_or(1);
    let level = fields.read("level", |field| field.whole32(1..=1 << 20))?;
    if once.is_empty() {
        return Err(fields.mistake("expected at least one program"));
    }
    let programs = (0..repetitions).flat_map(|_| once.iter().cloned()).collect();
    Ok((programs, level))
}
