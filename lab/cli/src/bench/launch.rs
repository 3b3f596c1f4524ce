//! Starts a program under the terms of a set-up, and waits for several at once.
//!
//! Every program is the leader of a process group of its own, so that a run that takes too long can
//! be ended as a whole.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use numaestro_host::children;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Variables of the caller that no program under measurement may see, by their beginning.
const FOREIGN: [&str; 13] = [
    "OMP_",
    "GOMP_",
    "KMP_",
    "OPENBLAS_",
    "MKL_",
    "RAYON_",
    "NUMBA_",
    "POLARS_",
    "LD_PRELOAD",
    "NUMAESTRO_ATTACH",
    "NUMAESTRO_CLASS",
    "NUMAESTRO_DIR",
    "NUMAESTRO_POOL",
];

/// A running program.
#[derive(Debug)]
pub struct Started {
    /// Its process id, and the number of its process group.
    pub pid: u32,
    pidfd: OwnedFd,
    output: File,
}

/// The end of a program.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Seconds from the common start to its end, or to the time limit.
    pub turnaround_s: f64,
    /// Processor seconds it used, its waited-for children included.
    pub cpu_s: f64,
    /// It was killed because the time was over.
    pub limited: bool,
    /// It ended by itself with exit code 0.
    pub success: bool,
    /// Its output to stdout and stderr.
    pub output: String,
}

/// The processors this command may use, in order.
pub fn processors() -> Result<Vec<usize>> {
    let set = sched_getaffinity(None).context("cannot read this command's affinity")?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// A command without the thread settings of the caller's environment.
pub fn clean_command(executable: &std::path::Path) -> Command {
    let mut command = Command::new(executable);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| FOREIGN.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    // Also where the measurement itself runs below a manager.
    command.env("NUMAESTRO_OFF", "1");
    command
}

/// Starts `command` confined to `cpus` (OS indices; `None` = the processors of this command).
///
/// The affinity is set here and inherited, as with `taskset`, without its exec.
pub fn start(command: &mut Command, cpus: Option<&[usize]>) -> Result<Started> {
    let output = tempfile::tempfile().context("cannot make a temporary file for the program's output")?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?).process_group(0);
    // Nothing measured may outlive this command.
    children::end_with_parent(command, Signal::KILL);
    let before = sched_getaffinity(None)?;
    if let Some(cpus) = cpus {
        let mut set = CpuSet::new();
        for &cpu in cpus {
            set.set(cpu);
        }
        sched_setaffinity(None, &set).context("cannot confine a program to its processors")?;
    }
    let child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()));
    sched_setaffinity(None, &before)?;
    let pid = child?.id();
    let pidfd = pidfd_open(number(pid), PidfdFlags::empty()).context("cannot watch a process (pidfd_open)")?;
    Ok(Started { pid, pidfd, output })
}

/// Waits until all have ended, or until `limit` after `origin`: then kills the remaining programs,
/// whole process groups.
pub fn wait_all(started: Vec<Started>, origin: Instant, limit: Duration) -> Result<Vec<Ended>> {
    let mut turnaround: Vec<Option<f64>> = vec![None; started.len()];
    while turnaround.iter().any(Option::is_none) {
        let left = limit.saturating_sub(origin.elapsed());
        if left.is_zero() {
            break;
        }
        wait_for_one(&started, &mut turnaround, origin, left)?;
    }
    for (program, _) in started.iter().zip(&turnaround).filter(|(_, end)| end.is_none()) {
        let _ = kill_process_group(number(program.pid), Signal::KILL);
    }
    started.into_iter().zip(turnaround).map(|(program, end)| finish(program, end, limit)).collect()
}

/// Kills the process group of `program` and waits for it; gives the processor seconds it used.
pub fn kill(program: Started) -> Result<f64> {
    let _ = kill_process_group(number(program.pid), Signal::KILL);
    finish(program, None, Duration::ZERO).map(|ended| ended.cpu_s)
}

fn wait_for_one(started: &[Started], ends: &mut [Option<f64>], origin: Instant, left: Duration) -> Result<()> {
    let open: Vec<usize> = (0..started.len()).filter(|&i| ends[i].is_none()).collect();
    let mut entries: Vec<PollFd> = open.iter().map(|&i| PollFd::new(&started[i].pidfd, PollFlags::IN)).collect();
    let timeout = left.try_into().context("time limit out of range")?;
    match poll(&mut entries, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error).context("cannot wait for the programs (poll)"),
    }
    let now = origin.elapsed().as_secs_f64();
    for (&i, entry) in open.iter().zip(&entries) {
        if !entry.revents().is_empty() {
            ends[i] = Some(now);
        }
    }
    Ok(())
}

fn finish(mut program: Started, end: Option<f64>, limit: Duration) -> Result<Ended> {
    let usage = children::wait_with_usage(program.pid)?;
    if end.is_some() {
        // Processes that it started and left behind belong to the run that is over.
        let _ = kill_process_group(number(program.pid), Signal::KILL);
    }
    let mut output = Vec::new();
    program.output.rewind()?;
    program.output.read_to_end(&mut output)?;
    Ok(Ended {
        turnaround_s: end.unwrap_or(limit.as_secs_f64()),
        cpu_s: usage.processor_time.as_secs_f64(),
        limited: end.is_none(),
        success: usage.success,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

/// A child's process id, which is never 0.
pub fn number(pid: u32) -> Pid {
    i32::try_from(pid).ok().and_then(Pid::from_raw).expect("the id of a child")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn shell(script: &str) -> Command {
        let mut command = clean_command(Path::new("/bin/sh"));
        command.args(["-c", script]);
        command
    }

    #[test]
    fn exit_codes_outputs_and_order_of_ends_are_seen() -> Result<()> {
        let origin = Instant::now();
        let programs =
            vec![start(&mut shell("sleep 0.2; echo late; exit 3"), None)?, start(&mut shell("echo early"), None)?];
        let ended = wait_all(programs, origin, Duration::from_secs(20))?;
        assert_eq!((ended[0].output.as_str(), ended[1].output.as_str()), ("late\n", "early\n"));
        assert_eq!((ended[0].success, ended[1].success), (false, true));
        assert!(ended[0].turnaround_s > ended[1].turnaround_s && ended.iter().all(|end| !end.limited));
        Ok(())
    }

    #[test]
    fn a_run_that_takes_too_long_is_killed_with_its_children_and_marked() -> Result<()> {
        let origin = Instant::now();
        let program = start(&mut shell("sleep 1000 & echo $!; wait"), None)?;
        let ended = wait_all(vec![program], origin, Duration::from_millis(300))?;
        assert!(ended[0].limited && !ended[0].success);
        assert!((ended[0].turnaround_s - 0.3).abs() < 1e-9);
        let grandchild: u32 = ended[0].output.trim().parse()?;
        while Path::new(&format!("/proc/{grandchild}/exe")).read_link().is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    #[test]
    fn a_program_is_confined_and_this_command_is_not() -> Result<()> {
        let mine = processors()?;
        let program = start(&mut shell("grep Cpus_allowed_list /proc/self/status"), Some(&mine[..1]))?;
        let ended = wait_all(vec![program], Instant::now(), Duration::from_secs(20))?;
        assert!(ended[0].output.trim().ends_with(&format!("\t{}", mine[0])), "{}", ended[0].output);
        assert_eq!(processors()?, mine);
        Ok(())
    }
}
