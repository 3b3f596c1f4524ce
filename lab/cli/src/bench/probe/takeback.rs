//! `numaestro bench takeback`: measures how long it takes to fold a program with 64 threads that
//! does not react.
//!
//! The program is stopped by a signal, so nothing in it can help. Then another one arrives. The
//! probe measures the time between the first and the last of its threads whose affinity the kernel
//! shows as smaller.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::super::args::ProbeArgs;
use super::super::bounds::TAKEBACK_MS;
use super::super::coexec::find_places;
use super::super::launch;
use super::super::managed::Managed;
use super::regions::{Regions, allowed, shell, threads, until};
use super::{Quantity, conclude};

const THREADS: usize = 64;
/// Longest wait for anything.
const LIMIT: Duration = Duration::from_secs(5);

/// Measures with any compiler that is here.
pub fn takeback(args: &ProbeArgs) -> Result<ExitCode> {
    if launch::processors()?.len() < 2 {
        bail!("nothing can be taken from a program on a machine with one processor");
    }
    let places = find_places(&args.places)?;
    let managed = Managed::start_undisturbed(&places.numaestro)?;
    let regions = Regions::build(&places, "gcc").or_else(|_| Regions::build(&places, "clang"))?;
    let (mut fold, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..args.runs.unwrap_or(20) {
        let (folding_ms, total_ms) = once(&managed, &regions)?;
        fold.push(folding_ms);
        whole.push(total_ms);
    }
    let quantities = [
        Quantity::new("taking processors from 64 threads by force", "ms", fold)
            .map(|quantity| quantity.promised("p99", TAKEBACK_MS)),
        Quantity::new("start of the other until then (with grace)", "ms", whole),
    ];
    conclude(args, &quantities.into_iter().flatten().collect::<Vec<_>>())
}

/// Milliseconds from the first to the last thread folded, and from the start of the other program
/// to the last.
fn once(managed: &Managed, regions: &Regions) -> Result<(f64, f64)> {
    managed.settle();
    let mut command = managed.run(&[], &regions.path());
    let program = launch::start(command.args(["stay", &THREADS.to_string()]), None)?;
    let result = fold(managed, program.pid);
    launch::kill(program)?;
    result
}

fn fold(managed: &Managed, pid: u32) -> Result<(f64, f64)> {
    let pause = Duration::from_millis(1);
    let Some(_) = until(pause, LIMIT, || threads(pid).len() >= THREADS) else {
        bail!("the program does not start its {THREADS} threads");
    };
    // It attaches at its region and gets all processors, as a program alone does.
    std::thread::sleep(Duration::from_millis(50));
    kill_process(launch::number(pid), Signal::STOP)?;
    let tasks = threads(pid);
    let before = tasks.iter().filter_map(|&task| allowed(task)).max().unwrap_or(0);
    let smaller = |task: &&Pid| allowed(**task).is_some_and(|count| count < before);
    let mut visitor = managed.run(&["--class", "fold"], shell());
    let begin = Instant::now();
    let visitor = launch::start(visitor.args(["-c", "exec sleep 10"]), None)?;
    let first = until(Duration::ZERO, LIMIT, || tasks.iter().any(|task| smaller(&task)));
    let all = first.and_then(|_| until(Duration::ZERO, LIMIT, || tasks.iter().filter(smaller).count() == tasks.len()));
    let total = begin.elapsed();
    launch::kill(visitor)?;
    match all {
        Some(seconds) => Ok((seconds * 1e3, total.as_secs_f64() * 1e3)),
        None => bail!(
            "nothing was taken from a program that was stopped with {} threads on {before} processors",
            tasks.len()
        ),
    }
}
