//! Works on many tasks side by side, and hands over each result as soon as it is there.
//!
//! A task has its simulations run by the pool of workers; what it does before and after them it
//! does alone. One task at a time would leave all workers but one idle then, and also while the
//! last of its simulations goes on. So as many tasks as there are workers are under way at once,
//! and the simulations of one fill the gaps of the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Runs all tasks. `done` is given the place of each task and its result, in the order in which
/// they end.
///
/// # Errors
/// The first error of `done`. Tasks under way end then, and no further one begins.
pub fn side_by_side<T: Sync, R: Send>(
    tasks: &[T],
    run: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(usize, R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (next, run) = (&next, &run);
    thread::scope(|scope| {
        let (sender, results) = channel();
        for _ in 0..rayon::current_num_threads().min(tasks.len()) {
            let sender = sender.clone();
            scope.spawn(move || {
                while let Some((place, task)) = take(next, tasks) {
                    if sender.send((place, run(task))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        results.into_iter().try_for_each(|(place, result)| done(place, result))
    })
}

/// The next task that nobody has begun.
fn take<'a, T>(next: &AtomicUsize, tasks: &'a [T]) -> Option<(usize, &'a T)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    tasks.get(place).map(|task| (place, task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::sync::Barrier;

    #[test]
    fn every_task_is_done_once() {
        let tasks: Vec<u64> = (0..50).collect();
        let sum_below = |&task: &u64| (0..task).into_par_iter().sum::<u64>();
        let mut found = vec![None; tasks.len()];
        let done = |place: usize, sum| {
            assert_eq!(found[place].replace(sum), None);
            Ok(())
        };
        side_by_side(&tasks, sum_below, done).unwrap();
        let expected: Vec<_> = (0..50_u64).map(|task| Some(task * task.saturating_sub(1) / 2)).collect();
        assert_eq!(found, expected);
        side_by_side(&[] as &[u64], sum_below, |_, _| Ok(())).unwrap();
    }

    #[test]
    fn as_many_tasks_as_workers_are_under_way_at_once() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let together = Barrier::new(3);
        // One after the other they would wait for ever.
        let wait = |(): &()| together.wait();
        pool.install(|| side_by_side(&[(); 3], wait, |_, _| Ok(()))).unwrap();
    }

    #[test]
    fn after_an_error_no_task_begins() {
        let begun = AtomicUsize::new(0);
        let tasks = vec![(); 100_000];
        let full = |_, ()| anyhow::bail!("no space");
        let count = |(): &()| {
            begun.fetch_add(1, Ordering::Relaxed);
            thread::yield_now();
        };
        assert!(side_by_side(&tasks, count, full).is_err());
        assert!(begun.into_inner() < tasks.len());
    }
}
