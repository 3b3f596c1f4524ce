//! Runs one happening after the other, until some time.

use super::agenda::Happening;
use super::faults::Fault;
use super::stage::{Stage, Verdict};
use super::{life, shell, upsets};
use crate::Nanos;
use numaestro_engine::Event;

/// Adds the happenings that come by themselves.
pub(super) fn expect_everything(stage: &mut Stage<'_>) {
    let chaos = stage.plan.chaos_ns;
    for program in 0..stage.plan.programs {
        let at = (stage.draws.unit() * chaos as f64 * 0.9) as Nanos;
        stage.agenda.at(at, Happening::Arrives(program));
    }
    for fault in Fault::TIMED {
        upsets::expect_strike(stage, fault);
    }
}

/// Runs all happenings until this time.
pub(super) fn until(stage: &mut Stage<'_>, end: Nanos) -> Verdict {
    while !stage.is_cut() && stage.agenda.next_at().is_some_and(|at| at <= end) {
        step(stage)?;
    }
    stage.agenda.pass(end);
    Ok(())
}

/// Runs the next happening.
pub(super) fn step(stage: &mut Stage<'_>) -> Verdict {
    stage.listener.step(stage.agenda.steps() + 1);
    let Some(what) = stage.agenda.next()? else { return Ok(()) };
    match what {
        Happening::Timer => shell::tell(stage, Event::Timer),
        Happening::Arrives(number) => life::arrives(stage, number),
        Happening::Notice(event) => shell::tell(stage, event),
        Happening::Reads(program) => life::reads(stage, program),
        Happening::Acts(program) => life::acts(stage, program),
        Happening::Ends(program, version) => life::ends(stage, program, version),
        Happening::Strikes(fault) => upsets::strike(stage, fault),
        Happening::Back(pu) => upsets::plug(stage, pu),
        Happening::Manager => upsets::start_manager(stage),
        Happening::GoesOn(program) => {
            shell::let_go(stage, program);
            Ok(())
        }
        Happening::Rejoins(program) => life::rejoins(stage, program),
    }
}
