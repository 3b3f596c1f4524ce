//! Teams: iterations, meetings and the lock, simulated thread by thread. A preempted partner or
//! holder stalls the others because it does not release them; there is no formula.

use super::{measure, place, team};
use crate::program::{Asks, Phase, Vacates, Wait};
use crate::world::app::{Activity, App, Share};
use crate::world::host::Host;
use crate::world::log::Line;
use crate::world::os::{Doing, Meeting};
use crate::world::queue::{Happening, Rank};

/// The team is complete: it begins the first iteration.
pub fn begin(app: &mut App, host: &mut Host) {
    app.activity = Activity::Region;
    let size = app.region.size();
    while app.team.len() < size as usize {
        team::spawn(app, host);
    }
    measure::begin(app, host, size);
    team::park(app, host, size);
    place::settle_team(app, host);
    for number in 0..size {
        host.os.cpus().prepare(app.team[number as usize], number);
    }
    iterate(app, host);
}

/// Every thread of the team gets its part of the next iteration.
fn iterate(app: &mut App, host: &mut Host) {
    let Some(Phase::Parallel { work, locked, curve, refs, .. }) = app.cursor.phase(&app.program) else { return };
    let (draws, phase, iteration, size) = (app.draws, app.cursor.entered(), app.region.iteration(), app.region.size());
    app.region.begin_iteration();
    let share = Share::new(draws.total(phase, iteration, work), size, curve.as_ref());
    // Once every thread has touched the data, paces are final.
    let repace = iteration == 1 && !refs.is_empty();
    for number in 0..size {
        let id = app.team[number as usize];
        let part = draws.part(phase, iteration, number, work, share);
        let critical = locked.as_ref().map_or(0, |locked| draws.locked(phase, iteration, number, locked));
        host.os.threads().set_critical(id, critical);
        if repace {
            host.os.threads().unpace(id);
        }
        host.os.run(id, Doing::Part, part);
    }
}

/// A thread has done its part; a critical section may follow.
pub fn part_ended(app: &mut App, host: &mut Host, id: u32) {
    if host.os.thread(id).critical == 0 {
        arrive(app, host, id);
    } else if app.region.acquire(id) {
        enter_critical(host, id);
    } else {
        host.os.wait(id, Doing::Lock, app.region.wait());
    }
}

fn enter_critical(host: &mut Host, id: u32) {
    let critical = host.os.thread(id).critical;
    host.os.threads().set_critical(id, 0);
    host.os.run(id, Doing::Critical, critical);
}

/// A critical section has ended: the lock goes to the thread that waits longest, wherever that is.
pub fn critical_ended(app: &mut App, host: &mut Host, id: u32) {
    let next = app.region.release();
    arrive(app, host, id);
    if let Some(next) = next {
        let thread = host.os.thread(next);
        host.note(Line::Lock, app.record.job, thread.number, thread.pu);
        enter_critical(host, next);
    }
}

/// A thread waits for its team; the last one releases it.
fn arrive(app: &mut App, host: &mut Host, id: u32) {
    let (last, over) = app.region.arrive();
    if last {
        host.clock.expect(host.clock.now(), Rank::Meeting, Happening::Meeting(app.slot));
    }
    if over && host.os.thread(id).number > 0 && team::ends(app) {
        // A created thread ends with its last work; its processor is given back at once.
        host.os.park(id);
        return say_idle(app, host);
    }
    let wait = if last {
        Wait::Spin
    } else if app.notices.owes() && app.program.vacates == Vacates::Task && host.os.is_outside(id) {
        Wait::Block
    } else {
        app.region.wait()
    };
    host.os.wait(id, Doing::Meet, wait);
    if !last {
        place::hand_over(app, host, id);
    }
    place::leave_one(app, host);
}

/// The team goes on: to the next iteration, resized if it was told so, or out of the region. True
/// if the region is over.
pub fn meeting(app: &mut App, host: &mut Host) -> bool {
    let size = app.region.size();
    host.log.count(u64::from(size));
    let over = app.region.meet() || app.cursor.is_told_to_end(host.clock.now());
    host.note(Line::Meeting, app.record.job, size, u32::from(over));
    if over {
        app.activity = Activity::Between;
        if team::ends(app) {
            team::retire(app, host);
            team::demand(app, host, 1);
        }
        return true;
    }
    if measure::meeting(app, host) {
        measure::begin(app, host, team_size(app));
    }
    resize(app, host);
    follow(app, host);
    iterate(app, host);
    false
}

/// Created threads have ended: the program wants as many processors as it has threads.
fn say_idle(app: &mut App, host: &mut Host) {
    let active = app.team.iter().filter(|&&id| host.os.thread(id).doing != Doing::Nothing).count();
    team::demand(app, host, active as u32);
}

/// Number of threads that its team should have now.
fn team_size(app: &App) -> u32 {
    let most = if app.program.asks == Asks::Creation { app.region.size() } else { app.region.width() };
    most.min(app.notices.count()).min(app.watch.limit()).max(1)
}

/// The team takes the size that it was told, and leaves the processors that it has to leave.
fn resize(app: &mut App, host: &mut Host) {
    let (size, before) = (team_size(app), app.region.size());
    if size == before && !app.notices.owes() && !app.places.have_moved() {
        return;
    }
    team::set_size(app, host, size);
    let mut created = 0;
    while app.team.len() < size as usize {
        team::spawn(app, host);
        created += 1;
    }
    host.os.threads().owe(app.team[0], app.program.creation_ns * created);
    team::park(app, host, size);
    place::settle_team(app, host);
    if host.os.spaces().shares(app.slot) {
        app.team.iter().for_each(|&id| host.os.threads().unpace(id));
    }
    for number in before..size {
        host.os.cpus().prepare(app.team[number as usize], number);
    }
    if size < before && app.program.asks == Asks::Creation {
        say_idle(app, host);
    }
}

/// Pages follow their home, at the cost of the team.
fn follow(app: &mut App, host: &mut Host) {
    let processors = app.places.list().len() as u64;
    let meeting = Meeting { now: host.clock.now(), started: app.record.started, processors };
    let moved = host.os.cpus().follow(app.slot, meeting);
    if moved == 0 {
        return;
    }
    app.record.pages_moved += moved;
    let size = u64::from(app.region.size().max(1));
    for (number, &id) in (0..).zip(&app.team) {
        host.os.threads().unpace(id);
        if number < size {
            host.os.threads().owe(id, moved * host.costs.page_move_ns / size);
        }
    }
}
