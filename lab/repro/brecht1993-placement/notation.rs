//! Figures 1.1 and 1.2: levels, and the notation of placements.

use super::placements::{CHILD_BESIDE, ON_EIGHT};
use crate::hector::{Alone, Hector, Kernel, LOCALIZED, ON_TWELVE};
use crate::lab::Experiment;
use crate::{Estimate, Finding, Judge, Lab, Trouble};
use numaestro_engine::Settings;
use numaestro_policy::Policy;
use numaestro_sim::Nanos;
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::Model;
use numaestro_sim::memory::Contention;
use numaestro_sim::workload::{Order, Source, StreamPlan, Streams};
use numaestro_sim::world::{Observer, Occupant, Setup};
use numaestro_topology::{Machine, PuId};
use std::sync::Arc;

/// The mesh of figure 1.1b: processors in a square, neighbours are one hop apart.
const MESH: u32 = 4;

/// The processor of each thread of the only application, in the order in which the threads begin.
#[derive(Debug, Default)]
struct Begun(Vec<PuId>);

impl Observer for Begun {
    fn runs(&mut self, _at: Nanos, pu: PuId, what: Occupant) {
        if what.is_some() && !self.0.contains(&pu) {
            self.0.push(pu);
        }
    }
}

/// B93-Fig1.1.
pub fn levels(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let hector = super::machines::model("hector", 0)?;
    let stations = |from: PuId, to: PuId| match (from == to, from.0 / 4 == to.0 / 4) {
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => 3,
    };
    judge_levels(&mut judge, "stations (1.1a)", &hector.topology, stations);
    judge_placement(&mut judge, lab, "stations", hector.clone(), 6, stations)?;
    let mesh = Model { topology: mesh()?, reserved: numaestro_topology::PuSet::new(), ..mesh_model(&hector) };
    let hops = |from: PuId, to: PuId| {
        let apart = |a: u32, b: u32| a.abs_diff(b);
        1 + apart(from.0 / MESH, to.0 / MESH) + apart(from.0 % MESH, to.0 % MESH)
    };
    judge_levels(&mut judge, "mesh (1.1b)", &mesh.topology, hops);
    judge_placement(&mut judge, lab, "mesh", mesh, 6, hops)?;
    judge.value("topologies", "", Estimate::exact(2.0));
    Ok(judge.verdict(""))
}

/// Sixteen processors with a memory each, apart by hops.
fn mesh() -> Result<Machine, Trouble> {
    let trouble = |reason: String| Trouble::new("mesh", reason);
    let machine =
        numaestro_topology::synthetic::parse("numa:16 core:1 pu:1").map_err(|error| trouble(error.to_string()))?;
    let place = |node: u32| (node / MESH, node % MESH);
    let apart = |a: u32, b: u32| {
        let ((x, y), (u, v)) = (place(a), place(b));
        10 * (1 + x.abs_diff(u) + y.abs_diff(v))
    };
    let distances = (0..16).flat_map(|from| (0..16).map(move |to| apart(from, to))).collect();
    machine.with_node_distances(distances).map_err(|error| trouble(error.to_string()))
}

/// Hector's costs, for uses in which the costs of references do not matter.
fn mesh_model(hector: &Model) -> Model {
    Model { channels: Vec::new(), ..hector.clone() }
}

/// Checks that from every processor the order of nearness is the order of the paper's levels.
fn judge_levels(judge: &mut Judge, name: &str, machine: &Machine, level: impl Fn(PuId, PuId) -> u32) {
    let pus: Vec<PuId> = machine.all().iter().collect();
    let same = pus.iter().all(|&from| {
        pus.iter().all(|&a| {
            pus.iter().all(|&b| {
                let nearer = machine.distance(from, a).cmp(&machine.distance(from, b));
                nearer == level(from, a).cmp(&level(from, b))
            })
        })
    });
    judge.demand(format!("{name}: the order of levels, from every processor"), "as drawn", yes(same), same);
}

/// One application under `localized`: no thread is placed farther from the first thread than a free
/// processor is.
fn judge_placement(
    judge: &mut Judge,
    lab: &Lab,
    name: &str,
    model: Model,
    threads: u32,
    level: impl Fn(PuId, PuId) -> u32,
) -> Result<(), Trouble> {
    let usable: Vec<PuId> = model.topology.all().iter().filter(|&pu| !model.reserved.contains(pu)).collect();
    let experiment = one_application(lab, name, model, "localized", threads)?;
    let runs = lab.observed(&experiment, Begun::default)?;
    let nearest = |begun: &[PuId]| {
        begun.len() == threads as usize
            && begun.iter().enumerate().skip(1).all(|(number, &pu)| {
                let free = usable.iter().filter(|pu| !begun[..number].contains(pu));
                free.map(|&other| level(begun[0], other)).min() == Some(level(begun[0], pu))
            })
    };
    let good = runs.iter().filter(|(begun, _)| nearest(&begun.0)).count();
    judge.demand(
        format!("{name}: `localized` leaves no processor of a nearer level free"),
        "always",
        format!("{good} of {} runs", runs.len()),
        good == runs.len(),
    );
    Ok(())
}

fn one_application(lab: &Lab, name: &str, model: Model, placement: &str, threads: u32) -> Result<Experiment, Trouble> {
    let program = Hector::of(lab)?.program(Kernel::Pde, threads);
    let make = move |seed| -> Box<dyn Source> {
        let none = Dist::Constant(0.0);
        let programs = vec![Arc::clone(&program)];
        let plan = StreamPlan { programs, repetitions: Some(1), start: none.clone(), gap: none };
        Box::new(Streams::new(vec![plan], Order::Given, seed))
    };
    let policy = format!("share=demand placement={placement} admission=fifo");
    Ok(Experiment {
        name: format!("{threads} processes on {name}, {placement}"),
        setup: Setup {
            settings: Settings { policy, ..Settings::default() },
            contention: Contention::None,
            ..Setup::new(Arc::new(model))
        },
        source: Arc::new(make),
        runs: 8,
    })
}

/// B93-Fig1.2.
pub fn placements(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for at in [LOCALIZED, ON_TWELVE, ON_EIGHT, CHILD_BESIDE] {
        let text = format!("share=demand placement=fixed(at={at}) admission=fifo");
        let policy = Policy::parse(&text, 0).map_err(|rejected| Trouble::new(at, rejected.reason))?;
        let written = policy.in_full();
        let again = Policy::parse(&written, 0).map_err(|rejected| Trouble::new(at, rejected.reason))?.in_full();
        let same = written == again && written.contains(&format!("at={at}"));
        judge.demand(format!("{at} reads as it is written"), at, &written, same);
        let runs = lab.observed(&Alone::new(Kernel::Pde, at, 0).experiment(lab)?, Begun::default)?;
        let drawn: Vec<String> = runs.iter().map(|(begun, _)| drawing(&begun.0)).collect();
        let there = drawn.iter().all(|drawn| drawn == at);
        judge.demand(
            format!("{at} is where PDE's processes are"),
            at,
            drawn.first().cloned().unwrap_or_default(),
            there,
        );
    }
    judge.value("placements", "", Estimate::exact(4.0));
    Ok(judge.verdict(""))
}

/// Processors in the order of their processes, as the paper draws them.
fn drawing(begun: &[PuId]) -> String {
    let letter = |pu: u32| match begun.iter().position(|begun| begun.0 == pu) {
        Some(number) => (number + 1).to_string(),
        None => "-".to_owned(),
    };
    let station = |station: u32| (0..4).map(|place| letter(4 * station + place)).collect::<String>();
    (0..4).map(station).collect::<Vec<_>>().join("/")
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}
