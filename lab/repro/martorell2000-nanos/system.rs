//! What the operating system does, and what it costs: numbers of the machine that nobody prints.

use super::constants::whole;
use crate::{Lab, Trouble};
use numaestro_sim::Nanos;
use numaestro_sim::machine::Irix;
use numaestro_sim::world::Setup;
use std::sync::Arc;

/// Gives a run the system's constants.
pub fn apply(lab: &Lab, setup: &mut Setup) -> Result<(), Trouble> {
    let ms = |name: &str| lab.constant(name).map(nanos);
    // Its range is two decades.
    let ms_by_log10 = |name: &str| lab.constant(name).map(|log10| nanos(libm::pow(10.0, log10)));
    setup.settings.grace_ns = ms("grace")?;
    let model = Arc::make_mut(&mut setup.model);
    model.quantum_ns = ms("slice")?;
    model.irix = Irix { half_life_ns: ms_by_log10("half-life")?, rebalance_ns: ms_by_log10("rebalance")? };
    let factor = lab.constant("system costs")?;
    let costs = &mut model.costs;
    for cost in [&mut costs.switch_ns, &mut costs.migration_ns, &mut costs.stop_ns] {
        *cost = nanos(factor * *cost as f64 / 1e6);
    }
    costs.waiting_milli = whole(1000.0 * lab.constant("calls while waiting")?);
    Ok(())
}

/// Milliseconds in nanoseconds.
#[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)] // Times are not negative.
fn nanos(ms: f64) -> Nanos {
    (1e6 * ms).round() as Nanos
}
