//! Tests the promises of Brecht 1997 about pools, on random sequences of arrivals, creations and
//! ends of threads, one at a time.
//!
//! * I1 an application goes to a pool it is not in only if every pool it is in is full;
//! * I2 first-fit never skips a lower-numbered pool with a free processor;
//! * I3 worst-fit: the chosen pool has no fewer free processors than every other;
//! * I4 empty-pool: nobody is in the pool in which an application starts;
//! * I5 pools of one size, worst-fit, nobody wider than a pool and a pool for each: everybody in
//!   one pool, nobody in another's;
//! * I6 a thread never moves: see `placement_conformance`;
//! * I7 refused only if no processor is free (empty-pool: at arrival only if no pool is empty).

use super::pool_config::{InPool, PoolConfig};
use super::pooled::{Pooled, Rule};
use crate::conformance::Case;
use crate::placement::{
    best_fit::BestFitRule, empty_pool::EmptyPoolRule, first_fit::FirstFitRule, worst_fit::WorstFitRule,
    worst_fit_jobs::WorstFitJobsRule,
};
use crate::random::Random;
use crate::view::Slot;
use numaestro_topology::{Formation, Groups, PuId};

/// A machine, its pools, and applications that come and go thread by thread.
struct Trial<R> {
    case: Case,
    pools: Groups,
    placement: Pooled<R>,
    random: Random,
}

/// One processor was taken.
struct Taken {
    before: Case,
    app: usize,
    pu: PuId,
}

impl<R: Rule> Trial<R> {
    fn new(machine: &str, formation: &Formation, apps: usize, seed: u64) -> Self {
        let case = Case::on(machine).wants(&vec![64; apps]);
        let pools = Groups::form(&case.machine, formation, &case.machine.all()).unwrap();
        let placement = Pooled::new(PoolConfig::default().formed(vec![formation.clone()]), seed);
        Self { case, pools, placement, random: Random::new(seed) }
    }

    /// A thread of a random application is created, or ends. `None` if nothing was taken; I7 is
    /// checked here.
    fn step(&mut self, widest: u32) -> Option<Taken> {
        let mut counts: Vec<u32> = self.case.apps.iter().map(|app| app.allocation).collect();
        let app = self.random.below(counts.len() as u32) as usize;
        if counts[app] > 0 && self.random.below(5) < 2 {
            let own: Vec<_> = self.case.apps[app].own.iter().collect();
            let ended = own[self.random.below(own.len() as u32) as usize];
            self.case.pus[ended.index()].idle = true;
            counts[app] -= 1;
            self.case.place(&mut self.placement, &counts);
            assert!(!self.case.apps[app].own.contains(ended), "another one than the idle one was taken");
            return None;
        }
        let free = self.case.pus.len() as u32 - counts.iter().sum::<u32>();
        if free == 0 || counts[app] >= widest {
            return None;
        }
        counts[app] += 1;
        let before = self.case.clone();
        self.case.place(&mut self.placement, &counts);
        let new = self.case.apps[app].own.iter().find(|&pu| !before.apps[app].own.contains(pu));
        let Some(pu) = new else {
            let no_pool_is_empty = (0..self.pools.len()).all(|pool| Self::jobs(&self.pools, &before, pool) > 0);
            assert!(R::SELECTIVE && counts[app] == 1 && no_pool_is_empty, "I7: refused with {free} free");
            return None;
        };
        Some(Taken { before, app, pu })
    }

    fn free(pools: &Groups, case: &Case, pool: usize) -> usize {
        pools.members(pool).iter().filter(|pu| case.pus[pu.index()].next.is_none()).count()
    }

    fn jobs(pools: &Groups, case: &Case, pool: usize) -> usize {
        case.apps.iter().filter(|app| app.own.iter().any(|pu| pools.of(pu) == Some(pool))).count()
    }

    /// I1; true if the application had to go to a pool it was not in.
    fn check_preference(&self, taken: &Taken) -> bool {
        let Taken { before, app, pu } = taken;
        let mine = |pool: usize| {
            before.pus.iter().enumerate().any(|(index, entry)| {
                entry.next == Some(Slot(*app as u32)) && self.pools.of(PuId(index as u32)) == Some(pool)
            })
        };
        let chosen = self.pools.of(*pu).unwrap();
        let mut roomy = (0..self.pools.len()).filter(|&pool| mine(pool) && Self::free(&self.pools, before, pool) > 0);
        assert!(mine(chosen) || roomy.next().is_none(), "I1: {pu}");
        !mine(chosen)
    }
}

/// Runs the sequence on several machines; `check` sees each choice by the rule: the situation
/// before, the pools, the chosen one, arrival or not.
fn audit<R: Rule>(check: impl Fn(&Case, &Groups, usize, bool)) {
    let machines = [
        ("numa:3 core:4 pu:1", 4),
        ("numa:3 core:4 pu:1", 6),
        ("numa:4 core:4 pu:1", 3),
        ("pack:2 l3:2 core:3 pu:2", 5),
    ];
    let mut choices = 0;
    for (seed, (machine, k)) in (0..40).flat_map(|seed| machines.map(|machine| (seed, machine))) {
        let mut trial = Trial::<R>::new(machine, &Formation::Equal(k), 5, seed);
        for _ in 0..60 {
            let Some(taken) = trial.step(u32::MAX) else { continue };
            if trial.check_preference(&taken) {
                let chosen = trial.pools.of(taken.pu).unwrap();
                check(&taken.before, &trial.pools, chosen, taken.before.apps[taken.app].allocation == 0);
                choices += 1;
            }
        }
    }
    assert!(choices > 1000, "only {choices} choices were looked at");
}

#[test]
fn first_fit_never_skips_a_pool() {
    audit::<FirstFitRule>(|before, pools, chosen, _| {
        let skipped = (0..chosen).find(|&pool| Trial::<FirstFitRule>::free(pools, before, pool) > 0);
        assert_eq!(skipped, None, "I2: {chosen}");
    });
}

#[test]
fn worst_fit_takes_the_emptiest() {
    audit::<WorstFitRule>(|before, pools, chosen, _| {
        let free = |pool| Trial::<WorstFitRule>::free(pools, before, pool);
        assert!((0..pools.len()).all(|pool| free(pool) <= free(chosen)), "I3: {chosen}");
    });
}

#[test]
fn best_fit_takes_the_tightest() {
    audit::<BestFitRule>(|before, pools, chosen, _| {
        let free = |pool| Trial::<BestFitRule>::free(pools, before, pool);
        assert!((0..pools.len()).all(|pool| free(pool) == 0 || free(pool) >= free(chosen)), "{chosen}");
    });
}

#[test]
fn worst_fit_by_jobs_takes_the_least_crowded() {
    audit::<WorstFitJobsRule>(|before, pools, chosen, _| {
        let key = |pool| {
            let free = Trial::<WorstFitJobsRule>::free(pools, before, pool);
            (Trial::<WorstFitJobsRule>::jobs(pools, before, pool), usize::MAX - free)
        };
        let open = (0..pools.len()).filter(|&pool| Trial::<WorstFitJobsRule>::free(pools, before, pool) > 0);
        assert!(open.into_iter().all(|pool| key(pool) >= key(chosen)), "{chosen}");
    });
}

#[test]
fn an_application_starts_in_an_empty_pool_and_goes_on_in_the_emptiest() {
    audit::<EmptyPoolRule>(|before, pools, chosen, arrival| {
        let jobs = Trial::<EmptyPoolRule>::jobs(pools, before, chosen);
        let free = |pool| Trial::<EmptyPoolRule>::free(pools, before, pool);
        assert!(!arrival || jobs == 0, "I4: {chosen}");
        assert!(arrival || (0..pools.len()).all(|pool| free(pool) <= free(chosen)), "{chosen}");
    });
}

#[test]
fn worst_fit_isolates_while_there_is_a_pool_for_each() {
    for seed in 0..100 {
        let mut trial = Trial::<WorstFitRule>::new("numa:4 core:4 pu:1", &Formation::Equal(4), 4, seed);
        // All four have arrived before they grow; an application that ends leaves its pool to
        // newcomers.
        trial.case.place(&mut trial.placement, &[1, 1, 1, 1]);
        for _ in 0..60 {
            let alive: Vec<bool> = trial.case.apps.iter().map(|app| app.allocation > 0).collect();
            trial.step(4);
            for pool in 0..4 {
                assert!(Trial::<WorstFitRule>::jobs(&trial.pools, &trial.case, pool) <= 1, "I5, seed {seed}");
            }
            for app in trial.case.apps.iter().zip(alive).filter(|(_, alive)| *alive).map(|(app, _)| app) {
                let mut pools: Vec<_> = app.own.iter().map(|pu| trial.pools.of(pu)).collect();
                pools.dedup();
                assert!(pools.len() <= 1, "I5, seed {seed}: {}", app.own);
            }
        }
    }
}

#[test]
fn pools_of_pools_climb_to_the_nearest_room() {
    let config = || {
        let levels = vec![Formation::Equal(8), Formation::Equal(4), Formation::Equal(2)];
        PoolConfig::lowest().formed(levels)
    };
    let mut worst_fit = Pooled::<WorstFitRule>::new(config(), 0);
    let mut case = Case::new(16).wants(&[16, 16, 16]);
    assert_eq!(case.place(&mut worst_fit, &[1, 1, 0]), ["0", "8", ""]);
    // Its pool of two, the other half of its pool of four, then the rest of its pool of eight, and
    // only then the other side.
    assert_eq!(case.place(&mut worst_fit, &[4, 1, 0])[0], "0-3");
    assert_eq!(case.place(&mut worst_fit, &[5, 1, 0])[0], "0-4");
    // Halves have 3 and 7 free: the third goes to the second half, there to the empty pool of four.
    assert_eq!(case.place(&mut worst_fit, &[5, 1, 1])[2], "12");
    assert_eq!(case.place(&mut worst_fit, &[9, 1, 1])[0], "0-7,10");
}

#[test]
fn one_level_of_nested_pools_is_the_plain_family() {
    for seed in 0..50 {
        let plain = PoolConfig::default().formed(vec![Formation::Equal(4)]);
        let nested = PoolConfig::default().formed(vec![Formation::Equal(12), Formation::Equal(4)]);
        let run = |config: PoolConfig| {
            let mut placement = Pooled::<WorstFitJobsRule>::new(config, seed);
            let mut case = Case::on("numa:3 core:4 pu:1").wants(&[12, 12, 12]);
            [[1, 1, 1], [3, 1, 1], [3, 2, 4], [1, 2, 6]].map(|counts| case.place(&mut placement, &counts))
        };
        // One pool around all others: the same free processors, and the same draws but for the
        // choice of that one pool.
        assert_eq!(run(plain), run(nested), "seed {seed}");
    }
}

#[test]
fn reserved_processors_are_in_no_pool_and_offline_ones_keep_their_place() {
    let mut case = Case::on("numa:4 core:4 pu:1").wants(&[16, 16]);
    (0..4).for_each(|pu| case.pus[pu].state = crate::PuState::Reserved);
    case.pus[4].state = crate::PuState::Offline;
    let mut worst_fit = Pooled::<WorstFitRule>::new(PoolConfig::lowest().formed(vec![Formation::Equal(6)]), 0);
    assert_eq!(case.place(&mut worst_fit, &[1, 0]), ["10", ""]);
    assert_eq!(case.place(&mut worst_fit, &[6, 1]), ["10-15", "5"]);
    assert_eq!(case.place(&mut worst_fit, &[6, 5]), ["10-15", "5-9"]);
    // One of them comes in after all: the pools are formed anew.
    case.pus[3].state = crate::PuState::Free;
    assert_eq!(case.place(&mut worst_fit, &[6, 6])[1], "3,5-9");
}

#[test]
fn inside_a_pool_what_it_had_before_comes_first() {
    let config = PoolConfig { in_pool: InPool::Affinity, ..PoolConfig::lowest() };
    let mut worst_fit = Pooled::<WorstFitRule>::new(config, 0);
    let mut case = Case::on("numa:2 core:4 pu:1").wants(&[4, 4]);
    assert_eq!(case.place(&mut worst_fit, &[4, 0])[0], "0-3");
    case.pus[2].idle = true;
    assert_eq!(case.place(&mut worst_fit, &[3, 0])[0], "0-1,3");
    case.pus[0].idle = true;
    case.pus[1].idle = true;
    assert_eq!(case.place(&mut worst_fit, &[1, 0])[0], "3");
    assert_eq!(case.place(&mut worst_fit, &[2, 0])[0], "0,3");
    case.pus[2].since_ns = 5;
    assert_eq!(case.place(&mut worst_fit, &[3, 0])[0], "0,2-3");
}
