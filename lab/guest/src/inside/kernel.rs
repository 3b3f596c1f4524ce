//! Reads from the kernel where threads may run and did run, on which nodes pages lie, and which
//! control groups there are.
//!
//! It asks only the kernel, because the manager's own statements are under test.

use anyhow::{Context, Result};
use numaestro_topology::CpuSet;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The kernel's thread that is the parent of its others.
const KTHREADD: u32 = 2;

/// The directory of control groups.
pub const CGROUPS: &str = "/sys/fs/cgroup";

/// A thread as the kernel sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Processors it may run on (`Cpus_allowed_list`).
    pub allowed: CpuSet,
    /// Nodes it may have memory from (`Mems_allowed_list`).
    pub nodes: CpuSet,
    /// Processor it ran on last.
    pub processor: u32,
    /// `R` running or ready, `S` asleep, `T` stopped, `t` traced ...
    pub state: char,
    /// Processor time in user mode, ticks.
    pub ticks: u32,
}

/// A mapping of a program with its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Its address.
    pub address: u64,
    /// Its memory policy, such as `default`, `prefer:1`, `interleave:0-3`, `bind:2`.
    pub policy: String,
    /// `heap`, `stack`, the file's name, or nothing.
    pub what: String,
    /// Bytes by node.
    pub bytes: BTreeMap<u32, u64>,
}

/// A file's text without white space around it.
///
/// # Errors
/// It cannot be read; the path is in the error.
pub fn text(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Writes a setting of the kernel.
///
/// # Errors
/// The kernel refuses; path and value are in the error.
pub fn set(path: impl AsRef<Path>, value: &str) -> Result<()> {
    let path = path.as_ref();
    std::fs::write(path, value).with_context(|| format!("writing \"{value}\" to {}", path.display()))
}

/// The set in a file that holds a list.
///
/// # Errors
/// No such file, or no list.
pub fn list(path: impl AsRef<Path>) -> Result<CpuSet> {
    let text = text(&path)?;
    text.parse().map_err(|_| anyhow::anyhow!("{}: \"{text}\" is no list", path.as_ref().display()))
}

/// The processors of a node.
///
/// # Errors
/// There is no such node.
pub fn node_cpus(node: u32) -> Result<CpuSet> {
    list(format!("/sys/devices/system/node/node{node}/cpulist"))
}

/// All threads of a process; threads that end meanwhile are left out.
///
/// # Errors
/// There is no such process.
pub fn threads(pid: u32) -> Result<Vec<Thread>> {
    let directory = format!("/proc/{pid}/task");
    let entries = std::fs::read_dir(&directory).with_context(|| directory.clone())?;
    let mut tids: Vec<u32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    Ok(tids.into_iter().filter_map(|tid| thread(pid, tid).ok()).collect())
}

fn thread(pid: u32, tid: u32) -> Result<Thread> {
    let status = text(format!("/proc/{pid}/task/{tid}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim).with_context(|| format!("no {name} in the status of {tid}"))
    };
    let stat = text(format!("/proc/{pid}/task/{tid}/stat"))?;
    // The name in parentheses may hold anything: fields are counted after its end, from the third.
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| words.get(field - 3).and_then(|word| word.parse().ok());
    let list = |name: &str| -> Result<CpuSet> { field(name)?.parse().map_err(|_| anyhow::anyhow!("{name}: no list")) };
    Ok(Thread {
        tid,
        name: field("Name")?.to_owned(),
        allowed: list("Cpus_allowed_list")?,
        nodes: list("Mems_allowed_list")?,
        processor: number(39).context("no processor in stat")?,
        state: words.first().and_then(|word| word.chars().next()).unwrap_or('?'),
        ticks: number(14).unwrap_or(0),
    })
}

/// All mappings of a process with their pages (`numa_maps`).
///
/// # Errors
/// There is no such process, or the kernel's text has another form than expected.
pub fn mappings(pid: u32) -> Result<Vec<Mapping>> {
    text(format!("/proc/{pid}/numa_maps"))?.lines().map(|line| mapping(line).with_context(|| line.to_owned())).collect()
}

fn mapping(line: &str) -> Result<Mapping> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next().context("no address")?, 16)?;
    let policy = words.next().context("no policy")?.to_owned();
    let (mut what, mut pages, mut page_bytes) = (String::new(), BTreeMap::new(), 4096);
    for word in words {
        if let Some((name, value)) = word.split_once('=') {
            if name == "kernelpagesize_kB" {
                page_bytes = value.parse::<u64>()? * 1024;
            } else if name == "file" {
                value.clone_into(&mut what);
            } else if let Some(node) = name.strip_prefix('N').and_then(|number| number.parse::<u32>().ok()) {
                pages.insert(node, value.parse::<u64>()?);
            }
        } else if matches!(word, "heap" | "stack") {
            word.clone_into(&mut what);
        }
    }
    let bytes = pages.into_iter().map(|(node, pages)| (node, pages * page_bytes)).collect();
    Ok(Mapping { address, policy, what, bytes })
}

/// Bytes of a process by node: its own (`own`), without the pages of files, or everything.
///
/// # Errors
/// As [`mappings`].
pub fn bytes_by_node(pid: u32, own: bool) -> Result<BTreeMap<u32, u64>> {
    let mut out = BTreeMap::new();
    for mapping in mappings(pid)? {
        if own && mapping.what.starts_with('/') {
            continue;
        }
        for (node, bytes) in mapping.bytes {
            *out.entry(node).or_insert(0) += bytes;
        }
    }
    Ok(out)
}

/// The control group of a process, as a path below [`CGROUPS`].
///
/// # Errors
/// There is no such process.
pub fn cgroup(pid: u32) -> Result<PathBuf> {
    let all = text(format!("/proc/{pid}/cgroup"))?;
    let path = all.lines().find_map(|line| line.strip_prefix("0::/")).context("no cgroup of version 2")?;
    Ok(Path::new(CGROUPS).join(path))
}

/// A counter of /proc/vmstat, such as `numa_pages_migrated`.
///
/// # Errors
/// This kernel has no such counter.
pub fn counter(name: &str) -> Result<u64> {
    let all = text("/proc/vmstat")?;
    let value = all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(value.with_context(|| format!("no {name} in /proc/vmstat"))?.parse()?)
}

/// Ids of all processes that have a program (so not the kernel's own threads), without the first
/// one and this one.
pub fn processes() -> Vec<u32> {
    all_processes().into_iter().filter(|&pid| pid != 1 && pid != std::process::id() && has_program(pid)).collect()
}

fn has_program(pid: u32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok()
}

fn all_processes() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Processes that are at their end and not gone: their first thread has no program any more.
fn ending() -> Vec<u32> {
    let kernels = |pid: u32| pid == KTHREADD || parent(pid) == Some(KTHREADD);
    all_processes().into_iter().filter(|&pid| !kernels(pid) && !has_program(pid)).collect()
}

/// One line for each process and each of its threads, to see which one hangs: the thread's state
/// and processor time in ticks, and where it waits in the kernel, or is in the program. A process
/// that does not come to its end is among them, with the kernel's stack.
pub fn processes_text() -> String {
    let mut out = String::new();
    let ending = ending();
    for pid in processes().into_iter().chain(ending.iter().copied()) {
        let command = text(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
        let _ = writeln!(out, "  {pid} {}", if ending.contains(&pid) { "ends" } else { &command });
        for Thread { tid, name, state, ticks, .. } in threads(pid).unwrap_or_default() {
            let of = |file: &str| text(format!("/proc/{pid}/task/{tid}/{file}")).unwrap_or_default();
            let (wchan, call) = (of("wchan"), of("syscall"));
            let _ = writeln!(out, "    {tid} {name} {state} {ticks} ticks, {wchan}, system call {call}");
            if ending.contains(&pid) {
                for line in of("stack").lines() {
                    let _ = writeln!(out, "      {line}");
                }
            }
        }
    }
    out
}

/// Kills every process but the first, this one and its ancestors, and waits until they are gone.
pub(super) fn kill_others() {
    let ancestors = ancestors();
    for _ in 0..500 {
        let others: Vec<u32> = processes().into_iter().filter(|pid| !ancestors.contains(pid)).collect();
        if others.is_empty() {
            return;
        }
        for pid in others {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn ancestors() -> Vec<u32> {
    let mut out = vec![std::process::id()];
    while let Some(parent) = out.last().and_then(|pid| parent(*pid)).filter(|&parent| parent > 1) {
        out.push(parent);
    }
    out
}

/// The parent of a process.
pub fn parent(pid: u32) -> Option<u32> {
    let status = text(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// Removes every control group, the deepest first. The groups that hold a process stay.
pub(super) fn remove_cgroups() {
    fn below(directory: &Path) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below(&entry.path());
                let _ = std::fs::remove_dir(entry.path());
            }
        }
    }
    below(Path::new(CGROUPS));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_numa_maps_are_read() {
        let line = "7f1c80000000 prefer:1 anon=2051 dirty=2051 active=0 N1=2048 N3=3 kernelpagesize_kB=4";
        let found = mapping(line).unwrap();
        assert_eq!((found.address, found.policy.as_str(), found.what.as_str()), (0x7f1c_8000_0000, "prefer:1", ""));
        assert_eq!(found.bytes, BTreeMap::from([(1, 2048 * 4096), (3, 3 * 4096)]));
        let huge = mapping("7f00 bind:0 file=/dev/hugepages/x huge N0=2 kernelpagesize_kB=2048").unwrap();
        assert_eq!((huge.what.as_str(), huge.bytes[&0]), ("/dev/hugepages/x", 4 << 20));
        assert!(mapping("xyz default").is_err());
    }

    #[test]
    fn this_process_is_seen() {
        let own = threads(std::process::id()).unwrap();
        assert!(own.iter().all(|thread| thread.allowed.contains(thread.processor)), "{own:?}");
        assert!(parent(std::process::id()).is_some_and(|parent| parent > 0));
    }
}
