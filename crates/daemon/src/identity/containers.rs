//! Finds the container or the pod that a process belongs to, the party that it counts as, and what
//! that is entitled to.
//!
//! Container engines and Kubernetes put processes into control groups that their users cannot
//! leave. The names of the groups say which container or pod it is:
//! `/system.slice/docker-ID.scope`, `/machine.slice/libpod-ID.scope`,
//! `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/…`,
//! `/kubepods/besteffort/podUID/…`. The outermost one counts: further in, a container may have
//! groups of its own. Below `user.slice` users make groups of any name, so there nothing counts.
//!
//! Labels are known to the engine of the containers only. Whoever may ask it keeps a table, which
//! names the parties of pods and containers: lines of an id and a name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use numaestro_host::cgroup::{Hierarchies, Place, Quota};
use numaestro_topology::CpuSet;
use tracing::warn;

use crate::config::{self, Config, Entitlement};
use numaestro_quantity::label::label;

/// Longest table: more than that is a mistake.
const TABLE_BYTES_MAX: u64 = 1 << 20;
/// Hexadecimal digits of a container's id.
const ID_DIGITS: usize = 64;
/// Longest id of a pod.
const UID_BYTES_MAX: usize = 64;
/// Weight of the kernel for processor time where nobody has set one, in version 2 and in version 1.
/// It is our weight of 1.
const WEIGHT_USUAL: f64 = 100.0;
const SHARES_USUAL: f64 = 1024.0;
/// Bounds of our weights.
const WEIGHTS: (f64, f64) = (0.001, 1000.0);

/// A container or pod as one of its processes shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Container {
    /// Its party: the name in the table, or `pod UID`, `container ID`.
    pub(crate) party: String,
    /// What its groups say; `None`: the party has a name, and the configuration says it.
    pub(crate) entitled: Option<Entitlement>,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Containers {
    /// `None`: this is the manager of one user, which knows no parties.
    settings: Option<config::Containers>,
    /// Entitlements of named parties.
    named: BTreeMap<String, Entitlement>,
    /// Entitlements of pods and containers without a name.
    found: BTreeMap<String, Entitlement>,
}

impl Containers {
    /// Takes the configuration over.
    pub(crate) fn configure(&mut self, config: &Config) {
        (self.settings, self.named) = (Some(config.containers.clone()), config.parties.clone());
    }

    /// The container or pod of a process. `None`: it is in none, or they are no parties.
    pub(crate) fn of(&self, pid: u32) -> Option<Container> {
        self.settings.is_some().then(|| self.of_process(&Hierarchies::read(), pid)).flatten()
    }

    fn of_process(&self, hierarchies: &Hierarchies, pid: u32) -> Option<Container> {
        let settings = self.settings.as_ref().filter(|settings| settings.parties)?;
        let place = hierarchies.place(pid).ok()?;
        let unit =
            [&place.unified, &place.cpuset, &place.cpu].into_iter().flatten().find_map(|group| Unit::of(group))?;
        if let Some(name) = settings.table.as_ref().and_then(|table| name_in(table, &unit.id)) {
            return Some(Container { party: label(&name), entitled: None });
        }
        let party = format!("{} {}", unit.sort, unit.id);
        Some(Container { party, entitled: Some(entitled_by_groups(hierarchies, &place, unit.group)) })
    }

    /// Notes what a container is entitled to; says whether that is new.
    pub(crate) fn note(&mut self, container: &Container) -> bool {
        let Some(entitled) = &container.entitled else { return false };
        self.found.insert(container.party.clone(), entitled.clone()).as_ref() != Some(entitled)
    }

    /// What a party is entitled to; `None`: as much as anybody.
    pub(crate) fn entitled(&self, party: &str) -> Option<&Entitlement> {
        self.named.get(party).or_else(|| self.found.get(party))
    }

    /// A party has no programs any more.
    pub(crate) fn forget(&mut self, party: &str) {
        self.found.remove(party);
    }
}

/// A pod, or a container that is in none.
#[derive(Debug, PartialEq, Eq)]
struct Unit<'a> {
    sort: &'static str,
    id: String,
    /// Path of its group.
    group: &'a str,
}

impl<'a> Unit<'a> {
    /// The outermost one in the path of a group.
    fn of(group: &'a str) -> Option<Self> {
        let (mut end, mut above, mut in_pods) = (0, "", false);
        let parts = group.strip_prefix('/')?.split('/');
        let by_podman = group.starts_with("/libpod_parent/");
        for part in parts {
            end += 1 + part.len();
            let found = |sort, id| Some(Self { sort, id, group: &group[..end] });
            if in_pods {
                if let Some(uid) = pod_in(part) {
                    return found("pod", uid);
                }
                // A class of pods: `burstable`, `kubepods-burstable.slice`.
                if !is_slice(part) && !["burstable", "besteffort"].contains(&part) {
                    return None;
                }
            } else if ["kubepods", "kubepods.slice"].contains(&part) || part.ends_with("-kubepods.slice") {
                in_pods = true;
            } else if let Some(id) = container_in(above, part, by_podman) {
                return found("container", id.to_owned());
            } else if !by_podman && !is_of_engines(above, part) {
                return None;
            }
            above = part;
        }
        None
    }
}

/// Says whether only root and its engines make groups in this one.
fn is_of_engines(above: &str, part: &str) -> bool {
    is_slice(part) && part != "user.slice" || above.is_empty() && ["kubelet", "docker"].contains(&part)
}

/// Only systemd makes slices.
fn is_slice(part: &str) -> bool {
    part.strip_suffix(".slice").is_some()
}

/// `pod1f2e…` or, with systemd, `kubepods-burstable-pod1f2e….slice`, where `_` stands for `-`.
fn pod_in(part: &str) -> Option<String> {
    let uid = match part.strip_suffix(".slice") {
        Some(slice) => slice.rsplit_once("-pod")?.1.replace('_', "-"),
        None => part.strip_prefix("pod")?.to_owned(),
    };
    let good = (1..=UID_BYTES_MAX).contains(&uid.len());
    (good && uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')).then_some(uid)
}

/// `docker-ID.scope` and the like; without systemd `/docker/ID` and `/libpod_parent/…/libpod-ID`.
fn container_in<'a>(above: &str, part: &'a str, by_podman: bool) -> Option<&'a str> {
    let id = match part.strip_suffix(".scope") {
        Some(scope) => ["docker-", "libpod-", "nerdctl-"].into_iter().find_map(|engine| scope.strip_prefix(engine))?,
        None if above == "docker" => part,
        None if by_podman => part.strip_prefix("libpod-")?,
        None => return None,
    };
    (id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

/// The weight that the kernel gives a group, and the processors that it has at most.
fn entitled_by_groups(hierarchies: &Hierarchies, place: &Place, group: &str) -> Entitlement {
    let in_it = |own: &Option<String>| own.as_ref().is_some_and(|own| own.starts_with(group));
    let name = group.rsplit('/').next().unwrap_or_default();
    let of =
        |chain: Vec<PathBuf>| chain.into_iter().next().filter(|at| at.file_name().is_some_and(|last| last == name));
    let directories = [
        in_it(&place.unified).then(|| hierarchies.unified_chain(group)),
        in_it(&place.cpu).then(|| hierarchies.cpu_chain(group)),
        in_it(&place.cpuset).then(|| hierarchies.cpuset_chain(group)),
    ];
    let directories: Vec<PathBuf> = directories.into_iter().flatten().filter_map(of).collect();
    let number = |file: &str| {
        let text = directories.iter().find_map(|at| fs::read_to_string(at.join(file)).ok())?;
        text.trim().parse::<f64>().ok()
    };
    let weight = number("cpu.weight").map(|weight| weight / WEIGHT_USUAL);
    let weight = weight.or_else(|| number("cpu.shares").map(|shares| shares / SHARES_USUAL)).unwrap_or(1.0);
    let quota = directories.iter().find_map(|at| Quota::of_group(at)).map(|quota| quota.processors());
    let cpus = directories.iter().find_map(|at| own_cpus(at));
    Entitlement {
        weight: weight.clamp(WEIGHTS.0, WEIGHTS.1),
        max: [quota, cpus].into_iter().flatten().min(),
        ..Entitlement::default()
    }
}

/// Processors that a group has for itself; one without a list has those of the group above.
fn own_cpus(directory: &Path) -> Option<u32> {
    let text = fs::read_to_string(directory.join("cpuset.cpus")).ok()?;
    let cpus = text.trim().parse::<CpuSet>().ok()?;
    u32::try_from(cpus.len()).ok().filter(|&cpus| cpus > 0)
}

/// The party that the table names for a pod or container. It is read anew for every program: who
/// writes it replaces it when pods come.
fn name_in(table: &Path, id: &str) -> Option<String> {
    let text = match fs::metadata(table) {
        Ok(found) if found.is_file() && found.len() <= TABLE_BYTES_MAX => fs::read_to_string(table),
        Ok(_) => Err(std::io::Error::other(format!("expected a text file of at most {TABLE_BYTES_MAX} bytes"))),
        Err(cause) => Err(cause),
    };
    match text {
        Ok(text) => text.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words.len() == 2 && words[0] == id).then(|| words[1].to_owned())
        }),
        // Nobody has written it yet.
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => None,
        Err(cause) => {
            warn!("the parties of containers are not known: {}: {cause}", table.display());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4ab1c2d3e4f5061728394a5b6c7d8e9f4ab1c2d3e4f5061728394a5b6c7d8e9f";
    const UID: &str = "1f2e3d4c-5b6a-4978-8899-aabbccddeeff";

    fn unit(group: &str) -> Option<(&'static str, String)> {
        Unit::of(&group.replace("ID", ID)).map(|unit| (unit.sort, unit.id))
    }

    #[test]
    fn groups_of_pods_name_the_pod() {
        let pods = [
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f2e3d4c_5b6a_4978_8899_aabbccddeeff.slice/cri-containerd-ID.scope",
            "/kubepods.slice/kubepods-pod1f2e3d4c_5b6a_4978_8899_aabbccddeeff.slice/crio-ID.scope/container",
            "/kubepods/besteffort/pod1f2e3d4c-5b6a-4978-8899-aabbccddeeff/ID",
            "/kubepods/pod1f2e3d4c-5b6a-4978-8899-aabbccddeeff/ID",
            "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod1f2e3d4c_5b6a_4978_8899_aabbccddeeff.slice/cri-containerd-ID.scope",
            "/kubelet/kubepods/burstable/pod1f2e3d4c-5b6a-4978-8899-aabbccddeeff/ID",
            // A group that the container has made for itself.
            "/kubepods/pod1f2e3d4c-5b6a-4978-8899-aabbccddeeff/ID/kubepods/pod7",
        ];
        for group in pods {
            assert_eq!(unit(group), Some(("pod", UID.to_owned())), "{group}");
        }
        // A pod of a file has a number for its content.
        let fixed = "/kubepods/burstable/pod8a1b5d0ccd2f6a6d0c9f6e4f0b1e2d3c/ID";
        assert_eq!(unit(fixed), Some(("pod", "8a1b5d0ccd2f6a6d0c9f6e4f0b1e2d3c".to_owned())));
    }

    #[test]
    fn groups_of_engines_name_the_container() {
        let containers = [
            "/system.slice/docker-ID.scope",
            "/docker/ID",
            "/machine.slice/libpod-ID.scope/container",
            "/libpod_parent/libpod-ID",
            "/libpod_parent/a-pod/libpod-ID/container",
            "/system.slice/nerdctl-ID.scope",
            // A node of kind: all its pods are in one container.
            "/system.slice/docker-ID.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1_2.slice/cri-containerd-ID.scope",
        ];
        for group in containers {
            assert_eq!(unit(group), Some(("container", ID.to_owned())), "{group}");
        }
    }

    #[test]
    fn groups_that_others_can_make_name_nothing() {
        let others = [
            "/",
            "",
            "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope",
            "/user.slice/user-1000.slice/docker-ID.scope",
            "/user.slice/user-1000.slice/user@1000.service/kubepods.slice/kubepods-pod1_2.slice/x.scope",
            "/system.slice/some.service/kubepods/pod1/ID",
            "/system.slice/some.service/docker-ID.scope",
            "/system.slice/docker-12.scope",
            "/docker",
            "/docker/sub/ID",
            "/libpod_parent/conmon",
            "/other/libpod_parent/libpod-ID",
            "/kubepods.slice/kubepods-burstable.slice",
            "/kubepods/burstable",
            "/kubepods/other/pod1",
            "/kubepods/pod",
            "/kubepods/pod1.2",
            // Seen from a control-group namespace: what is above cannot be known.
            "/../../kubepods/pod1/ID",
            "/../kubepods-burstable-pod1_2.slice/cri-containerd-ID.scope",
        ];
        for group in others {
            assert_eq!(unit(group), None, "{group}");
        }
    }

    /// A system in a directory, with the files of a group.
    fn system(mounts: &str, of_process: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Hierarchies) {
        let root = tempfile::tempdir().unwrap();
        let own = [("proc/self/mountinfo", mounts), ("proc/40/cgroup", of_process)];
        for (path, text) in own.iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let hierarchies = Hierarchies::read_under(root.path());
        (root, hierarchies)
    }

    const TWO: &str = "30 1 0:27 / /cg rw - cgroup2 cgroup2 rw\n";
    const ONE: &str = "31 1 0:28 / /cpu rw - cgroup cgroup rw,cpu\n32 1 0:29 / /set rw - cgroup cgroup rw,cpuset\n";

    fn containers(text: &str) -> Containers {
        let mut containers = Containers::default();
        containers.configure(&Config::from_toml("f", text).unwrap());
        containers
    }

    #[test]
    fn a_pod_is_entitled_to_what_its_own_group_says() {
        let pod = "cg/kubepods/burstable/pod1";
        let files = [
            (format!("{pod}/cpu.weight"), "59\n"),
            (format!("{pod}/cpu.max"), "250000 100000\n"),
            (format!("{pod}/cpuset.cpus"), "\n"),
            (format!("{pod}/c/cpu.weight"), "10000\n"),
            (format!("{pod}/c/cpu.max"), "100000 100000\n"),
            (format!("{pod}/c/cpuset.cpus"), "0\n"),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (root, hierarchies) = system(TWO, "0::/kubepods/burstable/pod1/c/sub\n", &files);
        let found = containers("").of_process(&hierarchies, 40).unwrap();
        assert_eq!(found.party, "pod 1");
        assert_eq!(found.entitled, Some(Entitlement { weight: 0.59, max: Some(3), reserved: 0 }));
        fs::write(root.path().join(pod).join("cpuset.cpus"), "4-5\n").unwrap();
        // What the kernel says of a group that is idle.
        fs::write(root.path().join(pod).join("cpu.weight"), "0\n").unwrap();
        let found = containers("").of_process(&hierarchies, 40).unwrap();
        assert_eq!(found.entitled, Some(Entitlement { weight: WEIGHTS.0, max: Some(2), reserved: 0 }));
    }

    #[test]
    fn version_one_says_the_same() {
        let group = format!("/docker/{ID}");
        let files = [
            (format!("cpu{group}/cpu.shares"), "2048\n"),
            (format!("cpu{group}/cpu.cfs_quota_us"), "-1\n"),
            (format!("cpu{group}/cpu.cfs_period_us"), "100000\n"),
            (format!("set{group}/cpuset.cpus"), "0-2\n"),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_root, hierarchies) = system(ONE, &format!("3:cpu:{group}\n2:cpuset:{group}\n0::/\n"), &files);
        let found = containers("").of_process(&hierarchies, 40).unwrap();
        assert_eq!(found.party, format!("container {ID}"));
        assert_eq!(found.entitled, Some(Entitlement { weight: 2.0, max: Some(3), reserved: 0 }));
    }

    #[test]
    fn the_table_names_parties_and_the_configuration_what_they_have() {
        let (root, hierarchies) = system(TWO, "0::/kubepods/pod1/c\n", &[]);
        let table = root.path().join("table");
        let text = format!("[containers]\ntable = \"{}\"\n[parties.\"lab/solvers\"]\nmax = 3\n", table.display());
        let mut containers = containers(&text);
        let of = |containers: &Containers| containers.of_process(&hierarchies, 40).unwrap();
        assert_eq!(of(&containers).party, "pod 1", "nobody has written the table yet");
        fs::write(&table, "# pods\n10 other\n1\n1 lab/solvers\n").unwrap();
        assert_eq!(of(&containers).party, "lab/solvers", "a line without a name says nothing");
        fs::write(&table, "10 other\n1 lab/others extra\n1   lab/solvers\n1 lab/later\n").unwrap();
        let found = of(&containers);
        assert_eq!(found, Container { party: "lab/solvers".to_owned(), entitled: None });
        assert!(!containers.note(&found));
        assert_eq!(containers.entitled(&found.party).unwrap().max, Some(3));
        fs::remove_file(&table).unwrap();
        fs::create_dir(&table).unwrap();
        assert_eq!(of(&containers).party, "pod 1", "no table at all");
    }

    #[test]
    fn what_is_known_of_a_container_is_noted_once_and_forgotten() {
        let mut containers = containers("");
        let entitled = Entitlement { max: Some(2), ..Entitlement::default() };
        let pod = Container { party: "pod 1".to_owned(), entitled: Some(entitled.clone()) };
        assert!(containers.note(&pod) && !containers.note(&pod));
        assert_eq!(containers.entitled("pod 1"), Some(&entitled));
        containers.forget("pod 1");
        assert_eq!(containers.entitled("pod 1"), None);
    }

    #[test]
    fn containers_are_no_parties_where_the_administrator_says_so() {
        let (_root, hierarchies) = system(TWO, "0::/kubepods/pod1/c\n", &[]);
        assert!(containers("").of_process(&hierarchies, 40).is_some());
        assert_eq!(containers("[containers]\nparties = false").of_process(&hierarchies, 40), None);
        assert_eq!(Containers::default().of_process(&hierarchies, 40), None, "the manager of one user");
    }
}
