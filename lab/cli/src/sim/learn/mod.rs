//! `numaestro sim learn`: makes a program file of the simulator from runs of a command alone, or
//! from a recorded journal.
//!
//! `alone` makes the runs, `watch` looks at them from outside. The fit is the simulator's
//! (`numaestro_sim::learn`).

mod alone;
mod args;
mod recorded;
mod watch;

pub use alone::{Alone, Said, Subject};
pub use args::LearnArgs;

use super::files;
use crate::bench::coexec::find_places;
use crate::bench::launch;
use crate::bench::places::CommandLine;
use crate::say::WRONG_FILE;
use crate::say::{self, Failure};
use crate::target;
use alone::Terms;
use numaestro_sim::learn::{LearnedProgram, Measured, fit};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The subcommand.
pub fn learn(args: &LearnArgs) -> anyhow::Result<u8> {
    files::check_writable(&[args.output.as_ref(), args.json.as_ref()])?;
    let (name, runs) = match &args.journal {
        Some(journal) => {
            let name = args.name.clone().unwrap_or_default();
            let runs = recorded::runs(journal, &name)?;
            (name, runs)
        }
        None => alone(args)?,
    };
    let learned = fit(&name, &runs).map_err(|problem| Failure::error(say::FAILED, problem.to_string(), ""))?;
    let text =
        format!("# Learned by numaestro {}: {}.\n{}", env!("CARGO_PKG_VERSION"), origin(args), learned.to_toml());
    if let Some(path) = &args.json {
        files::write(path, &document(&learned))?;
    }
    if let Some(path) = &args.output {
        files::write(path, &text)?;
        say::note(&format!("{}: {}", path.display(), summary(&learned)));
    } else {
        say::note(&summary(&learned));
        say::print(&text)?;
    }
    Ok(say::OK)
}

/// The origin of a program, for people.
fn origin(args: &LearnArgs) -> String {
    match &args.journal {
        Some(path) => format!("from the journal {}", path.display()),
        None => args.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
    }
}

/// Runs the command alone on 1, 2, 4 … processors.
fn alone(args: &LearnArgs) -> anyhow::Result<(String, Vec<Measured>)> {
    let path: PathBuf = target::find(&args.command[0], std::env::var_os("PATH"))?;
    let base = || path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let name = args.name.clone().unwrap_or_else(base);
    let words = args.command[1..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let subject = Subject {
        name: name.clone(),
        line: CommandLine { executable: path, arguments: words },
        class: args.class,
        checks_itself: false,
    };
    let terms = Terms {
        sizes: sizes(args.processors.as_deref(), launch::processors()?.len())?,
        runs: args.runs,
        foreign: args.foreign / 100.0,
        tries: args.tries,
    };
    let limit = Duration::from_secs_f64(args.time_limit);
    let alone = Alone::begin(&find_places(&args.places)?.numaestro, limit)?;
    Ok((name, alone.measure(&subject, &terms)?))
}

/// The numbers of processors to run on: as given, else 1, 2, 4 … and all.
pub fn sizes(given: Option<&[u32]>, processors: usize) -> anyhow::Result<Vec<u32>> {
    let all = u32::try_from(processors)?;
    let mut sizes: Vec<u32> = match given {
        Some(given) => given.to_vec(),
        None => (0..u32::BITS).map(|bit| 1 << bit).take_while(|&size| size < all).chain([all]).collect(),
    };
    sizes.sort_unstable();
    sizes.dedup();
    match sizes.iter().find(|&&size| size == 0 || size > all) {
        Some(size) => Err(Failure::error(say::USAGE, format!("--processors {size}: this machine has 1 to {all}"), "")),
        None => Ok(sizes),
    }
}

fn summary(learned: &LearnedProgram) -> String {
    let lengths = learned.curve.iter().map(|&(n, _)| format!("{:.3} s on {n}", learned.length_on(n) / 1e9));
    let lengths = lengths.collect::<Vec<_>>().join(", ");
    let assumed = if learned.assumed.is_empty() { "" } else { "; some speedups are assumed, see the file" };
    format!("{}: {lengths}; residual {:.1} %{assumed}", learned.name, learned.residual * 100.0)
}

fn document(learned: &LearnedProgram) -> String {
    let curve = learned.curve.iter().map(|&(n, speedup)| {
        serde_json::json!({ "processors": n, "speedup": speedup, "length_s": learned.length_on(n) / 1e9, "assumed": learned.assumed.contains(&n) })
    });
    let value = serde_json::json!({
        "numaestro_learned": 1,
        "name": learned.name,
        "processors": learned.processors,
        "regions": learned.regions,
        "residual": learned.residual,
        "curve": curve.collect::<Vec<_>>(),
        "program": learned.to_toml(),
    });
    format!("{value:#}\n")
}

/// A journal that cannot be read; exit code 2.
fn wrong(path: &Path, line: usize, problem: &str) -> anyhow::Error {
    let next = "a journal is written by `numaestro daemon --journal` or `numaestro sim run --journal`";
    Failure::error(WRONG_FILE, format!("{}:{line}: {problem}", path.display()), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_and_all() {
        assert_eq!(sizes(None, 1).expect("sizes"), [1]);
        assert_eq!(sizes(None, 2).expect("sizes"), [1, 2]);
        assert_eq!(sizes(None, 6).expect("sizes"), [1, 2, 4, 6]);
        assert_eq!(sizes(Some(&[2, 1, 2]), 4).expect("sizes"), [1, 2]);
        assert!(sizes(Some(&[3]), 2).is_err() && sizes(Some(&[0]), 2).is_err());
    }
}
