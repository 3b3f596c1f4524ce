//! Workloads in other tools' formats, as parts of a scenario.

use super::parts::Parts;
use crate::read::fields::Fields;
use crate::read::{Mistake, Text};
use crate::workload::elastisim::{self, Platform};
use crate::workload::{Arrival, rtapp};

const SPEED: &str = "a speed above 0";

/// Reads ElastiSim's jobs: `file`, and the speed of its platform.
pub(super) fn elastisim(fields: &mut Fields<'_>, parts: &mut Parts<'_>) -> Result<Vec<Arrival>, Mistake> {
    let file = fields.need("file", "the name of a file of jobs")?;
    let mut speed = |key| fields.read(key, |field| field.number(1e-9..=1e30, SPEED));
    let (flops, network) = (speed("flops")?, speed("network")?);
    let (pfs, burst_buffer) = (speed("pfs")?, speed("burst_buffer")?);
    let flops =
        flops.ok_or_else(|| fields.mistake("`flops` is missing: floating-point operations a node does a second"))?;
    let text = parts.loaded.text(&file)?;
    let platform = Platform { flops, network, pfs, burst_buffer };
    let loaded = parts.loaded;
    let mut notes = std::mem::take(&mut parts.notes);
    let arrivals =
        elastisim::read(Text::new(file.text()?, &text), platform, &mut |model| loaded.text(model), &mut notes);
    parts.notes = notes;
    Ok(known(arrivals?, parts))
}

/// Reads rt-app's task set: `file`.
pub(super) fn rt_app(fields: &mut Fields<'_>, parts: &mut Parts<'_>) -> Result<Vec<Arrival>, Mistake> {
    let file = fields.need("file", "the name of a task set")?;
    let text = parts.loaded.text(&file)?;
    let set = rtapp::read(Text::new(file.text()?, &text), &mut parts.notes)?;
    parts.until = parts.until.or(set.duration);
    if set.endless && parts.until.is_none() {
        return Err(file.mistake("has threads without an end: give the scenario an `until`, or the file a `duration`"));
    }
    Ok(known(set.arrivals, parts))
}

/// Adds the programs of arrivals to the scenario's.
fn known(arrivals: Vec<Arrival>, parts: &mut Parts<'_>) -> Vec<Arrival> {
    for arrival in &arrivals {
        parts.programs.push(arrival.program.clone());
    }
    arrivals
}
