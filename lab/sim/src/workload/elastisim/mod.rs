//! ElastiSim's jobs and application models as programs: rigid, moldable, malleable, evolving and
//! adaptive.
//!
//! **Source**: Özden, Beringer, Mazaheri, Fard, Wolf 2022, "ElastiSim: A batch-system simulator for
//! malleable workloads"; its manual. **Translation**: a node is one processor. A task's formulas
//! are evaluated for every number of nodes that the job may have: the times become a region's work
//! and speedup curve. Input and output, and idle tasks, whose time is always the same, are pauses.
//! Bandwidths are for the job alone: the effects of several jobs on each other are not modelled.
//! **Read, with a note that it is not done**: costs of reconfiguration, moldable jobs that keep the
//! size they started with, asynchronous tasks. **Refused**: accelerators, explicit vectors and
//! matrices.

mod tasks;

use super::arrival::Arrival;
use crate::program::{Body, Limits, PROCESSORS_MAX, Phase, Program};
use crate::read::fields::{Field, Fields};
use crate::read::tree::{Node, Value};
use crate::read::{Mistake, Text, json};
use std::sync::Arc;

/// The speeds of an ElastiSim platform file, each for one second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Platform {
    /// Floating-point operations of a node.
    pub flops: f64,
    /// Bytes of a node's link, if tasks communicate.
    pub network: Option<f64>,
    /// Bytes of the parallel file system, if tasks use it.
    pub pfs: Option<f64>,
    /// Bytes of a node's burst buffer, if tasks use it.
    pub burst_buffer: Option<f64>,
}

/// Reads a file of jobs. `model` gives the text of an application model; `notes` takes the
/// deviations from the file.
///
/// # Errors
/// The first mistake in the jobs or in a model.
pub fn read(
    text: Text<'_>,
    platform: Platform,
    model: &mut dyn FnMut(&Field<'_>) -> Result<String, Mistake>,
    notes: &mut Vec<String>,
) -> Result<Vec<Arrival>, Mistake> {
    let tree = json::parse(text)?;
    let mut fields = Field::root(text, &tree).fields()?;
    let mut models: Vec<(String, String, Node)> = Vec::new();
    let mut arrivals = Vec::new();
    for (number, item) in fields.need("jobs", "the list of jobs")?.items()?.iter().enumerate() {
        let mut fields = item.fields()?;
        let file = fields.need("application_model", "the file of its application model")?;
        let name = file.text()?;
        if !models.iter().any(|(known, ..)| known == name) {
            let text = model(&file)?;
            let tree = json::parse(Text::new(name, &text))?;
            models.push((name.to_owned(), text, tree));
        }
        let Some((_, text, tree)) = models.iter().find(|(known, ..)| known == name) else {
            unreachable!("it was put there");
        };
        let job = Job::read(&mut fields, platform, notes)?;
        let phases = job.model(&Field::root(Text::new(name, text), tree), notes)?;
        arrivals.push(job.arrival(number, phases));
        fields.finish()?;
    }
    fields.finish()?;
    Ok(arrivals)
}

struct Job {
    platform: Platform,
    submit: u64,
    walltime: Option<u64>,
    min: u32,
    max: u32,
    arguments: Vec<(String, f64)>,
}

const TYPES: [(&str, &str); 5] = [
    ("rigid", "rigid"),
    ("moldable", "moldable"),
    ("malleable", "malleable"),
    ("evolving", "evolving"),
    ("adaptive", "adaptive"),
];

fn note(notes: &mut Vec<String>, text: &str) {
    if !notes.iter().any(|other| other == text) {
        notes.push(text.to_owned());
    }
}

fn seconds(field: &Field<'_>) -> Result<u64, Mistake> {
    Ok((field.number(0.0..=9e9, "a number of seconds")? * 1e9) as u64)
}

impl Job {
    fn read(fields: &mut Fields<'_>, platform: Platform, notes: &mut Vec<String>) -> Result<Self, Mistake> {
        let kind = fields.need("type", "rigid, moldable, malleable, evolving or adaptive")?.one_of(&TYPES)?;
        let submit = seconds(&fields.need("submit_time", "seconds from the start")?)?;
        let walltime = fields.read("walltime", |field| seconds(&field))?.filter(|&time| time > 0);
        for key in ["num_gpus_per_node", "num_gpus_per_node_min", "num_gpus_per_node_max"] {
            if let Some(field) = fields.get(key)
                && field.whole(0..=u64::MAX)? > 0
            {
                return Err(field.mistake("accelerators are not modelled: expected 0"));
            }
        }
        let (min, max) = if kind == "rigid" {
            let size = fields.need("num_nodes", "the nodes of a rigid job")?.whole32(1..=PROCESSORS_MAX)?;
            (size, size)
        } else {
            let min = fields.need("num_nodes_min", "the fewest nodes")?.whole32(1..=PROCESSORS_MAX)?;
            (min, fields.need("num_nodes_max", "the most nodes")?.whole32(min..=PROCESSORS_MAX)?)
        };
        if kind == "moldable" {
            note(notes, "ElastiSim: moldable jobs may change their size here while they run");
        }
        let mut arguments = Vec::new();
        if let Some(table) = fields.get("arguments") {
            for (name, field) in table.entries()? {
                arguments.push((name.to_owned(), field.number(f64::MIN..=f64::MAX, "a number")?));
            }
        }
        if fields.get("attributes").is_some() {
            note(notes, "ElastiSim: attributes of jobs are not used");
        }
        Ok(Self { platform, submit, walltime, min, max, arguments })
    }

    fn arrival(&self, number: usize, phases: Vec<Phase>) -> Arrival {
        let program = Program {
            limits: Limits { min: self.min, ..Limits::default() },
            ..Program::new(format!("job{number}"), self.max, Body::Phases(phases))
        };
        Arrival {
            at: self.submit,
            job: number as u64,
            stream: 0,
            program: Arc::new(program),
            estimate_ns: self.walltime,
            until: None,
        }
    }

    /// The phases of an application model for this job.
    fn model(&self, field: &Field<'_>, notes: &mut Vec<String>) -> Result<Vec<Phase>, Mistake> {
        let mut fields = field.fields()?;
        let mut phases = Vec::new();
        if let Some(init) = fields.get("on_init") {
            phases.extend(self.one_time(&init, notes)?);
        }
        for key in ["on_reconfiguration", "on_expansion"] {
            if fields.get(key).is_some() {
                note(notes, &format!("ElastiSim: `{key}` is not done: changes of size cost what the machine says"));
            }
        }
        for item in fields.need("phases", "the phases of the application")?.items()? {
            phases.extend(self.phase(&item, notes)?);
        }
        fields.finish()?;
        if phases.is_empty() { Err(field.mistake("the application has nothing to do")) } else { Ok(phases) }
    }

    /// `on_init`: a phase, or just its tasks.
    fn one_time(&self, field: &Field<'_>, notes: &mut Vec<String>) -> Result<Vec<Phase>, Mistake> {
        match field.node().value {
            Value::Nothing => Ok(Vec::new()),
            Value::List(_) => self.tasks(field, notes),
            _ => self.phase(field, notes),
        }
    }

    fn phase(&self, field: &Field<'_>, notes: &mut Vec<String>) -> Result<Vec<Phase>, Mistake> {
        let mut fields = field.fields()?;
        let times = match fields.get("iterations") {
            // The iterations of phases cannot depend on the number of nodes, which may change
            // between them.
            Some(iterations) => count(&iterations, self.value(&iterations, None)?)?,
            None => 1,
        };
        for key in ["scheduling_point", "final_scheduling_point", "barrier"] {
            if fields.read(key, |field| field.yes())? == Some(false) {
                note(notes, &format!("ElastiSim: `{key}` = false is not done: sizes may change after every task"));
            }
        }
        let mut phases = Vec::new();
        if let Some(request) = fields.get("evolving_request") {
            let wanted = self.value(&request, None)?;
            let processors = libm::round(wanted).clamp(f64::from(self.min), f64::from(self.max)) as u32;
            phases.push(Phase::Request { processors });
        }
        phases.extend(self.tasks(&fields.need("tasks", "the tasks of the phase")?, notes)?);
        fields.finish()?;
        Ok(repeated(times, phases))
    }
}

fn count(field: &Field<'_>, value: f64) -> Result<u32, Mistake> {
    // The manual's default of 0 means once.
    if (0.0..4e9).contains(&value) {
        Ok((value as u32).max(1))
    } else {
        Err(field.mistake(format!("{value} is no number of times")))
    }
}

fn repeated(times: u32, phases: Vec<Phase>) -> Vec<Phase> {
    if times == 1 || phases.is_empty() { phases } else { vec![Phase::Repeat { times, phases }] }
}
