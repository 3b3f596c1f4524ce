//! Three users with jobs on one node under the manager of all users: each job is a party, and
//! nobody sees or steers another's.

use crate::cluster::Cluster;
use crate::plugin::kernel;
use crate::user::{Mortal, json, start, text, turn, until};
use numaestro_skip::skip;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Accounts that every Debian has, with their numbers.
const USERS: [(&str, u32); 3] = [("daemon", 1), ("bin", 2), ("games", 5)];

/// A command of this user.
fn of(uid: u32, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    let uid = uid.to_string();
    command.args(["--reuid", &uid, "--regid", &uid, "--clear-groups", program]);
    command.current_dir("/").stdin(Stdio::null());
    command
}

/// All users may go through.
fn open(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[test]
fn users_of_different_jobs_see_and_steer_their_own_only() {
    let _turn = turn();
    if std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).ok() != Some(0) {
        skip!("only root can be three users");
    }
    let Some(sor) = kernel("sor") else { skip!("the load programs are not built: make kernels") };
    let me = env!("CARGO_BIN_EXE_numaestro");
    if !of(1, me).arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip!("other users cannot run the command where it was built");
    }
    let cluster = match Cluster::with_plugin(3, "default=on", &[]) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let place = cluster.user.place.path();
    open(place);
    let (config, run) = (place.join("config.toml"), place.join("run"));
    std::fs::write(&config, "unmanaged = false\nidle_exit_s = 0\n[recording]\non = false\n").expect("written");
    let (run_text, config) = (run.to_str().expect("text"), config.to_str().expect("text"));
    let words = ["--dir", run_text, "daemon", "--system", "--config", config];
    let _manager: Mortal = start(cluster.user.command(words).stdin(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || json(&cluster.user.output(["status", "--json"]))["running"] == true);

    let _jobs = USERS.map(|(_, uid)| {
        let mut srun = cluster.on_it(of(uid, "srun"));
        srun.args(["--quiet", "--ntasks=1", "--cpus-per-task=2", "--mem=0", &sor, "--reps", "1000000000"]);
        start(srun.stdout(Stdio::null()).stderr(Stdio::null()))
    });
    let asked = |uid: u32, words: &[&str]| -> Output {
        of(uid, me).env("NUMAESTRO_DIR", &run).args(words).output().expect("the command starts")
    };
    let list = |uid: u32, words: &[&str], key: &str| -> Vec<Value> {
        let output = asked(uid, words);
        assert!(output.status.success(), "{uid} {words:?}: {}", text(&output.stderr));
        json(&output)[key].as_array().cloned().unwrap_or_default()
    };
    until("three jobs, each with its program", || {
        let jobs = list(0, &["jobs", "--json"], "jobs");
        jobs.len() == 3 && jobs.iter().all(|job| job["applications"] == 1 && job["cpus"] == 2)
    });
    let all = list(0, &["jobs", "--json"], "jobs");
    for (name, uid) in USERS {
        let own = list(uid, &["jobs", "--json"], "jobs");
        assert_eq!(own.len(), 1, "{name}: {own:?}");
        assert_eq!((own[0]["user"].as_str(), own[0]["uid"].as_u64()), (Some(name), Some(uid.into())));
        let apps = list(uid, &["status", "--json"], "apps");
        assert_eq!(apps.iter().map(|app| app["user"].as_str()).collect::<Vec<_>>(), [Some(name)], "{name}");
        for other in all.iter().filter(|job| job["uid"] != uid) {
            let number = other["job"].to_string();
            let refused = asked(uid, &["jobs", "set", &number, "--max", "1"]);
            let said = text(&refused.stderr);
            assert!(!refused.status.success() && said.contains("you have no job"), "{name}: {said}");
        }
        for app in list(0, &["status", "--json"], "apps").iter().filter(|app| app["user"] != name) {
            let release = asked(uid, &["release", &app["pid"].to_string()]);
            assert!(!release.status.success(), "{name}: {}", text(&release.stderr));
        }
    }
    // Nobody but an administrator registers a job.
    let registers = "{\"ask\":\"begin-step\",\"version\":1,\"job\":1,\"step\":\"0\",\"uid\":1,\"cpus\":64}\n";
    let script =
        "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]); print $s $ARGV[1]; print scalar <$s>";
    let socket = run.join("control").display().to_string();
    let output = of(1, "perl").args(["-e", script, &socket, registers]).output().expect("perl");
    let said = text(&output.stdout);
    assert!(said.contains("needs an administrator"), "{said}{}", text(&output.stderr));
    cluster.slurm("scancel", &USERS.map(|(name, _)| ["--user", name]).concat()[..2]);
    until("two jobs", || list(0, &["jobs", "--json"], "jobs").len() == 2);
    for (name, _) in &USERS[1..] {
        cluster.slurm("scancel", &["--user", name]);
    }
    until("nobody", || list(0, &["jobs", "--json"], "jobs").is_empty());
}
