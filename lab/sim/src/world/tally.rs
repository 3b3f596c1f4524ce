//! Counts of a run: actions by kind, applications at once, jobs that have ended.

use super::os::Usage;
use crate::Nanos;
use crate::machine::Costs;
use crate::outcome::{Decisions, JobRecord, Level, Outcome};
use numaestro_engine::Action;

/// The counters of one run.
#[derive(Debug, Default)]
pub struct Tally {
    decisions: Decisions,
    /// Number of applications that have started and not ended, over time.
    levels: Vec<Level>,
    running: u32,
    /// Number of applications that can never run.
    refusals: u64,
    jobs: Vec<JobRecord>,
    /// Number of jobs that have been shown to the observer.
    shown: usize,
}

impl Tally {
    /// Counts actions of the engine.
    pub fn count(&mut self, actions: &[Action]) {
        let counted = &mut self.decisions;
        for action in actions {
            match action {
                Action::Start { .. } => counted.starts += 1,
                Action::Wait { .. } => counted.waits += 1,
                Action::Target { .. } => counted.targets += 1,
                Action::Stop { .. } => counted.stops += 1,
                Action::Continue { .. } => counted.continues += 1,
                Action::Pages { .. } => counted.pages += 1,
                Action::Force { .. } => counted.forces += 1,
                Action::Refuse { .. } => counted.refusals += 1,
            }
        }
    }

    /// An application has started.
    pub fn start(&mut self, now: Nanos) {
        self.running += 1;
        self.level(now);
    }

    /// An application has ended, with this record, and this usage of its threads.
    pub fn end(&mut self, now: Nanos, record: &JobRecord, usage: Usage, costs: &Costs) {
        self.jobs.push(JobRecord {
            ended: now,
            cpu_ns: record.cpu_ns + usage.cpu_ns,
            local_refs: libm::round(usage.local_refs) as u64,
            remote_refs: libm::round(usage.remote_refs) as u64,
            reload_lines: usage.reload_lines,
            migrations: usage.migrations,
            children_away: usage.children_away,
            overhead_ns: usage.overhead_ns,
            spin_ns: usage.spin_ns,
            system_ns: usage.overhead_ns + usage.spin_ns / 1000 * u64::from(costs.waiting_milli),
            ..record.clone()
        });
        self.running -= 1;
        self.level(now);
    }

    fn level(&mut self, at: Nanos) {
        match self.levels.last_mut() {
            Some(last) if last.at == at => last.running = self.running,
            _ => self.levels.push(Level { at, running: self.running }),
        }
    }

    /// An application can never run.
    pub fn refuse(&mut self) {
        self.refusals += 1;
    }

    /// Jobs that have ended since the last call.
    pub fn ended(&mut self) -> &[JobRecord] {
        let shown = std::mem::replace(&mut self.shown, self.jobs.len());
        &self.jobs[shown..]
    }

    /// Its part of the outcome so far.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            jobs: self.jobs.clone(),
            refusals: self.refusals,
            decisions: self.decisions,
            levels: self.levels.clone(),
            ..Outcome::default()
        }
    }
}
