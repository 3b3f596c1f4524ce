//! The places of an application's threads: they are spread over its processors, and leave
//! processors that are not its own any more.
//!
//! In a team with more threads than processors, a virtual processor that would wait for its team
//! gives its processor to one that was left without ("stolen"), so that no thread waits for a
//! preempted partner (Martorell et al. 2000, §3.2 and figure 4). Only programs with recovery do so.

use crate::world::app::{Activity, App};
use crate::world::host::Host;
use crate::world::log::Line;
use crate::world::os::{Doing, State};

/// Its latest target is carried out, if it has not been: nothing holds its threads where they are.
pub fn settle(app: &mut App, host: &mut Host) {
    if app.places.have_moved() {
        spread(app, host);
        recover(app, host);
    }
    adopt(app, host);
}

/// The team of a region has its final size: its threads are spread, if they are not.
pub fn settle_team(app: &mut App, host: &mut Host) {
    if !app.places.are_spread(app.region.size()) {
        spread(app, host);
    }
    adopt(app, host);
}

/// Says `Adopted`, if it owes that.
pub fn adopt(app: &mut App, host: &mut Host) {
    if app.notices.adopt(&mut host.outbox) {
        host.note(Line::Adopted, app.record.job, 0, app.notices.epoch());
    }
}

/// A thread has given its processor up: perhaps it was the last one outside of the set.
pub fn leave_one(app: &mut App, host: &mut Host) {
    if app.notices.owes() && outside(app, host) == 0 {
        adopt(app, host);
    }
}

/// Number of active threads where it has no processor.
pub fn outside(app: &App, host: &Host) -> usize {
    app.team.iter().filter(|&&id| is_outside(host, id)).count()
}

/// Whether a thread is active where its application has no processor.
pub fn is_outside(host: &Host, id: u32) -> bool {
    host.os.thread(id).state.is_active() && host.os.is_outside(id)
}

/// Spreads its threads evenly over its set. Threads that already have a right place stay.
pub fn spread(app: &mut App, host: &mut Host) {
    let in_region = app.activity == Activity::Region;
    let size = if in_region { app.region.size() } else { 0 };
    let many = if app.activity.is_parallel() { app.team.len() } else { 1 };
    let threads = app.team.iter().take(many).map(|&id| (id, host.os.thread(id)));
    let taking_part = threads.enumerate().filter(|&(number, (id, thread))| {
        let takes_part = if in_region { number < size as usize } else { number == 0 || thread.doing != Doing::Nothing };
        takes_part && !host.os.is_aside(id)
    });
    let floats = app.places.floats();
    for &(id, pu) in app.places.spread(size, taking_part.map(|(_, thread)| thread)) {
        host.os.move_to(id, pu, floats);
    }
}

/// A thread that waits for its team gives its processor to a thread of its application that has
/// work and no processor.
pub fn hand_over(app: &App, host: &mut Host, id: u32) {
    if !app.program.recovers || app.team.len() <= app.places.list().len() && !app.notices.is_shared() {
        return;
    }
    let is_stolen = |&&id: &&u32| {
        let other = host.os.thread(id);
        other.state == State::Ready && !other.doing.waits() && other.doing != Doing::Nothing
    };
    if let Some(&stolen) = app.team.iter().find(is_stolen) {
        host.os.hand_over(id, stolen, app.places.floats());
    }
}

/// Hands over the processors of all threads that wait, after its processors have changed.
pub fn recover(app: &App, host: &mut Host) {
    if !app.program.recovers {
        return;
    }
    for &id in &app.team {
        let thread = host.os.thread(id);
        if thread.state.is_active() && thread.doing == Doing::Meet {
            hand_over(app, host, id);
        }
    }
}
