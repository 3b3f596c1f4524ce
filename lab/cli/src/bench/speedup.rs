//! `numaestro bench speedup`: PDPA on real programs, against equal shares and against the right
//! counts fixed by hand.
//!
//! Equal shares are right where as many programs run as the machine has processors. So the
//! workloads differ in the program that runs longest: it is then alone with processors that it may
//! or may not be able to use. The benchmark uses the public interface only.

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use super::args::LiveArgs;
use super::bounds::{COUNTS_S, PDPA_RATIO, SEARCH_RATIO};
use super::live::{self, Bench, Job, Round};
use super::machine::{self, Description};
use super::managed::Managed;
use super::stats;

const POLICIES: [&str; 2] = ["pdpa", "equi"];
/// Time between two looks at the programs' numbers of processors.
const LOOK: Duration = Duration::from_millis(100);

/// A program, and whether it is faster with more processors.
struct Member {
    job: Job,
    scales: bool,
}

/// Programs that start together.
struct Workload {
    name: &'static str,
    /// The question that it answers.
    asks: &'static str,
    members: [Member; 2],
    /// The one that the bounds are about.
    promised: bool,
}

const fn job(kernel: &'static str, work_s: f64) -> Job {
    Job { kernel, arguments: &[], work_s }
}

const fn pair(scaling: f64, other: &'static str, work_s: f64) -> [Member; 2] {
    [Member { job: job("mm", scaling), scales: true }, Member { job: job(other, work_s), scales: false }]
}

const WORKLOADS: [Workload; 4] = [
    Workload {
        name: "bounce-last",
        asks: "a program that more processors make slower outlives one that scales",
        members: pair(1.0, "bounce", 3.0),
        promised: true,
    },
    Workload {
        name: "critical-last",
        asks: "the same with a critical section",
        members: pair(1.0, "nonsc", 3.0),
        promised: false,
    },
    Workload {
        name: "scaling-last",
        asks: "the one that scales lives longest, and should be given everything",
        members: pair(4.0, "bounce", 1.0),
        promised: false,
    },
    Workload {
        name: "together",
        asks: "both as long: equal shares are right all the time",
        members: pair(2.0, "bounce", 2.0),
        promised: false,
    },
];

/// Counts at one moment.
#[derive(Debug, Clone, Serialize)]
struct Look {
    at_s: f64,
    counts: Vec<(String, u64)>,
    right: bool,
}

/// The result of one workload.
#[derive(Debug, Serialize)]
struct Row {
    workload: &'static str,
    asks: &'static str,
    /// Seconds, of every run.
    pdpa_s: Vec<f64>,
    equi_s: Vec<f64>,
    fixed_s: Vec<f64>,
    /// Medians: makespan under PDPA by the one under equal shares, and by the one with counts fixed
    /// by hand.
    by_equi: Option<f64>,
    by_fixed: Option<f64>,
    /// Longest time after a start or an end until the counts were right for the first time, of a
    /// run of its own that is watched.
    until_right_s: Option<f64>,
    looks: Vec<Look>,
    /// Largest share of the machine that others used in a run.
    foreign: f64,
    limited: bool,
}

/// Measures every workload.
pub fn speedup(args: &LiveArgs) -> Result<ExitCode> {
    let jobs = WORKLOADS.iter().flat_map(|w| w.members.iter().map(|m| &m.job));
    let bench = Bench::new(&args.places, args.length, Duration::from_secs_f64(args.time_limit), jobs)?;
    let (dir, _kept) = live::journals(args)?;
    let mut rows = Vec::new();
    let mut replays = Vec::new();
    {
        let files = POLICIES.map(|policy| dir.join(format!("{policy}.journal")));
        let start = |i: usize| Managed::start_recorded(&bench.places.numaestro, POLICIES[i], &files[i], &[]);
        let (pdpa, equi) = (start(0)?, start(1)?);
        for workload in WORKLOADS.iter().filter(|workload| args.wants(workload.name)) {
            let row = measure(&bench, workload, &pdpa, &equi, args.runs)?;
            print(&row);
            rows.push(row);
        }
        drop((pdpa, equi));
        for (policy, file) in POLICIES.iter().zip(&files) {
            let (equal, said) = live::replay(&bench.places.numaestro, file)?;
            println!("replay {policy}: {said}");
            replays.push(equal);
        }
    }
    conclude(args, &rows, &replays, bench.processors.len())
}

fn measure(bench: &Bench, workload: &Workload, pdpa: &Managed, equi: &Managed, runs: u32) -> Result<Row> {
    // Only teams that follow the allocation are measured at several sizes.
    let follow = vec!["--class", "malleable"];
    let free: Vec<(&Job, Vec<&str>)> = workload.members.iter().map(|member| (&member.job, follow.clone())).collect();
    let fixed: Vec<(&Job, Vec<&str>)> = workload
        .members
        .iter()
        .map(|member| {
            (&member.job, if member.scales { follow.clone() } else { vec!["--class", "malleable", "--max", "1"] })
        })
        .collect();
    let looks = Mutex::new(Vec::new());
    let capacity = bench.processors.len() as u64;
    bench.run(pdpa, &free, |running| {
        let (managed, origin) = (running.managed, running.origin);
        // Until all have ended: before the first has arrived there is nobody either.
        let mut seen = false;
        loop {
            let look = look(managed, workload, capacity, origin.elapsed().as_secs_f64());
            match look {
                Some(look) if look.counts.is_empty() && seen => return,
                Some(look) if !look.counts.is_empty() => {
                    seen = true;
                    looks.lock().expect("nobody panics with it").push(look);
                }
                _ if origin.elapsed() > Duration::from_mins(2) => return,
                _ => {}
            }
            std::thread::sleep(LOOK);
        }
    })?;
    let looks = looks.into_inner().expect("nobody panics with it");
    let mut rounds: [Vec<Round>; 3] = Default::default();
    for run in 0..runs {
        // Interleaved, and none of them always first.
        for which in 0..rounds.len() {
            let which = (which + run as usize) % rounds.len();
            let (managed, jobs) = [(pdpa, &free), (equi, &free), (equi, &fixed)][which];
            rounds[which].push(bench.run(managed, jobs, |_| {})?);
        }
    }
    let spans = |rounds: &[Round]| rounds.iter().map(Round::makespan_s).collect::<Vec<_>>();
    let [pdpa_s, equi_s, fixed_s] = [&rounds[0], &rounds[1], &rounds[2]].map(|rounds| spans(rounds));
    Ok(Row {
        workload: workload.name,
        asks: workload.asks,
        by_equi: stats::ratio_of_medians(&pdpa_s, &equi_s),
        by_fixed: stats::ratio_of_medians(&pdpa_s, &fixed_s),
        pdpa_s,
        equi_s,
        fixed_s,
        until_right_s: until_right(&looks),
        looks,
        foreign: rounds.iter().flatten().map(|round| round.window.foreign()).fold(0.0, f64::max),
        limited: rounds.iter().flatten().any(|round| round.limited),
    })
}

fn look(managed: &Managed, workload: &Workload, capacity: u64, at_s: f64) -> Option<Look> {
    let status = managed.status()?;
    let apps = status.get("apps")?.as_array()?;
    let counts: Vec<(String, u64)> = apps
        .iter()
        .filter_map(|app| Some((app.get("name")?.as_str()?.to_owned(), app.get("count")?.as_u64()?)))
        .collect();
    let right = is_right(&counts, capacity, |name| {
        workload.members.iter().any(|member| member.scales && member.job.kernel == name)
    });
    Some(Look { at_s, counts, right })
}

/// Right is one processor for each that does not scale, and all the others for the one that does.
fn is_right(counts: &[(String, u64)], capacity: u64, scales: impl Fn(&str) -> bool) -> bool {
    let others = counts.iter().filter(|(name, _)| !scales(name)).count() as u64;
    counts.iter().all(|(name, count)| *count == if scales(name) { capacity.saturating_sub(others).max(1) } else { 1 })
}

/// The longest time from a look at which others run than before to the first one at which the
/// counts are right; one that never comes does not end before the last look.
fn until_right(looks: &[Look]) -> Option<f64> {
    let names = |look: &Look| look.counts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let mut longest: Option<f64> = None;
    let mut begin = 0;
    while begin < looks.len() {
        let end = (begin..looks.len()).find(|&i| names(&looks[i]) != names(&looks[begin])).unwrap_or(looks.len());
        let phase = &looks[begin..end];
        let since = if begin == 0 { 0.0 } else { phase[0].at_s };
        let right = phase.iter().find(|look| look.right).or(phase.last())?;
        longest = Some(longest.unwrap_or(0.0).max(right.at_s - since));
        begin = end;
    }
    longest
}

fn print(row: &Row) {
    let text = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.2}"));
    let median = |samples: &[f64]| text(stats::median(samples));
    println!("{:14} {}", row.workload, row.asks);
    println!(
        "  makespan s: pdpa {} equi {} fixed by hand {}; pdpa/equi {} pdpa/fixed {} of {} runs; others used up to {:.0} %{}",
        median(&row.pdpa_s),
        median(&row.equi_s),
        median(&row.fixed_s),
        text(row.by_equi),
        text(row.by_fixed),
        row.pdpa_s.len(),
        row.foreign * 100.0,
        if row.limited { "; runs were killed, times are lower bounds" } else { "" }
    );
    println!("  counts right after {} s; over time: {}", text(row.until_right_s), story(&row.looks));
}

/// The changes only: `0.1s mm 1 bounce 1, 1.2s bounce 2, …`.
fn story(looks: &[Look]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut last: Option<&Vec<(String, u64)>> = None;
    for look in looks {
        if last != Some(&look.counts) {
            let counts: Vec<String> = look.counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            lines.push(format!("{:.1}s {}", look.at_s, counts.join(" ")));
            last = Some(&look.counts);
        }
    }
    lines.join(", ")
}

fn conclude(args: &LiveArgs, rows: &[Row], replays: &[bool], processors: usize) -> Result<ExitCode> {
    #[derive(Serialize)]
    struct Record<'a> {
        machine: Description,
        rows: &'a [Row],
        replays_equal: &'a [bool],
    }
    let mut holds = replays.iter().all(|&equal| equal);
    let bound = WORKLOADS.iter().find(|workload| workload.promised).context("one of them is promised")?;
    if let Some(row) = rows.iter().find(|row| row.workload == bound.name) {
        let promises = [
            ("pdpa/equi", row.by_equi, PDPA_RATIO),
            ("pdpa/fixed by hand", row.by_fixed, SEARCH_RATIO),
            ("seconds until the counts are right", row.until_right_s, COUNTS_S),
        ];
        for (what, value, most) in promises {
            let kept = value.is_some_and(|value| value <= most);
            holds &= kept;
            println!("{} {}: {what} at most {most}", bound.name, if kept { "holds" } else { "FAILS" });
        }
    }
    let machine = machine::describe(processors);
    println!("load of this machine at the end: {}", machine.load);
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&Record { machine, rows, replays_equal: replays })?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(if args.check && !holds { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_s: f64, counts: &[(&str, u64)]) -> Look {
        let counts: Vec<(String, u64)> = counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        let right = is_right(&counts, 4, |name| name == "mm");
        Look { at_s, counts, right }
    }

    #[test]
    fn who_scales_should_have_what_the_others_leave() {
        assert!(look(0.0, &[("mm", 3), ("bounce", 1)]).right);
        assert!(!look(0.0, &[("mm", 2), ("bounce", 2)]).right);
        assert!(look(0.0, &[("mm", 4)]).right && !look(0.0, &[("mm", 1)]).right);
        assert!(look(0.0, &[("bounce", 1)]).right && !look(0.0, &[("bounce", 4)]).right);
    }

    #[test]
    fn the_time_counts_from_each_change_of_programs() {
        let both = [("mm", 3), ("bounce", 1)];
        let looks = [look(0.5, &both), look(2.0, &[("mm", 1)]), look(2.5, &[("mm", 4)]), look(9.0, &[("mm", 1)])];
        assert_eq!(until_right(&looks), Some(0.5), "a later test of fewer is none of it");
        let never = [look(0.1, &both), look(1.0, &[("bounce", 2)]), look(6.0, &[("bounce", 2)])];
        assert_eq!(until_right(&never), Some(5.0));
        assert_eq!(until_right(&[]), None);
    }

    #[test]
    fn the_story_tells_changes_only() {
        let looks = [look(0.1, &[("mm", 1)]), look(0.2, &[("mm", 1)]), look(0.3, &[("mm", 2)])];
        assert_eq!(story(&looks), "0.1s mm 1, 0.3s mm 2");
    }
}
