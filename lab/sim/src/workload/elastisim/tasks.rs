//! The tasks of an application model, as regions and pauses for each number of nodes.

use super::{Job, count, note, repeated};
use crate::dist::Dist;
use crate::program::{Phase, Wait, Work};
use crate::read::Mistake;
use crate::read::fields::{Field, Fields};
use crate::read::tree::Value;
use crate::speedup::Curve;
use crate::workload::expression::Expression;

impl Job {
    pub(super) fn tasks(&self, field: &Field<'_>, notes: &mut Vec<String>) -> Result<Vec<Phase>, Mistake> {
        let mut phases = Vec::new();
        for item in field.items()? {
            phases.extend(self.task(&item, notes)?);
        }
        Ok(phases)
    }

    fn task(&self, field: &Field<'_>, notes: &mut Vec<String>) -> Result<Vec<Phase>, Mistake> {
        let mut fields = field.fields()?;
        let _ = (fields.get("name"), fields.get("synchronized"), fields.get("coupled"));
        let kind = fields.need("type", "cpu, pfs_read, pfs_write, bb_read, bb_write, idle, busy_wait or sequence")?;
        let iterations = fields.get("iterations");
        if fields.read("async", |field| field.yes())? == Some(true) {
            note(notes, "ElastiSim: asynchronous tasks are done one after the other");
        }
        let phases = match kind.text()? {
            "sequence" => {
                let inner = self.tasks(&fields.need("tasks", "the tasks of the sequence")?, notes)?;
                let times = match &iterations {
                    Some(iterations) => count(iterations, self.value(iterations, Some(self.min))?)?,
                    None => 1,
                };
                repeated(times, inner)
            }
            "cpu" => {
                let times = self.cpu(&mut fields)?;
                self.region(&kind, times, iterations.as_ref(), false)?
            }
            word @ ("pfs_read" | "pfs_write" | "bb_read" | "bb_write") => {
                let times = self.transfer(&mut fields, &kind, word.starts_with("pfs"))?;
                self.region(&kind, times, iterations.as_ref(), true)?
            }
            word @ ("idle" | "busy_wait") => {
                let delay = fields.need("delay", "seconds")?;
                let share = Share::read(fields.get("pattern"))?;
                let times = self.times(|nodes| Ok(self.value(&delay, Some(nodes))? * share.of_node(nodes)))?;
                self.region(&kind, times, iterations.as_ref(), word == "idle")?
            }
            "gpu" => return Err(kind.mistake("accelerators are not modelled")),
            _ => {
                let expected = "cpu, pfs_read, pfs_write, bb_read, bb_write, idle, busy_wait or sequence";
                return Err(kind.wrong(expected));
            }
        };
        fields.finish()?;
        Ok(phases)
    }

    /// Seconds of a task for each number of nodes from `min` on.
    fn times(&self, of: impl FnMut(u32) -> Result<f64, Mistake>) -> Result<Vec<f64>, Mistake> {
        (self.min..=self.max).map(of).collect()
    }

    /// Computation and communication go on side by side: the longer one counts.
    fn cpu(&self, fields: &mut Fields<'_>) -> Result<Vec<f64>, Mistake> {
        let flops = fields.get("flops");
        let share = Share::read(fields.get("computation_pattern"))?;
        let bytes = fields.get("bytes");
        let pattern = fields.get("communication_pattern");
        if flops.is_none() && bytes.is_none() {
            return Err(fields.mistake("a cpu task has `flops`, `bytes` or both"));
        }
        let spread = match &pattern {
            Some(pattern) => pattern.one_of(&PATTERNS)?,
            None => true,
        };
        let network = match &bytes {
            Some(bytes) => needed(self.platform.network, bytes, "network")?,
            None => 1.0,
        };
        self.times(|nodes| {
            let value = |field: &Option<Field<'_>>| match field {
                Some(field) => self.value(field, Some(nodes)),
                None => Ok(0.0),
            };
            let compute = value(&flops)? * share.of_node(nodes) / self.platform.flops;
            let over = if spread { f64::from(nodes) } else { 1.0 };
            let communicate = if nodes > 1 { value(&bytes)? / over / network } else { 0.0 };
            // A value below 0 or no number must not hide behind the other.
            let fine = compute >= 0.0 && communicate >= 0.0;
            Ok(if fine { compute.max(communicate) } else { f64::NAN })
        })
    }

    /// All nodes share the file system; a burst buffer belongs to its node.
    fn transfer(&self, fields: &mut Fields<'_>, kind: &Field<'_>, pfs: bool) -> Result<Vec<f64>, Mistake> {
        let bytes = fields.need("bytes", "how much is read or written")?;
        let share = Share::read(fields.get("pattern"))?;
        let bandwidth = if pfs {
            needed(self.platform.pfs, kind, "pfs")?
        } else {
            needed(self.platform.burst_buffer, kind, "burst_buffer")?
        };
        self.times(|nodes| {
            let bytes = self.value(&bytes, Some(nodes))?;
            let share = if pfs { share.of_all(nodes) } else { share.of_node(nodes) };
            Ok(bytes * share / bandwidth)
        })
    }

    /// A region with these times; a pause if that is allowed and the time is always the same;
    /// nothing where there is nothing to do.
    fn region(
        &self,
        field: &Field<'_>,
        mut times: Vec<f64>,
        iterations: Option<&Field<'_>>,
        pause: bool,
    ) -> Result<Vec<Phase>, Mistake> {
        for (time, nodes) in times.iter_mut().zip(self.min..) {
            if let Some(iterations) = iterations {
                *time *= self.value(iterations, Some(nodes))?;
            }
            if !(0.0..9e9).contains(time) {
                return Err(field.mistake(format!("takes {time} s on {nodes} nodes, which is no time")));
            }
        }
        let first = times[0];
        if times.iter().all(|&time| time == 0.0) {
            return Ok(Vec::new());
        }
        if times.contains(&0.0) {
            return Err(field.mistake("takes time on some numbers of nodes and none on others"));
        }
        let same = times.iter().all(|time| (time / first - 1.0).abs() < 1e-12);
        if same && pause {
            return Ok(vec![Phase::Pause { time: Dist::Constant(first * 1e9) }]);
        }
        let (work, curve) = if same {
            (Work::Each(Dist::Constant(first * 1e9)), None)
        } else {
            let alone = first * f64::from(self.min);
            let points: Vec<(u32, f64)> = (self.min..).zip(times.iter().map(|time| alone / time)).collect();
            let linear = points.iter().all(|&(n, speedup)| (speedup / f64::from(n) - 1.0).abs() < 1e-12);
            (Work::Divided(Dist::Constant(alone * 1e9), 0.0), (!linear).then_some(Curve::Table(points)))
        };
        Ok(vec![Phase::Parallel {
            width: self.max,
            iterations: 1,
            work,
            refs: Vec::new(),
            wait: Wait::Spin,
            locked: None,
            curve,
        }])
    }

    /// A number or a formula of the job's arguments and, inside tasks, its nodes.
    pub(super) fn value(&self, field: &Field<'_>, nodes: Option<u32>) -> Result<f64, Mistake> {
        match &field.node().value {
            Value::Whole(_) | Value::Real(_) => field.number(f64::MIN..=f64::MAX, "a number"),
            Value::Text(text) => {
                let value = |name: &str| match name {
                    "num_nodes" => nodes.map(f64::from),
                    "num_gpus_per_node" | "num_gpus" => Some(0.0),
                    "num_nodes_min" => Some(f64::from(self.min)),
                    "num_nodes_max" => Some(f64::from(self.max)),
                    _ => self.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| *value),
                };
                let formula = Expression::parse(text).and_then(|formula| formula.eval(&value));
                formula.map_err(|problem| field.mistake(format!("in the formula \"{text}\": {problem}")))
            }
            _ => Err(field.wrong("a number or a formula; explicit vectors are not modelled")),
        }
    }
}

fn needed(speed: Option<f64>, field: &Field<'_>, name: &str) -> Result<f64, Mistake> {
    speed.ok_or_else(|| {
        field.mistake(format!("the scenario does not say how fast this is: workload.{name}, bytes a second"))
    })
}

/// Whether each node communicates its part, or all goes through one.
const PATTERNS: [(&str, bool); 7] = [
    ("all_to_all", true),
    ("ring", true),
    ("ring_clockwise", true),
    ("ring_counter_clockwise", true),
    ("master_worker", false),
    ("gather", false),
    ("scatter", false),
];

/// The way in which a payload goes to the nodes.
#[derive(Debug, Clone, Copy)]
enum Share {
    /// Each node has all of it.
    Uniform,
    /// It is divided.
    Total,
    /// One node has it.
    Root,
}

impl Share {
    fn read(field: Option<Field<'_>>) -> Result<Self, Mistake> {
        let words =
            [("uniform", Self::Uniform), ("total", Self::Total), ("all_ranks", Self::Total), ("root_only", Self::Root)];
        field.map_or(Ok(Self::Uniform), |field| field.one_of(&words))
    }

    /// The part of the busiest of so many nodes.
    fn of_node(self, nodes: u32) -> f64 {
        match self {
            Self::Uniform | Self::Root => 1.0,
            Self::Total => 1.0 / f64::from(nodes),
        }
    }

    /// The parts of all nodes together.
    fn of_all(self, nodes: u32) -> f64 {
        match self {
            Self::Uniform => f64::from(nodes),
            Self::Total | Self::Root => 1.0,
        }
    }
}
