//! Shared by the benchmarks of live policies: starts kernels with a known amount of work under a
//! manager, and repeats journals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::args::{LiveArgs, PlaceArgs};
use super::calibrate::calibrate;
use super::coexec::find_places;
use super::launch::{self, Ended, Started};
use super::load::{Reading, Window};
use super::managed::Managed;
use super::measure::says_ok;
use super::mix::{Program, Runtime};
use super::places::{CommandLine, Places};

/// Longest wait for one program's arrival.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(1);

/// One program of a workload.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Kernel.
    pub kernel: &'static str,
    /// Arguments of its own.
    pub arguments: &'static [&'static str],
    /// Its work, as seconds alone on one processor, where `--length` is 1.
    pub work_s: f64,
}

/// The kernels of a benchmark, and how fast they are here.
#[derive(Debug)]
pub struct Bench {
    /// The places of the programs.
    pub places: Places,
    /// OS indices of the processors to use.
    pub processors: Vec<usize>,
    commands: BTreeMap<Program, CommandLine>,
    reps_per_s: BTreeMap<Program, f64>,
    length: f64,
    limit: Duration,
}

/// One run of several programs at once.
#[derive(Debug, Clone)]
pub struct Round {
    /// Seconds from the start to the end of each program, in order.
    pub turnaround_s: Vec<f64>,
    /// Processor seconds of all of them.
    pub cpu_s: f64,
    /// The load beside them.
    pub window: Window,
    /// Killed, because it took too long: its times are lower bounds.
    pub limited: bool,
}

/// Programs that run, for whoever looks on.
#[derive(Debug)]
pub struct Running<'a> {
    /// Their manager.
    pub managed: &'a Managed,
    /// Their process groups, in order.
    pub groups: &'a [u32],
    /// The moment from which turnarounds count.
    pub origin: Instant,
}

impl Round {
    /// Seconds until the last one has ended.
    pub fn makespan_s(&self) -> f64 {
        self.turnaround_s.iter().copied().fold(0.0, f64::max)
    }
}

impl Bench {
    /// Finds and calibrates `jobs`' kernels. Their work is times `length`, and a run is killed
    /// after `limit`.
    pub fn new<'a>(
        places: &PlaceArgs,
        length: f64,
        limit: Duration,
        jobs: impl Iterator<Item = &'a Job>,
    ) -> Result<Self> {
        let places = find_places(places)?;
        let processors = launch::processors()?;
        let mut commands = BTreeMap::new();
        for job in jobs {
            let program = [Runtime::Gcc, Runtime::Clang].map(|runtime| program(job, runtime));
            let found = program.iter().find_map(|program| places.command(program).ok());
            let Some(mut line) = found else { bail!(places.command(&program[0]).err().unwrap_or_default()) };
            line.arguments.extend(job.arguments.iter().map(|&word| word.to_owned()));
            commands.insert(key(job), line);
        }
        eprintln!("calibrating {} programs", commands.len());
        let reps_per_s = calibrate(&commands, processors[0])?;
        Ok(Self { places, processors, commands, reps_per_s, length, limit })
    }

    /// Starts `job` under `managed` with further options of `run`; without a manager, as it is.
    pub fn start(&self, managed: Option<&Managed>, job: &Job, options: &[&str]) -> Result<Started> {
        launch::start(&mut self.command(managed, job, options)?, None)
    }

    /// The command that [`Self::start`] starts.
    pub fn command(&self, managed: Option<&Managed>, job: &Job, options: &[&str]) -> Result<Command> {
        let line = self.commands.get(&key(job)).context("a program without a command")?;
        let mut command = match managed {
            Some(managed) => managed.run(options, &line.executable),
            None => launch::clean_command(&line.executable),
        };
        command.args(&line.arguments).args(["--json", "--reps", &self.reps(job).to_string()]);
        Ok(command)
    }

    /// Runs all of `jobs` at once, with their options, while `watch` looks on. They arrive in this
    /// order: turns go by it.
    pub fn run(
        &self,
        managed: &Managed,
        jobs: &[(&Job, Vec<&str>)],
        watch: impl FnOnce(&Running) + Send,
    ) -> Result<Round> {
        managed.settle();
        let before = Reading::take(managed.time());
        let origin = Instant::now();
        let started = self.start_all(Some(managed), jobs, |programs| arrived(managed, programs))?;
        let groups: Vec<u32> = started.iter().map(|program| program.pid).collect();
        let running = Running { managed, groups: &groups, origin };
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| watch(&running));
            launch::wait_all(started, origin, self.limit)
        })?;
        self.judge(jobs, &ended, &before, managed.time())
    }

    /// Starts all of `jobs` without waiting for any to arrive, and waits for their ends.
    pub fn run_at_once(&self, managed: Option<&Managed>, jobs: &[(&Job, Vec<&str>)]) -> Result<Round> {
        let time = || managed.map_or(0.0, Managed::time);
        if let Some(managed) = managed {
            managed.settle();
        }
        let before = Reading::take(time());
        let origin = Instant::now();
        let started = self.start_all(managed, jobs, |_| {})?;
        let ended = launch::wait_all(started, origin, self.limit)?;
        self.judge(jobs, &ended, &before, time())
    }

    /// Starts all of `jobs`; between two of them `between` is called with the number that run.
    fn start_all(
        &self,
        managed: Option<&Managed>,
        jobs: &[(&Job, Vec<&str>)],
        between: impl Fn(usize),
    ) -> Result<Vec<Started>> {
        let mut started = Vec::new();
        for (job, options) in jobs {
            match self.start(managed, job, options) {
                Ok(program) => {
                    started.push(program);
                    if started.len() < jobs.len() {
                        between(started.len());
                    }
                }
                Err(error) => {
                    for program in started {
                        launch::kill(program)?;
                    }
                    return Err(error);
                }
            }
        }
        Ok(started)
    }

    /// The round of programs that have ended; a wrong result of any is an error.
    fn judge(&self, jobs: &[(&Job, Vec<&str>)], ended: &[Ended], before: &Reading, manager_s: f64) -> Result<Round> {
        let after = Reading::take(manager_s);
        for ((job, _), end) in jobs.iter().zip(ended) {
            if !(end.limited || end.success && says_ok(&end.output)) {
                bail!("{} failed: {}", job.kernel, end.output.trim());
            }
        }
        let cpu_s: f64 = ended.iter().map(|end| end.cpu_s).sum();
        Ok(Round {
            turnaround_s: ended.iter().map(|end| end.turnaround_s).collect(),
            cpu_s,
            window: before.until(&after, cpu_s, self.processors.len()),
            limited: ended.iter().any(|end| end.limited),
        })
    }

    /// Repetitions of `job`.
    #[allow(clippy::cast_sign_loss)] // A product of positive numbers.
    pub fn reps(&self, job: &Job) -> u64 {
        let per_s = self.reps_per_s.get(&key(job)).copied().unwrap_or(1.0);
        ((job.work_s * self.length * per_s).round() as u64).max(1)
    }
}

/// `numaestro sim replay` of a journal: the last line it says, and whether all was equal.
pub fn replay(numaestro: &Path, journal: &Path) -> Result<(bool, String)> {
    let output = launch::clean_command(numaestro).args(["sim", "replay"]).arg(journal).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let said = text.lines().find(|line| line.contains("byte-equal")).or(text.lines().last()).unwrap_or_default();
    // Without the file's name.
    let said = said.rsplit_once("journal: ").map_or(said, |(_, said)| said);
    Ok((output.status.success() && text.contains("byte-equal"), said.to_owned()))
}

/// The directory for journals: the user's, else one that vanishes.
pub fn journals(args: &LiveArgs) -> Result<(PathBuf, Option<tempfile::TempDir>)> {
    if let Some(dir) = &args.journal {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        return Ok((std::path::absolute(dir)?, None));
    }
    let dir = tempfile::tempdir().context("cannot make a directory for journals")?;
    Ok((dir.path().to_owned(), Some(dir)))
}

/// Waits until the manager knows so many programs, at most a second: one may have ended already.
pub fn arrived(managed: &Managed, programs: usize) {
    let since = Instant::now();
    while since.elapsed() < ARRIVAL_LIMIT {
        let status = managed.status();
        let apps = status.as_ref().and_then(|status| status.get("apps")?.as_array()).map_or(0, Vec::len);
        if apps >= programs {
            return;
        }
    }
}

fn program(job: &Job, runtime: Runtime) -> Program {
    Program { name: job.kernel.to_owned(), runtime }
}

/// A kernel with its arguments: another size is another program.
fn key(job: &Job) -> Program {
    Program { name: [&[job.kernel], job.arguments].concat().join(" "), runtime: Runtime::Gcc }
}
