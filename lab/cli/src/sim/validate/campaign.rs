//! The campaign: runs the programs alone and the mixes as scheduled, and keeps what is done in the
//! state file, so that it can go on later.

use super::args::ValidateArgs;
use super::commands::Subjects;
use super::mixes::{Mix, Mixes};
use super::real;
use super::schedule::Step;
use crate::bench::launch;
use crate::bench::load::{self, Gate, Window};
use crate::bench::managed::Managed;
use crate::finished::Finished;
use crate::sim::learn::{Alone, Said, Subject};
use crate::sim::progress::Progress;
use crate::sim::stop::Stop;
use anyhow::Context;
use numaestro_sim::learn::Measured;
use numaestro_sim::validation::Times;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A line of the state file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A program was given its arguments.
    Command { program: String, arguments: Vec<String> },
    /// A program has run alone once.
    Alone { program: String, run: Measured },
    /// What a program says of itself.
    Said { program: String, said: Said },
    /// A mix has run once.
    Run { mix: String, policy: String, times: Times, foreign: f64, noisy: bool },
}

/// What is done: the lines of the state file, in their order.
#[derive(Debug)]
pub struct Campaign<'a> {
    state: &'a Finished,
    stop: &'a Stop,
    progress: &'a Progress,
    entries: Vec<Entry>,
}

/// The runs of the mixes.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Runs of each mix under each policy.
    pub runs: u32,
    /// Share of the machine that others may use during a run.
    pub foreign: f64,
    /// Runs that are repeated at most, for each step.
    pub tries: u32,
    /// Longest run.
    pub limit: Duration,
}

impl Plan {
    /// The plan of a command line.
    pub fn of(args: &ValidateArgs) -> Self {
        Self {
            runs: args.runs.unwrap_or(if args.quick { 2 } else { 3 }),
            foreign: args.foreign / 100.0,
            tries: args.tries,
            limit: Duration::from_secs_f64(args.time_limit),
        }
    }
}

impl<'a> Campaign<'a> {
    /// Goes on from these entries.
    pub fn new(state: &'a Finished, stop: &'a Stop, progress: &'a Progress, entries: Vec<Entry>) -> Self {
        Self { state, stop, progress, entries }
    }

    /// All entries, at its end.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// Somebody wants it to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.flag().load(Ordering::Relaxed)
    }

    fn add(&mut self, entry: Entry) -> anyhow::Result<()> {
        self.state.add(&entry)?;
        self.entries.push(entry);
        Ok(())
    }

    /// Gives programs the arguments of an earlier part of the campaign, and the others their
    /// repetitions.
    pub fn calibrate(&mut self, mixes: &Mixes, subjects: &mut Subjects, factor: f64) -> anyhow::Result<()> {
        let processor = *launch::processors()?.first().unwrap_or(&0);
        let known: BTreeMap<String, Vec<String>> = self
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Command { program, arguments } => Some((program.clone(), arguments.clone())),
                _ => None,
            })
            .collect();
        let (mut done, mut left) = (BTreeMap::new(), BTreeMap::new());
        for (place, mut subject) in std::mem::take(&mut subjects.found) {
            if let Some(arguments) = known.get(&subject.name) {
                subject.line.arguments.clone_from(arguments);
                done.insert(place, subject);
            } else {
                left.insert(place, subject);
            }
        }
        subjects.found = left;
        subjects.calibrate(&mixes.programs, processor, factor)?;
        for subject in subjects.found.values() {
            self.add(Entry::Command { program: subject.name.clone(), arguments: subject.line.arguments.clone() })?;
        }
        subjects.found.append(&mut done);
        Ok(())
    }

    /// Does the steps that are not done yet, in order.
    pub fn run(&mut self, site: &Site<'_>, steps: &[Step], managers: &mut Managers<'_>) -> anyhow::Result<()> {
        let mut done: BTreeMap<Step, u32> = BTreeMap::new();
        for step in self.entries.iter().filter_map(|entry| site.step(entry)) {
            *done.entry(step).or_default() += 1;
        }
        let mut gates: BTreeMap<Step, Gate> = BTreeMap::new();
        for &step in steps {
            if let Some(times) = done.get_mut(&step).filter(|times| **times > 0) {
                *times -= 1;
                self.progress.had();
                continue;
            }
            let gate = gates.entry(step).or_insert_with(|| Gate::new(site.plan.foreign, site.plan.tries));
            loop {
                let (entry, window) = site.perform(step, managers)?;
                if window.is_none_or(|window| gate.admit(&window)) || self.is_stopped() {
                    self.add(entry)?;
                    break;
                }
                load::await_quiet(site.plan.foreign, launch::processors()?.len());
            }
            if self.is_stopped() {
                return Ok(());
            }
            self.progress.run();
        }
        Ok(())
    }
}

/// Everything that steps need, and nothing that they change.
#[derive(Debug)]
pub struct Site<'a> {
    /// The mixes that run.
    pub chosen: &'a [&'a Mix],
    /// The programs, by their place in the mixes file.
    pub subjects: &'a BTreeMap<usize, Subject>,
    /// Runs programs alone.
    pub alone: &'a Alone,
    /// Most processors on which programs run alone.
    pub widest: u32,
    /// Limits of the runs.
    pub plan: Plan,
}

impl Site<'_> {
    /// The step of an entry.
    fn step(&self, entry: &Entry) -> Option<Step> {
        let program = |name: &str| self.subjects.iter().find(|(_, subject)| subject.name == name);
        match entry {
            Entry::Command { .. } => None,
            Entry::Alone { program: name, run } => {
                program(name).map(|(&program, _)| Step::Alone { program, processors: run.widest() })
            }
            Entry::Said { program: name, .. } => program(name).map(|(&program, _)| Step::Said { program }),
            Entry::Run { mix, policy, .. } => {
                let mix = self.chosen.iter().position(|chosen| chosen.name == *mix)?;
                let policy = self.chosen[mix].policies.iter().position(|known| known == policy)?;
                Some(Step::Mix { mix, policy })
            }
        }
    }

    /// Does a step once: its entry, and the load beside it where that can be told.
    fn perform(&self, step: Step, managers: &mut Managers<'_>) -> anyhow::Result<(Entry, Option<Window>)> {
        let subject = |program: usize| self.subjects.get(&program).context("a program without a command");
        match step {
            Step::Alone { program, processors } => {
                let subject = subject(program)?;
                let (run, window) = self.alone.once(subject, processors)?;
                Ok((Entry::Alone { program: subject.name.clone(), run }, Some(window)))
            }
            Step::Said { program } => {
                let subject = subject(program)?;
                let said = self.alone.said(subject, self.widest)?;
                Ok((Entry::Said { program: subject.name.clone(), said }, None))
            }
            Step::Mix { mix, policy } => {
                let (mix, policy) = (self.chosen[mix], &self.chosen[mix].policies[policy]);
                let (times, window) = real::run(mix, self.subjects, managers.of(policy)?, self.plan.limit)?;
                let (foreign, noisy) = (window.foreign(), window.foreign() > self.plan.foreign);
                let (mix, policy) = (mix.name.clone(), policy.clone());
                Ok((Entry::Run { mix, policy, times, foreign, noisy }, Some(window)))
            }
        }
    }
}

/// The runs of a mix under a policy, in their order.
pub fn times(entries: &[Entry], name: &str, under: &str) -> Vec<Times> {
    let run = |entry: &Entry| match entry {
        Entry::Run { mix, policy, times, .. } if mix == name && policy == under => Some(*times),
        _ => None,
    };
    entries.iter().filter_map(run).collect()
}

/// The managers of the campaign, one for each policy, started when first needed.
#[derive(Debug)]
pub struct Managers<'a> {
    numaestro: &'a Path,
    journals: &'a Path,
    by_policy: BTreeMap<String, Managed>,
}

impl<'a> Managers<'a> {
    /// None yet; their journals go into the directory `journals`.
    pub fn new(numaestro: &'a Path, journals: &'a Path) -> Self {
        Self { numaestro, journals, by_policy: BTreeMap::new() }
    }

    fn of(&mut self, policy: &str) -> anyhow::Result<&Managed> {
        if !self.by_policy.contains_key(policy) {
            let plain: String =
                policy.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
            let file = self.journals.join(format!("{}-{plain}.journal", self.by_policy.len()));
            let managed = Managed::start_recorded(self.numaestro, policy, &file, &[])?;
            self.by_policy.insert(policy.to_owned(), managed);
        }
        Ok(&self.by_policy[policy])
    }
}
