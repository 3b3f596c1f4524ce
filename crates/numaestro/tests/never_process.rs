//! What a program does with processes, descriptors, signals and its surroundings is the same under
//! numaestro.

mod support;

use numaestro_skip::{part, skip};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;
use support::ended::{self, Ended};
use support::manager::{Manager, NUMAESTRO, alone};
use support::programs::{any, builds, program};
use support::shaker::Shaker;
use support::{complaints_of, has, is_root, turn};

const SECONDS: &str = "0.5";
/// Runs a program with every compiler, alone and while its allocation changes; skips what it cannot
/// do alone.
#[track_caller]
fn same_result(name: &str, arguments: &[&str]) {
    let manager = Manager::started();
    let mut ran = false;
    for (compiler, path) in builds(name) {
        let words = |seconds| {
            [path.as_str(), seconds].into_iter().chain(arguments.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
        };
        let what = format!("{name} {} by {compiler}", arguments.join(" "));
        let bare = ended::start(&mut alone(words("0.1"))).end_within(Duration::from_secs(10));
        let Some(bare) = bare.ok().filter(|ended| ended.status.success()) else {
            part(&format!("{what}: it cannot do this without numaestro"));
            continue;
        };
        ran = true;
        let _shaker = Shaker::start(&manager);
        manager.run(words(SECONDS)).expect(&what, &bare.stdout);
    }
    manager.expect_all_free();
    if !ran {
        skip!("no runtime can do this, with or without numaestro");
    }
}

#[test]
fn fork_before_the_first_region() {
    same_result("forks", &["before"]);
}

#[test]
fn fork_after_regions_with_regions_in_the_child() {
    same_result("forks", &["after"]);
}

#[test]
fn fork_after_regions_without_regions_in_the_child() {
    same_result("forks", &["sequential"]);
}

#[test]
fn fork_and_exec_after_regions() {
    same_result("forks", &["exec"]);
}

#[test]
fn spawn_vfork_system_and_popen() {
    same_result("forks", &["spawn"]);
}

#[test]
fn exec_in_place() {
    same_result("forks", &["self"]);
}

#[test]
fn every_descriptor_closed_and_its_number_used_again() {
    same_result("closes", &[]);
}

#[test]
fn a_daemon_that_closes_every_descriptor() {
    same_result("closes", &["daemon"]);
}

#[test]
fn signals_are_the_programs_own() {
    same_result("signals", &[]);
}

/// Four threads on one processor and on two: each kind of state, and each kind of birth.
#[test]
fn what_the_kernel_keeps_for_each_thread_is_the_threads_own() {
    for (compiler, path) in builds("thread_state") {
        let kinds = ended::run(&mut alone([path.as_str()])).stdout;
        let wrong = complaints_of(&kinds.lines().collect::<Vec<_>>(), Manager::started, |manager, kind| {
            let bare = ended::run(alone([path.as_str(), kind]).env("OMP_NUM_THREADS", "4"));
            // In the last of these it is set while the team has all its processors, and found when
            // the team is folded.
            let ways: [(&str, &[&str]); 3] = [("1", &[]), ("2", &[]), ("2", &["2"])];
            let differs = ways.map(|(most, early)| {
                let mut steered = manager.command(["run", "--max", most, "--", &path, kind]);
                let steered = ended::run(steered.args(early).env("OMP_NUM_THREADS", "4"));
                let right = steered.status.success() && steered.stdout == bare.stdout;
                (!right).then(|| format!("{kind} by {compiler} on {most} {early:?}: {steered:?}, not {bare:?}\n"))
            });
            manager.expect_all_free();
            Some(differs.into_iter().flatten().collect())
        });
        assert_eq!(wrong, "");
    }
}

#[test]
fn libraries_that_come_and_go() {
    let private = program("gcc", "plugin-private.so");
    for (_, plugin) in builds("plugin.so") {
        same_result("loader", &[&plugin]);
        same_result("loader", &["plugin.so"]); // found by the program's own RUNPATH
        match &private {
            Some(private) => same_result("loader", &[&plugin, &format!("keep:{private}")]),
            None => part("a libgomp of a library's own: gcc has none to be copied"),
        }
    }
}

/// libomp has libgomp's names, too: a library built by gcc calls it in a program built by clang.
#[test]
fn a_library_of_another_compiler() {
    for (_, library) in builds("shares.so") {
        same_result("mixed", &[&library]);
    }
}

/// Python loads its modules in this way: the runtime comes long after the start.
#[test]
fn teams_of_libraries_that_come_late_are_folded_in_user_space() {
    let manager = Manager::started();
    let late = builds("plugin.so").into_iter().map(|(compiler, plugin)| (compiler, format!("keep:{plugin}")));
    let private =
        program("gcc", "plugin-private.so").map(|plugin| ("a copy of gcc's runtime", format!("keep:{plugin}")));
    for (what, plugin) in late.chain(private) {
        let loader = program("gcc", "loader").expect("gcc has made it");
        let mut command = manager.command(["run", "--max", "1", "--", &loader, "1000", &plugin]);
        let running = ended::start(command.env("OMP_NUM_THREADS", "3"));
        let folding = || manager.status()?.apps.into_iter().next()?.folding;
        let folded = support::eventually(|| folding().is_some_and(|folding| folding.switches > 0));
        assert!(folded, "{what}: {:?}", folding());
        running.signal(Signal::KILL);
        running.end();
    }
    manager.expect_all_free();
}

/// Lines about the program's surroundings, without the variables that `numaestro run --help` says
/// it changes.
fn surroundings(ended: &Ended) -> BTreeSet<String> {
    static HELP: LazyLock<String> = LazyLock::new(|| ended::run(&mut alone([NUMAESTRO, "run", "--help"])).stdout);
    let documented = |line: &str| {
        line.strip_prefix("environment ").is_some_and(|entry| {
            let name = entry.split('=').next().unwrap_or_default();
            name == "NUMAESTRO_DIR" || HELP.contains(name) && name.contains('_')
        })
    };
    ended.stdout.lines().filter(|line| !documented(line)).map(str::to_owned).collect()
}

#[test]
fn surroundings_are_the_programs_own() {
    let manager = Manager::started();
    for (compiler, path) in builds("surroundings") {
        let words = [path.as_str(), "7", "two words", "--help", "-v", ""];
        let input = b"one\ntwo\n";
        let bare = ended::start_with_input(&mut alone(words), input).end();
        let steered = ended::start_with_input(&mut manager.run_command(words), input).end();
        assert_eq!((bare.code(), steered.code()), (7, 7), "exit codes; {}", steered.stderr);
        let (before, now) = (surroundings(&bare), surroundings(&steered));
        let missing: Vec<_> = before.difference(&now).collect();
        let new: Vec<_> = now.difference(&before).collect();
        assert!(missing.is_empty() && new.is_empty(), "{compiler}: missing {missing:#?}, new {new:#?}");
        let quiet =
            |ended: &Ended| ended.stderr.lines().filter(|l| !l.starts_with("sizes")).collect::<Vec<_>>().join("\n");
        assert_eq!(quiet(&steered), quiet(&bare), "standard error");
    }
}

/// Ignored signals, a low priority, closed standard streams, blocked signals: inherited as from any
/// other parent.
#[test]
fn odd_surroundings_are_inherited() {
    let manager = Manager::started();
    let path = any("surroundings");
    let shells = [
        "trap '' PIPE INT QUIT HUP; exec \"$@\"",
        "ulimit -n 200; ulimit -c 0; ulimit -s 4096; umask 077; exec \"$@\"",
        "exec \"$@\" 5</dev/null 7</dev/zero",
        "exec nice -n 3 \"$@\"",
        "exec nohup \"$@\" 2>/dev/null",
        "cd /; exec env -u HOME \"$@\"",
        "exec \"$@\" 2>&-",
        "exec \"$@\" <&- 2>&-",
    ];
    let mut failures = Vec::new();
    for shell in shells {
        let words = |program: &[&str]| {
            ["sh", "-c", shell, "sh"].iter().chain(program).map(ToString::to_string).collect::<Vec<_>>()
        };
        let bare = ended::run(&mut alone(words(&[&path])));
        let steered = ended::run(alone(words(&[NUMAESTRO, "run", "--", &path])).env("NUMAESTRO_DIR", manager.dir()));
        let (before, now) = (surroundings(&bare), surroundings(&steered));
        let differences: Vec<_> = before.symmetric_difference(&now).collect();
        if !differences.is_empty() || bare.code() != steered.code() {
            failures.push(format!(
                "{shell}: {} then {}, {differences:#?}\n{}",
                bare.status, steered.status, steered.stderr
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn exit_codes_and_deaths_are_passed_on() {
    let manager = Manager::started();
    for (script, code) in [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 77", 77),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -SEGV $$", 139),
    ] {
        assert_eq!(manager.run(["sh", "-c", script]).code(), code, "{script}");
    }
    assert_eq!(manager.run(["/nowhere/at/all"]).code(), 127);
    assert_eq!(manager.run(["/"]).code(), 126);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL, Signal::USR1] {
        let sleeper = ended::start(&mut manager.run_command(["sh", "-c", "echo ready; exec sleep 100"]));
        assert!(support::eventually(|| command_line(sleeper.pid()).starts_with("sleep")), "never started");
        sleeper.signal(signal);
        assert_eq!(sleeper.end().code(), 128 + signal.as_raw(), "{signal:?}");
    }
    manager.expect_all_free();
}

fn command_line(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// A program below something that is not parallel itself gets what it would have got alone, and so
/// do two of them.
#[test]
fn wrappers() {
    let manager = Manager::started();
    for (_, path) in builds("inside") {
        let once = ended::run(&mut alone([path.as_str(), "0.05"])).stdout;
        let twice = format!("{once}{once}");
        let both = format!("{path} {SECONDS} & {path} {SECONDS}; wait");
        let nested = format!("timeout 50 sh -c 'nice {path} {SECONDS}'");
        let managed_again = format!("{NUMAESTRO} run -- {path} {SECONDS}");
        let wrapped: [(&[&str], &str); 9] = [
            (&["timeout", "50", &path, SECONDS], &once),
            (&["sh", "-c", &both], &twice),
            (&["sh", "-c", &nested], &once),
            (&["env", "-i", &path, SECONDS], &once),
            (&["env", "-u", "LD_PRELOAD", &path, SECONDS], &once),
            (&["nice", "-n", "5", &path, SECONDS], &once),
            (&["nohup", &path, SECONDS], &once),
            (&["setsid", "-w", &path, SECONDS], &once),
            (&["sh", "-c", &managed_again], &once),
        ];
        for (words, output) in wrapped {
            let _shaker = Shaker::start(&manager);
            manager.run(words).expect(&words.join(" "), output);
        }
        let late = manager.run(["timeout", "0.3", path.as_str(), "30"]);
        assert_eq!(late.code(), 124, "timeout ends it: {}{}", late.stdout, late.stderr);
    }
    manager.expect_all_free();
}

/// Pipes, a reader that goes away, and a program in the background of a shell that ends before it.
#[test]
fn pipelines() {
    let manager = Manager::started();
    let path = any("inside");
    let line = ended::run(&mut alone([path.as_str(), "0.05"])).stdout;
    let in_shell = |script: &str| {
        let mut command = alone(["bash", "-c", script]);
        command.env("NUMAESTRO_DIR", manager.dir()).env("N", NUMAESTRO).env("P", &path);
        ended::run(&mut command)
    };
    in_shell("$N run -- $P 0.2 | cat").expect("into a pipe", &line);
    in_shell("$N run -- cat < <(echo through)").expect("from a pipe", "through\n");
    in_shell("$N run -- yes | head -n 1").expect("a reader that goes away", "y\n");
    let broken = in_shell("$N run -- yes | true; echo ${PIPESTATUS[0]}");
    broken.expect("SIGPIPE kills the writer", "141\n");
    in_shell("$N run -- sh -c '(sleep 0.3; $P 0.2) & echo first'")
        .expect("left in the background", &format!("first\n{line}"));
    manager.expect_all_free();
}

/// The loader ignores `LD_PRELOAD` there, and nobody else can set the affinity of another user's
/// process.
#[test]
fn a_setuid_program() {
    let _turn = turn();
    if !is_root() || !has("setpriv") {
        skip!("only root can become another user, with setpriv");
    }
    let path = any("inside");
    // Not in the manager's directory, which is closed to others.
    let place = tempfile::Builder::new().prefix("numaestro-setuid-").tempdir().expect("a directory");
    let open = |path: &std::path::Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    open(place.path(), 0o755).expect("ours");
    let (copy, command) = (place.path().join("inside"), place.path().join("numaestro"));
    numaestro_skip::programs::copy(&path, &copy, 0o4755);
    numaestro_skip::programs::copy(NUMAESTRO, &command, 0o755);
    let runtime = place.path().join("run");
    std::fs::create_dir(&runtime).and_then(|()| open(&runtime, 0o700)).expect("made");
    assert!(Command::new("chown").arg("nobody").arg(&runtime).status().is_ok_and(|s| s.success()), "chown");
    let as_nobody = |words: &[&str]| {
        let mut all = alone(["setpriv", "--reuid", "nobody", "--clear-groups"]);
        all.args(words).env("NUMAESTRO_DIR", &runtime).current_dir("/");
        ended::run(&mut all)
    };
    let (copy, command) = (copy.to_str().expect("plain"), command.to_str().expect("plain"));
    let bare = as_nobody(&[copy, "0.1"]);
    assert!(bare.status.success(), "setuid does not work here: {}", bare.stderr);
    as_nobody(&[command, "run", "--", copy, SECONDS]).expect("a setuid program", &bare.stdout);
    let status = as_nobody(&[command, "status", "--json"]);
    assert!(status.status.success(), "the manager does not answer its own user: {}", status.stderr);
    let _ = as_nobody(&[command, "stop"]);
}

#[test]
fn programs_without_the_shim() {
    let manager = Manager::started();
    let mut ran = false;
    for name in ["inside-static", "inside-32", "threads-musl"] {
        let Some(path) = program("gcc", name) else {
            part(&format!("gcc or musl-gcc has not made {name}"));
            continue;
        };
        ran = true;
        let bare = ended::run(&mut alone([path.as_str(), "0.05"]));
        let _shaker = Shaker::start(&manager);
        let steered = manager.run([path.as_str(), SECONDS]);
        steered.expect(name, &bare.stdout);
        let complaints: Vec<_> =
            steered.stderr.lines().filter(|l| l.contains("LD_PRELOAD") || l.contains("ld.so")).collect();
        assert!(complaints.is_empty(), "{name}: the loader complains: {complaints:?}");
    }
    manager.expect_all_free();
    if !ran {
        skip!("gcc makes no program without the shim");
    }
}
