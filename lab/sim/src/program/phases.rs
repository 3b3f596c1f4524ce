//! Reads phases and memory references from TOML.

use super::amount::{self, Unit};
use super::description::{Data, PROCESSORS_MAX, Part, Phase, Refs, Wait, Work};
use crate::machine::Op;
use crate::read::Mistake;
use crate::read::fields::{Field, Fields};

/// Phases in phases in phases: more than anybody can read.
const DEPTH_MAX: u32 = 32;

/// A list of phases of a program with this data and this largest team.
///
/// # Errors
/// The first mistake.
pub(crate) fn list(field: &Field<'_>, data: &[Data], processors: u32) -> Result<Vec<Phase>, Mistake> {
    Reader { data, processors }.list(field, 0)
}

struct Reader<'d> {
    data: &'d [Data],
    processors: u32,
}

const KINDS: [(&str, &str); 6] = [
    ("serial", "serial"),
    ("parallel", "parallel"),
    ("tasks", "tasks"),
    ("pause", "pause"),
    ("request", "request"),
    ("repeat", "repeat"),
];

impl Reader<'_> {
    fn list(&self, field: &Field<'_>, depth: u32) -> Result<Vec<Phase>, Mistake> {
        let items = field.items().map_err(|_| field.wrong("a list of phases"))?;
        if items.is_empty() {
            return Err(field.wrong("at least one phase"));
        }
        if depth > DEPTH_MAX {
            return Err(field.mistake(format!("expected at most {DEPTH_MAX} levels of `repeat`")));
        }
        items.iter().map(|item| self.phase(item, depth)).collect()
    }

    fn phase(&self, field: &Field<'_>, depth: u32) -> Result<Phase, Mistake> {
        let mut fields = field.fields()?;
        let phase = match fields.need("do", "serial, parallel, tasks, pause, request or repeat")?.one_of(&KINDS)? {
            "serial" => {
                let work = amount::dist(&fields.need("work", "the master's time")?, Unit::Time)?;
                Phase::Serial { work, refs: self.refs(&mut fields)? }
            }
            "parallel" => self.parallel(&mut fields)?,
            "tasks" => Phase::Tasks {
                count: amount::dist(&fields.need("count", "how many tasks")?, Unit::Number)?,
                work: amount::dist(&fields.need("work", "the time of each task")?, Unit::Time)?,
                refs: self.refs(&mut fields)?,
            },
            "pause" => Phase::Pause {
                time: amount::dist(&fields.need("time", "how long it is off the processor")?, Unit::Time)?,
            },
            "request" => Phase::Request {
                processors: fields
                    .need("processors", "how many it wants from here on")?
                    .whole32(1..=self.processors)?,
            },
            _ => {
                let times = fields.need("times", "how often")?.whole32(1..=u32::MAX)?;
                let phases = self.list(&fields.need("phases", "what is repeated")?, depth + 1)?;
                Phase::Repeat { times, phases }
            }
        };
        fields.finish()?;
        Ok(phase)
    }

    fn parallel(&self, fields: &mut Fields<'_>) -> Result<Phase, Mistake> {
        let work = match (fields.get("work"), fields.get("work_each")) {
            (Some(total), None) => {
                let cv = fields.read("cv", |field| field.number(0.0..=10.0, "a coefficient of variation, 0 to 10"))?;
                Work::Divided(amount::dist(&total, Unit::Time)?, cv.unwrap_or(0.0))
            }
            (None, Some(each)) => Work::Each(amount::dist(&each, Unit::Time)?),
            (Some(_), Some(each)) => {
                return Err(each.mistake("a phase has `work` (divided among the team) or `work_each`, not both"));
            }
            (None, None) => {
                return Err(fields.mistake("`work` (divided among the team) or `work_each` is missing"));
            }
        };
        Ok(Phase::Parallel {
            width: fields.read("width", |field| field.whole32(1..=PROCESSORS_MAX))?.unwrap_or(self.processors),
            iterations: fields.read("iterations", |field| field.whole32(1..=u32::MAX))?.unwrap_or(1),
            work,
            refs: self.refs(fields)?,
            wait: fields.read("wait", |field| wait(&field))?.unwrap_or(Wait::Spin),
            locked: fields.read("locked", |field| amount::dist(&field, Unit::Time))?,
            curve: fields.read("curve", |field| amount::curve(&field))?,
        })
    }

    fn refs(&self, fields: &mut Fields<'_>) -> Result<Vec<Refs>, Mistake> {
        let rate = fields.read("rate", |field| field.number(0.0..=1e6, "transactions per microsecond, at least 0"))?;
        if let Some(per_us) = rate {
            // The references go to data of no pages, which counts as local to every thread.
            let refs = Refs { is_rate: true, sharing: sharing(fields)?, ..Refs::new(self.data.len(), per_us) };
            return match fields.get("refs") {
                None => Ok(vec![refs]),
                Some(list) => Err(list.mistake("a phase has `refs` or a `rate`, not both")),
            };
        }
        let Some(list) = fields.get("refs") else { return Ok(Vec::new()) };
        let items = list.items().map_err(|_| list.wrong("a list of { data, op, per_us, ... }"))?;
        items.iter().map(|item| self.reference(item)).collect()
    }

    fn reference(&self, field: &Field<'_>) -> Result<Refs, Mistake> {
        let mut fields = field.fields()?;
        let name = fields.need("data", "the name of some of the program's data")?;
        let word = name.text()?;
        let data = self.data.iter().position(|data| data.name == word).ok_or_else(|| {
            let names: Vec<&str> = self.data.iter().map(|data| data.name.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            name.mistake(format!("no data is called \"{word}\"; there is {there}"))
        })?;
        let refs = Refs {
            data,
            part: fields.read("part", |field| field.one_of(&PARTS))?.unwrap_or(Part::Own),
            op: fields.read("op", |field| field.one_of(&Op::ALL.map(|op| (op.name(), op))))?.unwrap_or(Op::Line),
            per_us: fields
                .need("per_us", "references per microsecond of work")?
                .number(0.0..=1e6, "references per microsecond of work, at least 0")?,
            hits: fields.read("hits", |field| field.number(0.0..=1.0, "a share from 0 to 1"))?.unwrap_or(0.0),
            sharing: sharing(&mut fields)?,
            is_rate: false,
        };
        fields.finish()?;
        Ok(refs)
    }
}

const PARTS: [(&str, Part); 3] = [("own", Part::Own), ("all", Part::All), ("master", Part::Master)];

fn sharing(fields: &mut Fields<'_>) -> Result<f64, Mistake> {
    Ok(fields.read("sharing", |field| field.number(0.0..=1.0, "a share from 0 to 1"))?.unwrap_or(0.0))
}

fn wait(field: &Field<'_>) -> Result<Wait, Mistake> {
    const EXPECTED: &str = "\"spin\", \"block\" or { spin_then_block = time }";
    if let Some(mut fields) = field.table() {
        let spin = fields.need("spin_then_block", "how long it waits on the processor")?.nanos()?;
        fields.finish()?;
        return Ok(Wait::SpinThenBlock(spin));
    }
    field.one_of(&[("spin", Wait::Spin), ("block", Wait::Block)]).map_err(|_| field.wrong(EXPECTED))
}
