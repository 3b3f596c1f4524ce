//! The sensors of the simulator's shell: what it observes by itself of the applications, because
//! they do not say it. The rates of threads at the end of a turn, and phases that it looks for.
//!
//! The contract decides when it looks for phases and at which applications
//! ([`numaestro_contract::Looks`]), as in the manager; a look takes no time here. Where no
//! program's phases are looked for, nothing of this happens.

use super::app::{Activity, App};
use super::apps::Apps;
use super::counters::Counters;
use super::host::Host;
use super::os::Os;
use crate::Nanos;
use numaestro_contract::{Holding, Looks, Observation, READY_MOST, Subject};
use numaestro_engine::Action;

/// See the file's header.
#[derive(Debug)]
pub struct Sensors {
    counters: Counters,
    looks: Looks,
}

impl Sensors {
    /// Sensors that have seen nothing.
    pub fn new(counters: Counters) -> Self {
        Self { counters, looks: Looks::default() }
    }

    /// A turn is over: the engine hears the transactions of applications in it.
    pub fn read_rates(&mut self, apps: &Apps, host: &mut Host) {
        let rates = apps.iter().filter_map(|app| self.counters.read(&mut host.os, app)).collect();
        host.outbox.observe(host.clock.now(), Observation::Rates(rates));
    }

    /// An action has been carried out on an application.
    pub fn carried_out(&mut self, app: &App, action: &Action, host: &Host) {
        if let Action::Target { app: id, lent: true, .. } = action
            && app.notices.phases().are_looked_for()
        {
            self.looks.lent(host.outbox.course(), *id, host.clock.now());
        }
    }

    /// The latest decisions have been carried out: looks for phases begin or end.
    pub fn watch(&mut self, apps: &Apps, host: &mut Host) {
        if apps.have_looked_for() || self.looks.next().is_some() {
            let subjects = subjects(apps, &host.os, host.usable);
            self.looks.decided(host.outbox.course(), subjects, host.clock.now());
            host.clock.expect_look(self.looks.next());
        }
    }

    /// The time of a look for phases has come.
    pub fn look(&mut self, apps: &Apps, host: &mut Host) {
        let now = host.clock.now();
        let of_use = self.looks.begin(host.outbox.course(), subjects(apps, &host.os, host.usable));
        for app in apps.iter() {
            let subject = subject(app, &host.os, host.usable);
            if subject.could_lend(host.outbox.course()) {
                host.outbox.observe(now, look(app, subject, host, (now, of_use)));
            }
        }
        self.looks.end(host.outbox.course(), subjects(apps, &host.os, host.usable), (now, of_use));
        host.clock.expect_look(self.looks.next());
    }
}

/// A look at one application.
fn look(app: &App, subject: Subject, host: &Host, (now, of_use): (Nanos, bool)) -> Observation {
    let (phases, activity) = (app.notices.phases(), app.activity);
    let in_region = phases.shows_regions() && (activity.is_parallel() || activity == Activity::Forking);
    let mut look = subject.look(phases.regions(), in_region);
    let course = host.outbox.course();
    let cpu_ns = look.needs_cpu_time().then(|| host.os.cpu_time(app.slot, &app.team));
    let counts = cpu_ns.is_some_and(|cpu_ns| course.counts_ready(subject.app, look, (now, of_use), cpu_ns));
    look.ready = counts.then(|| ready(app, host).min(READY_MOST));
    Observation::Look { app: subject.app, look, cpu_ns, of_use }
}

/// Threads of an application that are ready. A region has as many as its processors here; those
/// that a live program without regions would have beside them are ready for as long as it lasts.
fn ready(app: &App, host: &Host) -> u32 {
    let is_pool = !app.notices.phases().shows_regions() && app.activity.is_parallel();
    let lacking = if is_pool { app.region.width().saturating_sub(app.region.size()) } else { 0 };
    host.os.ready_threads(&app.team) + lacking
}

/// All applications, as far as looks are concerned; `usable`: processors that can be given out.
fn subjects<'a>(apps: &'a Apps, os: &'a Os, usable: usize) -> impl Iterator<Item = Subject> + Clone + 'a {
    apps.iter().map(move |app| subject(app, os, usable))
}

fn subject(app: &App, os: &Os, usable: usize) -> Subject {
    let processors = os.set(app.slot).len();
    let holding = match app.notices.epoch() {
        0 => Holding::Nothing,
        _ if app.notices.is_shared() => Holding::Shared(processors),
        _ => Holding::Own(processors),
    };
    Subject {
        app: app.notices.id(),
        arrived_ns: app.record.arrived,
        readable: app.notices.phases().are_looked_for(),
        runs: !os.is_stopped(app.slot) && app.activity != Activity::Over,
        holding,
        lacks: app.notices.lacks(usable),
    }
}
