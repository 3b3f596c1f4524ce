//! The parts of a run: machine, policy, workload, seed.

mod closed;
mod imports;
mod machine;
mod models;
mod parts;
mod programs;
mod read;
mod sweep;
mod workload;

use crate::Nanos;
use crate::machine::Model;
use crate::memory::Contention;
use crate::program::Program;
use crate::workload::Source;
use crate::world::{Jobs, Noise, Setup};
use std::sync::Arc;

pub use sweep::{Parameter, Sweep};
pub use workload::{BatchJobs, Workload};

/// A run, or the comparison of several.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name for people.
    pub name: String,
    /// One sentence: its purpose.
    pub about: String,
    /// The machine.
    pub machine: Arc<Model>,
    /// The policy, as [`numaestro_policy::Policy::parse`] takes it.
    pub policy: String,
    /// The way to compute queueing for channels.
    pub contention: Contention,
    /// The programs that may run.
    pub programs: Vec<Arc<Program>>,
    /// The arrivals.
    pub workload: Workload,
    /// The first seed.
    pub seed: u64,
    /// Number of seeds of a comparison: this many from the first one on.
    pub seeds: u32,
    /// Share of the jobs, the first ones, that statistics leave out.
    pub warmup: f64,
    /// The errors of measurements.
    pub noise: Noise,
    /// What programs were allocated as jobs of a batch system; `None`: they are none.
    pub jobs: Option<Jobs>,
    /// Policies to switch to, with the times, nanoseconds.
    pub switches: Vec<(Nanos, String)>,
    /// The time at which the run ends even if there is more to do, nanoseconds.
    pub until: Option<Nanos>,
    /// The engine's other settings.
    pub settings: numaestro_engine::Settings,
    /// The points of a comparison; empty in a point itself.
    pub sweep: Sweep,
    /// Remarks for people: odd values, parts that were left out.
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
    /// The scenario to run.
    pub scenario: Scenario,
}

impl Scenario {
    /// The set-up with which a world of this scenario begins.
    pub fn setup(&self, seed: u64) -> Setup {
        Setup {
            settings: self.settings.clone(),
            seed,
            contention: self.contention,
            until: self.until,
            noise: self.noise,
            jobs: self.jobs,
            switches: self.switches.clone(),
            ..Setup::new(self.machine.clone())
        }
    }

    /// Its arrivals. They depend on the seed and the workload only, so that every policy sees the
    /// same ones.
    pub fn source(&self, seed: u64) -> Box<dyn Source> {
        self.workload.source(seed)
    }

    /// The points to compare: all values of all parameters with all policies, policies fastest.
    /// Just the scenario itself where it compares nothing.
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
