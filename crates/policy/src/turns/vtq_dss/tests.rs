//! Tests of VTQ-DSS: gangs, holes, quanta; and on random cases that no hole is idle, that every
//! application runs and that processor times draw near.

use super::*;
use crate::conformance::Case;
use crate::part::Share;
use crate::random::Random;
use crate::share::dss::Dss;
use crate::shares::Shares;
use crate::turns::machinery::testing::{ids, random_case, random_change};
use crate::view::Slot;

const FIRST: u64 = 100_000;
const SHORTEST: u64 = 10_000;

fn policy(k_milli: u32) -> VtqDss {
    VtqDss::new(k_milli, FIRST, SHORTEST)
}

/// Asks, divides, carries it out: the processors of each application, and the end of the turn.
fn decide(case: &mut Case, turns: &mut VtqDss) -> (Vec<(AppId, u32)>, Option<u64>) {
    let (turn, end) = case.turn(turns);
    for app in &mut case.apps {
        app.turn = u32::MAX;
    }
    for &(slot, limit) in turn.limits() {
        case.apps[slot.index()].turn = limit;
    }
    let mut shares = Shares::new();
    shares.reset(case.apps.len());
    case.with_view(|view| Dss::default().divide(&View { order: &turn.running, ..*view }, &mut shares));
    for (slot, app) in case.apps.iter_mut().enumerate() {
        app.allocation = shares.count(Slot(slot as u32));
    }
    let running = turn.running.iter().map(|&slot| (case.apps[slot.index()].id, shares.count(slot))).collect();
    (running, end)
}

fn running(case: &mut Case, turns: &mut VtqDss) -> Vec<(u64, u32)> {
    decide(case, turns).0.into_iter().map(|(app, count)| (app.0, count)).collect()
}

/// Lets time pass until it wants to be asked again.
fn pass(case: &mut Case, turns: &mut VtqDss) -> Vec<(u64, u32)> {
    let (running, end) = decide(case, turns);
    case.now_ns = end.unwrap_or(case.now_ns + FIRST);
    running.into_iter().map(|(app, count)| (app.0, count)).collect()
}

#[test]
fn gangs_follow_each_other_and_the_end_of_the_list_fills_holes() {
    let mut case = Case::new(8).wants(&[5, 3, 6, 4]);
    let mut turns = policy(1000);
    assert_eq!(pass(&mut case, &mut turns), [(1, 5), (2, 3)]);
    assert_eq!(turns.repository, ids(&[4]));
    // The first has had more than its part: next time it gets 3/5 of the quantum, less the time it
    // is ahead by.
    assert_eq!(pass(&mut case, &mut turns), [(3, 6), (4, 2)], "cut to the hole");
    assert_eq!(pass(&mut case, &mut turns), [(1, 5), (2, 3)], "the fourth has run");
    let filled = [(2, 3), (3, 1), (4, 4)];
    assert_eq!(pass(&mut case, &mut turns), filled, "and runs where the first is stopped; the third has the rest");
}

#[test]
fn who_finds_no_hole_is_a_gang_at_the_end_of_the_round() {
    let mut case = Case::new(8).wants(&[8, 8, 4]);
    let mut turns = policy(1000);
    let gangs: Vec<_> = (0..4).map(|_| pass(&mut case, &mut turns)).collect();
    assert_eq!(gangs, [vec![(1, 8)], vec![(2, 8)], vec![(1, 4), (3, 4)], vec![(1, 8)]]);
}

/// Table 2 of the paper at its beginning: nobody's quantum is over, so the repository gets no hole
/// and is a gang at the end of the round. It asks for half of the machine; the largest application
/// gets the other half instead of waiting.
#[test]
fn where_the_repository_is_a_gang_those_that_wait_have_the_rest() {
    let mut case = Case::new(64).wants(&[32, 24, 8, 8, 8, 8, 8]);
    let mut turns = policy(1000).equalizing(0);
    assert_eq!(pass(&mut case, &mut turns), [(1, 32), (2, 24), (3, 8)]);
    assert_eq!(pass(&mut case, &mut turns), [(1, 32), (4, 8), (5, 8), (6, 8), (7, 8)]);
    assert_eq!(pass(&mut case, &mut turns), [(1, 32), (2, 24), (3, 8)]);
}

#[test]
fn quanta_equalize_as_far_as_they_are_to() {
    let quantum = |equal: u32| {
        let mut case = Case::new(64).wants(&[32, 8]);
        let mut turns = policy(1000).equalizing(equal);
        for _ in 0..2 {
            let began = turns.began;
            while turns.began == began {
                pass(&mut case, &mut turns);
            }
        }
        turns.records[0].quantum_ns
    };
    assert_eq!((quantum(0), quantum(100)), (FIRST, SHORTEST));
    assert_eq!(quantum(50), u64::midpoint(FIRST, SHORTEST));
}

#[test]
fn holes_go_to_the_first_that_fits_then_in_turn() {
    let mut case = Case::new(8).wants(&[8, 4, 1, 2]);
    let mut turns = policy(1000);
    assert_eq!(running(&mut case, &mut turns), [(1, 8)]);
    assert_eq!(turns.repository, ids(&[2, 3, 4]));
    case.apps[0].request = 5;
    case.now_ns += 1000;
    assert_eq!(running(&mut case, &mut turns), [(1, 5), (3, 1), (4, 2)], "the second does not fit");
    case.apps[0].request = 8;
    assert_eq!(running(&mut case, &mut turns), [(1, 5), (3, 1), (4, 2)], "what was given away is");
    case.order.remove(3);
    assert_eq!(
        running(&mut case, &mut turns),
        [(1, 5), (2, 2), (3, 1)],
        "somebody goes: another hole, another one cut to it"
    );
    case.now_ns += FIRST;
    assert_eq!(running(&mut case, &mut turns), [(1, 8)], "the second and the third have run");
}

#[test]
fn a_cut_one_gets_more_if_nobody_else_is_there() {
    let mut case = Case::new(8).wants(&[7, 4]);
    let mut turns = policy(1000);
    assert_eq!(running(&mut case, &mut turns), [(1, 7), (2, 1)]);
    case.apps[0].request = 5;
    assert_eq!(running(&mut case, &mut turns), [(1, 5), (2, 3)]);
}

#[test]
fn a_gang_ends_when_nobody_of_it_is_left() {
    let mut case = Case::new(4).wants(&[4, 4, 3]);
    let mut turns = policy(1000);
    assert_eq!(running(&mut case, &mut turns), [(1, 4)]);
    case.order.remove(0);
    case.now_ns += 10;
    assert_eq!(decide(&mut case, &mut turns), (vec![(AppId(2), 4)], Some(10 + FIRST)));
    case.order.clear();
    assert_eq!(decide(&mut case, &mut turns), (vec![], None));
}

#[test]
fn more_than_the_machine_in_a_gang_is_divided_and_then_kept() {
    let mut case = Case::new(8).wants(&[8, 8, 4, 8]);
    let mut turns = policy(2000);
    assert_eq!(running(&mut case, &mut turns), [(1, 4), (2, 4)]);
    case.now_ns += 10;
    case.order.remove(0);
    assert_eq!(running(&mut case, &mut turns), [(2, 4), (3, 4)], "the hole is the repository's");
}

/// Members of a gang get the same processor time, if their counts differ by less than quanta may
/// differ.
#[test]
fn processor_times_draw_near() {
    let mut random = Random::new(21);
    for _ in 0..200 {
        let requests: Vec<u32> = (0..2 + random.below(5)).map(|_| 1 + random.below(9)).collect();
        let mut case = Case::new(64).wants(&requests);
        let mut turns = policy(1000);
        // Thousandths of the mean.
        let spread = |turns: &VtqDss| {
            let times = || turns.records.iter().map(|record| record.cpu_ns);
            let mean = times().sum::<u64>() / turns.records.len() as u64;
            (times().max().unwrap() - times().min().unwrap()) * 1000 / mean.max(1)
        };
        let mut spreads = Vec::new();
        for _ in 0..80 {
            let began = turns.began;
            while turns.began == began {
                pass(&mut case, &mut turns);
            }
            spreads.push(spread(&turns));
        }
        // The first spread is from before any has run.
        assert!(spreads[1..].windows(2).all(|pair| pair[1] <= pair[0] + 5), "{requests:?}: {spreads:?}");
        assert!(spreads[79] * 4 <= spreads[1], "{requests:?}: {spreads:?}");
    }
}

/// After every event gangs fit, no hole is idle that an application that waits could use,
/// and every application runs within two rounds.
#[test]
fn holes_are_filled_and_everybody_runs() {
    let mut random = Random::new(22);
    for _ in 0..200 {
        let (mut case, k) = (random_case(&mut random), 500 + random.below(2000));
        let mut turns = policy(k);
        let mut waited: Vec<(AppId, u32)> = Vec::new();
        for _ in 0..150 {
            random_change(&mut case, &mut random);
            let began = turns.began;
            let (running, end) = decide(&mut case, &mut turns);
            check_gang(&case, &turns, k, began != turns.began);
            check_holes(&case, &turns, &running);
            if began != turns.began {
                let ran = |app: AppId| running.iter().any(|&(other, count)| other == app && count > 0);
                let gangs = |app| waited.iter().find(|(other, _)| *other == app).map_or(0, |&(_, gangs)| gangs);
                let records = turns.records.iter().map(|record| record.app);
                waited = records.map(|app| (app, if ran(app) { 0 } else { gangs(app) + 1 })).collect();
                // Twenty at the start, and those that have come since; two rounds of them at most.
                let most = 2 * (case.apps.len() as u32 + 1);
                assert!(waited.iter().all(|&(_, gangs)| gangs <= most), "{waited:?}");
            }
            let end = end.unwrap_or(case.now_ns + FIRST);
            let passed = if random.below(3) == 0 { u64::from(random.below(FIRST as u32)) } else { u64::MAX };
            case.now_ns = end.min(case.now_ns.saturating_add(passed));
        }
    }
}

fn check_gang(case: &Case, turns: &VtqDss, k_milli: u32, formed: bool) {
    let members: Vec<_> = turns.records.iter().filter(|record| record.role == Role::Member).collect();
    let requests: u64 = case.with_view(|view| {
        let slots = members.iter().filter_map(|record| turns.ring.find(view, record.app));
        slots.map(|slot| u64::from(request(view, slot))).sum()
    });
    let budget = case.pus.len() as u64 * u64::from(k_milli) / 1000;
    assert!(!formed || members.len() <= 1 || requests <= budget, "{requests} of {budget}");
    let quanta = turns.records.iter().map(|record| record.quantum_ns);
    assert!(quanta.into_iter().all(|quantum| (SHORTEST..=FIRST).contains(&quantum)));
}

fn check_holes(case: &Case, turns: &VtqDss, running: &[(AppId, u32)]) {
    let given: u32 = running.iter().map(|&(_, count)| count).sum();
    assert!(running.iter().all(|&(_, count)| count > 0), "{running:?}");
    let hole = case.pus.len() as u32 - given;
    let waiting = turns.records.iter().filter(|record| record.role == Role::Waits).map(|record| &record.app);
    for app in turns.repository.iter().chain(waiting) {
        let there = case.apps.iter().find(|other| other.id == *app).unwrap();
        let runs = running.iter().any(|(other, _)| other == app);
        assert!(hole == 0 || runs || there.min > hole, "{app} could use {hole}: {running:?} {turns:?}");
    }
}

/// The time that a gang has had with other requests is not made up for: beside a member that asks
/// for next to nothing no quantum is short enough, and the others would pay for that for ever.
#[test]
fn another_request_is_another_gang() {
    let mut case = Case::new(64).wants(&[32, 2]);
    let mut turns = policy(1000);
    let gangs = |case: &mut Case, turns: &mut VtqDss, number: u32| {
        for _ in 0..number {
            let began = turns.began;
            while turns.began == began {
                pass(case, turns);
            }
        }
    };
    gangs(&mut case, &mut turns, 50);
    assert_eq!(turns.records[0].quantum_ns, SHORTEST);
    case.apps[1].request = 8;
    gangs(&mut case, &mut turns, 5);
    let [first, second] = [0, 1].map(|at: usize| turns.records[at].cpu_ns);
    assert!(first.abs_diff(second) <= 32 * FIRST, "{first} and {second}");
    // 8 processors for the whole gang, 32 for a quarter of it.
    gangs(&mut case, &mut turns, 20);
    assert!(turns.records[0].quantum_ns > 2 * SHORTEST, "{:?}", turns.records);
}
