//! Programs in containers of Podman: with the manager of the host, and with one of their own.

use crate::podman::{Podman, ok};
use crate::turn;
use crate::user::{Mortal, User, json, kill, start, text, until};
use numaestro_skip::skip;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Repetitions that take a moment, and such that never end.
const SHORT: &str = "300";
pub const LONG: &str = "1000000000";
/// The helper thread looks for its manager every two seconds.
pub const SOME_LOOKS: Duration = Duration::from_secs(7);

pub fn kernel() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/kernels/gcc/sor")
}

pub fn shim() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/client")
}

fn command() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_numaestro"))
}

/// The reason why no test here can run.
pub fn missing() -> Option<&'static str> {
    if !kernel().exists() || !shim().join("libnumaestro_preload.so").exists() {
        return Some("the load programs are not built: make client kernels");
    }
    (std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2).then_some("one processor only")
}

/// An engine with these files in its root directory; the reason if there is none, or no test here
/// can run.
fn prepared(files: &[&Path]) -> Result<Podman, String> {
    missing().map_or(Ok(()), |reason| Err(reason.to_owned()))?;
    Podman::new(files)
}

/// What a program in a container needs for the manager of the host, as the guide has it.
fn way_in(user: &User) -> Vec<String> {
    let (sockets, shim) = (user.path("run").display().to_string(), shim().canonicalize().expect("built"));
    vec![
        format!("--volume={sockets}:/run/numaestro:ro"),
        format!("--volume={}:/usr/lib/numaestro:ro", shim.display()),
        "--env=LD_PRELOAD=/usr/lib/numaestro/libnumaestro_preload.so".to_owned(),
        "--env=NUMAESTRO_ATTACH=/run/numaestro/attach".to_owned(),
    ]
}

/// The manager of all users, in a directory of the test.
pub fn manager(user: &User) -> Mortal {
    let mut daemon = user.command(["daemon", "--system", "--dir"]);
    daemon.arg(user.path("run")).arg("--config").arg(settings(user));
    let log = std::fs::File::options().create(true).append(true).open(user.path("log")).expect("a log");
    let manager = start(daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log));
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    manager
}

pub fn apps(user: &User) -> Vec<Value> {
    json(&user.output(["status", "--json"]))["apps"].as_array().cloned().unwrap_or_default()
}

fn checksum(said: &str) -> Value {
    let line = said.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no report: {said}"));
    let report: Value = serde_json::from_str(line).expect("a report");
    assert_eq!(report["threads_first"], 2, "{said}");
    report["checksum"].clone()
}

fn processors_of(pid: u64) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default().trim().to_owned()
}

/// A container with a name that runs until it is ended.
fn begin(podman: &Podman, name: &str, options: &[&str], words: &[&str]) -> (Mortal, String) {
    let options = [&["--name", name], options].concat();
    let container = start(podman.run(&options, words).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a container", || {
        let listed = podman.command(&["ps", "--quiet", "--no-trunc", "--filter", &format!("name=^{name}$")]).output();
        listed.is_ok_and(|listed| !listed.stdout.is_empty())
    });
    let id = podman.expect(&["inspect", "--format", "{{.Id}}", name]).trim().to_owned();
    (container, id)
}

fn end(podman: &Podman, name: &str, mut container: Mortal) {
    let id = podman.expect(&["inspect", "--format", "{{.Id}}", name]).trim().to_owned();
    let _ = podman.expect(&["kill", name]);
    let _ = container.wait();
    until("no container", || !podman.ids().contains(&id));
}

/// Settings of the manager of all users.
fn settings(user: &User) -> PathBuf {
    let settings = format!(
        "unmanaged = false\ncgroups = \"off\"\n[recording]\non = false\n[containers]\ntable = \"{}\"\n[parties.solo]\nmax = 1\n",
        user.path("table").display()
    );
    std::fs::write(user.path("config.toml"), settings).expect("written");
    user.path("config.toml")
}

/// Kills the manager's guard, which would give affinities back by itself.
fn kill_guard(user: &User) {
    let place = user.place.path().display().to_string();
    for process in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let read = |name: &str| text(&std::fs::read(process.path().join(name)).unwrap_or_default());
        if read("comm").trim() == "numaestro-guard" && read("cmdline").contains(&place) {
            kill("KILL", &process.file_name().to_string_lossy());
            return;
        }
    }
    panic!("no guard");
}

#[test]
fn programs_in_a_container_come_to_the_manager_of_the_host() {
    let _turn = turn();
    let podman = match prepared(&[&kernel(), &command()]) {
        Ok(podman) => podman,
        Err(reason) => skip!("{reason}"),
    };
    let user = &podman.user;
    let plain = checksum(&ok(&podman.run(&[], &["sor", "--json", "--reps", SHORT]).output().expect("podman")));

    let mut first = manager(user);
    let way_in = way_in(user);
    let mut options: Vec<&str> = way_in.iter().map(String::as_str).collect();
    let mut host = user.command(["run", "--"]);
    let host = host.arg(kernel()).args(["--json", "--reps", LONG]).stdout(Stdio::null()).stderr(Stdio::null());
    let host = start(host.stdin(Stdio::null()));
    // A number that has no account here, as most users of containers.
    options.extend(["--user", "12345"]);
    let (inside, id) = begin(&podman, "inside", &options, &["sor", "--json", "--reps", LONG]);
    until("both, with a processor each", || {
        let apps = apps(user);
        apps.len() == 2 && apps.iter().all(|app| app["count"] == 1 && app["shared"] == false)
    });
    let attached = Instant::now();
    let pid = apps(user).iter().filter_map(|app| app["pid"].as_u64()).find(|pid| *pid != u64::from(host.id()));
    let pid = pid.expect("the program in the container");
    until("processors of their own", || {
        let (own, hosts) = (processors_of(pid), processors_of(host.id().into()));
        own.len() == 1 && hosts.len() == 1 && own != hosts
    });
    // A third program would share a processor with one of them, in another control group: Linux
    // before 6.18.45 may give such a program no time for half an hour (commit 101f3498b4bd).
    drop(host);
    let beside = podman.run(&options, &["sor", "--json", "--reps", SHORT]).output().expect("podman");
    assert_eq!(checksum(&ok(&beside)), plain);
    nothing_may_be_asked_from_inside(&podman, &options);

    // The manager's number means nothing in there, and is not taken for that of a dead one.
    std::thread::sleep(SOME_LOOKS.saturating_sub(attached.elapsed()));
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("lives");
    assert_eq!(maps.matches("memfd:numaestro").count(), 1, "it has attached again and again");

    // Without a manager it runs on, with all processors; the next one has it again, and knows its
    // party by name.
    std::fs::write(user.path("table"), format!("{id} solo\n")).expect("written");
    kill_guard(user);
    first.kill().expect("killed");
    first.wait().expect("ends");
    until("all processors without a manager", || processors_of(pid) == processors_of(std::process::id().into()));
    let _second = manager(user);
    until("the program, as the party that the table names", || {
        apps(user).iter().any(|app| app["pid"] == pid && app["count"] == 1)
    });
    until("its page", || {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.matches("memfd:numaestro").count() == 2
    });
    end(&podman, "inside", inside);
    until("nobody", || apps(user).is_empty());
    ok(&user.output(["stop"]));
}

/// As the `DaemonSet` has it.
#[test]
fn a_manager_in_a_container_with_the_hosts_processes_manages_other_containers() {
    let _turn = turn();
    let podman = match prepared(&[&kernel(), &command()]) {
        Ok(podman) => podman,
        Err(reason) => skip!("{reason}"),
    };
    let user = &podman.user;
    std::fs::create_dir(user.path("run")).expect("a directory");
    let sockets = format!("--volume={}:/run/numaestro", user.path("run").display());
    let settings = format!("--volume={}:/etc/numaestro/config.toml:ro", settings(user).display());
    let options = ["--privileged", "--pid=host", &sockets, &settings];
    let manager = || begin(&podman, "manager", &options, &["numaestro", "daemon", "--system"]).0;
    let way_in = way_in(user);
    let way_in: Vec<&str> = way_in.iter().map(String::as_str).collect();
    let divided = || {
        let apps = apps(user);
        apps.len() == 2 && apps.iter().all(|app| app["count"] == 1 && app["shared"] == false)
    };

    let first = manager();
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    let programs = ["a", "b"].map(|name| begin(&podman, name, &way_in, &["sor", "--json", "--reps", LONG]).0);
    until("both, with a processor each", divided);
    let pids: Vec<u64> = apps(user).iter().filter_map(|app| app["pid"].as_u64()).collect();
    end(&podman, "manager", first);
    let all = processors_of(std::process::id().into());
    until("all processors without a manager", || pids.iter().all(|pid| processors_of(*pid) == all));
    let second = manager();
    until("the next manager has both", divided);
    for (name, program) in ["a", "b"].into_iter().zip(programs) {
        end(&podman, name, program);
    }
    until("nobody", || apps(user).is_empty());
    end(&podman, "manager", second);
}

/// Not even root in a container is anybody for the manager of the host.
fn nothing_may_be_asked_from_inside(podman: &Podman, options: &[&str]) {
    let ask = |words: &[&str]| -> Output {
        let mut options: Vec<&str> = options.iter().copied().filter(|word| !word.contains("LD_PRELOAD")).collect();
        options.extend(["--env=NUMAESTRO_DIR=/run/numaestro", "--user", "0"]);
        podman.run(&options, &[&["numaestro"], words].concat()).output().expect("podman")
    };
    let seen = json(&ask(&["status", "--json"]));
    assert_eq!((&seen["running"], &seen["apps"]), (&Value::Bool(true), &serde_json::json!([])), "{seen}");
    for words in [&["stop"][..], &["policy", "set", "dss"], &["release", "1"], &["set", "1", "--max", "1"]] {
        let output = ask(words);
        assert_eq!(output.status.code(), Some(77), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    }
    let ran = ask(&["run", "--", "sh", "-c", "exit 7"]);
    assert_eq!(ran.status.code(), Some(7), "{}", text(&ran.stderr));
    let warned = text(&ran.stderr);
    assert!(!warned.contains("no manager"), "{warned}");
}

#[test]
fn a_cpuset_and_a_quota_of_the_container_bound_its_programs() {
    let _turn = turn();
    let podman = match prepared(&[&kernel()]) {
        Ok(podman) => podman,
        Err(reason) => skip!("{reason}"),
    };
    let user = &podman.user;
    let _manager = manager(user);
    let way_in = way_in(user);
    for limit in ["--cpuset-cpus=1", "--cpus=1"] {
        // A team of one thread does not come to a manager.
        let two = "--env=OMP_NUM_THREADS=2";
        let options: Vec<&str> = way_in.iter().map(String::as_str).chain([limit, two]).collect();
        let (inside, _) = begin(&podman, "limited", &options, &["sor", "--json", "--reps", LONG]);
        until("one processor", || {
            let apps = apps(user);
            apps.len() == 1
                && apps[0]["count"] == 1
                && apps[0]["why"].as_str().is_some_and(|why| why.contains("its cgroup"))
        });
        // The manager does not choose processors by the cpusets of others, which hold all the same.
        let pid = apps(user)[0]["pid"].as_u64().expect("a number");
        assert!(limit != "--cpuset-cpus=1" || processors_of(pid) == "1", "{}", processors_of(pid));
        end(&podman, "limited", inside);
        until("nobody", || apps(user).is_empty());
    }
    ok(&user.output(["stop"]));
}

/// Somebody has copied into a root only what the programs need.
#[test]
fn a_root_in_which_the_shim_cannot_be_loaded_runs_its_programs_without() {
    let _turn = turn();
    let podman = match prepared(&[&kernel()]) {
        Ok(podman) => podman,
        Err(reason) => skip!("{reason}"),
    };
    for name in ["libpthread.so.0", "libdl.so.2"] {
        ok(&Command::new("find").arg(podman.root()).args(["-name", name, "-delete"]).output().expect("find"));
    }
    let user = &podman.user;
    let _manager = manager(user);
    let way_in = way_in(user);
    let way_in: Vec<&str> = way_in.iter().map(String::as_str).collect();
    let words = ["sor", "--json", "--reps", SHORT];
    let plain = podman.run(&[], &words).output().expect("podman");
    let with = podman.run(&way_in, &words).output().expect("podman");
    assert_eq!((with.status, text(&with.stderr)), (plain.status, text(&plain.stderr)));
    assert_eq!(checksum(&ok(&with)), checksum(&ok(&plain)));
    ok(&user.output(["stop"]));
}

#[test]
fn a_manager_inside_divides_the_container() {
    let _turn = turn();
    let podman = match prepared(&[&kernel(), &command()]) {
        Ok(podman) => podman,
        Err(reason) => skip!("{reason}"),
    };
    let plain = checksum(&ok(&podman.run(&[], &["sor", "--json", "--reps", SHORT]).output().expect("podman")));
    // Half a processor stays free for Podman, which is in other control groups: Linux before
    // 6.18.45 may give it no time beside programs that have all (commit 101f3498b4bd).
    let all = std::thread::available_parallelism().map_or(2, usize::from);
    let cpus = format!("--cpus={}.5", all.saturating_sub(1));
    let options = ["--env=NUMAESTRO_DIR=/tmp/numaestro", "--env=HOME=/tmp", &cpus];
    let both = format!("for n in 1 2; do numaestro run -- sor --reps {LONG} & done; wait");
    let (inside, _) = begin(&podman, "own", &options, &["sh", "-c", &both]);
    let status = || -> Value {
        let said = podman.command(&["exec", "own", "numaestro", "status", "--json"]).output().expect("podman");
        serde_json::from_slice(&said.stdout).unwrap_or_default()
    };
    until("both, with a processor each", || {
        let apps = status()["apps"].as_array().cloned().unwrap_or_default();
        let busy: Vec<&Value> = apps.iter().filter(|app| app["name"] == "sor").collect();
        busy.len() == 2 && busy.iter().all(|app| app["count"] == 1 && app["shared"] == false)
    });
    let third = podman.expect(&["exec", "own", "numaestro", "run", "--", "sor", "--json", "--reps", SHORT]);
    assert_eq!(checksum(&third), plain);
    let manager = status()["pid"].clone();
    kill("KILL", &host_pid(&podman, &manager.to_string()));
    let again = podman.expect(&["exec", "own", "numaestro", "run", "--", "sor", "--json", "--reps", SHORT]);
    assert_eq!(checksum(&again), plain);
    until("the next manager has both", || {
        let status = status();
        status["pid"] != manager && status["apps"].as_array().is_some_and(|apps| apps.len() == 2)
    });
    end(&podman, "own", inside);
}

/// The number that a process of the container has out here.
fn host_pid(podman: &Podman, inside: &str) -> String {
    let first = podman.expect(&["inspect", "--format", "{{.State.Pid}}", "own"]).trim().to_owned();
    let same = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    for process in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let pid = process.file_name().to_string_lossy().into_owned();
        let status = std::fs::read_to_string(process.path().join("status")).unwrap_or_default();
        let own = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
        if own.split_whitespace().next_back() == Some(inside) && same(&pid) == same(&first) {
            return pid;
        }
    }
    panic!("no process {inside} in the container");
}

/// The loader of an image with musl takes the stub, which asks for nothing there.
#[test]
fn a_program_of_musl_does_not_mind_the_stub() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/tests/gcc/threads-musl");
    let library = shim().join("libnumaestro_preload.so");
    if !program.exists() || !library.exists() {
        skip!("musl-gcc has not made a program");
    }
    let plain = Command::new(&program).arg("0.05").output().expect("starts");
    assert!(plain.status.success(), "{}", text(&plain.stderr));
    let ended = Command::new(&program).arg("0.05").env("LD_PRELOAD", library).output().expect("starts");
    assert_eq!((ended.status.code(), text(&ended.stderr)), (Some(0), text(&plain.stderr)));
}
