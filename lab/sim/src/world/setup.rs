//! The set-up of a run.

use crate::Nanos;
use crate::machine::Model;
use crate::memory::Contention;
use crate::world::jobs::Jobs;
use numaestro_engine::{Bus, Needs, Settings};
use std::sync::Arc;

/// The parts of a run, besides its workload.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The machine.
    pub model: Arc<Model>,
    /// The engine's settings. The set-up adds the inputs that the host can feed and the machine's
    /// reserved processors.
    pub settings: Settings,
    /// The seed, which determines every draw.
    pub seed: u64,
    /// The way to compute queueing for channels.
    pub contention: Contention,
    /// The time at which the run is cut off, nanoseconds.
    pub until: Option<Nanos>,
    /// Conservation is checked at every event (slow).
    pub checks: bool,
    /// The errors of measurements.
    pub noise: Noise,
    /// Policies to switch to, with their times in nanoseconds, in order.
    pub switches: Vec<(Nanos, String)>,
    /// Programs are jobs of a batch system that were allocated so much; `None`: they are not.
    pub jobs: Option<Jobs>,
}

/// The errors of the measurements of programs and counters: standard deviations, as shares of the
/// measured values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Noise {
    /// Error of speedups.
    pub speedups: f64,
    /// Error of bus-transaction rates.
    pub rates: f64,
}

impl Setup {
    /// A machine, the default policy, seed 1, max-min contention; no checks, errors or switches.
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            settings: Settings::default(),
            seed: 1,
            contention: Contention::MaxMin,
            until: None,
            checks: false,
            noise: Noise::default(),
            switches: Vec::new(),
            jobs: None,
        }
    }
}

impl Model {
    /// The inputs that this machine can feed a policy: everything, but bus-transaction rates only
    /// where it has buses.
    pub fn host(&self) -> Needs {
        host(&self.buses())
    }
}

/// The inputs that a machine with these buses can feed a policy.
pub fn host(buses: &[Bus]) -> Needs {
    Needs { requests: true, speedup: true, bandwidth: !buses.is_empty(), page_control: true, preemption: true }
}
