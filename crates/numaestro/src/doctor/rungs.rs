//! The checks. Each tries the thing itself where that is harmless, rather than guess from versions.

use super::{Check, Outcome};
use crate::{machine_here, shim};
use numaestro_host::cgroup::Support;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Everything, in the order of the ladder.
pub fn all(dir: &Path) -> Vec<Check> {
    let mut checks = vec![topology(), pressure(), balancing()];
    checks.extend(super::surroundings::checks(dir));
    checks.push(stopping());
    checks.extend(shim_loads(dir));
    checks.push(runtimes());
    checks.extend(super::folding::checks());
    checks.push(cpusets());
    checks.push(memory_policy());
    checks.extend(super::bandwidth::checks());
    checks
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn topology() -> Check {
    match machine_here::this_machine() {
        Ok(machine) => Check::good(0, "topology", machine_here::summary(&machine)),
        Err(error) => {
            let next = "is /sys mounted? in a container, mount sysfs read-only";
            Check::lacking(0, "topology", Outcome::No, format!("{error:#}"), next)
        }
    }
}

fn pressure() -> Check {
    let Some(text) = read("/proc/pressure/cpu") else {
        let next = "boot with psi=1; until then foreign load is seen through /proc/stat only";
        return Check::lacking(0, "pressure (PSI)", Outcome::Partly, "the kernel does not offer /proc/pressure", next);
    };
    Check::good(0, "pressure (PSI)", text.lines().next().unwrap_or_default())
}

fn balancing() -> Check {
    let name = "kernel.numa_balancing";
    match read("/proc/sys/kernel/numa_balancing").as_deref() {
        Some("0") => Check::good(0, name, "off"),
        None => Check::good(0, name, "not in this kernel"),
        Some(value) => {
            let nodes = machine_here::this_machine().map_or(1, |machine| machine.numa_nodes().len());
            let next = "under first touch kernel and manager may both move the same pages: `sysctl kernel.numa_balancing=0` leaves it to numaestro; \
                        programs with a home or interleaved pages are left alone by the kernel anyway";
            if nodes < 2 {
                Check::good(0, name, "on, without effect on one node")
            } else {
                Check::lacking(0, name, Outcome::Partly, format!("on ({value})"), next)
            }
        }
    }
}

/// Stops a child of this process and lets it go on.
fn stopping() -> Check {
    let name = "stopping for turns";
    let found = numaestro_host::stop::rung();
    if found.works {
        return Check::good(1, name, found.detail);
    }
    let next = "policies that take turns are refused until then; those that divide the machine work";
    Check::lacking(1, name, Outcome::Partly, found.detail, next)
}

/// Starts a child under the shim and looks whether the shim is in its memory map.
fn shim_loads(dir: &Path) -> Vec<Check> {
    let name = "shim";
    let path = match shim::locate(dir) {
        Ok(preload) => preload.shim,
        Err(error) => {
            return vec![Check::lacking(
                2,
                name,
                Outcome::No,
                format!("{error:#}"),
                "set XDG_CACHE_HOME or NUMAESTRO_PRELOAD",
            )];
        }
    };
    // Containers may have no `cat`; the loader of this command then says what it would load.
    let child = match Command::new("cat").arg("/proc/self/maps").env("LD_PRELOAD", &path).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut this = Command::new("/proc/self/exe");
            this.env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_PRELOAD", &path).output()
        }
        child => child,
    };
    let loaded =
        child.as_ref().is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains(&*path.to_string_lossy()));
    if loaded {
        return vec![Check::good(2, name, format!("loads: {}", path.display()))];
    }
    let said =
        child.map_or_else(|error| error.to_string(), |out| String::from_utf8_lossy(&out.stderr).trim().to_owned());
    let next = "the programs are kept on their processors all the same; rebuild numaestro on this machine, or set NUMAESTRO_PRELOAD";
    vec![Check::lacking(2, name, Outcome::No, format!("{} does not load: {said}", path.display()), next)]
}

/// Runtimes that the dynamic loader knows. Programs may bring their own, so none is no fault.
fn runtimes() -> Check {
    const KNOWN: [(&str, &str); 7] = [
        ("libgomp.so", "libgomp"),
        ("libomp.so", "libomp"),
        ("libiomp5.so", "Intel OpenMP"),
        ("libopenblas", "OpenBLAS"),
        ("libblis", "BLIS"),
        ("libmkl_rt", "MKL"),
        ("libtbb.so", "oneTBB"),
    ];
    let cache = ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"]
        .iter()
        .find_map(|tool| Command::new(tool).arg("-p").output().ok());
    let listed = cache.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    let mut found: Vec<&str> = KNOWN.iter().filter(|(file, _)| listed.contains(file)).map(|(_, name)| *name).collect();
    if !found.contains(&"libomp") && clang_has_libomp() {
        found.push("libomp");
    }
    if found.is_empty() {
        let next = "nothing to do: programs may bring their own (Python wheels do)";
        return Check::lacking(2, "runtimes", Outcome::Partly, "none installed system-wide", next);
    }
    Check::good(2, "runtimes", found.join(", "))
}

/// Debian keeps libomp beside clang, outside the loader's cache.
fn clang_has_libomp() -> bool {
    let asked = Command::new("clang").arg("-print-file-name=libomp.so").output();
    asked.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).trim().starts_with('/'))
}

fn cpusets() -> Check {
    let name = "cgroup v2 cpuset";
    let delegate = "run the manager in a cgroup of its own that is delegated to it (docs/guides/cgroups.md); \
        affinity is used until then";
    match Support::detect() {
        Support::Delegated { directory, .. } => Check::good(3, name, format!("delegated: {}", directory.display())),
        Support::NotDelegated(why) => Check::lacking(3, name, Outcome::No, why, delegate),
        Support::VersionOne => {
            let next = "boot with systemd.unified_cgroup_hierarchy=1; affinity is used until then";
            Check::lacking(3, name, Outcome::No, "the cpuset controller is in cgroup v1 here", next)
        }
        Support::None => Check::lacking(3, name, Outcome::No, "no cgroup v2 here", "affinity is used instead"),
    }
}

fn memory_policy() -> Check {
    let name = "memory policy calls";
    if let Err(error) = numaestro_host::numa::memory_policy_permitted() {
        let next = "containers: allow them in the seccomp profile, or add CAP_SYS_NICE; first touch is used until then";
        return Check::lacking(4, name, Outcome::No, error.to_string(), next);
    }
    let nodes = machine_here::this_machine().map_or(1, |machine| machine.numa_nodes().len());
    let limit = if nodes < 2 { "; of no use on one NUMA node" } else { "" };
    Check::good(4, name, format!("get_mempolicy, set_mempolicy, move_pages{limit}"))
}
