//! Points of a paper's admissible set.
//!
//! Candidates are a Latin hypercube (`McKay`, Beckman, Conover 1979): each open constant's range is
//! cut into as many parts as there are candidates, and each part has one. So few points cover every
//! constant evenly. A candidate is admissible if the rows that identify constants agree; all claims
//! of a paper use the same points.

use crate::conditions::Constants;
use crate::estimate::Estimate;
use crate::inputs::{InputRow, Inputs};
use crate::lab::{Lab, Trouble};
use numaestro_sim::random::{Purpose, Stream};
use serde::Serialize;

/// The seed of all candidates; part of the meaning of every share, never changed.
const SEED: u64 = 1993;

/// Candidate number `number`; each batch of `batch` candidates is a Latin hypercube of its own.
pub fn candidate(inputs: &Inputs, batch: u32, number: u32) -> Constants {
    let hypercube = SEED + u64::from(number / batch);
    let place = number % batch;
    let open = inputs.open().zip(0..).map(|(constant, entity)| {
        let mut stream = Stream::new(hypercube, Purpose::Statistics, entity);
        let mut parts: Vec<u32> = (0..batch).collect();
        for last in (1..batch).rev() {
            parts.swap(last as usize, stream.below(last + 1) as usize);
        }
        let within = (0..=place).map(|_| stream.unit()).last().unwrap_or(0.5);
        let share = (f64::from(parts[place as usize]) + within) / f64::from(batch);
        let (low, high) = constant.range;
        (constant.name.clone(), low + (high - low) * share)
    });
    let open: Constants = open.collect();
    let value = |name: &str, centre: f64| (name.to_owned(), open.get(name).unwrap_or(centre));
    inputs.centre().iter().map(|(name, centre)| value(name, centre)).collect()
}

/// Our value of a row, beside the row's.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// The row.
    pub row: &'static str,
    /// The quantity, with its unit.
    pub quantity: &'static str,
    /// Our value.
    pub ours: Estimate,
    /// Our value minus the row's; 0 within a bound.
    pub residual: f64,
    /// Distance in units of the tolerance; the row agrees at 1 or below.
    pub misfit: f64,
}

/// Our value of each row that identifies constants, under the conditions of the lab.
pub fn fits(lab: &Lab, rows: &[InputRow]) -> Result<Vec<Fit>, Trouble> {
    let fit = |input: &InputRow| {
        let ours = (input.row.measure)(lab)?;
        let (residual, misfit) = (input.agreement.residual(ours.mean), input.agreement.misfit(ours.mean));
        Ok(Fit { row: input.row.name, quantity: input.row.quantity, ours, residual, misfit })
    };
    rows.iter().map(fit).collect()
}

/// Whether every row that identifies constants agrees, under the conditions of the lab. The first
/// one that does not is enough; a row that cannot be measured does not.
pub fn is_admissible(lab: &Lab, rows: &[InputRow]) -> bool {
    rows.iter().all(|row| fits(lab, std::slice::from_ref(row)).is_ok_and(|fits| agree(&fits)))
}

/// Whether every row agrees.
pub fn agree(fits: &[Fit]) -> bool {
    fits.iter().all(|fit| fit.misfit <= 1.0)
}
