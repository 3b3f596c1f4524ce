//! The choice of groups for all programs together: who keeps what, where newcomers go, and what is worth a move. Knows no processor by name.
//!
//! ```text
//! 1. who has too many keeps those nearest together, and loses the others, the farthest first
//! 2. who has too few takes more, those that lack most first: nearest to its main group and its pages;
//!    one that has none chooses its main group by the cost of all it would have from there
//! 3. see `improve`: processors change hands as long as that saves more than it costs, within a fixed budget
//! ```

use super::board::Board;
use super::cost::{Costs, Weights};
use super::ground::Ground;
use super::improve::Improve;
use super::memory::Distances;
use crate::random::{Random, Tie};
use std::cmp::Reverse;

/// State and buffers. Fill in [`Self::board`] and [`Self::memory`], then [`Self::arrange`].
#[derive(Debug, Clone)]
pub struct Arranger {
    /// How much each part of the cost counts.
    pub weights: Weights,
    /// Who has what where.
    pub board: Board,
    /// Where pages are.
    pub memory: Distances,
    tie: Tie,
    random: Random,
    lacking: Vec<(Reverse<u16>, usize)>,
    improve: Improve,
}

impl Arranger {
    /// With weights, a rule for ties, and the seed of its random stream.
    pub fn new(weights: Weights, tie: Tie, seed: u64) -> Self {
        Self {
            weights,
            board: Board::default(),
            memory: Distances::default(),
            tie,
            random: Random::new(seed),
            lacking: Vec::new(),
            improve: Improve::default(),
        }
    }

    /// The rule for ties.
    pub fn tie(&self) -> Tie {
        self.tie
    }

    /// Arranges everybody. Afterwards everybody has what it wants, as far as there is room.
    pub fn arrange(&mut self, ground: &Ground) {
        let costs = Costs { ground, memory: &self.memory, weights: self.weights };
        let board = &mut self.board;
        self.lacking.clear();
        for program in 0..board.programs() {
            if board.total(program) > board.seat(program).wanted {
                shrink(board, &costs, program);
            }
            let (main, _) = costs.main(board, program);
            board.set_main(program, main);
            let lack = board.seat(program).wanted - board.total(program);
            if lack > 0 {
                self.lacking.push((Reverse(lack), program));
            }
        }
        self.lacking.sort_unstable();
        for &(_, program) in &self.lacking {
            if board.total(program) == 0
                && let Some((main, _)) = nest(board, &costs, program, self.tie, &mut self.random)
            {
                board.set_main(program, main);
            }
            fill(board, &costs, program);
        }
        self.improve.run(board, &costs);
    }
}

/// Leaves what is above its count.
fn shrink(board: &mut Board, costs: &Costs<'_>, program: usize) {
    let wanted = board.seat(program).wanted;
    let kept = |main: usize| {
        let (mut left, mut sum) = (wanted, 0);
        for &group in costs.ground.near(main) {
            let taken = left.min(board.have(program, usize::from(group)));
            sum += i64::from(taken) * costs.unit(program, usize::from(group), main);
            left -= taken;
            if left == 0 {
                break;
            }
        }
        sum
    };
    let mains = board.places(program).map(|main| (kept(main), Reverse(board.have(program, main)), main));
    let Some((.., main)) = mains.min() else { return };
    while board.total(program) > wanted {
        let surplus = board.total(program) - wanted;
        let worst = board.places(program).max_by_key(|&group| {
            (costs.unit(program, group, main), board.crowd(group), Reverse(board.have(program, group)), group)
        });
        let Some(group) = worst else { return };
        board.leave(program, group, surplus.min(board.have(program, group)));
    }
    board.set_main(program, main);
}

/// The main group from which all that a program wants is cheapest, if it takes what is free there and then what is nearest; none without room.
/// With the cost: spread, memory, moves and isolation. The program has nothing.
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

/// The cost of all that a program wants from a main group outwards; more than `most` is not worth knowing exactly.
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

/// Takes what a program lacks: always the nearest to its main group and its pages, what it had before rather than other, where fewest are.
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
