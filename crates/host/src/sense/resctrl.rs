//! The memory system's own counters (`resctrl`, Intel RDT and AMD QoS): one monitoring group for
//! each application. The bytes of a group are divided over the application's threads. Needs the
//! file system mounted and write access to it, which usually means root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{LINE_BYTES, Moment, Outcome, RAN_NS_MIN, Rung, Source, Subject};

/// Groups of ours begin with this.
const PREFIX: &str = "numaestro-";

#[derive(Debug, Default)]
struct Group {
    /// Threads that are in it.
    tids: BTreeSet<u32>,
    bytes: Option<u64>,
    /// Processor time since `bytes` was read, nanoseconds.
    used_ns: u64,
}

/// See the file's header.
#[derive(Debug)]
pub struct Resctrl {
    groups_dir: PathBuf,
    groups: BTreeMap<u64, Group>,
}

/// The reading of a group's counters.
enum Bytes {
    Sum(u64),
    /// Just now the hardware has nothing to say.
    Unavailable,
}

impl Resctrl {
    /// Looks for it below `root`, which is `/` or a recorded tree. Groups that an earlier manager
    /// left, and that nobody is in, are removed.
    ///
    /// # Errors
    /// The reason why it cannot be used, one clause.
    pub fn open(root: &Path) -> Result<Self, String> {
        let mount = root.join("sys/fs/resctrl");
        let Ok(features) = fs::read_to_string(mount.join("info/L3_MON/mon_features")) else {
            return Err(if mount.join("schemata").exists() {
                "resctrl is mounted, but this processor does not monitor".to_owned()
            } else {
                "resctrl is not mounted, or this machine has none".to_owned()
            });
        };
        if !features.lines().any(|feature| feature.trim() == "mbm_total_bytes") {
            return Err("this processor does not monitor bandwidth (mbm_total_bytes)".to_owned());
        }
        let groups_dir = mount.join("mon_groups");
        // Making a group and removing it is the only sure test of the right to write here.
        let trial = groups_dir.join(format!("{PREFIX}trial-{}", std::process::id()));
        make(&trial).map_err(|cause| format!("{} cannot be written: {cause}", groups_dir.display()))?;
        let _ = fs::remove_dir(&trial);
        let left = fs::read_dir(&groups_dir).into_iter().flatten().flatten();
        for entry in left.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
            if fs::read_to_string(entry.path().join("tasks")).is_ok_and(|tasks| tasks.trim().is_empty()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
        Ok(Self { groups_dir, groups: BTreeMap::new() })
    }

    fn dir(&self, app: u64) -> PathBuf {
        self.groups_dir.join(format!("{PREFIX}{app}"))
    }

    /// The application's group, with every thread of it inside.
    fn group(&mut self, subject: &Subject<'_>) -> Result<PathBuf, io::Error> {
        let dir = self.dir(subject.app);
        if !self.groups.contains_key(&subject.app) {
            make(&dir)?;
        }
        let group = self.groups.entry(subject.app).or_default();
        let alive: BTreeSet<u32> = subject.threads.iter().flatten().map(|thread| thread.tid).collect();
        for tid in alive.difference(&group.tids) {
            // Threads that a member starts are members, and one that has just ended cannot become
            // one.
            match OpenOptions::new().append(true).open(dir.join("tasks")).and_then(|mut tasks| writeln!(tasks, "{tid}"))
            {
                Err(cause) if cause.raw_os_error() != Some(libc::ESRCH) => return Err(cause),
                _ => {}
            }
        }
        group.tids = alive;
        Ok(dir)
    }
}

fn make(dir: &Path) -> io::Result<()> {
    match fs::create_dir(dir) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// The sum over all memory domains.
fn bytes_of(group: &Path) -> Result<Bytes, String> {
    let mut sum = 0_u64;
    let mut domains = 0;
    let dir = group.join("mon_data");
    let entries = fs::read_dir(&dir).map_err(|cause| format!("{}: {cause}", dir.display()))?;
    for entry in entries.flatten() {
        let path = entry.path().join("mbm_total_bytes");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        domains += 1;
        match text.trim() {
            // The hardware has not got round to this group yet.
            "Unavailable" | "Unassigned" => return Ok(Bytes::Unavailable),
            number => {
                let bytes: u64 = number.parse().map_err(|_| format!("{} says `{number}`", path.display()))?;
                sum = sum.wrapping_add(bytes);
            }
        }
    }
    if domains == 0 { Err(format!("{} has no bandwidth counters", dir.display())) } else { Ok(Bytes::Sum(sum)) }
}

impl Source for Resctrl {
    fn rung(&self) -> Rung {
        Rung::Resctrl
    }

    fn sample(&mut self, subject: &Subject<'_>, _moment: &Moment) -> Outcome {
        let dir = match self.group(subject) {
            Ok(dir) => dir,
            Err(cause) if cause.raw_os_error() == Some(libc::ENOSPC) => {
                return Outcome::Nothing("no monitoring group is left".to_owned());
            }
            Err(cause) => return Outcome::Gone(format!("monitoring groups cannot be used any more: {cause}")),
        };
        let bytes = match bytes_of(&dir) {
            Ok(Bytes::Sum(bytes)) => bytes,
            Ok(Bytes::Unavailable) => return Outcome::Nothing("its counters are not available just now".to_owned()),
            Err(why) => return Outcome::Gone(why),
        };
        let Some(group) = self.groups.get_mut(&subject.app) else { return Outcome::Pending };
        group.used_ns += subject.used_ns();
        if group.bytes.is_some() && group.used_ns < RAN_NS_MIN {
            return Outcome::Rates(vec![None; subject.threads.len()]);
        }
        let used_ms = std::mem::take(&mut group.used_ns) as f64 / 1e6;
        // A counter that has gone back has been reset or has overflowed.
        let moved = group.bytes.replace(bytes).and_then(|before| bytes.checked_sub(before));
        let Some(moved) = moved.filter(|_| used_ms > 0.0) else { return Outcome::Pending };
        Outcome::Rates(subject.everywhere((moved / LINE_BYTES) as f64 / used_ms))
    }

    fn forget(&mut self, app: u64) {
        if self.groups.remove(&app).is_some() {
            let _ = fs::remove_dir(self.dir(app));
        }
    }
}

impl Drop for Resctrl {
    fn drop(&mut self) {
        let apps: Vec<u64> = self.groups.keys().copied().collect();
        for app in apps {
            self.forget(app);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ThreadUse;
    use super::*;

    const MS: u64 = 1_000_000;

    /// A tree as a machine with two memory domains shows it, with the group of application 7 ready.
    fn recorded(features: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let mount = root.path().join("sys/fs/resctrl");
        fs::create_dir_all(mount.join("info/L3_MON")).unwrap();
        fs::write(mount.join("info/L3_MON/mon_features"), features).unwrap();
        fs::create_dir_all(mount.join("mon_groups")).unwrap();
        root
    }

    fn write(root: &tempfile::TempDir, domain: u32, text: &str) {
        let group = root.path().join("sys/fs/resctrl/mon_groups/numaestro-7");
        let dir = group.join(format!("mon_data/mon_L3_{domain:02}"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("mbm_total_bytes"), text).unwrap();
        if !group.join("tasks").exists() {
            fs::write(group.join("tasks"), "").unwrap();
        }
    }

    fn sample(source: &mut Resctrl, used: &[u64]) -> Outcome {
        let thread = |(at, used_ns): (usize, &u64)| Some(ThreadUse { tid: 40 + at as u32, used_ns: *used_ns });
        let threads: Vec<_> = used.iter().enumerate().map(thread).collect();
        let subject = Subject { app: 7, name: "x", threads: &threads, declared: None, stretch_milli: 0 };
        source.sample(&subject, &Moment::default())
    }

    const ALL: &str = "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n";

    #[test]
    fn bytes_of_all_domains_are_divided_over_the_time_of_its_threads() {
        let root = recorded(ALL);
        let mut source = Resctrl::open(root.path()).unwrap();
        write(&root, 0, "1000000\n");
        write(&root, 1, "64\n");
        assert_eq!(sample(&mut source, &[0, 0]), Outcome::Pending);
        let tasks = fs::read_to_string(root.path().join("sys/fs/resctrl/mon_groups/numaestro-7/tasks")).unwrap();
        assert_eq!(tasks, "40\n41\n");
        write(&root, 0, "7400000\n");
        write(&root, 1, "6400064\n");
        // 12.8 MB are 200 000 lines, in 100 ms of execution.
        assert_eq!(sample(&mut source, &[60 * MS, 40 * MS]), Outcome::Rates(vec![Some(2000.0), Some(2000.0)]));
        assert_eq!(sample(&mut source, &[0, 0]), Outcome::Rates(vec![None, None]), "nobody has run");
        write(&root, 0, "13800000\n");
        assert_eq!(sample(&mut source, &[50 * MS, 0]), Outcome::Rates(vec![Some(2000.0), None]));
    }

    #[test]
    fn what_the_hardware_cannot_say_is_not_made_up() {
        let root = recorded(ALL);
        let mut source = Resctrl::open(root.path()).unwrap();
        write(&root, 0, "5000");
        sample(&mut source, &[0]);
        write(&root, 0, "Unavailable");
        assert!(matches!(sample(&mut source, &[10 * MS]), Outcome::Nothing(_)));
        write(&root, 0, "10");
        assert_eq!(sample(&mut source, &[10 * MS]), Outcome::Pending, "it has been reset");
        write(&root, 0, "Error");
        assert!(matches!(sample(&mut source, &[10 * MS]), Outcome::Gone(why) if why.contains("Error")));
    }

    #[test]
    fn it_says_what_is_missing() {
        let none = tempfile::tempdir().unwrap();
        assert!(Resctrl::open(none.path()).unwrap_err().contains("not mounted"));
        assert!(Resctrl::open(recorded("llc_occupancy\n").path()).unwrap_err().contains("mbm_total_bytes"));
        let root = recorded(ALL);
        fs::remove_dir(root.path().join("sys/fs/resctrl/mon_groups")).unwrap();
        assert!(Resctrl::open(root.path()).unwrap_err().contains("cannot be written"));
    }

    #[test]
    fn a_tree_that_goes_away_in_mid_run_ends_the_rung() {
        let root = recorded(ALL);
        let mut source = Resctrl::open(root.path()).unwrap();
        write(&root, 0, "5000");
        sample(&mut source, &[0]);
        fs::remove_dir_all(root.path().join("sys/fs/resctrl/mon_groups/numaestro-7/mon_data")).unwrap();
        assert!(matches!(sample(&mut source, &[MS]), Outcome::Gone(_)));
    }
}
