//! Chooses groups for all programs together. It counts processors by group and names none.
//!
//! ```text
//! 1. a program with too many keeps those nearest together, and loses the others, the farthest first
//! 2. a program with too few takes more, those that lack most first: nearest to its main group and its pages;
//!    one that has none chooses its main group by the cost of all it would have from there
//! 3. see `improve`: processors change hands as long as that saves more than it costs, within a fixed budget
//! ```

use super::board::Board;
use super::cost::{Costs, Weights};
use super::ground::Ground;
use super::improve::Improve;
use super::memory::Distances;
use super::nest::{fill, nest};
use crate::random::{Random, Tie};
use std::cmp::Reverse;

/// State and buffers. Fill in [`Self::board`] and [`Self::memory`], then [`Self::arrange`].
#[derive(Debug, Clone)]
pub struct Arranger {
    /// The weights of the parts of the cost.
    pub weights: Weights,
    /// The processors of each program in each group.
    pub board: Board,
    /// Distances from pages.
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

    /// Arranges all programs. Afterwards each has the processors it wants, as far as there is room.
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

/// Leaves the processors above a program's count.
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
