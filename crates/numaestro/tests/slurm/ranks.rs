//! Ranks of Open MPI that Slurm starts by itself, in a job with the plugin: each is an application
//! of its task, the one that waits lends to the one that computes, and the result is the same.

use crate::cluster::Cluster;
use crate::plugin::{apps, jobs, manager};
use crate::user::{json, text, turn, until};
use numaestro_skip::skip;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A step of two ranks with a processor each, and teams of two threads.
fn step(cluster: &Cluster, ranks: &str, options: &[&str]) -> Command {
    let mut command = cluster.srun(options);
    command.args(["--ntasks=2", "--cpus-per-task=1", "--mpi=pmix", ranks, "work", "60", "150"]);
    command.env("OMP_NUM_THREADS", "2");
    command
}

#[test]
fn ranks_of_a_step_are_applications_of_its_tasks_and_lend() {
    let _turn = turn();
    let ranks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/tests/openmpi/ranks");
    if !ranks.exists() {
        skip!("the test programs of Open MPI are not built: make test-programs");
    }
    let ranks = ranks.display().to_string();
    let cluster = match Cluster::with_plugin(1, "", &[]) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    if !cluster.slurm("srun", &["--mpi=list"]).contains("pmix") {
        skip!("this Slurm has no PMIx");
    }
    let user = &cluster.user;
    let _manager = manager(user, "");

    let running = step(&cluster, &ranks, &["--numaestro"]).spawn().expect("srun");
    let (tasks, lent) = (RefCell::new(BTreeSet::new()), Cell::new(false));
    until("the end of both ranks", || {
        let present = apps(user);
        let mut tasks = tasks.borrow_mut();
        tasks.extend(present.iter().filter_map(|app| app["job"].as_str().map(str::to_owned)));
        lent.set(lent.get() || (present.len() == 2 && present.iter().any(|rank| rank["count"] == 2)));
        tasks.len() == 2 && present.is_empty()
    });
    let managed = running.wait_with_output().expect("it ends");
    assert!(managed.status.success(), "{}", text(&managed.stderr));
    until("the end of the job", || jobs(user).is_empty());
    let tasks = tasks.into_inner();
    let steps: BTreeSet<_> = tasks.iter().filter_map(|task| task.split_once('/')).collect();
    let job = steps.first().expect("a task").0;
    assert_eq!(steps, [(job, "0"), (job, "1")].into());
    assert!(lent.get(), "the rank that waits lends");

    let plain = step(&cluster, &ranks, &[]).env("OMP_WAIT_POLICY", "passive").output().expect("srun");
    let result = |output: &std::process::Output| {
        let said = json(output);
        assert_eq!(said["ranks"], 2, "{}", text(&output.stderr));
        said["checksum"].clone()
    };
    assert_eq!(result(&managed), result(&plain));
}
