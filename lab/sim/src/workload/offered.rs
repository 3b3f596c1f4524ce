//! The work that programs bring: it is the work at full speed, memory references not counted.

use crate::program::{Body, Phase, Program, Stretch, Work};

/// Mean processor time of one run of a program, nanoseconds: the computation of its threads,
/// without references, waiting, or the additions of a region's speedup curve.
pub fn mean_work(program: &Program) -> f64 {
    match &program.body {
        Body::Curve { stretches, times, .. } => {
            stretches.iter().map(Stretch::mean_work).sum::<f64>() * f64::from(*times)
        }
        Body::Phases(phases) => of_phases(phases),
    }
}

fn of_phases(phases: &[Phase]) -> f64 {
    phases.iter().map(of_phase).sum()
}

fn of_phase(phase: &Phase) -> f64 {
    match phase {
        Phase::Serial { work, .. } => work.mean(),
        Phase::Parallel { width, iterations, work, locked, .. } => {
            let width = f64::from(*width);
            let once = match work {
                Work::Divided(total, _) => total.mean(),
                Work::Each(each) => each.mean() * width,
            };
            let locked = locked.as_ref().map_or(0.0, |locked| locked.mean() * width);
            (once + locked) * f64::from(*iterations)
        }
        Phase::Tasks { count, work, .. } => count.mean() * work.mean(),
        Phase::Pause { .. } | Phase::Request { .. } => 0.0,
        Phase::Repeat { times, phases } => f64::from(*times) * of_phases(phases),
    }
}
