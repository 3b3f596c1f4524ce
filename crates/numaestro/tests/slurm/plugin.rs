//! The plugin of Slurm: what is refused when a job is submitted, what the manager knows of the jobs
//! then, and that a job runs where there is no manager, or one that hangs.

use crate::cluster::Cluster;
use crate::user::{Mortal, User, json, kill, start, text, turn, until};
use numaestro_skip::skip;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A load program; `None`: not built.
pub fn kernel(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/kernels/gcc").join(name);
    path.exists().then(|| path.display().to_string())
}

/// A manager of this user, with settings.
pub fn manager(user: &User, settings: &str) -> Mortal {
    let config = user.path("config.toml");
    std::fs::write(&config, settings).expect("written");
    let config = config.to_str().expect("text");
    let mut command = user.command(["daemon", "--ignore-unmanaged", "--idle-exit", "0", "--config", config]);
    let manager = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    manager
}

/// The jobs that the manager knows.
pub fn jobs(user: &User) -> Vec<Value> {
    json(&user.output(["jobs", "--json"]))["jobs"].as_array().cloned().unwrap_or_default()
}

/// The applications that it knows.
pub fn apps(user: &User) -> Vec<Value> {
    json(&user.output(["status", "--json"]))["apps"].as_array().cloned().unwrap_or_default()
}

#[test]
fn mistakes_are_refused_when_a_job_is_submitted() {
    let cluster = match Cluster::with_plugin(2, "", &[]) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let mistakes = [
        ("--numaestro=nonsense", "there is no policy `nonsense`"),
        ("--numaestro=malleable:3", "malleable: needs MIN-MAX"),
        ("--numaestro=malleable:3-2", "its minimum is above its maximum"),
        ("--numaestro=off,malleable:1-2", "`off` stands alone"),
        ("--numaestro=a;b", "that is no policy"),
    ];
    for (option, said) in mistakes {
        for command in [&["srun", "true"][..], &["sbatch", "--wrap=true"], &["salloc", "true"]] {
            let mut words = cluster.on_it(std::process::Command::new(command[0]));
            let output = words.arg(option).args(&command[1..]).stdin(Stdio::null()).output().expect("it starts");
            let stderr = text(&output.stderr);
            assert!(!output.status.success() && stderr.contains(said), "{} {option}: {stderr}", command[0]);
        }
    }
    assert_eq!(cluster.jobs(), [] as [&str; 0], "nothing was submitted");
    let help = text(&cluster.srun(&["--help"]).output().expect("srun").stdout);
    assert!(help.contains("--numaestro"), "{help}");
}

#[test]
fn jobs_are_registered_with_their_steps_their_policy_and_their_range() {
    let _turn = turn();
    let Some(sor) = kernel("sor") else { skip!("the load programs are not built: make kernels") };
    let cluster = match Cluster::with_plugin(2, "", &[]) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let user = &cluster.user;
    let account = user.path("account.jsonl");
    let settings = format!("policy = \"dss\"\n[jobs]\naccount = \"{}\"\n", account.display());
    let first = manager(user, &settings);
    let policy = || json(&user.output(["policy", "show", "--json"]))["policy"].as_str().unwrap_or_default().to_owned();
    let usual = policy();

    let script = format!("--wrap=srun {sor} --reps 100000000 --threads 2");
    let submitted = Instant::now();
    let number = cluster.sbatch(&["--cpus-per-task=2", "--numaestro=equi,malleable:1-2", &script]);
    until("the job, its steps and its program", || {
        jobs(user).first().is_some_and(|job| {
            job["job"] == number
                && job["steps"] == serde_json::json!(["batch", "0"])
                && job["cpus"] == 2
                && job["malleable"] == serde_json::json!({ "min": 1, "max": 2 })
                && job["policy_decides"] == true
                && job["has"] == 2.0
        })
    });
    assert!(policy().contains("equi") && policy() != usual, "{}", policy());
    assert_eq!(apps(user)[0]["job"], format!("{number}.0/0"));

    let consumed = || jobs(user)[0]["used"]["used_s"].as_f64().unwrap_or_default();
    until("some processor time", || consumed() > 3.0);

    // An administrator shrinks it, and it grows again.
    let set = |most: &str| user.output(["jobs", "set", &number.to_string(), "--max", most, "--json"]);
    assert_eq!(json(&set("1"))["jobs"][0]["most"], 1);
    until("one processor", || jobs(user)[0]["has"] == 1.0);
    assert!(!set("3").status.success());
    assert!(set("none").status.success());
    until("two processors", || jobs(user)[0]["has"] == 2.0);

    // Another job: the machine's policy decides, and the other one cannot be shrunk.
    let mut second = start(&mut cluster.srun(&["--cpus-per-task=2", "--numaestro", &sor, "--reps", "100000000"]));
    until("two jobs with a processor each", || {
        let jobs = jobs(user);
        jobs.len() == 2 && jobs.iter().all(|job| job["has"] == 1.0 && job["policy_decides"] == false)
    });
    assert_eq!(policy(), usual);
    let other = jobs(user)[1]["job"].to_string();
    let refused = user.output(["jobs", "set", &other, "--max", "1"]);
    assert!(text(&refused.stderr).contains("not malleable"), "{}", text(&refused.stderr));
    assert!(!user.output(["jobs", "set", "999", "--max", "1"]).status.success());

    // A next manager knows the jobs, and that one of them asks for a policy.
    drop(first);
    let next = manager(user, &settings);
    until("both jobs again", || jobs(user).len() == 2 && jobs(user).iter().all(|job| job["has"] == 1.0));
    // It was written down after the last change, and the next manager is not there for 3 s yet.
    assert!(consumed() > 3.0, "the time before the kill counts");
    // The same after an orderly end.
    assert!(user.output(["stop"]).status.success());
    drop(next);
    let _last = manager(user, &settings);
    assert_eq!(jobs(user).len(), 2);
    cluster.slurm("scancel", &[&other]);
    second.wait().expect("it ends");
    until("the job's policy again", || policy().contains("equi"));

    cluster.slurm("scancel", &[&number.to_string()]);
    until("nobody", || jobs(user).is_empty() && apps(user).is_empty());
    assert_eq!(policy(), usual);
    let lines = std::fs::read_to_string(&account).expect("the account");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.iter().map(|line| line["job"].to_string()).collect::<Vec<_>>(), [other, number.to_string()]);
    assert!(lines.iter().all(|line| line["used_s"].as_f64() > Some(0.0) && line["cpus"] == 2), "{lines:?}");
    // Nobody borrows what it does not use, nor lends more than the two that it was allocated.
    let most = 2.0 * submitted.elapsed().as_secs_f64();
    for line in &lines {
        let [spent, lent, extra] = ["used_s", "lent_s", "borrowed_s"].map(|key| line[key].as_f64().expect("a time"));
        assert!(extra <= spent && spent + lent - extra <= most, "{line}");
    }
    assert!(!user.path("run").join("jobs.json").exists(), "nothing is kept of jobs that have ended");
}

#[test]
fn options_reach_the_steps_of_a_job_and_a_step_may_stay_outside() {
    let cluster = match Cluster::with_plugin(1, "", &[]) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let user = &cluster.user;
    let _manager = manager(user, "");
    let said = |option: &str, script: &str| {
        let file = user.path("said");
        let output = format!("--output={}", file.display());
        let wrap = format!("--wrap={script}");
        let job = cluster.slurm("sbatch", &["--parsable", option, &output, &wrap]);
        // sbatch's own --wait looks every few seconds.
        until("the job's end", || !cluster.jobs().contains(&job.trim().to_owned()));
        std::fs::read_to_string(file).expect("the output")
    };
    let is_there = "printenv NUMAESTRO_ATTACH || echo none";
    let attach = format!("{}\n", user.path("run/attach").display());
    for option in ["--numaestro", "--numaestro=equi", "--numaestro=malleable:1-1"] {
        assert_eq!(said(option, is_there), attach, "{option}");
        assert_eq!(said(option, &format!("srun sh -c '{is_there}'")), attach, "{option}");
    }
    assert_eq!(
        said("--numaestro", &format!("srun --numaestro=off sh -c '{is_there}; printenv LD_PRELOAD || echo none'")),
        "none\nnone\n"
    );
    assert_eq!(said("--numaestro=off", &format!("srun sh -c '{is_there}'")), "none\n");
    assert_eq!(said("--export=ALL", &format!("srun sh -c '{is_there}'")), "none\n", "the default is off");
}

#[test]
fn a_minimum_above_the_allocation_is_said_where_the_job_runs() {
    let cluster = match Cluster::with_plugin(2, "", &[]) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let _manager = manager(&cluster.user, "");
    let output = cluster.srun(&["--cpus-per-task=1", "--numaestro=malleable:2-4", "printenv", "NUMAESTRO_ATTACH"]);
    let output = { output }.output().expect("srun");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("its minimum of 2 is more than the job was allocated: 1"), "{stderr}");
    assert!(output.stdout.is_empty(), "it runs without the manager");
}

#[test]
fn without_a_manager_and_with_one_that_hangs_jobs_run_as_usual() {
    let _turn = turn();
    let cluster = match Cluster::with_plugin(1, "", &[]) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let user = &cluster.user;
    // Two tasks, one complaint.
    let said = |option: &str| {
        let output = cluster.srun(&["--ntasks=2", option, "echo", "done"]).output().expect("srun");
        assert_eq!(text(&output.stdout), "done\ndone\n");
        text(&output.stderr)
    };
    let alone = said("--numaestro");
    assert_eq!(alone.matches("this job runs without numaestro here: there is no manager").count(), 1, "{alone}");
    assert_eq!(said("--numaestro=off"), "");

    let manager = manager(user, "");
    assert_eq!(said("--numaestro"), "");
    kill("STOP", &manager.id().to_string());
    let hangs = said("--numaestro");
    assert!(hangs.contains("has not answered"), "{hangs}");
    let time = |option: &str| {
        let begin = Instant::now();
        said(option);
        begin.elapsed()
    };
    // The least of several: the machine may be busy.
    let (mut plain, mut hanging) = (Duration::MAX, Duration::MAX);
    for _ in 0..7 {
        plain = plain.min(time("--numaestro=off"));
        hanging = hanging.min(time("--numaestro"));
    }
    kill("CONT", &manager.id().to_string());
    // What nobody waited for was not done.
    until("the manager again", || json(&user.output(["status", "--json"]))["running"] == true);
    assert_eq!(jobs(user), [] as [Value; 0]);
    let late = hanging.saturating_sub(plain);
    assert!(late < Duration::from_millis(200), "starts {late:?} later beside a manager that hangs");
}
