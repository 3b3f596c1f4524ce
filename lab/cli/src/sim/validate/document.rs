//! The comparison as JSON. Its fields are promised: they may be added to, and never change their
//! meaning.

use super::campaign::Entry;
use crate::bench::launch;
use crate::bench::machine::{self, Description};
use numaestro_sim::learn::LearnedProgram;
use numaestro_sim::validation::{Cell, Comparison, Errors, Pair, Quantity};
use serde::Serialize;

/// Version of the format.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    numaestro_validation: u32,
    machine: Description,
    holds: bool,
    makespan: Option<Errors>,
    turnaround: Option<Errors>,
    /// Share of the pairs told right.
    right: Option<f64>,
    cells: Vec<CellDocument<'a>>,
    pairs: Vec<PairDocument>,
    programs: Vec<ProgramDocument<'a>>,
    /// Commands and all runs, as in the state file.
    done: &'a [Entry],
}

#[derive(Serialize)]
struct ProgramDocument<'a> {
    name: &'a str,
    residual: f64,
    /// Its file.
    text: String,
}

#[derive(Serialize)]
struct CellDocument<'a> {
    #[serde(flatten)]
    cell: &'a Cell,
    makespan_error: f64,
    turnaround_error: f64,
    makespan_noise: f64,
    turnaround_noise: f64,
}

#[derive(Serialize)]
struct PairDocument {
    #[serde(flatten)]
    pair: Pair,
    right: bool,
}

/// Everything, as one object.
pub fn write(comparison: &Comparison, programs: &[LearnedProgram], entries: &[Entry]) -> anyhow::Result<String> {
    let cells = comparison.cells().iter().map(|cell| CellDocument {
        cell,
        makespan_error: cell.error(Quantity::Makespan),
        turnaround_error: cell.error(Quantity::Turnaround),
        makespan_noise: cell.noise(Quantity::Makespan),
        turnaround_noise: cell.noise(Quantity::Turnaround),
    });
    let pairs = comparison.pairs().into_iter().map(|pair| PairDocument { right: pair.is_right(), pair });
    let document = Document {
        numaestro_validation: VERSION,
        machine: machine::describe(launch::processors()?.len()),
        holds: comparison.holds(),
        makespan: comparison.errors(Quantity::Makespan),
        turnaround: comparison.errors(Quantity::Turnaround),
        right: comparison.right(),
        cells: cells.collect(),
        pairs: pairs.collect(),
        programs: programs
            .iter()
            .map(|program| ProgramDocument { name: &program.name, residual: program.residual, text: program.to_toml() })
            .collect(),
        done: entries,
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
