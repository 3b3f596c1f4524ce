//! `numaestro bench turns`: measures the cost of programs taking turns.
//!
//! Stopping and continuing a program with 64 threads; the manager's own processor time under a
//! quantum of 100 ms while nothing changes; and two programs under a policy that is switched every
//! second between sharing the machine and taking turns, against the mean of runs under each.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use numaestro_host::procfs;
use numaestro_host::stop::{Group, Outcome, Stopper, prefer_short};
use rustix::process::{Signal, kill_process};

use super::super::args::ProbeArgs;
use super::super::bounds::{QUANTUM_PERCENT, STOP_MS, SWITCH_RATIO};
use super::super::coexec::find_places;
use super::super::launch;
use super::super::managed::Managed;
use super::super::places::Places;
use super::regions::{Regions, shell, threads, until};
use super::{Quantity, conclude};

const THREADS: usize = 64;
/// Longest wait for anything.
const LIMIT: Duration = Duration::from_mins(1);
/// Time for which the manager is watched while nothing changes.
const WATCH: Duration = Duration::from_secs(20);
/// The policies between which is switched: one that shares the machine, one that takes turns of 100
/// ms.
const POLICIES: [&str; 2] = ["equi", "round-robin"];
/// Time between two switches.
const BETWEEN: Duration = Duration::from_secs(1);
/// Repetitions of the program that runs meanwhile: some seconds.
const REPETITIONS: &str = "300";

/// Measures all of it.
pub fn turns(args: &ProbeArgs) -> Result<ExitCode> {
    let places = find_places(&args.places)?;
    let mut quantities = Vec::new();
    quantities.extend(stop_and_continue(&places, args.runs.unwrap_or(200))?);
    quantities.extend(quantum(&places)?);
    quantities.extend(switches(&places, args.runs.unwrap_or(5).min(20))?);
    conclude(args, &quantities)
}

/// Milliseconds to stop and to continue a program whose 64 threads all spin.
fn stop_and_continue(places: &Places, runs: u32) -> Result<Option<Quantity>> {
    let regions = Regions::build(places, "gcc").or_else(|_| Regions::build(places, "clang"))?;
    // Not a child of this process: its parent must not be the one that stops it. And of another
    // session, as a user's programs are to a manager.
    let mut command = launch::clean_command(shell());
    let script = format!("setsid {} stay {THREADS} & wait", regions.path().display());
    let parent = launch::start(command.args(["-c", &script]), None)?;
    let child = || procfs::tree(parent.pid, &std::collections::BTreeSet::new()).ok()?.get(1).copied();
    let pause = Duration::from_millis(1);
    let all_there = until(pause, LIMIT, || child().is_some_and(|pid| threads(pid).len() >= THREADS));
    let samples = match child() {
        Some(pid) if all_there.is_some() => {
            let samples = stop_often(pid, runs);
            kill_process(launch::number(pid), Signal::KILL)?;
            samples
        }
        _ => Err(anyhow!("the program does not start its {THREADS} threads; is `setsid` installed?")),
    };
    launch::kill(parent)?;
    let what = "stopping and continuing 64 threads that spin";
    Ok(Quantity::new(what, "ms", samples?).map(|quantity| quantity.promised("p50", STOP_MS)))
}

fn stop_often(pid: u32, runs: u32) -> Result<Vec<f64>> {
    prefer_short();
    let stopper = Stopper::start()?;
    let mut samples = Vec::new();
    for _ in 0..runs {
        let begin = Instant::now();
        let outcome = stopper.stop(1, Group { root: pid, tree: None });
        ensure!(!matches!(outcome, Outcome::Unstoppable(_)), "{outcome:?}");
        stopper.resume(1);
        // Answered after everything before it is done; there is no such process.
        stopper.stop(2, Group { root: u32::MAX >> 1, tree: None });
        samples.push(begin.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(samples)
}

/// Percent of one processor that the manager uses under a quantum while one program runs.
fn quantum(places: &Places) -> Result<Option<Quantity>> {
    let managed = Managed::start_undisturbed(&places.numaestro)?;
    managed.set_policy(POLICIES[1])?;
    let program = launch::start(managed.run(&[], shell()).args(["-c", "while :; do :; done"]), None)?;
    let pid = managed.pid();
    std::thread::sleep(Duration::from_secs(2));
    let before = procfs::cpu_time_ns(pid)?;
    std::thread::sleep(WATCH);
    let percent = (procfs::cpu_time_ns(pid)? - before) as f64 / WATCH.as_nanos() as f64 * 100.0;
    launch::kill(program)?;
    let what = "manager under a quantum of 100 ms, nothing changing";
    Ok(Quantity::new(what, "% of one processor", vec![percent]).map(|q| q.promised("p50", QUANTUM_PERCENT)))
}

/// The time of two programs under policies that follow each other every second, as a ratio to the
/// mean under each.
fn switches(places: &Places, runs: u32) -> Result<Option<Quantity>> {
    let managed = Managed::start_undisturbed(&places.numaestro)?;
    let kernels = places.kernels.as_ref().context("no kernels; `make -C kernels` builds them")?;
    let built = ["gcc", "clang"].map(|compiler| kernels.join(compiler).join("ep"));
    let program = built.iter().find(|path| path.is_file()).context("no kernel `ep`; `make -C kernels` builds it")?;
    let once = |policies: &[&str]| -> Result<f64> {
        managed.settle();
        managed.set_policy(policies[0])?;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let switcher = (policies.len() > 1).then(|| scope.spawn(|| keep_switching(&managed, policies, &over)));
            let begin = Instant::now();
            let start = || launch::start(managed.run(&[], program).args(["--reps", REPETITIONS]), None);
            let ended = start().and_then(|first| launch::wait_all(vec![first, start()?], begin, LIMIT));
            let seconds = begin.elapsed().as_secs_f64();
            over.store(true, Ordering::Relaxed);
            if let Some(switcher) = switcher {
                switcher.join().map_err(|_| anyhow!("the switching thread failed"))??;
            }
            ensure!(ended?.iter().all(|end| end.success), "a program failed");
            Ok(seconds)
        })
    };
    once(&POLICIES)?;
    let mut ratios = Vec::new();
    for _ in 0..runs {
        let (sharing, switched, turns) = (once(&POLICIES[..1])?, once(&POLICIES)?, once(&POLICIES[1..])?);
        ratios.push(switched / f64::midpoint(sharing, turns));
    }
    let what = "policy switched every second / not switched";
    Ok(Quantity::new(what, "times", ratios).map(|quantity| quantity.promised("p50", SWITCH_RATIO)))
}

fn keep_switching(managed: &Managed, policies: &[&str], over: &AtomicBool) -> Result<()> {
    let mut next = Instant::now() + BETWEEN;
    for policy in policies.iter().cycle().skip(1) {
        while Instant::now() < next {
            if over.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        managed.set_policy(policy)?;
        next += BETWEEN;
    }
    Ok(())
}
