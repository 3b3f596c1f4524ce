//! The probes: each measures one latency that a user could feel, with real programs under a manager
//! of its own.
//!
//! They watch from outside: clocks, the kernel's view of affinities, and the program's own shared
//! page. This file holds the code that all of them need.

mod adopt;
mod builds;
mod kill;
mod record;
mod regions;
mod set;
mod shim;
mod takeback;
mod turns;

use std::process::ExitCode;

use anyhow::{Context, Result};
use serde::Serialize;

use super::args::ProbeArgs;
use super::launch;
use super::machine::{self, Description};
use super::stats;

pub use adopt::adopt;
pub use builds::builds;
pub use kill::kill;
pub use record::record;
pub use set::set;
pub use shim::shim;
pub use takeback::takeback;
pub use turns::turns;

/// One quantity: its samples and their summary.
#[derive(Debug, Clone, Serialize)]
struct Quantity {
    name: String,
    unit: &'static str,
    p50: f64,
    p90: f64,
    p99: f64,
    /// The number that is promised, and which of the above it is about.
    bound: Option<(&'static str, f64)>,
    holds: Option<bool>,
    samples: Vec<f64>,
}

impl Quantity {
    /// Sums up `samples`; `None` if there are none.
    fn new(name: &str, unit: &'static str, samples: Vec<f64>) -> Option<Self> {
        let at = |part| stats::quantile(&samples, part);
        let (p50, p90, p99) = (stats::median(&samples)?, at(0.9)?, at(0.99)?);
        Some(Self { name: name.to_owned(), unit, p50, p90, p99, bound: None, holds: None, samples })
    }

    /// The promise that its median (`"p50"`) or 99th percentile (`"p99"`) is at most `most`.
    fn promised(mut self, which: &'static str, most: f64) -> Self {
        let value = if which == "p99" { self.p99 } else { self.p50 };
        self.bound = Some((which, most));
        self.holds = Some(value <= most);
        self
    }

    fn line(&self) -> String {
        let Self { name, unit, p50, p90, p99, .. } = self;
        let verdict = match (self.bound, self.holds) {
            (Some((which, most)), Some(true)) => format!("  holds ({which} at most {most})"),
            (Some((which, most)), _) => format!("  FAILS ({which} at most {most})"),
            _ => String::new(),
        };
        format!("{name:52} p50 {p50:8.2} p90 {p90:8.2} p99 {p99:8.2} {unit} of {}{verdict}", self.samples.len())
    }
}

/// Prints, writes the JSON file and gives the exit code.
fn conclude(args: &ProbeArgs, quantities: &[Quantity]) -> Result<ExitCode> {
    #[derive(Serialize)]
    struct Record<'a> {
        machine: Description,
        quantities: &'a [Quantity],
    }
    for quantity in quantities {
        println!("{}", quantity.line());
    }
    if let Some(path) = &args.json {
        let machine = machine::describe(launch::processors()?.len());
        let text = serde_json::to_string_pretty(&Record { machine, quantities })?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let broken = args.check && quantities.iter().any(|quantity| quantity.holds == Some(false));
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_about_one_of_the_quantiles() {
        let samples: Vec<f64> = (1..=100).map(f64::from).collect();
        let quantity = Quantity::new("x", "us", samples).expect("there are samples");
        assert_eq!(quantity.clone().promised("p50", 60.0).holds, Some(true));
        assert_eq!(quantity.clone().promised("p50", 40.0).holds, Some(false));
        assert_eq!(quantity.clone().promised("p99", 60.0).holds, Some(false));
        assert!(quantity.promised("p99", 60.0).line().contains("FAILS"));
        assert!(Quantity::new("x", "us", vec![]).is_none());
    }
}
