//! Brings a team together before its region or its tasks begin: asks for processors, and creates
//! threads.

use super::{region, tasks, team};
use crate::program::{Asks, Phase, Wait};
use crate::world::app::{Activity, App, Tasks};
use crate::world::host::Host;
use crate::world::os::Doing;

/// A parallel region begins: with the present threads, or after asking and creating.
pub fn region(app: &mut App, host: &mut Host) {
    let Some(Phase::Parallel { width, iterations, wait, .. }) = app.cursor.phase(&app.program) else { return };
    app.region.begin(*width, *iterations, *wait);
    let width = app.region.width();
    team::set_partners(app, host);
    app.tasks = Tasks::default();
    if app.program.asks == Asks::Creation {
        return create_next(app, host);
    }
    if ask(app, host, width) { await_answer(app, host) } else { create(app, host) }
}

/// The master forks tasks.
pub fn tasks(app: &mut App, host: &mut Host, count: u32) {
    app.region.clear();
    team::set_partners(app, host);
    app.tasks = Tasks::new(count);
    host.os.threads().owe(app.team[0], app.program.creation_ns * u64::from(count));
    if ask(app, host, count) { await_answer(app, host) } else { tasks::begin(app, host) }
}

fn ask(app: &mut App, host: &mut Host, processors: u32) -> bool {
    app.notices.fork(processors, team::own(&host.os, app.slot, &app.team), &mut host.outbox)
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
    if !app.tasks.is_none() {
        tasks::begin(app, host);
    } else if app.program.asks != Asks::Creation {
        create(app, host);
    } else if app.notices.count() > app.region.size() {
        create_one(app, host);
    } else {
        // The processor was refused: the program goes on with fewer, and does not want this one any
        // more.
        team::demand(app, host, app.region.size());
        region::begin(app, host);
    }
}

/// Asks for the processor of one more thread, or begins.
fn create_next(app: &mut App, host: &mut Host) {
    let size = app.region.size();
    if size >= app.region.width() {
        return region::begin(app, host);
    }
    team::demand(app, host, size + 1);
    await_answer(app, host);
}

/// Creates the threads that the team lacks, one after the other.
fn create(app: &mut App, host: &mut Host) {
    let size = app.region.width().min(app.notices.count()).min(app.watch.limit()).max(1);
    team::set_size(app, host, size);
    let lacking = size.saturating_sub(app.team.len() as u32);
    if lacking == 0 || app.program.creation_ns == 0 {
        return region::begin(app, host);
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
        team::set_size(app, host, app.region.size() + 1);
        if (app.team.len() as u32) < app.region.size() {
            team::spawn(app, host);
        }
        return create_next(app, host);
    }
    team::spawn(app, host);
    if app.region.created() { create_one(app, host) } else { region::begin(app, host) }
}
