//! Decides whether a subtree of cgroup v2 has been given to this process: it may write there, the
//! cpuset controller is there, no other process lives in it, and no other manager looks after it.

use std::fs;
use std::path::{Path, PathBuf};

use super::Hierarchies;

/// Name of the group in which the manager itself is: a group with children that have controllers
/// may hold no processes.
pub(super) const OWN_GROUP: &str = "manager";
/// Marks that systemd puts on directories that it has delegated: the first since 251, the second
/// since 236.
const MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// The support for cpusets that the machine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// A subtree that has been delegated to us: the group as `/proc/PID/cgroup` names it, and its
    /// directory.
    Delegated {
        /// Without a slash at the end.
        group: String,
        /// As this process sees it.
        directory: PathBuf,
    },
    /// cgroup v2, but not ours or without the controller; the reason, one clause.
    NotDelegated(String),
    /// Only cgroup v1 has the cpuset controller here.
    VersionOne,
    /// No cgroups are mounted.
    None,
}

impl Support {
    /// Looks at this process's own group. Nothing is changed.
    pub fn detect() -> Self {
        let systemd = Path::new("/run/systemd/system").exists();
        Self::find(&Hierarchies::read(), std::process::id(), systemd)
    }

    /// The same for any system and process. Where `systemd` looks after the tree, writing somewhere
    /// as root does not mean being allowed to.
    pub fn find(hierarchies: &Hierarchies, pid: u32, systemd: bool) -> Self {
        if hierarchies.cpusets_are_version_one() {
            return Self::VersionOne;
        }
        let Some(own) = hierarchies.place(pid).ok().and_then(|place| place.unified) else { return Self::None };
        let Some(directory) = hierarchies.unified(&own) else { return Self::None };
        // A former manager, or systemd's DelegateSubgroup=, may have made the inner group already.
        let inner =
            own.strip_suffix(OWN_GROUP).and_then(|above| above.strip_suffix('/')).filter(|above| !above.is_empty());
        if let Some(above) = inner
            && let Some(directory) = directory.parent()
            && is_given(directory, &[], systemd).is_ok()
        {
            return Self::Delegated { group: above.to_owned(), directory: directory.to_owned() };
        }
        match is_given(&directory, &[pid], systemd) {
            Ok(()) => Self::Delegated { group: own.trim_end_matches('/').to_owned(), directory },
            Err(missing) => Self::NotDelegated(missing),
        }
    }
}

/// Decides whether a directory whose only processes are `own` is for us. The error is the reason
/// why not.
fn is_given(directory: &Path, own: &[u32], systemd: bool) -> Result<(), String> {
    let shown = directory.display();
    let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap_or_default();
    if !directory.join("cgroup.type").exists() {
        return Err("the manager is in the root of the hierarchy, not in a cgroup of its own".to_owned());
    }
    if read("cgroup.type").trim() != "domain" {
        return Err(format!("{shown} is a {} cgroup", read("cgroup.type").trim()));
    }
    if !read("cgroup.controllers").split_ascii_whitespace().any(|name| name == "cpuset") {
        return Err(format!("{shown} has no cpuset controller"));
    }
    for file in ["cgroup.procs", "cgroup.subtree_control"] {
        if fs::OpenOptions::new().write(true).open(directory.join(file)).is_err() {
            return Err(format!("{shown} is not writable"));
        }
    }
    let others =
        read("cgroup.procs").lines().filter_map(|line| line.parse().ok()).filter(|pid| !own.contains(pid)).count();
    if others > 0 {
        return Err(format!("{others} other process(es) are in {shown}"));
    }
    if systemd && rustix::process::geteuid().is_root() && !is_marked(directory) {
        return Err(format!("systemd has not delegated {shown} (Delegate=cpuset memory)"));
    }
    Ok(())
}

fn is_marked(directory: &Path) -> bool {
    MARKS.iter().any(|mark| {
        let mut value = [0_u8; 8];
        rustix::fs::getxattr(directory, *mark, &mut value[..]).is_ok_and(|length| &value[..length] == b"1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "25 1 0:23 / /cg rw - cgroup2 cgroup2 rw\n";

    fn system(mountinfo: &str, own: &str, groups: &[(&str, &str, &str)]) -> (tempfile::TempDir, Support) {
        let dir = tempfile::tempdir().unwrap();
        let proc = dir.path().join("proc");
        fs::create_dir_all(proc.join("self")).unwrap();
        fs::create_dir_all(proc.join("7")).unwrap();
        fs::write(proc.join("self/mountinfo"), mountinfo).unwrap();
        fs::write(proc.join("7/cgroup"), own).unwrap();
        for (group, controllers, members) in groups {
            let path = dir.path().join("cg").join(group);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("cgroup.type"), "domain\n").unwrap();
            fs::write(path.join("cgroup.controllers"), controllers).unwrap();
            fs::write(path.join("cgroup.procs"), members).unwrap();
            fs::write(path.join("cgroup.subtree_control"), "").unwrap();
        }
        let found = Support::find(&Hierarchies::read_under(dir.path()), 7, false);
        (dir, found)
    }

    fn missing(support: Support) -> String {
        let Support::NotDelegated(why) = support else { panic!("{support:?}") };
        why
    }

    #[test]
    fn what_is_offered_is_told_apart() {
        let one = "34 31 0:31 / /cs rw - cgroup cgroup rw,cpuset\n";
        assert_eq!(system(one, "3:cpuset:/\n0::/\n", &[]).1, Support::VersionOne);
        assert_eq!(system("", "", &[]).1, Support::None);
        assert_eq!(system(TWO, "", &[]).1, Support::None);
        let (_dir, root) = system(TWO, "0::/\n", &[]);
        assert!(missing(root).contains("root of the hierarchy"));
        let (_dir, found) = system(TWO, "0::/a\n", &[("a", "cpu memory\n", "7\n")]);
        assert!(missing(found).contains("no cpuset controller"));
        let (_dir, found) = system(TWO, "0::/a\n", &[("a", "cpu cpuset\n", "7\n8\n")]);
        assert!(missing(found).contains("1 other process"));
        let (dir, found) = system(TWO, "0::/a\n", &[("a", "cpu cpuset\n", "7\n")]);
        let directory = dir.path().join("cg/a");
        assert_eq!(found, Support::Delegated { group: "/a".to_owned(), directory });
    }

    #[test]
    fn the_inner_group_is_not_taken_for_the_subtree() {
        let groups = [("s", "cpuset\n", ""), ("s/manager", "cpuset\n", "7\n")];
        let (dir, found) = system(TWO, "0::/s/manager\n", &groups);
        assert_eq!(found, Support::Delegated { group: "/s".to_owned(), directory: dir.path().join("cg/s") });
        // A group that is called so, below one that is not ours.
        let groups = [("s", "cpuset\n", "99\n"), ("s/manager", "cpuset\n", "7\n")];
        let (dir, found) = system(TWO, "0::/s/manager\n", &groups);
        assert_eq!(
            found,
            Support::Delegated { group: "/s/manager".to_owned(), directory: dir.path().join("cg/s/manager") }
        );
    }

    #[test]
    fn writing_as_root_is_not_being_allowed_to() {
        if !rustix::process::geteuid().is_root() {
            numaestro_skip::skip!("only root may write everywhere");
        }
        let (dir, _) = system(TWO, "0::/a\n", &[("a", "cpuset\n", "7\n")]);
        let found = Support::find(&Hierarchies::read_under(dir.path()), 7, true);
        assert!(missing(found).contains("Delegate="));
    }
}
