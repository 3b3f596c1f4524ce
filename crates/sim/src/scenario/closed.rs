//! `kind = "closed"` of a workload as it is read: one list of programs, worked off so many at a time. Knows nothing of how it runs.

use super::Workload;
use super::parts::Parts;
use crate::read::Mistake;
use crate::read::fields::Fields;

/// Reads the list; without one, every program of the scenario.
pub(super) fn read(fields: &mut Fields<'_>, parts: &Parts<'_>) -> Result<Workload, Mistake> {
    let once = match fields.get("programs") {
        Some(names) => parts.programs_named(&names)?,
        None => parts.programs.clone(),
    };
    let repetitions = fields.read("repetitions", |field| field.whole32(1..=1 << 20))?.unwrap_or(1);
    let level = fields.read("level", |field| field.whole32(1..=1 << 20))?;
    if once.is_empty() {
        return Err(fields.mistake("expected at least one program"));
    }
    let programs = (0..repetitions).flat_map(|_| once.iter().cloned()).collect();
    Ok(Workload::Closed { programs, level })
}
