//! Parts of a scenario that its readers share: programs by name, and texts, machines and logs that
//! are read only once however many points of a sweep use them.

use super::programs::Programs;
use crate::Nanos;
use crate::machine::Model;
use crate::program::Program;
use crate::read::fields::Field;
use crate::read::{Files, Mistake, Text};
use crate::workload::batch::BatchJob;
use crate::workload::swf::{Log, Skipped};
use std::cell::RefCell;
use std::sync::Arc;

/// A log's jobs, its skipped jobs, and the processors of its machine.
type Jobs = (Arc<[BatchJob]>, Skipped, u32);

/// The texts, machines and logs that have been read so far.
pub(super) struct Loaded<'f> {
    pub files: &'f dyn Files,
    logs: RefCell<Vec<(String, Jobs)>>,
    machines: RefCell<Vec<(String, Arc<Model>)>>,
}

/// The parts of one scenario that others refer to.
pub(super) struct Parts<'f> {
    pub loaded: &'f Loaded<'f>,
    pub programs: Programs,
    /// Processors that applications can have.
    pub pus: u32,
    /// Remarks for people.
    pub notes: Vec<String>,
    /// The time at which the run ends if the scenario does not say, nanoseconds.
    pub until: Option<Nanos>,
}

impl<'f> Loaded<'f> {
    pub fn new(files: &'f dyn Files) -> Self {
        Self { files, logs: RefCell::default(), machines: RefCell::default() }
    }

    /// The text of the file that a field names.
    pub fn text(&self, field: &Field<'_>) -> Result<String, Mistake> {
        let name = field.text()?;
        self.files.text(name).map_err(|reason| field.mistake(format!("cannot read \"{name}\": {reason}")))
    }

    /// The machine known as `key`, made at its first use.
    pub fn machine(&self, key: String, make: impl FnOnce() -> Result<Model, Mistake>) -> Result<Arc<Model>, Mistake> {
        if let Some((_, model)) = self.machines.borrow().iter().find(|(other, _)| *other == key) {
            return Ok(model.clone());
        }
        let model = Arc::new(make()?);
        self.machines.borrow_mut().push((key, model.clone()));
        Ok(model)
    }
}

impl Parts<'_> {
    /// The program that a field names.
    pub fn program(&self, field: &Field<'_>) -> Result<Arc<Program>, Mistake> {
        let name = field.text()?;
        self.programs.named(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.programs.all().iter().map(|program| program.name.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            field.mistake(format!("no program is called \"{name}\"; there is {there}"))
        })
    }

    /// The programs that a list names.
    pub fn programs_named(&self, field: &Field<'_>) -> Result<Vec<Arc<Program>>, Mistake> {
        let items = field.items().map_err(|_| field.wrong("a list of programs' names"))?;
        items.iter().map(|item| self.program(item)).collect()
    }

    /// The jobs of the log that a field names.
    pub fn log(&self, field: &Field<'_>) -> Result<Jobs, Mistake> {
        let name = field.text()?;
        if let Some((_, jobs)) = self.loaded.logs.borrow().iter().find(|(other, _)| other == name) {
            return Ok(jobs.clone());
        }
        let text = self.loaded.text(field)?;
        let log = Log::read(Text::new(name, &text))?;
        let (jobs, skipped) = log.jobs();
        let jobs: Jobs = (jobs.into(), skipped, log.processors());
        self.loaded.logs.borrow_mut().push((name.to_owned(), jobs.clone()));
        Ok(jobs)
    }
}
