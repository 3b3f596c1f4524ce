//! Fills the OpenMetrics page: numbers, and the names of users; no program's name and no number of
//! a process, because every user of the machine can read it.

use std::collections::BTreeMap;

use numaestro_abi::page::{fold, why};
use numaestro_engine::Snapshot;
use numaestro_host::memory::Folding;

use super::format::{Kind, Page};
use crate::decision::histogram::Histogram;

/// States that are shown also while nothing is in them, so that a graph has no holes.
const APP_STATES: [&str; 6] = ["waiting", "running", "sequential", "blocked", "stopped", "wrapper"];
const PU_STATES: [&str; 6] = ["free", "owned", "leaving", "reserved", "unmanaged", "offline"];

/// The values that the page shows.
#[derive(Debug)]
pub(crate) struct Figures<'a> {
    pub(crate) ledger: &'a Snapshot,
    /// Time since the manager's start, nanoseconds.
    pub(crate) uptime_ns: u64,
    pub(crate) steps: &'a Histogram,
    pub(crate) refusals: u64,
    /// Memory that was moved to other nodes, bytes.
    pub(crate) moved_bytes: u64,
    pub(crate) connections: usize,
    /// Processors of each user that has applications, by name.
    pub(crate) users: BTreeMap<String, usize>,
    /// The folding of every application with a page.
    pub(crate) folded: Vec<Folding>,
}

impl Figures<'_> {
    /// The page.
    pub(crate) fn page(&self) -> String {
        let mut page = Page::default();
        self.about_the_manager(&mut page);
        about_states(&mut page, self.ledger);
        self.about_users(&mut page);
        self.about_folding(&mut page);
        page.finish()
    }

    fn about_the_manager(&self, page: &mut Page) {
        let ledger = self.ledger;
        page.family("numaestro_build", Kind::Info, "", "The manager.");
        page.sample("_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        page.family("numaestro_policy", Kind::Info, "", "The present policy.");
        page.sample("_info", &[("policy", &ledger.policy)], 1);
        page.family("numaestro_uptime_seconds", Kind::Gauge, "seconds", "Since the start of the manager.");
        page.sample("", &[], self.uptime_ns as f64 / 1e9);
        page.family("numaestro_decisions", Kind::Counter, "", "Decisions about who has which processors.");
        page.sample("_total", &[], ledger.decisions);
        page.family("numaestro_step_seconds", Kind::Histogram, "seconds", "Time that the engine took for an event.");
        page.histogram(self.steps);
        page.family("numaestro_refusals", Kind::Counter, "", "Wishes that could not be fulfilled.");
        page.sample("_total", &[], self.refusals);
        page.family(
            "numaestro_moved_bytes",
            Kind::Counter,
            "bytes",
            "Memory of programs that was moved to other nodes.",
        );
        page.sample("_total", &[], self.moved_bytes);
        page.family("numaestro_connections", Kind::Gauge, "", "Commands and programs that are connected.");
        page.sample("", &[], self.connections);
        page.family("numaestro_queue_length", Kind::Gauge, "", "Applications in the queue.");
        page.sample("", &[], ledger.queue.len());
        page.family(
            "numaestro_unmanaged_processors",
            Kind::Gauge,
            "processors",
            "Kept busy by load that is not managed.",
        );
        page.sample("", &[], ledger.unmanaged);
    }

    fn about_users(&self, page: &mut Page) {
        page.family(
            "numaestro_user_processors",
            Kind::Gauge,
            "processors",
            "Processors that the programs of a user have.",
        );
        for (user, count) in &self.users {
            page.sample("", &[("user", user)], count);
        }
    }

    fn about_folding(&self, page: &mut Page) {
        let folded = &self.folded;
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
    let mut processors = count(&PU_STATES, &mut ledger.pus.iter().map(numaestro_engine::PuSnapshot::state_name));
    leave_to_load(&mut processors, ledger.unmanaged as usize);
    for (state, number) in processors {
        page.sample("", &[("state", state)], number);
    }
}

/// The engine counts the load at once, and marks the processors that it keeps where it can: a
/// processor is not free to a reader who sees in another panel that load takes it.
fn leave_to_load(processors: &mut BTreeMap<&str, usize>, load: usize) {
    let of = |state| processors.get(state).copied().unwrap_or_default();
    let unmarked = load.saturating_sub(of("unmanaged")).min(of("free"));
    *processors.entry("free").or_default() -= unmarked;
    *processors.entry("unmanaged").or_default() += unmarked;
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_engine::{Engine, PuState, Settings};

    /// The lines on processors while load takes so many of four, of which one is marked and one has
    /// an owner.
    fn lines(load: u32) -> Vec<String> {
        let machine = numaestro_topology::synthetic::parse("core:4 pu:1").unwrap();
        let mut ledger = Engine::new(machine, Settings::default(), 1).unwrap().snapshot();
        (ledger.pus[0].state, ledger.pus[3].state) = (PuState::Owned, PuState::Unmanaged);
        ledger.unmanaged = load;
        let mut page = Page::default();
        about_states(&mut page, &ledger);
        let text = page.finish();
        let wanted = |line: &&str| line.starts_with("numaestro_processors{") && !line.ends_with(" 0");
        text.lines().filter(wanted).map(str::to_owned).collect()
    }

    #[test]
    fn what_load_takes_is_not_free() {
        let states = |free: &str, unmanaged: u32| {
            let rest = format!("numaestro_processors{{state=\"unmanaged\"}} {unmanaged}");
            let owned = "numaestro_processors{state=\"owned\"} 1";
            let all = [free, owned, &rest];
            all.iter().filter(|line| !line.is_empty()).map(|line| (*line).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(lines(1), states("numaestro_processors{state=\"free\"} 2", 1), "all of it is marked");
        assert_eq!(lines(2), states("numaestro_processors{state=\"free\"} 1", 2));
        // A program runs where the load does: it has the processor all the same.
        assert_eq!(lines(4), states("", 3));
    }
}
