//! `numaestro jobs`: the jobs of a batch system on this machine, and the limits of malleable ones.

use crate::cli::{JobsArgs, JobsCommand};
use crate::manager::{self, Manager};
use crate::status::clean;
use crate::{columns, say};
use numaestro_abi::control::{JobStatus, Reply, Request};
use std::path::PathBuf;

/// The subcommand.
pub fn jobs(dir: Option<PathBuf>, args: &JobsArgs) -> anyhow::Result<u8> {
    let (request, json) = match args.what {
        None => (Request::Jobs, args.json),
        Some(JobsCommand::Set { job, max, json }) => (Request::SetJob { job, most: max }, json || args.json),
    };
    let jobs = match Manager::required(dir)?.ask(&request)? {
        Reply::Jobs { jobs } => jobs,
        other => return Err(manager::unexpected(&other)),
    };
    say::print(&if json {
        format!("{}\n", serde_json::json!({ "jobs": jobs }))
    } else if jobs.is_empty() {
        "no jobs; a job is here from the moment when Slurm's plugin of numaestro registers its first step\n".to_owned()
    } else {
        table(&jobs, say::colours(&std::io::stdout()))
    })?;
    Ok(say::OK)
}

const HEAD: [&str; 11] =
    ["JOB", "USER", "STEPS", "ALLOCATED", "RANGE", "MOST", "APPS", "HAS", "USED", "LENT", "BORROWED"];

fn table(jobs: &[JobStatus], colours: bool) -> String {
    let head = HEAD.map(str::to_owned).to_vec();
    let mut rows = vec![head];
    rows.extend(jobs.iter().map(row));
    let mut text = columns::headed(&rows, colours);
    for job in jobs {
        if let Some(policy) = &job.policy {
            let decides = if job.policy_decides { "it decides" } else { "others are here too: the machine's decides" };
            text.push_str(
                &[&job.job.to_string(), ": asks for the policy ", &clean(policy), "; ", decides, "\n"].concat(),
            );
        }
    }
    text
}

fn row(job: &JobStatus) -> Vec<String> {
    let user = job.user.as_deref().map_or_else(|| job.uid.to_string(), clean);
    let range = job.malleable.map(|range| format!("{}-{}", range.min, range.max)).unwrap_or_default();
    let most = job.most.map(|most| most.to_string()).unwrap_or_default();
    vec![
        job.job.to_string(),
        user,
        clean(&job.steps.join(",")),
        job.cpus.to_string(),
        range,
        most,
        job.applications.to_string(),
        rounded(job.has),
        time(job.used.used_s),
        time(job.used.lent_s),
        time(job.used.borrowed_s),
    ]
}

fn rounded(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Processor time in the largest unit that leaves three digits.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.1} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_abi::control::{Malleable, ProcessorTime};

    #[test]
    fn the_table_tells_what_a_job_may_and_does_have() {
        let plain =
            JobStatus { job: 7, uid: 1000, steps: vec!["batch".into(), "0".into()], cpus: 4, ..JobStatus::default() };
        let job = JobStatus {
            job: 12,
            user: Some("alice".into()),
            malleable: Some(Malleable { min: 2, max: 8 }),
            most: Some(3),
            policy: Some("equi".into()),
            applications: 1,
            has: 2.5,
            used: ProcessorTime { used_s: 90.0, lent_s: 600.0, borrowed_s: 36000.0 },
            ..plain.clone()
        };
        let expected = "JOB  USER   STEPS    ALLOCATED  RANGE  MOST  APPS  HAS  USED    LENT    BORROWED\n\
                        7    1000   batch,0  4                       0     0    0.0 s   0.0 s   0.0 s\n\
                        12   alice  batch,0  4          2-8    3     1     2.5  90.0 s  10 min  10.0 h\n\
                        12: asks for the policy equi; others are here too: the machine's decides\n";
        assert_eq!(table(&[plain, job], false), expected);
    }
}
