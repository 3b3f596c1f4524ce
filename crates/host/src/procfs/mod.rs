//! Reads `/proc`. Every reader takes text and is tested on text; only the thin functions on top
//! open files.

mod busy;
mod identity;
mod ready;
mod stat;
mod table;
mod tasks;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub use busy::{Busy, busy_of_all_processors};
pub use identity::{Identity, cgroup, cgroups, identity, program, variables};
pub use ready::ReadyThreads;
pub use stat::{Stat, parse_stat};
pub use table::{ProcessTable, ancestors};
pub(crate) use tasks::{LINE_BYTES, Tasks};

use crate::error::{self, HostError};

fn path_of(pid: u32, file: &str) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join(file)
}

/// `/proc/PID/stat`: name, parent, state, processor time in ticks, threads, start time.
pub fn stat(pid: u32) -> Result<Stat, HostError> {
    read_stat(path_of(pid, "stat"))
}

fn read_stat(path: PathBuf) -> Result<Stat, HostError> {
    // The name may be any bytes; the numbers after it are ASCII.
    let bytes = fs::read(&path).map_err(error::file("read", &path))?;
    let text = String::from_utf8_lossy(&bytes);
    parse_stat(&text).ok_or_else(|| HostError::Malformed { path, text: text.trim_end().to_owned() })
}

/// Thread ids of `pid`, as they are at this moment.
pub fn threads(pid: u32) -> Result<Vec<u32>, HostError> {
    let mut found = Vec::new();
    Tasks::open(pid)?.list(&mut found);
    Ok(found)
}

/// Number of threads of `pid`, by one system call; `None` if it is gone.
pub fn thread_count(pid: u32) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    // The directory counts its subdirectories, as others do.
    fs::metadata(path_of(pid, "task")).ok().map(|task| task.nlink().saturating_sub(2))
}

/// Processor time of `pid` since it started, all its threads, ended ones included, in nanoseconds;
/// in whole ticks where the kernel refuses the process's clock.
pub fn cpu_time_ns(pid: u32) -> Result<u64, HostError> {
    match cpu_clock_ns(pid) {
        Some(time) => Ok(time),
        None => Ok(stat(pid)?.cpu_ticks * tick_ns()),
    }
}

/// The same by one system call and no file; `None` if the process is gone, or where the kernel
/// refuses the process's clock.
pub fn cpu_clock_ns(pid: u32) -> Option<u64> {
    // The process's own clock: `MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)` of the kernel's
    // posix-timers.
    let clock = (!i32::try_from(pid).ok()? << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; a clock that does not exist gives an error.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (result == 0).then(|| time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Processor time of every thread of `pid` in nanoseconds, and whether the thread runs or is ready
/// to.
pub fn thread_times(pid: u32) -> Result<Vec<(u32, u64, bool)>, HostError> {
    let tasks = Tasks::open(pid)?;
    let time =
        |tid, stat: Stat| (tid, tasks.run_time(tid).unwrap_or_else(|| stat.cpu_ticks * tick_ns()), stat.state == 'R');
    Ok(thread_stats(&tasks).map(|(tid, stat)| time(tid, stat)).collect())
}

/// The line `stat` of every thread.
fn thread_stats(tasks: &Tasks) -> impl Iterator<Item = (u32, Stat)> {
    let mut found = Vec::new();
    tasks.list(&mut found);
    found.into_iter().filter_map(|tid| {
        let mut buffer = [0; LINE_BYTES];
        Some((tid, parse_stat(tasks.read(tid, "stat", &mut buffer)?)?))
    })
}

/// OS index of the processor that every thread of `pid` runs on, or ran on last.
pub fn thread_processors(pid: u32) -> Result<Vec<u32>, HostError> {
    let tasks = Tasks::open(pid)?;
    Ok(thread_stats(&tasks).map(|(_, stat)| stat.processor).collect())
}

/// Threads of `pid` that run or are ready to, each with the OS index of its processor.
pub fn ready_places(pid: u32) -> Vec<(u32, u32)> {
    let Ok(tasks) = Tasks::open(pid) else { return Vec::new() };
    thread_stats(&tasks).filter(|(_, stat)| stat.state == 'R').map(|(tid, stat)| (tid, stat.processor)).collect()
}

/// Processor time of every thread of `pid` in nanoseconds, where the kernel keeps it precisely
/// (`schedstat`): one short file for each thread.
pub fn run_times(pid: u32) -> Result<Vec<(u32, u64)>, HostError> {
    let tasks = Tasks::open(pid)?;
    let mut found = Vec::new();
    tasks.list(&mut found);
    Ok(found.into_iter().filter_map(|tid| Some((tid, tasks.run_time(tid)?))).collect())
}

/// Children of `pid`, from the kernel's own list; `None` if the kernel keeps none
/// (`CONFIG_PROC_CHILDREN`).
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for tid in threads(pid).ok()? {
        found.extend(children_of_thread(pid, tid)?);
    }
    Some(found)
}

/// The same of one of its threads.
fn children_of_thread(pid: u32, tid: u32) -> Option<Vec<u32>> {
    match fs::read_to_string(path_of(pid, "task").join(tid.to_string()).join("children")) {
        Ok(text) => Some(text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()),
        // A thread that has ended has handed its children to another one of its process.
        Err(_) => (!path_of(tid, "stat").exists()).then(Vec::new),
    }
}

/// `root` and everything that descends from it, without the subtrees whose roots are in `except`.
/// If we may touch the processes of all users, without the processes that are not (or not only) of
/// the user who started `root`: a program that a user runs with another user's rights is not that
/// user's to move or stop.
pub fn tree(root: u32, except: &BTreeSet<u32>) -> Result<Vec<u32>, HostError> {
    let mut found = whole_tree(root, except)?;
    if crate::own_uid() == 0 {
        keep_own(root, &mut found);
    }
    Ok(found)
}

/// A user has started it, and it runs with another one's rights (setuid): it is not that user's to
/// be moved or stopped.
pub fn has_other_rights(pid: u32) -> bool {
    identity(pid).is_ok_and(|who| who.real != 0 && who.only().is_none())
}

/// Keeps the processes of the same user as `root`.
fn keep_own(root: u32, pids: &mut Vec<u32>) {
    match identity(root).map(|who| who.real) {
        Ok(0) => {}
        Ok(user) => pids.retain(|pid| identity(*pid).is_ok_and(|who| who.only() == Some(user))),
        Err(_) => pids.clear(),
    }
}

fn whole_tree(root: u32, except: &BTreeSet<u32>) -> Result<Vec<u32>, HostError> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        if (pid != root && except.contains(&pid)) || !seen.insert(pid) {
            continue;
        }
        found.push(pid);
        match children(pid) {
            Some(more) => open.extend(more),
            None if path_of(pid, "stat").exists() => return Ok(ProcessTable::read()?.tree(root, except)),
            None => {}
        }
    }
    Ok(found)
}

/// Every process id there is.
pub fn all() -> Result<Vec<u32>, HostError> {
    let path = Path::new("/proc");
    let entries = fs::read_dir(path).map_err(error::file("list", path))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Effective user id of `pid` (the owner of its directory).
pub fn uid(pid: u32) -> Result<u32, HostError> {
    use std::os::unix::fs::MetadataExt;
    let path = Path::new("/proc").join(pid.to_string());
    Ok(fs::metadata(&path).map_err(error::file("look at", &path))?.uid())
}

/// The kernel's unit of processor time, in nanoseconds.
pub fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there() {
        let me = std::process::id();
        let stat = stat(me).unwrap();
        assert_eq!(stat.pid, me);
        assert!(threads(me).unwrap().contains(&me));
        assert!(thread_count(me).is_some_and(|count| count > 0) && thread_count(1 << 30).is_none());
        assert!(cpu_time_ns(me).unwrap() > 0);
        let times = run_times(me).unwrap();
        assert!(times.iter().any(|(tid, time)| *tid == me && *time > 0) || !Path::new("/proc/self/schedstat").exists());
        let allowed = crate::affinity::get(0).unwrap();
        let processors = thread_processors(me).unwrap();
        assert!(!processors.is_empty() && processors.iter().any(|os| allowed.contains(*os)), "{processors:?}");
        assert_eq!(uid(me).unwrap(), rustix::process::geteuid().as_raw());
    }

    #[test]
    fn nobody_is_gone() {
        // Above the largest process id Linux can give.
        assert!(threads(1 << 30).unwrap_err().is_gone());
    }
}
