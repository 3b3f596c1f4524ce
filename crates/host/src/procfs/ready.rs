//! Counts the threads of a process that run or are ready to. The kernel tells the state of one
//! thread at a time, so a count of many threads is expensive: it ends when it has found enough, and
//! where an incomplete one is of use, it asks some threads each time, in turn.

use super::{LINE_BYTES, Tasks, children_of_thread, parse_stat};

/// Threads asked in an incomplete count.
const SOME: usize = 8;

/// The counts of one process.
#[derive(Debug, Clone, Default)]
pub struct ReadyThreads {
    /// Threads that were found ready at the latest count: they are asked first.
    found: Vec<u32>,
    /// Threads that were asked.
    asked: Vec<u32>,
    /// The place in the list of threads at which the next incomplete count begins.
    from: usize,
}

impl ReadyThreads {
    /// The number of threads of `pid` that run or are ready to, `enough` at most. Without `all`,
    /// those are asked that were ready the last time, and some others.
    pub fn count(&mut self, pid: u32, enough: usize, all: bool) -> u32 {
        let known = std::mem::take(&mut self.found);
        let Ok(tasks) = Tasks::open(pid) else {
            self.asked.clear();
            return 0;
        };
        let mut tids = Vec::new();
        tasks.list(&mut tids);
        let others = (0..tids.len()).map(|at| tids[(self.from + at) % tids.len()]).filter(|tid| !known.contains(tid));
        let most = if all { tids.len() } else { SOME };
        self.asked = known.iter().copied().chain(others.take(most)).collect();
        self.found = self.asked.iter().copied().filter(|tid| is_ready(&tasks, *tid)).take(enough).collect();
        self.from = (self.from + most) % tids.len().max(1);
        self.found.len() as u32
    }

    /// Whether a thread that was to be asked in the latest count has started processes that still
    /// live; where the kernel keeps no list, one may have.
    pub fn has_children(&self, pid: u32) -> bool {
        self.asked.iter().any(|tid| children_of_thread(pid, *tid).is_none_or(|children| !children.is_empty()))
    }
}

/// Whether this thread runs or is ready to.
fn is_ready(tasks: &Tasks, tid: u32) -> bool {
    let mut line = [0; LINE_BYTES];
    tasks.read(tid, "stat", &mut line).and_then(parse_stat).is_some_and(|stat| stat.state == 'R')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn an_incomplete_count_comes_to_every_thread() {
        let (pid, ends) = (std::process::id(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for number in 0..40 {
                let ends = &ends;
                scope.spawn(move || {
                    while !ends.load(Ordering::Relaxed) {
                        if number < 38 {
                            std::thread::sleep(std::time::Duration::from_millis(20));
                        }
                    }
                });
            }
            let mut counts = ReadyThreads::default();
            let mut most = |all| (0..100).map(|_| counts.count(pid, 2, all)).max();
            // The thread that counts is ready, too.
            assert_eq!(most(true), Some(2));
            assert_eq!(most(false), Some(2));
            let mut counts = ReadyThreads::default();
            assert_eq!(counts.count(pid, 9, false).min(1), 1);
            ends.store(true, Ordering::Relaxed);
        });
        let mut counts = ReadyThreads::default();
        assert_eq!(counts.count(1 << 30, 2, true), 0, "nobody is there");
    }
}
