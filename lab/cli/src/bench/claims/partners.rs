//! N-sync: nobody waits for a preempted partner.
//!
//! Two copies of a program have a team as large as the machine each, so half of the threads lack a
//! processor. A thread that waits at a meeting for one of them either keeps the processor or has to
//! be switched by the kernel; both costs processor time that the same work with one thread does not
//! need. numaestro lets the thread that waits hand the processor on in user space.

use anyhow::Result;
use numaestro_repro::measured::Samples;

use super::super::live::Job;
use super::super::managed::Managed;
use super::{Measurement, RUN_LIMIT, whole};

/// Seconds alone on one processor.
const WORK_S: f64 = 0.5;

/// Measures both programs.
pub fn partners(of: &mut Measurement) -> Result<Vec<Samples>> {
    ["cg", "sorp"].into_iter().map(|kernel| program(of, kernel)).collect()
}

fn program(of: &mut Measurement, kernel: &'static str) -> Result<Samples> {
    let team = Job { kernel, arguments: &[], work_s: WORK_S };
    let alone = Job { arguments: &["--threads", "1"], ..team };
    let bench = of.bench(RUN_LIMIT, [team, alone].iter())?;
    let managed = Managed::start_undisturbed(&bench.places.numaestro)?;
    let setups: [(&Job, &[&str]); 4] = [
        (&alone, &[]),
        (&team, &["--fold", "user"]),
        (&team, &["--fold", "kernel"]),
        // Once more, against the one before.
        (&team, &["--fold", "kernel"]),
    ];
    let cost = of.rounds.run::<4>(|which| {
        let (job, options) = setups[which];
        let both = [(job, options.to_vec()), (job, options.to_vec())];
        let round = whole(bench.run(&managed, &both, |_| {})?)?;
        // Each was calibrated by itself.
        Ok((round.cpu_s / bench.reps(job) as f64, round.window))
    })?;
    Ok(samples(kernel, &cost))
}

/// Of processor time a repetition: of one thread, with switches at meetings, without, and without
/// again.
fn samples(name: &str, [alone, with, without, again]: &[Vec<f64>; 4]) -> Samples {
    let mut samples = Samples { name: name.to_owned(), on: Vec::new(), off: Vec::new() };
    for round in 0..alone.len() {
        let waiting = without[round] - alone[round];
        // A round in which nobody waited has nothing to compare with.
        if waiting > 0.0 {
            samples.on.push((with[round] - alone[round]) / waiting);
            samples.off.push((again[round] - alone[round]) / waiting);
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_what_one_thread_does_not_need() {
        let cost = [vec![1.0, 1.0], vec![1.1, 1.0], vec![2.0, 0.9], vec![2.0, 2.0]];
        let found = samples("cg", &cost);
        assert_eq!(found.on.len(), 1, "the second round has no waiting");
        assert!((found.on[0] - 0.1).abs() < 1e-9 && (found.off[0] - 1.0).abs() < 1e-9);
    }
}
