//! cgroup v2 cpusets where a subtree has been delegated to us, and the finding of where that is. Affinity is the usual way; a cpuset is one
//! write for any number of threads, and programs cannot leave it. It must not know who should have what.

use std::fs;
use std::path::{Path, PathBuf};

use numaestro_topology::CpuSet;

use crate::error::{self, HostError};

/// What the machine offers for cpusets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// A cgroup v2 subtree of ours with the cpuset controller.
    Delegated(PathBuf),
    /// cgroup v2, but not ours or without the controller: one clause says what is missing.
    NotDelegated(String),
    /// Only cgroup v1 has the cpuset controller here.
    VersionOne,
    /// No cgroups are mounted.
    None,
}

/// Looks at this process's own cgroup.
pub fn detect() -> Support {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    detect_in(Path::new("/sys/fs/cgroup"), &own)
}

fn detect_in(mount: &Path, own: &str) -> Support {
    if own.lines().any(|line| line.split(':').nth(1).is_some_and(|names| names.split(',').any(|name| name == "cpuset")))
    {
        return Support::VersionOne;
    }
    let Some(relative) = own.lines().find_map(|line| line.strip_prefix("0::/")) else { return Support::None };
    let path = mount.join(relative);
    let Ok(controllers) = fs::read_to_string(path.join("cgroup.controllers")) else { return Support::None };
    if !controllers.split_ascii_whitespace().any(|name| name == "cpuset") {
        return Support::NotDelegated(format!("{} has no cpuset controller", path.display()));
    }
    let writable = fs::OpenOptions::new().write(true).open(path.join("cgroup.subtree_control")).is_ok();
    if writable {
        Support::Delegated(path)
    } else {
        Support::NotDelegated(format!("{} is not writable", path.display()))
    }
}

/// A delegated subtree in which the manager makes one cgroup per application.
#[derive(Debug, Clone)]
pub struct Subtree {
    root: PathBuf,
}

impl Subtree {
    /// Takes a delegated directory and turns the cpuset controller on for its children.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, HostError> {
        let root = root.into();
        let control = root.join("cgroup.subtree_control");
        fs::write(&control, "+cpuset").map_err(error::file("turn on cpusets in", control))?;
        Ok(Self { root })
    }

    fn group(&self, app: u64) -> PathBuf {
        self.root.join(format!("app-{app}"))
    }

    /// Moves process `pid` into the application's group, made if need be, and gives the group these processors.
    pub fn place(&self, app: u64, pid: u32, cpus: &CpuSet) -> Result<(), HostError> {
        let group = self.group(app);
        match fs::create_dir(&group) {
            Err(cause) if cause.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error::file("make a cgroup", group)(cause));
            }
            _ => {}
        }
        self.set(app, cpus)?;
        let members = group.join("cgroup.procs");
        fs::write(&members, pid.to_string()).map_err(error::file("move a process into", members))
    }

    /// Gives the application's group these processors: every thread in it, at once.
    pub fn set(&self, app: u64, cpus: &CpuSet) -> Result<(), HostError> {
        let file = self.group(app).join("cpuset.cpus");
        fs::write(&file, cpus.to_string()).map_err(error::file("write", file))
    }

    /// Removes the group of an application that has ended.
    pub fn remove(&self, app: u64) -> Result<(), HostError> {
        let group = self.group(app);
        fs::remove_dir(&group).map_err(error::file("remove the cgroup", group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let check = |own: &str| detect_in(dir.path(), own);
        assert_eq!(check("3:cpu,cpuset:/\n0::/\n"), Support::VersionOne);
        assert_eq!(check(""), Support::None);
        assert_eq!(check("0::/a\n"), Support::None);
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/cgroup.controllers"), "cpu memory\n").unwrap();
        assert!(matches!(check("0::/a\n"), Support::NotDelegated(_)));
        fs::write(dir.path().join("a/cgroup.controllers"), "cpu cpuset\n").unwrap();
        assert!(matches!(check("0::/a\n"), Support::NotDelegated(_)));
        fs::write(dir.path().join("a/cgroup.subtree_control"), "").unwrap();
        assert_eq!(check("0::/a\n"), Support::Delegated(dir.path().join("a")));
    }
}
