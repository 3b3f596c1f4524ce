//! The picture that people see. Built from what the manager keeps and what the programs say in their pages; it changes nothing.

use numaestro_abi::control::{AppStatus, Class, PuStatus, Status};
use numaestro_abi::page::runtime;
use numaestro_engine::{self as event, PuSnapshot, Snapshot};
use numaestro_host::memory::Report;
use numaestro_host::monotonic_ns;

use crate::app::{App, Turn, runtime_names};
use crate::manager::Manager;

impl Manager {
    /// Everything there is to see, now.
    pub(crate) fn status(&self) -> Status {
        let now = monotonic_ns();
        let ledger = self.brain.snapshot();
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_s: seconds(now.saturating_sub(self.started_ns)),
            policy: ledger.policy.clone(),
            cpus: self.usable.to_string(),
            unmanaged: self.foreign.told,
            decisions: ledger.decisions,
            decision_ns: self.brain.step_ns,
            bandwidth: self.bandwidth.status(),
            apps: self.apps.values().map(|entry| self.app_status(entry, &ledger, now)).collect(),
            pus: self.pu_statuses(&ledger),
            queue: ledger.queue.iter().map(|app| app.0).collect(),
            nodes: Vec::new(),
        }
    }

    fn app_status(&self, entry: &App, ledger: &Snapshot, now: u64) -> AppStatus {
        let report = entry.report();
        let target = entry.target.as_ref().filter(|_| !entry.is_wrapper() && !entry.is_stopped());
        let known = ledger.apps.iter().find(|known| known.app.0 == entry.number);
        AppStatus {
            app: entry.number,
            pid: entry.pid(),
            user: self.name_of(entry.uid),
            name: entry.name.clone(),
            btr: self.bandwidth.rates(entry.number),
            memory: Self::memory_status(entry),
            class: shown_class(entry, &report),
            state: known.map_or("waiting", |known| known.state.name()).to_owned(),
            runtimes: runtime_names(entry.runtimes | report.runtimes),
            request: entry.request,
            count: target.map_or(0, |target| target.count),
            cpus: target.map(|target| target.cpus.to_string()).unwrap_or_default(),
            shared: target.is_some_and(|target| target.shared),
            folded: report.folded,
            folding: entry.page.as_ref().and_then(|page| crate::folding::shown(&page.folding())),
            held_by: held_by(&report).to_owned(),
            team: report.team,
            regions: report.regions,
            epoch: [entry.page_epoch(), entry.epoch_base.wrapping_add(entry.adopted)],
            weight_milli: entry.options.weight_milli.unwrap_or(1000),
            age_s: seconds(now.saturating_sub(entry.arrived_ns)),
            why: why(entry, known.map(|known| known.why.as_str())),
        }
    }

    fn pu_statuses(&self, ledger: &Snapshot) -> Vec<PuStatus> {
        let row = |entry: &PuSnapshot| {
            let pu = self.machine.pu(entry.pu);
            PuStatus {
                os: pu.os_index,
                node: self.machine.numa_nodes().get(pu.node.index()).map_or(0, |node| node.os_index),
                core: pu.core,
                state: entry.state_name().to_owned(),
                owner: entry.owner.map(|app| app.0),
                guests: entry.guests.iter().map(|app| app.0).collect(),
            }
        };
        ledger.pus.iter().map(row).collect()
    }
}

/// One sentence: what the engine says, and what the system adds.
fn why(entry: &App, known: Option<&str>) -> String {
    if let Some(kept) = entry.kept_away() {
        return kept;
    }
    if let Some(denied) = &entry.denied {
        return format!("the system does not let it be moved: {denied}");
    }
    let Some(known) = known else { return String::new() };
    let mut parts = vec![known.to_owned()];
    if let Turn::Unstoppable(reason) = &entry.turn {
        parts.push(format!("it cannot be stopped: {reason}"));
    }
    if entry.allowed.most.is_some() {
        parts.push(entry.allowed.why.clone());
    }
    if let Some(stays) = &entry.stays {
        parts.push(format!("steered by affinity: {stays}"));
    }
    parts.extend(Manager::memory_remark(entry));
    parts.join("; ")
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn shown_class(entry: &App, report: &Report) -> Class {
    let follows = entry.options.class == Class::Malleable || report.follows;
    let openmp = (entry.runtimes | report.runtimes) & (runtime::GOMP | runtime::KMP) != 0;
    match entry.class {
        _ if entry.options.class == Class::Fold => Class::Fold,
        event::Class::Malleable if openmp && !follows => Class::Whole,
        event::Class::Malleable => Class::Malleable,
        event::Class::Setter => Class::Setter,
        event::Class::Fold => Class::Fold,
    }
}

fn held_by(report: &Report) -> &'static str {
    match report.held_by {
        4 => "explicit sizes",
        5 => "the user's wish",
        6 => "OMP_DYNAMIC=false",
        _ => "",
    }
}
