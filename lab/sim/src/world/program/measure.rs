//! A program times its own iterations and reports its speedup.

use crate::world::app::App;
use crate::world::host::Host;
use numaestro_engine::Event;

/// A part that counts begins, with so many threads.
pub fn begin(app: &mut App, host: &Host, team: u32) {
    let processors = app.places.list().len() as u32;
    if app.watch.is_on() && app.notices.wants_most() && !app.notices.is_shared() && processors > 0 {
        app.watch.begin(host.clock.now(), processors, team);
    }
}

/// The part has ended.
pub fn end(app: &mut App, host: &Host) {
    app.watch.end(host.clock.now());
}

/// An iteration has ended.
pub fn round(app: &mut App, host: &mut Host) {
    if let Some((processors, speedup)) = app.watch.round() {
        if let Some(&master) = app.team.first() {
            host.os.threads().owe(master, app.watch.cost());
        }
        say(app, host, processors, speedup);
    }
}

/// A meeting has come, which ends an iteration of a program without outer loop. True if such an
/// iteration has ended, so that the next part begins.
pub fn meeting(app: &mut App, host: &mut Host) -> bool {
    let counts = app.watch.is_on() && app.watch.has_no_loop();
    if counts {
        end(app, host);
        round(app, host);
    }
    counts
}

/// A curve has done a part of its work in `elapsed` nanoseconds.
pub fn part(app: &mut App, host: &mut Host, work: u64, elapsed: u64) {
    let speedup = app.watch.part(work, elapsed);
    if let Some(speedup) = speedup.filter(|_| !app.notices.is_shared()) {
        let processors = host.os.set(app.slot).len() as u32;
        say(app, host, processors, speedup);
    }
}

fn say(app: &mut App, host: &mut Host, processors: u32, speedup: f64) {
    let speedup_milli = app.watch.report(speedup);
    app.record.speedups += 1;
    host.outbox.say(Event::Speedup { app: app.notices.id(), processors, speedup_milli });
}
