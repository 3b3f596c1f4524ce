//! One case: alone, then managed while its processors change.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use numaestro_policy::Random;

use super::ended::{self, Outcome};
use super::judge::Alone;
use super::manager::{Flips, Manager, quiet};
use super::recipe::Case;

/// A hang takes more than this.
const HANG_MIN: Duration = Duration::from_secs(30);
/// And more than so many times what the program takes alone, for each program that runs at once.
const HANG_TIMES: u32 = 10;
/// Runs alone to begin with, and as many as there may be until one is like the managed one.
const ALONE: usize = 2;
const ALONE_MAX: usize = 12;

/// What is the same for all cases.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The longest a program may take alone.
    pub alone_max: Duration,
    /// Cases that run at the same time.
    pub workers: u32,
    /// Managed runs of each case.
    pub times: u32,
    /// The processors that a program has at most.
    pub processors: u32,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As alone.
    Same,
    /// Something else than alone.
    Differs(String),
    /// Says itself, by its exit code, that something is wrong.
    Fails(String),
    /// Ended by a signal.
    Crashes(String),
    /// No end.
    Hangs(String),
    /// Alone it fails.
    FailsAlone,
    /// Alone it takes too long.
    SlowAlone,
}

/// A verdict, and how often the processors have changed.
#[derive(Debug)]
pub struct Trial {
    /// The worst of its runs.
    pub verdict: Verdict,
    /// Managed runs.
    pub runs: u64,
    /// Managed runs that were not as alone.
    pub other: u64,
    /// Changes that met the program.
    pub changes: u64,
}

/// Where a worker works.
pub struct Bench<'a> {
    /// Its manager.
    pub manager: &'a mut Manager,
    /// Its directory; programs run in it.
    pub scratch: PathBuf,
    /// Draws the moments of changes.
    pub random: Random,
    /// The terms.
    pub terms: Terms,
}

impl Bench<'_> {
    /// Tries a case.
    pub fn try_case(&mut self, case: &Case<'_>, program: &Path) -> Result<Trial> {
        let mut trial = Trial { verdict: Verdict::Same, runs: 0, other: 0, changes: 0 };
        let mut alone = Alone::default();
        let mut took = Duration::ZERO;
        for _ in 0..ALONE {
            match self.alone(case, program, false)? {
                Outcome::Ended(ended, time) if ended.code == 0 => {
                    took = took.max(time);
                    alone.add(ended);
                }
                Outcome::Ended(..) => return Ok(Trial { verdict: Verdict::FailsAlone, ..trial }),
                Outcome::Hangs(_) => return Ok(Trial { verdict: Verdict::SlowAlone, ..trial }),
            }
        }
        let limit = HANG_MIN.max(took * HANG_TIMES * (1 + self.terms.workers));
        for _ in 0..self.terms.times {
            let verdict = self.managed(case, program, limit, &mut alone, &mut trial.changes)?;
            trial.runs += 1;
            if verdict != Verdict::Same {
                trial.other += 1;
                trial.verdict = verdict;
                if matches!(trial.verdict, Verdict::Hangs(_)) {
                    break;
                }
            }
        }
        Ok(trial)
    }

    fn managed(
        &mut self,
        case: &Case<'_>,
        program: &Path,
        limit: Duration,
        alone: &mut Alone,
        changes: &mut u64,
    ) -> Result<Verdict> {
        let mut command = self.manager.command(program);
        Self::settle(&mut command, case);
        let random = Random::new(self.random.draw());
        let mut flips = Flips::new(self.manager, random, self.terms.processors);
        let outcome = ended::run(&mut command, &self.scratch, limit, &mut |pid| flips.turn(pid))?;
        *changes += flips.met;
        if let Some(error) = flips.error.take() {
            return Err(error);
        }
        let ended = match outcome {
            Outcome::Hangs(threads) => {
                return Ok(Verdict::Hangs(format!("no end after {} s\n{threads}", limit.as_secs())));
            }
            Outcome::Ended(ended, _) => ended,
        };
        for run in ALONE..ALONE_MAX {
            if alone.difference(&ended).is_none() {
                return Ok(Verdict::Same);
            }
            // Some orders show only where few threads run at once.
            if let Outcome::Ended(ended, _) = self.alone(case, program, run % 2 == 1)? {
                alone.add(ended);
            }
        }
        Ok(match alone.difference(&ended) {
            None => Verdict::Same,
            Some(what) if ended.code < 0 => Verdict::Crashes(what),
            Some(what) if ended.code != 0 => Verdict::Fails(what),
            Some(what) => Verdict::Differs(what),
        })
    }

    fn alone(&self, case: &Case<'_>, program: &Path, on_one_processor: bool) -> Result<Outcome> {
        let mut command = Command::new(program);
        if on_one_processor {
            command = Command::new("taskset");
            command.args(["1"]).arg(program);
        }
        quiet(&mut command);
        Self::settle(&mut command, case);
        ended::run(&mut command, &self.scratch, self.terms.alone_max, &mut |_| {})
    }

    fn settle(command: &mut Command, case: &Case<'_>) {
        command.args(&case.recipe.said.runs[case.run].arguments).envs(case.environment());
    }
}
