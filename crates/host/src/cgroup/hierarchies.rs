//! Finds the mounted hierarchies of cgroups, and the groups of a process in them.

use std::fs;
use std::path::PathBuf;

use numaestro_topology::CpuSet;

use crate::error::{self, HostError};

/// One mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// The group that is mounted: `/`, unless a container or a bind mount shows a part only.
    group: String,
    /// The mount point.
    point: PathBuf,
}

impl Mount {
    /// The directory of a group, if this mount shows it.
    fn directory(&self, group: &str) -> Option<PathBuf> {
        let shown = if self.group == "/" { group } else { group.strip_prefix(self.group.as_str())? };
        // `/../x`: outside the part that this process may see (cgroup_namespaces(7)).
        let relative = shown.trim_start_matches('/');
        if (!shown.is_empty() && !shown.starts_with('/')) || relative.split('/').any(|part| part == "..") {
            return None;
        }
        Some(if relative.is_empty() { self.point.clone() } else { self.point.join(relative) })
    }
}

/// The hierarchies that are mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hierarchies {
    root: PathBuf,
    unified: Option<Mount>,
    /// Version 1, where its controllers are mounted.
    cpuset: Option<Mount>,
    cpu: Option<Mount>,
}

/// The groups of one process, as `/proc/PID/cgroup` names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// In version 2.
    pub unified: Option<String>,
    /// In version 1, for cpusets.
    pub cpuset: Option<String>,
    /// In version 1, for processor time.
    pub cpu: Option<String>,
    /// In version 1, for stopping processes.
    pub freezer: Option<String>,
}

impl Hierarchies {
    /// Reads the hierarchies of this system.
    pub fn read() -> Self {
        Self::read_under("/")
    }

    /// Reads the hierarchies of a system below another root, which has `proc` and the mount points
    /// in it.
    pub fn read_under(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let text = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
        let mut found = Self { root, ..Self::default() };
        for line in text.lines() {
            found.note(line);
        }
        found
    }

    /// One line of `mountinfo` (proc(5)):
    /// `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS FIELDS... - TYPE SOURCE SUPER_OPTIONS`.
    fn note(&mut self, line: &str) {
        let Some((left, right)) = line.split_once(" - ") else { return };
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (Some(group), Some(point), Some(sort)) = (left.get(3), left.get(4), right.first()) else { return };
        let point = self.root.join(unescaped(point).trim_start_matches('/'));
        let mount = Mount { group: unescaped(group), point };
        let has = |name: &str| right.get(2).is_some_and(|options| options.split(',').any(|option| option == name));
        // A hierarchy may be mounted several times: the mount that shows most of it is the one to
        // use.
        let keep = |slot: &mut Option<Mount>| {
            if slot.as_ref().is_none_or(|present| mount.group.len() < present.group.len()) {
                *slot = Some(mount.clone());
            }
        };
        match *sort {
            "cgroup2" => keep(&mut self.unified),
            "cgroup" => {
                if has("cpuset") {
                    keep(&mut self.cpuset);
                }
                if has("cpu") {
                    keep(&mut self.cpu);
                }
            }
            _ => {}
        }
    }

    /// The groups of process `pid`.
    pub fn place(&self, pid: u32) -> Result<Place, HostError> {
        self.place_in(&pid.to_string())
    }

    /// The groups of this process.
    pub fn own_place(&self) -> Result<Place, HostError> {
        self.place_in("self")
    }

    fn place_in(&self, process: &str) -> Result<Place, HostError> {
        let path = self.root.join("proc").join(process).join("cgroup");
        let text = fs::read_to_string(&path).map_err(error::file("read", &path))?;
        let mut place = Place::default();
        for line in text.lines() {
            // `ID:CONTROLLERS:PATH`; the path may hold colons.
            let mut parts = line.splitn(3, ':');
            let (Some(id), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let has = |name: &str| controllers.split(',').any(|controller| controller == name);
            if id == "0" && controllers.is_empty() {
                // The group of a process that has ended may have been removed.
                place.unified = Some(group.trim_end_matches(" (deleted)").to_owned());
            }
            if has("cpuset") {
                place.cpuset = Some(group.to_owned());
            }
            if has("cpu") {
                place.cpu = Some(group.to_owned());
            }
            if has("freezer") {
                place.freezer = Some(group.to_owned());
            }
        }
        Ok(place)
    }

    /// Cpusets are version 1's here.
    pub fn cpusets_are_version_one(&self) -> bool {
        self.cpuset.is_some()
    }

    /// Directory of a group of version 2; `None` where it is not shown to this process.
    pub fn unified(&self, group: &str) -> Option<PathBuf> {
        self.unified.as_ref()?.directory(group)
    }

    /// Processors that the cpuset of a process lets it have now, in either version, and the files
    /// that change them when written. `None`: there is no cpuset above it.
    pub fn cpuset_of(&self, pid: u32) -> Result<(Option<CpuSet>, Vec<PathBuf>), HostError> {
        let place = self.place(pid)?;
        let (chain, effective) = match &place.cpuset {
            Some(group) if self.cpuset.is_some() => (self.cpuset_chain(group), "cpuset.effective_cpus"),
            _ => (place.unified.iter().flat_map(|group| self.unified_chain(group)).collect(), "cpuset.cpus.effective"),
        };
        let read =
            |directory: &PathBuf| fs::read_to_string(directory.join(effective)).ok()?.trim().parse::<CpuSet>().ok();
        // Groups without the controller are under the next one above that has it.
        let cpus = chain.iter().find_map(read).filter(|cpus| !cpus.is_empty());
        let names = ["cpuset.cpus", "cpuset.cpus.partition"];
        let files = chain.iter().flat_map(|directory| names.map(|name| directory.join(name)));
        Ok((cpus, files.filter(|file| file.exists()).collect()))
    }

    /// Directories of a group of version 2 and of the groups above it, the group's own first, as
    /// far as they are shown.
    pub fn unified_chain(&self, group: &str) -> Vec<PathBuf> {
        chain(self.unified.as_ref(), group)
    }

    /// The same for the cpusets of version 1.
    pub fn cpuset_chain(&self, group: &str) -> Vec<PathBuf> {
        chain(self.cpuset.as_ref(), group)
    }

    /// The same for processor time in version 1.
    pub fn cpu_chain(&self, group: &str) -> Vec<PathBuf> {
        chain(self.cpu.as_ref(), group)
    }
}

fn chain(mount: Option<&Mount>, group: &str) -> Vec<PathBuf> {
    let Some(mount) = mount else { return Vec::new() };
    ancestry(group).into_iter().filter_map(|group| mount.directory(group)).collect()
}

/// A group and all above it: `/a/b`, `/a`, `/`.
pub(super) fn ancestry(group: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = group.trim_end_matches('/');
    while !at.is_empty() {
        found.push(at);
        at = at.rfind('/').map_or("", |slash| &at[..slash]);
    }
    found.push("/");
    found
}

/// `mountinfo` writes blanks, tabs, newlines and backslashes as three octal digits.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        if let Some(digits) = digits {
            bytes.push(digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')));
            rest = &tail[3..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(mountinfo: &str, own: &str) -> (tempfile::TempDir, Hierarchies) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        fs::write(dir.path().join("proc/self/mountinfo"), mountinfo).unwrap();
        fs::write(dir.path().join("proc/self/cgroup"), own).unwrap();
        let found = Hierarchies::read_under(dir.path());
        (dir, found)
    }

    const UNIFIED: &str = "25 1 0:23 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:3 master:1 - cgroup cgroup rw,cpu,cpuacct\n\
        34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_two_alone() {
        let (dir, found) = system(UNIFIED, "0::/user.slice/a b:c\n");
        let place = found.own_place().unwrap();
        assert_eq!(place, Place { unified: Some("/user.slice/a b:c".to_owned()), ..Place::default() });
        let mount = dir.path().join("sys/fs/cgroup");
        assert!(!found.cpusets_are_version_one());
        assert_eq!(found.unified("/"), Some(mount.clone()));
        let chain = found.unified_chain("/user.slice/a b:c");
        assert_eq!(chain, [mount.join("user.slice/a b:c"), mount.join("user.slice"), mount]);
        assert_eq!(found.unified("/../other"), None, "outside of the namespace");
    }

    #[test]
    fn hybrid() {
        let (dir, found) = system(HYBRID, "3:cpuset:/x\n2:cpu,cpuacct:/y\n0::/z\n");
        assert!(found.cpusets_are_version_one());
        let place = found.own_place().unwrap();
        assert_eq!(place.cpuset.as_deref(), Some("/x"));
        assert_eq!(place.cpu.as_deref(), Some("/y"));
        assert_eq!(found.unified("/z"), Some(dir.path().join("sys/fs/cgroup/unified/z")));
        assert_eq!(found.cpu_chain("/y")[0], dir.path().join("sys/fs/cgroup/cpu,cpuacct/y"));
    }

    #[test]
    fn the_next_cpuset_above_counts() {
        let (dir, found) = system(UNIFIED, "0::/a/b\n");
        let group = dir.path().join("sys/fs/cgroup/a");
        fs::create_dir_all(group.join("b")).unwrap();
        fs::create_dir_all(dir.path().join("proc/7")).unwrap();
        fs::write(dir.path().join("proc/7/cgroup"), "0::/a/b\n").unwrap();
        assert_eq!(found.cpuset_of(7).unwrap(), (None, Vec::new()));
        for (file, text) in [("cpuset.cpus", "2-4\n"), ("cpuset.cpus.effective", "2-3\n")] {
            fs::write(group.join(file), text).unwrap();
        }
        let (cpus, files) = found.cpuset_of(7).unwrap();
        assert_eq!((cpus.unwrap().to_string(), files), ("2-3".to_owned(), vec![group.join("cpuset.cpus")]));
    }

    #[test]
    fn a_container_that_shows_a_part() {
        let (dir, found) = system("9 1 0:23 /docker/7 /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/7/a\n");
        assert_eq!(found.unified("/docker/7/a"), Some(dir.path().join("sys/fs/cgroup/a")));
        assert_eq!(found.unified("/docker/7"), Some(dir.path().join("sys/fs/cgroup")));
        assert_eq!(found.unified("/docker/77"), None);
        assert_eq!(found.unified_chain("/docker/7/a").len(), 2);
    }

    #[test]
    fn escapes_and_garbage() {
        assert_eq!(unescaped(r"/a\040b\134c\9"), r"/a b\c\9");
        assert_eq!(ancestry("/"), ["/"]);
        assert_eq!(ancestry("/a/b"), ["/a/b", "/a", "/"]);
        let (_dir, found) = system("garbage\n1 2 - cgroup2\n - \n", "x\n0:\n");
        assert_eq!(found.unified("/"), None);
        assert_eq!(found.own_place().unwrap(), Place::default());
    }

    #[test]
    fn this_system_is_read() {
        let found = Hierarchies::read();
        let place = found.own_place().unwrap();
        for directory in place.unified.iter().flat_map(|group| found.unified_chain(group)) {
            assert!(directory.is_dir(), "{}", directory.display());
        }
        assert!(found.place(1 << 30).unwrap_err().is_gone());
    }
}
