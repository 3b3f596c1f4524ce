//! `numaestro bench builds`: two ninja builds beside an OpenMP program.
//!
//! The builds compile this project's kernels, so their jobs are real compilers. Three questions:
//! how long the whole takes, against the best choice of processors and of `-j` that a person could
//! make by hand; for how long a build has more jobs than its processors and one; and after which
//! time the tokens of a killed build are there again.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use numaestro_abi::control::AppStatus;
use numaestro_host::procfs::ProcessTable;
use rustix::process::{Signal, kill_process};
use tempfile::TempDir;

use super::super::args::ProbeArgs;
use super::super::bounds::{BUILD_JOBS_S, BUILD_TOKENS_S, BUILDS_RATIO};
use super::super::launch::{self, Ended, Started};
use super::super::live::{Bench, Job};
use super::super::load::{Gate, Reading, Window};
use super::super::managed::Managed;
use super::super::stats;
use super::regions::until;
use super::{Quantity, conclude};

/// The OpenMP program, with about as much work as a build.
const PROGRAM: Job = Job { kernel: "sor", arguments: &[], work_s: 2.0 };
/// Sources of a build, each about a quarter of a second of a compiler.
const SOURCES: usize = 8;
/// A run that takes longer is broken.
const LIMIT: Duration = Duration::from_mins(1);
/// Between two looks at the jobs of both builds.
const LOOK: Duration = Duration::from_millis(10);
/// Choices that are measured as often as numaestro: the best ones of a first round.
const FINALISTS: usize = 3;
/// Share of the machine that others may use in a run, and the runs that are repeated for it.
const FOREIGN: f64 = 0.06;
const TRIES: u32 = 10;
/// A killed build's tokens are waited for so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// What ninja has in it if it knows jobservers.
const KNOWS: &[u8] = b"--jobserver-auth=";

/// One way to place the programs by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    /// Of each build: its processors, as places among those of the machine, and its `-j`.
    builds: [(Vec<usize>, usize); 2],
    /// Processors of the OpenMP program, which has as many threads.
    program: Vec<usize>,
}

/// Programs and sources.
struct Site {
    bench: Bench,
    ninja: PathBuf,
    sources: Vec<PathBuf>,
}

/// A run of all three.
struct Run {
    seconds: f64,
    window: Window,
}

/// Measures.
pub fn builds(args: &ProbeArgs) -> Result<ExitCode> {
    let bench = Bench::new(&args.places, 1.0, LIMIT, std::iter::once(&PROGRAM))?;
    if bench.processors.len() < 2 {
        bail!("nothing is divided on a machine with one processor");
    }
    let site = Site { ninja: ninja(&bench)?, sources: sources(&bench)?, bench };
    let runs = args.runs.unwrap_or(5);
    let managed = Managed::start_undisturbed(&site.bench.places.numaestro)?;
    let mut quantities = Vec::new();
    let finalists = site.finalists()?;
    let excess = Mutex::new(Vec::new());
    let mut gate = Gate::new(FOREIGN, TRIES);
    let (mut ours, mut by_hand) = (Vec::new(), vec![Vec::new(); finalists.len()]);
    for _ in 0..runs {
        for (choice, seconds) in finalists.iter().zip(&mut by_hand) {
            seconds.push(counted(&mut gate, || site.by_hand(choice))?);
        }
        ours.push(counted(&mut gate, || site.managed(&managed, &excess))?);
    }
    let medians = by_hand.iter().map(|seconds| stats::median(seconds).unwrap_or(f64::INFINITY));
    let best = medians.clone().fold(f64::INFINITY, f64::min);
    for (choice, median) in finalists.iter().zip(medians) {
        println!("{median:6.2} s by hand: {}", choice.words());
    }
    println!("{:6.2} s by numaestro", stats::median(&ours).unwrap_or(f64::INFINITY));
    let ratios = ours.iter().map(|seconds| seconds / best).collect();
    quantities
        .extend(Quantity::new("whole / best choice by hand", "", ratios).map(|q| q.promised("p50", BUILDS_RATIO)));
    let excess = excess.into_inner().unwrap_or_default();
    quantities.extend(
        Quantity::new("more jobs than processors and one, for", "s", excess).map(|q| q.promised("p99", BUILD_JOBS_S)),
    );
    let back = (0..runs.max(5)).map(|_| site.killed(&managed)).collect::<Result<_>>()?;
    quantities.extend(
        Quantity::new("kill -9 of a build until its tokens are back", "s", back)
            .map(|q| q.promised("p99", BUILD_TOKENS_S)),
    );
    conclude(args, &quantities)
}

/// The seconds of a run that others did not disturb.
fn counted(gate: &mut Gate, mut run: impl FnMut() -> Result<Run>) -> Result<f64> {
    loop {
        let Run { seconds, window } = run()?;
        if gate.admit(&window) {
            return Ok(seconds);
        }
        eprintln!("repeated: others used {:.0} % of the machine", window.foreign() * 100.0);
    }
}

/// A ninja that knows jobservers: beside the Python of the benchmarks, or on the path.
fn ninja(bench: &Bench) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = bench.places.pythons.iter().map(|python| python.with_file_name("ninja"));
    let all = beside.chain(std::env::split_paths(&path).map(|dir| dir.join("ninja")));
    let knows = |ninja: &PathBuf| {
        std::fs::read(ninja).is_ok_and(|bytes| bytes.windows(KNOWS.len()).any(|window| window == KNOWS))
    };
    all.into_iter().find(knows).context("no ninja that knows jobservers (1.13): run `make venv`")
}

/// The sources of the kernels.
fn sources(bench: &Bench) -> Result<Vec<PathBuf>> {
    let programs = bench.places.programs.as_deref().and_then(Path::parent).and_then(Path::parent);
    let dir =
        programs.context("no directory lab/bench/programs here or above: start it in the source tree")?.join("kernels");
    let entries = std::fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let needs_headers =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"blas"));
    all.retain(|path| path.extension().is_some_and(|ending| ending == "c") && !needs_headers(path));
    all.sort();
    all.truncate(SOURCES);
    Ok(all)
}

impl Choice {
    /// Every choice for three programs on either half of the machine or all of it; the second half
    /// alone for the OpenMP program and the builds in the other order are the same choice.
    fn all(processors: usize) -> Vec<Self> {
        let everywhere: Vec<usize> = (0..processors).collect();
        let (first, second) = everywhere.split_at(processors / 2);
        let parts = [first.to_vec(), second.to_vec(), everywhere.clone()];
        let mut found = Vec::new();
        for program in parts.iter().filter(|part| part.contains(&0)) {
            for (at, first) in parts.iter().enumerate() {
                for second in &parts[at..] {
                    for more in 0..2 {
                        let with = |part: &Vec<usize>| (part.clone(), part.len() + more);
                        found.push(Self { builds: [with(first), with(second)], program: program.clone() });
                    }
                }
            }
        }
        found
    }

    fn words(&self) -> String {
        let list = |part: &[usize]| part.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let mut text = String::new();
        for (part, jobs) in &self.builds {
            let _ = write!(text, "ninja -j{jobs} on {}, ", list(part));
        }
        text + &format!("{} threads on {}", self.program.len(), list(&self.program))
    }
}

/// A directory with a build file for each kernel to compile.
fn project(sources: &[PathBuf]) -> Result<TempDir> {
    let dir = tempfile::tempdir().context("cannot make a directory to build in")?;
    let mut text = "rule cc\n  command = gcc -std=gnu11 -O3 -fopenmp -c $in -o $out\n".to_owned();
    for source in sources {
        let name = source.file_stem().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "build {name}.o: cc {}", source.display());
    }
    std::fs::write(dir.path().join("build.ninja"), text)?;
    Ok(dir)
}

/// A ninja that builds what is in `dir`.
fn ninja_in(dir: &Path, mut command: Command) -> Command {
    for of_make in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CARGO_MAKEFLAGS"] {
        command.env_remove(of_make);
    }
    command.arg("-C").arg(dir).arg("--quiet");
    command
}

impl Site {
    /// The best choices of a round in which each is tried once.
    fn finalists(&self) -> Result<Vec<Choice>> {
        let choices = Choice::all(self.bench.processors.len());
        eprintln!("trying {} choices of processors and -j", choices.len());
        let mut tried = Vec::new();
        for choice in choices {
            tried.push((self.by_hand(&choice)?.seconds, choice));
        }
        tried.sort_by(|one, other| one.0.total_cmp(&other.0));
        Ok(tried.into_iter().take(FINALISTS).map(|(_, choice)| choice).collect())
    }

    /// One run on processors and with numbers of jobs given by hand.
    fn by_hand(&self, choice: &Choice) -> Result<Run> {
        let dirs = [project(&self.sources)?, project(&self.sources)?];
        let on = |part: &[usize]| part.iter().map(|&place| self.bench.processors[place]).collect::<Vec<_>>();
        let before = Reading::take(0.0);
        let origin = Instant::now();
        let mut started = Vec::new();
        for (dir, (part, jobs)) in dirs.iter().zip(&choice.builds) {
            let mut command = ninja_in(dir.path(), launch::clean_command(&self.ninja));
            started.push(launch::start(command.arg(format!("-j{jobs}")), Some(&on(part)))?);
        }
        let mut command = self.bench.command(None, &PROGRAM, &[])?;
        command.env("OMP_NUM_THREADS", choice.program.len().to_string());
        started.push(launch::start(&mut command, Some(&on(&choice.program)))?);
        self.run(&launch::wait_all(started, origin, LIMIT)?, &before, 0.0)
    }

    /// One run under the manager; adds for each build how long it had too many jobs at most.
    fn managed(&self, managed: &Managed, excess: &Mutex<Vec<f64>>) -> Result<Run> {
        managed.settle();
        let dirs = [project(&self.sources)?, project(&self.sources)?];
        let before = Reading::take(managed.time());
        let origin = Instant::now();
        let mut started = Vec::new();
        for dir in &dirs {
            let command = managed.run(&[], &self.ninja);
            started.push(launch::start(&mut ninja_in(dir.path(), command), None)?);
        }
        started.push(launch::start(&mut self.bench.command(Some(managed), &PROGRAM, &[])?, None)?);
        let builds = [started[0].pid, started[1].pid];
        let ended = std::thread::scope(|scope| {
            let watch = scope.spawn(|| watch(managed, builds));
            let ended = launch::wait_all(started, origin, LIMIT);
            let looks = watch.join().unwrap_or_default();
            if let Ok(mut excess) = excess.lock() {
                excess.extend(looks.iter().map(|looks| longest_excess(looks)));
            }
            ended
        })?;
        self.run(&ended, &before, managed.time())
    }

    fn run(&self, ended: &[Ended], before: &Reading, manager_s: f64) -> Result<Run> {
        let after = Reading::take(manager_s);
        if let Some(bad) = ended.iter().find(|end| !end.success) {
            bail!("a program of the benchmark failed: {}", bad.output.trim());
        }
        let used = ended.iter().map(|end| end.cpu_s).sum();
        Ok(Run {
            seconds: ended.iter().map(|end| end.turnaround_s).fold(0.0, f64::max),
            window: before.until(&after, used, self.bench.processors.len()),
        })
    }

    /// Kills a ninja below another one while its jobs hold all tokens; gives the seconds until the
    /// tokens are there again. The outer one is stopped meanwhile, so that it does not end.
    fn killed(&self, managed: &Managed) -> Result<f64> {
        managed.settle();
        let dir = tempfile::tempdir().context("cannot make a directory to build in")?;
        let jobs: Vec<String> = (0..self.bench.processors.len()).map(|job| format!("build j{job}: sleep\n")).collect();
        let ninja = self.ninja.display();
        let outer = format!("rule inner\n  command = exec {ninja} -f inner.ninja\nbuild all: inner\n");
        std::fs::write(dir.path().join("build.ninja"), outer)?;
        std::fs::write(
            dir.path().join("inner.ninja"),
            format!("rule sleep\n  command = exec sleep 600\n{}", jobs.concat()),
        )?;
        let command = managed.run(&[], &self.ninja);
        let outer = launch::start(&mut ninja_in(dir.path(), command), None)?;
        let seconds = self.kill_inner(managed, &outer);
        launch::kill(outer)?;
        seconds
    }

    fn kill_inner(&self, managed: &Managed, outer: &Started) -> Result<f64> {
        let all = self.bench.processors.len() - 1;
        let tokens = || app(managed, outer.pid).and_then(|app| app.jobserver);
        let inner = || {
            let table = ProcessTable::read().ok()?;
            let inner = table.all().find(|process| process.parent == outer.pid)?.pid;
            (table.all().filter(|process| process.parent == inner).count() > all).then_some(inner)
        };
        let mut found = None;
        let busy = until(LOOK, PATIENCE, || {
            found = inner();
            found.is_some() && tokens().is_some_and(|it| it.tokens as usize == all && it.free == 0)
        });
        let (Some(inner), Some(_)) = (found, busy) else {
            bail!("a ninja below another one does not take the tokens: {:?}", tokens())
        };
        let below = ProcessTable::read()?.tree(inner, &BTreeSet::new());
        kill_process(launch::number(outer.pid), Signal::STOP)?;
        kill_process(launch::number(inner), Signal::KILL)?;
        let back =
            until(LOOK, PATIENCE, || tokens().is_some_and(|it| it.tokens as usize == all && it.free == it.tokens));
        for orphan in below.into_iter().filter(|pid| *pid != inner) {
            let _ = kill_process(launch::number(orphan), Signal::KILL);
        }
        back.context("the tokens of a killed build do not come back")
    }
}

fn app(managed: &Managed, pid: u32) -> Option<AppStatus> {
    let status = managed.connect().ok()?.status().ok()?;
    status.apps.into_iter().find(|app| app.pid == pid)
}

/// A moment of a build: its time in seconds, its processors, its jobs.
type Look = (f64, u32, u32);

/// Looks at both builds until both have ended.
fn watch(managed: &Managed, builds: [u32; 2]) -> [Vec<Look>; 2] {
    let (origin, mut looks) = (Instant::now(), [Vec::new(), Vec::new()]);
    let mut seen = [false; 2];
    while origin.elapsed() < LIMIT {
        let table = ProcessTable::read().unwrap_or_default();
        let status = managed.connect().ok().and_then(|mut manager| manager.status().ok());
        let mut living = 0;
        for (place, pid) in builds.into_iter().enumerate() {
            let runs = table.get(pid).is_some_and(|process| process.state != 'Z');
            living += usize::from(runs || !seen[place]);
            let app = status.as_ref().and_then(|status| status.apps.iter().find(|app| app.pid == pid));
            let Some(app) = app.filter(|_| runs) else { continue };
            seen[place] = true;
            let jobs = table.all().filter(|process| process.parent == pid && process.state != 'Z').count() as u32;
            looks[place].push((origin.elapsed().as_secs_f64(), app.count, jobs));
        }
        if living == 0 {
            break;
        }
        std::thread::sleep(LOOK);
    }
    looks
}

/// The longest time for which a build had more jobs than processors and one.
fn longest_excess(looks: &[Look]) -> f64 {
    let (mut since, mut longest) = (None, 0.0_f64);
    for &(at, processors, jobs) in looks {
        if jobs > processors.max(1) + 1 {
            longest = longest.max(at - *since.get_or_insert(at));
        } else {
            since = None;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_time_with_too_many_jobs_counts() {
        let looks = [(0.0, 2, 4), (0.1, 2, 4), (0.2, 2, 3), (0.3, 1, 3), (0.7, 1, 3), (0.8, 1, 2), (0.9, 0, 2)];
        assert!((longest_excess(&looks) - 0.4).abs() < 1e-9);
        assert!(longest_excess(&looks[2..3]) < 1e-9);
    }

    #[test]
    fn choices_are_of_every_part_of_the_machine() {
        let two = Choice::all(2);
        assert_eq!(two.len(), 24);
        let apart = Choice { builds: [(vec![0], 1), (vec![1], 1)], program: vec![0, 1] };
        assert!(two.contains(&apart));
        assert_eq!(apart.words(), "ninja -j1 on 0, ninja -j1 on 1, 2 threads on 0,1");
        assert!(two.iter().all(|choice| choice.program.contains(&0)));
        assert_eq!(Choice::all(64).len(), 24);
    }
}
