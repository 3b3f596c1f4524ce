//! What is put together for a run: machine, policy, workload, seed. Knows nothing of files but
//! their texts.

mod closed;
mod imports;
mod machine;
mod models;
mod parts;
mod read;
mod sweep;
mod workload;

use crate::Nanos;
use crate::machine::Model;
use crate::memory::Contention;
use crate::program::Program;
use crate::workload::Source;
use crate::world::{Noise, Setup};
use std::sync::Arc;

pub use sweep::{Parameter, Sweep};
pub use workload::{BatchJobs, Workload};

/// A run, or the comparison of several.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// What people call it.
    pub name: String,
    /// One sentence: what it shows.
    pub about: String,
    /// Where it runs.
    pub machine: Arc<Model>,
    /// Who divides the processors, as [`numaestro_policy::Policy::parse`] takes it.
    pub policy: String,
    /// How queueing for channels is computed.
    pub contention: Contention,
    /// What may run.
    pub programs: Vec<Arc<Program>>,
    /// What arrives when.
    pub workload: Workload,
    /// The first seed.
    pub seed: u64,
    /// How many seeds a comparison takes: this many from the first one on.
    pub seeds: u32,
    /// Share of the jobs, the first ones, that statistics leave out.
    pub warmup: f64,
    /// How far measurements are off.
    pub noise: Noise,
    /// Policies that are switched to, and when.
    pub switches: Vec<(Nanos, String)>,
    /// When the run is ended even if there is more to do.
    pub until: Option<Nanos>,
    /// What the engine is told besides.
    pub settings: numaestro_engine::Settings,
    /// What is compared; empty in a point of a comparison.
    pub sweep: Sweep,
    /// Remarks for people: what seems odd, what was left out.
    pub notes: Vec<String>,
    points: Vec<Point>,
}

/// One point of a comparison.
#[derive(Debug, Clone)]
pub struct Point {
    /// All of its values, as in `machine.delay=4 policy=dss`; the scenario's name where nothing is
    /// compared.
    pub label: String,
    /// Its parameters' names and values, the policy not among them.
    pub values: Vec<(String, String)>,
    /// What is run.
    pub scenario: Scenario,
}

impl Scenario {
    /// What a world of this scenario begins with.
    pub fn setup(&self, seed: u64) -> Setup {
        Setup {
            settings: self.settings.clone(),
            seed,
            contention: self.contention,
            until: self.until,
            noise: self.noise,
            switches: self.switches.clone(),
            ..Setup::new(self.machine.clone())
        }
    }

    /// Its arrivals. They depend on the seed and the workload only, so that every policy sees the
    /// same ones.
    pub fn source(&self, seed: u64) -> Box<dyn Source> {
        self.workload.source(seed)
    }

    /// What is compared, point by point: all values of all parameters with all policies, policies
    /// fastest. Just itself where nothing is.
    pub fn points(&self) -> Vec<Point> {
        if self.points.is_empty() {
            let scenario = Self { sweep: Sweep::default(), ..self.clone() };
            return vec![Point { label: self.name.clone(), values: Vec::new(), scenario }];
        }
        self.points.clone()
    }

    /// Processors that applications can have.
    pub fn pus(&self) -> u32 {
        self.machine.usable()
    }
}
