//! What programs that size pools of threads are told of the number of processors, and where their
//! threads are when they bind them to what they were told.

mod support;

use numaestro_skip::{part, skip};
use numaestro_topology::CpuSet;
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use support::ended::{self, Running};
use support::manager::{Manager, alone};
use support::programs::{any, builds, program, python, source};
use support::{eventually, has, processors, turn};

/// Longest time that a thread may be outside of the allocation, on a machine that others use too.
const OUTSIDE_MOST: Duration = Duration::from_millis(500);
/// Time between two looks at masks.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Asks with everything that Python has: in the process, in a child, and in a child's child.
const ASK: &str = "
import os, subprocess, sys, concurrent.futures, multiprocessing
if __name__ == '__main__':
    told = {os.cpu_count(), len(os.sched_getaffinity(0)), len(os.sched_getaffinity(os.getpid()))}
    told.add(getattr(os, 'process_cpu_count', os.cpu_count)())
    told.add(concurrent.futures.ThreadPoolExecutor()._max_workers - 4)
    with multiprocessing.get_context('spawn').Pool() as pool:
        told |= {pool._processes, pool.apply(os.cpu_count)}
    code = 'import os, subprocess; print(len(os.sched_getaffinity(0)), subprocess.check_output([\"nproc\"], text=True))'
    told |= {int(word) for word in subprocess.check_output([sys.executable, '-c', code], text=True).split()}
    try:
        import joblib
        told.add(joblib.cpu_count())
    except ImportError:
        pass
    print(*told)
";

/// Keeps every processor busy, so that a program beside it has not all of them.
struct Neighbour(Running);

impl Neighbour {
    fn start(manager: &Manager) -> Self {
        let busy = "(while :; do :; done) & ".repeat(processors()) + "wait";
        let running = ended::start(&mut manager.command(["run", "--name", "neighbour", "--", "sh", "-c", &busy]));
        let has_all = || manager.status().is_some_and(|s| s.apps.iter().any(|app| app.name == "neighbour"));
        assert!(eventually(has_all), "the neighbour does not run");
        Self(running)
    }

    fn end(self) {
        let group = Pid::from_raw(self.0.pid().cast_signed()).expect("not 0");
        let _ = kill_process_group(group, Signal::KILL);
        self.0.end();
    }
}

/// The numbers that a program prints under `run` with these options.
#[track_caller]
fn told(manager: &Manager, options: &[&str], program: &[&str]) -> Vec<usize> {
    let mut command = manager.command(["run"]);
    let ended = ended::run(command.args(options).arg("--").args(program));
    assert!(ended.status.success(), "{program:?}: {}{}", ended.stdout, ended.stderr);
    ended.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// A program that only prints what it is told, and is here.
fn askers() -> Vec<Vec<String>> {
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let me = std::env::current_exe().expect("this program");
    let mut askers = vec![
        own(&["nproc"]),
        own(&["sh", "-c", "sh -c nproc"]),
        own(&[me.to_str().expect("a plain path"), "--exact", "ask_of_rust", "--ignored", "--nocapture"]),
    ];
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let source = format!("{root}/lab/bench/programs/Pool.java");
    assert!(Path::new(&source).is_file(), "{source} is ours");
    let java = own(&["java", &source, "--count"]);
    if has("java") && alone(&java).output().is_ok_and(|output| output.status.success()) {
        askers.push(java);
    } else {
        part("no Java that runs a source file");
    }
    match python() {
        Some(python) => askers.push(own(&[&python, "-c", ASK])),
        None => part("no Python that has NumPy"),
    }
    match program("gcc", "hardware") {
        Some(hardware) => askers.push(own(&[&hardware])),
        None => part("no g++"),
    }
    askers
}

/// Java's common pool has one thread fewer than processors, but one at least; the harness prints a
/// number before that of `ask_of_rust`.
fn numbers(asker: &[String], mut told: Vec<usize>) -> Vec<usize> {
    if asker.iter().any(|word| word == "ask_of_rust") {
        told.drain(..told.len().saturating_sub(2));
    }
    if asker[0].ends_with("java") { vec![told[0], if told[1] == 1 { told[0] } else { told[1] + 1 }] } else { told }
}

#[test]
fn a_pool_is_sized_for_all_that_the_program_may_ever_have() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let neighbour = Neighbour::start(&manager);
    for asker in askers() {
        let words: Vec<&str> = asker.iter().map(String::as_str).collect();
        let answer = |options: &[&str]| numbers(&asker, told(&manager, options, &words));
        for (options, expected) in [(&[][..], processors()), (&["--pool", "whole"], processors()), (&["--max", "1"], 1)]
        {
            let said = answer(options);
            assert!(!said.is_empty() && said.iter().all(|n| *n == expected), "{options:?} {asker:?}: {said:?}");
        }
        let said = answer(&["--pool", "now"]);
        let counts_the_machine = asker[0].ends_with("hardware");
        assert!(said.iter().any(|n| *n < processors()) || counts_the_machine, "--pool now {asker:?}: {said:?}");
    }
    neighbour.end();
}

#[test]
#[ignore = "the managed program of `a_pool_is_sized_for_all_that_the_program_may_ever_have`"]
fn ask_of_rust() {
    println!("\n{} {}", processors(), rayon::current_num_threads());
    // Before the harness says more.
    std::process::exit(0);
}

#[test]
fn the_kernel_tells_the_truth_and_the_machine_stays_the_machine() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let neighbour = Neighbour::start(&manager);
    for (compiler, path) in builds("binds") {
        let bare = ended::run(&mut alone([&path])).stdout;
        let machine =
            bare.split("online").nth(1).and_then(|rest| rest.split("kernel").next()).expect("its words").trim();
        let [whole, now] = ["whole", "now"].map(|pool| {
            let mut command = manager.command(["run", "--pool", pool, "--", &path]);
            ended::run(&mut command).stdout
        });
        let said = |text: &str, word: &str| {
            let after = text.split(word).nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
            after.unwrap_or_else(|| panic!("{text}"))
        };
        assert_eq!(said(&whole, "told"), processors(), "{compiler}: {whole}");
        assert!(said(&whole, "kernel") < processors(), "{compiler}: {whole}");
        assert_eq!(said(&now, "told"), said(&now, "kernel"), "{compiler}: {now}");
        for text in [&whole, &now] {
            assert!(text.contains(&format!("online {machine} kernel")), "{compiler}: alone {bare}, managed {text}");
        }
    }
    neighbour.end();
}

/// Who binds itself and then becomes another program has said where that one is to run.
#[test]
fn what_is_bound_by_taskset_is_told_so() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let first = numaestro_host::affinity::get(0).expect("readable").iter().next().expect("one").to_string();
    assert_eq!(told(&manager, &[], &["taskset", "-c", &first, "nproc"]), [1]);
    assert_eq!(
        told(&manager, &[], &["sh", "-c", &format!("taskset -c {first} sh -c nproc; nproc")]),
        [1, processors()]
    );
    // As numactl does it.
    let by_number = format!(
        "import ctypes, os; number = {{'x86_64': 203, 'aarch64': 122}}[os.uname().machine]; \
         mask = (1 << {first}).to_bytes(128, 'little'); \
         assert ctypes.CDLL(None).syscall(number, 0, len(mask), mask) == 0; os.execvp('nproc', ['nproc'])"
    );
    if has("python3") {
        assert_eq!(told(&manager, &[], &["python3", "-c", &by_number]), [1]);
    } else {
        part("python3 is not here");
    }
    // An inner run may say otherwise, and keeps what the outer one has said.
    let numaestro = support::manager::NUMAESTRO;
    let nested = |outer: &str, inner: &[&str]| {
        let mut words = vec![numaestro, "run"];
        words.extend(inner);
        words.extend(["--", "sh", "-c", "echo $NUMAESTRO_POOL"]);
        let mut command = manager.command(["run", "--pool", outer, "--"]);
        ended::run(command.args(words)).stdout.trim().to_owned()
    };
    let whole = format!("whole:{}", processors());
    assert_eq!(nested("now", &[]), "now");
    assert_eq!(nested("now", &["--pool", "whole"]), whole);
    assert_eq!(nested("whole", &[]), whole);
    assert_eq!(nested("whole", &["--max", "1"]), "whole:1");
    assert_eq!(nested("whole", &["--pool", "now"]), "now");
}

/// Processors that each thread of a process may run on, as the kernel says.
fn masks(pid: u32) -> Vec<CpuSet> {
    let threads = numaestro_host::procfs::threads(pid).unwrap_or_default();
    threads.into_iter().filter_map(|tid| numaestro_host::affinity::get(tid).ok()).collect()
}

fn cpus_of(manager: &Manager, pid: u32) -> Option<CpuSet> {
    let status = manager.status()?;
    status.apps.iter().find(|app| app.pid == pid).and_then(|app| app.cpus.parse().ok())
}

#[test]
fn threads_bound_to_what_was_told_stay_within_the_allocation() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let neighbour = Neighbour::start(&manager);
    let path = any("binds");
    for way in ["self", "other", "attribute"] {
        alone([&path, "0.01", way]).output().expect("it runs");
        let running = ended::start(&mut manager.run_command([path.as_str(), "2", way]));
        let (pid, begin) = (running.pid(), Instant::now());
        let (mut outside, mut looked, mut looks) = (Duration::ZERO, Instant::now(), 0);
        // A second, while its threads work.
        while begin.elapsed() < Duration::from_secs(1) {
            // Where others keep the test from looking, they keep the manager from moving
            // threads, too.
            outside += std::mem::replace(&mut looked, Instant::now()).elapsed().min(2 * LOOK_AGAIN);
            if let Some(cpus) = cpus_of(&manager, pid) {
                let masks = masks(pid);
                if masks.len() <= processors() || masks.iter().all(|mask| mask.is_subset(&cpus)) {
                    outside = Duration::ZERO;
                }
                looks += usize::from(masks.len() > processors());
            }
            assert!(outside < OUTSIDE_MOST, "{way}: outside of its processors for {outside:?}");
            std::thread::sleep(LOOK_AGAIN);
        }
        assert!(looks > 0, "{way}: its threads were never seen");
        running.end().expect(way, "bound\n");
    }
    neighbour.end();
    manager.expect_all_free();
}

#[test]
fn a_pool_that_began_beside_another_program_has_every_processor_afterwards() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let neighbour = Neighbour::start(&manager);
    let me = std::env::current_exe().expect("this program");
    let me = me.to_str().expect("a plain path");
    let started = |pool: &str| {
        let words = ["run", "--pool", pool, "--", me, "--exact", "work_in_rayon", "--ignored", "--nocapture"];
        let running = ended::start(&mut manager.command(words));
        let pid = running.pid();
        assert!(eventually(|| busy(pid, Duration::from_millis(200)) > 0), "{pool}: it does not work");
        running
    };
    let (whole, now) = (started("whole"), started("now"));
    assert!(eventually(|| cpus_of(&manager, whole.pid()).is_some_and(|cpus| cpus.len() < processors())));
    now.signal(Signal::KILL);
    now.end();
    neighbour.end();
    let all = || cpus_of(&manager, whole.pid()).is_some_and(|cpus| cpus.len() == processors());
    assert!(eventually(all), "its processors do not come: {:?}", manager.status());
    let pid = whole.pid();
    assert!(eventually(|| busy(pid, Duration::from_millis(500)) == processors()), "its pool does not use them");
    whole.signal(Signal::KILL);
    whole.end();
}

/// Go asks the kernel itself, so it begins with what it has; from Go 1.25 on it looks again.
#[test]
fn go_follows_by_itself() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let Some(version) = go_version() else { skip!("go is not here") };
    if version < 25 {
        skip!("go 1.{version} asks once only");
    }
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("follows");
    // A program follows only if its module says that it is of Go 1.25 or later.
    std::fs::write(place.path().join("go.mod"), "module follows\n\ngo 1.25\n").expect("writable");
    std::fs::copy(source("follows.go"), place.path().join("follows.go")).expect("its source");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).current_dir(place.path()).env("GO111MODULE", "on");
    let made = build.output().expect("go runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let manager = Manager::started();
    let neighbour = Neighbour::start(&manager);
    // Nobody answers its questions, so it begins with all processors, and follows from then on.
    let narrowed = place.path().join("narrowed");
    let running = ended::start(&mut manager.run_command([&program, &narrowed]));
    assert!(eventually(|| narrowed.exists()), "it does not follow");
    neighbour.end();
    let ended = running.end();
    let said: Vec<usize> = ended.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let whole = processors();
    assert!(
        said.len() == 3 && said[0] == whole && said[1] < whole && said[2] == whole,
        "{}{}",
        ended.stdout,
        ended.stderr
    );
}

/// The second number of Go's version.
fn go_version() -> Option<u32> {
    let output = Command::new("go").arg("version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rest = text.split("go1.").nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Threads that use processor time within this time.
fn busy(pid: u32, time: Duration) -> usize {
    let look = || numaestro_host::procfs::thread_times(pid).unwrap_or_default();
    let before = look();
    std::thread::sleep(time);
    let used = |tid: u32, now: u64| before.iter().any(|(other, then, _)| *other == tid && now > *then + 1_000_000);
    look().iter().filter(|(tid, now, _)| used(*tid, *now)).count()
}

#[test]
#[ignore = "the managed program of `a_pool_that_began_beside_another_program_has_every_processor_afterwards`"]
fn work_in_rayon() {
    use rayon::prelude::*;
    let until = Instant::now() + support::hang();
    while Instant::now() < until {
        let sum: u64 = (0..2_000_000_u64).into_par_iter().map(|n| n.wrapping_mul(n) >> 7).sum();
        assert!(sum > 0);
    }
}

#[test]
fn the_word_is_checked() {
    let manager = Manager::new();
    for name in ["run", "shell"] {
        let output = manager.command([name, "--pool", "hole", "--", "true"]).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{said}");
        assert!(said.contains("whole") && said.contains("now") && said.contains("similar"), "{said}");
        let help = manager.command([name, "--help"]).output().expect("it starts");
        assert!(String::from_utf8_lossy(&help.stdout).contains("--pool <SIZE>"), "{name}");
    }
    let refused = Command::new(support::manager::NUMAESTRO).args(["adopt", "--pool", "now", "1"]).output();
    assert_eq!(refused.expect("it starts").status.code(), Some(64), "a running program has sized its pools");
}
