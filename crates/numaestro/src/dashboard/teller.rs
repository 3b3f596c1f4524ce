//! Turns the lines of a journal into the steps of the page: what is different after each event, and
//! what was decided.

use super::message::{App, Cpu, Decision, Hello, May, Step, VERSION};
use numaestro_engine::explain::{Chronicle, Effect};
use numaestro_engine::journal::{self, JournalError};
use numaestro_engine::{Action, AppId, AppSnapshot, Class, Nanos, PuSnapshot};
use numaestro_recording::Stamp;
use std::collections::BTreeMap;

/// Decisions that are remembered for those that they led to.
const DECISIONS_MOST: usize = 1000;

/// See the file's header.
#[derive(Debug)]
pub struct Teller {
    chronicle: Chronicle,
    /// The policy at the begin.
    policy: String,
    /// t = 0 on the journal's clock.
    start: Option<Nanos>,
    stamp: Option<Stamp>,
    /// The latest time of day that the journal has told, on its own clock.
    stamped: Nanos,
    /// The number of the next decision that is to be told.
    next: u64,
    told: Told,
}

/// What the page knows.
#[derive(Debug, Default)]
struct Told {
    policy: String,
    pus: Vec<PuSnapshot>,
    seen: Vec<AppSnapshot>,
    running: usize,
    apps: BTreeMap<AppId, App>,
    unmanaged: u32,
}

impl Teller {
    /// Begins with the first line of a journal.
    ///
    /// # Errors
    /// The line cannot be read, or names a policy that is not known.
    pub fn new(head: &str) -> Result<Self, JournalError> {
        let chronicle = Chronicle::new(head, DECISIONS_MOST)?;
        let policy = chronicle.snapshot().policy.clone();
        Ok(Self { chronicle, policy, start: None, stamp: None, stamped: 0, next: 0, told: Told::default() })
    }

    /// Takes the next line of the journal. `None`: nothing is different.
    ///
    /// # Errors
    /// The line cannot be read.
    pub fn line(&mut self, line: &str) -> Result<Option<Step>, JournalError> {
        self.chronicle.line(line)?;
        if journal::is_aside(line) {
            if let Some(stamp) = Stamp::decode(line) {
                self.stamp = self.stamp.or(Some(stamp));
                self.stamped = self.stamped.max(stamp.at);
            }
            if self.chronicle.now() == 0 {
                return Ok(None);
            }
        }
        let step = Step { t: self.t(self.chronicle.now()), decisions: self.decisions(), ..self.difference() };
        let is_news = step != Step { t: step.t, ..Step::default() };
        Ok(is_news.then_some(step))
    }

    /// All that is true now, for a page that knows nothing.
    pub fn whole(&mut self) -> Step {
        self.told = Told::default();
        Step { t: self.t(self.chronicle.now()), ..self.difference() }
    }

    /// What does not change.
    pub fn hello(&mut self, title: String, live: bool, policies: Vec<String>, may: May) -> Hello {
        // Before the first event only a stamp has a time: a journal's clock begins at the boot.
        let first = match self.chronicle.now() {
            0 => self.stamp.map_or(0, |stamp| stamp.at),
            now => now,
        };
        let start = *self.start.get_or_insert(first);
        let machine = self.chronicle.machine();
        let cpus = machine.pus().iter().map(|pu| Cpu {
            os_index: pu.os_index,
            node: machine.numa_nodes()[pu.node.index()].os_index,
            package: pu.package,
            core: pu.core,
        });
        Hello {
            version: VERSION,
            live,
            title,
            policy: self.policy.clone(),
            began_ms: self.stamp.map(|stamp| stamp.wall_at(start) / 1_000_000),
            cpus: cpus.collect(),
            policies,
            may,
        }
    }

    /// The viewer is no administrator: other users' programs are hidden.
    pub fn is_veiled(&self) -> bool {
        self.chronicle.is_veiled()
    }

    /// The journal has told its first event, and its time of day.
    pub fn has_begun(&self) -> bool {
        self.start.is_some() && self.stamp.is_some()
    }

    /// The latest moment that the journal has told, for the page: by an event, or by a stamp as at
    /// the end of a part.
    pub fn end(&self) -> u64 {
        let latest = self.stamped.max(self.chronicle.now());
        self.start.map_or(0, |start| latest.saturating_sub(start) / 1000)
    }

    /// A moment on the journal's clock, for the page.
    pub fn t(&mut self, at: Nanos) -> u64 {
        at.saturating_sub(*self.start.get_or_insert(at)) / 1000
    }

    fn decisions(&mut self) -> Vec<Decision> {
        let chronicle = &self.chronicle;
        let fresh = chronicle.decisions().rev().take_while(|decision| decision.number >= self.next);
        let mut fresh: Vec<_> = fresh.collect();
        fresh.reverse();
        let words = |decision: &numaestro_engine::explain::Decision| {
            let links = chronicle.links(decision).into_iter().enumerate();
            let with_counts = links.map(|(place, link)| {
                let (before, after) = decision.effects.get(place).map_or((0, 0), counts);
                Decision {
                    number: link.decision,
                    because: link.cause,
                    app: link.app.map(|app| app.0),
                    event: link.event,
                    rule: format!("{}: {}", link.rule.name, link.rule.summary),
                    section: link.rule.source.to_owned(),
                    action: link.effect,
                    before,
                    after,
                }
            });
            with_counts.collect::<Vec<_>>()
        };
        let told = fresh.iter().flat_map(|decision| words(decision)).collect();
        if let Some(latest) = fresh.last() {
            self.next = latest.number + 1;
        }
        told
    }

    fn difference(&mut self) -> Step {
        let Self { chronicle, told, .. } = self;
        let now = chronicle.snapshot();
        let mut step = Step::default();
        if told.policy != now.policy {
            told.policy.clone_from(&now.policy);
            step.policy = Some(now.policy.clone());
        }
        if told.unmanaged != now.unmanaged {
            told.unmanaged = now.unmanaged;
            step.unmanaged = Some(now.unmanaged);
        }
        for (place, pu) in now.pus.iter().enumerate() {
            if told.pus.get(place) != Some(pu) {
                let guests = pu.guests.iter().map(|app| app.0).collect();
                step.pus.push((place as u32, pu.state_name(), pu.owner.map(|app| app.0), guests));
                match told.pus.get_mut(place) {
                    Some(known) => known.clone_from(pu),
                    None => told.pus.push(pu.clone()),
                }
            }
        }
        // Nothing of an application's words changes while no application does.
        if !step.pus.is_empty() || step.policy.is_some() || told.seen != now.apps {
            let gone =
                told.apps.extract_if(.., |app, _| now.apps.binary_search_by_key(app, |entry| entry.app).is_err());
            step.gone = gone.map(|(app, _)| app.0).collect();
            // What is said of an application follows from these three.
            let running = chronicle.running();
            let is_told = |seen: &AppSnapshot| {
                let place = told.seen.binary_search_by_key(&seen.app, |before| before.app);
                place.is_ok_and(|place| told.seen[place] == *seen)
            };
            for seen in &now.apps {
                if step.policy.is_none() && running == told.running && is_told(seen) {
                    continue;
                }
                let app = of(chronicle, seen);
                if told.apps.get(&seen.app) != Some(&app) {
                    told.apps.insert(seen.app, app.clone());
                    step.apps.push(app);
                }
            }
            told.seen.clone_from(&now.apps);
            told.running = running;
        }
        step
    }
}

fn of(chronicle: &Chronicle, seen: &AppSnapshot) -> App {
    App {
        number: seen.app.0,
        name: chronicle.names().get(&seen.app).cloned().unwrap_or_default(),
        state: seen.state.name(),
        count: seen.count,
        request: seen.request,
        min: seen.min,
        max: (seen.max < u32::MAX).then_some(seen.max),
        weight: f64::from(seen.weight_milli) / 1000.0,
        class: match seen.class {
            Class::Malleable => "malleable",
            Class::Setter => "setter",
            Class::Fold => "fold",
        },
        cpus: chronicle.machine().os_cpuset(&seen.pus).to_string(),
        shared: seen.shared,
        lent: seen.lent,
        why: chronicle.reason(seen),
    }
}

/// Threads before and after.
fn counts(effect: &Effect) -> (u32, u32) {
    let before = effect.before.as_ref().map_or(0, |before| before.count);
    match &effect.action {
        Action::Target { count, .. } => (before, *count),
        _ => (before, before),
    }
}

#[cfg(test)]
mod tests;
