//! `numaestro sim validate`: how near the simulator is to this machine.
//!
//! `mixes` reads what is run, `commands` finds the programs, `schedule` says in which order they
//! run alone and in mixes, `campaign` makes the runs (mixes by `real`). `learned` makes programs of
//! the runs alone, `predicted` simulates the mixes on this machine's model (`machine`). The
//! comparison is `numaestro_sim::validation`; `table`, `document` and `page` show it.
//!
//! `staged` compares processors instead of times, from files.

mod args;
mod campaign;
mod commands;
mod document;
mod learned;
pub mod machine;
mod mixes;
mod page;
mod predicted;
mod real;
mod schedule;
mod staged;
mod table;

pub use args::ValidateArgs;

use super::policies::apart;
use super::progress::Progress;
use super::state;
use super::{files, stop};
use crate::bench::coexec::find_places;
use crate::bench::launch;
use crate::finished::{Finished, Origin, fingerprint};
use crate::say::WRONG_FILE;
use crate::say::{self, Failure};
use crate::sim::learn::{Alone, sizes};
use crate::texts;
use anyhow::Context;
use campaign::{Campaign, Entry, Managers, Plan, Site, times};
use commands::Subjects;
use learned::learned;
use mixes::{Mix, Mixes};
use numaestro_sim::learn::{LearnedProgram, Measured, fit};
use numaestro_sim::read::Text;
use numaestro_sim::validation::{Cell, Comparison};
use predicted::Models;
use std::path::PathBuf;

/// The mixes that are built in.
const MIXES: &str = include_str!("../../../../bench/mixes.toml");
/// Times the work in the quick form.
const QUICK_LENGTH: f64 = 0.35;
/// Length of an example that stands for a program before it has run, nanoseconds.
const EXAMPLE_NS: u64 = 1_000_000;
/// A program whose runs alone differ by a larger share from what was learned is told to the user.
const RESIDUAL_MOST: f64 = 0.1;

/// The subcommand.
pub fn validate(args: &ValidateArgs) -> anyhow::Result<u8> {
    if args.staged.is_empty() { times_of_mixes(args) } else { staged::compare(args) }
}

/// Runs mixes for real and in the simulator, and compares their times.
fn times_of_mixes(args: &ValidateArgs) -> anyhow::Result<u8> {
    let text = match &args.mixes {
        Some(path) => texts::text(path)
            .map_err(|error| Failure::error(WRONG_FILE, format!("cannot read {}: {error}", path.display()), ""))?,
        None => MIXES.to_owned(),
    };
    let mixes = read(args, &text)?;
    let chosen = choose(args, &mixes)?;
    if args.list {
        say::print(&table::of_mixes(&mixes, &chosen))?;
        return Ok(say::OK);
    }
    files::check_writable(&[args.json.as_ref(), args.html.as_ref(), args.state.as_ref()])?;
    let machine = match &args.machine {
        Some(path) => texts::text(path).with_context(|| format!("cannot read {}", path.display()))?,
        None => machine::text()?,
    };
    let places = find_places(&args.places)?;
    let wanted = programs_of(&chosen);
    let mut subjects = Subjects::find(&mixes.programs, &wanted, &places);
    for (place, reason) in &subjects.missing {
        say::note(&format!("without {}: {reason}", mixes.programs[*place].name));
    }
    let chosen: Vec<&Mix> = chosen
        .into_iter()
        .filter(|mix| mix.arrivals.iter().all(|(_, program)| subjects.found.contains_key(program)))
        .collect();
    if chosen.is_empty() {
        return Err(Failure::error(say::FAILED, "no mix has all of its programs here", "run `make kernels`"));
    }
    let still_wanted = programs_of(&chosen);
    subjects.found.retain(|place, _| still_wanted.contains(place));
    let (state, entries) = open_state(args, &text)?;
    let stop = stop::on_signal()?;
    let plan = Plan::of(args);
    let sizes = sizes(None, launch::processors()?.len())?;
    let widest = sizes.last().copied().unwrap_or(1);
    let steps = schedule::schedule(&chosen, &sizes, plan.runs);
    let progress = Progress::new(steps.len() as u64, None);
    let journals = tempfile::tempdir().context("cannot make a directory for journals")?;
    let kept = args.keep.clone().unwrap_or_else(|| journals.path().to_owned());
    std::fs::create_dir_all(&kept).with_context(|| format!("cannot make {}", kept.display()))?;
    let kept = std::path::absolute(kept)?;
    // A policy that cannot run here is refused before anything runs.
    let examples = examples(&subjects, widest)?;
    compare(&Models::new(machine.clone(), &texts(&examples)), &mixes, &chosen, &[])?;
    let mut campaign = Campaign::new(&state, &stop, &progress, entries);
    campaign.calibrate(&mixes, &mut subjects, args.length.unwrap_or(if args.quick { QUICK_LENGTH } else { 1.0 }))?;
    let alone = Alone::begin(&places.numaestro, plan.limit)?;
    let site = Site { chosen: &chosen, subjects: &subjects.found, alone: &alone, widest, plan };
    campaign.run(&site, &steps, &mut Managers::new(&places.numaestro, &kept))?;
    if campaign.is_stopped() {
        stop::say_how_to_go_on(Some(state.path()));
        return Ok(stop::STOPPED);
    }
    let entries = campaign.into_entries();
    drop(progress);
    let programs = learned(&entries)?;
    for program in programs.iter().filter(|program| program.residual > RESIDUAL_MOST) {
        let share = program.residual * 100.0;
        say::note(&format!("{}: its runs alone contradict each other by {share:.0} %", program.name));
    }
    let models = Models::new(machine, &texts(&programs));
    let comparison = compare(&models, &mixes, &chosen, &entries)?;
    if args.keep.is_some() {
        for (name, text) in models.files(&mixes, &chosen) {
            files::write(&kept.join(name), &text)?;
        }
    }
    show(args, &comparison, (&programs, &entries), state)
}

/// Prints the table, and writes the files.
fn show(
    args: &ValidateArgs,
    comparison: &Comparison,
    (programs, entries): (&[LearnedProgram], &[Entry]),
    state: Finished,
) -> anyhow::Result<u8> {
    say::print(&table::of(comparison, programs, entries))?;
    if let Some(path) = &args.json {
        files::write(path, &document::write(comparison, programs, entries)?)?;
    }
    if let Some(path) = &args.html {
        files::write(path, &page::page(comparison, programs)?)?;
    }
    if args.state.is_none() {
        state.remove()?;
    }
    Ok(if args.check && !comparison.holds() { say::FAILED } else { say::OK })
}

fn read(args: &ValidateArgs, text: &str) -> anyhow::Result<Mixes> {
    let name = args.mixes.as_ref().map_or_else(|| "lab/bench/mixes.toml".to_owned(), |path| path.display().to_string());
    let mut mixes = Mixes::read(Text::new(&name, text))
        .map_err(|mistake| Failure::error(WRONG_FILE, mistake.to_string(), "lab/bench/mixes.toml is an example"))?;
    let given: Vec<String> = args.policies.iter().flat_map(|list| apart(list)).collect();
    if !given.is_empty() {
        for mix in &mut mixes.mixes {
            mix.policies.clone_from(&given);
        }
    }
    Ok(mixes)
}

/// The mixes of the command line.
fn choose<'m>(args: &ValidateArgs, mixes: &'m Mixes) -> anyhow::Result<Vec<&'m Mix>> {
    let named = |mix: &Mix| args.mix.is_empty() || args.mix.iter().any(|pattern| matches(pattern, &mix.name));
    let chosen: Vec<&Mix> = mixes.mixes.iter().filter(|mix| named(mix) && (!args.quick || mix.quick)).collect();
    if chosen.is_empty() {
        return Err(Failure::error(say::USAGE, "there is no such mix", "`numaestro sim validate --list` shows them"));
    }
    Ok(chosen)
}

/// `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))),
    }
}

fn programs_of(chosen: &[&Mix]) -> Vec<usize> {
    let mut wanted: Vec<usize> =
        chosen.iter().flat_map(|mix| mix.arrivals.iter().map(|(_, program)| *program)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// The state file and its entries.
fn open_state(args: &ValidateArgs, text: &str) -> anyhow::Result<(Finished, Vec<Entry>)> {
    let beside = |path: &PathBuf| PathBuf::from(format!("{}.state.jsonl", path.display()));
    let output = args.json.as_ref().or(args.html.as_ref());
    let path = args.state.clone().or_else(|| output.map(beside));
    if args.resume && path.is_none() {
        return Err(Failure::error(say::USAGE, "--resume needs the state file: add --state FILE", ""));
    }
    let temporary = || std::env::temp_dir().join(format!("numaestro-validate-{}.jsonl", std::process::id()));
    let path = path.unwrap_or_else(temporary);
    let what = format!("{text}{}{:?}", args.quick, args.length);
    let origin = Origin::new(fingerprint(what.as_bytes()))?;
    if args.resume { state::resume(&path, &origin) } else { Ok((state::begin(&path, &origin)?, Vec::new())) }
}

/// Programs that ask for as much as the real ones, of which nothing is known yet.
fn examples(subjects: &Subjects, widest: u32) -> anyhow::Result<Vec<LearnedProgram>> {
    let example = |name: &str| Ok(fit(name, &[Measured::busy(widest, EXAMPLE_NS)])?);
    subjects.found.values().map(|subject| example(&subject.name)).collect()
}

/// The files of these programs.
fn texts(programs: &[LearnedProgram]) -> Vec<String> {
    programs.iter().map(LearnedProgram::to_toml).collect()
}

/// Simulates every mix under its policies, beside the runs that have been made so far.
fn compare(models: &Models, mixes: &Mixes, chosen: &[&Mix], entries: &[Entry]) -> anyhow::Result<Comparison> {
    let mut cells = Vec::new();
    for mix in chosen {
        for policy in &mix.policies {
            let simulated = models.simulate(mixes, mix, policy)?;
            let runs = times(entries, &mix.name, policy);
            cells.push(Cell { mix: mix.name.clone(), policy: policy.clone(), runs, simulated });
        }
    }
    Ok(Comparison::new(cells))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("pair-*", "pair-sor") && matches("*-sor", "pair-sor") && matches("*", ""));
        assert!(matches("p*r-*r", "pair-sor") && !matches("pair", "pair-sor") && !matches("x*", "pair"));
    }
}
