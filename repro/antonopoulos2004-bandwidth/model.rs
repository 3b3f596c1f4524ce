//! The programs and machines of the paper, and the variation of assumed rates.

use crate::Trouble;
use numaestro_sim::machine::{self, Model};
use numaestro_sim::program::{Body, Phase, Program, read};
use numaestro_sim::read::{NoFiles, Text};
use std::sync::{Arc, LazyLock};

/// Applications, in the order of [`Rates`].
pub const APPLICATIONS: [&str; 5] = ["BT", "CG", "SP", "FT", "MG"];
/// Transactions per microsecond of one thread alone, as assumed.
pub const ASSUMED: [f64; 5] = [5.0, 11.0, 9.0, 6.0, 8.5];
/// Factors that assumed rates are multiplied by.
pub const FACTORS: [f64; 3] = [0.7, 1.0, 1.3];

/// For each application, the index into [`FACTORS`].
pub type Rates = [usize; 5];

/// The rates as assumed.
pub const AS_ASSUMED: Rates = [1; 5];

/// All combinations.
pub fn combinations() -> impl Iterator<Item = Rates> {
    (0..243).map(|number| std::array::from_fn(|place| number / 3_usize.pow(place as u32) % 3))
}

/// Read once: thousands of experiments are made of them.
static PROGRAMS: LazyLock<Result<Vec<Program>, String>> = LazyLock::new(|| {
    let text = Text { name: "programs.toml", text: include_str!("programs.toml") };
    read(text).map_err(|mistake| mistake.to_string())
});

/// A program with this many threads, and its rates multiplied by one of [`FACTORS`].
pub fn program(name: &str, threads: u32, factor: usize, recovers: bool) -> Result<Arc<Program>, Trouble> {
    let wrong = |reason: String| Trouble::new("programs.toml", reason);
    let programs = PROGRAMS.as_ref().map_err(|mistake| wrong(mistake.clone()))?;
    let found = programs.iter().find(|program| program.name == name);
    let mut program = found.ok_or_else(|| wrong(format!("there is no program {name}")))?.clone();
    program.processors = threads;
    program.recovers &= recovers;
    if let Body::Phases(phases) = &mut program.body {
        adapt(phases, threads, FACTORS[factor]);
    }
    Ok(Arc::new(program))
}

fn adapt(phases: &mut [Phase], threads: u32, factor: f64) {
    for phase in phases {
        match phase {
            Phase::Repeat { phases, .. } => adapt(phases, threads, factor),
            Phase::Parallel { width, refs, .. } => {
                *width = threads;
                for refs in refs {
                    refs.per_us *= factor;
                }
            }
            _ => {}
        }
    }
}

/// The paper's machine, or the one with twice the processors on the same bus.
pub fn machine(processors: u32) -> Result<Arc<Model>, Trouble> {
    let model = if processors == 8 {
        let text = Text { name: "xeon-8.toml", text: include_str!("xeon-8.toml") };
        machine::read(text, &NoFiles).map_err(|mistake| Trouble::new("xeon-8.toml", mistake.to_string()))?
    } else {
        machine::named("xeon-4", 0).ok_or_else(|| Trouble::new("xeon-4", "there is no such machine"))?
    };
    Ok(Arc::new(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_sim::program::Vacates;

    fn rate(program: &Program) -> f64 {
        let Body::Phases(phases) = &program.body else { panic!("phases") };
        let Phase::Parallel { refs, .. } = &phases[0] else { panic!("a region") };
        refs[0].per_us
    }

    #[test]
    fn rates_are_those_that_are_written_down() {
        for (name, assumed) in APPLICATIONS.into_iter().zip(ASSUMED) {
            assert!((rate(&program(name, 4, 1, true).unwrap()) - assumed).abs() < 1e-12, "{name}");
            assert!((rate(&program(name, 1, 0, true).unwrap()) / assumed - 0.7).abs() < 1e-12, "{name}");
        }
        assert_eq!(program("BT", 3, 1, false).unwrap().processors, 3);
        assert!(!program("BT", 3, 1, false).unwrap().recovers);
        assert!(program("LU", 4, 1, true).is_err());
    }

    #[test]
    fn who_is_preempted_leaves_at_once() {
        for name in APPLICATIONS {
            let program = program(name, 4, 1, true).unwrap();
            assert!(program.recovers && program.vacates == Vacates::AtOnce, "{name}");
        }
    }

    #[test]
    fn every_combination_once() {
        let all: std::collections::BTreeSet<Rates> = combinations().collect();
        assert!(all.len() == 243 && all.contains(&AS_ASSUMED));
    }

    #[test]
    fn machines_differ_only_in_processors() {
        let (four, eight) = (machine(4).unwrap(), machine(8).unwrap());
        assert_eq!((four.topology.pu_count(), eight.topology.pu_count()), (4, 8));
        assert_eq!(four.buses()[0].saturation, eight.buses()[0].saturation);
        assert_eq!(four.buses()[0].saturation, 29_400);
        let costs = |model: &Model| model.access.classes.iter().map(|class| class.cost_ps).collect::<Vec<_>>();
        assert_eq!((costs(&four), four.access.hit_ps), (costs(&eight), eight.access.hit_ps));
    }
}
