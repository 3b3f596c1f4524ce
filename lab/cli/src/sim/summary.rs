//! The summary of one run: the numbers that tables, files and plots show.

use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::stats::moments::{percentile, sorted};
use numaestro_topology::PuSet;
use serde::{Deserialize, Serialize};

/// One run. Times in seconds, shares between 0 and 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its seed.
    pub seed: u64,
    /// Applications that ended and count.
    pub jobs: u64,
    /// Applications that ended and were left out as warm-up.
    pub warmup_jobs: u64,
    /// Response time, from arrival to end, seconds: mean.
    pub response_s: f64,
    /// Median of the response time, seconds.
    pub response_p50_s: f64,
    /// 95th percentile of the response time, seconds.
    pub response_p95_s: f64,
    /// Longest response time, seconds.
    pub response_max_s: f64,
    /// From arrival to start: mean.
    pub wait_s: f64,
    /// Response time over run time, at least 10 s of it and at least 1: the bounded slowdown of
    /// Feitelson et al. 1997, mean.
    pub slowdown: f64,
    /// Processor time of an application, seconds: mean.
    pub cpu_s: f64,
    /// Until the last application has ended, seconds: the manager's timers may go on longer.
    pub makespan_s: f64,
    /// Share of the managed processors' time that was not idle.
    pub utilisation: f64,
    /// Share of it that was work.
    pub work: f64,
    /// Share of waiting on the processor.
    pub spin: f64,
    /// Share of refilling caches.
    pub reload: f64,
    /// Share of changing and moving threads, and of page faults.
    pub overhead: f64,
    /// Idle share.
    pub idle: f64,
    /// References to the nearest class of memory.
    pub local_refs: u64,
    /// References to all other classes.
    pub remote_refs: u64,
    /// Share of all references that were remote; 0 without any.
    pub remote_share: f64,
    /// Threads moved to another processor.
    pub migrations: u64,
    /// Threads created besides masters.
    pub children: u64,
    /// Of these, begun on another object (package, station) than their master.
    pub children_away: u64,
    /// Mean utilisation of the most used channel; 0 without channels.
    pub busiest_channel: f64,
    /// Applications that ran at the same time: mean over the run.
    #[serde(default)]
    pub level: f64,
    /// Sets of processors told, applications stopped and let go on.
    #[serde(default)]
    pub decisions: u64,
    /// Times that applications were stopped.
    #[serde(default)]
    pub stops: u64,
    /// Time of the search for an application's number of processors (PDPA), seconds: mean.
    #[serde(default)]
    pub search_s: f64,
    /// Processor time of an application that went to the system: mean.
    #[serde(default)]
    pub system_s: f64,
    /// Events of threads.
    pub thread_events: u64,
    /// Events given to the engine.
    pub engine_events: u64,
    /// Applications that the engine refused for good.
    pub refusals: u64,
    /// Fingerprint of the event log: equal runs have equal ones.
    pub fingerprint: String,
    /// By program, in order of their names.
    pub programs: Vec<ProgramSummary>,
}

/// The applications of one program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramSummary {
    /// Its name.
    pub program: String,
    /// Applications that count.
    pub jobs: u64,
    /// Response time, from arrival to end, seconds: mean.
    pub response_s: f64,
    /// From arrival to start: mean.
    pub wait_s: f64,
    /// Processor time: mean.
    pub cpu_s: f64,
    /// Share of its references that were remote.
    pub remote_share: f64,
    /// Threads moved, mean.
    pub migrations: f64,
}

/// Run times below this count as this in slowdowns, nanoseconds.
const SLOWDOWN_BOUND_NS: f64 = 10e9;

impl Summary {
    /// The summary of an outcome. The first `warmup` (a share) of the applications, in order of
    /// arrival, are left out; `managed` are the processors that applications may have.
    pub fn of(outcome: &Outcome, seed: u64, warmup: f64, managed: &PuSet) -> Self {
        let mut jobs: Vec<&JobRecord> = outcome.jobs.iter().collect();
        jobs.sort_by_key(|job| (job.arrived, job.job));
        #[allow(clippy::cast_sign_loss)] // A share of a number.
        let left_out = (jobs.len() as f64 * warmup.clamp(0.0, 1.0)) as usize;
        let counted = &jobs[left_out..];
        let responses: Vec<f64> = counted.iter().map(|job| seconds(job.response())).collect();
        let in_order = sorted(&responses);
        let part = |share| percentile(&in_order, share).unwrap_or(0.0);
        let shares = Shares::of(outcome, managed);
        let sum = |of: fn(&JobRecord) -> u64| counted.iter().map(|job| of(job)).sum::<u64>();
        let (local_refs, remote_refs) = (sum(|job| job.local_refs), sum(|job| job.remote_refs));
        Self {
            seed,
            jobs: counted.len() as u64,
            warmup_jobs: left_out as u64,
            response_s: mean_s(counted, JobRecord::response),
            response_p50_s: part(0.5),
            response_p95_s: part(0.95),
            response_max_s: part(1.0),
            wait_s: mean_s(counted, wait),
            slowdown: mean(counted, slowdown),
            cpu_s: mean_s(counted, |job| job.cpu_ns),
            makespan_s: seconds(jobs.iter().map(|job| job.ended).max().unwrap_or(0)),
            utilisation: 1.0 - shares.idle,
            work: shares.work,
            spin: shares.spin,
            reload: shares.reload,
            overhead: shares.overhead,
            idle: shares.idle,
            local_refs,
            remote_refs,
            remote_share: share(remote_refs, local_refs + remote_refs),
            migrations: sum(|job| u64::from(job.migrations)),
            children: sum(|job| u64::from(job.children)),
            children_away: sum(|job| u64::from(job.children_away)),
            busiest_channel: outcome.channels.iter().map(|channel| channel.utilisation).fold(0.0, f64::max),
            level: outcome.mean_level(),
            decisions: outcome.decisions.targets + outcome.decisions.stops + outcome.decisions.continues,
            stops: outcome.decisions.stops,
            search_s: mean_s(counted, |job| job.searching_ns),
            system_s: mean_s(counted, |job| job.system_ns),
            thread_events: outcome.thread_events,
            engine_events: outcome.engine_events,
            refusals: outcome.refusals,
            fingerprint: format!("{:016x}", outcome.fingerprint),
            programs: programs(counted),
        }
    }
}

/// Shares of the managed processors' time.
struct Shares {
    work: f64,
    spin: f64,
    reload: f64,
    overhead: f64,
    idle: f64,
}

impl Shares {
    fn of(outcome: &Outcome, managed: &PuSet) -> Self {
        let mut sums = [0_u64; 5];
        for pu in managed.iter().filter_map(|pu| outcome.pus.get(pu.index())) {
            for (sum, part) in sums.iter_mut().zip([pu.work, pu.spin, pu.reload, pu.overhead, pu.idle]) {
                *sum += part;
            }
        }
        let all = sums.iter().sum();
        let [work, spin, reload, overhead, idle] = sums.map(|sum| share(sum, all));
        // A time of zero counts as all idle.
        Self { work, spin, reload, overhead, idle: if all == 0 { 1.0 } else { idle } }
    }
}

fn programs(jobs: &[&JobRecord]) -> Vec<ProgramSummary> {
    let mut names: Vec<&str> = jobs.iter().map(|job| &*job.program).collect();
    names.sort_unstable();
    names.dedup();
    let one = |name: &str| {
        let of_it: Vec<&JobRecord> = jobs.iter().copied().filter(|job| &*job.program == name).collect();
        let sum = |of: fn(&JobRecord) -> u64| of_it.iter().map(|job| of(job)).sum::<u64>();
        let remote = sum(|job| job.remote_refs);
        ProgramSummary {
            program: name.to_owned(),
            jobs: of_it.len() as u64,
            response_s: mean_s(&of_it, JobRecord::response),
            wait_s: mean_s(&of_it, wait),
            cpu_s: mean_s(&of_it, |job| job.cpu_ns),
            remote_share: share(remote, remote + sum(|job| job.local_refs)),
            migrations: mean(&of_it, |job| f64::from(job.migrations)),
        }
    };
    names.into_iter().map(one).collect()
}

fn slowdown(job: &JobRecord) -> f64 {
    let run = (job.ended - job.started) as f64;
    (job.response() as f64 / run.max(SLOWDOWN_BOUND_NS)).max(1.0)
}

fn wait(job: &JobRecord) -> u64 {
    job.started - job.arrived
}

/// Mean of times, in seconds. Added up as whole nanoseconds: jobs that end in another order must
/// not differ in the last digit, which a comparison of equal policies would take for a difference.
fn mean_s(jobs: &[&JobRecord], of: impl Fn(&JobRecord) -> u64) -> f64 {
    let sum: u128 = jobs.iter().map(|job| u128::from(of(job))).sum();
    if jobs.is_empty() { 0.0 } else { sum as f64 / jobs.len() as f64 / 1e9 }
}

fn mean(jobs: &[&JobRecord], of: impl Fn(&JobRecord) -> f64) -> f64 {
    if jobs.is_empty() { 0.0 } else { jobs.iter().map(|job| of(job)).sum::<f64>() / jobs.len() as f64 }
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use numaestro_sim::outcome::PuTime;

    /// An application of program `p` that arrives, starts and ends at these seconds.
    pub fn job(job: u64, p: &str, [arrived, started, ended]: [u64; 3]) -> JobRecord {
        JobRecord {
            job,
            program: p.into(),
            stream: 0,
            arrived: arrived * 1_000_000_000,
            started: started * 1_000_000_000,
            ended: ended * 1_000_000_000,
            cpu_ns: 2_000_000_000,
            threads: 2,
            local_refs: 30,
            remote_refs: 10,
            migrations: 3,
            children_away: 1,
            children: 2,
            ..JobRecord::default()
        }
    }

    /// A run of 40 s with these applications on a reserved and a managed processor.
    pub fn outcome(jobs: Vec<JobRecord>) -> Outcome {
        let busy = PuTime { work: 6, spin: 1, reload: 1, overhead: 1, idle: 1 };
        let reserved = PuTime { idle: 10, ..PuTime::default() };
        Outcome {
            end: 40_000_000_000,
            jobs,
            pus: vec![reserved, busy],
            channels: vec![],
            thread_events: 5,
            engine_events: 4,
            refusals: 0,
            fingerprint: 255,
            ..Outcome::default()
        }
    }

    fn managed() -> PuSet {
        "1".parse().expect("a set")
    }

    #[test]
    fn the_makespan_is_over_when_the_last_has_ended() {
        // A timer of the manager's is the last event of the run.
        let jobs = vec![job(2, "b", [10, 10, 20]), job(1, "a", [0, 10, 30])];
        assert!((Summary::of(&outcome(jobs), 7, 0.5, &managed()).makespan_s - 30.0).abs() < 1e-9);
        assert!(Summary::of(&outcome(vec![]), 7, 0.0, &managed()).makespan_s.abs() < 1e-9, "nobody has ended");
    }

    #[test]
    fn means_shares_and_programs() {
        // In order of ends, as outcomes are: the first to arrive ends last.
        let jobs = vec![job(2, "b", [10, 10, 20]), job(1, "a", [0, 10, 40])];
        let summary = Summary::of(&outcome(jobs), 7, 0.0, &managed());
        assert!((summary.response_s - 25.0).abs() < 1e-9 && (summary.wait_s - 5.0).abs() < 1e-9);
        // 40 s after 30 s of running, and 10 s after 10 s.
        assert!((summary.slowdown - f64::midpoint(40.0 / 30.0, 1.0)).abs() < 1e-9);
        assert!((summary.utilisation - 0.9).abs() < 1e-9, "the reserved processor does not count: {summary:?}");
        assert!((summary.remote_share - 0.25).abs() < 1e-9 && summary.migrations == 6);
        assert_eq!(summary.fingerprint, "00000000000000ff");
        let names: Vec<&str> = summary.programs.iter().map(|program| program.program.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!((summary.programs[0].response_s - 40.0).abs() < 1e-9);
    }

    #[test]
    fn equal_times_in_another_order_have_equal_means() {
        let times = [[0, 0, 7], [0, 1, 10], [0, 2, 13]];
        let jobs = |order: [usize; 3]| (1..).zip(order).map(|(number, at)| job(number, "a", times[at])).collect();
        let of = |order| Summary::of(&outcome(jobs(order)), 1, 0.0, &managed());
        let (one, other) = (of([0, 1, 2]), of([2, 0, 1]));
        assert!(
            one.response_s.to_bits() == other.response_s.to_bits() && one.wait_s.to_bits() == other.wait_s.to_bits()
        );
    }

    #[test]
    fn warm_up_is_those_who_arrived_first() {
        let jobs = vec![job(2, "b", [10, 10, 20]), job(1, "a", [0, 10, 40])];
        let summary = Summary::of(&outcome(jobs), 7, 0.5, &managed());
        assert_eq!((summary.jobs, summary.warmup_jobs), (1, 1));
        assert!((summary.response_s - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_run_without_applications_has_numbers_all_the_same() {
        let summary = Summary::of(&outcome(vec![]), 1, 0.1, &managed());
        assert!(summary.response_s == 0.0 && summary.programs.is_empty() && summary.response_max_s == 0.0);
    }

    #[test]
    fn what_is_written_reads_back_exactly() {
        let mut summary = Summary::of(&outcome(vec![job(1, "a", [0, 1, 3])]), 1, 0.0, &managed());
        summary.response_s = 0.1 + 0.2;
        summary.utilisation = 1.0 / 3.0;
        let text = serde_json::to_string(&summary).expect("numbers");
        assert_eq!(serde_json::from_str::<Summary>(&text).expect("the same shape"), summary);
    }
}
