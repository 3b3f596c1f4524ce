//! Programs that nobody has started with `run`: adopted when a rule says so and they have proven to
//! be parallel, and left alone otherwise.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::stage::{Stage, example, turn, wait_for};
use numaestro_abi::control::{AppName, AppStatus, Options, Reply, Request};
use numaestro_host::procfs;
use numaestro_skip::{programs, skip};

/// The program under several names, and the processes that were started from it.
struct Programs {
    dir: tempfile::TempDir,
    started: Vec<Child>,
}

impl Programs {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Other users execute it too.
        let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).unwrap();
        Self { dir, started: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        if !path.exists() {
            programs::copy(example("busy"), &path, 0o755);
        }
        path
    }

    fn command(&self, name: &str, arguments: &str) -> Command {
        let mut command = Command::new(self.path(name));
        command.args(arguments.split_whitespace());
        command
    }

    fn start(&mut self, command: &mut Command) -> u32 {
        let child = command.spawn().unwrap();
        let pid = child.id();
        self.started.push(child);
        pid
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for child in &mut self.started {
            for pid in procfs::tree(child.id(), &std::collections::BTreeSet::new()).unwrap_or_default() {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
            let _ = child.wait();
        }
    }
}

/// A rule of one test would adopt the programs of another, so each has the machine for itself.
fn stage(rules: &str) -> Stage {
    let _turn = turn();
    Stage::new(&format!("unmanaged = false\n{rules}"))
}

fn app_of(stage: &Stage, pid: u32) -> Option<AppStatus> {
    stage.status().apps.into_iter().find(|app| app.pid == pid)
}

fn wait_adopted(stage: &Stage, pid: u32) -> AppStatus {
    wait_for("a program to be adopted", || app_of(stage, pid))
}

/// Long enough for the manager to have had every look but the last at what was there before:
/// another program, started now, is adopted.
fn wait_until_looked(stage: &Stage, programs: &mut Programs) {
    let mut command = programs.command("marker", "2 100");
    let pid = programs.start(&mut command);
    wait_adopted(stage, pid);
    std::thread::sleep(Duration::from_millis(1300));
}

const MARKER: &str = "[[rules]]\ncommand = \"marker\"\n";

#[test]
fn a_program_with_threads_is_adopted_and_placed() {
    let mut programs = Programs::new();
    let stage = stage("[[rules]]\ncommand = \"sol?er-[0-9]*\"\nmax = 1\nweight = 2.5\nname = \"the solver\"\n");
    let (mut solver, mut other) = (programs.command("solver-12", "3 100"), programs.command("solver-x", "3 100"));
    let (solver, other) = (programs.start(&mut solver), programs.start(&mut other));
    let app = wait_adopted(&stage, solver);
    assert_eq!((app.name.as_str(), app.count), ("the solver", 1));
    let inside = || {
        procfs::threads(solver)
            .unwrap()
            .into_iter()
            .all(|tid| numaestro_host::affinity::get(tid).is_ok_and(|cpus| cpus.to_string() == app.cpus))
    };
    wait_for("its threads on its processor", || inside().then_some(()));
    assert!(app_of(&stage, other).is_none(), "no rule is about it");
    drop(programs);
    wait_for("its end to be seen", || stage.status().apps.is_empty().then_some(()));
}

#[test]
fn what_is_short_or_single_or_idle_is_not_adopted() {
    let mut programs = Programs::new();
    let directory = programs.dir.path().display().to_string();
    let stage = stage(&format!("[[rules]]\ncommand = \"{directory}/*\"\n"));
    // A script: a shell that starts one short program after another.
    let short = programs.path("short");
    let shell = programs.path("shell");
    programs::copy("/bin/sh", &shell, 0o755);
    let script = format!("for i in 1 2 3 4 5 6 7 8; do {} 2 0; done; sleep 100", short.display());
    let script = programs.start(Command::new(&shell).args(["-c", &script]));
    let mut idle = programs.command("idle", "0 0 sleep 100");
    let idle = programs.start(&mut idle);
    wait_until_looked(&stage, &mut programs);
    let apps = stage.status().apps;
    let names: Vec<&str> = apps.iter().map(|app| app.name.as_str()).collect();
    assert_eq!(names, ["marker"], "only what computes in parallel is worth it ({script}, {idle})");
    // With one thread it takes longer, but it is adopted too.
    let mut single = programs.command("single", "1 100");
    let single = programs.start(&mut single);
    wait_adopted(&stage, single);
}

#[test]
fn the_first_rule_counts_and_may_say_no() {
    let mut programs = Programs::new();
    let text = format!("[[rules]]\ncommand = \"private*\"\nadopt = false\n{MARKER}[[rules]]\ncommand = \"p*\"\n");
    let stage = stage(&text);
    let (mut private, mut public) = (programs.command("private", "2 100"), programs.command("public", "2 100"));
    let (private, public) = (programs.start(&mut private), programs.start(&mut public));
    wait_adopted(&stage, public);
    wait_until_looked(&stage, &mut programs);
    assert!(app_of(&stage, private).is_none());
}

#[test]
fn what_ran_before_the_manager_is_found() {
    let mut programs = Programs::new();
    let mut early = programs.command("early", "2 100");
    let early = programs.start(&mut early);
    std::thread::sleep(Duration::from_millis(50));
    let stage = stage("[[rules]]\ncommand = \"early\"\n");
    wait_adopted(&stage, early);
}

#[test]
fn what_an_application_starts_belongs_to_it() {
    let mut programs = Programs::new();
    let text = format!("{MARKER}[[rules]]\ncommand = \"outer\"\n[[rules]]\ncommand = \"inner\"\n");
    let stage = stage(&text);
    let inner = programs.path("inner").display().to_string();
    let mut outer = programs.command("outer", "2 100 sh -c");
    let outer = programs.start(outer.arg(format!("sleep 1.5; exec {inner} 2 100")));
    wait_adopted(&stage, outer);
    let named = || procfs::tree(outer, &std::collections::BTreeSet::new()).unwrap().into_iter();
    let inner = wait_for("the inner one", || named().find(|pid| procfs::stat(*pid).is_ok_and(|s| s.name == "inner")));
    wait_until_looked(&stage, &mut programs);
    assert!(app_of(&stage, inner).is_none(), "it is part of the outer one");
}

#[test]
fn who_hosts_sessions_is_not_a_program_itself() {
    let mut programs = Programs::new();
    let text = format!("{MARKER}[[rules]]\ncommand = \"terminal\"\n[[rules]]\ncommand = \"inner\"\n");
    let stage = stage(&text);
    let inner = programs.path("inner").display().to_string();
    let mut terminal = programs.command("terminal", &format!("2 100 setsid {inner} 2 100"));
    let terminal = programs.start(&mut terminal);
    let named = || procfs::tree(terminal, &std::collections::BTreeSet::new()).unwrap().into_iter();
    let inner = wait_for("the inner one", || named().find(|pid| procfs::stat(*pid).is_ok_and(|s| s.name == "inner")));
    wait_adopted(&stage, inner);
    wait_until_looked(&stage, &mut programs);
    assert!(app_of(&stage, terminal).is_none());
}

#[test]
fn what_was_released_is_not_taken_back() {
    let mut programs = Programs::new();
    let stage = stage(&format!("{MARKER}[[rules]]\ncommand = \"free\"\n"));
    let mut free = programs.command("free", "2 100");
    let free = programs.start(&mut free);
    let app = wait_adopted(&stage, free).app;
    let answer = stage.connect().ask(&Request::Release { app: AppName::Number(app) }).unwrap();
    assert!(matches!(&answer, Reply::Released { whole, .. } if whole.left.is_empty()), "{answer:?}");
    wait_until_looked(&stage, &mut programs);
    assert!(app_of(&stage, free).is_none());
}

#[test]
fn a_users_manager_leaves_other_users_alone() {
    if numaestro_host::own_uid() != 0 {
        skip!("only root can start a program as somebody else");
    }
    let mut programs = Programs::new();
    let stage = stage(
        "[[rules]]\ncommand = \"theirs\"\ncgroup = \"*\"\nuser = \"65534\"\n[[rules]]\ncommand = \"marker\"\n[[rules]]\ncommand = \"theirs\"\n",
    );
    let mut theirs = programs.command("theirs", "2 100");
    let theirs = programs.start(theirs.uid(65534).gid(65534));
    wait_until_looked(&stage, &mut programs);
    assert!(app_of(&stage, theirs).is_none());
}

/// In a user namespace of its own the kernel says nothing to the manager.
#[test]
fn without_notices_it_looks_by_itself_and_says_so() {
    let works = Command::new("unshare").args(["-r", "true"]).status().is_ok_and(|status| status.success());
    if !works {
        skip!("no user namespaces here");
    }
    let mut programs = Programs::new();
    let _turn = turn();
    let mut stage = Stage::empty("unmanaged = false\n[[rules]]\ncommand = \"late\"\n");
    stage.start_under(Command::new("unshare").arg("-r").arg(example("manager")));
    assert!(stage.log().contains("programs are looked for every 10 s"), "{}", stage.log());
    let mut late = programs.command("late", "2 100");
    let late = programs.start(&mut late);
    // An arrival is reason to look at once.
    let mut client = stage.client();
    client.run(&Options::default());
    wait_adopted(&stage, late);
}

/// Prints what a storm of short programs costs the manager. Judged against what the storm itself
/// takes of the processors, so a slow machine makes no difference.
#[test]
fn a_storm_of_short_programs_costs_little() {
    // Not everything: what else runs on this machine is nobody's business here.
    let stage = stage("[[rules]]\ncommand = \"tru?\"\n");
    let manager = stage.status().pid;
    let before = procfs::cpu_time_ns(manager).unwrap();
    let begun = Instant::now();
    let used = || {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap();
        procfs::tick_ns() * numaestro_host::procfs::parse_stat(&text).unwrap().children_ticks
    };
    let storm_before = used();
    let mut programs = 0;
    while begun.elapsed() < Duration::from_secs(3) {
        // A shell starts programs faster than this process could.
        let script = "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
        programs += 200;
    }
    let wall = begun.elapsed();
    // What has gathered is read, and looked at.
    std::thread::sleep(Duration::from_millis(600));
    let cost = procfs::cpu_time_ns(manager).unwrap() - before;
    let storm = used() - storm_before;
    println!(
        "{} programs a second: the manager used {:.2} % of one processor, the programs {:.0} %",
        programs * 1000 / wall.as_millis().max(1),
        cost as f64 * 100.0 / wall.as_nanos() as f64,
        storm as f64 * 100.0 / wall.as_nanos() as f64
    );
    assert!(stage.status().apps.iter().all(|app| app.name != "true"));
    assert!(cost * 10 < storm, "the manager used {cost} ns for programs that used {storm} ns");
}
