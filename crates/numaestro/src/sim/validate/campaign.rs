//! The campaign: learns every program alone, then runs every mix under its policies in turn, and
//! keeps what is done in the state file, so that it can go on later.

use super::args::ValidateArgs;
use super::commands::Subjects;
use super::mixes::{Mix, Mixes};
use super::real;
use crate::bench::launch;
use crate::bench::load::{self, Gate};
use crate::bench::managed::Managed;
use crate::say;
use crate::sim::learn::{Alone, Subject, Terms, sizes};
use crate::sim::progress::Progress;
use crate::sim::state::State;
use crate::sim::stop::Stop;
use numaestro_sim::learn::{LearnedProgram, fit};
use numaestro_sim::validation::Times;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A program whose runs alone differ by a larger share from what was learned is told to the user.
const RESIDUAL_MOST: f64 = 0.1;

/// A line of the state file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A program was given its arguments.
    Command { program: String, arguments: Vec<String> },
    /// A program was learned: the text of its file.
    Learned { program: String, text: String, residual: f64, summary: String },
    /// A mix has run once.
    Run { mix: String, policy: String, times: Times, foreign: f64, noisy: bool },
}

/// What is done: the lines of the state file, in their order.
#[derive(Debug)]
pub struct Campaign<'a> {
    state: &'a State,
    stop: &'a Stop,
    progress: &'a Progress,
    entries: Vec<Entry>,
}

/// The runs of the mixes.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Runs of each mix under each policy.
    pub runs: usize,
    /// Share of the machine that others may use during a run.
    pub foreign: f64,
    /// Runs that are repeated at most, for each cell.
    pub tries: u32,
    /// Longest run.
    pub limit: Duration,
}

impl Plan {
    /// The plan of a command line.
    pub fn of(args: &ValidateArgs) -> Self {
        Self {
            runs: args.runs.unwrap_or(if args.quick { 2 } else { 3 }) as usize,
            foreign: args.foreign / 100.0,
            tries: args.tries,
            limit: Duration::from_secs_f64(args.time_limit),
        }
    }
}

impl<'a> Campaign<'a> {
    /// Goes on from these entries.
    pub fn new(state: &'a State, stop: &'a Stop, progress: &'a Progress, entries: Vec<Entry>) -> Self {
        Self { state, stop, progress, entries }
    }

    /// All entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The same, at its end.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// Somebody wants it to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.flag().load(Ordering::Relaxed)
    }

    fn add(&mut self, entry: Entry) -> anyhow::Result<()> {
        self.state.add_entry(&entry)?;
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

    /// Learns the programs that are not learned yet.
    pub fn learn(&mut self, numaestro: &Path, subjects: &Subjects, plan: Plan) -> anyhow::Result<()> {
        let known = |entries: &[Entry], name: &str| {
            entries.iter().any(|entry| matches!(entry, Entry::Learned { program, .. } if program == name))
        };
        let terms = Terms {
            sizes: sizes(None, launch::processors()?.len())?,
            runs: u32::try_from(plan.runs)?,
            foreign: plan.foreign,
            tries: plan.tries,
            limit: plan.limit,
        };
        let alone = Alone::begin(numaestro, terms)?;
        for subject in subjects.found.values() {
            if self.is_stopped() {
                return Ok(());
            }
            if known(&self.entries, &subject.name) {
                self.progress.had();
                continue;
            }
            let learned = fit(&subject.name, &alone.measure(subject)?)?;
            if learned.residual > RESIDUAL_MOST {
                let share = learned.residual * 100.0;
                say::note(&format!("{}: its runs alone contradict each other by {share:.0} %", subject.name));
            }
            self.add(Entry::Learned {
                program: subject.name.clone(),
                text: learned.to_toml(),
                residual: learned.residual,
                summary: summary(&learned),
            })?;
            self.progress.run();
        }
        Ok(())
    }

    /// Runs the mixes, policies in turn, so that a change of the machine meets all alike.
    pub fn run(
        &mut self,
        chosen: &[&Mix],
        subjects: &BTreeMap<usize, Subject>,
        managers: &mut Managers,
        plan: Plan,
    ) -> anyhow::Result<()> {
        for mix in chosen {
            let mut gates: BTreeMap<&str, Gate> =
                mix.policies.iter().map(|policy| (policy.as_str(), Gate::new(plan.foreign, plan.tries))).collect();
            for round in 0..plan.runs {
                for policy in &mix.policies {
                    let done = times(&self.entries, &mix.name, policy).len() > round;
                    if done {
                        self.progress.had();
                        continue;
                    }
                    while !self.once(mix, policy, subjects, managers, (&mut gates, plan))? {}
                    if self.is_stopped() {
                        return Ok(());
                    }
                    self.progress.run();
                }
            }
        }
        Ok(())
    }

    /// One run. False if it does not count.
    fn once(
        &mut self,
        mix: &Mix,
        policy: &str,
        subjects: &BTreeMap<usize, Subject>,
        managers: &mut Managers,
        (gates, plan): (&mut BTreeMap<&str, Gate>, Plan),
    ) -> anyhow::Result<bool> {
        let (times, window) = real::run(mix, subjects, managers.of(policy)?, plan.limit)?;
        if !gates.get_mut(policy).is_none_or(|gate| gate.admit(&window)) && !self.is_stopped() {
            load::await_quiet(plan.foreign, window.processors);
            return Ok(false);
        }
        let noisy = window.foreign() > plan.foreign;
        let (mix, policy, foreign) = (mix.name.clone(), policy.to_owned(), window.foreign());
        self.add(Entry::Run { mix, policy, times, foreign, noisy })?;
        Ok(true)
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

fn summary(learned: &LearnedProgram) -> String {
    let lengths = learned.curve.iter().map(|&(n, _)| format!("{:.2} s on {n}", learned.length_on(n) / 1e9));
    let reports = if learned.analysis.is_some() { ", reports its speedup" } else { "" };
    format!("{}, {} regions{reports}", lengths.collect::<Vec<_>>().join(", "), learned.regions)
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
