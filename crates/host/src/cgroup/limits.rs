//! Reads the limits that the groups above a process set: quotas of processor time, and the limits
//! that it would lose by a move to another group.

use std::fs;
use std::path::{Path, PathBuf};

use super::Hierarchies;
use super::hierarchies::ancestry;
use crate::error::HostError;

/// Processor time that a group may use in every period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// Microseconds of processor time.
    pub quota_us: u64,
    /// In so many microseconds.
    pub period_us: u64,
    /// The file that says so.
    pub file: PathBuf,
}

impl Quota {
    /// Processors that it is of any use to have: a part of one counts as one.
    pub fn processors(&self) -> u32 {
        u32::try_from(self.quota_us.div_ceil(self.period_us.max(1))).unwrap_or(u32::MAX).max(1)
    }

    /// The quota of one group, given its directory in either version; `None`: it has none of its
    /// own.
    pub fn of_group(directory: &Path) -> Option<Self> {
        let read = |name: &str, read: fn(&Path) -> Option<(u64, u64)>| {
            let file = directory.join(name);
            read(&file).map(|(quota_us, period_us)| Self { quota_us, period_us, file })
        };
        read("cpu.max", quota_of_two).or_else(|| read("cpu.cfs_quota_us", quota_of_one))
    }
}

/// See the file's header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// The tightest of all groups above the process.
    pub quota: Option<Quota>,
    /// A limit (or share) of a group that the process would not be under any more in a group of
    /// ours; `FILE is VALUE`.
    pub bound: Option<String>,
    /// Files that change these limits when they change. For notices; they exist now.
    pub files: Vec<PathBuf>,
}

/// Files of version 2, with their contents where nothing is limited.
const UNLIMITED: [(&str, &[&str]); 16] = [
    ("cpu.max", &["max"]),
    ("cpu.weight", &["100"]),
    ("cpu.idle", &["0"]),
    ("cpu.uclamp.max", &["max"]),
    ("cpuset.cpus", &[""]),
    ("cpuset.mems", &[""]),
    ("cpuset.cpus.partition", &["member"]),
    ("memory.max", &["max"]),
    ("memory.high", &["max"]),
    ("memory.low", &["0"]),
    ("memory.min", &["0"]),
    ("memory.swap.max", &["max"]),
    ("pids.max", &["max"]),
    ("io.max", &[""]),
    ("io.weight", &["default 100", ""]),
    ("cgroup.freeze", &["0"]),
];

impl Limits {
    /// Reads the limits of process `pid`; `home` is the group of version 2 below which it might be
    /// moved, if there is one.
    pub fn of(hierarchies: &Hierarchies, pid: u32, home: Option<&str>) -> Result<Self, HostError> {
        let place = hierarchies.place(pid)?;
        let mut limits = Self::default();
        for directory in place.unified.iter().flat_map(|group| hierarchies.unified_chain(group)) {
            limits.note(directory.join("cpu.max"), quota_of_two);
        }
        for directory in place.cpu.iter().flat_map(|group| hierarchies.cpu_chain(group)) {
            limits.note(directory.join("cpu.cfs_quota_us"), quota_of_one);
        }
        if let (Some(group), Some(home)) = (&place.unified, home) {
            limits.bound = bound(hierarchies, group, home);
        }
        Ok(limits)
    }

    fn note(&mut self, file: PathBuf, read: fn(&Path) -> Option<(u64, u64)>) {
        if !file.exists() {
            return;
        }
        self.files.push(file.clone());
        let Some((quota_us, period_us)) = read(&file) else { return };
        let found = Quota { quota_us, period_us, file };
        if self.quota.as_ref().is_none_or(|present| found.processors() < present.processors()) {
            self.quota = Some(found);
        }
    }
}

/// `QUOTA PERIOD` or `max PERIOD`.
fn quota_of_two(file: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(file).ok()?;
    let mut words = text.split_ascii_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// A number, -1 for no limit; the period is in a file beside it.
fn quota_of_one(file: &Path) -> Option<(u64, u64)> {
    let number = |file: &Path| fs::read_to_string(file).ok()?.trim().parse::<i64>().ok();
    let quota = u64::try_from(number(file)?).ok()?;
    let period = u64::try_from(number(&file.with_file_name("cpu.cfs_period_us"))?).ok()?;
    Some((quota, period))
}

/// The first limit of `group` or of a group above it that does not hold for `home` too.
fn bound(hierarchies: &Hierarchies, group: &str, home: &str) -> Option<String> {
    let common = ancestry(home);
    for above in ancestry(group) {
        if common.contains(&above) {
            return None;
        }
        // We have set these limits ourselves.
        if above.strip_prefix(home).is_some_and(|rest| rest.starts_with('/')) {
            continue;
        }
        let Some(directory) = hierarchies.unified(above) else { return Some(format!("{above} cannot be seen")) };
        for (file, unlimited) in UNLIMITED {
            let Ok(text) = fs::read_to_string(directory.join(file)) else { continue };
            // `cpu.max` has its period after the word, which limits nothing by itself.
            let said =
                if file == "cpu.max" { text.split_ascii_whitespace().next().unwrap_or_default() } else { text.trim() };
            if !unlimited.contains(&said) {
                let said = said.lines().next().unwrap_or_default();
                return Some(format!("{file} of its cgroup {above} is {said}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(files: &[(&str, &str)], mountinfo: &str, group: &str) -> (tempfile::TempDir, Hierarchies) {
        let dir = tempfile::tempdir().unwrap();
        let own = [("proc/self/mountinfo", mountinfo), ("proc/7/cgroup", group)];
        for (file, text) in own.iter().chain(files) {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = Hierarchies::read_under(dir.path());
        (dir, found)
    }

    const TWO: &str = "25 1 0:23 / /cg rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_tightest_quota_counts() {
        let files = [
            ("cg/a/cpu.max", "350000 100000\n"),
            ("cg/a/b/cpu.max", "max 100000\n"),
            ("cg/cpu.max", "800000 100000\n"),
        ];
        let (_dir, found) = system(&files, TWO, "0::/a/b\n");
        let limits = Limits::of(&found, 7, None).unwrap();
        let quota = limits.quota.unwrap();
        assert_eq!((quota.quota_us, quota.processors()), (350_000, 4));
        assert!(quota.file.ends_with("cg/a/cpu.max"));
        assert_eq!(limits.files.len(), 3);
    }

    #[test]
    fn version_one_has_quotas_too() {
        let mounts = "32 31 0:29 / /cpu rw - cgroup cgroup rw,cpu\n";
        let files = [
            ("cpu/x/cpu.cfs_quota_us", "50000\n"),
            ("cpu/x/cpu.cfs_period_us", "100000\n"),
            ("cpu/cpu.cfs_quota_us", "-1\n"),
            ("cpu/cpu.cfs_period_us", "100000\n"),
        ];
        let (_dir, found) = system(&files, mounts, "2:cpu:/x\n");
        let limits = Limits::of(&found, 7, None).unwrap();
        assert_eq!(limits.quota.map(|quota| quota.processors()), Some(1), "half a processor is one");
        assert_eq!(limits.files.len(), 2);
    }

    #[test]
    fn limits_keep_a_program_where_it_is() {
        let check = |file: &str, text: &str, expected: Option<&str>| {
            let (_dir, found) = system(&[(file, text), ("cg/a/b/cpu.weight", "100\n")], TWO, "0::/a/b\n");
            let bound = Limits::of(&found, 7, Some("/s")).unwrap().bound;
            assert_eq!(bound.as_deref(), expected, "{file}");
        };
        check("cg/a/b/memory.max", "max\n", None);
        check("cg/a/memory.max", "1048576\n", Some("memory.max of its cgroup /a is 1048576"));
        check("cg/a/b/cpu.max", "max 100000\n", None);
        check("cg/a/b/cpu.max", "1000 100000\n", Some("cpu.max of its cgroup /a/b is 1000"));
        check("cg/a/b/cpuset.cpus", "0-3\n", Some("cpuset.cpus of its cgroup /a/b is 0-3"));
        check("cg/a/pids.max", "99\n", Some("pids.max of its cgroup /a is 99"));
        // A limit above both groups holds after the move too.
        check("cg/memory.max", "5\n", None);
        check("cg/s/memory.max", "5\n", None);
    }

    #[test]
    fn below_our_own_group_nothing_is_lost() {
        let files = [("cg/s/memory.max", "5\n"), ("cg/s/app-1/cpuset.cpus", "3\n")];
        let (_dir, found) = system(&files, TWO, "0::/s/app-1\n");
        assert_eq!(Limits::of(&found, 7, Some("/s")).unwrap().bound, None);
    }
}
