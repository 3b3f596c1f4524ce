//! An application goes from phase to phase, and from the end of a segment of work to the next
//! segment.

use super::{fork, measure, place, region, tasks, team};
use crate::Nanos;
use crate::program::{Phase, Refs};
use crate::world::app::{Activity, App, Deferred};
use crate::world::host::Host;
use crate::world::log::Line;
use crate::world::os::Doing;
use crate::world::queue::{Happening, Rank};
use std::sync::Arc;

/// It goes to its next phase.
pub fn advance(app: &mut App, host: &mut Host) {
    measure::end(app, host);
    let program = Arc::clone(&app.program);
    loop {
        app.activity = Activity::Between;
        let before = app.cursor.round();
        let next = app.cursor.next(&program, host.clock.now());
        let (draws, number) = (app.draws, app.cursor.entered());
        host.os.spaces().refer(app.slot, next.map_or(&[], refs));
        if app.watch.is_on() && app.watch.steps(before, app.cursor.round()) {
            measure::round(app, host);
        }
        match next {
            Some(Phase::Serial { work, .. }) => return serial(app, host, draws.once(number, work)),
            Some(Phase::Pause { time }) => return pause(app, host, draws.once(number, time)),
            Some(Phase::Request { processors }) => request(app, host, *processors),
            Some(Phase::Parallel { .. }) => return fork::region(app, host),
            Some(Phase::Tasks { count, .. }) => {
                let count = draws.once(number, count) as u32;
                if count > 0 {
                    return fork::tasks(app, host, count);
                }
            }
            Some(Phase::Repeat { .. }) => {}
            None => {
                app.activity = Activity::Over;
                team::park(app, host, 0);
                return host.clock.expect(host.clock.now(), Rank::End, Happening::End(app.slot));
            }
        }
    }
}

/// The references of a phase.
fn refs(phase: &Phase) -> &[Refs] {
    match phase {
        Phase::Serial { refs, .. } | Phase::Parallel { refs, .. } | Phase::Tasks { refs, .. } => refs,
        Phase::Pause { .. } | Phase::Request { .. } | Phase::Repeat { .. } => &[],
    }
}

/// From here on it wants another number of processors.
fn request(app: &mut App, host: &mut Host, processors: u32) {
    if app.program.recreates && app.notices.is_shared() && app.notices.wants_other(processors) {
        team::retire(app, host);
    }
    app.notices.request(processors, team::own(&host.os, app.slot, &app.team), &mut host.outbox);
}

fn serial(app: &mut App, host: &mut Host, work: Nanos) {
    app.activity = Activity::Serial;
    team::park(app, host, 1);
    app.notices.serial(work, team::own(&host.os, app.slot, &app.team), &mut host.outbox);
    measure::begin(app, host, 1);
    host.os.cpus().prepare(app.team[0], 0);
    host.os.run(app.team[0], Doing::Serial, work);
    place::settle(app, host);
}

fn pause(app: &mut App, host: &mut Host, time: Nanos) {
    app.activity = Activity::Pause;
    team::park(app, host, 0);
    app.notices.pause(time, team::own(&host.os, app.slot, &app.team), &mut host.outbox);
    place::settle(app, host);
    host.clock.expect(host.clock.now() + time, Rank::Segment, Happening::Resume(app.slot));
}

/// The pause is over.
pub fn resume(app: &mut App, host: &mut Host) {
    if !defers(app, host, Deferred::Resume) {
        host.note(Line::Resume, app.record.job, 0, 0);
        app.notices.resume(&mut host.outbox);
        advance(app, host);
    }
}

/// A team has met.
pub fn meeting(app: &mut App, host: &mut Host) {
    if !defers(app, host, Deferred::Meeting) && region::meeting(app, host) {
        advance(app, host);
    }
}

/// The engine's answer has been carried out.
pub fn answered(app: &mut App, host: &mut Host) {
    if !defers(app, host, Deferred::Answer) {
        fork::answered(app, host);
    }
}

/// Whether `what` has to wait until the application goes on; if so, it is deferred.
fn defers(app: &mut App, host: &Host, what: Deferred) -> bool {
    let stopped = host.os.is_stopped(app.slot);
    if stopped {
        app.deferred = Some(what);
    }
    stopped
}

/// A thread has ended its work.
pub fn segment_ended(app: &mut App, host: &mut Host, id: u32) {
    let thread = host.os.thread(id);
    let (doing, number, pu) = (thread.doing, thread.number, thread.pu);
    if doing != Doing::Create {
        host.log.count(1);
        host.note(if doing == Doing::Task { Line::Task } else { Line::Segment }, app.record.job, number, pu);
    }
    match doing {
        Doing::Serial => advance(app, host),
        Doing::Part => region::part_ended(app, host, id),
        Doing::Critical => region::critical_ended(app, host, id),
        Doing::Task => {
            if tasks::ended(app, host, id) {
                advance(app, host);
            }
        }
        Doing::Create => fork::created(app, host),
        Doing::Nothing | Doing::Meet | Doing::Lock | Doing::Answer => {}
    }
}
