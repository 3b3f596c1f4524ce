//! The words of a command line that name a scenario.

use clap::Args;
use std::path::PathBuf;

/// What is run, and how often.
#[derive(Debug, Clone, Args)]
pub struct ScenarioArgs {
    /// The scenario's file.
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Change a field of the scenario: its path and a TOML value (repeat for several).
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// First seed [default: the scenario's].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of seeds: replications that differ in everything that is random [default: the
    /// scenario's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub seeds: Option<u32>,
    /// Confidence of the intervals.
    #[arg(long, value_name = "PERCENT", default_value_t = 90.0, value_parser = percent)]
    pub level: f64,
    /// Runs at the same time [default: one for each processor]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
}

/// More than 0 and less than 100.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(x) if x > 0.0 && x < 100.0 => Ok(x),
        _ => Err("a number between 0 and 100".to_owned()),
    }
}
