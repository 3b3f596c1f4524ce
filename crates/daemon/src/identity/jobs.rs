//! Jobs of a batch system: finds the job that a process belongs to, and the processors that it was
//! allocated here.
//!
//! The surest evidence is that of the batch system's plugin, which registers each step of a job
//! ([`Register`]). Without it:
//!
//! Slurm puts the processes of a job into a control group of its own, which users cannot leave:
//! `/system.slice/slurmstepd.scope/job_12/step_0/…` in version 2, `/slurm/uid_1000/job_12/step_0/…`
//! in version 1. With `ConstrainCores` the group holds the job's processors. Where Slurm keeps jobs
//! apart by other means, its variables say as much; but users can write them themselves, so the
//! administrator decides whether they count.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use numaestro_host::cgroup::Hierarchies;
use numaestro_host::procfs;
use numaestro_topology::CpuSet;

pub(crate) use account::{Account, Line};
pub(crate) use meter::{Holding, Meter};
pub(crate) use register::{JobId, Objection, Register, SavedStep, Terms, mistake};

use crate::config::Evidence;

mod account;
mod meter;
mod register;

/// More processors than a machine has are no allocation.
const CPUS_MOST: u32 = 1 << 20;

/// A job as one of its processes shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// Its number.
    pub(crate) id: u32,
    /// Processors that it was allocated on this machine; `None`: not known.
    pub(crate) cpus: Option<u32>,
    /// The step that the process belongs to: `0`, `batch`.
    pub(crate) step: Option<String>,
    /// The task that it belongs to, counted on this machine or in the whole step, as Slurm says.
    pub(crate) task: Option<u32>,
}

impl Job {
    /// As people write it: `12`, `12.batch`, `12.0/3`.
    pub(crate) fn shown(&self) -> String {
        let step = self.step.as_ref().map(|step| format!(".{step}")).unwrap_or_default();
        let task = self.task.filter(|_| self.step.is_some()).map(|task| format!("/{task}")).unwrap_or_default();
        format!("{}{step}{task}", self.id)
    }
}

/// The job of a process. `None`: it is in none, or nothing shows it.
pub(crate) fn job_of(pid: u32, evidence: Evidence) -> Option<Job> {
    match evidence {
        Evidence::Off => None,
        Evidence::Cgroup => by_group(&Hierarchies::read(), pid),
        Evidence::Environment => by_group(&Hierarchies::read(), pid).or_else(|| by_variables(pid)),
    }
}

fn by_group(hierarchies: &Hierarchies, pid: u32) -> Option<Job> {
    let place = hierarchies.place(pid).ok()?;
    // In version 1, Slurm tracks jobs in the hierarchy of the freezer.
    let groups = [&place.unified, &place.cpuset, &place.cpu, &place.freezer];
    let (id, step, task) = groups.into_iter().flatten().find_map(|group| place_in(group))?;
    let unified = place.unified.iter().flat_map(|group| hierarchies.unified_chain(group));
    let directories = unified.chain(place.cpuset.iter().flat_map(|group| hierarchies.cpuset_chain(group)));
    let name = format!("job_{id}");
    let of_job: Vec<PathBuf> =
        directories.filter(|directory| directory.file_name().is_some_and(|last| last == name.as_str())).collect();
    // The outermost: further in, users may have groups of their own.
    let cpus = of_job.iter().rev().find_map(|directory| own_cpus(directory));
    Some(Job { id, cpus, step, task })
}

/// Processors that a group has for itself; one without a list has those of the group above.
fn own_cpus(directory: &Path) -> Option<u32> {
    let text = fs::read_to_string(directory.join("cpuset.cpus")).ok()?;
    let cpus = text.trim().parse::<CpuSet>().ok()?;
    u32::try_from(cpus.len()).ok().filter(|&cpus| cpus > 0)
}

/// The job whose group this is, or is below, with its step and its task. Only Slurm makes groups
/// there, but for those below a task.
fn place_in(group: &str) -> Option<(u32, Option<String>, Option<u32>)> {
    let mut parts = group.strip_prefix('/')?.split('/');
    let job = match (parts.next()?, parts.next()?) {
        ("system.slice", scope) if scope.ends_with("slurmstepd.scope") => parts.next()?,
        (slurm, user) if (slurm == "slurm" || slurm.starts_with("slurm_")) && user.starts_with("uid_") => {
            parts.next()?
        }
        _ => return None,
    };
    let id = job.strip_prefix("job_")?.parse().ok()?;
    let step = parts.next().and_then(|step| step.strip_prefix("step_")).map(str::to_owned);
    let below = [parts.next(), parts.next()];
    let task = below.into_iter().flatten().find_map(|part| part.strip_prefix("task_")?.parse().ok());
    Some((id, step, task))
}

/// The number that Slurm's variables give a step without a number.
const STEPS_NAMED: [(u32, &str); 3] = [(0xffff_fffa, "interactive"), (0xffff_fffb, "batch"), (0xffff_fffc, "extern")];

/// The step and the task of a process of a job, as its variables say. Users can write them, so they
/// are for people only.
pub(crate) fn place_by_variables(pid: u32, job: u32) -> (Option<String>, Option<u32>) {
    let Ok([id, step, task]) = procfs::variables(pid, ["SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID"]) else {
        return (None, None);
    };
    let number = |value: Option<OsString>| value?.to_str()?.parse::<u32>().ok();
    if number(id) != Some(job) {
        return (None, None);
    }
    let named = |step: u32| STEPS_NAMED.iter().find(|(number, _)| *number == step).map(|(_, name)| (*name).to_owned());
    let step = number(step).map(|step| named(step).unwrap_or_else(|| step.to_string()));
    (step, number(task))
}

fn by_variables(pid: u32) -> Option<Job> {
    let [id, cpus] = procfs::variables(pid, ["SLURM_JOB_ID", "SLURM_CPUS_ON_NODE"]).ok()?;
    let number = |value: Option<OsString>| value?.to_str()?.parse::<u32>().ok();
    let cpus = number(cpus).filter(|cpus| (1..=CPUS_MOST).contains(cpus));
    Some(Job { id: number(id)?, cpus, step: None, task: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_slurm_name_the_job_and_others_do_not() {
        let jobs = [
            "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0",
            "/system.slice/n1_slurmstepd.scope/job_12",
            "/slurm/uid_1000/job_12/step_batch/task_0",
            "/slurm_n1/uid_1000/job_12",
        ];
        let place = |step: &str, task| Some((12, Some(step.to_owned()), task));
        assert_eq!(
            jobs.map(place_in),
            [place("0", Some(0)), Some((12, None, None)), place("batch", Some(0)), Some((12, None, None))]
        );
        let others = [
            "/",
            "/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_12",
            "/user.slice/slurm/uid_1000/job_12",
            "/slurm/uid_1000",
            "/slurm/job_12",
            "/system.slice/slurmstepd.scope/system",
            "/system.slice/slurmstepd.scope/job_x",
            "/slurmish/uid_1/job_1",
        ];
        assert!(others.map(place_in).iter().all(Option::is_none));
    }

    #[test]
    fn a_group_of_version_two_has_the_processors_of_the_job() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let group = "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0";
        write("proc/self/mountinfo", "30 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("proc/40/cgroup", &format!("0::{group}\n"));
        write("proc/41/cgroup", "0::/user.slice\n");
        write("proc/42/cgroup", "9:freezer:/slurm/uid_1000/job_8/step_0\n4:cpuset:/\n0::/\n");
        let group_of_job = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7";
        write(&format!("{group_of_job}/cpuset.cpus"), "2-5\n");
        write(&format!("{group_of_job}/step_0/cpuset.cpus"), "2\n");
        let hierarchies = Hierarchies::read_under(root.path());
        let job = |id, cpus, task: Option<u32>| Some(Job { id, cpus, step: Some("0".to_owned()), task });
        assert_eq!(by_group(&hierarchies, 40), job(7, Some(4), Some(0)));
        assert_eq!(job(7, None, Some(0)).unwrap().shown(), "7.0/0");
        assert_eq!(by_group(&hierarchies, 41), None);
        assert_eq!(by_group(&hierarchies, 42), job(8, None, None));
        write(&format!("{group_of_job}/step_0/user/task_0/job_7/cpuset.cpus"), "0-63\n");
        write("proc/43/cgroup", &format!("0::{group}/job_7\n"));
        assert_eq!(by_group(&hierarchies, 43), job(7, Some(4), Some(0)), "a group that the user has made");
        write(&format!("{group_of_job}/cpuset.cpus"), "\n");
        assert_eq!(by_group(&hierarchies, 40), job(7, None, Some(0)));
    }

    #[test]
    fn variables_count_only_where_the_administrator_says_so() {
        let mut command = std::process::Command::new("sleep");
        let variables = [
            ("SLURM_JOB_ID", "31"),
            ("SLURM_CPUS_ON_NODE", "2"),
            ("SLURM_STEP_ID", "4294967291"),
            ("SLURM_PROCID", "5"),
        ];
        let mut child = command.arg("100").envs(variables).spawn().unwrap();
        let found = [Evidence::Off, Evidence::Cgroup, Evidence::Environment].map(|evidence| {
            // The kernel shows the variables a moment after the program has been started.
            while procfs::variables(child.id(), ["SLURM_JOB_ID"]).unwrap()[0].is_none() {}
            job_of(child.id(), evidence)
        });
        let places = [31, 32].map(|job| place_by_variables(child.id(), job));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, [None, None, Some(Job { id: 31, cpus: Some(2), step: None, task: None })]);
        assert_eq!(places, [(Some("batch".to_owned()), Some(5)), (None, None)]);
    }
}
