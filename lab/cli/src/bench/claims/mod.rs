//! `numaestro bench claims`: measures those claims of the papers that this machine can show.
//!
//! `numaestro_repro::measured` declares what stands for each claim and what must come out, and
//! judges. The files beside this one make the samples, each for one claim: `partners` (N-sync),
//! `changes` (N-switch), `search` (N-search), `overhead` (A-over); `rounds` interleaves their runs.
//! The samples go into a file that `numaestro repro run --measured FILE` reads.

mod changes;
mod overhead;
mod partners;
mod rounds;
mod search;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use numaestro_repro::Status;
use numaestro_repro::measured::{DECLARED, Declared, Measured, Measurements, Samples, Verdict};
use serde::Serialize;

use super::args::{ClaimsArgs, PlaceArgs};
use super::launch;
use super::live::{Bench, Job, Round};
use super::machine::{self, Description};
use super::mix;
use rounds::Rounds;

/// A run that takes longer than this is broken: none should take ten seconds.
const RUN_LIMIT: Duration = Duration::from_mins(1);

/// How a claim is measured.
type Measure = fn(&mut Measurement) -> Result<Vec<Samples>>;

/// What the measurement of one claim needs.
#[derive(Debug)]
struct Measurement<'a> {
    places: &'a PlaceArgs,
    rounds: Rounds,
    processors: usize,
}

impl Measurement<'_> {
    /// The bench with these jobs' programs.
    fn bench<'a>(&self, limit: Duration, jobs: impl Iterator<Item = &'a Job>) -> Result<Bench> {
        Bench::new(self.places, 1.0, limit, jobs)
    }
}

/// The same round, which must not have been killed.
fn whole(round: Round) -> Result<Round> {
    ensure!(!round.limited, "a program takes longer than {} s here", RUN_LIMIT.as_secs());
    Ok(round)
}

/// Each value by the one of the same round.
fn quotients(above: &[f64], below: &[f64]) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}

/// Measures the claims that the arguments ask for; exit code 1 if with `--check` one is not shown.
pub fn claims(args: &ClaimsArgs) -> Result<ExitCode> {
    let chosen = chosen(&args.claim)?;
    if args.list {
        print!("{}", listed(&chosen));
        return Ok(ExitCode::SUCCESS);
    }
    let processors = launch::processors()?.len();
    let mut record = Record {
        numaestro_measured: Measurements::VERSION,
        machine: machine::describe(processors),
        quick: args.quick,
        claims: Vec::new(),
    };
    let mut shown_all = true;
    for (number, declared) in (1..).zip(&chosen) {
        eprintln!("[{number}/{}] {}", chosen.len(), declared.claim);
        let measured = measure(args, declared, processors)?;
        let verdict = declared.judge(&measured);
        shown_all &= verdict.status == Status::Reproduced;
        print!("{}", shown(&verdict));
        record.claims.push(measured);
        // After each: one that fails does not take the others' minutes with it.
        if let Some(file) = &args.json {
            write(file, &record)?;
        }
    }
    let end = machine::describe(processors).load;
    println!("load of this machine at the beginning {}, at the end {end}", record.machine.load);
    Ok(if args.check && !shown_all { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The file of measurements, as `Measurements::read` takes it.
#[derive(Serialize)]
struct Record {
    numaestro_measured: u64,
    machine: Description,
    quick: bool,
    claims: Vec<Measured>,
}

fn write(file: &Path, record: &Record) -> Result<()> {
    let text = serde_json::to_string_pretty(record)?;
    std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))
}

/// The claims with these names (`*` stands for any text), all without a name.
fn chosen(names: &[String]) -> Result<Vec<&'static Declared>> {
    for name in names {
        let known = || DECLARED.map(|declared| declared.claim).join(", ");
        DECLARED
            .iter()
            .find(|declared| mix::matches(name, declared.claim))
            .with_context(|| format!("no claim named {name} is measured; there are {}", known()))?;
    }
    let wanted = |declared: &&Declared| names.is_empty() || names.iter().any(|name| mix::matches(name, declared.claim));
    Ok(DECLARED.iter().filter(wanted).collect())
}

fn measure(args: &ClaimsArgs, declared: &Declared, processors: usize) -> Result<Measured> {
    let nothing = |cause: &str| Measured {
        claim: declared.claim.to_owned(),
        cause: cause.to_owned(),
        foreign: 0.0,
        noisy: false,
        samples: Vec::new(),
    };
    if processors < 2 {
        return Ok(nothing("needs two processors: on one there is nothing to divide"));
    }
    let rounds = args.runs.unwrap_or(if args.quick { declared.quick_rounds } else { declared.rounds });
    let rounds = Rounds::new(rounds, args.foreign / 100.0, args.tries, processors);
    let mut measurement = Measurement { places: &args.places, rounds, processors };
    let measure = way(declared.claim).context("it is declared, but nothing measures it")?;
    let samples =
        measure(&mut measurement).with_context(|| format!("the claim {} cannot be measured", declared.claim))?;
    let (foreign, noisy) = measurement.rounds.beside();
    Ok(Measured { foreign, noisy, samples, ..nothing("") })
}

fn way(claim: &str) -> Option<Measure> {
    match claim {
        "N-sync" => Some(partners::partners),
        "N-switch" => Some(changes::changes),
        "N-search" => Some(search::search),
        "A-over" => Some(overhead::overhead),
        _ => None,
    }
}

fn shown(verdict: &Verdict) -> String {
    let mut text = format!("{}: {}", verdict.declared.claim, verdict.status.word());
    if !verdict.status.reason().is_empty() {
        let _ = write!(text, ": {}", verdict.status.reason());
    }
    let noise = if verdict.noisy { "; some runs count in spite of more than --foreign" } else { "" };
    let _ = writeln!(text, "\n  others used up to {:.0} % of the machine{noise}", verdict.foreign * 100.0);
    for one in &verdict.quantities {
        let _ = writeln!(text, "  {}\n      {}; {} rounds", one.line(), one.quantity.what, one.on.samples);
    }
    text
}

fn listed(chosen: &[&Declared]) -> String {
    let mut text = String::new();
    for declared in chosen {
        let _ = writeln!(text, "{}\n  shows: {}\n  cannot show: {}", declared.claim, declared.shows, declared.cannot);
        for quantity in declared.quantities {
            let _ = writeln!(
                text,
                "  {}: {}, {}\n    because {}\n    feature off: {}",
                quantity.name, quantity.what, quantity.limit, quantity.why, quantity.off
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_sim::read::Text;

    #[test]
    fn every_declared_claim_has_a_way() {
        assert!(DECLARED.iter().all(|declared| way(declared.claim).is_some()));
    }

    #[test]
    fn claims_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), DECLARED.len());
        assert_eq!(chosen(&["A-over".to_owned()]).unwrap()[0].claim, "A-over");
        assert_eq!(chosen(&["N-*".to_owned()]).unwrap().len(), 3);
        assert!(chosen(&["N-Tab1".to_owned()]).unwrap_err().to_string().contains("N-sync"));
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        let samples = |quantity: &numaestro_repro::measured::Quantity| Samples {
            name: quantity.name.to_owned(),
            on: vec![0.01, 0.5, 2.0, 1e-9, 1.0],
            off: vec![7.0; 5],
        };
        let claims: Vec<Measured> = DECLARED
            .iter()
            .map(|declared| Measured {
                claim: declared.claim.to_owned(),
                cause: String::new(),
                foreign: 0.25,
                noisy: true,
                samples: declared.quantities.iter().map(samples).collect(),
            })
            .collect();
        let machine = machine::describe(2);
        let record = Record { numaestro_measured: Measurements::VERSION, machine, quick: true, claims: claims.clone() };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("m.json");
        write(&file, &record).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let read = Measurements::read(Text::new("m.json", &text)).unwrap();
        assert_eq!(read.claims, claims);
        assert!(read.quick && read.machine.iter().any(|(name, value)| name == "processors" && value == "2"));
    }
}
