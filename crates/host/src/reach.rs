//! The processors that the kernel leaves to this process, whatever mask it was born with.
//!
//! A mask is inherited from whoever started a process first, and may be meant for one program only.
//! A cpuset is a limit: the kernel keeps every mask within it. So a process that asks for all
//! processors there could be, and reads its mask back, knows its limit.
//!
//! Two sets of processors are no limit to the kernel, and are left out all the same: isolated ones
//! (`isolcpus=`), where the kernel balances nothing, and those that the administrator keeps from
//! everybody at boot (`CPUAffinity=` in systemd's `system.conf`), which the first process of the
//! machine does not have either.

use std::fs;

use numaestro_topology::CpuSet;

use crate::affinity;
use crate::cgroup::Hierarchies;
use crate::error::HostError;

/// More processors than Linux can be built for. The kernel ignores the rest of a longer mask.
const PROCESSORS_MAX: u32 = 65_536;
/// `/proc/self/ns/pid` of processes that see the machine's own first process (`PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Gives the calling thread every processor that the kernel leaves to it, and says which these are.
/// `named`: processors that somebody has asked for by number, and that are not left out.
///
/// Where the system forbids to set a mask, the present one is the answer.
pub fn take(named: &CpuSet) -> Result<CpuSet, HostError> {
    let before = affinity::get(0)?;
    let all: CpuSet = (0..PROCESSORS_MAX).collect();
    if affinity::set(0, &all).is_err() {
        return Ok(before);
    }
    let found = affinity::get(0)?;
    let apart = left_out(&found, &isolated(), first_process().as_ref()).difference(named);
    if apart.is_empty() {
        return Ok(found);
    }
    // The mask that is asked for holds also for processors that come later.
    affinity::set(0, &all.difference(&apart))?;
    affinity::get(0)
}

/// The same answer, and the calling thread keeps the mask that it has.
pub fn look() -> Result<CpuSet, HostError> {
    let before = affinity::get(0)?;
    let found = take(&CpuSet::default());
    affinity::set(0, &before)?;
    found
}

/// The processors that the machine has for everybody, also for processes outside of our cgroup.
pub fn of_everybody() -> CpuSet {
    let online = list("/sys/devices/system/cpu/online");
    online.difference(&left_out(&online, &isolated(), first_process().as_ref()))
}

/// Those of `cpus` that the kernel lets process `pid` have, and that are for everybody.
pub fn within(pid: u32, cpus: &CpuSet) -> Result<CpuSet, HostError> {
    let (allowed, _) = Hierarchies::read().cpuset_of(pid)?;
    let found = cpus.intersection(&of_everybody());
    Ok(allowed.map_or_else(|| found.clone(), |allowed| found.intersection(&allowed)))
}

/// The processors of `found` that are not for everybody. Never all of them.
fn left_out(found: &CpuSet, isolated: &CpuSet, first: Option<&CpuSet>) -> CpuSet {
    let mut apart = CpuSet::default();
    let beyond_first = first.map(|first| found.difference(first));
    for part in [Some(found.intersection(isolated)), beyond_first].into_iter().flatten() {
        let both = apart.union(&part);
        if !found.is_subset(&both) {
            apart = both;
        }
    }
    apart
}

fn isolated() -> CpuSet {
    list("/sys/devices/system/cpu/isolated")
}

fn list(file: &str) -> CpuSet {
    fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}

/// The mask of the machine's first process. In a container the first process is a program like any
/// other, and its mask is its own.
fn first_process() -> Option<CpuSet> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    if namespace.as_os_str() != FIRST_NAMESPACE {
        return None;
    }
    affinity::get(1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    #[test]
    fn a_narrow_mask_is_no_limit() {
        // A thread of its own: a mask is a thread's.
        std::thread::spawn(|| {
            let all = take(&CpuSet::default()).unwrap();
            let one: CpuSet = all.iter().take(1).collect();
            affinity::set(0, &one).unwrap();
            assert_eq!(look().unwrap(), all);
            assert_eq!(affinity::get(0).unwrap(), one, "looking changes nothing");
            assert_eq!(take(&CpuSet::default()).unwrap(), all);
            assert_eq!(affinity::get(0).unwrap(), all);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_is_kept_from_everybody_is_left_out() {
        let out = |isolated: &str, first: Option<&str>| {
            left_out(&set("0-7"), &set(isolated), first.map(set).as_ref()).to_string()
        };
        assert_eq!(out("", None), "");
        assert_eq!(out("", Some("0-7")), "");
        assert_eq!(out("6-9", None), "6-7");
        assert_eq!(out("7", Some("0-5,7")), "6-7");
        // Somebody must be left to manage.
        assert_eq!(out("0-7", Some("0-3")), "4-7");
        assert_eq!(out("", Some("8-9")), "");
    }
}
