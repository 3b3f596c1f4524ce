//! Threads of an application come and go.

use crate::program::Asks;
use crate::world::app::App;
use crate::world::host::Host;
use crate::world::os::{NONE, Os};
use crate::world::shell::Allocation;
use numaestro_topology::PuId;

/// Adds a new thread, parked. Returns it.
pub fn spawn(app: &mut App, host: &mut Host) -> u32 {
    let number = app.team.len() as u32;
    let pu = place_of_new(app, host, number);
    let id = host.os.spawn(app.slot, number, app.places.floats(), pu);
    app.team.push(id);
    app.places.scatter();
    app.record.threads = app.record.threads.max(number + 1);
    app.record.children += u32::from(number > 0);
    id
}

/// The processor of a thread that is being created: a program that asks for each thread has just
/// got it; others spread their threads later.
fn place_of_new(app: &App, host: &Host, number: u32) -> u32 {
    let mut own = app.places.list().iter().map(|pu| pu.0);
    if number == 0 {
        return own.next().unwrap_or(NONE);
    }
    if app.program.asks != Asks::Creation {
        return NONE;
    }
    own.find(|&pu| !app.team.iter().any(|&id| host.os.thread(id).pu == pu)).unwrap_or(NONE)
}

/// Parks the threads from this number on.
pub fn park(app: &App, host: &mut Host, from: u32) {
    app.team.iter().skip(from as usize).for_each(|&id| host.os.park(id));
}

/// Whether the threads that it has asked for, one by one, end with their present work: no later
/// phase has any for them.
pub fn ends(app: &App) -> bool {
    app.program.asks == Asks::Creation && !app.cursor.has_team_ahead(&app.program)
}

/// Created threads are gone; a later region creates new ones.
pub fn retire(app: &mut App, host: &mut Host) {
    park(app, host, 1);
    while app.team.len() > 1 {
        if let Some(id) = app.team.pop() {
            host.os.retire(&[id]);
        }
    }
}

/// Its region has a team of this size.
pub fn set_size(app: &mut App, host: &mut Host, size: u32) {
    app.region.set_size(size);
    set_partners(app, host);
}

/// Its region is another one, or its team has another size.
pub fn set_partners(app: &App, host: &mut Host) {
    host.os.spaces().set_partners(app.slot, app.region.partners());
}

/// Its processors, and the processors of its threads that have something to do.
pub fn own<'a>(os: &'a Os, app: u32, team: &'a [u32]) -> Allocation<'a, impl Iterator<Item = PuId>> {
    Allocation { set: os.set(app), busy: os.busy(team) }
}

/// It could use so many processors now. True if that is news.
pub fn demand(app: &mut App, host: &mut Host, processors: u32) -> bool {
    app.notices.demand(processors, own(&host.os, app.slot, &app.team), &mut host.outbox)
}
