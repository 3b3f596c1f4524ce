//! Whoever dies in whatever order: a job that is cancelled or out of time, its node's daemon, the
//! parent of its step, and our manager. The job beside it ends with its result, and gets the
//! processors of the one that has gone.
//!
//! Every tenth round waits for a time-out, which Slurm looks for twice a minute.
//!
//! `NUMAESTRO_KILLS=100` does a hundred rounds, `NUMAESTRO_SEED=N` others.

use crate::cluster::Cluster;
use crate::plugin::{apps, jobs, kernel, manager};
use crate::user::{Mortal, text, turn, until};
use numaestro_skip::skip;
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// What may happen to a job, or around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    /// `scancel`.
    Cancel,
    /// The node's daemon is killed, and started again a moment later.
    Slurmd,
    /// The parent of the job's step is killed.
    Step,
    /// Our manager is killed, and another one started a moment later.
    Manager,
}

const BLOWS: [Blow; 4] = [Blow::Cancel, Blow::Slurmd, Blow::Step, Blow::Manager];
/// Processors are free after this time.
const FREE_WITHIN: Duration = Duration::from_secs(1);

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// Numbers that look random (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    /// Some of the blows, in some order; at least one.
    fn blows(&mut self) -> Vec<Blow> {
        let mut left = BLOWS.to_vec();
        let count = 1 + self.roll(BLOWS.len() as u64);
        (0..count).map(|_| left.remove(usize::try_from(self.roll(left.len() as u64)).expect("small"))).collect()
    }
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process")).expect("a process");
    // It may have ended meanwhile.
    let _ = kill_process(pid, Signal::KILL);
}

/// The job of an application.
fn job_of(app: &serde_json::Value) -> &str {
    app["job"].as_str().unwrap_or_default().split(['.', '/']).next().unwrap_or_default()
}

#[test]
fn whoever_dies_in_whatever_order_the_other_job_goes_on() {
    let _turn = turn();
    let Some(sor) = kernel("sor") else { skip!("the load programs are not built: make kernels") };
    let cluster = match Cluster::with_plugin(2, "default=on", &["--set", "SlurmdTimeout=30"]) {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let user = &cluster.user;
    let seed = number("NUMAESTRO_SEED", 14);
    let (mut dice, mut slowest) = (Dice(seed * 2 + 1), Duration::ZERO);
    let words = [sor.as_str(), "--json", "--threads", "2", "--reps"];
    let expected = checksum(&text(&cluster.srun(&[&words[..], &["60000"]].concat()).output().expect("srun").stdout));
    let mut present = manager(user, "");
    for round in 0..number("NUMAESTRO_KILLS", 5) {
        let blows = dice.blows();
        let victim = cluster.sbatch(&["--cpus-per-task=2", &format!("--wrap=exec {}  100000000", words.join(" "))]);
        let witness = cluster.srun(&[&["--cpus-per-task=2"], &words[..], &["60000"]].concat()).spawn().expect("srun");
        let is_victim = |app: &serde_json::Value| job_of(app) == victim.to_string();
        until("both programs", || apps(user).len() == 2 && apps(user).iter().any(is_victim));
        let program =
            u32::try_from(apps(user).iter().find(|app| is_victim(app)).expect("it")["pid"].as_u64().expect("a pid"));
        let program = program.expect("a pid");
        for blow in &blows {
            strike(*blow, &cluster, victim, &mut present);
            std::thread::sleep(Duration::from_millis(dice.roll(150)));
        }
        let what = format!("round {round} of seed {seed}, {blows:?}");
        if round % 10 == 9 && !blows.contains(&Blow::Cancel) {
            cluster.slurm("scontrol", &["update", &format!("JobId={victim}"), "EndTime=now+1seconds"]);
            let lost = blows.contains(&Blow::Step);
            until_late(&what, || !is_there(program) || lost && !cluster.jobs().contains(&victim.to_string()));
        } else if !blows.contains(&Blow::Cancel) {
            cluster.slurm("scancel", &[&victim.to_string()]);
        }
        if blows.contains(&Blow::Step) {
            // Without the parent of its step, Slurm does not find the program any more.
            kill(program);
        }
        until(&what, || !is_there(program));
        let ended = Instant::now();
        until(&what, || !apps(user).iter().any(is_victim));
        slowest = slowest.max(ended.elapsed());
        // A new manager leaves everybody what they claim for two seconds.
        until(&what, || {
            let apps = apps(user);
            apps.is_empty() || apps.len() == 1 && apps[0]["count"] == 2
        });
        let output = witness.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{what}: {}", text(&output.stderr));
        assert_eq!(checksum(&text(&output.stdout)), expected, "{what}");
        until(&what, || jobs(user).is_empty() && apps(user).is_empty());
        until(&what, || cluster.jobs().is_empty());
    }
    println!("the processors of the dead were free after {slowest:?} at most");
    assert!(slowest < FREE_WITHIN, "{slowest:?}");
}

/// The same as [`until`], for what may take two minutes.
fn until_late(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_mins(2), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_there(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

fn checksum(said: &str) -> serde_json::Value {
    let report: serde_json::Value = serde_json::from_str(said.trim()).unwrap_or_else(|_| panic!("no report: {said}"));
    report["checksum"].clone()
}

fn strike(blow: Blow, cluster: &Cluster, victim: u32, present: &mut Mortal) {
    match blow {
        Blow::Cancel => {
            cluster.slurm("scancel", &[&victim.to_string()]);
        }
        Blow::Slurmd => {
            kill(cluster.daemon("n1"));
            std::thread::sleep(Duration::from_millis(20));
            let output = cluster.script("revive", &["n1"]);
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        Blow::Step => {
            for pid in cluster.step_parents(victim) {
                kill(pid);
            }
        }
        Blow::Manager => {
            // The next one does not start while this one is there.
            present.kill().expect("it is there");
            present.wait().expect("it ends");
            *present = manager(&cluster.user, "");
        }
    }
}
