//! What the OpenMetrics page says of the manager: numbers, and the names of users; no program's name and no number of a process, because
//! every user of the machine can read it. It must not know how the page is asked for.

use std::collections::BTreeMap;

use numaestro_abi::page::{fold, why};
use numaestro_engine::Snapshot;
use numaestro_host::memory::{Folding, SharedPage};
use numaestro_host::monotonic_ns;

use super::format::{Kind, Page};
use crate::manager::Manager;

/// States that are shown also while nothing is in them, so that a graph has no holes.
const APP_STATES: [&str; 6] = ["waiting", "running", "sequential", "blocked", "stopped", "wrapper"];
const PU_STATES: [&str; 6] = ["free", "owned", "leaving", "reserved", "unmanaged", "offline"];

impl Manager {
    pub(super) fn metrics_page(&self) -> String {
        let ledger = self.brain.snapshot();
        let mut page = Page::default();
        self.about_the_manager(&mut page, &ledger);
        about_states(&mut page, &ledger);
        self.about_users(&mut page, &ledger);
        self.about_folding(&mut page);
        page.finish()
    }

    fn about_the_manager(&self, page: &mut Page, ledger: &Snapshot) {
        page.family("numaestro_build", Kind::Info, "", "The manager.");
        page.sample("_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        page.family("numaestro_policy", Kind::Info, "", "The present policy.");
        page.sample("_info", &[("policy", &ledger.policy)], 1);
        page.family("numaestro_uptime_seconds", Kind::Gauge, "seconds", "Since the start of the manager.");
        page.sample("", &[], monotonic_ns().saturating_sub(self.started_ns) as f64 / 1e9);
        page.family("numaestro_decisions", Kind::Counter, "", "Decisions about who has which processors.");
        page.sample("_total", &[], ledger.decisions);
        page.family("numaestro_step_seconds", Kind::Histogram, "seconds", "Time that the engine took for an event.");
        self.service.steps.write(page);
        page.family("numaestro_refusals", Kind::Counter, "", "Wishes that could not be fulfilled.");
        page.sample("_total", &[], self.refusals);
        page.family(
            "numaestro_moved_bytes",
            Kind::Counter,
            "bytes",
            "Memory of programs that was moved to other nodes.",
        );
        page.sample("_total", &[], self.service.moved_bytes);
        page.family("numaestro_connections", Kind::Gauge, "", "Commands and programs that are connected.");
        page.sample("", &[], self.connections.len());
        page.family("numaestro_queue_length", Kind::Gauge, "", "Applications in the queue.");
        page.sample("", &[], ledger.queue.len());
        page.family("numaestro_unmanaged_processors", Kind::Gauge, "processors", "Taken by load that is not managed.");
        page.sample("", &[], ledger.unmanaged);
    }

    fn about_users(&self, page: &mut Page, ledger: &Snapshot) {
        let mut users: BTreeMap<String, usize> = BTreeMap::new();
        for known in &ledger.pus {
            let owner = known.owner.and_then(|owner| self.apps.get(&owner.0));
            if let Some(entry) = owner {
                *users.entry(self.user_label(entry)).or_default() += 1;
            }
        }
        for entry in self.apps.values() {
            users.entry(self.user_label(entry)).or_default();
        }
        page.family(
            "numaestro_user_processors",
            Kind::Gauge,
            "processors",
            "Processors that the programs of a user have.",
        );
        for (user, count) in &users {
            page.sample("", &[("user", user)], count);
        }
    }

    fn about_folding(&self, page: &mut Page) {
        let folded: Vec<Folding> =
            self.apps.values().filter_map(|entry| entry.page.as_ref()).map(SharedPage::folding).collect();
        let count = |mode: u32, reason: Option<usize>| {
            let meant = |entry: &&Folding| entry.mode == mode && reason.is_none_or(|why| entry.why as usize == why);
            folded.iter().filter(meant).count()
        };
        page.family(
            "numaestro_folded_programs",
            Kind::Gauge,
            "",
            "Programs with more threads than processors, by the party that switches between the threads.",
        );
        page.sample("", &[("by", "user"), ("reason", "none")], count(fold::USER, None));
        for (number, reason) in why::NAMES.iter().enumerate() {
            page.sample("", &[("by", "kernel"), ("reason", reason)], count(fold::KERNEL, Some(number)));
        }
        let sum = |of: fn(&Folding) -> u32| {
            folded.iter().filter(|entry| entry.mode == fold::USER).map(|entry| u64::from(of(entry))).sum::<u64>()
        };
        page.family("numaestro_user_folded_threads", Kind::Gauge, "threads", "Threads that are folded in user space.");
        page.sample("", &[], sum(|entry| entry.threads));
        page.family("numaestro_carriers", Kind::Gauge, "", "Kernel threads that run threads folded in user space.");
        page.sample("", &[], sum(|entry| entry.carriers));
        page.family(
            "numaestro_fold_switches_per_second",
            Kind::Gauge,
            "",
            "Switches between threads in user space in the latest second.",
        );
        page.sample("", &[], sum(|entry| entry.switches_per_second));
    }

    /// What the user of a program is called. A manager of one user has no names, and needs none.
    fn user_label(&self, entry: &crate::app::App) -> String {
        self.name_of(entry.uid).unwrap_or_else(|| entry.uid.to_string())
    }
}

fn about_states(page: &mut Page, ledger: &Snapshot) {
    let count = |states: &[&'static str], found: &mut dyn Iterator<Item = &'static str>| {
        let mut counts: BTreeMap<&str, usize> = states.iter().map(|state| (*state, 0)).collect();
        found.for_each(|state| *counts.entry(state).or_default() += 1);
        counts
    };
    page.family("numaestro_applications", Kind::Gauge, "", "Applications by what they are doing.");
    for (state, number) in count(&APP_STATES, &mut ledger.apps.iter().map(|app| app.state.name())) {
        page.sample("", &[("state", state)], number);
    }
    page.family("numaestro_processors", Kind::Gauge, "", "Processors by what they are.");
    for (state, number) in count(&PU_STATES, &mut ledger.pus.iter().map(numaestro_engine::PuSnapshot::state_name)) {
        page.sample("", &[("state", state)], number);
    }
}
