//! The shell: events reach the engine, and the shell carries the engine's actions out, unless a
//! fault strikes.

use super::agenda::Happening;
use super::faults::Fault;
use super::marks::Around;
use super::options::Planted;
use super::program::{Admission, Halt, Program};
use super::stage::{Stage, Verdict};
use super::trace;
use numaestro_engine::{Action, AppId, Class, Event};
use numaestro_topology::{PuId, PuSet};

/// Time from a program to the shell, nanoseconds.
const NOTICE_NS: u64 = 5_000;
/// Events of the shell's own that may follow from one event; with more they count as endless.
const AT_ONCE_MAX: u32 = 1000;

/// A program, or the system, sends a notice to the shell. A fault may garble, lose, delay or repeat
/// it.
pub(super) fn say(stage: &mut Stage<'_>, event: Event) {
    let event = if stage.faults.strikes(Fault::Wrong) { garble(stage, &event) } else { event };
    if stage.faults.strikes(Fault::Lost) {
        let (what, app, rest) = trace::event(&event);
        stage.note_fault("! lost", app, &format!("{what} {rest}"));
        return;
    }
    let late = stage.faults.maybe_late();
    if stage.faults.strikes(Fault::Repeated) {
        let later = stage.faults.lateness();
        stage.agenda.after(NOTICE_NS + late + later, Happening::Notice(event.clone()));
    }
    stage.agenda.after(NOTICE_NS + late, Happening::Notice(event));
}

/// Makes another event of this one.
fn garble(stage: &mut Stage<'_>, event: &Event) -> Event {
    stage.faults.count();
    let (of, pus, newest) = (trace::event(event).1, stage.plan.machine.pu_count() as u32, stage.manager.newest as u32);
    let stream = stage.faults.stream(Fault::Wrong);
    // The event is mostly about the same program, else about any, or about one that never was.
    let any = AppId(u64::from(stream.below(newest + 2)));
    let app = of.filter(|_| stream.below(4) > 0).unwrap_or(any);
    let count = [0, 1, pus / 2, pus, u32::MAX][stream.below(5) as usize];
    let (few, bits) = (stream.below(8), stream.draw());
    let idle: PuSet = (0..pus + few).map(PuId).filter(|pu| bits >> (pu.0 % 64) & 1 == 1).collect();
    let classes = [Class::Malleable, Class::Setter, Class::Fold];
    let class = classes[stream.below(3) as usize];
    let kind = stream.below(14);
    let page = stage.manager.by_id.get(&app).and_then(|&index| stage.programs[index].places.page());
    let latest = page.map_or(0, |page| page.epoch);
    match kind {
        0 | 1 => Event::Demand { app, processors: count, idle },
        2 => Event::Request { app, processors: count },
        3 => Event::Adopted { app, epoch: latest },
        4 => Event::Adopted { app, epoch: count },
        5 => Event::Class { app, class },
        6 => Event::Sequential { app },
        7 => Event::Blocked { app },
        8 => Event::Speedup { app, processors: count, speedup_milli: few * 1000 },
        9 => Event::Bandwidth { app, rates: vec![None, Some(count), Some(few)] },
        10 => Event::Saturation { bus: few, rate: count },
        // Bytes of too few nodes, or of too many.
        11 => Event::Memory { app, bytes: vec![bits; few as usize] },
        12 => Event::FreeMemory { bytes: vec![bits; few as usize] },
        13.. => Event::Parallel { app },
    }
}

/// The engine hears an event, and all events that follow from it in the shell itself.
pub(super) fn tell(stage: &mut Stage<'_>, event: Event) -> Verdict {
    stage.manager.inbox.push_back(event);
    let mut heard = 0;
    while let Some(event) = stage.manager.inbox.pop_front() {
        heard += 1;
        if heard > AT_ONCE_MAX {
            return Err("what is done at once leads to ever more".to_owned());
        }
        hear(stage, &event)?;
    }
    stage.set_timer();
    Ok(())
}

fn hear(stage: &mut Stage<'_>, event: &Event) -> Verdict {
    let (what, app, rest) = trace::event(event);
    if stage.manager.engine.is_none() {
        stage.note("! unheard", app, &format!("{what} {rest}"));
        stage.observer.around.reach_if(Around::UnheardWord, app.is_some());
        return Ok(());
    }
    stage.note(what, app, &rest);
    let unknown = app.is_some_and(|app| !stage.manager.by_id.contains_key(&app));
    stage.observer.around.reach_if(Around::WordOfTheGone, unknown);
    believe(stage, app, event);
    let forgets = stage.options.planted == Planted::AdoptedForgotten && matches!(event, Event::Adopted { .. });
    if !forgets {
        stage.manager.ledger.hear(event);
    }
    let mut actions = Vec::new();
    let clock = stage.agenda.clock();
    let Some(engine) = &mut stage.manager.engine else { return Ok(()) };
    engine.step(clock, event, &mut actions);
    let now = engine.view().now_ns;
    stage.counts.events += 1;
    stage.counts.actions += actions.len() as u64;
    let refused = actions.iter().any(|action| matches!(action, Action::Refuse { .. }));
    stage.manager.ledger.heard(event, refused);
    stage.observer.step(event, &actions);
    if let Event::Offline { pu } = event
        && !refused
    {
        // A program that has lost the processor at once may come back to it without a new target.
        stage.programs.iter_mut().for_each(|program| program.places.excuse_one(*pu));
    }
    for action in &actions {
        stage.manager.ledger.see(action, now)?;
        carry_out(stage, action)?;
    }
    Ok(())
}

/// Excuses a program's places where the engine is told something wrong.
fn believe(stage: &mut Stage<'_>, app: Option<AppId>, event: &Event) {
    if let Event::Depart { app } = event {
        stage.manager.by_id.remove(app);
    }
    let Some(program) = app.and_then(|app| stage.manager.by_id.get(&app)) else { return };
    let program = &mut stage.programs[*program];
    match event {
        // The event says that the program has left processors, and it has not.
        Event::Adopted { epoch, .. } => {
            if *epoch > program.places.seen() && stage.options.planted != Planted::AdoptedTooEarly {
                program.places.excuse_all();
            }
        }
        Event::Demand { idle, .. } => program.places.say_idle(idle),
        Event::Request { processors, .. } => {
            if *processors == 0 {
                program.places.excuse_all();
            }
        }
        Event::Class { class, .. } => program.class = *class,
        Event::Arrive { .. }
        | Event::Depart { .. }
        | Event::Limits { .. }
        | Event::Allowed { .. }
        | Event::Sequential { .. }
        | Event::Blocked { .. }
        | Event::Parallel { .. }
        | Event::Speedup { .. }
        | Event::Bandwidth { .. }
        | Event::Saturation { .. }
        | Event::Memory { .. }
        | Event::FreeMemory { .. }
        | Event::Parties { .. }
        | Event::Unstoppable { .. }
        | Event::Stoppable { .. }
        | Event::Offline { .. }
        | Event::Online { .. }
        | Event::Unmanaged { .. }
        | Event::Timer
        | Event::Policy { .. } => {}
    }
}

fn carry_out(stage: &mut Stage<'_>, action: &Action) -> Verdict {
    let (what, app, rest) = trace::action(action);
    stage.note(what, app, &rest);
    let Some(&index) = app.and_then(|app| stage.manager.by_id.get(&app)) else { return Ok(()) };
    match action {
        Action::Start { .. } => stage.programs[index].admission = Admission::Started,
        Action::Wait { position, .. } => stage.programs[index].admission = Admission::Waits(*position),
        Action::Target { app, epoch, pus, shared, .. } => {
            if !shared {
                nobody_else_on(stage, index, pus)?;
            }
            target(stage, index, *app, *epoch, pus, *shared);
        }
        Action::Force { app, epoch, pus } => {
            let program = &mut stage.programs[index];
            stage.observer.around.reach_if(Around::NeverAnswersAndIsForced, program.slowness.is_none());
            if stage.faults.strikes(Fault::Action) {
                stage.note_fault("! unforced", Some(*app), "");
                stage.observer.around.reach(Around::ForceFails);
            } else {
                let shared = program.places.page().is_some_and(|page| page.shared);
                program.places.move_to(*epoch, pus, shared);
                // The system moves the program on from processors that are gone.
                program.places.excuse(&pus.intersection(&stage.supply.offline));
            }
            // A refusal by the system counts as done: the shell can do no more.
            stage.manager.inbox.push_back(Event::Adopted { app: *app, epoch: *epoch });
        }
        Action::Refuse { app: Some(app), .. } => refused(stage, index, *app),
        Action::Stop { app } => stop(stage, index, *app),
        Action::Continue { app } => go_on_with(stage, index, *app),
        Action::Pages { .. } | Action::Refuse { .. } => {}
    }
    stage.reckon(index);
    Ok(())
}

/// Stops a program, if the system allows it. A program that is being debugged, say, cannot be
/// stopped.
fn stop(stage: &mut Stage<'_>, index: usize, app: AppId) {
    if stage.faults.strikes(Fault::Action) {
        stage.note_fault("! unstopped", Some(app), "");
        stage.observer.around.reach(Around::StopFails);
        stage.programs[index].places.excuse_all();
        stage.manager.inbox.push_back(Event::Unstoppable { app });
        let later = stage.faults.lateness();
        stage.agenda.after(later, Happening::Notice(Event::Stoppable { app }));
    } else {
        stage.programs[index].halt = Halt::Stopped;
    }
}

/// Lets a program go on where it was last told to be; if that fails, again after a while.
fn go_on_with(stage: &mut Stage<'_>, index: usize, app: AppId) {
    if stage.programs[index].is_stopped() {
        stage.programs[index].halt = Halt::Ending;
    }
    if stage.faults.strikes(Fault::Action) {
        stage.note_fault("! not let go", Some(app), "");
        stage.observer.around.reach(Around::GoesOnLate);
        let later = stage.faults.lateness();
        stage.agenda.after(later, Happening::GoesOn(index));
    } else {
        let_go(stage, index);
    }
}

/// A program runs again, unless it has been stopped again meanwhile.
pub(super) fn let_go(stage: &mut Stage<'_>, index: usize) {
    let program = &mut stage.programs[index];
    if program.halt == Halt::Ending {
        program.halt = Halt::No;
        program.places.follow_page();
    }
    stage.reckon(index);
}

fn target(stage: &mut Stage<'_>, index: usize, app: AppId, epoch: u32, pus: &PuSet, shared: bool) {
    let program = &mut stage.programs[index];
    stage.counts.moves += u64::from(program.places.publish(epoch, pus, shared));
    if stage.faults.strikes(Fault::Death) {
        stage.note_fault("! dies", Some(app), "before it is told");
        stage.observer.around.reach_if(Around::DiesBeforeItIsTold, stage.programs[index].alive);
        stage.dies(index);
    }
    let fails = stage.faults.strikes(Fault::Action);
    if fails {
        stage.note_fault("! untold", Some(app), "");
        stage.observer.around.reach(Around::TargetLost);
    }
    let everywhere = stage.plan.machine.all();
    let program = &mut stage.programs[index];
    if program.places.placed().is_empty() {
        // The program begins to run there; or anywhere, if the system does not let it be bound.
        program.places.begin(if fails { &everywhere } else { pus });
        if !fails {
            program.places.move_to(epoch, pus, shared);
        }
    }
    if program.class == Class::Fold {
        if fails {
            program.places.excuse_all();
        } else {
            program.places.move_to(epoch, pus, shared);
        }
        stage.manager.inbox.push_back(Event::Adopted { app, epoch });
        return;
    }
    if let Some(slowness) = program.slowness.filter(|_| !fails) {
        let after = (slowness as f64 * program.draws.exponential()) as u64;
        stage.agenda.after(after, Happening::Reads(index));
    }
    if stage.options.planted == Planted::AdoptedTooEarly {
        stage.manager.inbox.push_back(Event::Adopted { app, epoch });
    }
}

/// The engine refused a program on arrival (no processor, no place in the queue): it runs without a
/// manager.
fn refused(stage: &mut Stage<'_>, index: usize, app: AppId) {
    let program = &mut stage.programs[index];
    if program.admission == Admission::Unheard && program.places.page().is_none() {
        (program.app, program.alone) = (None, true);
        stage.manager.by_id.remove(&app);
        stage.manager.inbox.push_back(Event::Depart { app });
    }
}

/// Checks that no threads of others are where this program is promised to be alone, but for reasons
/// that are not the engine's.
pub(super) fn nobody_else_on(stage: &Stage<'_>, index: usize, pus: &PuSet) -> Verdict {
    let managed = |program: &&Program| program.alive && program.app.is_some();
    let others = stage.programs.iter().enumerate().filter(|(other, _)| *other != index);
    for other in others.map(|(_, other)| other).filter(managed) {
        let both = other.answers_for(&stage.supply.offline).intersection(pus);
        if let Some(app) = stage.programs[index].app.filter(|_| !both.is_empty()) {
            let name = other.app.map(|app| app.to_string()).unwrap_or_default();
            return Err(format!("{app} is given {both} where {name} really runs"));
        }
    }
    Ok(())
}
