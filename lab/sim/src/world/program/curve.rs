//! Applications that are only a speedup curve. Where several of them share a processor, each has a
//! part of it, and the speedup is that of n processors times the mean part. Threads of other
//! applications on the same processor are not in their way.
//!
//! A serial stretch takes time of the first processor only, a pause of none.

use super::measure;
use crate::Nanos;
use crate::program::{Body, Program, Stretch};
use crate::world::app::{Activity, App, StretchKind};
use crate::world::host::Host;
use crate::world::log::Line;
use crate::world::queue::{Happening, Key, Rank};
use crate::world::shell::Allocation;
use numaestro_topology::PuSet;

/// Its processors change to `pus`; its set has not changed yet. True if that changes the parts of
/// other curves.
pub fn change(app: &mut App, host: &mut Host, pus: &PuSet) -> bool {
    advance(app, host);
    let Body::Curve { resize_ns, .. } = &app.program.body else { return false };
    let size = pus.len() as u32;
    if app.activity == Activity::Waiting {
        app.activity = Activity::Curve;
        let (part, work) = amounts(app);
        app.curve.begin(host.clock.now(), (part, work), size);
        if !begin_stretch(app, host, pus) {
            return end(app, host);
        }
    } else {
        app.curve.resize(size, *resize_ns);
    }
    let crowds = occupy(app, host, pus);
    rate(app, host, size);
    crowds
}

/// It makes no progress until it is rated again.
pub fn halt(app: &App, host: &mut Host) {
    host.clock.complete_curve(app.slot, Key::NEVER);
}

/// It goes on after so many nanoseconds. True if that changes the parts of other curves.
pub fn go_on(app: &mut App, host: &mut Host, cost: u64) -> bool {
    advance(app, host);
    app.curve.stall(cost);
    let pus = host.os.set(app.slot).clone();
    let crowds = occupy(app, host, &pus);
    rate_own(app, host);
    crowds
}

/// A curve has come to processors of other curves, or left them: its part changes though its set
/// does not.
pub fn rate_again(app: &mut App, host: &mut Host) {
    if app.activity == Activity::Curve {
        advance(app, host);
        rate_own(app, host);
    }
}

/// A part of its work is done, or a stretch, or all. True if that changes the parts of other
/// curves.
pub fn part_ended(app: &mut App, host: &mut Host) -> bool {
    advance(app, host);
    let part = app.curve.ends();
    let mut crowds = false;
    if app.curve.stretch_is_done() {
        host.log.count(1);
        let line = if app.curve.kind() == StretchKind::Pause { Line::Resume } else { Line::Segment };
        host.note(line, app.record.job, 0, 0);
        let pus = host.os.set(app.slot).clone();
        if !begin_stretch(app, host, &pus) {
            return end(app, host);
        }
        crowds = occupy(app, host, &pus);
    }
    rate_own(app, host);
    if let Some((work, elapsed)) = part {
        measure::part(app, host, work, elapsed);
    }
    crowds
}

fn advance(app: &mut App, host: &Host) {
    if app.activity == Activity::Curve {
        let elapsed = app.curve.advance(host.clock.now());
        app.record.cpu_ns += elapsed * app.curve.on().len() as u64;
    }
}

/// It takes time of the processors, of these at most, that its stretch needs: of none while it is
/// stopped. True if that changes the parts of other curves.
fn occupy(app: &mut App, host: &mut Host, pus: &PuSet) -> bool {
    let on = match app.curve.kind() {
        _ if host.os.is_stopped(app.slot) => PuSet::new(),
        StretchKind::Parallel => pus.clone(),
        StretchKind::Serial => pus.first().into_iter().collect(),
        StretchKind::Pause => PuSet::new(),
    };
    let was = app.curve.move_to(on);
    host.os.cpus().occupy(app.slot, &was, app.curve.on())
}

fn rate_own(app: &mut App, host: &mut Host) {
    let size = host.os.set(app.slot).len() as u32;
    rate(app, host, size);
}

/// It has so many processors, and a part of each. While it is stopped, nothing of it ends.
fn rate(app: &mut App, host: &mut Host, size: u32) {
    if host.os.is_stopped(app.slot) {
        return halt(app, host);
    }
    let Body::Curve { curve, .. } = &app.program.body else { return };
    let part = host.os.part_of_curve(app.curve.on());
    let threads = app.curve.on().len() as u32;
    app.record.threads = app.record.threads.max(threads);
    let rate = match app.curve.kind() {
        StretchKind::Parallel => curve.speedup(size) * part,
        StretchKind::Serial if size == 0 => 0.0,
        StretchKind::Serial => part,
        StretchKind::Pause => 1.0,
    };
    let ends = app.curve.set_rate(rate);
    host.clock.complete_curve(app.slot, Key::new(ends, Rank::Segment));
}

/// Its next stretch begins on these processors, and the engine may learn of it. False: there is
/// none.
fn begin_stretch(app: &mut App, host: &mut Host, pus: &PuSet) -> bool {
    let number = app.curve.begun();
    let Some((kind, length)) = stretch(app, number) else { return false };
    let was = app.curve.kind();
    app.curve.stretch(kind, length);
    let out = &mut host.outbox;
    if was == StretchKind::Pause {
        app.notices.resume(out);
    }
    let own = |busy: usize| Allocation { set: pus, busy: pus.iter().take(busy) };
    match kind {
        StretchKind::Parallel => _ = app.notices.fork(app.program.processors, own(pus.len()), out),
        StretchKind::Serial => app.notices.serial(length, own(1), out),
        StretchKind::Pause => app.notices.pause(length, own(0), out),
    }
    true
}

/// The kind and the length of a stretch, counted from 0.
fn stretch(app: &App, number: u64) -> Option<(StretchKind, Nanos)> {
    let stretch = nth(&app.program, number)?;
    let length = app.draws.once(number + 1, stretch.amount());
    Some((StretchKind::from(stretch), length))
}

fn nth(program: &Program, number: u64) -> Option<&Stretch> {
    let Body::Curve { stretches, times, .. } = &program.body else { return None };
    let count = stretches.len() as u64;
    (number < count * u64::from(*times)).then(|| &stretches[(number % count) as usize])
}

/// Parallel work after which it measures itself, and all of it, nanoseconds on one processor.
fn amounts(app: &App) -> (Nanos, Nanos) {
    if !app.watch.is_on() {
        return (Nanos::MAX, Nanos::MAX);
    }
    let all = (0..).map_while(|number| stretch(app, number));
    let work = all.filter(|(kind, _)| *kind == StretchKind::Parallel).map(|(_, length)| length).sum();
    (app.watch.chunk(work), work)
}

/// All is done. True if that changes the parts of other curves.
fn end(app: &mut App, host: &mut Host) -> bool {
    halt(app, host);
    app.activity = Activity::Over;
    host.clock.expect(host.clock.now(), Rank::End, Happening::End(app.slot));
    let was = app.curve.move_to(PuSet::new());
    host.os.cpus().occupy(app.slot, &was, &PuSet::new())
}
