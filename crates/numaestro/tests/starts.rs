//! What a managed program starts has the stub, and where it has a runtime the shim, in whatever way
//! it is started.

mod support;

use numaestro_skip::skip;
use rustix::process::Signal;
use std::process::Command;
use support::ended::{self, Ended};
use support::manager::{Manager, alone};
use support::programs::{any, program};
use support::{complaints_of, eventually, processors, turn};

const WAYS: [&str; 13] = [
    "execve",
    "execv",
    "execvp",
    "execvpe",
    "execl",
    "execlp",
    "execle",
    "fexecve",
    "execveat",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
];
/// From a child of fork, from one of vfork, in a thread with the least stack there may be, in a
/// handler of a signal.
const PLACES: [&str; 5] = ["", "vfork:", "thread:", "handler:", "thread:vfork:"];
const SURROUNDINGS: [&str; 6] = ["kept", "empty", "clear", "preload", "off", "many"];

/// What the manager tells a program that `run` starts itself.
fn told(manager: &Manager, program: &str) -> String {
    let said = manager.run([program, "tell"]);
    said.stdout.split_once("told:").unwrap_or_else(|| panic!("{said:?}")).1.trim_end().to_owned()
}

#[test]
fn every_way_to_start_a_program_brings_what_it_needs() {
    let manager = Manager::started();
    let starter = any("starts");
    let mut failures = String::new();
    for (program, shim) in [(starter.clone(), "no"), (any("starts-team"), "yes")] {
        let told = told(&manager, &program);
        assert!(told.contains("ATTACH") && told.contains("CPUS_ALL"), "{told}");
        let cases: Vec<_> = PLACES
            .iter()
            .flat_map(|place| SURROUNDINGS.map(|with| (place, with)))
            .flat_map(|(place, with)| WAYS.map(|way| (format!("{place}{way}"), with)))
            .collect();
        failures += &complaints_of(
            &cases,
            || &manager,
            |manager, (how, with)| {
                let said = manager.run([starter.as_str(), how, with, &program, "tell"]);
                let expected = match *with {
                    "off" => format!("stub:no shim:no told:{told}\n"),
                    _ => format!("stub:yes shim:{shim} told:{told}\n"),
                };
                let right = said.stdout == expected && said.code() == 0 && said.stderr.is_empty();
                (!right).then(|| format!("{how} {with} {program}: {said:?}, expected {expected}\n"))
            },
        );
    }
    assert!(failures.is_empty(), "{failures}");
    manager.expect_all_free();
}

/// The runtime comes with a library: given by its path, needed by another one in whose run path it
/// is, found in a directory of `LD_LIBRARY_PATH`.
#[test]
fn a_library_with_a_runtime_that_comes_late_brings_the_shim_before_it() {
    let _turn = turn();
    let manager = Manager::started();
    let starter = any("starts");
    let plugin = any("plugin.so");
    let through = any("through/libthrough.so");
    let below = format!("{}/below", through.rsplit_once('/').expect("a directory").0);
    let libraries: [(&str, &str); 3] = [(&plugin, ""), (&through, ""), ("libbelow.so", &below)];
    for (file, path) in libraries {
        let run = |seconds: &str, options: &[&str]| {
            let mut command = manager.command(["run"]);
            command.args(options).args(["--", &starter, "late", file, seconds]);
            command.env("LD_LIBRARY_PATH", path).env("OMP_NUM_THREADS", "3");
            ended::start(&mut command)
        };
        for (seconds, options) in [("0.1", &[][..]), ("0.5", &["--max", "1"])] {
            run(seconds, options).end().expect(file, "runtime:yes shim first:yes\nlate 12497500\n");
        }
        let running = run("1000", &["--max", "1"]);
        let seen = || manager.status()?.apps.into_iter().find(|app| app.pid == running.pid());
        let regions = eventually(|| seen().is_some_and(|app| app.regions > 0));
        let last = seen();
        running.signal(Signal::KILL);
        running.end();
        assert!(regions, "{file}: {last:?}");
    }
    manager.expect_all_free();
}

/// Nobody of ours looks at what a static program starts; here it hands on the stub alone. So the
/// program is started again before any of its code has run.
#[test]
fn a_program_that_has_come_with_the_stub_alone_gets_the_shim() {
    let _turn = turn();
    let Some(launcher) = program("gcc", "starts-static") else { skip!("gcc makes no static program") };
    let manager = Manager::started();
    let team = any("starts-team");
    let words = |way: &str| [launcher.as_str(), way, "kept", &team, "line", "a", "b c"].map(str::to_owned);
    let environment = manager.run(["env"]).stdout;
    let given = |command: &mut Command| {
        for entry in environment.lines().filter(|l| l.starts_with("NUMAESTRO_") || l.starts_with("LD_PRELOAD=")) {
            let (name, value) = entry.split_once('=').expect("an entry");
            let stub = if name == "LD_PRELOAD" { value.split(':').next().expect("one") } else { value };
            command.env(name, stub);
        }
    };
    for way in ["execve", "vfork:execve", "posix_spawn", "fexecve"] {
        let bare = ended::run(&mut alone(words(way)));
        assert_eq!(bare.code(), 7, "{bare:?}");
        assert_eq!(bare.stdout.matches("begun").count(), 1, "{bare:?}");
        let mut command = alone(words(way));
        given(&mut command);
        let with = ended::run(&mut command);
        let shim = bare.stdout.replace("shim:no", "shim:yes");
        assert_eq!((with.code(), with.stdout, with.stderr), (7, shim, bare.stderr), "{way}");
    }
}

/// One of them loads the shim, and nobody is led into it before it is ready.
#[test]
fn threads_that_ask_together_are_answered_alike() {
    let _turn = turn();
    let manager = Manager::started();
    let starter = any("starts");
    let bare = ended::run(&mut alone([starter.as_str(), "together", "8"]));
    assert_eq!(bare.stdout, "each heard 0\n", "{bare:?}");
    let one = manager.run([&starter, "together", "1"]);
    assert!(one.status.success() && one.stdout != bare.stdout, "the shim answers: {one:?}");
    for _ in 0..50 {
        manager.run([&starter, "together", "8"]).expect("together", &one.stdout);
    }
}

/// It costs a start nothing. Calls about the state of a thread, as `sleep` makes them, are none
/// that the stub answers.
#[test]
fn a_program_that_asks_nothing_of_us_starts_without_the_stub() {
    let manager = Manager::started();
    let script = "sleep 60 & until grep -q sleep /proc/$!/comm; do :; done; cat /proc/$!/maps; kill $!";
    let maps = manager.run(["sh", "-c", script]);
    assert!(maps.stdout.contains("sleep") && !maps.stdout.contains("libnumaestro"), "{maps:?}");
}

/// Who puts itself on a processor puts there what it starts; other threads of it, and its parent,
/// are free.
#[test]
fn what_a_thread_sets_for_itself_goes_to_what_it_starts() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let script = r#"
import os, subprocess, sys, threading
first, say = int(sys.argv[1]), ["sh", "-c", "nproc"]
def show(): print(subprocess.run(say, capture_output=True, text=True).stdout.strip(), flush=True)
def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
def narrow(): os.sched_setaffinity(0, {first})
def narrow_and_show(): narrow(); show()
subprocess.run(say, preexec_fn=narrow)
in_thread(narrow_and_show)
show()
pid = os.fork()
if pid == 0:
    narrow(); show(); os.system("nproc"); in_thread(show); os.execvp("sh", say)
os.waitpid(pid, 0)
show()
"#;
    let status = std::fs::read_to_string("/proc/self/status").expect("readable");
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).expect("there").trim();
    let words = ["python3", "-c", script, list.split([',', '-']).next().expect("one")];
    let (one, nproc) = ("1", ended::run(&mut alone(["nproc"])).stdout);
    let all = nproc.trim();
    let bare: Ended = ended::run(&mut alone(words));
    assert!(
        bare.status.success() && bare.stdout.lines().collect::<Vec<_>>() == [one, one, all, one, one, one, one, all],
        "{bare:?}"
    );
    // A program that holds a processor: what is free is less than what there is.
    let neighbour = ended::start(&mut manager.run_command([any("inside").as_str(), "1000"]));
    assert!(eventually(|| manager.status().is_some_and(|status| !status.apps.is_empty())), "no neighbour");
    let with = manager.run(words);
    neighbour.signal(Signal::KILL);
    neighbour.end();
    assert_eq!((with.stdout, with.stderr), (bare.stdout, bare.stderr));
}

/// `/bin/true` many times, in turn with and without numaestro: a shell says how much processor time
/// its children took. The quarter of the rounds with the least time is compared: what else runs on
/// the machine only adds.
#[test]
fn a_start_costs_little_more_than_without() {
    let _turn = turn();
    let manager = Manager::started();
    let script = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done; times";
    let seconds = |command: &mut Command| -> f64 {
        let said = ended::run(command);
        let of_children = said.stdout.lines().nth(1).unwrap_or_else(|| panic!("{said:?}")).to_owned();
        let parts = of_children.split_whitespace().map(|part| {
            let (minutes, rest) = part.split_once('m').expect("minutes");
            minutes.parse::<f64>().expect("a number") * 60.0 + rest.trim_end_matches('s').parse::<f64>().expect("one")
        });
        parts.sum()
    };
    // On one processor: where the kernel puts children makes more of a difference.
    let one = numaestro_host::affinity::get(0).expect("readable").first().expect("a processor").to_string();
    let words = ["taskset", "-c", &one, "bash", "-c", script];
    // What lasts longer than a pair of runs is in both of them.
    let ratio = |_| seconds(&mut manager.run_command(words)) / seconds(&mut alone(words));
    let mut ratios: Vec<f64> = (0..9).map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let (least, ratio, most) = (ratios[2], ratios[4], ratios[6]);
    eprintln!("starts take {ratio:.3} of their time without numaestro, half of the pairs {least:.3} to {most:.3}");
    assert!(ratio <= 1.10, "{ratio} of the time without numaestro");
}
