//! The constants that the model reads. The file of inputs has values, ranges and sources.

/// Every one: the vendor's library, IRIX and its costs; the policies and the measurement of
/// speedups; the programs.
pub const NAMES: [&str; 52] = [
    "library period",
    "library error",
    "library step",
    "library rule",
    "slice",
    "half-life",
    "rebalance",
    "system costs",
    "calls while waiting",
    "creation",
    "grace",
    "window factor",
    "equal quanta",
    "BASE",
    "STEP",
    "MIN_EFFICIENCY",
    "tests",
    "level of table 3",
    "level of tables 4 and 5",
    "warm-up iterations",
    "measured iterations",
    "speedup error",
    "window of table 1",
    "window of table 2",
    "work of sp-W",
    "work of bt-W",
    "work of epd-S",
    "work of ft-W",
    "work of cg-W",
    "work of sp-A",
    "work of bt-A",
    "work of epd-W",
    "work of cg-A",
    "work of ft-A",
    "work of mg-A",
    "time of tomcatv",
    "time of ltomcatv",
    "time of swim",
    "time of turb3d",
    "time of apsi",
    "work factor",
    "imbalance",
    "working set",
    "NAS meetings",
    "SPEC iterations",
    "SPEC meetings",
    "superlinear gain",
    "turb3d peak",
    "turb3d fall",
    "apsi serial",
    "ltomcatv I/O",
    "ltomcatv rounds",
];

/// The nearest whole number; 0 for one below.
#[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)] // Constants are small; a cast stops at 0.
pub fn whole(value: f64) -> u32 {
    value.round().max(0.0) as u32
}
