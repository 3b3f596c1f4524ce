//! Makes one run of one mix under one set-up: starts all programs at once, waits for all, checks
//! every result.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use super::launch::{self, Ended, Started};
use super::load::{self, Reading, Window};
use super::managed::Managed;
use super::mix::{Mix, Program};
use super::places::CommandLine;
use super::setup::Setup;
use super::stats;
use super::terms::{self, Terms};

/// The unmanaged program has the machine for so long before the others start.
const HOG_LEAD: Duration = Duration::from_millis(300);

/// The result of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Seconds from the common start to the end of the last program.
    pub makespan_s: f64,
    /// The same for each program, in the order of the mix.
    pub turnaround_s: Vec<f64>,
    /// Processor seconds of each program.
    pub cpu_s: Vec<f64>,
    /// Share of the machine that went to others, stolen time included.
    pub foreign: f64,
    /// Processor seconds stolen by the hypervisor.
    pub steal_s: f64,
    /// The time limit was reached: every time is a lower bound.
    pub limited: bool,
    /// A program failed or did not say that its result is right.
    pub error: Option<String>,
    /// Not counted, because others used too much of the machine.
    pub rejected: bool,
}

impl Run {
    /// Mean turnaround in seconds.
    pub fn mean_turnaround_s(&self) -> f64 {
        stats::mean(&self.turnaround_s).unwrap_or(0.0)
    }
}

/// The settings and commands needed to run any mix.
#[derive(Debug)]
pub struct Bench {
    /// OS indices of the processors to use.
    pub processors: Vec<usize>,
    /// The command line of each program.
    pub commands: BTreeMap<Program, CommandLine>,
    /// Repetitions that take each program one second on one processor.
    pub reps_per_s: BTreeMap<Program, f64>,
    /// Length of an ideal run in seconds.
    pub target_s: f64,
    /// Time limit of a run.
    pub limit: Duration,
}

impl Bench {
    /// Runs `mix` once; `managed` is the manager of the set-up, where it has one.
    pub fn run(&self, mix: &Mix, setup: Setup, managed: Option<&mut Managed>) -> Result<(Run, Window)> {
        let managed = match managed {
            Some(managed) => {
                managed.keep()?;
                managed.settle();
                Some(&*managed)
            }
            None => None,
        };
        let hog = if mix.hog { Some(self.start_hog(setup, mix)?) } else { None };
        let beside_s = |hog: Option<&Started>| {
            hog.map_or(0.0, |hog| load::process_time(hog.pid)) + managed.map_or(0.0, Managed::time)
        };
        let before = Reading::take(beside_s(hog.as_ref()));
        let origin = Instant::now();
        let ended = self.members(mix, setup, managed, origin);
        let after = Reading::take(beside_s(hog.as_ref()));
        if let Some(hog) = hog {
            launch::kill(hog)?;
        }
        let ended = ended?;
        let children: f64 = ended.iter().map(|end| end.cpu_s).sum();
        let window = before.until(&after, children, self.processors.len());
        Ok((judge(mix, &ended, &window), window))
    }

    fn members(&self, mix: &Mix, setup: Setup, managed: Option<&Managed>, origin: Instant) -> Result<Vec<Ended>> {
        let mut order: Vec<usize> = (0..mix.members.len()).collect();
        order.sort_by(|&a, &b| mix.members[a].start.total_cmp(&mix.members[b].start));
        let mut started: Vec<(usize, Started)> = Vec::new();
        for index in order {
            let due = Duration::from_secs_f64(mix.members[index].start * self.target_s);
            std::thread::sleep(due.saturating_sub(origin.elapsed()));
            match self.start(mix, index, setup, managed) {
                Ok(program) => started.push((index, program)),
                Err(error) => {
                    for (_, program) in started {
                        launch::kill(program)?;
                    }
                    return Err(error);
                }
            }
        }
        started.sort_by_key(|(index, _)| *index);
        launch::wait_all(started.into_iter().map(|(_, program)| program).collect(), origin, self.limit)
    }

    fn start(&self, mix: &Mix, index: usize, setup: Setup, managed: Option<&Managed>) -> Result<Started> {
        let member = &mix.members[index];
        let line = self.commands.get(&member.program).context("a program without a command")?;
        let terms = terms::terms(setup, mix, index, self.processors.len());
        let mut command = match managed {
            Some(managed) => managed.run(&[], &line.executable),
            None => launch::clean_command(&line.executable),
        };
        command.args(&line.arguments).args(["--json", "--reps", &self.reps(mix, index).to_string()]);
        command.envs(terms.env.iter().map(|(name, value)| (name, value)));
        launch::start(&mut command, self.cpus(&terms).as_deref())
    }

    /// Repetitions of a member: its share of the work that the whole machine can do in the length
    /// of an ideal run.
    #[allow(clippy::cast_sign_loss)] // A product of positive numbers.
    pub fn reps(&self, mix: &Mix, index: usize) -> u64 {
        let member = &mix.members[index];
        let seconds = member.work * self.target_s * self.processors.len() as f64 / mix.parts() as f64;
        let per_s = self.reps_per_s.get(&member.program).copied().unwrap_or(1.0);
        ((seconds * per_s).round() as u64).max(1)
    }

    fn start_hog(&self, setup: Setup, mix: &Mix) -> Result<Started> {
        let terms = terms::terms(setup, mix, mix.members.len(), self.processors.len());
        let mut command = launch::clean_command(std::path::Path::new("/bin/sh"));
        command.args(["-c", "while :; do :; done"]);
        let hog = launch::start(&mut command, self.cpus(&terms).as_deref())?;
        std::thread::sleep(HOG_LEAD);
        Ok(hog)
    }

    fn cpus(&self, terms: &Terms) -> Option<Vec<usize>> {
        terms.processors.as_ref().map(|positions| positions.iter().map(|&i| self.processors[i]).collect())
    }
}

fn judge(mix: &Mix, ended: &[Ended], window: &Window) -> Run {
    let limited = ended.iter().any(|end| end.limited);
    let errors: Vec<String> = mix
        .members
        .iter()
        .zip(ended)
        .filter(|(_, end)| !(end.limited || end.success && says_ok(&end.output)))
        .map(|(member, end)| format!("{}: {}", member.program.name, complaint(end)))
        .collect();
    Run {
        makespan_s: ended.iter().map(|end| end.turnaround_s).fold(0.0, f64::max),
        turnaround_s: ended.iter().map(|end| end.turnaround_s).collect(),
        cpu_s: ended.iter().map(|end| end.cpu_s).collect(),
        foreign: window.foreign(),
        steal_s: window.steal_s,
        limited,
        error: (!errors.is_empty()).then(|| errors.join("; ")),
        rejected: false,
    }
}

/// The JSON object in the output of a program, if there is one.
pub fn report_of(output: &str) -> Option<serde_json::Value> {
    output.lines().rev().find_map(|line| serde_json::from_str(line.trim()).ok()).filter(serde_json::Value::is_object)
}

/// Does the program say that its result is right?
pub fn says_ok(output: &str) -> bool {
    report_of(output).is_some_and(|report| report.get("verification").and_then(serde_json::Value::as_str) == Some("ok"))
}

fn complaint(end: &Ended) -> String {
    let last: String = end.output.trim().chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect();
    let what = if end.success { "did not say that its result is right" } else { "failed" };
    if last.is_empty() { format!("{what} and wrote nothing") } else { format!("{what}; its output ends with: {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_result_that_is_said_to_be_right_is_right() {
        assert!(says_ok("{\"name\":\"sor\",\"verification\":\"ok\"}\n"));
        assert!(says_ok("starting\n{\"verification\": \"ok\", \"wall_s\": 0.1}\nnumaestro: a note for people\n"));
        assert!(!says_ok("{\"name\":\"sor\",\"verification\":\"FAILED\"}\n"));
        assert!(!says_ok("ok\n") && !says_ok("") && !says_ok("{\"verification\":true}"));
    }

    #[test]
    fn a_wrong_result_is_an_error_and_a_late_one_a_bound() {
        let mix = super::super::mix::all().into_iter().find(|mix| mix.name == "pair/gcc/sor").expect("there");
        let end = |limited, success, output: &str| Ended {
            turnaround_s: if limited { 20.0 } else { 1.0 },
            cpu_s: 1.0,
            limited,
            success,
            output: output.to_owned(),
        };
        let right = end(false, true, "{\"verification\":\"ok\"}");
        let run = judge(&mix, &[right.clone(), end(false, true, "{\"verification\":\"FAILED\"}")], &Window::default());
        assert!(run.error.is_some_and(|error| error.contains("sor")));
        let run = judge(&mix, &[right.clone(), end(true, false, "")], &Window::default());
        assert!(run.limited && run.error.is_none() && (run.makespan_s - 20.0).abs() < 1e-9);
        let run = judge(&mix, &[right.clone(), right], &Window::default());
        assert!(!run.limited && run.error.is_none() && (run.mean_turnaround_s() - 1.0).abs() < 1e-9);
    }
}
