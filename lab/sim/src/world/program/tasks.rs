//! Tasks: a number of threads forked at once; the processors of the application take them first
//! come first served. A runner is the thread that takes tasks on one processor.
//!
//! Where a processor is taken in the middle of a task, a program with recovery puts the task back
//! at the head of its queue, and the next of its processors that is free goes on with it (two-level
//! scheduling of Koita et al. §2.2). In other programs the runner shares another processor.

use super::{place, team};
use crate::program::{Asks, Phase};
use crate::world::app::{Activity, App};
use crate::world::host::Host;
use crate::world::os::Doing;
use numaestro_topology::PuId;

/// Its processors begin to take tasks.
pub fn begin(app: &mut App, host: &mut Host) {
    app.activity = Activity::Tasks;
    // The team of a region before this may still wait for the next one.
    team::park(app, host, 1);
    let master = app.team[0];
    place::settle(app, host);
    take(app, host, master);
    start_runners(app, host);
}

/// Every processor without a runner gets one, while there are tasks.
pub fn start_runners(app: &mut App, host: &mut Host) {
    if app.activity != Activity::Tasks {
        return;
    }
    let count = app.notices.count();
    for at in 0..count as usize {
        let floats = app.places.floats();
        // Where no application owns processors, the count says how many may run; else every
        // processor of its own may.
        let preempted = preempted(app, host);
        if preempted.is_none() && app.tasks.left() == 0 || floats && app.tasks.running() >= count {
            break;
        }
        let Some(pu) = app.places.nth(at) else { break };
        if !floats && host.os.busy(&app.team).any(|busy| busy == pu) {
            continue;
        }
        if let Some(id) = preempted {
            app.places.scatter();
            host.os.release(id, Some(pu), 0);
            continue;
        }
        let id = idle_thread(app, host, pu).unwrap_or_else(|| {
            host.os.threads().owe(app.team[0], app.program.creation_ns);
            team::spawn(app, host)
        });
        host.os.place(id, pu.0, floats);
        app.places.scatter();
        take(app, host, id);
    }
}

/// A runner that has lost its processor in the middle of a task.
fn preempted(app: &App, host: &Host) -> Option<u32> {
    if !app.program.recovers {
        return None;
    }
    app.team.iter().copied().find(|&id| host.os.is_aside(id))
}

/// A thread that can take tasks on a processor: the first one. One that was asked for with its
/// processor stays there.
fn idle_thread(app: &App, host: &Host, pu: PuId) -> Option<u32> {
    let stays = app.program.asks == Asks::Creation;
    let mut idle = app.team.iter().copied().filter(|&id| host.os.thread(id).doing == Doing::Nothing);
    let there = idle.clone().find(|&id| stays && host.os.thread(id).pu == pu.0);
    there.or_else(|| idle.next())
}

/// A thread takes the next task.
fn take(app: &mut App, host: &mut Host, id: u32) {
    let Some(Phase::Tasks { work, .. }) = app.cursor.phase(&app.program) else { return };
    let number = app.tasks.take();
    let work = app.draws.task(app.cursor.entered(), number, work);
    host.os.cpus().prepare(id, number);
    host.os.run(id, Doing::Task, work);
}

/// A task has ended: its thread takes the next one, or leaves its processor idle. True if it was
/// the last task.
pub fn ended(app: &mut App, host: &mut Host, id: u32) -> bool {
    app.tasks.end();
    let (left, running) = (app.tasks.left(), app.tasks.running());
    let surplus = app.places.floats() && running >= app.notices.count();
    if left > 0 && !surplus && preempted(app, host).is_none() && !host.os.is_outside(id) {
        take(app, host, id);
        say_runnable(app, host);
        return false;
    }
    if left == 0 && running == 0 {
        place::settle(app, host);
        // The master joins; it goes on where it was last.
        if host.os.thread(id).number > 0 {
            host.os.park(id);
        }
        return true;
    }
    host.os.park(id);
    place::leave_one(app, host);
    start_runners(app, host);
    say_runnable(app, host);
    false
}

/// Says the number of processors that it could use, if the program says it. Created threads keep
/// theirs while they have work ahead.
fn say_runnable(app: &mut App, host: &mut Host) {
    if app.program.asks == Asks::Creation && !team::ends(app) {
        return;
    }
    let threads = app.tasks.left() + app.tasks.running();
    app.notices.runnable(threads, team::own(&host.os, app.slot, &app.team), &mut host.outbox);
}

/// Threads outside move to processors of its own that have nothing to do even though all tasks that
/// can start have started. When none is outside, it has carried its target out.
pub fn slide(app: &mut App, host: &mut Host) {
    let mut outside = place::outside(app, host);
    if outside > 0 {
        start_runners(app, host);
        app.places.find_idle(host.os.set(app.slot), host.os.busy(&app.team));
        for &id in &app.team {
            if place::is_outside(host, id) {
                let Some(pu) = app.places.take_idle() else { break };
                host.os.move_to(id, pu.0, false);
                outside -= 1;
            }
        }
    }
    if outside == 0 {
        place::adopt(app, host);
    }
}

/// Its runners that are still outside, and find no idle processor, leave in the middle of their
/// tasks.
pub fn set_aside(app: &mut App, host: &mut Host) {
    slide(app, host);
    for &id in &app.team {
        if place::is_outside(host, id) {
            host.os.set_aside(id);
        }
    }
}

/// Slides, if it has tasks on processors that it was told to leave: they move to its idle
/// processors that are left.
pub fn slide_if_waiting(app: &mut App, host: &mut Host) {
    if app.notices.owes() && app.activity == Activity::Tasks {
        slide(app, host);
    }
}
