//! The lives of programs: they arrive, look at their pages, do now this and now that, end or die,
//! and come again to a new manager.

use super::agenda::Happening;
use super::faults::Fault;
use super::marks::Around;
use super::program::{Admission, Doing, Program, Style};
use super::shell;
use super::stage::{Stage, Verdict};
use numaestro_engine::{AppId, Event, Wish};
use numaestro_topology::{NumaNodeId, PuId, PuSet};

/// Nanoseconds after which a program asks again while no manager answers.
const AGAIN_NS: u64 = 50_000_000;

/// A new program arrives.
pub(super) fn arrives(stage: &mut Stage<'_>, number: u32) -> Verdict {
    let never = stage.faults.strikes(Fault::Never);
    let program = Program::new(stage.plan.seed, number, stage.plan.wish(number), never);
    stage.programs.push(program);
    let index = stage.programs.len() - 1;
    acts_later(stage, index);
    stage.observer.around.reach_if(Around::ComesToNobody, stage.manager.engine.is_none());
    joins(stage, index)
}

/// A program comes to the manager: for the first time, or again.
fn joins(stage: &mut Stage<'_>, index: usize) -> Verdict {
    if stage.manager.engine.is_none() {
        stage.agenda.after(AGAIN_NS, Happening::Rejoins(index));
        return Ok(());
    }
    stage.manager.newest += 1;
    let (app, program) = (AppId(stage.manager.newest), &mut stage.programs[index]);
    (program.app, program.alone) = (Some(app), false);
    program.admission = Admission::Unheard;
    (program.class, program.doing) = (program.wish.class, Doing::Parallel);
    program.places.join();
    let mut wish = Wish { request: program.wants.max(1), ..program.wish.clone() };
    if !program.places.placed().is_empty() {
        (wish.wait, wish.claim) = (Some(false), Some(program.places.placed().clone()));
        stage.observer.around.reach(Around::BackWithProcessors);
    }
    stage.manager.by_id.insert(app, index);
    if stage.faults.strikes(Fault::Wrong) {
        garble_wish(stage, &mut wish);
    }
    shell::tell(stage, Event::Arrive { app, wish })
}

fn garble_wish(stage: &mut Stage<'_>, wish: &mut Wish) {
    stage.faults.count();
    let pus = stage.plan.machine.pu_count() as u32;
    let stream = stage.faults.stream(Fault::Wrong);
    match stream.below(6) {
        0 => wish.request = [0, u32::MAX][stream.below(2) as usize],
        1 => (wish.min, wish.max) = (stream.below(2 * pus), stream.below(2 * pus)),
        2 => wish.weight_milli = [0, u32::MAX][stream.below(2) as usize],
        3 => wish.estimate_ns = Some([0, u64::MAX][stream.below(2) as usize]),
        _ => {
            let bits = stream.draw();
            let claim: PuSet = (0..pus + 3).map(PuId).filter(|pu| bits >> (pu.0 % 64) & 1 == 1).collect();
            (wish.claim, wish.home) = (Some(claim), Some(NumaNodeId(stream.below(9))));
        }
    }
}

/// A program finds a new manager.
pub(super) fn rejoins(stage: &mut Stage<'_>, index: usize) -> Verdict {
    let program = &stage.programs[index];
    if program.alive && program.app.is_none() { joins(stage, index) } else { Ok(()) }
}

/// A program carries out the target in its page, and says so.
pub(super) fn reads(stage: &mut Stage<'_>, index: usize) -> Verdict {
    let program = &mut stage.programs[index];
    let Some(app) = program.app.filter(|_| program.alive && !program.is_stopped()) else { return Ok(()) };
    let Some((page, news)) = program.places.follow_page() else { return Ok(()) };
    stage.reckon(index);
    if !page.shared {
        shell::nobody_else_on(stage, index, &page.pus)?;
    }
    if news {
        shell::say(stage, Event::Adopted { app, epoch: page.epoch });
    }
    Ok(())
}

fn acts_later(stage: &mut Stage<'_>, index: usize) {
    let mean = stage.plan.chaos_ns as f64 / 12.0;
    let after = stage.programs[index].draws.exponential() * mean;
    stage.agenda.after(after as u64, Happening::Acts(index));
}

/// A program begins to do something else.
pub(super) fn acts(stage: &mut Stage<'_>, index: usize) -> Verdict {
    let pus = stage.plan.machine.pu_count() as u32;
    let program = &mut stage.programs[index];
    if !program.alive || stage.calm {
        return Ok(());
    }
    if let Some(app) = program.app.filter(|_| !program.is_stopped()) {
        let wanted = 1 + program.draws.below(2 * pus);
        let was_parallel = program.doing == Doing::Parallel;
        let other = if was_parallel { other_than_parallel(program.style) } else { Doing::Parallel };
        let event = match program.style {
            Style::Steady => None,
            Style::Regions if was_parallel => Some(Event::Sequential { app }),
            Style::Blocks if was_parallel => Some(Event::Blocked { app }),
            Style::Regions | Style::Blocks => Some(Event::Parallel { app }),
            Style::Wraps if was_parallel => Some(Event::Request { app, processors: 0 }),
            Style::Wraps => Some(Event::Request { app, processors: program.wants.max(1) }),
            Style::Requests => {
                program.wants = wanted;
                Some(Event::Request { app, processors: wanted })
            }
            Style::Demands => {
                program.wants = wanted;
                let bits = program.draws.draw() & program.draws.draw();
                let idle = program.places.placed().iter().filter(|pu| bits >> (pu.0 % 64) & 1 == 1).collect();
                Some(Event::Demand { app, processors: wanted, idle })
            }
        };
        program.doing = other;
        let (processors, draws) = (program.places.placed().len() as u32, &mut program.draws);
        let speedup = Event::Speedup { app, processors, speedup_milli: draws.below(1000 * processors + 1) };
        let rates = (0..=draws.below(4)).map(|_| Some(draws.below(40_000))).collect();
        let nodes = stage.plan.machine.numa_nodes().len() as u32;
        program.memory.0 = program.draw_bytes(nodes);
        let (bytes, free) = (program.memory.0.clone(), program.draw_bytes(nodes));
        stage.supply.free_memory.clone_from(&free);
        stage.reckon(index);
        shell::say(stage, speedup);
        shell::say(stage, Event::Bandwidth { app, rates });
        shell::say(stage, Event::Memory { app, bytes });
        shell::say(stage, Event::FreeMemory { bytes: free });
        if let Some(event) = event {
            shell::say(stage, event);
        }
    }
    acts_later(stage, index);
    Ok(())
}

/// The work of a program is done.
pub(super) fn ends(stage: &mut Stage<'_>, index: usize, version: u32) -> Verdict {
    if stage.programs[index].alive && stage.programs[index].work.ends_with(version) {
        stage.counts.ended += 1;
        stage.note("ends", stage.programs[index].app, "");
        stage.dies(index);
    }
    Ok(())
}

fn other_than_parallel(style: Style) -> Doing {
    match style {
        Style::Regions => Doing::Sequential,
        Style::Blocks => Doing::Blocked,
        Style::Wraps => Doing::Wrapping,
        Style::Demands | Style::Requests | Style::Steady => Doing::Parallel,
    }
}
