//! Builds by real tools under a real manager: they run as many jobs as they have processors,
//! compute the same as alone, and lose no token for long, whichever process is killed.
//!
//! A job is a process `timeout` that keeps a processor busy for a fixed time.

mod support;

use numaestro_abi::control::AppStatus;
use numaestro_host::procfs::ProcessTable;
use numaestro_skip::{part, skip};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::ended::{self, Running};
use support::manager::{Manager, alone};
use support::{eventually, has, processors, turn};

/// Keeps a processor busy for this long, and leaves its name in a file.
const JOB: &str = "timeout 0.2 sh -c 'while :; do :; done'; echo done > $@";
/// The bound of docs/PROMISES.md for jobs after a change, with room for a busy machine.
const SOON: Duration = Duration::from_secs(if cfg!(debug_assertions) { 3 } else { 1 });

/// A directory with a Makefile of so many jobs.
fn project(jobs: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let names: Vec<String> = (0..jobs).map(|job| format!("j{job}")).collect();
    let text = format!("all: {}\nj%:\n\t@{JOB}\n", names.join(" "));
    std::fs::write(dir.path().join("Makefile"), text).expect("written");
    dir
}

/// `run` with these options and words, in this directory.
fn start(manager: &Manager, dir: &Path, words: &[&str]) -> Running {
    let mut command = manager.command(["run"]);
    // The tests may be jobs of a make themselves.
    for of_make in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CARGO_MAKEFLAGS"] {
        command.env_remove(of_make);
    }
    ended::start(command.args(words).current_dir(dir))
}

/// The application of this name.
fn app(manager: &Manager, name: &str) -> Option<AppStatus> {
    manager.status()?.apps.into_iter().find(|app| app.name == name)
}

/// Jobs that run now below the process. A job that has just forked has its name twice.
fn jobs(root: u32) -> usize {
    let table = ProcessTable::read().unwrap_or_default();
    let tree = table.tree(root, &BTreeSet::new());
    let is_timeout = |pid: u32| table.get(pid).is_some_and(|it| it.name == "timeout" && it.state != 'Z');
    let is_job = |pid: &u32| is_timeout(*pid) && !table.get(*pid).is_some_and(|it| is_timeout(it.parent));
    tree.iter().copied().filter(is_job).count()
}

/// The most jobs at one moment within this time.
fn most_jobs(root: u32, time: Duration) -> usize {
    let until = Instant::now() + time;
    let mut most = 0;
    while Instant::now() < until {
        most = most.max(jobs(root));
        std::thread::sleep(Duration::from_millis(5));
    }
    most
}

/// More jobs than this run in more than a fifth of the looks within this time. One look may see the
/// end of a job and the beginning of the next.
fn are_often_above(root: u32, limit: usize, time: Duration) -> bool {
    let until = Instant::now() + time;
    let (mut above, mut looks) = (0, 0);
    while Instant::now() < until || looks < 10 {
        looks += 1;
        above += usize::from(jobs(root) > limit);
        std::thread::sleep(Duration::from_millis(5));
    }
    5 * above > looks
}

/// Waits for this many jobs at once; gives the time that it took.
#[track_caller]
fn wait_for_jobs(root: u32, wanted: usize) -> Duration {
    let began = Instant::now();
    assert!(eventually(|| jobs(root) >= wanted), "never {wanted} jobs at once");
    began.elapsed()
}

/// Every target was made.
#[track_caller]
fn expect_made(dir: &Path, jobs: usize) {
    for job in 0..jobs {
        let text = std::fs::read_to_string(dir.join(format!("j{job}"))).expect("made");
        assert_eq!(text, "done\n");
    }
}

/// A ninja that knows jobservers: of the tests' Python environment, or of this machine.
fn ninja() -> Option<PathBuf> {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/venv/bin/ninja");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let known = |ninja: &PathBuf| {
        std::fs::read(ninja).is_ok_and(|bytes| bytes.windows(17).any(|window| window == b"--jobserver-auth="))
    };
    std::iter::once(venv).chain(std::env::split_paths(&path).map(|dir| dir.join("ninja"))).find(known)
}

#[test]
fn make_has_as_many_jobs_as_processors_while_others_come_and_go() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let dir = project(250);
    let build = start(&manager, dir.path(), &["--jobserver", "--name", "build", "--", "make"]);
    let pid = build.pid();
    wait_for_jobs(pid, processors());
    assert!(most_jobs(pid, Duration::from_millis(800)) <= processors() + 1);
    // Another program takes half of the machine, or all but one processor of two.
    let other = start(&manager, dir.path(), &["--name", "other", "--", "sh", "-c", "while :; do :; done"]);
    let mut has = 0;
    let shrunk = eventually(|| {
        has = app(&manager, "build").map_or(0, |app| app.count as usize);
        has > 0 && has < processors()
    });
    assert!(shrunk, "{:#?}", manager.status());
    // A token can be taken out only while it is in the pipe, and make wants it back at once. So it
    // takes some ends of jobs, and has no time limit here.
    let fits = |app: AppStatus| app.count as usize == has && app.jobserver.is_some_and(|it| it.tokens + 1 == app.count);
    assert!(eventually(|| app(&manager, "build").is_some_and(fits)), "{:#?}", manager.status());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!are_often_above(pid, has, Duration::from_millis(600)), "more jobs than processors");
    other.signal(Signal::KILL);
    other.end();
    let took = wait_for_jobs(pid, processors());
    assert!(took < SOON + Duration::from_secs(3), "{took:?}");
    build.end().expect("the build", "");
    expect_made(dir.path(), 250);
    manager.expect_all_free();
}

#[test]
fn a_killed_submake_loses_no_token_for_long() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("top.mk"), "inner:\n\t+@exec $(MAKE) -f inner.mk\n").expect("written");
    std::fs::write(dir.path().join("inner.mk"), "all: a b\na b:\n\t@timeout 600 sleep 600\n").expect("written");
    let build = start(&manager, dir.path(), &["--jobserver", "--name", "build", "--", "make", "-f", "top.mk"]);
    let root = build.pid();
    let inner = || {
        let table = ProcessTable::read().unwrap_or_default();
        table.all().find(|process| process.parent == root && process.name == "make").map(|process| process.pid)
    };
    assert!(eventually(|| inner().is_some_and(|inner| jobs(inner) >= 2)), "the inner make has a token");
    let held = app(&manager, "build").and_then(|app| app.jobserver).expect("a jobserver");
    assert!(held.free < held.tokens, "{held:?}");
    let inner = inner().expect("it runs");
    let orphans: Vec<u32> = ProcessTable::read().expect("processes").tree(inner, &BTreeSet::new());
    // The root make is held, so that the application lives on when its only job has died.
    Manager::signal(root, Signal::STOP);
    Manager::signal(inner, Signal::KILL);
    let began = Instant::now();
    let back = eventually(|| {
        let jobserver = app(&manager, "build").and_then(|app| app.jobserver);
        jobserver.is_some_and(|it| it.free == it.tokens && it.tokens + 1 == processors() as u32)
    });
    assert!(back, "{:#?}", manager.status());
    assert!(began.elapsed() < SOON.max(Duration::from_secs(2)), "{:?}", began.elapsed());
    for orphan in orphans.into_iter().filter(|pid| *pid != inner) {
        Manager::signal(orphan, Signal::KILL);
    }
    Manager::signal(root, Signal::CONT);
    assert!(!build.end().status.success(), "make says that its job was killed");
    manager.expect_all_free();
}

#[test]
fn a_build_outlives_its_manager_and_the_next_one_knows_it() {
    let manager = Manager::started();
    let dir = project(40);
    let build = start(&manager, dir.path(), &["--jobserver", "--name", "build", "--", "make"]);
    let serves = || app(&manager, "build").and_then(|app| app.jobserver).is_some_and(|it| it.left.is_empty());
    assert!(eventually(serves));
    let root = build.pid();
    wait_for_jobs(root, 1);
    // The state file follows in a moment.
    std::thread::sleep(Duration::from_millis(200));
    Manager::signal(manager.pid(), Signal::KILL);
    wait_for_jobs(root, 1);
    assert!(manager.run(["true"]).status.success());
    assert!(eventually(serves), "{:#?}", manager.status());
    let tokens = app(&manager, "build").and_then(|app| app.jobserver).expect("a jobserver").tokens;
    assert_eq!(tokens as usize + 1, processors());
    assert!(most_jobs(root, Duration::from_millis(600)) <= processors() + 1);
    build.end().expect("the build", "");
    expect_made(dir.path(), 40);
    manager.expect_all_free();
}

#[test]
fn what_stands_in_place_of_a_closed_pipe_is_nobodys_jobserver() {
    if !has("bash") {
        skip!("bash is not here");
    }
    let manager = Manager::started();
    let dir = tempfile::tempdir().expect("a directory");
    let kept = dir.path().join("kept");
    std::fs::write(&kept, "text").expect("written");
    // The program closes the pipe, and opens a file and then another pipe under its numbers.
    for instead in ["exec 200<>kept 201>&-", "exec 200<> <(:) 201>&-"] {
        let script = format!("exec 200<&-; {instead}; echo here; read line; cat kept");
        let mut command = manager.command(["run", "--jobserver", "--name", "build", "--", "bash", "-c", &script]);
        command.current_dir(dir.path()).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut program = command.spawn().expect("starts");
        let mut said = std::io::BufReader::new(program.stdout.take().expect("a pipe"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).expect("a line");
        assert_eq!(line, "here\n");
        // The state file follows in a moment.
        std::thread::sleep(Duration::from_millis(300));
        Manager::signal(manager.pid(), Signal::KILL);
        assert!(manager.run(["true"]).status.success());
        assert!(eventually(|| app(&manager, "build").is_some()), "{:#?}", manager.status());
        let jobserver = app(&manager, "build").and_then(|app| app.jobserver);
        assert!(jobserver.as_ref().is_some_and(|it| it.left.contains("closed it")), "{jobserver:?}");
        drop(program.stdin.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut said, &mut rest).expect("its output");
        assert_eq!((rest.as_str(), program.wait().expect("ends").success()), ("text", true));
    }
    manager.expect_all_free();
}

/// A Makefile that is right only one job after the other.
const FRAGILE: &str = "all: one two\none:\n\t@sleep 0.3; echo text > file; echo one\ntwo:\n\t@cat file; echo two\n";

#[test]
fn no_makefile_becomes_parallel_unasked() {
    let manager = Manager::started();
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("Makefile"), FRAGILE).expect("written");
    let expected = "one\ntext\ntwo\n";
    let built = |words: &[&str]| {
        let _ = std::fs::remove_file(dir.path().join("file"));
        start(&manager, dir.path(), words).end()
    };
    built(&["--", "make", "-s"]).expect("make", expected);
    built(&["--jobserver", "off", "--", "make", "-s"]).expect("make without", expected);
    built(&["--", "sh", "-c", "make -s"]).expect("make in a script", expected);
    let Some(ninja) = ninja() else {
        part("no ninja that knows jobservers (1.13)");
        return;
    };
    let ninja = ninja.to_str().expect("a name");
    std::fs::write(dir.path().join("build.ninja"), "rule m\n  command = make -s\nbuild x: m\n").expect("written");
    let output = built(&["--", ninja]);
    assert!(output.status.success() && output.stdout.contains(expected), "{}{}", output.stdout, output.stderr);
}

#[test]
fn a_number_of_jobs_of_the_users_is_left_alone_and_status_says_so() {
    let manager = Manager::started();
    let dir = project(20);
    let build = start(&manager, dir.path(), &["--jobserver", "--name", "build", "--", "make", "-j5"]);
    assert!(eventually(|| app(&manager, "build").is_some_and(|app| jobs(app.pid) == 5)), "five jobs");
    let left = app(&manager, "build").and_then(|app| app.jobserver).expect("it is said").left;
    assert_eq!(left, "its number of jobs was given by -j5");
    let output = manager.command(["status"]).output().expect("runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("jobserver: left alone, because its number of jobs"));
    let ended = build.end();
    ended.expect("the build", "");
    assert_eq!(ended.stderr, "");
}

#[test]
fn programs_that_are_no_builds_compute_the_same() {
    let manager = Manager::started();
    let dir = tempfile::tempdir().expect("a directory");
    let words = ["sh", "-c", "echo $((6 * 7)); exec 7</dev/null; cat <&7; exit 3"];
    let expected = ended::run(&mut alone(words));
    let ended = start(&manager, dir.path(), &[["--jobserver", "--"].as_slice(), &words].concat()).end();
    assert_eq!((ended.code(), ended.stdout), (expected.code(), expected.stdout));
    // make below a program that has closed the pipe goes on with one job, as below `make -j`.
    std::fs::write(dir.path().join("Makefile"), FRAGILE).expect("written");
    let closed = ["--jobserver", "--", "bash", "-c", "exec 200<&- 201>&-; make -s"];
    if has("bash") {
        start(&manager, dir.path(), &closed).end().expect("make without the pipe", "one\ntext\ntwo\n");
    }
    manager.expect_all_free();
}

#[test]
fn ninja_and_cargo_follow_by_themselves() {
    let _turn = turn();
    let manager = Manager::started();
    let serves = |name: &str| {
        let jobserver = app(&manager, name).and_then(|app| app.jobserver);
        jobserver.is_some_and(|it| it.left.is_empty() && it.tokens as usize + 1 == processors())
    };
    match ninja() {
        None => part("no ninja that knows jobservers (1.13)"),
        Some(ninja) => {
            let dir = tempfile::tempdir().expect("a directory");
            let edges: Vec<String> = (0..30).map(|job| format!("build j{job}: job\n")).collect();
            let text = format!("rule job\n  command = {}\n{}", JOB.replace("$@", "$out"), edges.concat());
            std::fs::write(dir.path().join("build.ninja"), text).expect("written");
            let ninja = ninja.to_str().expect("a name");
            let build = start(&manager, dir.path(), &["--name", "ninja", "--", ninja]);
            assert!(eventually(|| serves("ninja")), "{:#?}", manager.status());
            let root = build.pid();
            wait_for_jobs(root, processors());
            // ninja's own number is that of the processors and two.
            assert!(most_jobs(root, Duration::from_millis(800)) <= processors() + 1);
            assert!(build.end().status.success());
            expect_made(dir.path(), 30);
        }
    }
    if !has("cargo") {
        part("cargo is not here");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(dir.path().join("Cargo.toml"), manifest).expect("written");
    std::fs::create_dir(dir.path().join("src")).expect("made");
    std::fs::write(dir.path().join("src/main.rs"), "fn main() { println!(\"built\"); }\n").expect("written");
    let script = "fn main() { assert!(std::env::var(\"CARGO_MAKEFLAGS\").unwrap().contains(\"--jobserver-auth\")); \
                  std::thread::sleep(std::time::Duration::from_secs(2)); }\n";
    std::fs::write(dir.path().join("build.rs"), script).expect("written");
    let build = start(&manager, dir.path(), &["--name", "cargo", "--", "cargo", "run", "-q", "--offline"]);
    assert!(eventually(|| serves("cargo")), "{:#?}", manager.status());
    build.end().expect("cargo", "built\n");
    manager.expect_all_free();
}
