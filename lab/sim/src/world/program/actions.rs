//! Actions of the engine on one application: a target, a forced move, a stop, the end of a stop.
//!
//! A thread of a stopped application that had or wanted a processor is held. A thread that would
//! wake up meanwhile (its team meets, its pause ends) is held from then on, because a stopped
//! process hears nothing. When the application goes on, every thread is put back where it ran last
//! if that processor is its application's again (`allocate_cpu` of Martorell et al. 2000, figure
//! 3).

use super::{curve, phases, place, tasks, team};
use crate::program::{Body, Vacates};
use crate::world::app::{Activity, App, Deferred};
use crate::world::host::Host;
use crate::world::log::Line;
use numaestro_engine::Action;
use numaestro_topology::PuSet;

/// The effects of an action beyond its application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effect {
    /// The application has started.
    pub started: bool,
    /// Other curves have other parts of their processors.
    pub crowds: bool,
    /// The application can never run here.
    pub refused: bool,
}

/// Carries an action out on its application.
pub fn carry_out(app: &mut App, host: &mut Host, action: &Action) -> Effect {
    match action {
        Action::Start { .. } | Action::Wait { .. } => {}
        Action::Target { epoch, count, pus, shared, lent, .. } => {
            return target(app, host, (*epoch, *count), pus, (*shared, *lent));
        }
        Action::Pages { home, .. } => host.os.spaces().rehome(app.slot, *home, host.clock.now()),
        Action::Force { epoch, .. } => force(app, host, *epoch),
        Action::Stop { .. } => return Effect { crowds: stop(app, host), ..Effect::default() },
        Action::Continue { .. } => return Effect { crowds: let_go_on(app, host), ..Effect::default() },
        // An application that has had a processor has only been refused a request.
        Action::Refuse { .. } => return Effect { refused: app.notices.epoch() == 0, ..Effect::default() },
    }
    Effect::default()
}

/// It is told the processors that are its own from now on, and the number of its threads.
fn target(
    app: &mut App,
    host: &mut Host,
    (epoch, count): (u32, u32),
    pus: &PuSet,
    (shared, lent): (bool, bool),
) -> Effect {
    host.note(Line::Target, app.record.job, count, epoch);
    if app.activity == Activity::Over {
        // It leaves in this very moment, and none of its threads is anywhere.
        app.notices.target_at_end(epoch, shared);
        host.os.allot(app.slot, pus);
        return Effect::default();
    }
    let floats = shared && pus.len() > 1 && pus.len() == host.usable;
    let had = host.os.set(app.slot);
    let changed = had != pus || app.places.floats() != floats;
    let change = app.notices.target((epoch, count), (shared, lent), had, pus);
    if change.resized {
        let settled = app.notices.wants_most() && app.searched.is_settled() && !had.is_empty();
        app.record.resizes += 1;
        app.record.settled_resizes += u32::from(settled);
    }
    if changed {
        app.watch.disturb_if_timed();
    }
    let is_curve = matches!(app.program.body, Body::Curve { .. });
    let crowds = changed && is_curve && curve::change(app, host, pus);
    host.os.allot(app.slot, pus);
    host.os.spaces().allot(app.slot, pus);
    app.places.allot(pus, floats, changed);
    if change.first {
        begin(app, host);
    } else if changed && app.activity != Activity::Curve {
        leave(app, host);
    } else if change.gives_up {
        place::adopt(app, host);
    }
    if app.activity == Activity::Curve {
        place::settle(app, host);
    }
    Effect { started: change.first, crowds, refused: false }
}

/// Its first processors: its first thread runs on the first of them.
fn begin(app: &mut App, host: &mut Host) {
    app.record.started = host.clock.now();
    host.note(Line::Start, app.record.job, 0, 0);
    if !matches!(app.program.body, Body::Curve { .. }) {
        team::spawn(app, host);
        app.places.settle();
        phases::advance(app, host);
    }
}

/// Its threads leave processors that are not its own any more: at once, or when the program comes
/// to the point.
fn leave(app: &mut App, host: &mut Host) {
    let floats = app.places.floats();
    let unbound = app.team.iter().any(|&id| host.os.thread(id).floats != floats);
    let at_once = app.program.vacates == Vacates::AtOnce || !app.activity.is_parallel() || unbound;
    if at_once || host.os.is_stopped(app.slot) {
        place::settle(app, host);
    } else {
        tasks::slide(app, host);
    }
    tasks::start_runners(app, host);
}

/// Its threads move to its processors whatever they do.
fn force(app: &mut App, host: &mut Host, epoch: u32) {
    host.note(Line::Force, app.record.job, 0, epoch);
    app.places.unsettle();
    app.notices.force();
    if app.activity == Activity::Tasks && app.program.recovers {
        tasks::set_aside(app, host);
    }
    place::settle(app, host);
}

/// It does not run until it is let go on. Its processors are free at once. True if other curves
/// have other parts of them.
fn stop(app: &mut App, host: &mut Host) -> bool {
    if host.os.is_stopped(app.slot) || app.activity == Activity::Over {
        return false;
    }
    app.record.stops += 1;
    app.notices.stop();
    app.watch.disturb();
    host.note(Line::Stop, app.record.job, 0, 0);
    let mut crowds = false;
    if app.activity == Activity::Curve {
        crowds = curve::change(app, host, &PuSet::new());
        curve::halt(app, host);
    }
    host.os.stop(app.slot, &app.team);
    crowds
}

/// It goes on, on the processors that it was told last. True if other curves have other parts of
/// them.
fn let_go_on(app: &mut App, host: &mut Host) -> bool {
    if !host.os.unstop(app.slot) {
        return false;
    }
    host.note(Line::Continue, app.record.job, 0, 0);
    let cost = host.costs.stop_ns;
    if app.activity == Activity::Curve {
        return curve::go_on(app, host, cost);
    }
    if app.places.have_moved() {
        place::spread(app, host);
    }
    for (number, &id) in app.team.iter().enumerate() {
        // A thread that waits between two regions is on no processor of its own; the next region
        // spreads it.
        host.os.release(id, app.places.nth(number), cost);
    }
    place::recover(app, host);
    match app.deferred.take() {
        None => {}
        Some(Deferred::Meeting) => phases::meeting(app, host),
        Some(Deferred::Resume) => phases::resume(app, host),
        Some(Deferred::Answer) => phases::answered(app, host),
    }
    false
}
