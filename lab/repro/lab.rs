//! Runs experiments on all cores and remembers them: one run serves many claims.
//!
//! The results do not depend on the number of workers: runs are independent, and their results
//! stand in order of their seeds.

use crate::conditions::Conditions;
use crate::perturbation::Perturbation;
use numaestro_policy::Rejected;
use numaestro_sim::outcome::Outcome;
use numaestro_sim::workload::Source;
use numaestro_sim::world::{Observer, Setup, World};
use rayon::prelude::*;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The amount of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistics {
    /// As many runs as the claims are judged by.
    Full,
    /// As few as still give an interval: a look, within seconds.
    Quick,
}

/// Makes the arrivals of a run with this seed.
pub type MakeSource = Arc<dyn Fn(u64) -> Box<dyn Source> + Send + Sync>;

/// An experiment that can be run with any seed.
#[derive(Clone)]
pub struct Experiment {
    /// All its parts, in words: equal names mean equal experiments.
    pub name: String,
    /// Machine, policy, contention; the seed in it is replaced.
    pub setup: Setup,
    /// Arrivals.
    pub source: MakeSource,
    /// Runs under full statistics.
    pub runs: u32,
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment").field("name", &self.name).field("runs", &self.runs).finish_non_exhaustive()
    }
}

/// The reason why an experiment could not be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{experiment}: {reason}")]
pub struct Trouble {
    /// The name of the experiment.
    pub experiment: String,
    /// The reason, one sentence.
    pub reason: String,
}

impl Trouble {
    /// The trouble of `experiment`, with its reason.
    pub fn new(experiment: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { experiment: experiment.into(), reason: reason.into() }
    }

    fn rejected(experiment: &Experiment, rejected: Rejected) -> Self {
        Self::new(&experiment.name, rejected.reason)
    }
}

/// The outcomes of an experiment, in order of seeds.
pub type Outcomes = Arc<Vec<Outcome>>;

/// Runs experiments and remembers their outcomes.
#[derive(Debug)]
pub struct Lab {
    statistics: Statistics,
    conditions: Conditions,
    draws_figures: bool,
    known: Mutex<BTreeMap<String, Outcomes>>,
    derived: Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Lab {
    /// The first seed of the usual set. Every experiment uses the same seeds, so that differences
    /// between experiments are paired.
    pub const FIRST_SEED: u64 = 1;

    /// A lab that has run nothing yet, with the usual seeds and no constants.
    pub fn new(statistics: Statistics) -> Self {
        Self::under(statistics, Conditions::default())
    }

    /// A lab that has run nothing yet, under these conditions.
    pub fn under(statistics: Statistics, conditions: Conditions) -> Self {
        Self { statistics, conditions, draws_figures: true, known: Mutex::default(), derived: Mutex::default() }
    }

    /// The same lab for answers alone: nobody looks at figures, so that their runs can be saved.
    #[must_use]
    pub fn without_figures(self) -> Self {
        Self { draws_figures: false, ..self }
    }

    /// Whether somebody looks at figures.
    pub fn draws_figures(&self) -> bool {
        self.draws_figures
    }

    /// The value of a constant from the paper's file of inputs.
    pub fn constant(&self, name: &str) -> Result<f64, Trouble> {
        let missing = || Trouble::new(name, "the file of inputs has no constant of this name");
        self.conditions.constants.get(name).ok_or_else(missing)
    }

    /// What follows from the constants alone, made once for all experiments.
    pub fn derived<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&Self) -> Result<T, Trouble>,
    ) -> Result<Arc<T>, Trouble> {
        let known = |of: &BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>| of.get(&TypeId::of::<T>()).cloned();
        let found = known(&self.derived.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(found) = found.and_then(|found| found.downcast().ok()) {
            return Ok(found);
        }
        let value = Arc::new(make(self)?);
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        derived.insert(TypeId::of::<T>(), Arc::clone(&value) as Arc<dyn Any + Send + Sync>);
        Ok(value)
    }

    /// The amount of runs.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Whether the user wants only a quick look.
    pub fn is_quick(&self) -> bool {
        self.statistics == Statistics::Quick
    }

    /// The seed of the first run of every experiment.
    pub fn first_seed(&self) -> u64 {
        self.conditions.seeds.first()
    }

    /// The factor on the number of threads with which the engine itself is measured.
    pub fn crowd(&self) -> u32 {
        self.conditions.perturbation.map_or(1, Perturbation::crowd)
    }

    /// Names and outcomes of the experiments that have been run, in order of names.
    pub fn known(&self) -> Vec<(String, Outcomes)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|(name, outcomes)| (name.clone(), Arc::clone(outcomes))).collect()
    }

    /// Number of experiments that have been run.
    pub fn experiments(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Number of runs of an experiment that has `full` runs under full statistics.
    pub fn runs(&self, full: u32) -> u32 {
        match self.statistics {
            Statistics::Full => full,
            Statistics::Quick => full.div_ceil(3).max(3).min(full),
        }
    }

    /// The outcomes of one experiment.
    pub fn outcomes(&self, experiment: &Experiment) -> Result<Outcomes, Trouble> {
        Ok(self.all(std::slice::from_ref(experiment))?.swap_remove(0))
    }

    /// The outcomes of several experiments. The ones that are not known yet run side by side.
    pub fn all(&self, experiments: &[Experiment]) -> Result<Vec<Outcomes>, Trouble> {
        let mut missing: BTreeMap<&str, &Experiment> = BTreeMap::new();
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for experiment in experiments.iter().filter(|experiment| !known.contains_key(&experiment.name)) {
                missing.insert(&experiment.name, experiment);
            }
        }
        let tasks: Vec<(&Experiment, u64)> = missing
            .values()
            .flat_map(|&experiment| (0..u64::from(self.runs(experiment.runs))).map(move |run| (experiment, run)))
            .collect();
        let outcomes: Vec<Result<Outcome, Trouble>> =
            tasks.par_iter().map(|(experiment, run)| self.run_once(experiment, *run, &mut ())).collect();
        let mut by_name: BTreeMap<&str, Vec<Outcome>> = BTreeMap::new();
        for ((experiment, _), outcome) in tasks.iter().zip(outcomes) {
            by_name.entry(&experiment.name).or_default().push(outcome?);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(by_name.into_iter().map(|(name, outcomes)| (name.to_owned(), Arc::new(outcomes))));
        Ok(experiments.iter().map(|experiment| Arc::clone(&known[&experiment.name])).collect())
    }

    /// Runs every seed once more with an observer of its own, made by `make`; not remembered.
    pub fn observed<O: Observer + Send>(
        &self,
        experiment: &Experiment,
        make: impl Fn() -> O + Sync,
    ) -> Result<Vec<(O, Outcome)>, Trouble> {
        (0..u64::from(self.runs(experiment.runs)))
            .into_par_iter()
            .map(|run| {
                let mut observer = make();
                let outcome = self.run_once(experiment, run, &mut observer)?;
                Ok((observer, outcome))
            })
            .collect()
    }

    /// Run number `run` of an experiment, changed by the perturbation.
    fn run_once(&self, experiment: &Experiment, run: u64, observer: &mut dyn Observer) -> Result<Outcome, Trouble> {
        let seed = self.conditions.seeds.first() + run;
        let mut setup = Setup { seed, ..experiment.setup.clone() };
        let mut source = (experiment.source)(seed);
        if let Some(perturbation) = self.conditions.perturbation {
            perturbation.change_setup(&mut setup);
            source = perturbation.change_source(source);
        }
        let mut world = World::new(setup, source).map_err(|no| Trouble::rejected(experiment, no))?;
        Ok(world.run(observer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Seeds;
    use crate::hector::{self, Alone, Kernel};

    const SPREAD: &str = "----/---3/--42/---1";

    #[test]
    fn an_experiment_is_run_once() {
        let lab = hector::lab();
        let experiment = Alone::new(Kernel::Fft, SPREAD, 16).experiment(&lab).unwrap();
        let first = lab.outcomes(&experiment).unwrap();
        assert!(Arc::ptr_eq(&first, &lab.outcomes(&experiment).unwrap()));
        let both = lab.all(&[experiment.clone(), experiment]).unwrap();
        assert_eq!((both.len(), lab.experiments(), first.len()), (2, 1, 3));
    }

    #[test]
    fn workers_make_no_difference() {
        let with = |workers| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            pool.install(|| {
                let lab = Lab::under(Statistics::Full, hector::conditions());
                let outcomes = lab.outcomes(&Alone::new(Kernel::Mm, SPREAD, 16).experiment(&lab).unwrap()).unwrap();
                outcomes.iter().map(|outcome| outcome.fingerprint).collect::<Vec<_>>()
            })
        };
        let one = with(1);
        assert_eq!(one, with(3));
        assert!(one.windows(2).any(|pair| pair[0] != pair[1]), "seeds differ");
    }

    #[test]
    fn other_seeds_and_a_perturbation_give_other_runs() {
        let ends = |conditions| {
            let lab = Lab::under(Statistics::Quick, conditions);
            let outcomes = lab.outcomes(&Alone::new(Kernel::Mm, SPREAD, 16).experiment(&lab).unwrap()).unwrap();
            outcomes.iter().map(|outcome| outcome.end).collect::<Vec<_>>()
        };
        let usual = ends(hector::conditions());
        let others = ends(Conditions { seeds: Seeds::set(1), ..hector::conditions() });
        assert!(usual.iter().all(|end| !others.contains(end)), "no seed in common");
        let near = ends(Conditions { perturbation: Some(Perturbation::EqualLatencies), ..hector::conditions() });
        assert!(near.iter().zip(&usual).all(|(near, usual)| near < usual), "nothing is far");
    }

    #[test]
    fn constants_are_known_by_name() {
        let constants = [("hits".to_owned(), 0.5)].into_iter().collect();
        let lab = Lab::under(Statistics::Quick, Conditions { constants, ..Conditions::default() });
        assert_eq!(lab.constant("hits"), Ok(0.5));
        assert!(lab.constant("hit").unwrap_err().to_string().contains("hit"));
    }

    #[test]
    fn what_cannot_be_run_says_why() {
        let lab = hector::lab();
        let mut experiment = Alone::new(Kernel::Pde, SPREAD, 0).experiment(&lab).unwrap();
        experiment.setup.settings.policy = "placement=nonsense".to_owned();
        let trouble = lab.outcomes(&experiment).unwrap_err();
        assert!(trouble.to_string().contains("nonsense"), "{trouble}");
        assert!(trouble.to_string().starts_with("PDE alone"), "{trouble}");
    }
}
