//! Reads and sets the affinity masks of one thread, of a process, and of a tree of processes.

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

/// Lets every thread of process `pid` run on `cpus` only.
///
/// New threads take their creator's mask, so the list is read again until it holds no thread that
/// was not seen before: then every creator has been moved. Threads that end meanwhile are no error;
/// a process that is gone is.
///
/// Where threads get more processors than they had, those that are ready part at once.
pub fn set_process(pid: u32, cpus: &CpuSet) -> Result<Moved, HostError> {
    let mut moved = Moved::default();
    let mut seen = BTreeSet::new();
    let mut has_grown = false;
    for _ in 0..PASSES_MAX {
        let mut fresh = false;
        for tid in procfs::threads(pid)? {
            if seen.insert(tid) {
                fresh = true;
                moved.threads += 1;
                let before = set_thread(tid, cpus)?;
                moved.changed += u32::from(before.is_some());
                has_grown |= before.is_some_and(|before| before.len() < cpus.len() && before.is_subset(cpus));
            }
        }
        if !fresh {
            break;
        }
    }
    if has_grown {
        part(procfs::ready_places(pid), cpus);
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
pub fn keep_process_within(pid: u32, cpus: &CpuSet) -> Result<(), HostError> {
    for tid in procfs::threads(pid)? {
        let outcome = match get(tid) {
            Ok(present) if present.is_subset(cpus) => Ok(()),
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

/// Looks once at every thread of process `pid`, and gives `whole` to each thread that does not have
/// it. A thread that has all of it that its cpuset and the processors that are online allow needs
/// no change: the kernel gives no more. The first refusal is returned after every thread was tried.
pub fn restore_process(pid: u32, whole: &CpuSet) -> Result<Moved, HostError> {
    let mut moved = Moved::default();
    let mut refused = None;
    for tid in procfs::threads(pid)? {
        match restore_thread(pid, tid, whole) {
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
fn restore_thread(pid: u32, tid: u32, whole: &CpuSet) -> Result<bool, HostError> {
    let present = get(tid)?;
    if present == *whole {
        return Ok(false);
    }
    // Also if the thread has all processors that it can have: the kernel keeps the mask that it was
    // asked for, for a time with more processors.
    set(tid, whole)?;
    Ok(get(tid)? != present || possible(pid, whole)? != present)
}

/// The processors of `whole` that a process can have.
fn possible(pid: u32, whole: &CpuSet) -> Result<CpuSet, HostError> {
    let (allowed, _) = Hierarchies::read().cpuset_of(pid)?;
    let online =
        fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| text.trim().parse::<CpuSet>().ok());
    let mut possible = whole.clone();
    for bound in [allowed, online].into_iter().flatten() {
        possible.and_with(&bound);
    }
    Ok(possible)
}

/// Gives the thread's former mask, if that was another one. It is set even where it seems to be so
/// already: the kernel leaves offline processors out of its answer, and keeps them in the mask.
fn set_thread(tid: u32, cpus: &CpuSet) -> Result<Option<CpuSet>, HostError> {
    let outcome = get(tid).and_then(|present| set(tid, cpus).map(|()| (present != *cpus).then_some(present)));
    match outcome {
        Err(cause) if cause.is_gone() => Ok(None),
        other => other,
    }
}

/// Lets every process that descends from `root` run on `cpus` only, and `root` itself, without the
/// subtrees in `except`.
///
/// Repeated until no new process appears. The first refusal is returned after everything else was
/// tried.
pub fn set_tree(root: u32, except: &BTreeSet<u32>, cpus: &CpuSet) -> Result<Moved, HostError> {
    if crate::own_uid() == 0 && procfs::has_other_rights(root) {
        return Err(error::process("move what runs with another user's rights", root)(rustix::io::Errno::PERM));
    }
    let mut moved = set_process(root, cpus)?;
    let mut seen = BTreeSet::from([root]);
    let mut refused = None;
    for _ in 0..PASSES_MAX {
        let mut fresh = false;
        for pid in procfs::tree(root, except)? {
            if !seen.insert(pid) {
                continue;
            }
            fresh = true;
            match set_process(pid, cpus) {
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
mod tests {
    use super::*;

    /// For the tests that move threads of this process: one of them moves them all.
    static THIS_PROCESS: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn a_child_is_moved_and_back() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 100 & wait"]).spawn().unwrap();
        let all = get(0).unwrap();
        let one: CpuSet = all.iter().take(1).collect();
        // The shell's own child appears a moment later; the tree is followed until it is in.
        while procfs::tree(child.id(), &BTreeSet::new()).unwrap().len() < 2 {
            std::thread::yield_now();
        }
        let moved = set_tree(child.id(), &BTreeSet::new(), &one).unwrap();
        assert!(moved.threads >= 2);
        for pid in procfs::tree(child.id(), &BTreeSet::new()).unwrap() {
            assert_eq!(get(pid).unwrap(), one);
        }
        set_tree(child.id(), &BTreeSet::new(), &all).unwrap();
        assert_eq!(get(child.id()).unwrap(), all);
        for pid in procfs::tree(child.id(), &BTreeSet::new()).unwrap() {
            let _ = std::process::Command::new("kill").arg(pid.to_string()).status();
        }
        child.wait().unwrap();
        assert!(set_process(child.id(), &all).unwrap_err().is_gone());
    }

    #[test]
    fn a_mask_is_made_whole_once() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let all = get(0).unwrap();
        let one: CpuSet = all.iter().take(1).collect();
        set_process(child.id(), &one).unwrap();
        let changed = u32::from(one != all);
        assert_eq!(restore_process(child.id(), &all).unwrap(), Moved { threads: 1, changed });
        assert_eq!(get(child.id()).unwrap(), all);
        assert_eq!(restore_process(child.id(), &all).unwrap(), Moved { threads: 1, changed: 0 });
        // More than there is cannot be had, and is no change.
        let more: CpuSet = all.iter().chain([63, 64]).collect();
        assert_eq!(restore_process(child.id(), &more).unwrap().changed, 0);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(restore_process(child.id(), &all).unwrap_err().is_gone());
    }

    #[test]
    fn ready_threads_part_at_once() {
        use std::sync::atomic::{AtomicBool, Ordering};
        /// Lets the spinning threads go, also where the test fails.
        struct Ends<'a>(&'a AtomicBool);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _alone = THIS_PROCESS.lock().unwrap();
        let all = get(0).unwrap();
        if all.len() < 2 {
            numaestro_skip::skip!("one processor only");
        }
        let ends = AtomicBool::new(false);
        let (announce, spinners) = std::sync::mpsc::channel();
        let spin = |announce: std::sync::mpsc::Sender<u32>| {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            set(tid, &all.iter().take(1).collect()).unwrap();
            announce.send(tid).unwrap();
            while !ends.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        std::thread::scope(|scope| {
            let _ends = Ends(&ends);
            for _ in 0..2 {
                let announce = announce.clone();
                scope.spawn(move || spin(announce));
            }
            // Threads of other tests are ready in this process too.
            let ours = [spinners.recv().unwrap(), spinners.recv().unwrap()];
            let places = || {
                let all = procfs::ready_places(std::process::id()).into_iter();
                all.filter(|(tid, _)| ours.contains(tid)).collect::<Vec<_>>()
            };
            let one = all.first().unwrap();
            // On a busy machine the kernel may move a thread once more before it is looked at: now
            // and then, not most of the time.
            let mut parted = Vec::new();
            for _ in 0..11 {
                for tid in ours {
                    set(tid, &std::iter::once(one).collect()).unwrap();
                }
                let pairs = loop {
                    let pairs = places();
                    if pairs.iter().filter(|(_, place)| *place == one).count() == 2 {
                        break pairs;
                    }
                    std::thread::yield_now();
                };
                for tid in ours {
                    set(tid, &all).unwrap();
                }
                part(pairs.clone(), &all);
                let second = places().into_iter().find(|(tid, _)| *tid == pairs[1].0);
                parted.push(second.is_some_and(|(_, place)| place != one));
                assert!(ours.iter().all(|tid| get(*tid).unwrap() == all), "they are kept nowhere");
            }
            assert!(parted.iter().filter(|parted| **parted).count() > 5, "{parted:?}");
        });
    }

    #[test]
    fn every_thread_is_moved() {
        let _alone = THIS_PROCESS.lock().unwrap();
        let stop = std::sync::Arc::new(std::sync::Barrier::new(9));
        let all = get(0).unwrap();
        let one: CpuSet = all.iter().take(1).collect();
        let handles: Vec<_> = (0..8)
            .map(|_| {
                let stop = stop.clone();
                std::thread::spawn(move || {
                    let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
                    set(tid, &get(0).unwrap()).unwrap();
                    stop.wait();
                    stop.wait();
                    get(0).unwrap()
                })
            })
            .collect();
        stop.wait();
        set_process(std::process::id(), &one).unwrap();
        stop.wait();
        for handle in handles {
            assert_eq!(handle.join().unwrap(), one);
        }
        set_process(std::process::id(), &all).unwrap();
    }
}
