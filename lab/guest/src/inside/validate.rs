//! The simulator beside the live manager: how many processors programs have, on which nodes, and
//! where their homes are. No time counts.
//!
//! A scenario is one policy. It runs all mixes, writes a staged run of each (the steps, the
//! kernel's word after each step, the manager's journal), and `numaestro sim validate --staged`
//! simulates the same steps. They have to agree. Then it simulates another policy, and they must
//! not: a comparison that finds no difference there would prove nothing.
//!
//! The order of arrivals and departures is forced: programs run until they are killed, and each
//! step waits until everything is at rest. A departure takes a program that runs, by its place
//! among the running ones, because the programs that wait depend on the policy.
//!
//! `pdpa` is not here: it goes by measured speedups, and the speed of emulated processors is not
//! true. `easy` goes by run times. `equi-pools` is not here either: it moves processors when a
//! request changes, and a live manager asks for one processor of a program that arrives while
//! others contend, and soon for all. And it goes by the places of pages, which depend on where the
//! first thread was when it touched them, amid these requests.
//! `testdata/staged/four-equi-pools-tide.jsonl` and the tests beside it show both.

use super::manager::{Manager, Program};
use super::patience::until;
use super::{Guest, Scenario, kernel};
use anyhow::{Context, Result, ensure};
use numaestro_abi::control::{AppStatus, Status};
use numaestro_sim::validation::allocations::{StagedRun, Step};
use numaestro_topology::CpuSet;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const GUESTS: &[&str] = &["four-mixes", "two-mixes"];

/// The scenario of a policy, and a policy that gives at least one of the mixes other processors.
macro_rules! scenario {
    ($name:literal, $policy:literal, not $other:literal) => {
        Scenario { name: concat!("validate-", $name), guests: GUESTS, run: |_: &Guest| agrees($policy, $other) }
    };
}

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    scenario!("equi", "equi", not "batch"),
    scenario!("hs-con", "HS-Con", not "worst-fit"),
    scenario!("hb-con", "HB-Con", not "worst-fit"),
    scenario!("worst-fit", "worst-fit", not "first-fit"),
    scenario!("first-fit", "first-fit", not "worst-fit"),
    scenario!("best-fit", "best-fit", not "worst-fit"),
    scenario!("worst-fit-jobs", "worst-fit-jobs", not "first-fit"),
    scenario!("equip", "equip", not "equi"),
    scenario!("cluster", "cluster", not "equi"),
    scenario!("dss", "dss", not "batch"),
    scenario!("batch", "batch", not "equi"),
    scenario!("fifo", "fifo", not "batch"),
    scenario!("fcfs", "fcfs", not "equi"),
    scenario!("empty-pool", "empty-pool", not "worst-fit"),
    scenario!("localized", "localized", not "worst-fit"),
    scenario!("nopool", "nopool", not "worst-fit"),
    scenario!("fr-con", "FR-Con", not "HS-Con"),
    scenario!("fh-con", "FH-Con", not "HS-Con"),
    scenario!("fp-con", "FP-Con", not "HS-Con"),
    scenario!("equi-dist", "EQUI-Dist", not "batch"),
    scenario!("dyn-dist", "DYN-Dist", not "HS-Con"),
    scenario!("lim-dist", "LIM-Dist", not "equi"),
];

/// One step of a mix. Widths are numbers of threads; the guests have eight processors.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// Threads without a page come.
    Load(u32),
    /// The same, which run on all their processors or wait.
    Rigid(u32),
    /// An OpenMP program comes.
    Team(u32),
    /// The running program at this place goes, the oldest first, round and round.
    Go(usize),
}

use Act::{Go, Load, Rigid, Team};

/// The mixes: each has arrivals and departures, before and after the machine is full.
const MIXES: [(&str, &[Act]); 6] = [
    ("pairs", &[Load(8), Load(8), Go(0), Load(8), Go(0)]),
    ("narrow", &[Load(2), Load(2), Load(2), Load(2), Go(1), Load(2), Go(0)]),
    ("tide", &[Load(8), Load(3), Load(1), Load(4), Go(0), Go(1), Load(6)]),
    ("crowd", &[Load(8), Load(8), Load(8), Load(8), Load(8), Go(2), Go(0), Go(1)]),
    ("rigid", &[Rigid(4), Rigid(2), Rigid(3), Go(0), Rigid(1), Go(1)]),
    ("teams", &[Team(8), Team(4), Load(2), Go(0), Team(2), Go(1)]),
];

/// Where staged runs are left, also for people who look at a guest.
const STAGED_RUNS: &str = "/tmp/staged";
/// Looks that must show the same before everything is at rest: the manager looks for activity up to
/// 300 ms after an arrival.
const LOOKS: usize = 8;
/// For one step: short enough that its reason is told before the scenario is ended.
const PATIENCE: Duration = Duration::from_mins(1);

/// Live and simulated runs of all mixes agree under `policy`, and not if `other` is simulated.
fn agrees(policy: &str, other: &str) -> Result<()> {
    let mut staged = Vec::new();
    for (name, acts) in MIXES {
        staged.push(run(name, acts, policy).with_context(|| format!("the mix {name} under {policy}"))?);
    }
    let (agree, said) = compared(&staged, &[])?;
    ensure!(agree, "the simulator does otherwise:\n{said}");
    let (unnoticed, _) = compared(&staged, &["--policies", other])?;
    ensure!(!unnoticed, "nobody notices that {other} is simulated instead of {policy}");
    let all = said.lines().rfind(|line| line.starts_with("all ")).unwrap_or_default();
    println!("measured: {policy}: {}", all.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(())
}

/// Whether the simulator does as these staged runs say, and its table.
fn compared(staged: &[PathBuf], further: &[&str]) -> Result<(bool, String)> {
    let mut command = Command::new("numaestro");
    command.args(["sim", "validate", "--staged"]).args(staged).args(further);
    let output = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.code() {
        Some(0) => Ok((true, said)),
        Some(1) => Ok((false, said)),
        _ => anyhow::bail!("{command:?}: {}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr)),
    }
}

/// Runs a mix and writes its staged run.
fn run(mix: &str, acts: &[Act], policy: &str) -> Result<PathBuf> {
    let journal = PathBuf::from(format!("/tmp/{policy}-{mix}.journal"));
    let settings = format!("policy = \"{policy}\"\ncgroups = \"off\"\njournal = \"{}\"", journal.display());
    let mut troupe = Troupe { manager: Manager::start(&settings, &[])?, present: BTreeMap::new(), arrived: 0 };
    let mut staged = StagedRun::new(mix, policy);
    for (number, act) in (1..).zip(acts) {
        let begun = Instant::now();
        let step = troupe.act(*act)?;
        let at_rest = troupe.at_rest().with_context(|| format!("step {number}, {step:?}"))?;
        println!("{mix} under {policy}, step {number}: at rest after {:.1} s", begun.elapsed().as_secs_f64());
        staged.add(step, at_rest);
    }
    // The journal is read before anything ends: the last step is a part of the mix, the end is not.
    staged.close(kernel::text(&journal)? + "\n");
    std::fs::create_dir_all(STAGED_RUNS)?;
    let path = Path::new(STAGED_RUNS).join(format!("{policy}-{mix}.jsonl"));
    std::fs::write(&path, staged.to_text())?;
    Ok(path)
}

/// A program of a mix.
struct Member {
    program: Program,
    width: u32,
    has_page: bool,
}

impl Member {
    /// Whether it has all its threads, and the manager knows how many it could use.
    fn has_begun(&self, app: &AppStatus) -> bool {
        let runs = if self.has_page { app.regions > 0 } else { self.program.output().contains("round") };
        runs && app.request == self.width
    }
}

/// A manager, and the programs of a mix by their numbers from 1 in order of arrival.
struct Troupe {
    manager: Manager,
    present: BTreeMap<usize, Member>,
    arrived: usize,
}

impl Troupe {
    /// A program comes or goes.
    fn act(&mut self, act: Act) -> Result<Step> {
        let (width, rigid, has_page) = match act {
            Load(width) => (width, false, false),
            Rigid(width) => (width, true, false),
            Team(width) => (width, false, true),
            Go(place) => return self.go(place),
        };
        let text = width.to_string();
        let mut options = vec!["--max", &text];
        if rigid {
            options.extend(["--min", &text]);
        }
        // The first thread touches everything, as in the simulated programs. The threads never
        // rest, because the manager lends processors of threads that sleep.
        let load = ["guest-load", "--threads", &text, "--mb", "1", "--first-touch", "first", "--seconds", "100000"];
        let team = ["sor", "--size", "96", "--reps", "100000000", "--threads", &text];
        let program = self.manager.run(&options, if has_page { &team[..] } else { &load[..] })?;
        self.manager.app(program.pid())?;
        self.arrived += 1;
        self.present.insert(self.arrived, Member { program, width, has_page });
        Ok(Step::Arrive { processors: width, rigid })
    }

    fn go(&mut self, place: usize) -> Result<Step> {
        let status = self.manager.status()?;
        let running: Vec<usize> =
            self.apps(&status)?.filter(|(_, _, app)| app.state != "waiting").map(|it| it.0).collect();
        ensure!(!running.is_empty(), "nobody runs who could go");
        let number = running[place % running.len()];
        if let Some(mut member) = self.present.remove(&number) {
            member.program.kill();
        }
        Ok(Step::Depart(number))
    }

    /// The programs with their numbers and their parts of the status.
    fn apps<'a>(&'a self, status: &'a Status) -> Result<impl Iterator<Item = (usize, &'a Member, &'a AppStatus)>> {
        let one = |(number, member): (&usize, &'a Member)| {
            let app = status.apps.iter().find(|app| app.pid == member.program.pid());
            Ok((*number, member, app.with_context(|| format!("program {number} is not known"))?))
        };
        let all: Vec<_> = self.present.iter().map(one).collect::<Result<_>>()?;
        ensure!(status.apps.len() == all.len(), "one that has ended is still known");
        Ok(all.into_iter())
    }

    /// Waits until everything is at rest; gives the kernel's word on each program.
    fn at_rest(&self) -> Result<BTreeMap<usize, Option<CpuSet>>> {
        let look = || {
            let status = self.manager.status()?;
            let mut found = BTreeMap::new();
            for (number, member, app) in self.apps(&status)? {
                if app.state == "waiting" {
                    found.insert(number, None);
                    continue;
                }
                ensure!(app.count > 0 && app.epoch[0] == app.epoch[1], "program {number} is on its way: {app:?}");
                ensure!(member.has_begun(app), "program {number} has not begun: {app:?}");
                found.insert(number, Some(allowed(member.program.pid())?));
            }
            Ok(found)
        };
        let (mut before, mut same) = (None, 0);
        until("everything is at rest", PATIENCE, look, |seen| {
            same = if before.as_ref() == Some(seen) { same + 1 } else { 0 };
            before = Some(seen.clone());
            (same >= LOOKS).then(|| seen.clone())
        })
        // A program that hangs is best seen from outside.
        .with_context(|| format!("these ran:\n{}", kernel::processes_text()))
    }
}

/// The processors on which any thread of a process may run.
fn allowed(pid: u32) -> Result<CpuSet> {
    let mut all = CpuSet::new();
    kernel::threads(pid)?.iter().for_each(|thread| all.or_with(&thread.allowed));
    ensure!(!all.is_empty(), "process {pid} has no threads");
    Ok(all)
}
