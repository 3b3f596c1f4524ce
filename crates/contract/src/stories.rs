//! Stories for both shells, and faults that a shell could have.
//!
//! A story is a record of a few steps: the observations of a shell, and the events that it has to
//! tell the engine. [`check`] plays all stories through a shell. Then it builds each [`Fault`] into
//! that shell, and the fault's story has to find it.

use crate::feed::Next;
use crate::look::Look;
use crate::observation::Observation;
use crate::player::{Outcome, Shell, play};
use numaestro_engine::{Action, AppId, Engine, Event, Nanos};

/// Name and record of each story.
pub const STORIES: [(&str, &str); 13] = [
    ("arrive-adopt-depart", include_str!("../stories/arrive-adopt-depart.journal")),
    ("sequential-phase", include_str!("../stories/sequential-phase.journal")),
    ("pool-alone", include_str!("../stories/pool-alone.journal")),
    ("blocked", include_str!("../stories/blocked.journal")),
    ("phases-said", include_str!("../stories/phases-said.journal")),
    ("grace-over", include_str!("../stories/grace-over.journal")),
    ("turns-with-rates", include_str!("../stories/turns-with-rates.journal")),
    ("death-in-adoption", include_str!("../stories/death-in-adoption.journal")),
    ("unstoppable", include_str!("../stories/unstoppable.journal")),
    ("idle-processors", include_str!("../stories/idle-processors.journal")),
    ("wish-changed", include_str!("../stories/wish-changed.journal")),
    ("refused", include_str!("../stories/refused.journal")),
    ("without-page", include_str!("../stories/without-page.journal")),
];

/// A fault that a shell could have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It tells the engine of an epoch that is one too large.
    WrongEpoch,
    /// It does not tell the engine that a target was adopted.
    Silence,
    /// It tells a phase twice.
    PhaseTwice,
    /// It tells the rates of a turn after the event that ends the turn.
    LateRates,
    /// It tells something of an application that has departed.
    Departed,
    /// It does not count threads that are ready.
    Uncounted,
    /// It counts no thread beyond the first one that is ready.
    OneOnly,
}

/// Each fault, and the story that has to find it.
const FAULTS: [(Fault, &str); 8] = [
    (Fault::WrongEpoch, "arrive-adopt-depart"),
    (Fault::Silence, "grace-over"),
    (Fault::PhaseTwice, "sequential-phase"),
    (Fault::PhaseTwice, "phases-said"),
    (Fault::LateRates, "turns-with-rates"),
    (Fault::Departed, "death-in-adoption"),
    (Fault::Uncounted, "pool-alone"),
    (Fault::OneOnly, "pool-alone"),
];

/// A shell with a fault.
#[derive(Debug)]
struct Faulty<S> {
    shell: S,
    fault: Fault,
    /// Rates that it tells late.
    late: Vec<Event>,
    /// The application whose phase it has told twice.
    repeated: Option<AppId>,
}

impl<S: Shell> Shell for Faulty<S> {
    fn observe(&mut self, at: Nanos, what: &Observation) {
        match (self.fault, what) {
            (Fault::Silence, Observation::Adopted { .. } | Observation::Placed { .. }) => {}
            (Fault::WrongEpoch, Observation::Adopted { app, epoch } | Observation::Placed { app, epoch }) => {
                let wrong = Event::Adopted { app: *app, epoch: epoch + 1 };
                self.shell.observe(at, &Observation::Fact(wrong));
            }
            (Fault::LateRates, Observation::Rates(events)) => {
                self.late.clone_from(events);
                self.shell.observe(at, &Observation::Rates(Vec::new()));
            }
            (Fault::Departed, Observation::Fact(Event::Depart { app })) => {
                self.shell.observe(at, what);
                self.shell.observe(at, &Observation::Fact(Event::Request { app: *app, processors: 1 }));
            }
            (Fault::Uncounted | Fault::OneOnly, Observation::Look { app, look, cpu_ns, of_use }) => {
                let ready = look.ready.map(|ready| ready.min(1)).filter(|_| self.fault == Fault::OneOnly);
                let (app, look) = (*app, Look { ready, ..*look });
                self.shell.observe(at, &Observation::Look { app, look, cpu_ns: *cpu_ns, of_use: *of_use });
            }
            _ => self.shell.observe(at, what),
        }
    }

    fn next(&mut self, now: Nanos) -> Option<Next> {
        self.shell.next(now)
    }

    fn decide(&mut self, at: Nanos, event: &Event) -> Vec<Action> {
        if let (Fault::PhaseTwice, None, Event::Sequential { app } | Event::Blocked { app } | Event::Parallel { app }) =
            (self.fault, self.repeated, event)
        {
            self.repeated = Some(*app);
            self.shell.observe(at, &Observation::Fact(event.clone()));
        }
        let actions = self.shell.decide(at, event);
        for event in self.late.drain(..) {
            self.shell.observe(at, &Observation::Fact(event));
        }
        actions
    }

    fn unexpected(&mut self) -> Option<Observation> {
        self.shell.unexpected()
    }
}

fn problems_of<S: Shell>(record: &str, shell: impl FnOnce(Engine) -> S) -> Vec<String> {
    match play(record, shell) {
        Ok(Outcome { duties, left }) => {
            let left = left.map(|what| format!("{what} follows, and the record ends"));
            duties.breaches().iter().map(ToString::to_string).chain(left).collect()
        }
        Err(difference) => vec![difference.to_string()],
    }
}

/// Plays every story and every fault through the shells that `shell` makes. Gives the problems, a
/// sentence each.
pub fn check<S: Shell>(mut shell: impl FnMut(Engine) -> S) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, record) in STORIES {
        problems.extend(problems_of(record, &mut shell).into_iter().map(|problem| format!("{name}: {problem}")));
    }
    for (fault, name) in FAULTS {
        let record = STORIES.iter().find(|(story, _)| *story == name).map_or("", |(_, record)| record);
        let faulty = |engine| Faulty { shell: shell(engine), fault, late: Vec::new(), repeated: None };
        if problems_of(record, faulty).is_empty() {
            problems.push(format!("{name} does not find the fault {fault:?}"));
        }
    }
    problems
}
