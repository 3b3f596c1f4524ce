//! The environment and the processors that a program of a mix gets in each set-up.

use super::mix::{Member, Mix};
use super::setup::Setup;

/// The effect of a set-up on one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// Variables to set.
    pub env: Vec<(&'static str, String)>,
    /// Positions among the machine's processors the program is confined to; `None` = all.
    pub processors: Option<Vec<usize>>,
}

/// The terms of part `index` of `mix` on a machine of `processors`; the hog comes after the
/// members.
pub fn terms(setup: Setup, mix: &Mix, index: usize, processors: usize) -> Terms {
    let member = mix.members.get(index);
    match setup {
        Setup::Ideal | Setup::Static if mix.parts() > 1 => {
            let share = share(index, mix.parts(), processors);
            Terms { env: member.map(|_| threads(share.len())).unwrap_or_default(), processors: Some(share) }
        }
        Setup::Dynamic => Terms { env: with(asked(member, processors), ("OMP_DYNAMIC", "true")), processors: None },
        Setup::Passive => {
            Terms { env: with(asked(member, processors), ("OMP_WAIT_POLICY", "passive")), processors: None }
        }
        _ => Terms { env: asked(member, processors), processors: None },
    }
}

/// Consecutive processors of part `index` of `parts`, the first ones larger by one; round-robin
/// where parts outnumber processors.
fn share(index: usize, parts: usize, processors: usize) -> Vec<usize> {
    if parts >= processors {
        return vec![index % processors];
    }
    let bound = |i: usize| i * (processors / parts) + i.min(processors % parts);
    (bound(index)..bound(index + 1)).collect()
}

/// The variables that the mix itself gives the program, in every set-up that does not decide them.
fn asked(member: Option<&Member>, processors: usize) -> Vec<(&'static str, String)> {
    let multiple = member.and_then(|member| member.threads_per_processor);
    multiple.map(|multiple| threads(multiple * processors)).unwrap_or_default()
}

fn threads(count: usize) -> Vec<(&'static str, String)> {
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"].map(|name| (name, count.to_string())).to_vec()
}

fn with(mut env: Vec<(&'static str, String)>, one: (&'static str, &str)) -> Vec<(&'static str, String)> {
    env.push((one.0, one.1.to_owned()));
    env
}

#[cfg(test)]
mod tests {
    use super::super::mix;
    use super::*;

    fn mix(name: &str) -> Mix {
        mix::all().into_iter().find(|mix| mix.name == name).expect("such a mix")
    }

    #[test]
    fn shares_are_disjoint_and_cover_the_machine() {
        for (parts, processors) in [(1, 2), (2, 2), (2, 5), (3, 8), (7, 64)] {
            let all: Vec<usize> = (0..parts).flat_map(|index| share(index, parts, processors)).collect();
            assert_eq!(all, (0..processors).collect::<Vec<_>>(), "{parts} on {processors}");
        }
        assert_eq!((0..4).map(|index| share(index, 4, 2)).collect::<Vec<_>>(), [[0], [1], [0], [1]]);
    }

    #[test]
    fn the_hog_has_its_own_processor_in_the_ideal_set_up_only() {
        let mix = mix("hog/gcc/sor");
        assert_eq!(terms(Setup::Ideal, &mix, 0, 2).processors, Some(vec![0]));
        assert_eq!(terms(Setup::Ideal, &mix, 1, 2), Terms { env: vec![], processors: Some(vec![1]) });
        assert_eq!(terms(Setup::Numaestro, &mix, 1, 2), Terms::default());
    }

    #[test]
    fn more_threads_than_processors_are_asked_for_by_the_mix_and_corrected_by_hand() {
        let mix = mix("threads/gcc/cg");
        assert!(terms(Setup::Plain, &mix, 0, 2).env.contains(&("OMP_NUM_THREADS", "4".to_owned())));
        assert!(terms(Setup::Passive, &mix, 0, 2).env.contains(&("OMP_WAIT_POLICY", "passive".to_owned())));
        assert!(terms(Setup::Ideal, &mix, 0, 2).env.contains(&("OMP_NUM_THREADS", "1".to_owned())));
    }

    #[test]
    fn what_is_the_same_is_not_measured_twice() {
        assert_eq!(mix("pair/gcc/sor").same_as(Setup::Static), Setup::Ideal);
        assert_eq!(mix("early/gcc/sor+ep").same_as(Setup::Static), Setup::Static);
        assert_eq!(mix("alone/gcc/sor").same_as(Setup::Plain), Setup::Ideal);
        assert_eq!(mix("pair/gcc/sor").same_as(Setup::Plain), Setup::Plain);
        assert_eq!(terms(Setup::Ideal, &mix("alone/gcc/sor"), 0, 2), Terms::default());
    }
}
