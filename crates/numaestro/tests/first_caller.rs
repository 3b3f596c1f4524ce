//! Nobody's mask becomes the machine: the manager has the processors that the kernel leaves to its
//! user, whoever started it and from where; and the mask of a `run` is that one program's.

mod user;

use numaestro_host::reach;
use numaestro_skip::skip;
use numaestro_topology::CpuSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use user::{Mortal, User, json, line, start, text, until};

/// All processors of this machine, which this thread and what it starts may have, and the first of
/// them; `None`: there is one only.
fn machine() -> Option<(CpuSet, CpuSet)> {
    let all = reach::take(&CpuSet::default()).expect("an affinity");
    let first: CpuSet = all.iter().take(1).collect();
    (first != all).then_some((all, first))
}

/// The command, by a caller that may use these processors only.
fn from(user: &User, cpus: &CpuSet, words: &[&str]) -> Command {
    user.wrapped(&["taskset", "-c", &cpus.to_string()], words)
}

/// A program that says where it may run, once at its start and once for each line it is sent.
const TELLS: &str = "while :; do sed -n 's/Cpus_allowed_list:[[:space:]]*//p' /proc/$$/status; read x || exit; done";

fn tells(mut command: Command) -> Mortal {
    start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))
}

/// The processors that the program may be on now.
fn asked(program: &mut Mortal) -> String {
    std::io::Write::write_all(program.stdin.as_mut().expect("a pipe"), b"\n").expect("it reads");
    line(program)
}

fn ended(mut program: Mortal) {
    drop(program.stdin.take());
    program.wait().expect("ends");
}

/// The most processors that the manager can ever give to a program from here.
fn most(user: &User) -> usize {
    let said = text(&user.shell("echo $NUMAESTRO_POOL").stdout);
    said.trim().trim_start_matches("whole:").parse().unwrap_or_else(|_| panic!("{said}"))
}

fn managed(user: &User) -> String {
    json(&user.output(["status", "--json"]))["cpus"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_first_caller_is_not_the_machine() {
    let Some((all, first)) = machine() else { skip!("one processor only") };
    let user = User::new();
    let mut bound = tells(from(&user, &first, &["run", "--", "sh", "-c", TELLS]));
    assert_eq!(line(&mut bound), first.to_string());
    assert_eq!(managed(&user), all.to_string(), "the machine of whoever comes next");
    let status = json(&user.output(["status", "--json"]));
    assert_eq!((&status["apps"][0]["count"], &status["apps"][0]["cpus"]), (&1.into(), &first.to_string().into()));
    let said = text(&user.output(["status"]).stdout);
    assert!(said.contains(&format!("allowed {first} by its own affinity")), "{said}");
    // A neighbour comes, and one goes: the mask is as its user has set it, always.
    let mut free = tells(user.command(["run", "--", "sh", "-c", TELLS]));
    line(&mut free);
    for _ in 0..100 {
        assert_eq!(asked(&mut bound), first.to_string());
    }
    ended(free);
    for _ in 0..100 {
        assert_eq!(asked(&mut bound), first.to_string());
    }
    ended(bound);
    assert_eq!(most(&user), all.len(), "the next program may have the whole machine");
}

#[test]
fn what_sizes_itself_in_a_narrow_run_is_told_so() {
    let Some((_, first)) = machine() else { skip!("one processor only") };
    let user = User::new();
    let said = from(&user, &first, &["run", "--", "sh", "-c", "nproc; echo $NUMAESTRO_CPUS_ALL $NUMAESTRO_POOL"]);
    let said = text(&{ said }.output().expect("runs").stdout);
    assert_eq!(said, format!("1\n{first} whole:1\n"));
}

#[test]
fn a_manager_by_hand_is_bounded_by_its_option_only() {
    let Some((all, first)) = machine() else { skip!("one processor only") };
    for (words, expected) in
        [(vec!["daemon".to_owned()], &all), (vec!["daemon".to_owned(), "--cpus".to_owned(), first.to_string()], &first)]
    {
        let user = User::new();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = from(&user, &first, &words);
        let _manager = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
        assert_eq!(managed(&user), expected.to_string(), "{words:?}");
        assert_eq!(json(&user.output(["status", "--json"]))["confined"], serde_json::Value::Null, "no cgroup does it");
    }
}

#[test]
fn the_variable_for_a_manager_of_ones_own_may_have_any_value() {
    for value in ["1", "yes", "0", ""] {
        let user = User::new();
        let command = |words: &[&str]| {
            let mut command = user.command(words);
            command.env("NUMAESTRO_USER", value).env("XDG_RUNTIME_DIR", user.place.path()).output().expect("runs")
        };
        let run = command(&["run", "--", "sh", "-c", "echo $NUMAESTRO_ATTACH"]);
        assert_eq!(text(&run.stderr), "", "NUMAESTRO_USER={value}");
        assert!(text(&run.stdout).ends_with("/attach\n"), "NUMAESTRO_USER={value}: managed");
        let stop = command(&["stop"]);
        assert!(stop.status.success(), "NUMAESTRO_USER={value}: {}", text(&stop.stderr));
    }
}

#[test]
fn the_doctor_tells_the_mask_from_the_machine() {
    let Some((all, first)) = machine() else { skip!("one processor only") };
    let user = User::new();
    let output = from(&user, &first, &["doctor", "--json"]).output().expect("runs");
    let checks = json(&output)["checks"].as_array().expect("a list").clone();
    let found = checks.iter().find(|check| check["name"] == "affinity").expect("a check")["found"].to_string();
    assert!(found.contains(&format!("({first})")) && found.contains(&format!("others may have {all}")), "{found}");
}

/// A cpuset cgroup of one processor, of either version.
struct Cgroup(std::path::PathBuf);

impl Cgroup {
    fn of(cpus: &CpuSet) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("nm-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let made = ["/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"].iter().find_map(|root| {
            let group = Self(std::path::Path::new(root).join(&name));
            std::fs::create_dir(&group.0).ok()?;
            let write = |file: &str, text: &str| std::fs::write(group.0.join(file), text);
            let mems = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_else(|_| "0".to_owned());
            write("cpuset.cpus", &cpus.to_string()).and_then(|()| write("cpuset.mems", mems.trim())).ok()?;
            Some(group)
        });
        made.filter(|group| group.0.join("cgroup.procs").exists())
    }

    /// A process comes into this group, or goes back to the one above.
    fn take(&self, pid: u32, back: bool) {
        let group = if back { self.0.parent().expect("a root") } else { &self.0 };
        std::fs::write(group.join("cgroup.procs"), pid.to_string()).expect("root's");
    }

    /// A script that enters the group, and then becomes the command that follows it.
    fn entering(&self) -> Vec<String> {
        let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..200 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn a_manager_in_a_narrow_cgroup_learns_of_the_rest() {
    let Some((all, first)) = machine() else { skip!("one processor only") };
    let Some(group) = Cgroup::of(&first) else { skip!("cpusets cannot be made here") };
    let user = User::new();
    let entering = group.entering();
    let entering: Vec<&str> = entering.iter().map(String::as_str).collect();
    let mut inside = tells(user.wrapped(&entering, ["run", "--", "sh", "-c", TELLS]));
    assert_eq!(line(&mut inside), first.to_string());
    // It knows no more than its group allows, and says why.
    let status = json(&user.output(["status", "--json"]));
    assert_eq!((&status["cpus"], &status["confined"]), (&first.to_string().into(), &first.to_string().into()));
    let said = text(&user.output(["status"]).stdout);
    assert!(said.contains(&format!("the manager's own cgroup allows processors {first} only")), "{said}");
    let said = text(&user.output(["doctor"]).stdout);
    assert!(said.contains("lives in a cgroup") && said.contains("to start it outside"), "{said}");
    // A program from outside tells it of the rest, and gets it.
    assert_eq!(most(&user), all.len());
    assert_eq!(managed(&user), all.to_string());
    assert_eq!(json(&user.output(["status", "--json"]))["confined"], serde_json::Value::Null);
    assert_eq!(asked(&mut inside), first.to_string(), "the group holds for its own programs");
    ended(inside);
    assert_eq!(user.output(["stop"]).status.code(), Some(0));
}

/// Nobody announces that a program is in another cpuset. The manager finds it where processors are
/// short, and so does not leave it with some that it cannot be on.
#[test]
fn programs_that_are_moved_into_another_cpuset_are_divided_in_it() {
    let Some((_, first)) = machine() else { skip!("one processor only") };
    let Some(group) = Cgroup::of(&first) else { skip!("cpusets cannot be made here") };
    let user = User::new();
    let busy = || start(&mut user.command(["run", "--", "sh", "-c", "while :; do :; done"]));
    let programs = [busy(), busy()];
    // Load of others may leave the two one processor together, here as there.
    let why = format!("its cgroup keeps it on processors {first}");
    let kept = || {
        let apps = json(&user.output(["status", "--json"]))["apps"].as_array().cloned().unwrap_or_default();
        (apps.len(), apps.iter().filter(|app| app["why"].to_string().contains(&why)).count())
    };
    until("both have come", || kept() == (2, 0));
    for program in &programs {
        group.take(program.id(), false);
    }
    until("both are found there", || kept() == (2, 2));
    for program in &programs {
        group.take(program.id(), true);
    }
    until("both are found outside", || kept() == (2, 0));
    drop(programs);
}
