//! `numaestro repro calibrate`: which values of the constants agree with the rows that identify
//! them.
//!
//! Candidates cover the ranges of all open constants evenly. A candidate is admissible where every
//! row agrees. The best one has the least sum of squared misfits. Bounds leave many without any
//! misfit; the best of these is the one in the middle of the admissible ones, so that the choice
//! does not look for agreement elsewhere. Its values are to be written into the file of inputs as
//! the centre.

use super::args::CalibrateArgs;
use super::bar::bar;
use super::choose::choose;
use super::document;
use super::studies::{papers, studies};
use crate::columns::{Side, lines};
use crate::say;
use numaestro_repro::draws::{Fit, agree};
use numaestro_repro::inputs::Constant;
use numaestro_repro::study::Extent;
use numaestro_repro::{Constants, Statistics, Study};
use serde_json::json;
use std::fmt::Write;

/// No candidate agrees with every row.
const NONE_AGREES: u8 = 1;

/// A candidate and our values of the rows.
#[derive(Debug)]
struct Candidate {
    constants: Constants,
    /// Empty where an experiment cannot be run with them.
    fits: Vec<Fit>,
}

impl Candidate {
    fn is_admissible(&self) -> bool {
        !self.fits.is_empty() && agree(&self.fits)
    }

    /// Sum of squared misfits.
    fn misfit(&self) -> f64 {
        if self.fits.is_empty() { f64::INFINITY } else { self.fits.iter().map(|fit| fit.misfit * fit.misfit).sum() }
    }
}

/// Tries candidates, and shows the centre's fit, the best fit and the admissible ranges.
pub fn calibrate(args: &CalibrateArgs) -> anyhow::Result<u8> {
    let chosen = choose(&[], args.paper.as_deref())?;
    let extent = Extent { candidates: args.candidates, seed_sets: 0, statistics: Statistics::Quick };
    let (studies, _) = studies(&papers(&chosen), args.inputs.as_deref(), extent)?;
    let (mut text, mut documents, mut code) = (String::new(), Vec::new(), say::OK);
    for study in &studies {
        let _ = writeln!(text, "{}", study.paper().key);
        if study.inputs().rows().is_empty() {
            text.push_str("  no row identifies a constant\n\n");
            continue;
        }
        let centre = Candidate { constants: study.inputs().centre(), fits: study.fits(None).unwrap_or_default() };
        let candidates = candidates(study, args.candidates);
        let admissible: Vec<&Candidate> = candidates.iter().filter(|candidate| candidate.is_admissible()).collect();
        let best = best(study, &candidates, &admissible);
        if admissible.is_empty() {
            code = NONE_AGREES;
        }
        describe(&mut text, study, &centre, best, &admissible, candidates.len());
        documents.push(json!({
            "paper": study.paper().key, "candidates": candidates.len(), "admissible": admissible.len(),
            "centre": { "constants": centre.constants, "rows": centre.fits },
            "best": best.map(|best| json!({ "constants": best.constants, "rows": best.fits })),
            "ranges": ranges(study, &admissible),
        }));
    }
    if let Some(file) = &args.json {
        document::write(file, &json!({ "version": env!("CARGO_PKG_VERSION"), "papers": documents }))?;
        if document::is_stdout(file) {
            return Ok(code);
        }
    }
    say::print(&text)?;
    Ok(code)
}

fn candidates(study: &Study, number: u32) -> Vec<Candidate> {
    let bar = bar(number as usize, "candidates");
    let tried: Vec<Candidate> = (0..number)
        .map(|number| {
            let candidate =
                Candidate { constants: study.candidate(number), fits: study.fits(Some(number)).unwrap_or_default() };
            bar.inc(1);
            candidate
        })
        .collect();
    bar.finish_and_clear();
    tried
}

/// The candidate with the least misfit; of equal ones the one nearest to the mean of the
/// admissible.
fn best<'a>(study: &Study, candidates: &'a [Candidate], admissible: &[&Candidate]) -> Option<&'a Candidate> {
    let value = |candidate: &Candidate, name: &str| candidate.constants.get(name).unwrap_or_default();
    let from_middle = |candidate: &Candidate| {
        let square = |constant: &Constant| {
            let (low, high) = constant.range;
            let sum: f64 = admissible.iter().map(|candidate| value(candidate, &constant.name)).sum();
            let away = value(candidate, &constant.name) - sum / admissible.len().max(1) as f64;
            (away / (high - low)).powi(2)
        };
        study.inputs().open().map(square).sum::<f64>()
    };
    let order = |a: &Candidate, b: &Candidate| {
        a.misfit().total_cmp(&b.misfit()).then_with(|| from_middle(a).total_cmp(&from_middle(b)))
    };
    candidates.iter().min_by(|a, b| order(a, b))
}

/// Least and largest admissible value of each open constant.
fn ranges(study: &Study, admissible: &[&Candidate]) -> serde_json::Map<String, serde_json::Value> {
    let of = |name: &str| {
        let values = || admissible.iter().filter_map(|candidate| candidate.constants.get(name));
        Some([values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?])
    };
    study.inputs().open().map(|constant| (constant.name.clone(), json!(of(&constant.name)))).collect()
}

fn describe(
    text: &mut String,
    study: &Study,
    centre: &Candidate,
    best: Option<&Candidate>,
    admissible: &[&Candidate],
    tried: usize,
) {
    let _ = writeln!(text, "  {} of {tried} candidates agree with every row\n", admissible.len());
    for (name, candidate) in [("centre", Some(centre)), ("best candidate", best)] {
        let Some(candidate) = candidate else { continue };
        let _ = writeln!(text, "  {name}");
        let mut rows = vec![["row", "ours", "residual", "misfit", "", "quantity"].map(str::to_owned)];
        for fit in &candidate.fits {
            let verdict = if fit.misfit <= 1.0 { "agrees" } else { "misses" };
            rows.push([
                fit.row.to_owned(),
                fit.ours.to_string(),
                format!("{:+.3}", fit.residual),
                format!("{:.2}", fit.misfit),
                verdict.to_owned(),
                fit.quantity.to_owned(),
            ]);
        }
        indented(text, &rows, 4);
    }
    let mut constants = vec![["constant", "centre", "best", "admissible", "range"].map(str::to_owned)];
    let ranges = ranges(study, admissible);
    for constant in study.inputs().open() {
        let best = best.and_then(|best| best.constants.get(&constant.name));
        let end = |end: usize| ranges[&constant.name][end].as_f64();
        let found = end(0).zip(end(1)).map(|(low, high)| format!("{low:.3} to {high:.3}"));
        constants.push([
            format!("{} {}", constant.name, constant.unit).trim_end().to_owned(),
            format!("{}", constant.value),
            best.map_or_else(|| "-".to_owned(), |best| format!("{best:.3}")),
            found.unwrap_or_else(|| "none".to_owned()),
            format!("{} to {}", constant.range.0, constant.range.1),
        ]);
    }
    indented(text, &constants, 2);
}

/// The rows as a table, each line behind so many blanks, and an empty line.
fn indented<R: AsRef<[String]>>(text: &mut String, rows: &[R], blanks: usize) {
    for line in lines(rows, Side::Left) {
        let _ = writeln!(text, "{:blanks$}{line}", "");
    }
    text.push('\n');
}
