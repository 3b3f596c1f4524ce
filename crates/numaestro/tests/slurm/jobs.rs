//! Jobs whose tasks are managed, by Slurm's task prolog.

use crate::cluster::Cluster;
use crate::user::{User, json, start, text, turn, until};
use numaestro_skip::skip;
use std::path::Path;
use std::process::{Command, Stdio};

/// The prolog of the guide, with the manager's directory.
fn prolog(user: &User) -> Vec<String> {
    let own = user.command(["--dir", user.path("run").to_str().expect("text"), "shell", "--task-prolog"]);
    let words: Vec<String> = own.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let script = format!("#!/bin/sh\n{} {} || :\n", own.get_program().display(), words.join(" "));
    let file = user.path("task-prolog");
    numaestro_skip::programs::script(&file, &script);
    let words = ["--nodes", "1", "--oversubscribe", "2", "--task-prolog"].map(str::to_owned);
    words.into_iter().chain([file.display().to_string()]).collect()
}

fn kernel() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/kernels/gcc/sor")
}

/// A task on both processors of the node.
fn task(cluster: &Cluster, reps: &str) -> Command {
    let mut command = cluster.on_it(Command::new("srun"));
    command.args(["--quiet", "--ntasks=1", "--cpus-per-task=2"]).arg(kernel()).args(["--json", "--reps", reps]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn tasks_on_one_node_share_it_and_run_without_a_manager_too() {
    let _turn = turn();
    if !kernel().exists() {
        skip!("the load programs are not built: make kernels");
    }
    let cluster = match Cluster::start_with(prolog) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let user = &cluster.user;
    let checksum = |said: &str| {
        let report: serde_json::Value = serde_json::from_str(said.trim()).expect("a report");
        report["checksum"].clone()
    };

    let alone = task(&cluster, "2000").output().expect("srun");
    let warned = text(&alone.stderr);
    assert!(alone.status.success(), "{warned}");
    let expected = checksum(&text(&alone.stdout));

    let mut manager = user.command(["daemon", "--ignore-unmanaged", "--idle-exit", "0"]);
    let manager = start(manager.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    let long: Vec<_> = (0..2).map(|_| task(&cluster, "10000000").spawn().expect("srun")).collect();
    let apps = || json(&user.output(["status", "--json"]))["apps"].as_array().cloned().unwrap_or_default();
    until("both tasks, with a processor each", || {
        let apps = apps();
        apps.len() == 2 && apps.iter().all(|app| app["count"] == 1 && app["shared"] == false)
    });
    cluster.slurm("scancel", &["--user", &user_name()]);
    for srun in long {
        srun.wait_with_output().expect("it ends");
    }
    until("nobody", || apps().is_empty());

    let beside = task(&cluster, "2000").output().expect("srun");
    assert_eq!(checksum(&text(&beside.stdout)), expected);

    // A manager that hangs delays no task for ever.
    let stop = |signal: &str| {
        let done = Command::new("kill").args([signal, &manager.id().to_string()]).status().expect("kill");
        assert!(done.success());
    };
    stop("-STOP");
    let beside = task(&cluster, "2000").output().expect("srun");
    stop("-CONT");
    assert_eq!(checksum(&text(&beside.stdout)), expected, "{}", text(&beside.stderr));
}

fn user_name() -> String {
    text(&Command::new("id").arg("-un").output().expect("id").stdout).trim().to_owned()
}
