//! Applications that are only a speedup curve. Where several of them share a processor, each has a
//! part of it, and the speedup is that of n processors times the mean part. Threads of other
//! applications on the same processor are not in their way.

use super::measure;
use crate::program::Body;
use crate::world::app::{Activity, App};
use crate::world::host::Host;
use crate::world::log::Line;
use crate::world::queue::{Happening, Key, Rank};
use numaestro_topology::PuSet;

/// Its processors change to `pus`; its set has not changed yet. True if that changes the parts of
/// other curves.
pub fn change(app: &mut App, host: &mut Host, pus: &PuSet) -> bool {
    advance(app, host);
    let Body::Curve { work, resize_ns, .. } = &app.program.body else { return false };
    let size = pus.len() as u32;
    if app.activity == Activity::Waiting {
        let work = app.draws.once(1, work);
        app.activity = Activity::Curve;
        app.curve.begin(host.clock.now(), work, app.watch.chunk(work), size);
    } else {
        app.curve.resize(size, *resize_ns);
    }
    let shared = host.os.cpus().occupy(app.slot, pus);
    rate(app, host, size, host.os.part_of_curve(pus));
    shared
}

/// It makes no progress until it is rated again.
pub fn halt(app: &App, host: &mut Host) {
    host.clock.complete_curve(app.slot, Key::NEVER);
}

/// It goes on after so many nanoseconds.
pub fn go_on(app: &mut App, host: &mut Host, cost: u64) {
    app.curve.stall(cost);
    rate_own(app, host);
}

/// A curve has come to processors of other curves, or left them: its part changes though its set
/// does not.
pub fn rate_again(app: &mut App, host: &mut Host) {
    if app.activity == Activity::Curve {
        advance(app, host);
        rate_own(app, host);
    }
}

fn advance(app: &mut App, host: &Host) {
    if app.activity == Activity::Curve {
        let elapsed = app.curve.advance(host.clock.now());
        app.record.cpu_ns += elapsed * host.os.set(app.slot).len() as u64;
    }
}

fn rate_own(app: &mut App, host: &mut Host) {
    let pus = host.os.set(app.slot);
    rate(app, host, pus.len() as u32, host.os.part_of_curve(pus));
}

/// It has so many processors, and this part of each.
fn rate(app: &mut App, host: &mut Host, size: u32, part: f64) {
    let Body::Curve { curve, .. } = &app.program.body else { return };
    app.record.threads = app.record.threads.max(size);
    let ends = app.curve.set_rate(curve.speedup(size) * part);
    host.clock.complete_curve(app.slot, Key::new(ends, Rank::Segment));
}

/// A part of its work is done, or all. True if that changes the parts of other curves.
pub fn part_ended(app: &mut App, host: &mut Host) -> bool {
    advance(app, host);
    let part = app.watch.chunk(app.curve.work());
    if let Some((work, elapsed)) = app.curve.next_part(host.clock.now(), part) {
        rate_own(app, host);
        measure::part(app, host, work, elapsed);
        return false;
    }
    halt(app, host);
    app.activity = Activity::Over;
    host.log.count(1);
    host.note(Line::Segment, app.record.job, 0, 0);
    host.clock.expect(host.clock.now(), Rank::End, Happening::End(app.slot));
    host.os.cpus().occupy(app.slot, &PuSet::new())
}
