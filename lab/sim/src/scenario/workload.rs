//! The workload of a scenario: `[workload]` as it is read, and the source made of it for a seed.

use super::models;
use super::parts::Parts;
use crate::Nanos;
use crate::dist::Dist;
use crate::program::amount::{self, Unit};
use crate::program::{Body, Program};
use crate::read::Mistake;
use crate::read::fields::{Field, Fields};
use crate::workload::batch::{Batch, Estimates, Fit, Jobs, Turn, offered};
use crate::workload::downey::{self, Downey};
use crate::workload::lublin::{self, Lublin};
use crate::workload::offered::mean_work;
use crate::workload::swf::LogJobs;
use crate::workload::{Arrival, Closed, List, Open, Order, Source, StreamPlan, Streams};
use std::sync::Arc;

/// The arrivals of a scenario.
#[derive(Debug, Clone)]
pub enum Workload {
    /// Lists of programs, one after the other, side by side.
    Streams {
        /// The streams.
        plans: Vec<StreamPlan>,
        /// The order in which each runs its list.
        order: Order,
    },
    /// One list of programs that is worked off.
    Closed {
        /// The programs in their order.
        programs: Vec<Arc<Program>>,
        /// Most at a time; `None`: all arrive at the start.
        level: Option<u32>,
    },
    /// Random arrivals.
    Open {
        /// Programs and their weights.
        mix: Vec<(Arc<Program>, f64)>,
        /// Nanoseconds between two arrivals.
        interarrival: Dist,
        /// Factor of the intervals.
        scale: f64,
        /// Number of arrivals; `None` = until the run ends.
        jobs: Option<u64>,
    },
    /// Given times.
    List(Vec<Arrival>),
    /// Jobs of a log or a model.
    Batch {
        /// The jobs.
        jobs: BatchJobs,
        /// Number of jobs; the log may have fewer.
        count: usize,
        /// The way in which they are fitted to the machine.
        fit: Fit,
        /// Offered load, if it is given: intervals are then made so that these very jobs have it.
        load: Option<f64>,
    },
}

/// The origin of batch jobs.
#[derive(Debug, Clone)]
pub enum BatchJobs {
    /// A log, without the first jobs.
    Log(Arc<[crate::workload::batch::BatchJob]>, usize),
    /// Lublin and Feitelson's model.
    Lublin(lublin::Types),
    /// Downey's model.
    Downey(downey::Parameters),
}

impl BatchJobs {
    fn jobs(&self, count: usize, pus: u32, seed: u64) -> Box<dyn Jobs> {
        match self {
            Self::Log(jobs, skip) => Box::new(LogJobs::new(jobs.clone(), *skip, count)),
            Self::Lublin(types) => Box::new(Lublin::new(*types, pus, seed).take(count)),
            Self::Downey(parameters) => Box::new(Downey::new(*parameters, seed).take(count)),
        }
    }

    fn count(&self, count: usize) -> usize {
        match self {
            Self::Log(jobs, skip) => jobs.len().saturating_sub(*skip).min(count),
            _ => count,
        }
    }
}

impl Workload {
    /// The arrivals of this seed.
    pub fn source(&self, seed: u64) -> Box<dyn Source> {
        match self {
            Self::Streams { plans, order } => Box::new(Streams::new(plans.clone(), *order, seed)),
            Self::Closed { programs, level } => Box::new(Closed::new(programs.clone(), *level)),
            Self::Open { mix, interarrival, scale, jobs } => {
                Box::new(Open::new(mix.clone(), interarrival.clone(), *scale, *jobs, seed))
            }
            Self::List(arrivals) => Box::new(List::new(arrivals.clone())),
            Self::Batch { jobs, count, fit, load } => {
                let mut fit = fit.clone();
                if let Some(load) = load {
                    // Jobs that all arrive at once have no load that could be changed.
                    let now = offered(jobs.jobs(*count, fit.pus, seed), &fit);
                    fit.intervals = if now > 0.0 { now / load } else { 1.0 };
                }
                let total = jobs.count(*count) as u64;
                Box::new(Batch::new(jobs.jobs(*count, fit.pus, seed), fit, seed, Some(total)))
            }
        }
    }
}

const KINDS: [(&str, Kind); 9] = [
    ("streams", Kind::Streams),
    ("closed", Kind::Closed),
    ("open", Kind::Open),
    ("list", Kind::List),
    ("swf", Kind::Swf),
    ("lublin", Kind::Lublin),
    ("downey", Kind::Downey),
    ("elastisim", Kind::ElastiSim),
    ("rt-app", Kind::RtApp),
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    Streams,
    Closed,
    Open,
    List,
    Swf,
    Lublin,
    Downey,
    ElastiSim,
    RtApp,
}

/// Most jobs of a workload.
const JOBS_MAX: u64 = 1 << 40;

/// Reads `[workload]`; without it, every program arrives once at the start.
pub(super) fn read(field: Option<Field<'_>>, parts: &mut Parts<'_>) -> Result<Workload, Mistake> {
    let Some(field) = field else {
        let arrival = |program: &Arc<Program>| at(0, program.clone(), None);
        return Ok(Workload::List(parts.programs.all().iter().map(arrival).collect()));
    };
    let mut fields = field.fields()?;
    let kind =
        fields.need("kind", "streams, closed, open, list, swf, lublin, downey, elastisim or rt-app")?.one_of(&KINDS)?;
    let workload = match kind {
        Kind::Streams => streams(&mut fields, parts)?,
        Kind::Closed => {
            let (programs, level) = super::closed::read(&mut fields, parts)?;
            Workload::Closed { programs, level }
        }
        Kind::Open => open(&mut fields, parts)?,
        Kind::List => list(&mut fields, parts)?,
        Kind::Swf => swf(&mut fields, parts)?,
        Kind::Lublin => {
            let types = fields.read("types", |field| field.one_of(&models::TYPES))?.unwrap_or(lublin::Types::Whole);
            batch(&mut fields, BatchJobs::Lublin(types), parts, None)?
        }
        Kind::Downey => {
            let jobs = BatchJobs::Downey(models::downey_parameters(&mut fields, parts.pus)?);
            batch(&mut fields, jobs, parts, None)?
        }
        Kind::ElastiSim => Workload::List(super::imports::elastisim(&mut fields, parts)?),
        Kind::RtApp => Workload::List(super::imports::rt_app(&mut fields, parts)?),
    };
    fields.finish()?;
    Ok(workload)
}

/// An arrival of a list, which numbers them.
pub(super) fn at(at: Nanos, program: Arc<Program>, estimate_ns: Option<Nanos>) -> Arrival {
    Arrival { at, job: 0, stream: 0, program, estimate_ns, until: None }
}

const ORDERS: [(&str, Order); 3] =
    [("given", Order::Given), ("rotated", Order::Rotated), ("shuffled", Order::Shuffled)];

fn streams(fields: &mut Fields<'_>, parts: &Parts<'_>) -> Result<Workload, Mistake> {
    let order = fields.read("order", |field| field.one_of(&ORDERS))?.unwrap_or(Order::Given);
    let plan = |fields: &mut Fields<'_>, usual: Option<&StreamPlan>| {
        let programs = match (fields.get("programs"), usual) {
            (Some(names), _) => parts.programs_named(&names)?,
            (None, Some(usual)) => usual.programs.clone(),
            (None, None) => parts.programs.all().to_vec(),
        };
        let repetitions = match fields.get("repetitions") {
            Some(field) if field.is_word("forever") => None,
            Some(field) => Some(field.whole32(1..=u32::MAX)?),
            None => usual.map_or(Some(1), |usual| usual.repetitions),
        };
        let zero = |usual: Option<&Dist>| usual.cloned().unwrap_or(Dist::Constant(0.0));
        let time = |field: Field<'_>| amount::dist(&field, Unit::Time);
        let start = fields.read("start", time)?.unwrap_or_else(|| zero(usual.map(|usual| &usual.start)));
        let gap = fields.read("gap", time)?.unwrap_or_else(|| zero(usual.map(|usual| &usual.gap)));
        Ok::<_, Mistake>(StreamPlan { programs, repetitions, start, gap })
    };
    let usual = plan(fields, None)?;
    let plans = match (fields.get("stream"), fields.get("streams")) {
        (Some(list), None) => {
            let mut plans = Vec::new();
            for item in list.items()? {
                let mut fields = item.fields()?;
                plans.push(plan(&mut fields, Some(&usual))?);
                fields.finish()?;
            }
            plans
        }
        (None, Some(count)) => vec![usual; count.whole32(1..=1 << 16)? as usize],
        (None, None) => vec![usual],
        (Some(_), Some(count)) => {
            return Err(
                count.mistake("`streams` counts equal streams; [[workload.stream]] tables describe them one by one")
            );
        }
    };
    if plans.is_empty() || plans.iter().any(|plan| plan.programs.is_empty()) {
        return Err(fields.mistake("expected streams with at least one program each"));
    }
    Ok(Workload::Streams { plans, order })
}

fn open(fields: &mut Fields<'_>, parts: &Parts<'_>) -> Result<Workload, Mistake> {
    let mix = match (fields.get("mix"), fields.get("programs")) {
        (Some(mix), None) => {
            let mut programs = Vec::new();
            for item in mix.items()? {
                let [name, weight] = item.pair("[\"program\", weight]")?;
                programs.push((parts.program(&name)?, weight.number(0.0..=1e12, "a weight, at least 0")?));
            }
            if programs.iter().map(|(_, weight)| weight).sum::<f64>() <= 0.0 {
                return Err(mix.mistake("expected at least one program with a weight above 0"));
            }
            programs
        }
        (None, Some(names)) => parts.programs_named(&names)?.into_iter().map(|program| (program, 1.0)).collect(),
        (None, None) => parts.programs.all().iter().map(|program| (program.clone(), 1.0)).collect(),
        (Some(_), Some(names)) => return Err(names.mistake("a workload has `mix` or `programs`, not both")),
    };
    if mix.is_empty() {
        return Err(fields.mistake("there is no program that could arrive"));
    }
    let interarrival = fields.read("interarrival", |field| amount::dist(&field, Unit::Time))?;
    let jobs = fields.read("jobs", |field| field.whole(1..=JOBS_MAX))?;
    let (mut scale, load) = intensity(fields)?;
    let interarrival = match (interarrival, load) {
        (Some(interarrival), None) => interarrival,
        (interarrival, Some(load)) => {
            // Only the shape of the given intervals counts.
            let interarrival = interarrival.unwrap_or(Dist::Exponential(1e9));
            let weight: f64 = mix.iter().map(|(_, weight)| weight).sum();
            let work = mix.iter().map(|(program, weight)| mean_work(program) * weight).sum::<f64>() / weight;
            if work <= 0.0 || interarrival.mean() <= 0.0 {
                return Err(fields.mistake("a load needs programs with work and intervals above 0"));
            }
            scale = work / (load * f64::from(parts.pus) * interarrival.mean());
            interarrival
        }
        (None, None) => return Err(fields.mistake("`interarrival` (time between arrivals) or `load` is missing")),
    };
    if interarrival.mean() <= 0.0 && jobs.is_none() {
        return Err(fields.mistake("arrivals without intervals need a number of `jobs`"));
    }
    Ok(Workload::Open { mix, interarrival, scale, jobs })
}

/// The factor of intervals, and the load that replaces it.
fn intensity(fields: &mut Fields<'_>) -> Result<(f64, Option<f64>), Mistake> {
    let scale = fields.read("scale", |field| field.number(1e-9..=1e9, "a factor for intervals, above 0"))?;
    let Some(field) = fields.get("load") else { return Ok((scale.unwrap_or(1.0), None)) };
    if scale.is_some() {
        return Err(field.mistake("a load makes the intervals by itself: leave out `scale`"));
    }
    let load = field.number(1e-6..=1e3, "an offered load above 0; 1 is all of the machine")?;
    Ok((1.0, Some(load)))
}

fn list(fields: &mut Fields<'_>, parts: &Parts<'_>) -> Result<Workload, Mistake> {
    let mut arrivals = Vec::new();
    for item in fields.need("arrivals", "a list of { at, program }")?.items()? {
        let mut fields = item.fields()?;
        let time = fields.read("at", |field| field.nanos())?.unwrap_or(0);
        let program = parts.program(&fields.need("program", "the name of a program")?)?;
        let estimate_ns = fields.read("estimate", |field| field.nanos())?;
        let until = fields.read("until", |field| until(&field, &program, time))?;
        let count = fields.read("count", |field| field.whole32(1..=1 << 20))?.unwrap_or(1);
        fields.finish()?;
        arrivals.extend((0..count).map(|_| Arrival { until, ..at(time, program.clone(), estimate_ns) }));
    }
    Ok(Workload::List(arrivals))
}

/// The time at which a program that arrives at `from` is told to end.
fn until(field: &Field<'_>, program: &Program, from: Nanos) -> Result<Nanos, Mistake> {
    let at = field.nanos()?;
    if matches!(program.body, Body::Curve { .. }) {
        return Err(field.mistake("a program that is only a curve has no phases after which it could end"));
    }
    if at < from { Err(field.wrong("a time not before the arrival (`at`)")) } else { Ok(at) }
}

fn swf(fields: &mut Fields<'_>, parts: &mut Parts<'_>) -> Result<Workload, Mistake> {
    let file = fields.need("file", "the name of a log")?;
    let (log, skipped, processors) = parts.log(&file)?;
    let left_out = skipped.failed + skipped.partial + skipped.no_time + skipped.no_size;
    if left_out > 0 {
        parts.notes.push(format!(
            "{}: {} jobs; left out {left_out}: {} failed, {} parts of jobs, {} without run time, {} without size",
            file.text()?,
            log.len(),
            skipped.failed,
            skipped.partial,
            skipped.no_time,
            skipped.no_size
        ));
    }
    let skip = fields.read("skip", |field| field.whole(0..=JOBS_MAX))?.unwrap_or(0);
    batch(fields, BatchJobs::Log(log, skip as usize), parts, Some(processors))
}

fn batch(
    fields: &mut Fields<'_>,
    jobs: BatchJobs,
    parts: &Parts<'_>,
    processors: Option<u32>,
) -> Result<Workload, Mistake> {
    let count = match (fields.get("jobs"), &jobs) {
        (Some(field), _) => field.whole(1..=JOBS_MAX)? as usize,
        (None, BatchJobs::Log(..)) => usize::MAX,
        (None, _) => return Err(fields.mistake("`jobs` is missing: how many the model makes")),
    };
    if jobs.count(count) == 0 {
        return Err(fields.mistake("no job is left"));
    }
    let keep = fields.read("sizes", |field| field.one_of(&[("keep", true), ("scale", false)]))?.unwrap_or(true);
    let sizes = match processors {
        Some(processors) if !keep => f64::from(parts.pus) / f64::from(processors),
        _ => 1.0,
    };
    let turn = fields.read("turn", |field| turn(&field))?.unwrap_or(Turn::Rigid);
    let estimates = fields.read("estimates", |field| field.one_of(&ESTIMATES))?.unwrap_or(Estimates::Log);
    let (intervals, load) = intensity(fields)?;
    let fit = Fit { pus: parts.pus, sizes, intervals, turn, estimates };
    Ok(Workload::Batch { jobs, count, fit, load })
}

const ESTIMATES: [(&str, Estimates); 3] =
    [("log", Estimates::Log), ("perfect", Estimates::Perfect), ("none", Estimates::None)];

fn turn(field: &Field<'_>) -> Result<Turn, Mistake> {
    const EXPECTED: &str = "\"rigid\", \"downey\", \"sevcik\", { downey = { average, sigma } } or \
        { sevcik = { imbalance, serial, overhead } }";
    let downey = Turn::Downey { average: Dist::LogNormal(1.0, 0.5), sigma: Dist::Uniform(0.0, 2.0) };
    let sevcik = Turn::Sevcik {
        imbalance: Dist::Uniform(1.0, 1.2),
        serial: Dist::Uniform(0.0, 0.05),
        overhead: Dist::Uniform(0.0, 0.0005),
    };
    let Some(mut fields) = field.table() else {
        let words = [("rigid", Turn::Rigid), ("downey", downey), ("sevcik", sevcik)];
        return field.one_of(&words).map_err(|_| field.wrong(EXPECTED));
    };
    let number = |field: Field<'_>| amount::dist(&field, Unit::Number);
    let turn = if let Some(table) = fields.get("downey") {
        let mut inner = table.fields()?;
        let Turn::Downey { average, sigma } = downey else { unreachable!("made above") };
        let average = inner.read("average", number)?.unwrap_or(average);
        let sigma = inner.read("sigma", number)?.unwrap_or(sigma);
        inner.finish()?;
        Turn::Downey { average, sigma }
    } else if let Some(table) = fields.get("sevcik") {
        let mut inner = table.fields()?;
        let Turn::Sevcik { imbalance, serial, overhead } = sevcik else { unreachable!("made above") };
        let imbalance = inner.read("imbalance", number)?.unwrap_or(imbalance);
        let serial = inner.read("serial", number)?.unwrap_or(serial);
        let overhead = inner.read("overhead", number)?.unwrap_or(overhead);
        inner.finish()?;
        Turn::Sevcik { imbalance, serial, overhead }
    } else {
        return Err(field.wrong(EXPECTED));
    };
    fields.finish()?;
    Ok(turn)
}
