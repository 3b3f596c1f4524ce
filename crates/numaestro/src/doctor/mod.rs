//! `numaestro doctor`: shows the rungs of the ladder that this machine has, and for a missing one
//! the reason and the remedy.
//!
//! The checks are in [`rungs`], [`surroundings`], [`folding`] and [`bandwidth`]; here they are put
//! in order and shown.

mod bandwidth;
mod folding;
mod rungs;
mod surroundings;

use crate::cli::DoctorArgs;
use crate::say::{self, Tone, paint};
use crate::{machine_here, manager};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// There.
    Yes,
    /// There, but it does not work as well as it could; or it depends.
    Partly,
    /// Not there.
    No,
}

/// One thing looked at.
#[derive(Debug, Serialize)]
pub struct Check {
    /// 0 observe, 1 affinity, 2 folding and setters, 3 cpusets, 4 page placement, 5 bandwidth
    /// sensing.
    pub rung: u8,
    /// The thing that was checked.
    pub name: &'static str,
    /// Its outcome.
    pub outcome: Outcome,
    /// The finding.
    pub found: String,
    /// The next step; empty if there is none.
    pub next: String,
}

impl Check {
    /// One that is as it should be.
    pub fn good(rung: u8, name: &'static str, found: impl Into<String>) -> Self {
        Self { rung, name, outcome: Outcome::Yes, found: found.into(), next: String::new() }
    }

    /// One that is not, with the next step.
    pub fn lacking(
        rung: u8,
        name: &'static str,
        outcome: Outcome,
        found: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self { rung, name, outcome, found: found.into(), next: next.into() }
    }
}

/// The purpose of each rung.
const RUNGS: [&str; 6] = [
    "observe: the machine and its load",
    "affinity: programs on processors of their own",
    "folding, and setters of libraries, through the shim",
    "cpusets that programs cannot leave (cgroup v2)",
    "page placement",
    "bandwidth sensing",
];
/// Without these nothing works; each rung above them works without the next.
const NEEDED: u8 = 1;

/// The subcommand: exit code 0 if programs can be managed at all, else 1.
pub fn doctor(dir: Option<PathBuf>, args: &DoctorArgs) -> anyhow::Result<u8> {
    let dir = manager::directory(dir)?;
    let checks = rungs::all(&dir);
    let usable = checks.iter().all(|c| c.rung > NEEDED || c.outcome != Outcome::No);
    if args.json {
        let machine = machine_here::this_machine().map(|m| machine_here::summary(&m)).ok();
        let all = serde_json::json!({ "usable": usable, "machine": machine, "rungs": RUNGS, "checks": checks });
        say::print(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
    } else {
        let drawing = machine_here::this_machine().map(|machine| machine.to_string()).unwrap_or_default();
        say::print(&format!("{drawing}\n{}", render(&checks, usable, say::colours(&std::io::stdout()))))?;
    }
    Ok(if usable { say::OK } else { say::FAILED })
}

fn render(checks: &[Check], usable: bool, colours: bool) -> String {
    let width = checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (rung, what) in RUNGS.iter().enumerate() {
        let _ = writeln!(text, "{}", paint(&format!("rung {rung}  {what}"), Tone::Strong, colours));
        for check in checks.iter().filter(|c| usize::from(c.rung) == rung) {
            let (word, tone) = match check.outcome {
                Outcome::Yes => ("yes   ", Tone::Good),
                Outcome::Partly => ("partly", Tone::Warn),
                Outcome::No => ("no    ", Tone::Bad),
            };
            let _ = writeln!(text, "  {} {:width$}  {}", paint(word, tone, colours), check.name, check.found);
            if !check.next.is_empty() {
                let _ = writeln!(text, "         {:width$}  {} {}", "", paint("->", Tone::Dim, colours), check.next);
            }
        }
    }
    let verdict = if usable {
        "Programs can be managed here. Try `numaestro demo`, or `numaestro run -- PROGRAM`."
    } else {
        "Programs cannot be managed here before the lines with `no` in rungs 0 and 1 are seen to; `numaestro run` starts them unmanaged."
    };
    let _ = writeln!(text, "\n{verdict}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_a_next_step() {
        let checks = [
            Check::good(0, "topology", "2 PUs"),
            Check::lacking(5, "perf events", Outcome::No, "paranoid 4", "lower it"),
        ];
        let text = render(&checks, true, false);
        assert!(text.contains("  yes    topology     2 PUs\n") && text.contains("-> lower it"), "{text}");
        assert!(text.contains("numaestro demo"));
    }
}
