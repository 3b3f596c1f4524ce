//! A graph of tasks: each runs when all tasks it comes after have ended. The compiler of the NANOS
//! environment described programs so; here a program builds the graph by hand and runs it once.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::scope::{Scope, scope};

/// A task of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task(usize);

/// The tasks come after each other in a circle; nothing was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle;

impl fmt::Display for Cycle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the tasks of the graph come after each other in a circle")
    }
}

impl std::error::Error for Cycle {}

type Work<'work> = Box<dyn FnOnce() + Send + 'work>;

struct Node<'work> {
    work: Mutex<Option<Work<'work>>>,
    /// Number of unfinished tasks that it comes after.
    missing: AtomicUsize,
    heirs: Vec<usize>,
}

/// Tasks and their order. `'work` is the lifetime of data that the tasks may borrow.
#[derive(Default)]
pub struct Graph<'work> {
    nodes: Vec<Node<'work>>,
}

impl<'work> Graph<'work> {
    /// An empty graph.
    pub fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// Adds a task.
    pub fn task(&mut self, work: impl FnOnce() + Send + 'work) -> Task {
        self.nodes.push(Node {
            work: Mutex::new(Some(Box::new(work))),
            missing: AtomicUsize::new(0),
            heirs: Vec::new(),
        });
        Task(self.nodes.len() - 1)
    }

    /// Makes `task` run after all of `others` have ended.
    ///
    /// # Panics
    /// If a task is not of this graph.
    pub fn after(&mut self, task: Task, others: &[Task]) {
        *self.nodes[task.0].missing.get_mut() += others.len();
        for other in others {
            self.nodes[other.0].heirs.push(task.0);
        }
    }

    /// Runs all tasks on the runtime the caller runs on, or on the global one. If a task panics,
    /// the tasks after it do not run, and the panic goes on here when the rest has ended.
    ///
    /// # Errors
    /// [`Cycle`].
    pub fn run(mut self) -> Result<(), Cycle> {
        if self.is_cyclic() {
            return Err(Cycle);
        }
        let roots: Vec<usize> = self.without_predecessors();
        let nodes = &self.nodes[..];
        scope(|scope| {
            for root in roots {
                scope.spawn(move |scope| follow(scope, nodes, root));
            }
        });
        Ok(())
    }

    fn without_predecessors(&mut self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&node| *self.nodes[node].missing.get_mut() == 0).collect()
    }

    /// Kahn's algorithm takes away tasks that come after no other until none is left; in a circle
    /// no task is ever first.
    fn is_cyclic(&mut self) -> bool {
        let mut missing: Vec<usize> = self.nodes.iter_mut().map(|node| *node.missing.get_mut()).collect();
        let mut first = self.without_predecessors();
        let mut taken = 0;
        while let Some(node) = first.pop() {
            taken += 1;
            for &heir in &self.nodes[node].heirs {
                missing[heir] -= 1;
                if missing[heir] == 0 {
                    first.push(heir);
                }
            }
        }
        taken < self.nodes.len()
    }
}

/// Runs a task, and goes on with one that waited only for it: the data it wrote are in this cache.
/// Spawns the other tasks that it releases.
fn follow<'scope>(scope: &Scope<'scope>, nodes: &'scope [Node<'_>], first: usize) {
    let mut next = Some(first);
    while let Some(node) = next.take() {
        let work = nodes[node].work.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(work) = work {
            work();
        }
        for &heir in &nodes[node].heirs {
            if nodes[heir].missing.fetch_sub(1, Ordering::AcqRel) == 1
                && let Some(other) = next.replace(heir)
            {
                scope.spawn(move |scope| follow(scope, nodes, other));
            }
        }
    }
}
