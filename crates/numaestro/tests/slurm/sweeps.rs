//! Comparisons on a cluster: the bytes of one machine, whoever dies or stops it.

use crate::cluster::Cluster;
use crate::user::{Mortal, User, kill, numaestro, start, text, until};
use numaestro_skip::skip;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// 1,000 runs of a millisecond.
pub const FAST: &str = r#"name = "teams"
machine = "xeon-4"
seeds = 125

[[program]]
name = "a"
processors = 4
phases = [{ do = "parallel", iterations = 20, work = { exponential = "8 ms" }, cv = 0.2 }]

[workload]
kind = "streams"
streams = 2

[sweep]
policies = ["equi", "batch"]
program.a.processors = [1, 2, 3, 4]
"#;
/// So many more iterations that a task runs for some seconds.
const SLOW: &str = "program.a.phases[0].iterations=4000";
/// What a comparison writes.
const OUTPUTS: [&str; 3] = ["o.json", "o.csv", "o.html"];

/// Gives a user a scenario.
pub fn with(user: &User, scenario: &str) {
    std::fs::write(user.path("s.toml"), scenario).expect("writable");
}

/// All files of a user, directories not entered.
pub fn files(user: &User) -> Vec<String> {
    let all = std::fs::read_dir(user.place.path()).expect("a directory").flatten();
    let mut names: Vec<String> = all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// `sim compare s.toml` with all outputs, and these words.
fn compare(user: &User, words: &[&str]) -> Command {
    let outputs = ["--json", "o.json", "--csv", "o.csv", "--html", "o.html"];
    let mut command = user.command(["sim", "compare", "s.toml"].iter().chain(&outputs).chain(words));
    command.current_dir(user.place.path());
    command
}

/// What is shown and what is written.
fn results(user: &User, shown: &[u8]) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(user.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    std::iter::once(text(shown)).chain(OUTPUTS.map(read)).collect()
}

/// What one machine makes of it.
fn on_one_machine(words: &[&str]) -> Vec<String> {
    let user = User::new();
    with(&user, FAST);
    let output = compare(&user, words).output().expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    results(&user, &output.stdout)
}

/// The long one is used by several tests.
fn slow_on_one_machine() -> &'static [String] {
    static FOUND: OnceLock<Vec<String>> = OnceLock::new();
    FOUND.get_or_init(|| on_one_machine(&["--set", SLOW]))
}

/// Exit code 0, the same bytes, and nothing but the outputs is left.
fn is_the_same(cluster: &Cluster, output: &Output, expected: &[String]) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found = results(&cluster.user, &output.stdout);
    for (found, expected) in found.iter().zip(expected) {
        // Not assert_eq: nobody reads a megabyte.
        assert!(found == expected, "{} and {} bytes", found.len(), expected.len());
    }
    assert_eq!(files(&cluster.user), ["o.csv", "o.html", "o.json", "s.toml", "slurm"], "{}", text(&output.stderr));
    assert!(cluster.jobs().is_empty());
}

/// The long one on the cluster, as it begins: six tasks, all of which run at once.
fn begin(cluster: &Cluster, words: &[&str]) -> Mortal {
    with(&cluster.user, FAST);
    let words: Vec<&str> = ["--set", SLOW, "--slurm", "--tasks", "6"].iter().chain(words).copied().collect();
    let mut command = cluster.on_it(compare(&cluster.user, &words));
    start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// The long one has begun, its tasks are held where they are, and its collector is dead; the job.
fn without_collector(cluster: &Cluster) -> String {
    let child = begin(cluster, &[]);
    until("some runs are finished", || finished(cluster) >= 20);
    let jobs = cluster.jobs();
    assert_eq!(jobs.len(), 1);
    cluster.slurm("scontrol", &["suspend", &jobs[0]]);
    kill("KILL", &child.id().to_string());
    drop(child);
    jobs[0].clone()
}

/// Finished runs that have been collected.
fn finished(cluster: &Cluster) -> usize {
    let state = std::fs::read_to_string(cluster.user.path("o.html.state.jsonl")).unwrap_or_default();
    state.lines().count().saturating_sub(1)
}

/// Its end, with all that it said.
fn end(mut child: Mortal) -> Output {
    let mut all = [Vec::new(), Vec::new()];
    child.stderr.take().expect("a pipe").read_to_end(&mut all[1]).expect("readable");
    child.stdout.take().expect("a pipe").read_to_end(&mut all[0]).expect("readable");
    let [stdout, stderr] = all;
    Output { status: child.wait().expect("ends"), stdout, stderr }
}

/// The rest on the cluster.
fn go_on(cluster: &Cluster) -> Output {
    end(begin(cluster, &["--resume"]))
}

#[test]
fn a_thousand_runs_on_three_nodes_are_the_bytes_of_one_machine() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    with(&cluster.user, FAST);
    let output = cluster.on_it(compare(&cluster.user, &["--slurm"])).output().expect("it starts");
    is_the_same(&cluster, &output, &on_one_machine(&[]));
    assert!(text(&output.stderr).contains("12 tasks for 1000 runs"), "{}", text(&output.stderr));
    let jobs = cluster.slurm("scontrol", &["show", "job", "--oneliner"]);
    for node in ["n1", "n2", "n3"] {
        assert!(jobs.contains(&format!(" NodeList={node} ")), "no task on {node}: {jobs}");
    }
    // Whole nodes, two at a time.
    let words = ["--slurm", "--nodes", "2", "--tasks", "3", "--seeds", "2"];
    let output = cluster.on_it(compare(&cluster.user, &words)).output().expect("it starts");
    is_the_same(&cluster, &output, &on_one_machine(&["--seeds", "2"]));
    let jobs = cluster.slurm("scontrol", &["show", "job", "--oneliner"]);
    let exclusive = jobs.lines().filter(|job| job.contains("ArrayTaskThrottle=2") && job.contains(" NumCPUs=2 "));
    assert_eq!(exclusive.count(), 3, "{jobs}");
}

#[test]
fn what_a_killed_node_has_not_done_others_do() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let child = begin(&cluster, &[]);
    until("some runs are finished", || finished(&cluster) >= 20);
    let jobs = cluster.jobs();
    // Tasks that wait or have ended already are refused, and the others are held all the same.
    let all = |what: &str| {
        let mut command = cluster.on_it(Command::new("scontrol"));
        command.args([what, &jobs[0]]).output().expect("it starts")
    };
    // Slurm may begin tasks on the others first. One that is held cannot end before its node does.
    until("a node works", || {
        all("suspend");
        let works = !cluster.slurm("squeue", &["--noheader", "--states=SUSPENDED", "--nodelist=n2"]).is_empty();
        if !works {
            all("resume");
        }
        works
    });
    let killed = cluster.script("kill", &["n2"]);
    assert!(killed.status.success(), "{}", text(&killed.stderr));
    all("resume");
    // Slurm needs some seconds to see it.
    let expected = slow_on_one_machine();
    let output = end(child);
    is_the_same(&cluster, &output, expected);
    assert!(text(&output.stderr).contains("again after NODE_FAIL on n2"), "{}", text(&output.stderr));
}

#[test]
fn ctrl_c_cancels_the_job_and_the_next_call_goes_on() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let child = begin(&cluster, &[]);
    until("some runs are finished", || finished(&cluster) >= 100);
    kill("INT", &child.id().to_string());
    let output = end(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("is cancelled") && said.contains("--resume"), "{said}");
    assert!(cluster.jobs().is_empty() && !cluster.user.path("o.html.state.jsonl.slurm").exists());
    let kept = finished(&cluster);
    assert!((100..1000).contains(&kept), "{kept}");
    let again = end(begin(&cluster, &[]));
    assert!(again.status.code() == Some(1) && text(&again.stderr).contains("--resume"), "{}", text(&again.stderr));
    let output = go_on(&cluster);
    is_the_same(&cluster, &output, slow_on_one_machine());
    let rest = format!("6 tasks for {} runs", 1000 - kept);
    assert!(text(&output.stderr).contains(&rest), "{rest}: {}", text(&output.stderr));
}

#[test]
fn tasks_run_on_when_their_collector_dies_and_the_next_call_follows_them() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let job = without_collector(&cluster);
    let mut child = begin(&cluster, &["--resume"]);
    let mut first = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    stderr.read_line(&mut first).expect("readable");
    assert_eq!(first, format!("numaestro: going on with job {job}, which still runs\n"));
    cluster.slurm("scontrol", &["resume", &job]);
    let (mut rest, mut shown) = (String::new(), Vec::new());
    stderr.read_to_string(&mut rest).expect("readable");
    child.stdout.take().expect("a pipe").read_to_end(&mut shown).expect("readable");
    assert_eq!(rest, "", "nothing is submitted again");
    let output = Output { status: child.wait().expect("ends"), stdout: shown, stderr: rest.into_bytes() };
    is_the_same(&cluster, &output, slow_on_one_machine());
}

#[test]
fn a_removed_state_file_begins_anew_and_ends_what_was_under_way() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let job = without_collector(&cluster);
    std::fs::remove_file(cluster.user.path("o.html.state.jsonl")).expect("there");
    // Another scenario: nothing of the first is of use.
    let output = cluster.on_it(compare(&cluster.user, &["--slurm"])).output().expect("it starts");
    is_the_same(&cluster, &output, &on_one_machine(&[]));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("job {job} of an earlier comparison is cancelled")), "{said}");
}

#[test]
fn tasks_that_wait_for_something_odd_say_it() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    with(&cluster.user, FAST);
    let mut command = cluster.on_it(compare(&cluster.user, &["--slurm", "--sbatch=--hold"]));
    let log = cluster.user.path("log");
    let stderr = std::fs::File::create(&log).expect("writable");
    let mut child = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr));
    let said = || std::fs::read_to_string(&log).expect("readable");
    until("it is said why they wait", || said().contains("the tasks wait: JobHeldUser"));
    kill("INT", &child.id().to_string());
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    assert!(cluster.jobs().is_empty());
}

#[test]
fn what_somebody_cancels_is_not_submitted_again() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let child = begin(&cluster, &[]);
    until("some runs are finished", || finished(&cluster) >= 20);
    cluster.slurm("scancel", &[&cluster.jobs()[0]]);
    let output = end(child);
    let said = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.contains("somebody has cancelled") && said.contains("--resume"),
        "{said}"
    );
    assert!(cluster.jobs().is_empty());
    // Also on one machine, without the cluster.
    let output = compare(&cluster.user, &["--set", SLOW, "--resume"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(results(&cluster.user, &output.stdout) == slow_on_one_machine());
}

/// Its end, where it submits held jobs.
fn released(cluster: &Cluster, child: Mortal) -> Output {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for job in cluster.jobs() {
                    let mut release = cluster.on_it(Command::new("scontrol"));
                    let _ = release.args(["release", &job]).stderr(Stdio::null()).status();
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let output = end(child);
        over.store(true, Ordering::Relaxed);
        output
    })
}

#[test]
fn a_task_that_fails_is_tried_three_times_and_its_log_is_shown() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    with(&cluster.user, FAST);
    // The tasks run the laboratory's command, whoever has executed it.
    let (program, built) = (cluster.user.path("numaestro-lab"), numaestro().with_file_name("numaestro-lab"));
    let fails = |change: &dyn Fn(), expected: &str| {
        numaestro_skip::programs::copy(&built, &program, 0o755);
        let mut command = cluster.on_it(Command::new(&program));
        let words = ["sim", "compare", "s.toml", "--slurm", "--tasks", "1", "--state", "x.jsonl", "--sbatch=--hold"];
        command.args(words).current_dir(cluster.user.place.path());
        let child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()));
        until("it is submitted", || !cluster.jobs().is_empty());
        change();
        let output = released(&cluster, child);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(said.matches("1 task for 1000 runs").count(), 3, "{said}");
        assert!(said.contains("1 part of 1 (1) failed") && said.contains(expected), "{said}");
        std::fs::remove_file(cluster.user.path("x.jsonl")).expect("there");
        std::fs::remove_dir_all(cluster.user.path("x.jsonl.slurm")).expect("there");
    };
    fails(&|| std::fs::remove_file(&program).expect("ours"), "the nodes need it in the same path");
    let another_build = || {
        let mut bytes = std::fs::read(&program).expect("ours");
        bytes.push(0);
        let (changed, beside) = (cluster.user.path("changed"), cluster.user.path("beside"));
        std::fs::write(&changed, bytes).expect("writable");
        numaestro_skip::programs::copy(&changed, &beside, 0o755);
        std::fs::rename(&beside, &program).expect("ours");
    };
    fails(&another_build, "it was made by another build of numaestro");
}

#[test]
fn progress_is_shown_on_a_terminal() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    with(&cluster.user, FAST);
    let words =
        format!("stty cols 150; {} sim compare s.toml --state x.jsonl --slurm", env!("CARGO_BIN_EXE_numaestro"));
    let mut command = cluster.on_it(Command::new("script"));
    command.args(["-qec", &words, "/dev/null"]).current_dir(cluster.user.place.path());
    let output = command.stdin(Stdio::null()).output().expect("script starts");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}");
    // Slurm decides how many of the three nodes' two processors are taken when a line is drawn.
    let counts = |what: &str| -> Vec<u32> {
        let parts = said.split(['\r', '\n', ';', ',']).filter_map(|part| part.trim().split_once(what));
        parts.filter_map(|(count, _)| count.parse().ok()).collect()
    };
    let (running, waiting) = (counts(" running"), counts(" waiting"));
    assert!(said.contains("of 1,000 runs") && running.iter().any(|count| (1..=6).contains(count)), "{said}");
    assert!(running.iter().all(|count| *count <= 6) && waiting.iter().any(|count| *count >= 6), "{said}");
}
