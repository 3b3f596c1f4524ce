//! Too many programs and too little of everything: it works, or it says clearly what is missing,
//! and the program still runs.

mod support;

use numaestro_skip::{part, programs, skip};
use std::path::Path;
use std::process::Command;
use support::ended::{self, Ended, Running};
use support::manager::{Manager, NUMAESTRO, alone};
use support::programs::{COMPILERS, any, builds, torture};
use support::{beside, eventually, hang, has, is_root, number, processors, turn};

/// One line of `inside`.
fn right_line() -> (String, String) {
    let path = any("inside");
    let line = ended::run(&mut alone([path.as_str(), "0"])).stdout;
    assert_eq!(line.lines().count(), 1, "{line}");
    (path, line)
}

/// `script` in a shell that knows `$N` (the command) and `$P` (the program).
fn shell(manager: &Manager, program: &str, script: &str) -> Command {
    let mut command = alone(["bash", "-c", script]);
    command.env("NUMAESTRO_DIR", manager.dir()).env("N", NUMAESTRO).env("P", program);
    command
}

#[track_caller]
fn all_right(programs: Vec<Running>, line: &str) {
    for (index, running) in programs.into_iter().enumerate() {
        running.end().expect(&format!("program {index}"), line);
    }
}

#[test]
fn more_programs_than_processors() {
    let _turn = turn();
    let manager = Manager::started();
    for (_, path) in builds("inside") {
        let line = ended::run(&mut alone([path.as_str(), "0"])).stdout;
        let count = 8 * processors();
        let programs = (0..count).map(|_| ended::start(&mut manager.run_command([path.as_str(), "1"]))).collect();
        let most = (0..10).map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(60));
            let status = manager.status().expect("the manager answers");
            assert!(status.apps.iter().all(|app| app.state != "running" || app.count >= 1), "{status:#?}");
            status.apps.len()
        });
        assert!(most.max() > Some(processors()), "they were never all there");
        all_right(programs, &line);
    }
    manager.expect_all_free();
}

/// Its first team has one thread; the manager must not take that for its largest for ever.
#[test]
fn a_program_that_begins_with_one_thread() {
    let manager = Manager::started();
    let most = processors().min(4) as u32;
    if most < 2 {
        skip!("one processor only");
    }
    for compiler in COMPILERS {
        let Some(path) = torture(compiler, "regions") else {
            assert_ne!(compiler, "gcc", "client/torture has not been made");
            part(&format!("{compiler} has not made regions"));
            continue;
        };
        let mut command = manager.run_command([path.as_str(), "1"]);
        command.env("NUMAESTRO_TORTURE_PART", "set").env("OMP_NUM_THREADS", most.to_string());
        let running = ended::start(&mut command);
        let grown = eventually(|| manager.status().is_some_and(|all| all.apps.iter().any(|app| app.request == most)));
        let ended = running.end_within(hang()).expect("it ends");
        assert!(grown && ended.status.success(), "{compiler}: {} {}", ended.code(), ended.stderr);
    }
}

/// 200 in the usual run, 1000 with `NUMAESTRO_TEST_BIG=1`.
#[test]
fn very_many_programs_at_once() {
    let _turn = turn();
    let manager = Manager::started();
    let pid = manager.pid();
    let (path, line) = right_line();
    let count = if number("NUMAESTRO_TEST_BIG", 0) == 1 { 1000 } else { 200 };
    let programs = (0..count).map(|_| ended::start(&mut manager.run_command([path.as_str(), "0.02"]))).collect();
    all_right(programs, &line);
    assert_eq!(manager.pid(), pid, "the manager was lost on the way");
    manager.expect_all_free();
}

/// With so few descriptors that a program alone can just start, or cannot.
#[test]
fn no_free_descriptors_for_the_program() {
    let manager = Manager::started();
    let (path, line) = right_line();
    let mut ran = Vec::new();
    for limit in [3, 4, 5, 6, 8, 12, 20] {
        let bare = ended::run(&mut shell(&manager, &path, &format!("ulimit -n {limit}; exec $P 0.1")));
        let steered = ended::run(&mut shell(&manager, &path, &format!("ulimit -n {limit}; exec $N run -- $P 0.1")));
        ran.push(same_end(&format!("ulimit -n {limit}"), &line, &bare, &steered));
    }
    assert_eq!(ran.last(), Some(&true), "with 20 descriptors it runs");
    manager.expect_all_free();
}

/// Where the program can run alone it runs under `run`, and prints its line. Where it cannot, it
/// need not run under `run`, but it prints no other line and does not succeed without one. Whether
/// it ran alone.
#[track_caller]
fn same_end(what: &str, line: &str, bare: &Ended, steered: &Ended) -> bool {
    if bare.status.success() {
        bare.expect(what, line);
        steered.expect(what, line);
    } else {
        let right = if steered.status.success() { steered.stdout == line } else { line.starts_with(&steered.stdout) };
        assert!(right, "{what}: {} with \"{}\": {}", steered.status, steered.stdout, steered.stderr);
    }
    bare.status.success()
}

/// A manager that cannot open another descriptor refuses or waits, and serves the next one when
/// there is room again.
#[test]
fn no_free_descriptors_for_the_manager() {
    let manager = Manager::new();
    let (path, line) = right_line();
    // The manager that this run starts inherits the limit.
    let first = ended::run(&mut shell(&manager, &path, "ulimit -n 24; exec $N run -- true"));
    assert!(first.status.success(), "{}", first.stderr);
    let pid = manager.pid();
    for _ in 0..2 {
        let programs = (0..30).map(|_| ended::start(&mut manager.run_command([path.as_str(), "0.1"]))).collect();
        all_right(programs, &line);
    }
    if pid != 0 {
        assert_eq!(manager.pid(), pid, "the manager was lost");
    }
    manager.expect_all_free();
}

#[test]
fn little_memory() {
    let manager = Manager::started();
    let (path, line) = right_line();
    let mut ran = Vec::new();
    // The loader cannot map the command into less: it is 18 MB, and twice as large where it is not
    // optimised.
    let least = if cfg!(debug_assertions) { 48_000 } else { 24_000 };
    for kib in [least, 60_000, 100_000, 200_000, 400_000, 1_000_000] {
        let bare = ended::run(&mut shell(&manager, &path, &format!("ulimit -v {kib}; exec $P 0.1")));
        let steered = ended::run(&mut shell(&manager, &path, &format!("ulimit -v {kib}; exec $N run -- $P 0.1")));
        ran.push(same_end(&format!("ulimit -v {kib}"), &line, &bare, &steered));
    }
    assert_eq!(ran.last(), Some(&true), "with 1 GB it runs");
    // And the manager itself with little.
    let small = Manager::new();
    let steered = ended::run(&mut shell(&small, &path, "ulimit -v 150000; exec $N run -- $P 0.1"));
    steered.expect("with a small manager", &line);
    small.run([path.as_str(), "0.1"]).expect("beside a small manager", &line);
}

/// A user who may start hardly any process or thread. The manager counts for one, and so does our
/// thread in the program.
#[test]
fn few_processes() {
    let _turn = turn();
    if !is_root() || !has("setpriv") || !has("prlimit") {
        skip!("only root can become another user, with setpriv and prlimit");
    }
    let (_, line) = right_line();
    let place = ForNobody::new(&["inside"]);
    let mut ran = Vec::new();
    for limit in [1, 2, 3, 4, 8, 20] {
        let as_nobody = |limit: u32| {
            let limit = format!("--nproc={limit}");
            ["setpriv", "--reuid", "nobody", "--clear-groups", "prlimit", &limit].map(str::to_owned)
        };
        let program = [place.path("inside"), "0.1".to_owned()];
        let run = [place.path("numaestro"), "run".to_owned(), "--".to_owned()];
        let bare = place.run(as_nobody(limit).iter().chain(&program));
        let steered = place.run(as_nobody(limit + 2).iter().chain(&run).chain(&program));
        ran.push(same_end(&format!("{limit} processes, and two more"), &line, &bare, &steered));
        let scarce = place.run(as_nobody(limit).iter().chain(&run).chain(&program));
        let said = scarce.stderr.lines().any(|line| !line.starts_with("sizes"));
        assert!(scarce.status.success() || said, "{limit} processes: {} without a word", scarce.status);
        let _ = place.run(["setpriv", "--reuid", "nobody", "--clear-groups", &place.path("numaestro"), "stop"]);
    }
    assert_eq!(ran.last(), Some(&true), "with 20 processes it runs");
}

/// Copies that another user can execute, and a runtime directory of that user's.
struct ForNobody {
    place: tempfile::TempDir,
}

impl ForNobody {
    fn new(programs: &[&str]) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::Builder::new().prefix("numaestro-nobody-").tempdir().expect("a directory");
        let open =
            |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
        open(place.path(), 0o755);
        let copy = |from: &str, name: &str| programs::copy(from, place.path().join(name), 0o755);
        copy(NUMAESTRO, "numaestro");
        for name in programs {
            copy(&any(name), name);
        }
        std::fs::create_dir(place.path().join("run")).expect("made");
        open(&place.path().join("run"), 0o700);
        let owned = Command::new("chown").arg("nobody").arg(place.path().join("run")).status();
        assert!(owned.is_ok_and(|status| status.success()), "chown");
        Self { place }
    }

    fn path(&self, name: &str) -> String {
        self.place.path().join(name).to_str().expect("plain").to_owned()
    }

    fn run<S: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ended {
        ended::run(alone(words).env("NUMAESTRO_DIR", self.path("run")).env("HOME", "/nonexistent").current_dir("/"))
    }
}

impl Drop for ForNobody {
    fn drop(&mut self) {
        let stop = [&self.path("numaestro"), "stop"].map(str::to_owned);
        let words = ["setpriv", "--reuid", "nobody", "--clear-groups"].map(str::to_owned);
        let _ = self.run(words.into_iter().chain(stop));
    }
}

/// No home, no runtime directory, none that can be written: the program runs, and is told what is
/// missing.
#[test]
fn nowhere_to_be() {
    let manager = Manager::started();
    let (path, line) = right_line();
    let places = [
        ("a home that cannot be written", "HOME=/proc/1 exec $N run -- $P 0.1", false),
        ("no home", "unset HOME; exec $N run -- $P 0.1", false),
        ("a runtime directory that cannot be made", "NUMAESTRO_DIR=/proc/nowhere exec $N run -- $P 0.1", true),
        ("a runtime directory that is a file", "NUMAESTRO_DIR=/etc/passwd exec $N run -- $P 0.1", true),
        ("a relative runtime directory", "cd /proc; NUMAESTRO_DIR=somewhere exec $N run -- $P 0.1", true),
        ("a runtime directory of another's", "NUMAESTRO_DIR=/dev/null/x exec $N run -- $P 0.1", true),
    ];
    for (what, script, must_say) in places {
        let ended = ended::run(&mut shell(&manager, &path, script));
        ended.expect(what, &line);
        let said = ended.stderr.lines().any(|text| !text.starts_with("sizes"));
        assert_eq!(said, must_say, "{what}: {}", ended.stderr);
    }
    let long = format!("NUMAESTRO_DIR={}/{} exec $N run -- $P 0.1", manager.dir().display(), "d".repeat(200));
    ended::run(&mut shell(&manager, &path, &long)).expect("a path too long for a socket", &line);
    manager.expect_all_free();
}

#[test]
fn without_a_runtime_directory_of_the_session() {
    let manager = Manager::new();
    let (path, line) = right_line();
    // `TMPDIR` keeps this manager apart from one that the user of this machine may have.
    let script =
        "unset NUMAESTRO_DIR XDG_RUNTIME_DIR; export TMPDIR=$0; $N run -- $P 0.1; $N status --json >&2; $N stop >&2";
    let mut command = shell(&manager, &path, script);
    let uid = rustix::process::geteuid().as_raw();
    if Path::new(&format!("/run/user/{uid}")).is_dir() {
        skip!("this user has a session directory that would be used");
    }
    let ended = ended::run(command.arg(manager.dir()));
    ended.expect("without XDG_RUNTIME_DIR", &line);
    assert!(ended.stderr.contains("\"pid\""), "a manager answers: {}", ended.stderr);
}

#[test]
fn without_proc() {
    let namespace = |script: &str| {
        let mut command = alone(["unshare"]);
        command.args(["-m", "bash", "-c", script]);
        command
    };
    let hides =
        is_root() && has("unshare") && namespace("mount -t tmpfs none /proc").status().is_ok_and(|s| s.success());
    if !hides {
        skip!("only root can mount, with unshare");
    }
    let (path, line) = right_line();
    for manager_too in [false, true] {
        let manager = if manager_too { Manager::new() } else { Manager::started() };
        let mut command = namespace("mount -t tmpfs none /proc && exec $N run -- $P 0.2");
        command.env("NUMAESTRO_DIR", manager.dir()).env("N", NUMAESTRO).env("P", &path);
        ended::run(&mut command).expect(&format!("/proc hidden, from the manager too: {manager_too}"), &line);
    }
}

#[test]
fn a_full_disk() {
    let _beside = beside();
    let namespace = |script: &str| {
        let mut command = alone(["unshare"]);
        command.args(["-m", "bash", "-c", script]);
        command
    };
    if !is_root() || !has("unshare") || !namespace("mount -t tmpfs none /mnt").status().is_ok_and(|s| s.success()) {
        skip!("only root can mount, with unshare");
    }
    let (path, line) = right_line();
    let script = "mount -t tmpfs -o size=8k none /mnt && mkdir -m 700 /mnt/run && (cat /dev/zero > /mnt/fill || true) 2>/dev/null
        export NUMAESTRO_DIR=/mnt/run HOME=/proc XDG_CACHE_HOME=/mnt/cache; $N run -- $P 0.2; code=$?; $N stop >/dev/null 2>&1; exit $code";
    let mut command = namespace(script);
    ended::run(command.env("N", NUMAESTRO).env("P", &path)).expect("a full disk", &line);
}

/// As in a container that was given one processor.
#[test]
fn one_processor() {
    if !has("taskset") {
        skip!("taskset is not here");
    }
    let script = "OMP_NUM_THREADS=2 exec taskset -c 0 $N run -- $P 0.2"; // some of them need two
    for name in ["inside", "outside", "persist", "explicit", "sections", "private"] {
        for (compiler, path) in builds(name) {
            let line = ended::run(&mut alone([path.as_str(), "0"])).stdout;
            let manager = Manager::of_processors("0");
            let ended = ended::run(&mut shell(&manager, &path, script));
            ended.expect(&format!("{name} by {compiler} on one processor"), &line);
            let status = manager.status().expect("a manager");
            assert_eq!(status.cpus, "0", "{status:#?}");
            let both: Vec<Running> = (0..2).map(|_| ended::start(&mut shell(&manager, &path, script))).collect();
            all_right(both, &line);
            manager.expect_all_free();
        }
    }
}

/// A program that the user confined to one processor stays there, whatever the manager has.
#[test]
fn one_processor_for_one_program() {
    if !has("taskset") {
        skip!("taskset is not here");
    }
    let manager = Manager::started();
    let (path, line) = right_line();
    ended::run(&mut shell(&manager, &path, "exec taskset -c 0 $N run -- $P 0.2"))
        .expect("confined from outside", &line);
    let inner = ended::run(&mut shell(&manager, &path, "exec $N run -- taskset -c 0 $P 0.2"));
    inner.expect("confined from inside", &line);
    manager.expect_all_free();
}
