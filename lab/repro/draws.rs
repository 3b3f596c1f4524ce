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

/// The rows in the order in which candidates are tried by them. Those that reject even the centre
/// are first: they most likely reject a candidate too, so that the runs of the others can be saved.
/// `centre`: the fits there, in the order of the rows; without them the order stays.
pub fn strictest_first<'a>(rows: &'a [InputRow], centre: &[Fit]) -> Vec<&'a InputRow> {
    let rejects = |place: usize| centre.get(place).is_some_and(|fit| fit.misfit > 1.0);
    let (strict, others): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|&place| rejects(place));
    strict.into_iter().chain(others).map(|place| &rows[place]).collect()
}

/// Whether every row that identifies constants agrees, under the conditions of the lab. The first
/// one that does not is enough; a row that cannot be measured does not.
pub fn is_admissible<'a>(lab: &Lab, rows: impl IntoIterator<Item = &'a InputRow>) -> bool {
    rows.into_iter().all(|row| fits(lab, std::slice::from_ref(row)).is_ok_and(|fits| agree(&fits)))
}

/// Whether every row agrees.
pub fn agree(fits: &[Fit]) -> bool {
    fits.iter().all(|fit| fit.misfit <= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Row;
    use crate::inputs::Agreement;
    use crate::lab::Statistics;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Measurements of the row `measured`.
    static MEASURED: AtomicU32 = AtomicU32::new(0);

    const ROWS: [Row; 4] = [
        Row {
            name: "measured",
            quantity: "",
            measure: |_| {
                MEASURED.fetch_add(1, Ordering::Relaxed);
                Ok(Estimate::exact(1.0))
            },
        },
        Row { name: "too large", quantity: "", measure: |_| Ok(Estimate::exact(3.0)) },
        Row { name: "cannot be measured", quantity: "", measure: |_| Err(Trouble::new("a run", "it fails")) },
        Row { name: "agrees", quantity: "", measure: |_| Ok(Estimate::exact(1.0)) },
    ];

    fn rows(places: &[usize]) -> Vec<InputRow> {
        places.iter().map(|&place| InputRow { row: &ROWS[place], agreement: Agreement::AtMost(2.0) }).collect()
    }

    #[test]
    fn a_row_that_rejects_the_centre_is_tried_first() {
        let lab = Lab::new(Statistics::Quick);
        let rows = rows(&[0, 1]);
        let centre = fits(&lab, &rows).unwrap();
        let order = strictest_first(&rows, &centre);
        assert_eq!(order.iter().map(|row| row.row.name).collect::<Vec<_>>(), ["too large", "measured"]);
        let before = MEASURED.load(Ordering::Relaxed);
        assert!(!is_admissible(&lab, order));
        assert_eq!(MEASURED.load(Ordering::Relaxed), before, "the runs of the other row are saved");
        let as_declared = strictest_first(&rows, &[]);
        assert_eq!(as_declared[0].row.name, "measured");
    }

    #[test]
    fn a_candidate_is_admissible_where_every_row_agrees() {
        let lab = Lab::new(Statistics::Quick);
        let admissible = |places: &[usize]| is_admissible(&lab, &rows(places));
        assert!(admissible(&[3]) && !admissible(&[3, 1]) && !admissible(&[3, 2]));
    }
}
