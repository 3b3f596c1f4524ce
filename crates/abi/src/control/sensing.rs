//! Transaction rates as the manager shows them: where they come from, and their values.

use serde::{Deserialize, Serialize};

/// The present sources of transaction rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SensingStatus {
    /// The rungs, from the best to the poorest.
    pub rungs: Vec<RungStatus>,
    /// The buses.
    pub buses: Vec<BusStatus>,
    /// Rates that were no numbers, negative or absurd, and were dropped.
    pub dropped: u64,
}

/// One way to know transaction rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RungStatus {
    /// `injected`, `perf`, `resctrl`, `declared`, `estimate`.
    pub name: String,
    /// The error that its rates are taken to have, thousandths.
    pub error_permille: u32,
    /// The cause of the error, one clause.
    pub caveat: String,
    /// The reason why it is not there (any more); empty if it is.
    pub lacking: String,
}

/// One bus: processors that share one way to memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BusStatus {
    /// Its processors, Linux list.
    pub cpus: String,
    /// The rate at which it is saturated (SBTR), cache lines per millisecond; 0 is unknown.
    pub saturation: u32,
    /// By how much a thread that only streams is slower than alone, thousandths, if that was felt
    /// lately.
    pub stretch_milli: Option<u32>,
}

/// Transaction rates of one application in the latest turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateStatus {
    /// By thread, cache lines per millisecond of execution; absent: it has not run, or is not
    /// known.
    pub rates: Vec<Option<u32>>,
    /// The rung that gives the rates; `held`: no rung any more, these are the last good ones.
    pub rung: String,
    /// The rung's error, thousandths.
    pub error_permille: Option<u32>,
}
