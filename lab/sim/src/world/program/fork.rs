//! Brings a team together before its region or its tasks begin: asks for processors, and creates
//! threads. A thread is created once: later regions and tasks use the threads that are there.

use super::{region, tasks, team};
use crate::program::{Asks, Phase, Wait};
use crate::world::app::{Activity, App, Tasks};
use crate::world::host::Host;
use crate::world::os::Doing;

/// A parallel region begins: with the present threads, or after asking and creating.
pub fn region(app: &mut App, host: &mut Host) {
    let Some(Phase::Parallel { width, iterations, wait, .. }) = app.cursor.phase(&app.program) else { return };
    app.region.begin(*width, *iterations, *wait);
    app.tasks = Tasks::default();
    if app.program.asks == Asks::Creation {
        let present = (app.team.len() as u32).min(app.notices.count());
        app.region.set_size(present.clamp(1, app.region.width()));
    }
    team::set_partners(app, host);
    gather(app, host);
}

/// The master forks tasks.
pub fn tasks(app: &mut App, host: &mut Host, count: u32) {
    app.region.clear();
    team::set_partners(app, host);
    app.tasks = Tasks::new(count);
    gather(app, host);
}

/// Asks for processors, and creates the threads that are lacking.
fn gather(app: &mut App, host: &mut Host) {
    if app.program.asks == Asks::Creation {
        return create_next(app, host);
    }
    let processors = if app.tasks.is_none() { app.region.width() } else { app.tasks.left() };
    let own = team::own(&host.os, app.slot, &app.team);
    if app.notices.fork(processors, own, &mut host.outbox) { await_answer(app, host) } else { create(app, host) }
}

/// The team is complete.
fn begin(app: &mut App, host: &mut Host) {
    if app.tasks.is_none() { region::begin(app, host) } else { tasks::begin(app, host) }
}

/// Threads that the region or the tasks have so far.
fn size(app: &App) -> u32 {
    if app.tasks.is_none() { app.region.size() } else { (app.team.len() as u32).min(app.notices.count()) }
}

/// Most threads that the region or the tasks can use.
fn width(app: &App) -> u32 {
    if app.tasks.is_none() { app.region.width() } else { app.tasks.left().min(app.program.processors) }
}

/// Its master waits on its processor for the engine's answer.
fn await_answer(app: &mut App, host: &mut Host) {
    app.activity = Activity::Forking;
    host.outbox.await_answer(app.slot);
    host.os.wait(app.team[0], Doing::Answer, Wait::Spin);
}

/// The engine's answer has been carried out.
pub fn answered(app: &mut App, host: &mut Host) {
    if app.activity != Activity::Forking || host.os.thread(app.team[0]).doing != Doing::Answer {
        return;
    }
    let size = size(app);
    if app.program.asks != Asks::Creation {
        create(app, host);
    } else if app.notices.count() <= size {
        // The processor was refused: the program goes on with fewer, and does not want this one any
        // more.
        team::demand(app, host, size);
        begin(app, host);
    } else if app.team.len() as u32 > size {
        join(app, host, size);
    } else {
        create_one(app, host);
    }
}

/// Asks for the processor of one more thread, or begins.
fn create_next(app: &mut App, host: &mut Host) {
    let size = size(app);
    if size >= width(app) {
        return begin(app, host);
    }
    team::demand(app, host, size + 1);
    await_answer(app, host);
}

/// A thread joins a team of `size`; perhaps others follow.
fn join(app: &mut App, host: &mut Host, size: u32) {
    if app.tasks.is_none() {
        team::set_size(app, host, size + 1);
    }
    create_next(app, host);
}

/// Creates the threads that the team lacks, one after the other.
fn create(app: &mut App, host: &mut Host) {
    let size = width(app).min(app.notices.count()).min(app.watch.limit()).max(1);
    if app.tasks.is_none() {
        team::set_size(app, host, size);
    }
    let lacking = size.saturating_sub(app.team.len() as u32);
    if lacking == 0 || app.program.creation_ns == 0 {
        return begin(app, host);
    }
    app.region.lacks(lacking);
    create_one(app, host);
}

fn create_one(app: &mut App, host: &mut Host) {
    app.activity = Activity::Forking;
    host.os.threads().owe(app.team[0], app.program.creation_ns);
    host.os.run(app.team[0], Doing::Create, 0);
}

/// The master has created a thread.
pub fn created(app: &mut App, host: &mut Host) {
    if app.program.asks == Asks::Creation {
        let size = size(app);
        team::spawn(app, host);
        return join(app, host, size);
    }
    team::spawn(app, host);
    if app.region.created() { create_one(app, host) } else { begin(app, host) }
}
