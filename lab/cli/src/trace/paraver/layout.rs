//! The numbers of processors, applications, tasks and threads in the files, all from 1.
//!
//! A thread of Paraver belongs to one node, and records of it on another one are refused. So an
//! application has a task for each node on which it ever was, and each processor that it had there
//! at once is a thread of this task.

use super::super::timeline::{Span, Timeline};
use numaestro_topology::{Machine, NumaNodeId, PuId};

/// An application of Paraver; the last one may be the load that is not managed.
#[derive(Debug)]
pub struct Application {
    /// `None` for load that is not managed.
    app: Option<u64>,
    pub name: String,
    pub tasks: Vec<Task>,
}

/// The part of an application on one node.
#[derive(Debug)]
pub struct Task {
    pub node: NumaNodeId,
    pub threads: usize,
}

/// Where a record stands: processor, application, task and thread.
pub type Place = (usize, usize, usize, usize);

#[derive(Debug)]
pub struct Layout {
    /// In the order of their numbers: node by node, as the header counts them.
    pub pus: Vec<PuId>,
    /// The numbers of the processors, by processor.
    cpus: Vec<usize>,
    pub applications: Vec<Application>,
}

impl Layout {
    pub fn new(timeline: &Timeline) -> Self {
        let machine = &timeline.machine;
        let mut applications: Vec<Application> = timeline
            .rows()
            .map(|(app, row)| {
                let tasks = row.lanes.iter().map(|(&node, lanes)| Task { node, threads: lanes.len() }).collect();
                Application { app, name: timeline.name(app), tasks }
            })
            .collect();
        if applications.is_empty() {
            // Paraver opens no file without an application.
            applications.push(Application { app: None, name: "nobody".to_owned(), tasks: Vec::new() });
        }
        for application in applications.iter_mut().filter(|application| application.tasks.is_empty()) {
            application.tasks.push(Task { node: first_node(machine), threads: 1 });
        }
        let pus: Vec<PuId> = machine.numa_nodes().iter().flat_map(|node| &node.pus).collect();
        let mut cpus = vec![0; machine.pu_count()];
        for (cpu, pu) in (1..).zip(&pus) {
            cpus[pu.index()] = cpu;
        }
        Self { pus, cpus, applications }
    }

    /// Where somebody is on a processor.
    pub fn of_span(&self, machine: &Machine, pu: PuId, span: &Span) -> Place {
        let node = machine.pus()[pu.index()].node;
        let application = self.application(span.app);
        let tasks = &self.applications[application - 1].tasks;
        let task = tasks.iter().position(|task| task.node == node).map_or(1, |at| at + 1);
        (self.cpus[pu.index()], application, task, span.lane as usize + 1)
    }

    /// Where what concerns an application as a whole stands: on no processor.
    pub fn of_whole(&self, app: Option<u64>) -> Place {
        (0, self.application(app), 1, 1)
    }

    /// The number of an application; that of the first one for what has none.
    fn application(&self, app: Option<u64>) -> usize {
        // By their numbers, the load that is not managed last.
        let place =
            self.applications.binary_search_by_key(&(app.is_none(), app), |known| (known.app.is_none(), known.app));
        place.map_or(1, |at| at + 1)
    }
}

fn first_node(machine: &Machine) -> NumaNodeId {
    machine.pus().first().map(|pu| pu.node).unwrap_or_default()
}
