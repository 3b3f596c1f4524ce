//! Figure 4 and the three arrivals of section 6.2: the exact processors of each job.

use crate::hector::{Kernel, Placed, Streams};
use crate::{Estimate, Finding, Judge, Lab, Trouble};
use std::collections::BTreeSet;

/// Jobs of one kernel that arrive at once, and the processors of their processes.
fn at_once(lab: &Lab, jobs: u32, processes: u32, placement: &str) -> Result<Vec<Placed>, Trouble> {
    let streams = Streams {
        kernels: &[Kernel::Hough],
        count: jobs,
        repetitions: 1,
        parallelism: processes,
        ..Streams::usual(4, placement, 16)
    };
    let experiment = crate::Experiment { runs: RUNS, ..streams.experiment(lab)? };
    Ok(lab.observed(&experiment, Placed::default)?.into_iter().map(|(placed, _)| placed).collect())
}

/// Number of runs: enough to show the effect of random choices.
const RUNS: u32 = 48;

/// B97-Fig4.
pub fn two_wide_jobs(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for size in [4, 6] {
        let runs = at_once(lab, 2, 6, &format!("worst-fit(equal={size})"))?;
        let (mut as_drawn, mut with_most, mut jobs) = (0, 0, 0);
        for placed in &runs {
            let counts: Vec<[u32; 4]> = placed.jobs.values().map(Placed::by_station).collect();
            as_drawn += usize::from(is_as_drawn(&counts));
            for processes in placed.jobs.values() {
                let counts = Placed::by_station(processes);
                let parent = processes.get(&0).map_or(0, |&pu| counts[Placed::station(pu)]);
                jobs += 1;
                with_most += u32::from(parent == counts.into_iter().max().unwrap_or(0));
            }
        }
        let share = f64::from(with_most) / f64::from(jobs);
        judge.value(format!("parent with most of its processes, pools of {size}"), "", Estimate::exact(share));
        let what = format!("pools of {size}: 4 on a station of its own and 2 on the third, for both");
        judge.demand(what, "as drawn", format!("{as_drawn} of {} runs", runs.len()), as_drawn == runs.len());
        if size == 4 {
            judge.demand(
                "pools of 4: parent on the station with most",
                "always",
                format!("{share:.2}"),
                with_most == jobs,
            );
        } else {
            judge.demand(
                "pools of 6: parent on the station with most",
                "not always",
                format!("{share:.2}"),
                with_most < jobs,
            );
        }
    }
    Ok(judge.verdict(""))
}

/// Each job has four processes on a station where the other job has none, and two on the third
/// station, where both have some.
fn is_as_drawn(counts: &[[u32; 4]]) -> bool {
    let [a, b] = counts else { return false };
    let shape = |job: &[u32; 4]| {
        let mut sorted = *job;
        sorted.sort_unstable();
        sorted == [0, 0, 2, 4] && job[0] == 0
    };
    let place = |job: &[u32; 4], count| job.iter().position(|&here| here == count);
    shape(a) && shape(b) && place(a, 2) == place(b, 2) && place(a, 4) != place(b, 4)
}

/// B97-BF.
pub fn three_arrivals(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for (rule, pools) in [("first-fit", 1), ("best-fit", 1), ("worst-fit", 3)] {
        let runs = at_once(lab, 3, 4, &format!("{rule}(equal=4)"))?;
        let stations = |placed: &Placed| -> usize {
            let parents = placed.jobs.values().filter_map(|processes| processes.get(&0));
            parents.map(|&pu| Placed::station(pu)).collect::<BTreeSet<_>>().len()
        };
        let exact = runs.iter().filter(|placed| stations(placed) == pools).count();
        judge.value(format!("pools of three arrivals, {rule}"), "", Estimate::exact(stations(&runs[0]) as f64));
        let what = format!("{rule}: three first processes in {pools} pool(s)");
        judge.demand(what, pools.to_string(), format!("{exact} of {} runs", runs.len()), exact == runs.len());
    }
    Ok(judge.verdict(""))
}
