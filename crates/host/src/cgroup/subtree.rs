//! A delegated subtree with one group for each program, and one for the manager.

use std::fs;
use std::path::{Path, PathBuf};

use super::delegation::OWN_GROUP;
use super::group::{self, Group};
use super::hierarchies::ancestry;
use super::{Hierarchies, Support};
use crate::error::{self, HostError};

/// The names of programs' groups begin so; their number follows. A group with another name is not
/// ours.
const PREFIX: &str = "app-";

/// See the file's header.
#[derive(Debug, Clone)]
pub struct Subtree {
    hierarchies: Hierarchies,
    /// As `/proc/PID/cgroup` names it.
    group: String,
    directory: PathBuf,
    memory: bool,
    /// This process was moved into the inner group by us.
    moved: bool,
}

/// The fate of the processes of a dissolved group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// They are in this group now.
    In(String),
    /// They could not be moved: the group stays, without limits.
    Unlimited(String),
}

impl Subtree {
    /// Takes a delegated subtree: this process goes into a group of its own, and cpusets (and
    /// memory, for its numbers) are turned on for the others.
    pub fn open(hierarchies: Hierarchies, support: &Support) -> Result<Self, HostError> {
        let Support::Delegated { group, directory } = support else {
            let cause = std::io::ErrorKind::Unsupported.into();
            return Err(HostError::Call { operation: "use cpusets", cause });
        };
        let own = directory.join(OWN_GROUP);
        make(&own)?;
        let inside = group::members(directory);
        for pid in &inside {
            group::move_to(&own, *pid)?;
        }
        let control = directory.join("cgroup.subtree_control");
        fs::write(&control, "+cpuset").map_err(error::file("turn on cpusets in", control.clone()))?;
        let memory = fs::write(control, "+memory").is_ok();
        Ok(Self { hierarchies, group: group.clone(), directory: directory.clone(), memory, moved: !inside.is_empty() })
    }

    /// Leaves the subtree as it was found: this process goes back, and controllers are turned off.
    /// Not while there are groups of programs.
    pub fn close(&self) -> Result<(), HostError> {
        if !self.moved || !self.groups().is_empty() {
            return Ok(());
        }
        let control = self.directory.join("cgroup.subtree_control");
        for controller in ["-memory", "-cpuset"] {
            // One that was never on cannot be turned off.
            let _ = fs::write(&control, controller);
        }
        let own = Group::new(self.directory.join(OWN_GROUP));
        own.empty_into(&self.directory)?;
        own.remove().map(|_| ())
    }

    /// As `/proc/PID/cgroup` names it.
    pub fn name(&self) -> &str {
        &self.group
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Memory is counted by group.
    pub fn counts_memory(&self) -> bool {
        self.memory
    }

    /// The group of a program, made if need be.
    pub fn make(&self, app: u64) -> Result<Group, HostError> {
        let directory = self.directory.join(format!("{PREFIX}{app}"));
        make(&directory)?;
        Ok(Group::new(directory))
    }

    /// The groups of programs that there are.
    pub fn groups(&self) -> Vec<(u64, Group)> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let number =
            |name: &str| name.strip_prefix(PREFIX)?.parse::<u64>().ok().filter(|n| format!("{PREFIX}{n}") == name);
        let found = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|sort| sort.is_dir()));
        let found = found.filter_map(|entry| Some((number(entry.file_name().to_str()?)?, Group::new(entry.path()))));
        let mut found: Vec<(u64, Group)> = found.collect();
        found.sort_by_key(|(app, _)| *app);
        found
    }

    /// The group of a process, as `/proc/PID/cgroup` names it.
    pub fn group_of(&self, pid: u32) -> Result<String, HostError> {
        Ok(self.hierarchies.place(pid)?.unified.unwrap_or_default())
    }

    /// The program whose group contains `group`.
    pub fn app_of(&self, group: &str) -> Option<u64> {
        let inside = group.strip_prefix(self.group.as_str())?.strip_prefix('/')?.strip_prefix(PREFIX)?;
        inside.split('/').next()?.parse().ok()
    }

    /// Takes a group's limits away and moves its processes back to their group of origin, or to the
    /// next group above that takes them. Where no group takes them they stay, unlimited. Its
    /// directory stays too: see [`Group::remove`].
    pub fn dissolve(&self, group: &Group, origin: &str) -> Left {
        // First of all: groups that a program has made below keep their processes, and go on with
        // the processors of this group.
        let none = numaestro_topology::CpuSet::default();
        let unlimited = [group.set_cpus(&none), group.set_mems(&none)];
        let refused = unlimited.into_iter().filter_map(Result::err).find(|cause| !cause.is_gone());
        let mut refusal = refused.map(|cause| cause.to_string()).unwrap_or_default();
        for name in ancestry(origin) {
            // Ours are no place to go back to.
            if name == self.group || name.starts_with(&format!("{}/", self.group)) {
                continue;
            }
            let Some(directory) = self.hierarchies.unified(name) else { continue };
            match group.empty_into(&directory) {
                Ok(()) => return Left::In(name.to_owned()),
                Err(cause) if refusal.is_empty() => refusal = cause.to_string(),
                Err(_) => {}
            }
        }
        Left::Unlimited(refusal)
    }
}

fn make(directory: &Path) -> Result<(), HostError> {
    match fs::create_dir(directory) {
        Err(cause) if cause.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(error::file("make the cgroup", directory)(cause))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subtree() -> (tempfile::TempDir, Subtree) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        fs::create_dir_all(dir.path().join("cg/s")).unwrap();
        fs::write(dir.path().join("proc/self/mountinfo"), "25 1 0:23 / /cg rw - cgroup2 cgroup2 rw\n").unwrap();
        let directory = dir.path().join("cg/s");
        let support = Support::Delegated { group: "/s".to_owned(), directory };
        let subtree = Subtree::open(Hierarchies::read_under(dir.path()), &support).unwrap();
        (dir, subtree)
    }

    #[test]
    fn only_what_is_ours_is_ours() {
        let (dir, subtree) = subtree();
        let directory = dir.path().join("cg/s");
        assert!(directory.join("manager").is_dir());
        assert_eq!(fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap(), "+memory");
        for name in ["app-7", "app-07", "app-x", "other", "app-12"] {
            fs::create_dir(directory.join(name)).unwrap();
        }
        fs::write(directory.join("app-3"), "a file").unwrap();
        let found: Vec<u64> = subtree.groups().into_iter().map(|(app, _)| app).collect();
        assert_eq!(found, [7, 12]);
        assert_eq!(subtree.app_of("/s/app-7"), Some(7));
        assert_eq!(subtree.app_of("/s/app-7/inner"), Some(7));
        assert_eq!(subtree.app_of("/s/manager"), None);
        assert_eq!(subtree.app_of("/ss/app-7"), None);
    }

    #[test]
    fn an_empty_group_goes() {
        let (_dir, subtree) = subtree();
        let group = subtree.make(4).unwrap();
        assert_eq!(subtree.make(4).unwrap(), group);
        assert_eq!(subtree.dissolve(&group, "/gone/away"), Left::In("/gone/away".to_owned()));
        assert!(group.remove().unwrap());
        assert!(group.remove().unwrap(), "gone is removed");
        assert!(subtree.groups().is_empty());
    }

    #[test]
    fn who_cannot_go_back_stays_without_limits() {
        let (dir, subtree) = subtree();
        let group = subtree.make(4).unwrap();
        for (file, text) in [("cgroup.procs", "41\n"), ("cpuset.cpus", "1\n"), ("cpuset.mems", "0\n")] {
            fs::write(group.directory().join(file), text).unwrap();
        }
        assert!(matches!(subtree.dissolve(&group, "/gone"), Left::Unlimited(_)));
        let cpus = fs::read_to_string(dir.path().join("cg/s/app-4/cpuset.cpus")).unwrap();
        assert!(cpus.starts_with('\n'), "{cpus:?}");
    }
}
