//! The paper's platform (§2): four processors on one bus, or twice as many on the same bus, with
//! every number from the file of inputs.
//!
//! A line that is read back to back costs the time that the streaming microbenchmark needs for it;
//! a line that a program waits for costs more, because less overlaps. Both are one transaction on
//! the bus, so programs of equal rates differ in how much a full bus slows them.

use crate::{Experiment, Lab, Trouble};
use numaestro_engine::Settings;
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{self, Costs, Model, Op};
use numaestro_sim::memory::Contention;
use numaestro_sim::program::Program;
use numaestro_sim::read::{NoFiles, Text};
use numaestro_sim::workload::{Order, Source, StreamPlan, Streams};
use numaestro_sim::world::{Noise, Setup};
use std::sync::Arc;

/// Processors of the paper's machine.
pub const PROCESSORS: u32 = 4;
/// Processors of the machine that §5 expects more of.
pub const TWICE: u32 = 2 * PROCESSORS;
/// Runs of each experiment, with seeds of their own.
const RUNS: u32 = 5;

/// The machines, and what is the same in all experiments on them.
#[derive(Debug, Clone)]
pub struct Platform {
    four: Arc<Model>,
    eight: Arc<Model>,
    contention: Contention,
    /// Error of the counters, a share.
    noise: f64,
    /// Longest time from the start of an experiment to the arrival of a stream, nanoseconds.
    start: f64,
}

impl Platform {
    /// The platform with the lab's constants.
    ///
    /// # Errors
    /// A constant is missing, or a machine cannot be read.
    pub fn of(lab: &Lab) -> Result<Self, Trouble> {
        let four = machine::named("xeon-4", 0).ok_or_else(|| Trouble::new("xeon-4", "there is no such machine"))?;
        let text = Text { name: "xeon-8.toml", text: include_str!("xeon-8.toml") };
        let eight = machine::read(text, &NoFiles).map_err(|no| Trouble::new("xeon-8.toml", no.to_string()))?;
        // Two readings of the bus: references wait only where it is full, or for each other too.
        let waits_before = lab.constant("queueing")? >= 0.5;
        Ok(Self {
            four: Arc::new(with_constants(four, lab)?),
            eight: Arc::new(with_constants(eight, lab)?),
            contention: if waits_before { Contention::Amva } else { Contention::Stretch },
            noise: lab.constant("counter error")?,
            start: lab.constant("start")? * lab.constant("quantum")? * 1e6,
        })
    }

    /// The machine with this many processors: the paper's, or [`TWICE`].
    pub const fn machine(&self, processors: u32) -> &Arc<Model> {
        if processors == TWICE { &self.eight } else { &self.four }
    }

    /// Programs one after the other, from some time in the first quanta on.
    pub fn plan(&self, programs: Vec<Arc<Program>>) -> StreamPlan {
        StreamPlan { programs, repetitions: Some(1), start: Dist::Uniform(0.0, self.start), gap: Dist::Constant(0.0) }
    }

    /// Streams under a policy.
    pub fn experiment(&self, name: String, processors: u32, policy: &str, plans: Vec<StreamPlan>) -> Experiment {
        let setup = Setup {
            settings: Settings { policy: policy.to_owned(), ..Settings::default() },
            contention: self.contention,
            noise: Noise { rates: self.noise, ..Noise::default() },
            ..Setup::new(Arc::clone(self.machine(processors)))
        };
        let source = move |seed| -> Box<dyn Source> { Box::new(Streams::new(plans.clone(), Order::Given, seed)) };
        Experiment { name, setup, source: Arc::new(source), runs: RUNS }
    }
}

/// A quantity as a whole number of its unit. All that the file of inputs gives are 0 or more.
#[allow(clippy::cast_sign_loss)] // See above; below 0 it would be 0.
pub const fn whole(quantity: f64) -> u64 {
    quantity as u64
}

/// A machine with the lab's constants.
fn with_constants(mut model: Model, lab: &Lab) -> Result<Model, Trouble> {
    let nanos = |name: &str| -> Result<u64, Trouble> { Ok(whole(lab.constant(name)? * 1e3)) };
    let streaming = lab.constant("streaming")?;
    let stall = lab.constant("stall")?;
    for class in &mut model.access.classes {
        class.cost_ps[Op::Line as usize] = whole(1e6 / streaming);
        class.cost_ps[Op::Load as usize] = whole(stall * 1e3);
    }
    let bus = lab.constant("bus")?;
    for channel in &mut model.channels {
        channel.per_ms = whole(bus * 1e3);
    }
    model.cache.lines = whole(lab.constant("cache")?);
    model.quantum_ns = whole(lab.constant("quantum")? * 1e6);
    let (switch_ns, migration_ns, stop_ns) = (nanos("switch")?, nanos("migration")?, nanos("stop")?);
    model.costs = Costs { switch_ns, migration_ns, stop_ns, ..model.costs };
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::antonopoulos2004_bandwidth::tests::lab;
    use numaestro_policy::Policy;

    #[test]
    fn machines_differ_only_in_processors() {
        let platform = Platform::of(&lab(&[])).unwrap();
        let (four, eight) = (platform.machine(PROCESSORS), platform.machine(TWICE));
        assert_eq!((four.topology.pu_count(), eight.topology.pu_count()), (4, 8));
        assert_eq!(four.buses()[0].saturation, eight.buses()[0].saturation);
        assert_eq!(four.buses()[0].saturation, 29_400);
        let costs = |model: &Model| model.access.classes.iter().map(|class| class.cost_ps).collect::<Vec<_>>();
        assert_eq!((costs(four), four.access.hit_ps), (costs(eight), eight.access.hit_ps));
        assert_eq!((four.costs, &four.cache), (eight.costs, &eight.cache));
    }

    #[test]
    fn the_constants_are_in_the_machine() {
        let platform = Platform::of(&lab(&[("stall", 80.0), ("stop", 7.0), ("queueing", 1.0)])).unwrap();
        let machine = platform.machine(PROCESSORS);
        let cost = |op: Op| machine.access.classes[0].cost_ps[op as usize];
        assert_eq!((cost(Op::Line), cost(Op::Load), machine.costs.stop_ns), (42_372, 80_000, 7_000));
        assert_eq!(platform.contention, Contention::Amva);
    }

    #[test]
    fn policies_have_the_paper_s_quantum_without_being_told() {
        let platform = Platform::of(&lab(&[])).unwrap();
        assert_eq!(platform.machine(PROCESSORS).quantum_ns, 100_000_000);
        for name in ["rr", "b2arr", "b2adss", "lqg", "qwg"] {
            let named = Policy::parse(name, 0).unwrap().in_full();
            let told = Policy::parse(&format!("share=dss turns={name}(quantum=100ms)"), 0).unwrap().in_full();
            assert_eq!(named, told, "{name}");
        }
    }
}
