//! The set-ups: ways for a user to let programs share a machine; numaestro is one of them.
//!
//! A set-up says which environment and which processors a program gets.

use super::mix::{Member, Mix};

/// One way to run a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setup {
    /// Space-shared by hand with knowledge of the mix: disjoint processors, as many threads.
    Ideal,
    /// Nothing is done.
    Plain,
    /// `OMP_DYNAMIC=true`.
    Dynamic,
    /// Machine / programs threads each, on processors of their own, for the whole run.
    Static,
    /// `OMP_WAIT_POLICY=passive`.
    Passive,
    /// `numaestro run`, default policy.
    Numaestro,
    /// `numaestro run`, `admission=fifo`.
    NumaestroFifo,
}

impl Setup {
    /// All set-ups.
    pub const ALL: [Self; 7] =
        [Self::Ideal, Self::Plain, Self::Dynamic, Self::Static, Self::Passive, Self::Numaestro, Self::NumaestroFifo];
    /// The set-ups where programs run side by side all the time.
    pub const SIDE_BY_SIDE: [Self; 6] =
        [Self::Ideal, Self::Plain, Self::Dynamic, Self::Static, Self::Passive, Self::Numaestro];
    /// The set-ups where there are more programs than processors.
    pub const CROWDED: [Self; 7] = Self::ALL;
    /// The set-ups where no constant division is ideal.
    pub const CHANGING: [Self; 5] = [Self::Plain, Self::Dynamic, Self::Static, Self::Passive, Self::Numaestro];
    /// The set-ups for a program alone.
    pub const ALONE: [Self; 6] = Self::SIDE_BY_SIDE;
    /// The set-ups that numaestro is compared with.
    pub const RIVALS: [Self; 4] = [Self::Plain, Self::Dynamic, Self::Static, Self::Passive];

    /// As the user names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::Plain => "plain",
            Self::Dynamic => "dynamic",
            Self::Static => "static",
            Self::Passive => "passive",
            Self::Numaestro => "numaestro",
            Self::NumaestroFifo => "numaestro-fifo",
        }
    }

    /// Its summary, in a line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Ideal => "space-shared by hand: taskset on disjoint processors and as many threads",
            Self::Plain => "plain Linux, every program asks for the whole machine",
            Self::Dynamic => "OMP_DYNAMIC=true",
            Self::Static => "static split by hand: processors / programs threads each, taskset",
            Self::Passive => "OMP_WAIT_POLICY=passive",
            Self::Numaestro => "numaestro run -- PROGRAM",
            Self::NumaestroFifo => "numaestro run -- PROGRAM, with admission=fifo",
        }
    }

    /// The manager's policy where this set-up has a manager.
    pub fn policy(self) -> Option<&'static str> {
        match self {
            Self::Numaestro => Some("default"),
            Self::NumaestroFifo => Some("admission=fifo"),
            _ => None,
        }
    }

    /// The set-up whose commands are the very same for this mix, so that one set of runs serves
    /// both.
    ///
    /// The ideal division of equal programs *is* a static split; a program alone is split from
    /// nobody.
    pub fn same_as(self, mix: &Mix) -> Self {
        match self {
            Self::Static if mix.setups.contains(&Self::Ideal) => Self::Ideal,
            Self::Plain if mix.parts() == 1 => Self::Ideal,
            other => other,
        }
    }
}

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
        assert_eq!(Setup::Static.same_as(&mix("pair/gcc/sor")), Setup::Ideal);
        assert_eq!(Setup::Static.same_as(&mix("early/gcc/sor+ep")), Setup::Static);
        assert_eq!(Setup::Plain.same_as(&mix("alone/gcc/sor")), Setup::Ideal);
        assert_eq!(Setup::Plain.same_as(&mix("pair/gcc/sor")), Setup::Plain);
        assert_eq!(terms(Setup::Ideal, &mix("alone/gcc/sor"), 0, 2), Terms::default());
    }
}
