//! Finds the best arrangement by trying all of them, to measure how far from it the quick one
//! stays. Only for small cases.

use super::board::Board;
use super::cost::Costs;

/// One way of having a program's processors.
struct Way {
    /// Spread, memory and moves.
    cost: i64,
    by_group: Vec<u16>,
}

/// The open choices, and those made.
struct Search<'a> {
    costs: &'a Costs<'a>,
    ways: Vec<Vec<Way>>,
    /// By program: the least cost of it and all after it.
    least: Vec<i64>,
    room: Vec<u16>,
    crowd: Vec<i64>,
    best: i64,
}

/// The least cost of an arrangement in which each program has the processors it wants, from a board
/// before anything is arranged. Takes time exponential in programs and groups: up to five of the
/// former and four of the latter it is milliseconds.
///
/// # Panics
/// If there is not room for all.
pub fn optimum(costs: &Costs<'_>, board: &Board) -> i64 {
    let mut room: Vec<u16> = board.room().to_vec();
    for program in 0..board.programs() {
        for group in board.places(program) {
            room[group] += board.have(program, group);
        }
    }
    let ways: Vec<Vec<Way>> = (0..board.programs()).map(|program| ways(costs, board, program, &room)).collect();
    let mut least = vec![0; ways.len() + 1];
    for program in (0..ways.len()).rev() {
        least[program] = least[program + 1] + ways[program].first().map_or(0, |way| way.cost);
    }
    let crowd = vec![0; room.len()];
    let mut search = Search { costs, ways, least, room, crowd, best: i64::MAX };
    search.choose(0, 0);
    assert!(search.best < i64::MAX, "there is no room for what all want");
    search.best
}

impl Search<'_> {
    fn choose(&mut self, program: usize, cost: i64) {
        if program == self.ways.len() {
            self.best = self.best.min(cost);
            return;
        }
        for number in 0..self.ways[program].len() {
            let way = &self.ways[program][number];
            if cost + way.cost + self.least[program + 1] >= self.best {
                // The others of this program cost more.
                return;
            }
            if way.by_group.iter().zip(&self.room).any(|(wanted, room)| wanted > room) {
                continue;
            }
            let chosen = way.by_group.clone();
            let mut after = cost + way.cost;
            for (group, &processors) in chosen.iter().enumerate().filter(|&(_, &processors)| processors > 0) {
                after += self.costs.crowd(self.crowd[group] + 1) - self.costs.crowd(self.crowd[group]);
                self.crowd[group] += 1;
                self.room[group] -= processors;
            }
            if after + self.least[program + 1] < self.best {
                self.choose(program + 1, after);
            }
            for (group, &processors) in chosen.iter().enumerate().filter(|&(_, &processors)| processors > 0) {
                self.crowd[group] -= 1;
                self.room[group] += processors;
            }
        }
    }
}

/// All ways of giving a program the processors it wants, the cheapest first.
fn ways(costs: &Costs<'_>, board: &Board, program: usize, room: &[u16]) -> Vec<Way> {
    let mut out = Vec::new();
    let mut by_group = vec![0; room.len()];
    divide(board.seat(program).wanted, 0, room, &mut by_group, &mut |by_group| {
        let used = || by_group.iter().enumerate().filter(|&(_, &processors)| processors > 0);
        let spread = |main: usize| {
            let far =
                |(group, &processors): (usize, &u16)| i64::from(processors) * i64::from(costs.ground.far(group, main));
            used().map(far).sum::<i64>()
        };
        let least = used().map(|(main, _)| spread(main)).min().unwrap_or(0);
        let rest: i64 = used()
            .map(|(group, &processors)| {
                let gained = processors.saturating_sub(board.held(program, group));
                i64::from(processors) * costs.remote(program, group)
                    + i64::from(costs.weights.moves) * i64::from(gained)
            })
            .sum();
        let cost = i64::from(costs.weights.spread) * least + rest;
        out.push(Way { cost, by_group: by_group.to_vec() });
    });
    out.sort_by_key(|way| way.cost);
    out
}

fn divide(left: u16, group: usize, room: &[u16], by_group: &mut Vec<u16>, found: &mut impl FnMut(&[u16])) {
    if group == room.len() {
        if left == 0 {
            found(by_group);
        }
        return;
    }
    for processors in 0..=left.min(room[group]) {
        by_group[group] = processors;
        divide(left - processors, group + 1, room, by_group, found);
    }
    by_group[group] = 0;
}
