//! Which parts of a comparison are done, which are with a task, and which need one. No clock and no
//! command is used here.

use super::cluster::State;
use std::collections::BTreeMap;

/// Tasks in a row for a part that finish no run of it.
const TRIES_MAX: u32 = 3;

/// The facts of a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are not finished.
    pub missing: usize,
    /// States of its tasks: the latest of each job.
    pub tasks: Vec<State>,
    /// The news of an ended task may be on their way over the network.
    pub late: bool,
}

/// The next thing to do for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it is done, or a task has it.
    Nothing,
    /// Another task.
    Submit,
    /// Somebody has cancelled its task.
    Cancelled,
    /// Its tasks have failed too often.
    Failed,
}

/// Counts the tries of the parts.
#[derive(Debug, Default)]
pub struct Tries {
    /// By part: tasks in a row without a finished run, and the runs that were missing at the last.
    counts: BTreeMap<u32, (u32, usize)>,
}

impl Tries {
    /// The next thing to do. A part that gets on is never given up: a partition may end each task
    /// after an hour.
    pub fn next(&self, part: u32, progress: &Progress) -> Next {
        if progress.missing == 0 || progress.tasks.iter().any(State::is_active) {
            return Next::Nothing;
        }
        let cancelled = |state: &State| matches!(state, State::Ended(word) if word == "CANCELLED");
        if progress.tasks.last().is_some_and(cancelled) {
            return Next::Cancelled;
        }
        if progress.late {
            return Next::Nothing;
        }
        match self.counts.get(&part) {
            Some(&(count, missing)) if count >= TRIES_MAX && missing == progress.missing => Next::Failed,
            _ => Next::Submit,
        }
    }

    /// A task is submitted for a part, of which so many runs are missing.
    pub fn submitted(&mut self, part: u32, missing: usize) {
        let entry = self.counts.entry(part).or_insert((0, missing));
        *entry = if entry.1 == missing { (entry.0 + 1, missing) } else { (1, missing) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(word: &str, missing: usize) -> Progress {
        Progress { missing, tasks: vec![State::Ended(word.to_owned())], late: false }
    }

    #[test]
    fn a_part_needs_a_task_unless_it_is_done_or_has_one() {
        let tries = Tries::default();
        assert_eq!(tries.next(1, &Progress { missing: 3, ..Progress::default() }), Next::Submit);
        assert_eq!(tries.next(1, &ended("FAILED", 0)), Next::Nothing);
        let runs = Progress { tasks: vec![State::Ended("FAILED".to_owned()), State::Runs], ..ended("", 3) };
        assert_eq!(tries.next(1, &runs), Next::Nothing);
        assert_eq!(tries.next(1, &Progress { late: true, ..ended("COMPLETED", 3) }), Next::Nothing);
        assert_eq!(tries.next(1, &ended("NODE_FAIL", 3)), Next::Submit);
        assert_eq!(tries.next(1, &ended("CANCELLED", 3)), Next::Cancelled);
    }

    #[test]
    fn tries_are_bounded_while_nothing_gets_on() {
        let mut tries = Tries::default();
        for _ in 0..3 {
            assert_eq!(tries.next(1, &ended("FAILED", 3)), Next::Submit);
            tries.submitted(1, 3);
        }
        assert_eq!(tries.next(1, &ended("FAILED", 3)), Next::Failed);
        assert_eq!(tries.next(2, &ended("FAILED", 3)), Next::Submit, "another part has its own");
        assert_eq!(tries.next(1, &ended("TIMEOUT", 2)), Next::Submit, "a run was finished");
        tries.submitted(1, 2);
        assert_eq!(tries.next(1, &ended("TIMEOUT", 2)), Next::Submit);
    }
}
