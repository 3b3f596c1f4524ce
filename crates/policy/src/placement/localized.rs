//! As near as possible to the application's first processor.
//!
//! **Source**: Brecht 1993, §4.
//!
//! **Terms**: first(j) = the processor on which application j started; level(s, p) = how far p is
//! from s, counted from 1.
//!
//! **Algorithm**
//! ```text
//! j has no processor: first(j) = a random free one
//! j grows:            for l = 1, 2, …: F = free p with level(first(j), p) = l; a random one of the first F that is not empty
//! ```
//! A level is the smallest group of the hardware that holds both processors; where groups are the
//! same, the distance of their nodes, which on machines without a hierarchy is the number of hops.
//!
//! **Differs from the paper**: processors come and go as the share part says. An application that
//! was there before the policy counts from the processor it has had longest.
//!
//! **Use when** machines are hierarchical and applications share data. **Avoid when** several
//! applications grow at once: nothing keeps them apart (`worst-fit`).

use super::machinery::surplus::Surplus;
use crate::answer::Answer;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::random::{Random, Tie};
use crate::shares::Shares;
use crate::view::{AppId, Slot, View};
use numaestro_topology::{Distance, PuId};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info {
        name: "localized",
        summary: "As near as possible to the application's first processor, level by level",
        source: "Brecht 1993, §4",
    },
    build: |given| Ok(Box::new(Localized::new(given.tie()?.unwrap_or(Tie::Random), given.seed()))),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct Localized {
    /// Config: the rule for ties among processors of a level. Default: random (§4: "any one of").
    tie: Tie,
    random: Random,
    surplus: Surplus,
    /// first(j), by slot.
    first: Vec<Option<(AppId, PuId)>>,
    /// Free processors and their levels, nearest first.
    candidates: Vec<(Distance, u64, PuId)>,
}

impl Localized {
    /// With a rule for ties and the seed of its random stream.
    pub fn new(tie: Tie, seed: u64) -> Self {
        let (random, surplus) = (Random::new(seed), Surplus::default());
        Self { tie, random, surplus, first: Vec::new(), candidates: Vec::new() }
    }
}

impl Placement for Localized {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        if self.tie == Tie::Random { String::new() } else { "tie=lowest".into() }
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.surplus.release(view, shares, plan);
        for &slot in view.order {
            let lacking = shares.count(slot).saturating_sub(plan.count(slot)) as usize;
            if lacking > 0 {
                let first = self.first_of(view, plan, slot);
                self.take_nearest(view, plan, slot, first, lacking);
            }
        }
    }
}

impl Localized {
    /// first(j). It stays the same as long as j has processors, also when another application has
    /// it now. Without any, a free one is chosen.
    fn first_of(&mut self, view: &View<'_>, plan: &Plan, slot: Slot) -> PuId {
        let app = view.app(slot);
        if self.first.len() <= slot.index() {
            self.first.resize(slot.index() + 1, None);
        }
        let known = self.first[slot.index()].filter(|&(id, _)| id == app.id && app.allocation > 0);
        let longest = || app.own.iter().min_by_key(|&pu| (view.pu(pu).since_ns, pu));
        let first = known.map(|(_, first)| first).or_else(longest).unwrap_or_else(|| self.any_free(plan));
        self.first[slot.index()] = Some((app.id, first));
        first
    }

    fn any_free(&mut self, plan: &Plan) -> PuId {
        let nth = match self.tie {
            Tie::Lowest => 0,
            Tie::Random => self.random.below(plan.free().len() as u32),
        };
        plan.free().iter().nth(nth as usize).expect("the counts sum up to no more than there are processors")
    }

    /// Level by level: the nearest `lacking` free ones.
    fn take_nearest(&mut self, view: &View<'_>, plan: &mut Plan, slot: Slot, first: PuId, lacking: usize) {
        self.candidates.clear();
        for pu in plan.free() {
            let tie = match self.tie {
                Tie::Lowest => u64::from(pu.0),
                Tie::Random => self.random.draw(),
            };
            self.candidates.push((view.machine.distance(first, pu), tie, pu));
        }
        if lacking < self.candidates.len() {
            self.candidates.select_nth_unstable(lacking);
            self.candidates.truncate(lacking);
        }
        for &(_, _, pu) in &self.candidates {
            plan.give(pu, slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use std::collections::BTreeSet;

    /// Four stations of four processors (Brecht 1993, §5).
    const HECTOR: &str = "numa:4 core:4 pu:1";

    fn lowest() -> Localized {
        Localized::new(Tie::Lowest, 0)
    }

    #[test]
    fn a_station_is_filled_before_the_next_is_begun() {
        for seed in 0..64 {
            let mut case = Case::on(HECTOR).wants(&[16]);
            let mut localized = Localized::new(Tie::Random, seed);
            for count in [1, 2, 3, 4] {
                case.place(&mut localized, &[count]);
            }
            let stations: BTreeSet<_> = case.apps[0].own.iter().map(|pu| pu.0 / 4).collect();
            assert_eq!(stations.len(), 1, "{}", case.apps[0].own);
        }
    }

    #[test]
    fn levels_count_from_the_first_also_when_it_is_gone() {
        let mut case = Case::on(HECTOR).wants(&[16, 16]);
        case.give(Slot(0), PuId(5), 3);
        case.give(Slot(0), PuId(9), 1);
        let mut localized = lowest();
        // Taken over from another policy: processor 9, which it has had longest, stands for the
        // first.
        assert_eq!(case.place(&mut localized, &[3, 0])[0], "5,8-9");
        case.pus[9].idle = true;
        assert_eq!(case.place(&mut localized, &[2, 4]), ["5,8", "0-3"]);
        assert_eq!(case.place(&mut localized, &[4, 4])[0], "5,8-10");
    }

    #[test]
    fn the_first_processor_is_any() {
        let first = |seed| {
            let mut case = Case::on(HECTOR).wants(&[1]);
            case.place(&mut Localized::new(Tie::Random, seed), &[1])
        };
        assert_eq!(first(3), first(3));
        assert!((0..200).map(first).collect::<BTreeSet<_>>().len() == 16);
    }

    #[test]
    fn one_processor_and_nobody() {
        assert_eq!(Case::new(1).wants(&[1]).place(&mut lowest(), &[1]), ["0"]);
        assert!(Case::new(1).place(&mut lowest(), &[]).is_empty());
    }

    #[test]
    fn no_free_processor_is_nearer_than_one_that_was_taken() {
        // Invariant of the rule, on random situations: applications grow one by one and lose idle
        // processors.
        let mut random = Random::new(11);
        for round in 0..300 {
            let mut case = Case::on("pack:2 numa:2 l3:2 core:2 pu:2").wants(&[32, 32, 32]);
            let mut localized = Localized::new(Tie::Random, round);
            let mut firsts = [None; 3];
            for _ in 0..40 {
                let before = case.clone();
                let mut counts: Vec<u32> = case.apps.iter().map(|app| app.allocation).collect();
                let who = random.below(3) as usize;
                if random.below(3) == 0 {
                    counts[who] = counts[who].saturating_sub(1);
                } else if counts.iter().sum::<u32>() < 32 {
                    counts[who] += 1;
                }
                case.place(&mut localized, &counts);
                if counts[who] == 0 {
                    firsts[who] = None;
                }
                for pu in case.apps[who].own.iter().filter(|&pu| !before.apps[who].own.contains(pu)) {
                    let first = *firsts[who].get_or_insert(pu);
                    let level = |pu| case.machine.distance(first, pu);
                    let free = (0..32).map(PuId).filter(|&free| case.pus[free.index()].next.is_none());
                    assert!(free.into_iter().all(|free| level(free) >= level(pu)), "round {round}: {pu} from {first}");
                }
            }
        }
    }
}
