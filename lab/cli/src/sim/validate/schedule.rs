//! The order of the runs.
//!
//! A machine becomes slower and faster from minute to minute. So programs alone and mixes take
//! turns: rounds follow each other, and in a round a program runs alone before the first mixes that
//! have it. What is learned and what is compared with it then meet the same moods of the machine.

use super::mixes::Mix;
use std::collections::BTreeMap;

/// Times that a program runs alone in a round on each number of processors, if so many mixes have
/// it.
const ALONE_MOST: u32 = 2;

/// One run, or a few that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A program alone on so many processors.
    Alone { program: usize, processors: u32 },
    /// A program alone, for what it says of itself.
    Said { program: usize },
    /// A mix, by its place among the chosen ones, under one of its policies.
    Mix { mix: usize, policy: usize },
}

/// The runs of these mixes, and of their programs alone on numbers of processors.
pub fn schedule(chosen: &[&Mix], sizes: &[u32], rounds: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..rounds {
        let mut alone: BTreeMap<usize, u32> = BTreeMap::new();
        for (mix, programs) in chosen.iter().map(|mix| mix.programs()).enumerate() {
            for program in programs {
                let times = alone.entry(program).or_default();
                *times += 1;
                if *times <= ALONE_MOST {
                    steps.extend(sizes.iter().map(|&processors| Step::Alone { program, processors }));
                }
                if round == 0 && *times == 1 {
                    steps.push(Step::Said { program });
                }
            }
            steps.extend((0..chosen[mix].policies.len()).map(|policy| Step::Mix { mix, policy }));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(programs: &[usize]) -> Mix {
        Mix {
            name: "m".to_owned(),
            arrivals: (0..).zip(programs.iter().copied()).collect(),
            policies: vec!["equi".to_owned(), "batch".to_owned()],
            quick: false,
        }
    }

    fn count(steps: &[Step], what: impl Fn(&Step) -> bool) -> usize {
        steps.iter().filter(|step| what(step)).count()
    }

    #[test]
    fn every_cell_runs_once_a_round_after_its_programs_alone() {
        let mixes = [mix(&[4, 4]), mix(&[4, 7]), mix(&[4])];
        let chosen: Vec<&Mix> = mixes.iter().collect();
        let steps = schedule(&chosen, &[1, 2], 3);
        for (mix, policy) in [(0, 0), (1, 1), (2, 0)] {
            assert_eq!(count(&steps, |step| *step == Step::Mix { mix, policy }), 3);
        }
        let alone = |program, processors| count(&steps, |step| *step == Step::Alone { program, processors });
        assert_eq!([alone(4, 1), alone(4, 2), alone(7, 1), alone(7, 2)], [6, 6, 3, 3]);
        for program in [4, 7] {
            let first = steps.iter().position(|step| *step == Step::Said { program });
            let uses = |step: &Step| matches!(step, Step::Mix { mix, .. } if mixes[*mix].programs().contains(&program));
            assert!(first < steps.iter().position(uses), "{steps:?}");
            assert_eq!(count(&steps, |step| *step == Step::Said { program }), 1);
        }
        // The second round begins when every cell has run once.
        let seen: Vec<usize> = (0..steps.len()).filter(|&at| steps[at] == Step::Mix { mix: 0, policy: 0 }).collect();
        assert_eq!(count(&steps[..seen[1]], |step| matches!(step, Step::Mix { .. })), 6);
    }
}
