//! The picture that people see. Built from what the manager keeps and what the programs say in their pages; it changes nothing.

use numaestro_abi::control::{AppStatus, Class, PuStatus, Status};
use numaestro_engine as event;
use numaestro_host::memory::Report;
use numaestro_host::monotonic_ns;

use crate::app::{App, runtime_names};
use crate::manager::Manager;

impl Manager {
    /// Everything there is to see, now.
    pub(crate) fn status(&self) -> Status {
        let now = monotonic_ns();
        let mut queue: Vec<&App> = self.apps.values().filter(|entry| entry.waiting.is_some()).collect();
        queue.sort_by_key(|entry| (entry.waiting, entry.app));
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_s: seconds(now.saturating_sub(self.started_ns)),
            policy: self.brain.policy_text(),
            cpus: self.usable.to_string(),
            unmanaged: self.foreign.told,
            decisions: self.brain.events,
            decision_ns: self.brain.step_ns,
            apps: self.apps.values().map(|entry| self.app_status(entry, now)).collect(),
            pus: self.pu_statuses(),
            queue: queue.iter().map(|entry| entry.app).collect(),
        }
    }

    fn app_status(&self, entry: &App, now: u64) -> AppStatus {
        let report = entry.report();
        let target = entry.target.as_ref();
        let epoch = target.map_or(0, |target| entry.epoch_base.wrapping_add(target.epoch));
        AppStatus {
            app: entry.app,
            pid: entry.pid(),
            name: entry.name.clone(),
            class: shown_class(entry),
            state: state(entry).to_owned(),
            runtimes: runtime_names(entry.runtimes | report.runtimes),
            request: entry.request,
            count: if entry.is_wrapper() { 0 } else { entry.count() },
            cpus: target.filter(|_| !entry.is_wrapper()).map(|target| target.cpus.to_string()).unwrap_or_default(),
            shared: target.is_some_and(|target| target.shared),
            folded: report.folded,
            held_by: held_by(&report).to_owned(),
            team: report.team,
            regions: report.regions,
            epoch: [epoch, entry.epoch_base.wrapping_add(entry.adopted)],
            weight_milli: entry.options.weight_milli.unwrap_or(1000),
            age_s: seconds(now.saturating_sub(entry.arrived_ns)),
            why: self.why(entry),
        }
    }

    fn pu_statuses(&self) -> Vec<PuStatus> {
        let ledger = self.brain.processors();
        let row = |(pu, (state, owner, guests)): (&numaestro_topology::Pu, (&'static str, Option<u64>, Vec<u64>))| PuStatus {
            os: pu.os_index,
            node: self.machine.numa_nodes().get(pu.node.index()).map_or(0, |node| node.os_index),
            core: pu.core,
            state: state.to_owned(),
            owner,
            guests,
        };
        self.machine.pus().iter().zip(ledger).map(row).collect()
    }

    /// Why an application has what it has, in one sentence.
    fn why(&self, entry: &App) -> String {
        if let Some(denied) = &entry.denied {
            return format!("The system does not let it be moved: {denied}.");
        }
        if entry.is_wrapper() {
            return "It only waits for the programs that it has started.".to_owned();
        }
        if let Some(position) = entry.waiting {
            return format!("It waits for processors of its own, as number {position} in the queue.");
        }
        let Some(target) = &entry.target else { return "It has not been given processors yet.".to_owned() };
        let usable = self.usable.len() as u32;
        if entry.phases.sequential {
            "It is in a sequential phase; what it does not use is lent.".to_owned()
        } else if target.shared {
            format!("There are more programs than processors: {} share {usable}.", self.apps.len())
        } else if target.count >= entry.request {
            format!("It has all the {} that it can use.", target.count)
        } else if self.foreign.told > 0 {
            format!("{} of {usable} go to load that is not managed, the rest is shared by policy {}.", self.foreign.told, self.brain.policy_text())
        } else {
            format!("{} of {usable}: its part under policy {}.", target.count, self.brain.policy_text())
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn shown_class(entry: &App) -> Class {
    match entry.class {
        _ if entry.options.class == Class::Fold => Class::Fold,
        event::Class::Malleable => Class::Malleable,
        event::Class::Setter => Class::Setter,
        event::Class::Fold => Class::Fold,
    }
}

fn state(entry: &App) -> &'static str {
    if entry.is_wrapper() {
        "wrapper"
    } else if entry.waiting.is_some() {
        "waiting"
    } else if entry.phases.sequential {
        "sequential"
    } else {
        "running"
    }
}

fn held_by(report: &Report) -> &'static str {
    match report.held_by {
        1 => "told by omp_get_max_threads",
        2 => "thread-local data",
        3 => "regions that use the thread number without the team size",
        4 => "explicit sizes",
        5 => "the user's wish",
        _ => "",
    }
}
