//! Pods as parties. There is no Kubernetes: the test makes control groups with the names that the
//! kubelet gives them, and puts processes into them.

use crate::turn;
use crate::user::{Mortal, User, json, start, until};
use numaestro_skip::skip;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Control groups of pods, which are gone with the test.
struct Groups {
    made: Vec<PathBuf>,
    tree: PathBuf,
}

impl Groups {
    fn new() -> Result<Self, &'static str> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root makes control groups at the top of the tree");
        }
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        let tree = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|words| words[2] == "cgroup2");
        let tree = PathBuf::from(tree.ok_or("no cgroup v2 is mounted here")?[1]);
        let groups = Self { made: Vec::new(), tree };
        let mine = groups.tree.join(format!("numaestro-test-{}", std::process::id()));
        let can = std::fs::create_dir(&mine).is_ok() && std::fs::remove_dir(&mine).is_ok();
        if can { Ok(groups) } else { Err("no control groups can be made here") }
    }

    /// The group of a container of a pod.
    fn pod(&mut self, uid: &str) -> PathBuf {
        let container = self.tree.join("kubepods/burstable").join(format!("pod{uid}")).join("c".repeat(64));
        let missing: Vec<&Path> = container.ancestors().take_while(|above| !above.exists()).collect();
        for group in missing.into_iter().rev() {
            std::fs::create_dir(group).expect("a control group");
            self.made.push(group.to_owned());
        }
        container
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        // A process that has been killed leaves its group a moment later.
        for group in self.made.iter().rev() {
            until("an empty control group", || std::fs::remove_dir(group).is_ok());
        }
    }
}

fn manager(user: &User, settings: &str) -> Mortal {
    let common = "unmanaged = false\ncpus = \"0-1\"\ncgroups = \"off\"\n";
    std::fs::write(user.path("config.toml"), format!("{common}{settings}\n[recording]\non = false\n"))
        .expect("written");
    let mut daemon = user.command(["daemon", "--system", "--dir"]);
    daemon.arg(user.path("run")).arg("--config").arg(user.path("config.toml"));
    let manager = start(daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    manager
}

/// A program that could use both processors, in a group.
fn program(user: &User, group: &Path, name: &str) -> Mortal {
    let script = format!(
        "echo $$ >{}/cgroup.procs && exec \"$0\" run --name {name} -- sh -c 'while :; do :; done'",
        group.display()
    );
    let mut command = user.wrapped(&["sh", "-c", &script], [""; 0]);
    start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Of each application: its name, its processors, and whether it shares them.
fn applications(user: &User) -> Vec<(String, u64, bool)> {
    let status = json(&user.output(["status", "--json"]));
    let of = |app: &Value| (app["name"].as_str()?.to_owned(), app["count"].as_u64()?, app["shared"].as_bool()?).into();
    let mut found: Vec<_> = status["apps"].as_array().into_iter().flatten().filter_map(of).collect();
    found.sort();
    found
}

#[track_caller]
fn comes_to(user: &User, expected: &[(&str, u64, bool)]) {
    let expected: Vec<_> = expected.iter().map(|(name, count, shared)| ((*name).to_owned(), *count, *shared)).collect();
    let last = std::cell::RefCell::new(Vec::new());
    let same = (0..1000).any(|_| {
        last.replace(applications(user));
        std::thread::sleep(std::time::Duration::from_millis(10));
        *last.borrow() == expected
    });
    assert!(same, "{:?}", last.borrow());
}

#[test]
fn the_machine_is_divided_among_pods_first() {
    let _turn = turn();
    let mut groups = match Groups::new() {
        Ok(groups) => groups,
        Err(reason) => skip!("{reason}"),
    };
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        skip!("one processor only");
    }
    let user = User::new();
    let uid = |name: &str| format!("{name}-{}", std::process::id());
    let [one, three] = ["one", "three"].map(|name| groups.pod(&uid(name)));
    let mut first = manager(&user, "");
    let mut programs = vec![program(&user, &one, "a")];
    programs.extend(["b", "c", "d"].map(|name| program(&user, &three, name)));
    let by_pods = [("a", 1, false), ("b", 1, true), ("c", 1, true), ("d", 1, true)];
    comes_to(&user, &by_pods);

    // The next manager finds the same pods.
    first.kill().expect("killed");
    first.wait().expect("ends");
    let mut second = manager(&user, "");
    comes_to(&user, &by_pods);

    // Where pods are no parties, all this is root's.
    second.kill().expect("killed");
    second.wait().expect("ends");
    let mut third = manager(&user, "[containers]\nparties = false\n");
    comes_to(&user, &by_pods.map(|(name, count, _)| (name, count, true)));

    // Two pods with one name are one party, with what the settings say.
    third.kill().expect("killed");
    third.wait().expect("ends");
    let table = user.path("table");
    std::fs::write(&table, format!("{} lab/solvers\n{} lab/solvers\n", uid("one"), uid("three"))).expect("written");
    let named = format!("[containers]\ntable = \"{}\"\n[parties.\"lab/solvers\"]\nmax = 1\n", table.display());
    let _fourth = manager(&user, &named);
    until("one processor for all of them", || {
        let status = json(&user.output(["status", "--json"]));
        let free = |pu: &&Value| pu["state"] == "free";
        let free = status["pus"].as_array().map(|pus| pus.iter().filter(free).count());
        free == Some(1) && applications(&user).iter().all(|(_, count, shared)| *count == 1 && *shared)
    });
    drop(programs);
    until("nobody", || applications(&user).is_empty());
    assert!(user.output(["stop"]).status.success());
}
