//! A program's measurement of its own speedup while it runs.
//!
//! Source: the `SelfAnalyzer` of Martorell et al. 2000, §4.4. The paper gives its reports, not its
//! method. The method here times iterations of the outer loop, the first ones with few threads;
//! S(p) = S(b) · t(b) / t(p).

use super::amount::{self, Unit};
use crate::Nanos;
use crate::read::Mistake;
use crate::read::fields::Field;
use crate::read::tree::Value;

/// A measuring library in a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Analyzer {
    /// First iterations that are not timed: they touch pages and fill caches.
    pub warm: u32,
    /// Iterations that are timed with few threads.
    pub measured: u32,
    /// Most threads of those iterations.
    pub baseline: u32,
    /// Efficiency that those threads are taken to have; with a baseline of 1 there is nothing to
    /// assume.
    pub efficiency: f64,
    /// Iterations of a program that is only a curve.
    pub iterations: u32,
    /// Cost of a report to the master, nanoseconds.
    pub cost_ns: Nanos,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self { warm: 1, measured: 2, baseline: 4, efficiency: 1.0, iterations: 100, cost_ns: 0 }
    }
}

/// `true`, or a table of the values that are not as usual.
pub(super) fn read(field: &Field<'_>) -> Result<Analyzer, Mistake> {
    let usual = Analyzer::default();
    if field.node().value == Value::Yes(true) {
        return Ok(usual);
    }
    let mut fields = field
        .fields()
        .map_err(|_| field.wrong("true, or { warm, measured, baseline, efficiency, iterations, cost }"))?;
    let cost = fields.read("cost", |field| amount::dist(&field, Unit::Time))?;
    let analyzer = Analyzer {
        warm: fields.read("warm", |field| field.whole32(0..=1 << 20))?.unwrap_or(usual.warm),
        measured: fields.read("measured", |field| field.whole32(1..=1 << 20))?.unwrap_or(usual.measured),
        baseline: fields.read("baseline", |field| field.whole32(1..=1 << 20))?.unwrap_or(usual.baseline),
        efficiency: fields
            .read("efficiency", |field| field.number(0.01..=4.0, "an efficiency; 1 is a perfect speedup"))?
            .unwrap_or(usual.efficiency),
        iterations: fields.read("iterations", |field| field.whole32(1..=1 << 20))?.unwrap_or(usual.iterations),
        cost_ns: cost.map_or(0, |cost| libm::round(cost.mean()) as Nanos),
    };
    fields.finish()?;
    Ok(analyzer)
}
