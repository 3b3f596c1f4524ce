//! Programs as TOML: `[[program]]` tables. Every mistake has its line and field, and nothing is
//! half-read.
//!
//! ```toml
//! [[program]]
//! name = "mm"                                   # one of a kind
//! processors = 4                                # that it wants: its largest team
//! min = 1                                       # from here on: optional, with the defaults
//! max = 4                                       # most that it may have, whatever it wants; without it: no limit
//! weight = 1.0
//! class = "malleable"                           # or "setter", "fold"
//! asks = "once"                                 # or "runnable", "creation"
//! phase_source = "program"                      # says its phases; or "manager", "threads" (the manager looks), "nobody"
//! vacates = "region"                            # or "task", "at-once"
//! creation = 0                                  # time for each thread created; times: "20 us", "2 ms", "1.5 s", or nanoseconds
//! footprint = 0                                 # lines of a thread's working set
//! recovers = false                              # threads run each other's work instead of waiting, where processors are few
//! recreates = false                             # where processors have no owners, a change of its request ends its threads and creates others
//! stoppable = true
//! analyzer = { warm = 1, measured = 2, baseline = 4, efficiency = 1, iterations = 100, cost = 0 }   # or true; how it measures its speedup if a policy asks
//! data = [
//!     { name = "a", pages = 10, split = "whole", place = "policy" },   # or split = "per-thread"; place = "first-touch",
//! ]                                             # "round-robin", "master", { node = 0 }
//!
//! [[program.phases]]
//! do = "serial"                                 # the master alone
//! work = { exponential = "2 ms" }               # or a plain time, { mean = .., cv = .. }, { uniform = [.., ..] }, { geometric = .. },
//!                                               # { choice = [[value, weight], ..] }, { lognormal = [mean, cv] }
//! refs = [{ data = "a", part = "own", op = "line", per_us = 0.5, hits = 0, sharing = 0 }]   # or part = "all", "master"; op = "load", ...
//!                                               # or rate = 11.0: transactions per microsecond of a thread alone; work is then its time alone
//!
//! [[program.phases]]
//! do = "parallel"                               # the team; meets at the end of each iteration
//! work = "40 ms"                                # of an iteration, divided among the team, or `work_each` of each thread
//! width = 4                                     # largest team; `processors` if not given
//! iterations = 1
//! cv = 0                                        # how much the threads' parts differ
//! wait = "spin"                                 # or "block", { spin_then_block = "50 us" }
//! locked = "3 us"                               # optional: a critical section in each thread's iteration
//! curve = { amdahl = 0.1 }                      # optional; also { downey = [A, sigma] }, { sevcik = [phi, alpha, beta] },
//!                                               # { table = [[processors, speedup], ..] }
//! ```
//! and `do = "tasks"` (`count`, `work`, `refs`), `"pause"` (`time`), `"request"` (`processors`),
//! `"repeat"` (`times`, `phases`). Instead of phases a program may be a `curve` (with
//! "linear" and `{ rigid = n }` too), with `work` (on one processor), or with `stretches` such as
//! `[{ serial = "2 ms" }, { parallel = "40 ms" }, { pause = "5 ms" }]` that follow each other
//! `times` times, and with `resize`, a time.

use super::amount::{self, Unit};
use super::description::{
    Asks, Body, Data, Limits, PROCESSORS_MAX, PagePlace, PhaseSource, Program, Split, Stretch, Vacates,
};
use super::{analyzer, phases};
use crate::read::fields::{Field, Fields};
use crate::read::tree::Node;
use crate::read::{Mistake, Text};
use numaestro_engine::Class;
use std::collections::BTreeSet;

/// Reads a file of `[[program]]` tables.
///
/// # Errors
/// The first mistake.
pub fn read(text: Text<'_>) -> Result<Vec<Program>, Mistake> {
    let tree = Node::toml(text)?;
    let root = Field::root(text, &tree);
    let mut fields = root.fields()?;
    let programs = all(&fields.need("program", "a file of programs has [[program]] tables")?)?;
    fields.finish()?;
    Ok(programs)
}

/// Reads the `[[program]]` tables of a larger text.
///
/// # Errors
/// The first mistake.
pub(crate) fn all(field: &Field<'_>) -> Result<Vec<Program>, Mistake> {
    let mut programs: Vec<Program> = Vec::new();
    let mut names = BTreeSet::new();
    for item in field.items().map_err(|_| field.wrong("[[program]] tables"))? {
        let program = one(&item)?;
        if !names.insert(program.name.clone()) {
            return Err(item.mistake(format!("there is already a program `{}`", program.name)));
        }
        programs.push(program);
    }
    Ok(programs)
}

fn one(field: &Field<'_>) -> Result<Program, Mistake> {
    let mut fields = field.fields()?;
    let name = fields.need("name", "what to call the program")?.text()?.to_owned();
    if name.is_empty() || name.contains(['.', '[', ']']) {
        return Err(field.mistake(format!("a name without `.`, `[` and `]` is needed, found \"{name}\"")));
    }
    fields.call(format!("program.{name}"));
    let processors = fields.need("processors", "how many processors it wants")?.whole32(1..=PROCESSORS_MAX)?;
    let limits = limits(&mut fields, processors)?;
    let data = fields.read("data", |field| data(&field))?.unwrap_or_default();
    let body = body(&mut fields, &data, processors)?;
    let data = with_bus(data, &body);
    let program = Program {
        processors,
        limits,
        class: fields.read("class", |field| field.one_of(&CLASSES))?.unwrap_or(Class::Malleable),
        asks: asks(&mut fields, &body)?,
        vacates: fields.read("vacates", |field| field.one_of(&VACATES))?.unwrap_or(Vacates::Region),
        creation_ns: fields.read("creation", |field| field.nanos())?.unwrap_or(0),
        footprint_lines: fields.read("footprint", |field| field.whole(0..=1 << 48))?.unwrap_or(0),
        recovers: fields.read("recovers", |field| field.yes())?.unwrap_or(false),
        recreates: fields.read("recreates", |field| field.yes())?.unwrap_or(false),
        stoppable: fields.read("stoppable", |field| field.yes())?.unwrap_or(true),
        analyzer: fields.read("analyzer", |field| analyzer::read(&field))?,
        body,
        data,
        name,
    };
    fields.finish()?;
    Ok(program)
}

fn limits(fields: &mut Fields<'_>, processors: u32) -> Result<Limits, Mistake> {
    let min = fields.read("min", |field| field.whole32(1..=processors))?.unwrap_or(1);
    let max = fields.read("max", |field| field.whole32(min..=PROCESSORS_MAX))?.unwrap_or(u32::MAX);
    let weight = fields.read("weight", |field| field.number(0.001..=1e6, "a weight from 0.001; 1 is usual"))?;
    let weight_milli = weight.map_or(1000, |weight| libm::round(weight * 1000.0) as u32);
    Ok(Limits { min, max, weight_milli })
}

const CLASSES: [(&str, Class); 3] = [("malleable", Class::Malleable), ("setter", Class::Setter), ("fold", Class::Fold)];
const ASKS: [(&str, Asks); 3] =
    [("once", Asks::Once(PhaseSource::Program)), ("runnable", Asks::Runnable), ("creation", Asks::Creation)];
const VACATES: [(&str, Vacates); 3] =
    [("at-once", Vacates::AtOnce), ("task", Vacates::Task), ("region", Vacates::Region)];

/// The way in which a program asks, and by whom its phases become known. One that says how many
/// processors it can use has said all. A curve has no threads that the manager could look at.
fn asks(fields: &mut Fields<'_>, body: &Body) -> Result<Asks, Mistake> {
    let asks = fields.read("asks", |field| field.one_of(&ASKS))?.unwrap_or(Asks::Once(PhaseSource::default()));
    let Some(field) = fields.get("phase_source") else { return Ok(asks) };
    let source = field.one_of(&PhaseSource::ALL.map(|source| (source.word(), source)))?;
    match (asks, body) {
        (Asks::Runnable | Asks::Creation, _) => {
            Err(field.mistake("only of a program with asks = \"once\" are phases to be known"))
        }
        (Asks::Once(_), Body::Curve { .. }) if matches!(source, PhaseSource::Manager | PhaseSource::Threads) => {
            Err(field.mistake("a program that is only a curve has no threads to look at: \"program\" or \"nobody\""))
        }
        (Asks::Once(_), _) => Ok(Asks::Once(source)),
    }
}

fn body(fields: &mut Fields<'_>, data: &[Data], processors: u32) -> Result<Body, Mistake> {
    let Some(curve) = fields.get("curve") else {
        let list = fields.need("phases", "what it does: [[program.phases]] tables, or `work` and `curve`")?;
        return Ok(Body::Phases(phases::list(&list, data, processors)?));
    };
    if let Some(list) = fields.get("phases") {
        return Err(list.mistake("a program has phases or a curve, not both"));
    }
    let curve = amount::curve(&curve)?;
    let stretches = match (fields.get("stretches"), fields.get("work")) {
        (Some(_), Some(work)) => return Err(work.mistake("a curve has work or stretches, not both")),
        (Some(list), None) => stretches(&list)?,
        (None, Some(work)) => vec![Stretch::Parallel(amount::dist(&work, Unit::Time)?)],
        (None, None) => return Err(fields.mistake("`work` is missing: its time on one processor; or `stretches`")),
    };
    let times = fields.read("times", |field| field.whole32(1..=1 << 20))?.unwrap_or(1);
    let resize_ns = fields.read("resize", |field| field.nanos())?.unwrap_or(0);
    Ok(Body::Curve { stretches, times, curve, resize_ns })
}

const STRETCHES: &str = "a list of { parallel = work }, { serial = work } and { pause = time }";

fn stretches(field: &Field<'_>) -> Result<Vec<Stretch>, Mistake> {
    let items = field.items().map_err(|_| field.wrong(STRETCHES))?;
    if items.is_empty() {
        return Err(field.wrong(STRETCHES));
    }
    items.iter().map(stretch).collect()
}

fn stretch(field: &Field<'_>) -> Result<Stretch, Mistake> {
    let mut fields = field.table().ok_or_else(|| field.wrong(STRETCHES))?;
    let kinds = ["parallel", "serial", "pause"];
    let found = kinds.into_iter().find_map(|kind| Some((kind, fields.get(kind)?)));
    let (kind, amount) = found.ok_or_else(|| field.wrong(STRETCHES))?;
    let amount = amount::dist(&amount, Unit::Time)?;
    fields.finish()?;
    Ok(match kind {
        "parallel" => Stretch::Parallel(amount),
        "serial" => Stretch::Serial(amount),
        _ => Stretch::Pause(amount),
    })
}

fn data(field: &Field<'_>) -> Result<Vec<Data>, Mistake> {
    let mut data: Vec<Data> = Vec::new();
    for item in field.items().map_err(|_| field.wrong("a list of { name, pages, ... }"))? {
        let mut fields = item.fields()?;
        let name = fields.need("name", "what references call it")?.text()?.to_owned();
        if data.iter().any(|other| other.name == name) {
            return Err(item.mistake(format!("there is already data `{name}`")));
        }
        let pages = fields.need("pages", "pages of the whole, or of each part")?.whole(0..=1 << 40)?;
        let split = fields.read("split", |field| field.one_of(&SPLITS))?.unwrap_or(Split::Whole);
        let place = fields.read("place", |field| place(&field))?.unwrap_or(PagePlace::Policy);
        fields.finish()?;
        data.push(Data { name, pages, split, place });
    }
    Ok(data)
}

/// Adds data of no pages for rates, behind all other data.
fn with_bus(mut data: Vec<Data>, body: &Body) -> Vec<Data> {
    let name = "(rates)".to_owned();
    let bus = Data { name, pages: 0, split: Split::Whole, place: PagePlace::FirstTouch };
    let program = Program { data: Vec::new(), ..Program::new("", 1, body.clone()) };
    if program.has_rates() {
        data.push(bus);
    }
    data
}

const SPLITS: [(&str, Split); 2] = [("whole", Split::Whole), ("per-thread", Split::PerThread)];
const PLACES: [(&str, PagePlace); 4] = [
    ("policy", PagePlace::Policy),
    ("first-touch", PagePlace::FirstTouch),
    ("round-robin", PagePlace::RoundRobin),
    ("master", PagePlace::Master),
];

fn place(field: &Field<'_>) -> Result<PagePlace, Mistake> {
    const EXPECTED: &str = "\"policy\", \"first-touch\", \"round-robin\", \"master\" or { node = index }";
    if let Some(mut fields) = field.table() {
        let node = fields.need("node", "the logical index of a NUMA node")?.whole32(0..=PROCESSORS_MAX)?;
        fields.finish()?;
        return Ok(PagePlace::Node(node));
    }
    field.one_of(&PLACES).map_err(|_| field.wrong(EXPECTED))
}
