//! One program's group: sets its processors and its memory, and moves processes into it.

use std::fs;
use std::path::{Path, PathBuf};

use numaestro_topology::CpuSet;

use crate::error::{self, HostError};

/// Times the processes of a group are listed anew while new ones keep appearing.
const PASSES_MAX: u32 = 64;

/// A directory below our subtree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    directory: PathBuf,
}

impl Group {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn write(&self, file: &str, text: &str) -> Result<(), HostError> {
        let path = self.directory.join(file);
        // One `write`, as the kernel wants it. It must not make a file where the group has gone.
        let open = fs::OpenOptions::new().write(true).open(&path);
        let mut open = open.map_err(error::file("open", &path))?;
        std::io::Write::write_all(&mut open, text.as_bytes()).map_err(error::file("write", path))
    }

    /// These processors (OS indices) for every thread in it, at once. Empty: all that the groups
    /// above have.
    pub fn set_cpus(&self, cpus: &CpuSet) -> Result<(), HostError> {
        // An empty write would not reach the kernel.
        self.write("cpuset.cpus", &format!("{cpus}\n"))
    }

    /// Memory of these nodes (OS indices) only; pages elsewhere are moved there by the kernel.
    /// Empty: all that the groups above have.
    pub fn set_mems(&self, nodes: &CpuSet) -> Result<(), HostError> {
        self.write("cpuset.mems", &format!("{nodes}\n"))
    }

    /// Processors that its threads may run on now.
    pub fn effective_cpus(&self) -> Option<CpuSet> {
        fs::read_to_string(self.directory.join("cpuset.cpus.effective")).ok()?.trim().parse().ok()
    }

    /// Processors that it was given last.
    pub fn cpus(&self) -> Option<CpuSet> {
        fs::read_to_string(self.directory.join("cpuset.cpus")).ok()?.trim().parse().ok()
    }

    /// Memory nodes that it was given last.
    pub fn mems(&self) -> Option<CpuSet> {
        fs::read_to_string(self.directory.join("cpuset.mems")).ok()?.trim().parse().ok()
    }

    /// Its processes.
    pub fn members(&self) -> Vec<u32> {
        members(&self.directory)
    }

    /// Moves a process into it, with all its threads; its later children are born in it.
    pub fn take(&self, pid: u32) -> Result<(), HostError> {
        move_to(&self.directory, pid)
    }

    /// Moves every process in it elsewhere, until none is left. The first refusal ends it.
    pub fn empty_into(&self, directory: &Path) -> Result<(), HostError> {
        for _ in 0..PASSES_MAX {
            let members = self.members();
            if members.is_empty() {
                return Ok(());
            }
            for pid in members {
                match move_to(directory, pid) {
                    Err(cause) if cause.errno() != Some(libc::ESRCH) => return Err(cause),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Removes it. `Ok(false)`: somebody is still in it, or on the way out.
    pub fn remove(&self) -> Result<bool, HostError> {
        match fs::remove_dir(&self.directory) {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(true),
            Err(cause) if cause.raw_os_error() == Some(libc::EBUSY) => Ok(false),
            Err(cause) => Err(error::file("remove the cgroup", &self.directory)(cause)),
        }
    }
}

pub(super) fn members(directory: &Path) -> Vec<u32> {
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    // 0: a process of another pid namespace, which has no number here.
    text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != 0).collect()
}

pub(super) fn move_to(directory: &Path, pid: u32) -> Result<(), HostError> {
    let path = directory.join("cgroup.procs");
    let open = fs::OpenOptions::new().write(true).open(&path);
    let mut open = open.map_err(error::file("open", &path))?;
    std::io::Write::write_all(&mut open, pid.to_string().as_bytes())
        .map_err(error::process("move to another cgroup", pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_the_kernel_reads() {
        let dir = tempfile::tempdir().unwrap();
        let group = Group::new(dir.path().to_owned());
        assert!(group.set_cpus(&CpuSet::default()).unwrap_err().is_gone(), "no file is made where there is none");
        for file in ["cpuset.cpus", "cpuset.mems", "cgroup.procs"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        group.set_cpus(&"0-2,5".parse().unwrap()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("cpuset.cpus")).unwrap(), "0-2,5\n");
        assert_eq!(group.cpus().unwrap().to_string(), "0-2,5");
        fs::write(dir.path().join("cgroup.procs"), "0\n12\n").unwrap();
        assert_eq!(group.members(), [12]);
    }
}
