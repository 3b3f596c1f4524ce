//! The checks of the last rung: the ways to measure how much programs move to and from memory, and
//! the rate that the machine carries.
//!
//! Each check tries the way that the manager itself would use.

use super::{Check, Outcome};
use crate::say;
use numaestro_host::affinity;
use numaestro_host::sense::burst::{self, Burst};
use numaestro_host::sense::{LINE_BYTES, Ladder, Rung, State};
use std::path::Path;

/// The machine is measured for some milliseconds; beside other programs it takes more attempts.
const ATTEMPTS: u32 = 50;

/// Checks every way to know rates, and the rate that the machine carries.
pub fn checks() -> Vec<Check> {
    let mut checks: Vec<Check> = Ladder::open(Path::new("/"), None).states().iter().map(source).collect();
    checks.push(carried(&processors()));
    checks
}

fn error_of(rung: Rung) -> String {
    format!("error ±{} % ({})", rung.error_permille() / 10, rung.caveat())
}

fn source(state: &State) -> Check {
    let (name, error) = (state.rung.name(), error_of(state.rung));
    if !state.lacking.is_empty() {
        let next = match state.rung {
            Rung::Perf if state.lacking.contains("perf_event_paranoid") => {
                "`sysctl kernel.perf_event_paranoid=1` lets users count their own programs; the next rung is used until then"
            }
            Rung::Perf => "virtual machines: pass a PMU to the guest; the next rung is used until then",
            Rung::Resctrl if std::fs::read_to_string("/proc/filesystems").is_ok_and(|all| all.contains("resctrl")) => {
                "as root: mount -t resctrl resctrl /sys/fs/resctrl, and run the manager as root"
            }
            _ => "nothing to do; the next rung is used",
        };
        return Check::lacking(5, name, Outcome::No, format!("{}; where it works: {error}", state.lacking), next);
    }
    match state.rung {
        Rung::Declared => {
            let found = format!("where a program's rate is given; {error}");
            Check::lacking(
                5,
                name,
                Outcome::Partly,
                found,
                "`numaestro profile add --btr RATE PROGRAM`, or `run --btr RATE`",
            )
        }
        Rung::Estimate => {
            let found = format!("for programs with parallel regions; {error}");
            Check::lacking(5, name, Outcome::Partly, found, "nothing to do; counters would be better")
        }
        _ => Check::good(5, name, error),
    }
}

/// Processors that this process may use, OS indices.
fn processors() -> Vec<u32> {
    affinity::get(0).map(|cpus| cpus.iter().collect()).unwrap_or_default()
}

/// All processors are taken to share one bus here: the manager measures each memory node by itself.
fn carried(cpus: &[u32]) -> Check {
    let name = "memory";
    match (0..ATTEMPTS).find_map(|_| burst::measure(cpus)) {
        Some(burst) => Check::good(5, name, shown(&burst, cpus.len())),
        None => Check::lacking(
            5,
            name,
            Outcome::Partly,
            "what it carries could not be measured: the machine is busy",
            "the manager tries again while it runs",
        ),
    }
}

fn shown(burst: &Burst, processors: usize) -> String {
    let gigabytes = |rate: u32| f64::from(rate) * LINE_BYTES as f64 / 1e6;
    format!(
        "{} together {:.1} GB/s ({} lines/ms), one reading alone {:.1} GB/s",
        say::counted(processors, "processor"),
        gigabytes(burst.saturation),
        burst.saturation,
        gigabytes(burst.alone.stream)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_host::sense::probe::Probe;

    #[test]
    fn every_way_says_its_error_and_what_is_lacking() {
        for rung in [Rung::Perf, Rung::Resctrl, Rung::Declared, Rung::Estimate] {
            let there = source(&State { rung, lacking: String::new() });
            assert!(there.found.contains('±') && there.outcome != Outcome::No, "{there:?}");
            let lacking = source(&State { rung, lacking: "EACCES; see kernel.perf_event_paranoid".to_owned() });
            assert!(lacking.found.starts_with("EACCES") && lacking.outcome == Outcome::No && !lacking.next.is_empty());
        }
    }

    #[test]
    fn rates_are_shown_as_bytes_too() {
        let alone = Probe { stream: 156_250, arithmetic: 1, cost_ns: 0 };
        let text = shown(&Burst { saturation: 625_000, alone }, 4);
        assert_eq!(text, "4 processors together 40.0 GB/s (625000 lines/ms), one reading alone 10.0 GB/s");
    }
}
