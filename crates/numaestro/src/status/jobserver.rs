//! The words of `status` on jobservers of builds: a pure function of the snapshot.

use crate::say::counted;
use numaestro_abi::control::{JobserverStatus, Status, letter};
use std::fmt::Write;

/// A line for each build.
pub fn lines(text: &mut String, status: &Status) {
    for (place, app) in status.apps.iter().enumerate() {
        if let Some(jobserver) = &app.jobserver {
            let _ = writeln!(text, "{} jobserver: {}", letter(place), words(jobserver));
        }
    }
}

fn words(jobserver: &JobserverStatus) -> String {
    if !jobserver.left.is_empty() {
        return format!("left alone, because {}", jobserver.left);
    }
    let JobserverStatus { tokens, free, .. } = jobserver;
    let jobs = match tokens {
        0 => "one job at a time".to_owned(),
        tokens => format!("up to {} jobs at once", tokens + 1),
    };
    format!("{}, so {jobs}; {free} free", counted(*tokens as usize, "token"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;

    #[test]
    fn a_build_says_how_many_jobs_it_may_run_or_why_it_does_not_follow() {
        let mut status = example();
        let mut text = String::new();
        lines(&mut text, &status);
        assert_eq!(text, "");
        status.apps[0].jobserver = Some(JobserverStatus { tokens: 3, free: 1, left: String::new() });
        let left = "its number of jobs was given by -j8".to_owned();
        status.apps[1].jobserver = Some(JobserverStatus { left, ..JobserverStatus::default() });
        lines(&mut text, &status);
        let expected = "A jobserver: 3 tokens, so up to 4 jobs at once; 1 free\n\
                        B jobserver: left alone, because its number of jobs was given by -j8\n";
        assert_eq!(text, expected);
        assert_eq!(words(&JobserverStatus::default()), "0 tokens, so one job at a time; 0 free");
    }
}
