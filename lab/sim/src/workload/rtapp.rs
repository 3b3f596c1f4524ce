//! rt-app's task sets as programs, so that the same file can run live and modelled.
//!
//! **Source**: rt-app's tutorial (`doc/tutorial.txt` of its repository). **Translation**: each
//! thread is a program of its own on 1 processor; the threads of one task that meet at a barrier
//! are one program with a team. A timer is the pause that is left of its period if nothing else is
//! in the way. **Read, with a note that it is not done**: scheduling classes and priorities,
//! affinities, clamps, groups, binding of memory. **Refused**: events in which one task waits for
//! another, and events whose load is unknown here.

use super::arrival::Arrival;
use crate::Nanos;
use crate::dist::Dist;
use crate::program::{Body, Class, Phase, Program, Vacates, Wait, Work};
use crate::read::fields::Field;
use crate::read::tree::Value;
use crate::read::{Mistake, Text, json};
use std::sync::Arc;

/// A task set.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSet {
    /// Its threads.
    pub arrivals: Vec<Arrival>,
    /// The time at which it ends, nanoseconds; `None` = when all threads have ended.
    pub duration: Option<Nanos>,
    /// Whether a thread has no end of its own.
    pub endless: bool,
}

/// Reads a task set; `notes` takes the deviations from the file.
///
/// # Errors
/// The first mistake, also an event that cannot be modelled.
pub fn read(text: Text<'_>, notes: &mut Vec<String>) -> Result<TaskSet, Mistake> {
    let tree = json::parse(text)?;
    let mut fields = Field::root(text, &tree).fields()?;
    let mut reader = Reader { notes, names: Vec::new(), endless: false };
    let duration = match fields.get("global") {
        Some(global) => duration(&global)?,
        None => None,
    };
    let _ = fields.get("resources");
    let tasks = fields.need("tasks", "the threads by name")?.entries()?;
    for (name, task) in &tasks {
        reader.meet(name, task)?;
    }
    let mut arrivals = Vec::new();
    for (name, task) in &tasks {
        reader.task(name, task, &mut arrivals)?;
    }
    fields.finish()?;
    Ok(TaskSet { arrivals, duration, endless: reader.endless })
}

/// The rest of the global settings is about logs and calibration.
fn duration(field: &Field<'_>) -> Result<Option<Nanos>, Mistake> {
    let Some((_, field)) = field.entries()?.into_iter().find(|(key, _)| *key == "duration") else { return Ok(None) };
    if matches!(field.node().value, Value::Whole(-1)) {
        return Ok(None);
    }
    Ok(Some(field.number(0.0..=9e9, "seconds, or -1")? as Nanos * 1_000_000_000))
}

/// The meanings of keys. Numbers at their ends only make them different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Run,
    Sleep,
    Timer,
    Lock,
    Unlock,
    Barrier,
    Nothing,
    Attribute,
    Waits,
    Unknown,
}

const KEYS: [(&str, Key); 31] = [
    ("run", Key::Run),
    ("runtime", Key::Run),
    ("sleep", Key::Sleep),
    ("timer", Key::Timer),
    ("lock", Key::Lock),
    ("unlock", Key::Unlock),
    ("barrier", Key::Barrier),
    ("yield", Key::Nothing),
    ("loop", Key::Nothing),
    ("instance", Key::Nothing),
    ("delay", Key::Nothing),
    ("phases", Key::Nothing),
    ("priority", Key::Attribute),
    ("policy", Key::Attribute),
    ("cpus", Key::Attribute),
    ("util_min", Key::Attribute),
    ("util_max", Key::Attribute),
    ("membind_nodes", Key::Attribute),
    ("nodes_membind", Key::Attribute),
    ("numa_membind", Key::Attribute),
    ("taskgroup", Key::Attribute),
    ("dl-runtime", Key::Attribute),
    ("dl-period", Key::Attribute),
    ("dl-deadline", Key::Attribute),
    ("wait", Key::Waits),
    ("signal", Key::Waits),
    ("broad", Key::Waits),
    ("sync", Key::Waits),
    ("suspend", Key::Waits),
    ("resume", Key::Waits),
    ("fork", Key::Waits),
];

fn key(word: &str) -> Key {
    let stem = word.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let found = KEYS.iter().find(|(known, _)| *known == stem || *known == word);
    found.map_or(Key::Unknown, |&(_, key)| key)
}

/// A lock or barrier and the task that uses it.
struct Name {
    name: String,
    task: String,
}

struct Reader<'n> {
    notes: &'n mut Vec<String>,
    names: Vec<Name>,
    endless: bool,
}

/// The behaviour of a thread, while it is read.
#[derive(Default)]
struct Events {
    phases: Vec<Phase>,
    /// Threads of a team that meets; 1 = a thread alone.
    team: u32,
    locked: bool,
    /// Nanoseconds since the last timer.
    since: Nanos,
}

fn micros(field: &Field<'_>) -> Result<Nanos, Mistake> {
    Ok(field.whole(0..=1 << 50)? * 1000)
}

impl Reader<'_> {
    /// Notes the locks and barriers that a task uses, and refuses the ones that two tasks share.
    fn meet(&mut self, task: &str, field: &Field<'_>) -> Result<(), Mistake> {
        for (word, field) in field.entries()? {
            match key(word) {
                Key::Nothing if word == "phases" => {
                    for (_, phase) in field.entries()? {
                        self.meet(task, &phase)?;
                    }
                }
                Key::Lock | Key::Unlock | Key::Barrier => {
                    let name = field.text()?;
                    let other = self.names.iter().find(|known| known.name == name);
                    match other {
                        Some(other) if other.task != task => {
                            return Err(field.mistake(format!(
                                "\"{name}\" is shared with the task `{}`: tasks that wait for each other are not modelled",
                                other.task
                            )));
                        }
                        Some(_) => {}
                        None => self.names.push(Name { name: name.to_owned(), task: task.to_owned() }),
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn task(&mut self, name: &str, field: &Field<'_>, out: &mut Vec<Arrival>) -> Result<(), Mistake> {
        let entries = field.entries()?;
        let find = |key| entries.iter().find(|(word, _)| *word == key).map(|(_, field)| field);
        let instances = find("instance").map_or(Ok(1), |field| field.whole32(0..=1 << 14))?;
        let at = find("delay").map_or(Ok(0), micros)?;
        let meets = has(field, Key::Barrier)?;
        let team = if meets { instances.max(1) } else { 1 };
        if instances > 1 && !meets && has(field, Key::Lock)? {
            return Err(field.mistake("threads with a lock but without a barrier are not modelled"));
        }
        let mut events = Events { team, ..Events::default() };
        match find("phases") {
            Some(phases) => {
                for (_, phase) in phases.entries()? {
                    let times = times(&phase, 1)?;
                    let mut inner = Events { team, since: events.since, ..Events::default() };
                    self.events(&phase, &mut inner)?;
                    events.since = inner.since;
                    events.phases.extend(self.repeated(times, inner.phases));
                }
                self.attributes(&entries);
            }
            None => self.events(field, &mut events)?,
        }
        let phases = self.repeated(times(field, -1)?, events.phases);
        if phases.is_empty() || instances == 0 {
            self.note(format!("rt-app: `{name}` does nothing and is left out"));
            return Ok(());
        }
        for instance in 0..if meets { 1 } else { instances } {
            let name = if instances > 1 && !meets { format!("{name}-{instance}") } else { name.to_owned() };
            let program = Arc::new(program(name, team, phases.clone()));
            out.push(Arrival { at, job: out.len() as u64, stream: 0, program, estimate_ns: None, until: None });
        }
        Ok(())
    }

    fn events(&mut self, field: &Field<'_>, events: &mut Events) -> Result<(), Mistake> {
        let entries = field.entries()?;
        self.attributes(&entries);
        for (word, field) in &entries {
            match key(word) {
                Key::Run => {
                    let work = micros(field)?;
                    events.since += work;
                    events.run(work);
                }
                Key::Sleep => {
                    let time = micros(field)?;
                    events.since += time;
                    events.phases.push(Phase::Pause { time: Dist::Constant(time as f64) });
                }
                Key::Timer => self.timer(field, events)?,
                Key::Lock => events.locked = true,
                Key::Unlock => events.locked = false,
                Key::Waits => {
                    return Err(field.mistake(format!("`{word}`: tasks that wait for each other are not modelled")));
                }
                Key::Unknown => return Err(field.mistake(format!("`{word}` is not known or cannot be modelled"))),
                Key::Barrier | Key::Nothing | Key::Attribute => {}
            }
        }
        Ok(())
    }

    fn timer(&mut self, field: &Field<'_>, events: &mut Events) -> Result<(), Mistake> {
        let mut fields = field.fields()?;
        let _ = (fields.get("ref"), fields.get("mode"));
        let period = micros(&fields.need("period", "microseconds")?)?;
        fields.finish()?;
        self.note(
            "rt-app: a timer waits for what is left of its period after the runs and sleeps before it".to_owned(),
        );
        let left = period.saturating_sub(events.since);
        events.since = 0;
        if left > 0 {
            events.phases.push(Phase::Pause { time: Dist::Constant(left as f64) });
        }
        Ok(())
    }

    fn attributes(&mut self, entries: &[(&str, Field<'_>)]) {
        for (word, _) in entries.iter().filter(|(word, _)| key(word) == Key::Attribute) {
            self.note(format!("rt-app: `{word}` is not used"));
        }
    }

    fn repeated(&mut self, times: i64, mut phases: Vec<Phase>) -> Vec<Phase> {
        self.endless |= times < 0 && !phases.is_empty();
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        match (&mut phases[..], times) {
            ([], _) | (_, 0) => return Vec::new(),
            (_, 1) => return phases,
            ([Phase::Parallel { iterations, .. }], _) => {
                *iterations = iterations.saturating_mul(times);
                return phases;
            }
            _ => {}
        }
        vec![Phase::Repeat { times, phases }]
    }

    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}

impl Events {
    fn run(&mut self, work: Nanos) {
        let work = Dist::Constant(work as f64);
        self.phases.push(if self.team == 1 {
            // A lock that no other thread uses does nothing.
            Phase::Serial { work, refs: Vec::new() }
        } else {
            let (work, locked) = if self.locked { (Dist::Constant(0.0), Some(work)) } else { (work, None) };
            Phase::Parallel {
                width: self.team,
                iterations: 1,
                work: Work::Each(work),
                refs: Vec::new(),
                wait: Wait::Block,
                locked,
                curve: None,
            }
        });
    }
}

/// Whether there is an event of this kind anywhere in a task.
fn has(field: &Field<'_>, wanted: Key) -> Result<bool, Mistake> {
    for (word, field) in field.entries()? {
        if key(word) == wanted {
            return Ok(true);
        }
        if word == "phases" {
            for (_, phase) in field.entries()? {
                if has(&phase, wanted)? {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Number of rounds; -1 = without end.
fn times(field: &Field<'_>, usual: i64) -> Result<i64, Mistake> {
    let Some((_, field)) = field.entries()?.into_iter().find(|(word, _)| *word == "loop") else { return Ok(usual) };
    match field.node().value {
        Value::Whole(-1) => Ok(-1),
        _ => Ok(i64::from(field.whole32(0..=u32::MAX)?)),
    }
}

fn program(name: String, processors: u32, phases: Vec<Phase>) -> Program {
    let class = if processors > 1 { Class::Fold } else { Class::Malleable };
    Program { class, vacates: Vacates::AtOnce, ..Program::new(name, processors, Body::Phases(phases)) }
}
