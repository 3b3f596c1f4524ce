//! Settles a program: chooses the main group of one that has no processors, and takes processors
//! from a main group outwards.

use super::board::Board;
use super::cost::Costs;
use crate::random::{Random, Tie};
use std::cmp::Reverse;

/// The main group from which all processors that a program wants are cheapest, if it takes those
/// free there and then the nearest; none without room. With the cost: spread, memory, moves and
/// isolation. The program has no processors.
pub(super) fn nest(
    board: &Board,
    costs: &Costs<'_>,
    program: usize,
    tie: Tie,
    random: &mut Random,
) -> Option<(usize, i64)> {
    let mut best: Option<(usize, i64)> = None;
    let (mut best_room, mut equals) = (None, 0);
    for main in (0..board.groups()).filter(|&group| board.room()[group] > 0) {
        let most = best.map_or(i64::MAX, |(_, cost)| cost);
        let cost = cost_from(board, costs, program, main, most);
        if cost > most {
            continue;
        }
        if cost < most {
            (best, best_room, equals) = (Some((main, cost)), None, 1);
            continue;
        }
        let room = |main: usize| costs.ground.room_around(board.room(), main);
        let (here, there) = (room(main), *best_room.get_or_insert_with(|| best.map_or(0, |(main, _)| room(main))));
        equals = if here > there { 1 } else { equals + u32::from(here == there) };
        // Every one of n equals is kept with probability 1/n.
        let wins = here > there || here == there && tie == Tie::Random && random.below(equals) == 0;
        if wins {
            (best, best_room) = (Some((main, cost)), Some(here));
        }
    }
    best
}

/// The cost of all processors that a program wants from a main group outwards; above `most` the
/// exact cost is not needed.
fn cost_from(board: &Board, costs: &Costs<'_>, program: usize, main: usize, most: i64) -> i64 {
    let (mut left, mut sum) = (board.seat(program).wanted, 0);
    for &group in costs.ground.near(main) {
        let group = usize::from(group);
        let taken = left.min(board.room()[group]);
        if taken > 0 {
            let crowd = i64::from(board.crowd(group));
            sum += i64::from(taken) * costs.unit(program, group, main)
                + costs.moves(board, program, group, taken)
                + costs.crowd(crowd + 1)
                - costs.crowd(crowd);
            left -= taken;
        }
        if left == 0 || sum > most {
            break;
        }
    }
    sum
}

/// Takes the processors that a program lacks, the cheapest first: by distance from its main group
/// and its pages, and by the cost of a move unless it had them before; of equals those of the group
/// with fewest programs.
pub(super) fn fill(board: &mut Board, costs: &Costs<'_>, program: usize) {
    let main = board.main(program);
    while board.total(program) < board.seat(program).wanted {
        let lack = board.seat(program).wanted - board.total(program);
        let price = |group: usize| {
            let back = board.held(program, group).saturating_sub(board.have(program, group));
            let taken = lack.min(board.room()[group]).min(if back > 0 { back } else { u16::MAX });
            let moves = if back > 0 { 0 } else { i64::from(costs.weights.moves) };
            let crowd = if board.have(program, group) > 0 { 0 } else { board.crowd(group) };
            (costs.unit(program, group, main) + moves, crowd, Reverse(taken), group)
        };
        let open = (0..board.groups()).filter(|&group| board.room()[group] > 0);
        let Some((_, _, Reverse(taken), group)) = open.map(price).min() else { return };
        board.take(program, group, taken);
    }
}
