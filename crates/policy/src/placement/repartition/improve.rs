//! Makes small changes to an arrangement, as long as they pay.
//!
//! ```text
//! until nothing changes, the budget is used up or some sweeps are over:
//!   of the processors that are farthest from where their program would have them, each in turn, the best of
//!     going to a group with room             changing with another program's in a better group
//!     taking another program's place in a better group, while that one goes where there is room
//!   of the programs that are farthest from what they could have at best: all of its processors somewhere else
//! ```
//! Each change is made only if it lowers the cost, moves included. The budget counts places looked
//! at, so that the same situation always ends in the same arrangement.

use super::board::Board;
use super::cost::Costs;
use super::nest::{fill, nest};
use crate::random::{Random, Tie};
use std::cmp::Reverse;

/// Sweeps at most.
const SWEEPS: usize = 6;
/// Places that may be looked at in one decision.
const BUDGET: u32 = 24_000;
/// Processors (those of a program in a group together) that are tried in one sweep.
const STRAYS: usize = 48;
/// Better groups that are tried for one of them.
const BETTER: usize = 6;
/// Programs that are tried elsewhere as a whole in one sweep.
const NESTS: usize = 3;

/// Buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct Improve {
    strays: Vec<(Reverse<i64>, u32, u32)>,
    homeless: Vec<(Reverse<i64>, u32)>,
    row: Vec<u16>,
    distances: MainDistances,
    budget: u32,
}

/// Sum of each program's distances from its main group, if it was asked for since it last changed.
#[derive(Debug, Clone, Default)]
struct MainDistances {
    known: Vec<Option<i64>>,
}

impl MainDistances {
    fn reset(&mut self, programs: usize) {
        self.known.clear();
        self.known.resize(programs, None);
    }

    fn forget(&mut self, program: usize) {
        self.known[program] = None;
    }

    fn of(&mut self, board: &Board, costs: &Costs<'_>, program: usize) -> i64 {
        *self.known[program].get_or_insert_with(|| costs.distance(board, program, board.main(program)))
    }
}

/// A change and its saving.
#[derive(Debug, Clone, Copy)]
struct Change {
    delta: i64,
    to: usize,
    processors: u16,
    /// The program that makes room, and the group that it goes to; `None` if there is room.
    other: Option<(usize, usize)>,
}

impl Improve {
    /// Improves the arrangement.
    pub(super) fn run(&mut self, board: &mut Board, costs: &Costs<'_>) {
        self.budget = BUDGET;
        for _ in 0..SWEEPS {
            let swept = self.sweep(board, costs);
            let moved = self.resettle(board, costs);
            if !swept && !moved || self.budget == 0 {
                return;
            }
        }
    }

    /// Tries the processors that are farthest away. True if something has changed.
    fn sweep(&mut self, board: &mut Board, costs: &Costs<'_>) -> bool {
        let mut strays = std::mem::take(&mut self.strays);
        strays.clear();
        for program in 0..board.programs() {
            let main = board.main(program);
            for group in board.places(program) {
                let away = costs.unit(program, group, main);
                if away > 0 {
                    strays.push((Reverse(away), program as u32, group as u32));
                }
            }
        }
        if strays.len() > STRAYS {
            strays.select_nth_unstable(STRAYS);
            strays.truncate(STRAYS);
        }
        strays.sort_unstable();
        self.distances.reset(board.programs());
        let mut changed = false;
        for &(_, program, group) in &strays {
            if self.budget == 0 {
                break;
            }
            changed |= self.place_stray(board, costs, program as usize, group as usize);
        }
        self.strays = strays;
        changed
    }

    fn place_stray(&mut self, board: &mut Board, costs: &Costs<'_>, program: usize, from: usize) -> bool {
        if board.have(program, from) == 0 {
            return false;
        }
        let main = board.main(program);
        let away = costs.unit(program, from, main);
        let better = |&group: &u16| costs.unit(program, usize::from(group), main) < away;
        let by_main = costs.ground.near(main).iter().take(2 * BETTER);
        let by_pages = self.nearest_to_pages(costs, program).map_or(&[][..], |group| costs.ground.near(group));
        let (places, now) = (board.places(program).count() as u32, self.distances.of(board, costs, program));
        let mut best: Option<Change> = None;
        for &to in by_main.chain(by_pages.iter().take(2)).filter(|group| better(group)).take(BETTER) {
            self.consider(board, costs, (program, from, usize::from(to)), (places, now), &mut best);
        }
        let Some(change) = best else { return false };
        let Change { to, processors, other, .. } = change;
        match other {
            None => {
                board.leave(program, from, processors);
                board.take(program, to, processors);
            }
            Some((other, goes)) if goes == from => board.exchange((program, from), (other, to), processors),
            Some((other, goes)) => {
                board.leave(other, to, processors);
                board.take(other, goes, processors);
                board.leave(program, from, processors);
                board.take(program, to, processors);
            }
        }
        for changed in [Some(program), other.map(|(other, _)| other)].into_iter().flatten() {
            let (main, _) = costs.main(board, changed);
            board.set_main(changed, main);
            self.distances.forget(changed);
        }
        true
    }

    /// A group in which a processor is as near as can be to the known pages of a program.
    fn nearest_to_pages(&mut self, costs: &Costs<'_>, program: usize) -> Option<usize> {
        let nearest = costs.memory.nearest(program)?;
        self.spend(costs.ground.groups() as u32 / 8);
        Some(nearest)
    }

    /// Tries all ways of getting processors of a program from one group to another. It is in so
    /// many places, and `now` is its distance from its main group.
    fn consider(
        &mut self,
        board: &Board,
        costs: &Costs<'_>,
        (program, from, to): (usize, usize, usize),
        (places, now): (u32, i64),
        best: &mut Option<Change>,
    ) {
        let have = board.have(program, from);
        let room = board.room()[to];
        let mine = costs.way(board, program, (from, to), now);
        if room > 0 {
            let processors = have.min(room);
            self.spend(places);
            let crowds = crowding(board, costs, (program, from, to), None, processors);
            let delta = costs.shift(board, &mine, processors) + crowds;
            if delta < best.map_or(0, |best| best.delta) {
                *best = Some(Change { delta, to, processors, other: None });
            }
        }
        if room >= have {
            return;
        }
        // At best one program less is in each of the two groups.
        let alone =
            |group: usize| costs.crowd(i64::from(board.crowd(group)) - 1) - costs.crowd(i64::from(board.crowd(group)));
        let least_crowds = alone(from) + alone(to);
        // Change for this program if so many go: nearly always the same number.
        let mut known = (0, 0);
        for other in board.members(to).filter(|&other| other != program) {
            let theirs = board.have(other, to);
            let theirs_now = self.distances.of(board, costs, other);
            let mut try_to = |goes: usize, processors: u16| {
                if known.0 != processors {
                    known = (processors, costs.shift(board, &mine, processors));
                }
                let mut its = costs.shortest_way(board, other, (to, goes), theirs_now);
                let mine = known.1;
                // Most groups are not worth it even at best.
                let most = best.map_or(0, |best| best.delta) - mine;
                if costs.shift(board, &its, processors) + least_crowds >= most {
                    return;
                }
                costs.measure(board, &mut its);
                let its = costs.shift(board, &its, processors);
                let crowds = crowding(board, costs, (program, from, to), Some((other, goes)), processors);
                if its + crowds < most {
                    let other = Some((other, goes));
                    *best = Some(Change { delta: mine + its + crowds, to, processors, other });
                }
            };
            try_to(from, have.min(theirs));
            self.budget = self.budget.saturating_sub(places + 4);
            let open = |&&group: &&u16| board.room()[usize::from(group)] > 0 && usize::from(group) != to;
            if board.has_room()
                && let Some(&goes) = costs.ground.near(board.main(other)).iter().take(BETTER).find(open)
            {
                try_to(usize::from(goes), have.min(theirs).min(board.room()[usize::from(goes)]));
                self.budget = self.budget.saturating_sub(places + 4);
            }
        }
    }

    /// Tries the programs that are farthest from their best arrangement somewhere else as a whole.
    /// True if one has moved.
    fn resettle(&mut self, board: &mut Board, costs: &Costs<'_>) -> bool {
        let mut homeless = std::mem::take(&mut self.homeless);
        homeless.clear();
        for program in 0..board.programs() {
            let excess = excess(board, costs, program);
            if excess > 0 {
                homeless.push((Reverse(excess), program as u32));
            }
        }
        homeless.sort_unstable();
        let mut moved = false;
        for &(_, program) in homeless.iter().take(NESTS) {
            if self.budget == 0 {
                break;
            }
            moved |= self.resettle_one(board, costs, program as usize);
        }
        self.homeless = homeless;
        moved
    }

    fn resettle_one(&mut self, board: &mut Board, costs: &Costs<'_>, program: usize) -> bool {
        self.spend(board.groups() as u32 * 4);
        let (before, main) = (whole(board, costs, program), board.main(program));
        let mut row = std::mem::take(&mut self.row);
        board.copy_row(program, &mut row);
        board.take_up(program);
        if let Some((found, _)) = nest(board, costs, program, Tie::Lowest, &mut Random::new(0)) {
            board.set_main(program, found);
            fill(board, costs, program);
            let (main, _) = costs.main(board, program);
            board.set_main(program, main);
        }
        let better = whole(board, costs, program) < before;
        if !better {
            board.take_up(program);
            board.put_back(program, &row);
            board.set_main(program, main);
        }
        self.row = row;
        better
    }

    fn spend(&mut self, places: u32) {
        self.budget = self.budget.saturating_sub(places);
    }
}

/// Change in isolation when processors of a program go from one group to another, and those of
/// another one in the opposite direction or somewhere else.
fn crowding(
    board: &Board,
    costs: &Costs<'_>,
    (program, from, to): (usize, usize, usize),
    other: Option<(usize, usize)>,
    processors: u16,
) -> i64 {
    if costs.weights.isolation == 0 {
        return 0;
    }
    let leaves = |program: usize, group: usize| i64::from(board.have(program, group) == processors);
    let enters = |program: usize, group: usize| i64::from(board.have(program, group) == 0);
    let pairs = |group: usize, change: i64| {
        let crowd = i64::from(board.crowd(group));
        costs.crowd(crowd + change) - costs.crowd(crowd)
    };
    let (mut here, mut there) = (-leaves(program, from), enters(program, to));
    let mut elsewhere = 0;
    if let Some((other, goes)) = other {
        there -= leaves(other, to);
        if goes == from {
            here += enters(other, from);
        } else {
            elsewhere = pairs(goes, enters(other, goes));
        }
    }
    pairs(from, here) + pairs(to, there) + elsewhere
}

/// Whole cost of a program, its part of isolation included.
fn whole(board: &Board, costs: &Costs<'_>, program: usize) -> i64 {
    let place = |group: usize| {
        let crowd = i64::from(board.crowd(group));
        i64::from(board.have(program, group)) * costs.remote(program, group) + costs.crowd(crowd)
            - costs.crowd(crowd - 1)
    };
    costs.spread(board, program, board.main(program))
        + board.places(program).map(place).sum::<i64>()
        + i64::from(costs.weights.moves) * i64::from(board.gained(program))
}

/// Cost of spread and memory above that of the program if it were alone.
fn excess(board: &Board, costs: &Costs<'_>, program: usize) -> i64 {
    let main = board.main(program);
    let (mut left, mut ideal) = (board.total(program), 0);
    for &group in costs.ground.near(main) {
        let taken = left.min(costs.ground.members(usize::from(group)).len() as u16);
        ideal += i64::from(taken) * i64::from(costs.ground.far(usize::from(group), main));
        left -= taken;
        if left == 0 {
            break;
        }
    }
    let spread = costs.spread(board, program, main) - i64::from(costs.weights.spread) * ideal;
    let Some(row) = costs.memory.row(program) else { return spread };
    debug_assert_eq!(row.iter().min(), Some(&costs.memory.least(program)), "a row has changed and not said so");
    let least = i64::from(costs.memory.least(program)) * i64::from(costs.weights.memory);
    let remote = |group: usize| i64::from(board.have(program, group)) * (costs.remote(program, group) - least);
    spread + board.places(program).map(remote).sum::<i64>()
}
