//! Scenarios as TOML. All points of a sweep are read at once, so that no mistake shows up half way
//! through a comparison.
//!
//! ```toml
//! name = "example"                              # (..): the default of an optional field
//! about = "What it shows"                       # ("")
//! machine = "hector"                            # or "FILE.toml"; or { name = .., delay = 8 }, { file = .. }, { inline = { .. } }
//! policy = "equi"                               # (the first of the sweep, or equi)
//! contention = "max-min"                        # (max-min) or "none", "amva", "stretch"
//! seed = 1                                      # (1) the first; a comparison takes `seeds` (10) from there on
//! warmup = 0.1                                  # (0) share of the jobs that statistics leave out
//! noise = { speedups = 0.02, rates = 0.05 }     # (0, 0) relative standard deviations of errors
//! jobs = { allocated = 0.5, malleable = [0.25, 1] } # (none) programs are jobs; parts of the processors that each can use
//! switches = [["5 s", "dss"]]                    # (none) policies that are switched to, and when
//! until = "10 s"                                # (until nothing is left to do)
//! programs = ["FILE.toml"]                      # (none) files of [[program]] tables; more may stand here
//! engine = { grace = "10 ms", reclaim = "0.3 ms", cooldown = "100 ms", recovery = "2 s", move_for_rounding = false }
//!
//! [workload]                                    # (every program once, at the start)
//! kind = "streams"                              # streams, order ("given", "rotated", "shuffled"), programs, repetitions (or "forever"),
//!                                               # start, gap; or [[workload.stream]] tables with the last four
//! # kind = "closed"                             # programs (a name may stand there several times), repetitions, level (all arrive at once)
//! # kind = "open"                               # programs or mix = [["a", 3], ..]; interarrival; jobs; load or scale
//! # kind = "list"                               # arrivals = [{ at, program, estimate, until, count }, ..]; it ends soon after `until`
//! # kind = "swf"                                # file, skip, jobs, load or scale, sizes ("keep", "scale"), turn, estimates
//! # kind = "lublin"                             # types, and as above; kind = "downey": work, average, sigma, interarrival
//! # kind = "elastisim"                          # file, flops, network, pfs, burst_buffer
//! # kind = "rt-app"                             # file
//!
//! [sweep]                                       # every combination is a point
//! policies = ["equi", "dss"]
//! machine.delay = [0, 4, 8]                     # any path, as in workload.load, program.mm.processors, program.mm.phases[0].work
//! ```

use super::parts::{Loaded, Parts};
use super::programs::Programs;
use super::sweep::{self, Choice, Sweep};
use super::{Point, Scenario, Workload, machine, workload};
use crate::machine::Model;
use crate::memory::Contention;
use crate::program::{self, Body, PagePlace, Program, Split};
use crate::read::fields::{Field, Fields};
use crate::read::tree::{Node, Value};
use crate::read::{Files, Mistake, Text};
use crate::speedup::Curve;
use crate::world::{Jobs, Noise};
use numaestro_engine::Settings;
use std::sync::Arc;

/// Number of seeds of a comparison, where the scenario does not say.
const SEEDS: u32 = 10;

impl Scenario {
    /// Reads a scenario; `files` gives the texts that it names.
    ///
    /// # Errors
    /// The first mistake, also one that only a point of its sweep has.
    pub fn read(text: Text<'_>, files: &dyn Files) -> Result<Self, Mistake> {
        Self::read_changed(text, &[], files)
    }

    /// Reads a scenario with some of its fields changed first: their paths, as in a sweep, and
    /// their values as TOML.
    ///
    /// # Errors
    /// The first mistake; one of a changed field stands at the text's beginning.
    pub fn read_changed(text: Text<'_>, changes: &[(String, String)], files: &dyn Files) -> Result<Self, Mistake> {
        let loaded = Loaded::new(files);
        let mut tree = Node::toml(text)?;
        for (path, value) in changes {
            let value = changed_value(path, value)?;
            sweep::set(&mut tree, path, &value).map_err(|problem| text.mistake_in_all(path, problem))?;
        }
        let dimensions = match tree.get("sweep") {
            Some(node) => sweep::read(&Field::root(text, node).called("sweep"))?,
            None => Default::default(),
        };
        let (sweep, dimensions) = dimensions;
        let mut scenario = one(text, &tree, &loaded, sweep.policies.first())?;
        if !dimensions.is_empty() {
            for choices in sweep::combinations(&dimensions) {
                scenario.points.push(point(text, &tree, &loaded, &choices)?);
            }
        }
        scenario.sweep = sweep;
        Ok(scenario)
    }
}

/// A value that stands alone, with the place of the beginning of its new text.
fn changed_value(path: &str, value: &str) -> Result<Node, Mistake> {
    fn forget_places(node: &mut Node) {
        node.span = 0..0;
        match &mut node.value {
            Value::List(items) => items.iter_mut().for_each(forget_places),
            Value::Table(entries) => entries.iter_mut().for_each(|entry| {
                entry.at = 0..0;
                forget_places(&mut entry.node);
            }),
            _ => {}
        }
    }
    let line = format!("value = {value}");
    let tree = Node::toml(Text::new(path, &line))?;
    let mut node = tree.get("value").cloned().unwrap_or(tree);
    forget_places(&mut node);
    Ok(node)
}

fn point(text: Text<'_>, tree: &Node, loaded: &Loaded<'_>, choices: &[&Choice]) -> Result<Point, Mistake> {
    let mut tree = tree.clone();
    for choice in choices {
        sweep::set(&mut tree, &choice.name, &choice.value)
            .map_err(|problem| text.mistake(choice.value.span.clone(), format!("sweep.{}", choice.name), problem))?;
    }
    let scenario = one(text, &tree, loaded, None)?;
    let label: Vec<String> = choices.iter().map(|choice| format!("{}={}", choice.name, choice.shown)).collect();
    let values = choices.iter().filter(|choice| choice.name != "policy");
    let values = values.map(|choice| (choice.name.clone(), choice.shown.clone())).collect();
    Ok(Point { label: label.join(" "), values, scenario })
}

fn one(text: Text<'_>, tree: &Node, loaded: &Loaded<'_>, policy: Option<&String>) -> Result<Scenario, Mistake> {
    let mut fields = Field::root(text, tree).fields()?;
    let name = fields.read("name", |field| Ok(field.text()?.to_owned()))?.unwrap_or_else(|| text.name.to_owned());
    let about = fields.read("about", |field| Ok(field.text()?.to_owned()))?.unwrap_or_default();
    let machine = machine::read(&fields.need("machine", "the name of a machine, or its file")?, loaded)?;
    let policy = match fields.get("policy") {
        Some(field) => checked_policy(&field, &machine)?,
        None => policy.cloned().unwrap_or_else(|| "equi".to_owned()),
    };
    let contention = fields.read("contention", |field| field.one_of(&CONTENTIONS))?.unwrap_or_default();
    let seed = fields.read("seed", |field| field.whole(0..=i64::MAX as u64))?.unwrap_or(1);
    let seeds = fields.read("seeds", |field| field.whole32(1..=1 << 20))?.unwrap_or(SEEDS);
    let warmup = fields.read("warmup", |field| field.number(0.0..=0.9, "a share of the jobs from 0 to 0.9"))?;
    let until = fields.read("until", |field| field.nanos())?;
    let noise = fields.read("noise", |field| noise(&field))?.unwrap_or_default();
    let jobs = fields.read("jobs", |field| jobs(&field))?;
    let switches = fields.read("switches", |field| switches(&field, &machine))?.unwrap_or_default();
    let settings = settings(&mut fields, &policy, &machine)?;
    let programs = programs(&mut fields, loaded, &machine)?;
    let mut parts = Parts { loaded, programs, pus: machine.usable(), notes: Vec::new(), until };
    remarks(&mut parts, &machine);
    let workload = workload::read(fields.get("workload"), &mut parts)?;
    let idle = parts.programs.all().is_empty() && matches!(&workload, Workload::List(arrivals) if arrivals.is_empty());
    let nothing = fields.mistake("nothing would run: there are no [[program]] tables and no [workload]");
    let _ = fields.get("sweep");
    fields.finish()?;
    if idle {
        return Err(nothing);
    }
    Ok(Scenario {
        name,
        about,
        machine,
        policy,
        contention,
        programs: parts.programs.into_all(),
        workload,
        seed,
        seeds,
        warmup: warmup.unwrap_or(0.0),
        noise,
        jobs,
        switches,
        until: parts.until,
        settings,
        sweep: Sweep::default(),
        notes: parts.notes,
        points: Vec::new(),
    })
}

const CONTENTIONS: [(&str, Contention); 4] = [
    ("none", Contention::None),
    ("max-min", Contention::MaxMin),
    ("amva", Contention::Amva),
    ("stretch", Contention::Stretch),
];

fn checked_policy(field: &Field<'_>, machine: &Model) -> Result<String, Mistake> {
    let text = field.text()?;
    let policy = numaestro_policy::Policy::parse(text, 0).map_err(|rejected| field.mistake(rejected.reason))?;
    policy.check(machine.host()).map_err(|rejected| field.mistake(rejected.reason))?;
    Ok(text.to_owned())
}

fn noise(field: &Field<'_>) -> Result<Noise, Mistake> {
    let mut fields = field.fields()?;
    let mut share = |key| {
        let read = |field: Field<'_>| field.number(0.0..=1.0, "a share of what is measured, from 0 to 1");
        Ok::<_, Mistake>(fields.read(key, read)?.unwrap_or(0.0))
    };
    let noise = Noise { speedups: share("speedups")?, rates: share("rates")? };
    fields.finish()?;
    Ok(noise)
}

fn jobs(field: &Field<'_>) -> Result<Jobs, Mistake> {
    let mut fields = field.fields()?;
    // Thousandths: enough for any machine, and exact in sums.
    let milli = |field: Field<'_>| {
        Ok::<u32, Mistake>(
            (field.number(0.001..=1.0, "a part of the processors, from 0.001 to 1")? * 1000.0 + 0.5) as u32,
        )
    };
    let allocated = fields.read("allocated", milli)?;
    let malleable = fields.read("malleable", |field| {
        let [least, most] = field.pair("[fewest, most]")?;
        let range = (milli(least)?, milli(most)?);
        if range.0 > range.1 { Err(field.mistake("the fewest are more than the most")) } else { Ok(range) }
    })?;
    fields.finish()?;
    Ok(Jobs { allocated_milli: allocated.unwrap_or(1000), malleable_milli: malleable })
}

fn switches(field: &Field<'_>, machine: &Model) -> Result<Vec<(crate::Nanos, String)>, Mistake> {
    let items = field.items().map_err(|_| field.wrong("a list of [time, policy]"))?;
    let one = |item: &Field<'_>| {
        let [at, policy] = item.pair("[time, policy]")?;
        Ok((at.nanos()?, checked_policy(&policy, machine)?))
    };
    let mut all = items.iter().map(one).collect::<Result<Vec<_>, Mistake>>()?;
    all.sort_by_key(|(at, _)| *at);
    Ok(all)
}

fn settings(fields: &mut Fields<'_>, policy: &str, machine: &Model) -> Result<Settings, Mistake> {
    let mut settings = Settings {
        policy: policy.to_owned(),
        host: machine.host(),
        buses: machine.buses(),
        reserved: machine.reserved.clone(),
        positions: 0,
        ..Settings::default()
    };
    let Some(field) = fields.get("engine") else { return Ok(settings) };
    let mut fields = field.fields()?;
    for (name, time) in [
        ("grace", &mut settings.grace_ns),
        ("reclaim", &mut settings.reclaim_ns),
        ("cooldown", &mut settings.cooldown_ns),
        ("recovery", &mut settings.recovery_ns),
    ] {
        *time = fields.read(name, |field| field.nanos())?.unwrap_or(*time);
    }
    let rounding = fields.read("move_for_rounding", |field| field.yes())?;
    settings.move_for_rounding = rounding.unwrap_or(settings.move_for_rounding);
    fields.finish()?;
    Ok(settings)
}

/// The `[[program]]` tables here, and the ones in the files of `programs`.
fn programs(fields: &mut Fields<'_>, loaded: &Loaded<'_>, machine: &Model) -> Result<Programs, Mistake> {
    let mut programs = Programs::default();
    if let Some(list) = fields.get("programs") {
        for file in list.items().map_err(|_| list.wrong("a list of files with [[program]] tables"))? {
            let text = loaded.text(&file)?;
            for program in program::read(Text::new(file.text()?, &text))? {
                add(program, &file, &mut programs, machine)?;
            }
        }
    }
    if let Some(tables) = fields.get("program") {
        for program in program::all(&tables)? {
            add(program, &tables, &mut programs, machine)?;
        }
    }
    Ok(programs)
}

fn add(program: Program, from: &Field<'_>, all: &mut Programs, machine: &Model) -> Result<(), Mistake> {
    if all.named(&program.name).is_some() {
        return Err(from.mistake(format!("there are two programs called `{}`", program.name)));
    }
    let nodes = machine.topology.numa_nodes().len();
    for data in &program.data {
        if let PagePlace::Node(node) = data.place
            && node as usize >= nodes
        {
            let mistake = format!(
                "data `{}` of `{}` is on node {node}, but {} has {nodes} nodes, counted from 0",
                data.name, program.name, machine.name
            );
            return Err(from.mistake(mistake));
        }
    }
    if let Body::Curve { curve: Curve::Rigid(size), .. } = &program.body
        && (*size > machine.usable() || *size > program.processors)
    {
        let mistake = format!(
            "`{}` is rigid on {size} processors, but can have {} at most",
            program.name,
            machine.usable().min(program.processors)
        );
        return Err(from.mistake(mistake));
    }
    all.push(Arc::new(program));
    Ok(())
}

/// Adds remarks on values that are allowed but may not be meant.
fn remarks(parts: &mut Parts<'_>, machine: &Model) {
    let memory = machine.node_pages.saturating_mul(machine.topology.numa_nodes().len() as u64);
    for program in parts.programs.all() {
        let (name, pus) = (&program.name, parts.pus);
        if program.processors > pus {
            let wants = program.processors;
            parts.notes.push(format!("`{name}` wants {wants} processors; {} has {pus} to give", machine.name));
        }
        if program.limits.min > pus {
            parts.notes.push(format!(
                "`{name}` cannot do with fewer than {} processors: it is held to {pus}",
                program.limits.min
            ));
        }
        let parts_of = |split| if split == Split::PerThread { u64::from(program.processors.min(pus)) } else { 1 };
        let pages: u64 = program.data.iter().map(|data| data.pages.saturating_mul(parts_of(data.split))).sum();
        if pages > memory {
            parts.notes.push(format!("`{name}` has {pages} pages; all of {}'s memory is {memory}", machine.name));
        }
    }
}
