//! Follows the array jobs of a comparison: collects finished runs, submits parts that need another
//! task, and ends what is not needed any more.

use super::cluster::{Job, State, Task};
use super::directory::{Directory, Submitted};
use super::parts::{Next, Progress, Tries};
use super::script::Script;
use crate::say::{self, Failure};
use crate::sim::part::shares;
use crate::sim::progress;
use crate::sim::results::Cell;
use crate::sim::state::{self, Done, Kept};
use crate::sim::stop::Stop;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long network file systems may hide what other machines have written.
const LATE: Duration = Duration::from_mins(1);
/// How long Slurm may not answer.
const SILENT: Duration = Duration::from_mins(10);
/// How long tasks may take to end: Slurm's own time before it kills, and some more.
const END: Duration = Duration::from_secs(40);
/// How often Slurm is asked, at the beginning and in the long run.
const ASK: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// Slurm has not said why a task waits.
const NO_REASON: [&str; 2] = ["", "None"];
/// Reasons of waiting that pass by themselves.
const USUAL: [&str; 4] = ["Resources", "Priority", "JobArrayTaskLimit", "BeginTime"];

/// A job and its tasks, as Slurm last told them.
#[derive(Debug)]
struct Watched {
    job: Job,
    tasks: Vec<Task>,
}

/// A comparison on a cluster.
pub struct Sweep<'a> {
    runs: Vec<(Cell, u64)>,
    /// The part of each run.
    shares: Vec<u32>,
    /// The parts, and the fingerprint of the list that they share.
    parts: (u32, u64),
    script: Script,
    directory: Directory,
    jobs: Vec<Watched>,
    /// Reasons of waiting that have been told.
    told: BTreeSet<String>,
    tries: Tries,
    /// When a task was first seen to have ended.
    ended: BTreeMap<(String, u32), Instant>,
    /// When Slurm last answered.
    answered: Instant,
    /// Since when it takes no further task.
    refused: Option<Instant>,
    progress: &'a progress::Progress,
    stop: &'a Stop,
}

impl Watched {
    fn is_active(&self) -> bool {
        self.tasks.iter().any(|task| task.state.is_active())
    }

    /// Slurm tells of these tasks. It forgets ended ones after some minutes.
    fn learn(&mut self, mut tasks: Vec<Task>) {
        let before = std::mem::take(&mut self.tasks);
        let forgotten = |task: &Task| !task.state.is_active() && tasks.iter().all(|other| other.number != task.number);
        let ended: Vec<Task> = before.into_iter().filter(forgotten).collect();
        tasks.extend(ended);
        self.tasks = tasks;
    }
}

impl<'a> Sweep<'a> {
    /// Of these runs, in so many parts. Jobs of an earlier call that still run are gone on with,
    /// unless they do other parts: those are ended.
    ///
    /// # Errors
    /// Slurm does not answer.
    pub fn new(
        runs: Vec<(Cell, u64)>,
        parts: (u32, u64),
        script: Script,
        directory: Directory,
        progress: &'a progress::Progress,
        stop: &'a Stop,
    ) -> anyhow::Result<Self> {
        let shares = shares(runs.len(), parts.0);
        let mut sweep = Self {
            runs,
            shares,
            parts,
            script,
            directory,
            jobs: Vec::new(),
            told: BTreeSet::new(),
            tries: Tries::default(),
            ended: BTreeMap::new(),
            answered: Instant::now(),
            refused: None,
            progress,
            stop,
        };
        for Submitted { job, parts, runs } in sweep.directory.jobs()? {
            let found = Watched { tasks: job.tasks()?, job };
            if (parts, runs) != sweep.parts && found.is_active() {
                say::note(&format!("job {} did other parts and is cancelled", found.job.number));
                found.job.cancel()?;
            } else if found.is_active() {
                say::note(&format!("going on with job {}, which still runs", found.job.number));
                sweep.jobs.push(found);
                continue;
            }
            sweep.directory.forget(&found.job);
        }
        Ok(sweep)
    }

    /// Until everything is done; false if it was stopped.
    ///
    /// # Errors
    /// sbatch refuses, parts fail again and again, Slurm does not answer for minutes.
    pub fn follow(&mut self, kept: Kept, done: &mut Done) -> anyhow::Result<bool> {
        let begin = Instant::now();
        let had = self.runs.iter().filter(|run| done.contains_key(*run)).count();
        (0..had).for_each(|_| self.progress.had());
        loop {
            // In this order: a task that has ended wrote everything before.
            let answered = self.look()?;
            self.collect(kept, done)?;
            if self.runs.iter().all(|run| done.contains_key(run)) {
                return Ok(true);
            }
            if self.stop.flag().load(Ordering::Relaxed) {
                self.end();
                self.collect(kept, done)?;
                return Ok(false);
            }
            if answered {
                self.submit(done)?;
            }
            self.say();
            self.pause((begin.elapsed() / 20).clamp(ASK.0, ASK.1));
        }
    }

    /// Asks Slurm; false if it does not answer, which may pass.
    fn look(&mut self) -> anyhow::Result<bool> {
        for watched in self.jobs.iter_mut().filter(|watched| watched.is_active()) {
            match watched.job.tasks() {
                Ok(tasks) => watched.learn(tasks),
                Err(error) if self.answered.elapsed() < SILENT => {
                    tracing::debug!("Slurm does not answer: {error:#}");
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        self.answered = Instant::now();
        for watched in self.jobs.iter().filter(|watched| !watched.is_active()) {
            self.directory.forget(&watched.job);
        }
        Ok(true)
    }

    fn collect(&mut self, kept: Kept, done: &mut Done) -> anyhow::Result<()> {
        for source in self.directory.sources()? {
            for _ in 0..state::news(source, kept.origin, done, Some(kept.state))? {
                self.progress.run();
            }
        }
        Ok(())
    }

    /// The parts, each with its number.
    fn progress_of_parts(&mut self, done: &Done) -> BTreeMap<u32, Progress> {
        let mut all: BTreeMap<u32, Progress> = BTreeMap::new();
        for (run, part) in self.runs.iter().zip(&self.shares) {
            all.entry(*part).or_default().missing += usize::from(!done.contains_key(run));
        }
        for watched in &self.jobs {
            for task in &watched.tasks {
                let Some(part) = all.get_mut(&task.number) else { continue };
                if matches!(&task.state, State::Ended(word) if word == "COMPLETED") {
                    let first =
                        self.ended.entry((watched.job.number.clone(), task.number)).or_insert_with(Instant::now);
                    part.late = first.elapsed() < LATE;
                } else {
                    part.late = false;
                }
                part.tasks.push(task.state.clone());
            }
        }
        all
    }

    /// Submits all parts that need a task.
    fn submit(&mut self, done: &Done) -> anyhow::Result<()> {
        let parts = self.progress_of_parts(done);
        let next: Vec<(u32, Next)> =
            parts.iter().map(|(part, progress)| (*part, self.tries.next(*part, progress))).collect();
        let of =
            |wanted: Next| next.iter().filter(|(_, next)| *next == wanted).map(|(part, _)| *part).collect::<Vec<_>>();
        let tasks = of(Next::Submit);
        if tasks.is_empty() {
            let lost: Vec<u32> = [of(Next::Cancelled), of(Next::Failed)].concat();
            let active = self.jobs.iter().any(Watched::is_active);
            return if lost.is_empty() || active { Ok(()) } else { Err(self.lost(&lost)) };
        }
        let job = match self.script.submit(&tasks) {
            Ok(job) => job,
            // Other tasks run: a controller that starts again, or a limit of jobs, may pass.
            Err(error) if !self.jobs.is_empty() && self.refused.get_or_insert_with(Instant::now).elapsed() < SILENT => {
                tracing::debug!("Slurm takes no further task: {error:#}");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.refused = None;
        self.directory.note(&Submitted { job: job.clone(), parts: self.parts.0, runs: self.parts.1 })?;
        for part in &tasks {
            self.tries.submitted(*part, parts[part].missing);
        }
        let missing: usize = tasks.iter().map(|part| parts[part].missing).sum();
        let (what, runs) = (say::counted(tasks.len(), "task"), say::counted(missing, "run"));
        let mut again: Vec<String> =
            tasks.iter().filter_map(|part| self.last_of(*part)).map(|(said, ..)| said).collect();
        again.sort();
        again.dedup();
        let why = if again.is_empty() { String::new() } else { format!(", again after {}", shortened(&again)) };
        self.progress.note(&format!("job {}: {what} for {runs}{why}", job.number));
        let tasks =
            tasks.iter().map(|&number| Task { number, state: State::Waits(String::new()), node: String::new() });
        self.jobs.push(Watched { tasks: tasks.collect(), job });
        Ok(())
    }

    /// The latest ended task of a part: in words, and of which job.
    fn last_of(&self, part: u32) -> Option<(String, &Job)> {
        let (task, job) = self.jobs.iter().rev().find_map(|watched| {
            let task = watched.tasks.iter().find(|task| task.number == part)?;
            Some((task, &watched.job))
        })?;
        let State::Ended(word) = &task.state else { return None };
        let place = if task.node.is_empty() { String::new() } else { format!(" on {}", task.node) };
        Some((format!("{word}{place}"), job))
    }

    /// Parts that nobody does any more.
    fn lost(&self, parts: &[u32]) -> anyhow::Error {
        let names = shortened(&parts.iter().map(u32::to_string).collect::<Vec<_>>());
        let what = format!("{} of {} ({names})", say::counted(parts.len(), "part"), self.parts.0);
        let last = parts[parts.len() - 1];
        let next = "when the reason is gone, go on by --resume: what has run is kept";
        let Some((word, job)) = self.last_of(last) else {
            return Failure::error(say::FAILED, format!("{what} failed, and Slurm knows no more about it"), next);
        };
        if word.starts_with("CANCELLED") {
            return Failure::error(say::FAILED, format!("somebody has cancelled {what}, job {}", job.number), next);
        }
        let log = self.directory.log_end(job, last);
        Failure::error(say::FAILED, format!("{what} failed again and again; part {last} is {word}; {log}"), next)
    }

    /// What the tasks do, for people who wait.
    fn say(&mut self) {
        let states = || self.jobs.iter().flat_map(|watched| &watched.tasks).map(|task| &task.state);
        let running = states().filter(|state| **state == State::Runs).count();
        let reasons: Vec<&String> =
            states().filter_map(|state| if let State::Waits(reason) = state { Some(reason) } else { None }).collect();
        let reason = reasons.iter().find(|reason| !NO_REASON.contains(&reason.as_str()));
        let why = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let waits = if reasons.is_empty() { String::new() } else { format!(", {} waiting{why}", reasons.len()) };
        self.progress.say(&format!("{running} running{waits}"));
        let odd = reason.filter(|reason| running == 0 && !USUAL.contains(&reason.as_str()));
        if let Some(reason) = odd.map(ToString::to_string).filter(|reason| !self.told.contains(reason)) {
            self.progress.note(&format!("the tasks wait: {reason} (`squeue` says more; Ctrl-C cancels them)"));
            self.told.insert(reason);
        }
    }

    /// Waits, but not longer than until somebody wants it to stop.
    fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.stop.flag().load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Cancels everything, and waits until it has ended.
    fn end(&mut self) {
        for watched in self.jobs.iter().filter(|watched| watched.is_active()) {
            match watched.job.cancel() {
                Ok(()) => self.progress.note(&format!("job {} is cancelled", watched.job.number)),
                Err(error) => {
                    let number = &watched.job.number;
                    say::warn(&format!("job {number} goes on: {error:#}; `scancel {number}` ends it"));
                }
            }
        }
        self.wait_for_end(END);
    }

    /// Whether all tasks have ended within this time.
    fn wait_for_end(&mut self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        loop {
            if matches!(self.look(), Ok(true)) && !self.jobs.iter().any(Watched::is_active) {
                return true;
            }
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(ASK.0 / 2);
        }
    }

    /// Leaves the directory to the next call, if there is anything in it.
    pub fn abandon(self) {
        self.directory.remove_if_empty();
    }

    /// Removes the directory, when everything in it has been taken over and no task uses it.
    pub fn finish(mut self) {
        // Tasks whose runs others have done.
        let waits = |watched: &&Watched| watched.tasks.iter().any(|task| matches!(task.state, State::Waits(_)));
        for watched in self.jobs.iter().filter(waits) {
            let _ = watched.job.cancel();
        }
        if !self.wait_for_end(ASK.1) {
            for watched in self.jobs.iter().filter(|watched| watched.is_active()) {
                let _ = watched.job.cancel();
            }
        }
        if self.wait_for_end(END) {
            if let Err(error) = self.directory.remove() {
                say::warn(&format!("{error:#}"));
            }
        } else {
            say::warn(&format!("some tasks do not end; {} is left for them", self.directory.path().display()));
        }
    }
}

/// Ends what is left of a comparison whose state file somebody has removed.
///
/// # Errors
/// Slurm does not answer.
pub fn clear(state: &Path) -> anyhow::Result<()> {
    let directory = Directory::beside(state)?;
    for Submitted { job, .. } in directory.jobs()? {
        if job.tasks()?.iter().any(|task| task.state.is_active()) {
            say::note(&format!("job {} of an earlier comparison is cancelled", job.number));
            job.cancel()?;
        }
    }
    directory.remove()
}

/// The parts of the jobs of an earlier call that still run, if they share this list of runs.
///
/// # Errors
/// Slurm does not answer.
pub fn parts_under_way(directory: &Directory, runs: u64) -> anyhow::Result<Option<u32>> {
    for submitted in directory.jobs()?.into_iter().filter(|submitted| submitted.runs == runs) {
        if submitted.job.tasks()?.iter().any(|task| task.state.is_active()) {
            return Ok(Some(submitted.parts));
        }
    }
    Ok(None)
}

/// Some of a list for people.
fn shortened(words: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = words.len().saturating_sub(SHOWN);
    let shown = words[..words.len().min(SHOWN)].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_tasks_that_slurm_forgets_are_remembered() {
        let task = |number, state| Task { number, state, node: String::new() };
        let cancelled = || State::Ended("CANCELLED".to_owned());
        let job = Job { number: "7".to_owned(), cluster: None };
        let tasks = vec![task(1, cancelled()), task(2, State::Runs), task(3, State::Runs)];
        let mut watched = Watched { job, tasks };
        watched.learn(vec![task(3, State::Ended("FAILED".to_owned()))]);
        assert_eq!(watched.tasks, [task(3, State::Ended("FAILED".to_owned())), task(1, cancelled())]);
        assert!(!watched.is_active(), "one that ran and is forgotten has ended");
    }
}
