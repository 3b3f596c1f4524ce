//! Balances a kernel: from the printed times and speedup to the work and references of its
//! processes.
//!
//! A process takes its work and its references at the machine's costs, each varied alike, and the
//! slowest of four counts, because they meet. So the printed times give equations for the serial
//! work, the parallel work and the number of references to shared data. Each is solved for its own
//! unknown in turn, until nothing changes.

use super::constants::{OfKernel, PROCESSES, Shared};
use super::machine::{LOCALIZED, ONE, SPREAD};
use crate::lab::Trouble;
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::Model;
use numaestro_sim::program::{Body, Data, PagePlace, Part, Phase, Program, Refs, Split, Work};
use numaestro_topology::{NumaNodeId, PuId};

/// Number of references, of a sort, that each of four processes makes: so many for each reference
/// to shared data, and so many besides.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    per_shared: f64,
    besides: f64,
}

impl Count {
    fn of(self, shared: f64) -> f64 {
        self.per_shared * shared + self.besides
    }

    fn times(self, factor: f64) -> Self {
        Self { per_shared: self.per_shared * factor, besides: self.besides * factor }
    }

    fn plus(self, other: Self) -> Self {
        Self { per_shared: self.per_shared + other.per_shared, besides: self.besides + other.besides }
    }
}

/// Writes work and references into a kernel's program: `plain` is the machine without delay,
/// `delayed` that with 16 cycles.
///
/// # Errors
/// The references alone take longer than the paper's time.
#[allow(clippy::cast_sign_loss)] // Creation takes some time.
pub fn balance(program: &mut Program, constants: &OfKernel, plain: &Model, delayed: &Model) -> Result<(), Trouble> {
    let name = program.name.clone();
    let Body::Phases(phases) = &mut program.body else { return Err(Trouble::new(name, "it has no phases")) };
    let data = program.data.as_slice();
    let team = phases.iter().find_map(|phase| match phase {
        Phase::Parallel { refs, .. } => Some(refs.clone()),
        _ => None,
    });
    let refs = team.ok_or_else(|| Trouble::new(&name, "it has no team"))?;
    let counts = counts(data, &refs, constants, plain);
    let costs = |model: &Model, place: &[PuId]| costs(model, data, &refs, &counts, place);
    let equations = Equations {
        constants,
        alone: costs(plain, &ONE)[0],
        near: costs(plain, &LOCALIZED),
        far: costs(plain, &SPREAD),
        near_delayed: costs(delayed, &LOCALIZED),
        far_delayed: costs(delayed, &SPREAD),
    };
    let solved = equations.solve();
    if solved.parallel <= 0.0 {
        return Err(Trouble::new(name, "its references alone take longer than the paper's time"));
    }
    program.creation_ns = (constants.creation * 1e9).round() as u64;
    for phase in phases {
        match phase {
            Phase::Serial { work, .. } => *work = Dist::Constant(solved.serial * 1e9),
            Phase::Parallel { iterations, work, refs, .. } => {
                *iterations = constants.meetings;
                let each = solved.parallel * 1e9 / f64::from(constants.meetings);
                *work = Work::Divided(Dist::Constant(each), constants.variation);
                for (refs, count) in refs.iter_mut().zip(&counts) {
                    refs.per_us = count.of(solved.shared) * PROCESSES / (solved.parallel * 1e6);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The number of references of each sort, by what their data are.
fn counts(data: &[Data], refs: &[Refs], constants: &OfKernel, model: &Model) -> Vec<Count> {
    let is_system = |refs: &&Refs| matches!(data[refs.data].place, PagePlace::Node(_));
    let sorts_of_system = refs.iter().filter(is_system).count() as f64;
    let others = |system: f64| Count { per_shared: 1.0 + constants.tables, besides: system };
    // All modules of station 0 are equally far from the others.
    let call = refs.iter().find(is_system).map(|refs| cost(model, data, refs, &ONE, 0));
    let system = call.map_or(0.0, |call| constants.system * constants.time / call);
    let of = |refs: &Refs| match (data[refs.data].place, data[refs.data].name.as_str()) {
        (_, "variables") => others(system).times(constants.variables),
        (PagePlace::Node(_), _) => Count { per_shared: 0.0, besides: system / sorts_of_system },
        (PagePlace::RoundRobin, _) => Count { per_shared: constants.tables, besides: 0.0 },
        // Processes touch their own parts first, and then refer to all of them.
        _ if refs.part == Part::Own => Count::default(),
        _ => Count { per_shared: 1.0, besides: 0.0 },
    };
    refs.iter().map(of).collect()
}

/// Seconds that the references of each process take, for processes on these processors.
fn costs(model: &Model, data: &[Data], refs: &[Refs], counts: &[Count], place: &[PuId]) -> Vec<Count> {
    let of_process = |process: usize| {
        let each = refs.iter().zip(counts).map(|(refs, count)| count.times(cost(model, data, refs, place, process)));
        each.fold(Count::default(), Count::plus)
    };
    (0..place.len()).map(of_process).collect()
}

/// Mean seconds of one of these references by one process.
fn cost(model: &Model, data: &[Data], refs: &Refs, place: &[PuId], process: usize) -> f64 {
    let Data { place: pages_at, split, pages, .. } = &data[refs.data];
    let to = |node: NumaNodeId| model.cost_ps(place[process], node, refs.op) as f64 / 1e12;
    let mean = |costs: &[f64]| costs.iter().sum::<f64>() / costs.len() as f64;
    match (pages_at, split) {
        (PagePlace::Node(node), _) => to(NumaNodeId(*node)),
        (PagePlace::RoundRobin, _) => {
            let nodes = model.topology.numa_nodes().len() as u64;
            mean(&(0..*pages).map(|page| to(NumaNodeId((page % nodes) as u32))).collect::<Vec<_>>())
        }
        (PagePlace::Master, _) | (_, Split::Whole) => to(model.node_of(place[0])),
        (_, Split::PerThread) => mean(&place.iter().map(|&pu| to(model.node_of(pu))).collect::<Vec<_>>()),
    }
}

/// The equations of one kernel: seconds of references by process and placement.
struct Equations<'a> {
    constants: &'a OfKernel,
    alone: Count,
    near: Vec<Count>,
    far: Vec<Count>,
    near_delayed: Vec<Count>,
    far_delayed: Vec<Count>,
}

/// Their solution.
#[derive(Debug, Clone, Copy)]
struct Solved {
    /// References of each of four processes to shared data.
    shared: f64,
    /// Seconds of parallel work in all.
    parallel: f64,
    /// Seconds of serial work.
    serial: f64,
}

/// Rounds until nothing changes: each leaves about a quarter of the error.
const ROUNDS: u32 = 40;

impl Equations<'_> {
    /// With a serial part that gives the speedup; without one where the speedup would need less
    /// than none.
    fn solve(&self) -> Solved {
        let solved = self.rounds(self.constants.speedup);
        if solved.serial < 0.0 { self.rounds(None) } else { solved }
    }

    fn rounds(&self, speedup: Option<f64>) -> Solved {
        let time = self.constants.time;
        let creation = (PROCESSES - 1.0) * self.constants.creation;
        let (mut shared, mut parallel, mut serial) = (1e5, time, 0.0);
        for _ in 0..ROUNDS {
            shared = self.shared(shared, parallel, serial + creation);
            let near = self.slowest(&self.near, shared, parallel);
            if let Some(speedup) = speedup {
                serial = time - creation - near;
                parallel = speedup * time - PROCESSES * self.alone.of(shared) - serial;
            } else {
                parallel += PROCESSES * (time - creation - near);
            }
        }
        Solved { shared, parallel, serial }
    }

    /// A better number of references to shared data.
    fn shared(&self, shared: f64, parallel: f64, outside: f64) -> f64 {
        let step = |wanted: f64, found: f64| shared * (wanted / found.max(1e-9)).clamp(0.2, 5.0);
        match self.constants.shared {
            Shared::Count(count) => count,
            Shared::Cost(cost) => {
                let [near, far] = [&self.near, &self.far].map(|place| self.slowest(place, shared, parallel));
                step(cost, far - near)
            }
            Shared::Gain(gain) => {
                let [near, far] =
                    [&self.near_delayed, &self.far_delayed].map(|place| self.slowest(place, shared, parallel));
                step(gain / (1.0 - gain), (far - near) / (outside + near))
            }
        }
    }

    /// Mean seconds of the slowest process.
    fn slowest(&self, place: &[Count], shared: f64, parallel: f64) -> f64 {
        let means: Vec<f64> = place.iter().map(|refs| parallel / PROCESSES + refs.of(shared)).collect();
        mean_of_largest(&means, self.constants.variation)
    }
}

/// Mean of the largest of independent normal values with these means and this coefficient of
/// variation.
fn mean_of_largest(means: &[f64], variation: f64) -> f64 {
    /// Deviations beyond which nothing is left, and steps of the sum.
    const REACH: f64 = 5.0;
    const STEPS: u32 = 48;
    let largest = means.iter().copied().fold(0.0, f64::max);
    let deviation = variation * largest;
    if deviation <= 0.0 {
        return largest;
    }
    let below = |x: f64| {
        let one = |mean: &f64| 0.5 * libm::erfc((mean - x) / (variation * mean.abs().max(1e-9)) / 2.0_f64.sqrt());
        means.iter().map(one).product::<f64>()
    };
    let (low, step) = (largest - REACH * deviation, 2.0 * REACH * deviation / f64::from(STEPS));
    let area: f64 = (0..STEPS).map(|number| below(low + (f64::from(number) + 0.5) * step) * step).sum();
    largest + REACH * deviation - area
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_four_by_the_book() {
        // The mean of the largest of four standard normal values is 1.0294, of two 1/√π.
        assert!((mean_of_largest(&[1.0; 4], 0.02) - 1.020_588).abs() < 1e-4);
        assert!((mean_of_largest(&[1.0; 2], 0.02) - 1.011_284).abs() < 1e-4);
        assert!((mean_of_largest(&[1.0, 0.5, 0.5, 0.5], 0.02) - 1.0).abs() < 1e-4);
        assert!((mean_of_largest(&[3.0, 2.0], 0.0) - 3.0).abs() < 1e-12);
    }
}
