//! What a run begins with. Knows nothing of how it goes on.

use crate::Nanos;
use crate::machine::Model;
use crate::memory::Contention;
use numaestro_engine::{Bus, Needs, Settings};
use std::sync::Arc;

/// What a run is made of, besides its workload.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The machine.
    pub model: Arc<Model>,
    /// The engine's settings. What the host can feed is filled in, and the machine's reserved
    /// processors are added.
    pub settings: Settings,
    /// Determines every draw.
    pub seed: u64,
    /// How queueing for channels is computed.
    pub contention: Contention,
    /// When the run is cut off.
    pub until: Option<Nanos>,
    /// Conservation is checked at every event (slow).
    pub checks: bool,
    /// How far measurements are off.
    pub noise: Noise,
    /// Policies that are switched to at these times, in order.
    pub switches: Vec<(Nanos, String)>,
}

/// How far what programs and counters measure is off: standard deviations, as shares of what is
/// measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Noise {
    /// Of speedups.
    pub speedups: f64,
    /// Of bus-transaction rates.
    pub rates: f64,
}

impl Setup {
    /// A machine, the default policy, seed 1, max-min contention; nothing is checked, off, or
    /// switched.
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
        }
    }
}

impl Model {
    /// What this machine can feed a policy: everything, but bus-transaction rates only where it has
    /// buses.
    pub fn host(&self) -> Needs {
        host(&self.buses())
    }
}

/// What a machine with these buses can feed a policy.
pub fn host(buses: &[Bus]) -> Needs {
    Needs { requests: true, speedup: true, bandwidth: !buses.is_empty(), page_control: true, preemption: true }
}
