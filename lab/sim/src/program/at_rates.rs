//! Programs of which only transaction rates are known: the rate of lines of each thread when it
//! runs alone, and its time then. On a given machine they become references and work.
//!
//! A thread that moves `r` lines per microsecond alone, each of which takes `c` microseconds, is
//! stalled for the share `m = r·c` of its time and computes in the rest (Antonopoulos et al. 2004
//! print rates only). So a microsecond of its time is `1 − m` of work, in which it makes `r`
//! references.

use super::description::{Body, Phase, Program, Refs, Work};
use crate::dist::Dist;
use crate::machine::Model;
use numaestro_topology::PuId;

/// Most of a thread's time that is stalled: more rate than the machine has is as much as it has.
const STALLED_MAX: f64 = 0.9999;

impl Program {
    /// Whether rates have to be made references before it can run ([`Self::on`]).
    pub fn has_rates(&self) -> bool {
        fn any(phases: &[Phase]) -> bool {
            phases.iter().any(|phase| match phase {
                Phase::Repeat { phases, .. } => any(phases),
                other => refs_of(other).iter().any(|refs| refs.is_rate),
            })
        }
        matches!(&self.body, Body::Phases(phases) if any(phases))
    }

    /// The same program on this machine: rates made references, and times alone made work.
    #[must_use]
    pub fn on(&self, model: &Model) -> Self {
        let mut program = self.clone();
        if let Body::Phases(phases) = &mut program.body {
            for phase in phases {
                convert(phase, model);
            }
        }
        program
    }
}

fn refs_of(phase: &Phase) -> &[Refs] {
    match phase {
        Phase::Serial { refs, .. } | Phase::Parallel { refs, .. } | Phase::Tasks { refs, .. } => refs,
        Phase::Pause { .. } | Phase::Request { .. } | Phase::Repeat { .. } => &[],
    }
}

fn convert(phase: &mut Phase, model: &Model) {
    match phase {
        Phase::Repeat { phases, .. } => {
            for phase in phases {
                convert(phase, model);
            }
        }
        Phase::Serial { work, refs } | Phase::Tasks { work, refs, .. } => *work = work.scaled(computing(refs, model)),
        Phase::Parallel { work, refs, locked, .. } => {
            let share = computing(refs, model);
            *work = match work {
                Work::Divided(total, cv) => Work::Divided(total.scaled(share), *cv),
                Work::Each(each) => Work::Each(each.scaled(share)),
            };
            *locked = locked.take().map(|locked| locked.scaled(share));
        }
        Phase::Pause { .. } | Phase::Request { .. } => {}
    }
}

/// Makes rates references per microsecond of work; returns the share of time alone that is work.
fn computing(refs: &mut [Refs], model: &Model) -> f64 {
    if !refs.iter().any(|refs| refs.is_rate) {
        return 1.0;
    }
    let here = model.node_of(PuId(0));
    let cost_us = |refs: &Refs| model.cost_ps(PuId(0), here, refs.op) as f64 / 1e6;
    let stalled: f64 = refs.iter().filter(|refs| refs.is_rate).map(|refs| refs.per_us * cost_us(refs)).sum();
    let most = stalled.min(STALLED_MAX);
    for refs in refs.iter_mut().filter(|refs| refs.is_rate) {
        if stalled > 0.0 {
            refs.per_us *= most / stalled / (1.0 - most);
        }
        (refs.is_rate, refs.hits) = (false, 0.0);
    }
    1.0 - most
}

impl Dist {
    /// The same distribution with all values times `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(value * factor),
            Self::Uniform(low, high) => Self::Uniform(low * factor, high * factor),
            Self::Exponential(mean) => Self::Exponential(mean * factor),
            // Whole numbers do not scale, so the result is a distribution of the scaled mean and
            // the same variation.
            Self::Geometric(mean) => Self::MeanCv(mean * factor, libm::sqrt((1.0 - 1.0 / mean.max(1.0)).max(0.0))),
            Self::MeanCv(mean, cv) => Self::MeanCv(mean * factor, *cv),
            Self::LogNormal(mean, cv) => Self::LogNormal(mean * factor, *cv),
            Self::Choice(values) => {
                Self::Choice(values.iter().map(|(value, weight)| (value * factor, *weight)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::named;
    use crate::program::Wait;

    fn at(rate: f64) -> Program {
        let refs = vec![Refs { is_rate: true, ..Refs::new(0, rate) }];
        let region = Phase::Parallel {
            width: 1,
            iterations: 1,
            work: Work::Divided(Dist::Constant(1e9), 0.0),
            refs,
            wait: Wait::Spin,
            locked: None,
            curve: None,
        };
        Program::new("p", 1, Body::Phases(vec![Phase::Repeat { times: 2, phases: vec![region] }]))
    }

    #[test]
    fn half_the_bus_is_half_the_time() {
        let model = named("xeon-4", 0).unwrap();
        let cost_us = 0.042_373;
        let program = at(0.5 / cost_us).on(&model);
        assert!(at(1.0).has_rates() && !program.has_rates());
        let Body::Phases(phases) = &program.body else { panic!("phases") };
        let Phase::Repeat { phases, .. } = &phases[0] else { panic!("repeat") };
        let Phase::Parallel { work: Work::Divided(Dist::Constant(work), _), refs, .. } = &phases[0] else {
            panic!("region")
        };
        assert!((work - 0.5e9).abs() < 1.0, "{work}");
        // Per microsecond of work, of which there is half a microsecond in one of time.
        assert!((refs[0].per_us - 1.0 / cost_us).abs() < 1e-6, "{}", refs[0].per_us);
    }

    #[test]
    fn more_than_there_is_is_all_there_is() {
        let model = named("xeon-4", 0).unwrap();
        let program = at(1000.0).on(&model);
        let Body::Phases(phases) = &program.body else { panic!("phases") };
        let Phase::Repeat { phases, .. } = &phases[0] else { panic!("repeat") };
        let Phase::Parallel { work: Work::Divided(Dist::Constant(work), _), refs, .. } = &phases[0] else {
            panic!("region")
        };
        let per_us_of_time = work / 1e9 * refs[0].per_us;
        assert!((per_us_of_time - STALLED_MAX / 0.042_373).abs() < 1e-6, "{per_us_of_time}");
    }
}
