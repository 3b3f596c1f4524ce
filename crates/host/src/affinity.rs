//! Reads and sets the affinity masks of one thread, of a process, and of a tree of processes.
//!
//! Masks are other people's too. So each function that goes through the threads of a process asks
//! its caller ([`Ours`]) for each thread whether the mask that it has may be changed.

use std::collections::BTreeSet;
use std::fs;

use numaestro_topology::CpuSet;

use crate::cgroup::Hierarchies;
use crate::error::{self, HostError};
use crate::procfs;

/// Room for 65 536 processors, twice the most that Linux can be built for.
const MASK_WORDS_MAX: usize = 1024;
/// Words tried first: 1024 processors, as glibc.
const MASK_WORDS: usize = 16;
/// Times the threads of a process are listed anew while new ones keep appearing.
const PASSES_MAX: u32 = 64;

/// A thread, with the mask that it has.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// The processors that it may run on.
    pub mask: &'a CpuSet,
}

/// Says whether the mask of a thread may be changed: nobody else has set it.
pub type Ours<'a> = &'a mut dyn FnMut(Found<'_>) -> bool;

/// Any mask may be changed: for processes that the caller has started.
pub fn anybody(_: Found<'_>) -> bool {
    true
}

/// The threads that [`set_process`] has seen and changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Threads seen.
    pub threads: u32,
    /// Threads whose mask was changed.
    pub changed: u32,
}

/// Processors that thread (or single-threaded process) `tid` may run on; 0 is the calling thread.
pub fn get(tid: u32) -> Result<CpuSet, HostError> {
    let mut words = vec![0_u64; MASK_WORDS];
    loop {
        // SAFETY: the buffer is valid for writing of as many bytes as are announced.
        let result = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, words.len() * 8, words.as_mut_ptr()) };
        if let Ok(bytes) = usize::try_from(result) {
            words.truncate(bytes / 8);
            return Ok(set_of(&words));
        }
        let cause = std::io::Error::last_os_error();
        // EINVAL: the kernel's mask is longer than the buffer.
        if cause.raw_os_error() != Some(libc::EINVAL) || words.len() >= MASK_WORDS_MAX {
            return Err(error::process("read the affinity", tid)(cause));
        }
        let longer = words.len() * 2;
        words.resize(longer, 0);
    }
}

/// Processors that threads of process `pid` may run on, all together.
pub fn of_process(pid: u32) -> Result<CpuSet, HostError> {
    let mut all = CpuSet::default();
    for tid in procfs::threads(pid)? {
        match get(tid) {
            Ok(cpus) => all.or_with(&cpus),
            Err(cause) if cause.is_gone() => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(all)
}

fn set_of(words: &[u64]) -> CpuSet {
    let mut set = CpuSet::with_capacity(words.len() * 64);
    for (index, word) in words.iter().enumerate() {
        set.extend((0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| index as u32 * 64 + bit));
    }
    set
}

/// Lets thread `tid` run on `cpus` only; 0 is the calling thread. The kernel refuses a set without
/// any usable processor.
pub fn set(tid: u32, cpus: &CpuSet) -> Result<(), HostError> {
    let words = cpus.words();
    // SAFETY: the buffer is valid for reading of as many bytes as are announced.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(words), words.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(error::process("set the affinity", tid)(std::io::Error::last_os_error())) }
}

/// Lets the threads of process `pid` run on `cpus` only, those whose mask is `ours`.
///
/// New threads take their creator's mask, so the list is read again until it holds no thread that
/// was not seen before: then every creator has been moved. Threads that end meanwhile are no error;
/// a process that is gone is.
///
/// Where threads get more processors than they had, those that are ready part at once.
pub fn set_process(pid: u32, cpus: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
    let mut moved = Moved::default();
    let mut seen = BTreeSet::new();
    let mut left = BTreeSet::new();
    let mut has_grown = false;
    for _ in 0..PASSES_MAX {
        let mut fresh = false;
        for tid in procfs::threads(pid)? {
            if seen.insert(tid) {
                fresh = true;
                moved.threads += 1;
                match set_thread(pid, tid, cpus, ours)? {
                    Set::Left => _ = left.insert(tid),
                    Set::Changed(before) => {
                        moved.changed += 1;
                        has_grown |= before.len() < cpus.len() && before.is_subset(cpus);
                    }
                    Set::Same => {}
                }
            }
        }
        if !fresh {
            break;
        }
    }
    if has_grown {
        let ready = procfs::ready_places(pid).into_iter().filter(|(tid, _)| seen.contains(tid) && !left.contains(tid));
        part(ready.collect(), cpus);
    }
    Ok(moved)
}

/// Threads that are ready, each with its processor: of several on one processor, all but one go to
/// processors of `cpus` that have none of them. The kernel would balance them some milliseconds
/// later. One that cannot be moved stays where it is.
fn part(ready: Vec<(u32, u32)>, cpus: &CpuSet) {
    let taken: CpuSet = ready.iter().map(|(_, place)| *place).collect();
    let mut free = cpus.iter().filter(|cpu| !taken.contains(*cpu));
    let mut first = BTreeSet::new();
    for (tid, _) in ready.into_iter().filter(|(_, place)| !first.insert(*place)) {
        let Some(place) = free.next() else { return };
        let _ = set(tid, &std::iter::once(place).collect());
        let _ = set(tid, cpus);
    }
}

/// As [`set_process`], but threads that may run on some of `cpus` and nothing else are left as they
/// are. One look: for a stopped process.
pub fn keep_process_within(pid: u32, cpus: &CpuSet, ours: Ours<'_>) -> Result<(), HostError> {
    for tid in procfs::threads(pid)? {
        let outcome = match get(tid) {
            Ok(present) if present.is_subset(cpus) || !ours(Found { pid, tid, mask: &present }) => Ok(()),
            Ok(_) => set(tid, cpus),
            Err(cause) => Err(cause),
        };
        match outcome {
            Err(cause) if !cause.is_gone() => return Err(cause),
            _ => {}
        }
    }
    Ok(())
}

/// Looks once at every thread of process `pid`, and gives `whole` to each thread that does not
/// have it, and whose mask is `ours`. A thread that has all of it that its cpuset and the
/// processors that are online allow needs no change: the kernel gives no more. The first refusal
/// is returned after every thread was tried.
pub fn restore_process(pid: u32, whole: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
    let mut moved = Moved::default();
    let mut refused = None;
    for tid in procfs::threads(pid)? {
        match restore_thread(pid, tid, whole, ours) {
            Ok(changed) => {
                moved.threads += 1;
                moved.changed += u32::from(changed);
            }
            Err(cause) if cause.is_gone() => {}
            Err(cause) => refused = refused.or(Some(cause)),
        }
    }
    refused.map_or(Ok(moved), Err)
}

/// Says whether the thread had fewer processors than it can have.
fn restore_thread(pid: u32, tid: u32, whole: &CpuSet, ours: Ours<'_>) -> Result<bool, HostError> {
    let present = get(tid)?;
    if present == *whole || !ours(Found { pid, tid, mask: &present }) {
        return Ok(false);
    }
    // Also if the thread has all processors that it can have: the kernel keeps the mask that it was
    // asked for, for a time with more processors.
    set(tid, whole)?;
    Ok(get(tid)? != present || possible(pid, whole)? != present)
}

/// The processors of `whole` that a process can have: those that are online, and in its cpuset.
pub fn possible(pid: u32, whole: &CpuSet) -> Result<CpuSet, HostError> {
    let (allowed, _) = Hierarchies::read().cpuset_of(pid)?;
    let online =
        fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| text.trim().parse::<CpuSet>().ok());
    let mut possible = whole.clone();
    for bound in [allowed, online].into_iter().flatten() {
        possible.and_with(&bound);
    }
    Ok(possible)
}

/// The outcome for one thread.
enum Set {
    /// Somebody else has set its mask.
    Left,
    /// It had this mask.
    Changed(CpuSet),
    /// It had the mask, or is gone.
    Same,
}

/// The mask is set even where it seems to be so already: the kernel leaves offline processors out
/// of its answer, and keeps them in the mask.
fn set_thread(pid: u32, tid: u32, cpus: &CpuSet, ours: Ours<'_>) -> Result<Set, HostError> {
    let outcome = get(tid).and_then(|present| {
        if !ours(Found { pid, tid, mask: &present }) {
            return Ok(Set::Left);
        }
        set(tid, cpus).map(|()| if present == *cpus { Set::Same } else { Set::Changed(present) })
    });
    match outcome {
        Err(cause) if cause.is_gone() => Ok(Set::Same),
        other => other,
    }
}

/// Lets every process that descends from `root` run on `cpus` only, and `root` itself, without the
/// subtrees in `except` and threads whose mask is not `ours`.
///
/// Repeated until no new process appears. The first refusal is returned after everything else was
/// tried.
pub fn set_tree(root: u32, except: &BTreeSet<u32>, cpus: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
    if crate::own_uid() == 0 && procfs::has_other_rights(root) {
        return Err(error::process("move what runs with another user's rights", root)(rustix::io::Errno::PERM));
    }
    let mut moved = set_process(root, cpus, ours)?;
    let mut seen = BTreeSet::from([root]);
    let mut refused = None;
    for _ in 0..PASSES_MAX {
        let mut fresh = false;
        for pid in procfs::tree(root, except)? {
            if !seen.insert(pid) {
                continue;
            }
            fresh = true;
            match set_process(pid, cpus, ours) {
                Ok(more) => {
                    moved.threads += more.threads;
                    moved.changed += more.changed;
                }
                Err(cause) if cause.is_gone() => {}
                Err(cause) => refused = refused.or(Some(cause)),
            }
        }
        if !fresh {
            break;
        }
    }
    refused.map_or(Ok(moved), Err)
}

#[cfg(test)]
mod tests;
