//! Calm: faults stop, programs repeat the notices that were lost, and everything must come right
//! within bounds.

use super::faults::{LATE_MAX_NS, REJOIN_MAX_NS};
use super::marks::Around;
use super::program::{Doing, Program, Style};
use super::stage::{Stage, Verdict};
use super::{life, shell, steps, upsets};
use crate::Nanos;
use numaestro_engine::{AppState, Event, PuState, Snapshot};
use numaestro_topology::PuSet;

/// Rounds of two grace times (to be told, to be forced) until everything has settled: processors
/// that one application vacates may let the next one move.
const ROUNDS: u64 = 32;
/// Rounds until repeated notices are no news.
const AGAIN_ROUNDS: u32 = 4;
/// Rounds after those in which nothing may move, though everybody repeats everything in each.
const STABLE_ROUNDS: u32 = 16;
/// Time of each round, nanoseconds.
const ROUND_NS: Nanos = 150_000_000;
/// Factor by which all of them together may take longer if they run in turns.
const TURNS: u64 = 8;
/// Nanoseconds for everybody's start, besides the time that it runs.
const START_NS: Nanos = 500_000_000;

/// Checks that the run settles, is stable, comes to its end and leaves nothing behind.
pub(super) fn come_right(stage: &mut Stage<'_>) -> Verdict {
    stage.note("calm", None, "");
    mark_beginning(stage);
    stage.faults.heal();
    (stage.calm, stage.frozen) = (true, true);
    stage.reckon_all();
    let offline: Vec<_> = stage.supply.offline.iter().collect();
    for pu in offline {
        upsets::plug(stage, pu)?;
    }
    steps::until(stage, stage.agenda.now() + LATE_MAX_NS + REJOIN_MAX_NS)?;
    settle(stage)?;
    stay(stage)?;
    drain(stage)?;
    if stage.is_cut() { Ok(()) } else { all_is_free(stage) }
}

fn mark_beginning(stage: &mut Stage<'_>) {
    let any = |is: fn(&Program) -> bool| stage.programs.iter().any(|program| program.alive && is(program));
    let around = &mut stage.observer.around;
    around.reach_if(Around::CalmWithoutManager, stage.manager.engine.is_none());
    around.reach_if(Around::CalmWhileOneWaits, any(|program| program.app.is_some() && program.position() > 0));
    around.reach_if(Around::CalmWhileOneIsStopped, any(Program::is_stopped));
}

/// Everybody repeats its present state, as clients do that attach again.
fn repeat(stage: &mut Stage<'_>) -> Verdict {
    let usable: Vec<_> = stage.plan.machine.all().iter().collect();
    for pu in usable {
        shell::tell(stage, Event::Online { pu })?;
    }
    shell::tell(stage, Event::Unmanaged { processors: stage.supply.unmanaged })?;
    shell::tell(stage, Event::FreeMemory { bytes: stage.supply.free_memory.clone() })?;
    for index in 0..stage.programs.len() {
        let program = &stage.programs[index];
        let (Some(app), true) = (program.app, program.alive) else { continue };
        let processors = program.wants.max(1);
        let wants = match (program.doing, program.style) {
            (Doing::Wrapping, _) => Event::Request { app, processors: 0 },
            (_, Style::Demands) => Event::Demand { app, processors, idle: PuSet::new() },
            _ => Event::Request { app, processors },
        };
        let phase = match program.doing {
            Doing::Sequential => Event::Sequential { app },
            Doing::Blocked => Event::Blocked { app },
            Doing::Parallel | Doing::Wrapping => Event::Parallel { app },
        };
        let bytes = program.memory.0.clone();
        shell::tell(stage, Event::Stoppable { app })?;
        shell::tell(stage, Event::Memory { app, bytes })?;
        shell::tell(stage, wants)?;
        shell::tell(stage, phase)?;
        if stage.programs[index].slowness.is_some() {
            life::reads(stage, index)?;
        }
        let epoch = stage.programs[index].places.seen();
        shell::tell(stage, Event::Adopted { app, epoch })?;
    }
    Ok(())
}

/// Checks that within a bound everybody is where it was told to be.
fn settle(stage: &mut Stage<'_>) -> Verdict {
    let settings = &stage.plan.settings;
    let bound = settings.recovery_ns + settings.cooldown_ns + ROUNDS * 2 * settings.grace_ns;
    let (begin, mut moves) = (stage.agenda.now(), stage.counts.moves);
    repeat(stage)?;
    while !stage.is_cut() && stage.agenda.next_at().is_some_and(|at| at <= begin + bound) {
        steps::step(stage)?;
        if std::mem::replace(&mut moves, stage.counts.moves) != stage.counts.moves {
            stage.counts.settled_ns = stage.agenda.now() - begin;
        }
    }
    stage.agenda.pass(begin + bound);
    // Programs that look at their pages seldom do it now. Repeated notices may be news: a guest
    // cannot lend processors that it has only now.
    for _ in 0..AGAIN_ROUNDS {
        moves = stage.counts.moves;
        repeat(stage)?;
        steps::until(stage, stage.agenda.now() + ROUND_NS)?;
        if stage.counts.moves == moves {
            break;
        }
    }
    if stage.is_cut() { Ok(()) } else { all_is_settled(stage) }
}

/// Whether applications without processors are stopped until they have some, so that targets change
/// for ever.
fn takes_turns(stage: &Stage<'_>) -> bool {
    stage.manager.engine.as_ref().is_some_and(|engine| engine.policy().turns.stops())
}

/// Whether the policy tries from time to time how many processors applications can use.
fn searches(stage: &Stage<'_>) -> bool {
    stage.manager.engine.as_ref().is_some_and(|engine| engine.policy().needs().speedup)
}

/// Whether new targets come for ever: at every end of a turn, and whenever a search tries another
/// number.
fn goes_on_and_on(stage: &Stage<'_>) -> bool {
    takes_turns(stage) || searches(stage)
}

/// Checks that then nothing moves any more, but for turns and searches.
fn stay(stage: &mut Stage<'_>) -> Verdict {
    let moves = stage.counts.moves;
    for round in 0..STABLE_ROUNDS {
        repeat(stage)?;
        steps::until(stage, stage.agenda.now() + ROUND_NS)?;
        if stage.is_cut() {
            return Ok(());
        }
        if stage.counts.moves != moves && !goes_on_and_on(stage) {
            return Err(format!("the allocation still moves in round {round} of calm"));
        }
    }
    all_is_settled(stage)
}

fn snapshot(stage: &Stage<'_>) -> Result<Snapshot, String> {
    Ok(stage.manager.engine.as_ref().ok_or("there is no manager")?.snapshot())
}

/// Checks that everybody has the processors it was told, or a place in the queue.
fn all_is_settled(stage: &Stage<'_>) -> Verdict {
    let snapshot = snapshot(stage)?;
    for pu in &snapshot.pus {
        let moves = pu.state == PuState::Leaving && !goes_on_and_on(stage);
        if moves || pu.state == PuState::Offline {
            return Err(format!("PU {} is still {} and {:?}'s", pu.pu, pu.state_name(), pu.owner));
        }
    }
    if let Some(ghost) = snapshot.apps.iter().find(|app| !stage.manager.by_id.contains_key(&app.app)) {
        return Err(format!("{} is gone, and the engine does not know", ghost.app));
    }
    for index in 0..stage.programs.len() {
        is_settled(stage, index, &snapshot)?;
    }
    nobody_is_where_others_are(stage)
}

fn is_settled(stage: &Stage<'_>, index: usize, snapshot: &Snapshot) -> Verdict {
    let program = &stage.programs[index];
    let (Some(name), true) = (program.app, program.alive) else { return Ok(()) };
    let found = snapshot.apps.iter().find(|app| app.app == name);
    let Some(found) = found else { return Err(format!("the engine has lost {name}")) };
    if found.state == AppState::Waiting {
        let told = program.position() == found.position || stage.plan.settings.positions < found.position;
        let waits = program.position() > 0 && told;
        return if waits {
            Ok(())
        } else {
            Err(format!("{name} waits at {}, but was told {}", found.position, program.position()))
        };
    }
    if program.is_stopped() != (found.state == AppState::Stopped) {
        return Err(format!("{name} is {}, but it is stopped: {}", found.state.name(), program.is_stopped()));
    }
    if program.is_stopped() && program.places.page().is_none() {
        return Ok(());
    }
    let Some(page) = program.places.page() else { return Err(format!("{name} has never been given a processor")) };
    if page.epoch != found.epoch || page.pus != found.pus || page.pus.is_empty() {
        return Err(format!("{name} is told {} (epoch {}) and has {}", page.pus, page.epoch, found.pus));
    }
    // A program that never does anything by itself is where it was forced to be, if it had to leave
    // something. Where targets go on coming, the latest may be so new that a slow program has not
    // seen it.
    let has_had_time = found.adopted == found.epoch || !goes_on_and_on(stage);
    let settled = program.slowness.is_some() && !program.is_stopped() && has_had_time;
    if settled && *program.places.placed() != page.pus {
        return Err(format!("{name} was told {} and is on {}", page.pus, program.places.placed()));
    }
    Ok(())
}

/// Checks that a program is alone if it was told so, but for programs that never do anything by
/// themselves.
fn nobody_is_where_others_are(stage: &Stage<'_>) -> Verdict {
    let mut taken = PuSet::new();
    for (index, program) in stage.programs.iter().enumerate() {
        let runs = program.alive && program.app.is_some() && !program.is_stopped();
        let page = program.places.page().filter(|page| runs && !page.shared);
        if let Some(page) = page {
            if taken.intersects(&page.pus) {
                return Err(format!("two are told to be alone on {}", taken.intersection(&page.pus)));
            }
            taken.or_with(&page.pus);
            shell::nobody_else_on(stage, index, &page.pus)?;
        }
    }
    Ok(())
}

/// Checks that everybody runs until it ends, even if only one can run at a time.
fn drain(stage: &mut Stage<'_>) -> Verdict {
    stage.note("drain", None, "");
    stage.frozen = false;
    stage.supply.unmanaged = 0;
    shell::tell(stage, Event::Unmanaged { processors: 0 })?;
    stage.reckon_all();
    let work: Nanos =
        stage.programs.iter().filter(|program| program.alive).map(|program| program.work.left() + START_NS).sum();
    // In turns, most of the time may go by while others make room.
    let each = if takes_turns(stage) { TURNS } else { 1 };
    let bound =
        stage.agenda.now() + each * work + stage.plan.settings.cooldown_ns + ROUNDS * 2 * stage.plan.settings.grace_ns;
    while !stage.is_cut() && stage.programs.iter().any(|program| program.alive) {
        if stage.agenda.next_at().is_none_or(|at| at > bound) {
            let starved: Vec<String> = stage
                .programs
                .iter()
                .filter(|program| program.alive)
                .filter_map(|program| program.app)
                .map(|app| app.to_string())
                .collect();
            return Err(format!("{} starve", starved.join(", ")));
        }
        steps::step(stage)?;
    }
    steps::until(stage, stage.agenda.now() + stage.plan.settings.cooldown_ns + ROUND_NS)
}

/// Checks that all processors and numbers are free again.
fn all_is_free(stage: &Stage<'_>) -> Verdict {
    let snapshot = snapshot(stage)?;
    if let Some(app) = snapshot.apps.first() {
        return Err(format!("{} has ended and is still there", app.app));
    }
    let usable = stage.plan.machine.all().difference(&stage.plan.settings.reserved);
    if snapshot.usable != usable || !snapshot.queue.is_empty() {
        return Err(format!("{} of {usable} are left, and {} wait", snapshot.usable, snapshot.queue.len()));
    }
    for pu in snapshot.pus.iter().filter(|pu| usable.contains(pu.pu)) {
        if pu.state != PuState::Free || pu.owner.is_some() || pu.next.is_some() || !pu.guests.is_empty() {
            return Err(format!("PU {} is lost: {}, {:?}, {:?}", pu.pu, pu.state_name(), pu.owner, pu.guests));
        }
    }
    Ok(())
}
