//! The cost of an arrangement, in integers.
//!
//! The unit is one processor for which data are one firmware unit of distance farther away than its
//! own memory (local = 10, the next package usually 20 or 32). The cost of an arrangement is the
//! sum of
//! ```text
//! spread     × each processor's distance from its program's main group (the group from which the sum is smallest)
//! memory     × each processor's distance from its program's pages, weighted by bytes
//! move       × processors that a program has and had not before
//! isolation  × pairs of programs in one group
//! ```

use super::board::Board;
use super::ground::Ground;
use super::memory::Distances;

/// The weights of the parts of the cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// Distance of a program's processors from each other.
    pub spread: u32,
    /// Distance of its processors from its pages.
    pub memory: u32,
    /// A processor that changes hands: what a move must save at least.
    pub moves: u32,
    /// Two programs in one group.
    pub isolation: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { spread: 1, memory: 3, moves: 4, isolation: 1 }
    }
}

/// Ground, memory and weights together.
#[derive(Debug, Clone, Copy)]
pub struct Costs<'a> {
    /// Groups and distances.
    pub ground: &'a Ground,
    /// Distances from pages.
    pub memory: &'a Distances,
    /// Weights.
    pub weights: Weights,
}

/// The change in cost of each processor of a program that goes from one group to another.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    program: usize,
    from: usize,
    to: usize,
    /// Distance by which each is farther from the main group.
    from_main: i64,
    /// Distance by which all are farther before any goes, if `to` becomes the main group; and then
    /// for each that goes.
    new: i64,
    from_new: i64,
    /// Cost that each has in addition by its distance from pages.
    remote: i64,
}

impl Costs<'_> {
    /// Cost of one processor of a program in a group, measured from a main group: spread and
    /// memory.
    #[inline]
    pub fn unit(&self, program: usize, group: usize, main: usize) -> i64 {
        i64::from(self.weights.spread) * i64::from(self.ground.far(group, main)) + self.remote(program, group)
    }

    /// Cost of one processor: memory alone.
    #[inline]
    pub fn remote(&self, program: usize, group: usize) -> i64 {
        i64::from(self.weights.memory) * i64::from(self.memory.of(program, group))
    }

    /// Cost of processors that come into a group besides those that the program has there: moves
    /// alone.
    #[inline]
    pub fn moves(&self, board: &Board, program: usize, group: usize, processors: u16) -> i64 {
        let (have, held) = (board.have(program, group), board.held(program, group));
        let gained = (have + processors).saturating_sub(held) - have.saturating_sub(held);
        i64::from(self.weights.moves) * i64::from(gained)
    }

    /// Cost of moves that is saved by processors that leave a group.
    #[inline]
    fn unmoves(&self, board: &Board, program: usize, group: usize, processors: u16) -> i64 {
        let (have, held) = (board.have(program, group), board.held(program, group));
        let lost = have.saturating_sub(held) - (have - processors).saturating_sub(held);
        i64::from(self.weights.moves) * i64::from(lost)
    }

    /// Cost of so many programs in one group.
    #[inline]
    pub fn crowd(&self, programs: i64) -> i64 {
        i64::from(self.weights.isolation) * (programs * (programs - 1) / 2)
    }

    /// The spread of a program as it is, from a main group.
    pub fn spread(&self, board: &Board, program: usize, main: usize) -> i64 {
        i64::from(self.weights.spread) * self.distance(board, program, main)
    }

    /// The main group of a program: of those it is in the one from which it is spread least, of
    /// equals the one it has, then the first. With the spread.
    pub fn main(&self, board: &Board, program: usize) -> (usize, i64) {
        let now = board.main(program);
        let measured = board.places(program).map(|main| (self.spread(board, program, main), main != now, main));
        measured.min().map_or((now, 0), |(spread, _, main)| (main, spread))
    }

    /// Sum of the distances of a program's processors from a group, without weight.
    #[inline]
    pub fn distance(&self, board: &Board, program: usize, main: usize) -> i64 {
        let far = |group: usize| i64::from(board.have(program, group)) * i64::from(self.ground.far(group, main));
        board.places(program).map(far).sum()
    }

    /// The way of processors of a program from one group to another, for any number of them; `now`
    /// is its [`Self::distance`] from its main group.
    pub fn way(&self, board: &Board, program: usize, (from, to): (usize, usize), now: i64) -> Way {
        let mut way = self.shortest_way(board, program, (from, to), now);
        self.measure(board, &mut way);
        way
    }

    /// As [`Self::way`], if the program were no distance from the new main group: its
    /// [`Self::shift`] is never more than the true one, and costs less to know.
    #[inline]
    pub fn shortest_way(&self, board: &Board, program: usize, (from, to): (usize, usize), now: i64) -> Way {
        Way {
            program,
            from,
            to,
            from_main: self.farther((from, to), board.main(program)),
            new: -now,
            from_new: 0,
            remote: self.remote(program, to) - self.remote(program, from),
        }
    }

    /// Makes a shortest way a true one.
    #[inline]
    pub fn measure(&self, board: &Board, way: &mut Way) {
        way.new += self.distance(board, way.program, way.to);
        way.from_new = self.farther((way.from, way.to), way.to);
    }

    /// Distance by which one group is farther than another from a main group.
    #[inline]
    fn farther(&self, (from, to): (usize, usize), main: usize) -> i64 {
        i64::from(self.ground.far(to, main)) - i64::from(self.ground.far(from, main))
    }

    /// Change in cost for a program if so many of its processors go that way: spread, memory and
    /// moves, from its main group or, if that is better, from the new one.
    #[inline]
    pub fn shift(&self, board: &Board, way: &Way, processors: u16) -> i64 {
        let many = i64::from(processors);
        let from_main = many * way.from_main;
        let from_new = way.new + many * way.from_new;
        i64::from(self.weights.spread) * from_main.min(from_new)
            + many * way.remote
            + self.moves(board, way.program, way.to, processors)
            - self.unmoves(board, way.program, way.from, processors)
    }

    /// The whole cost of an arrangement.
    pub fn total(&self, board: &Board) -> i64 {
        let program = |program: usize| {
            let remote = |group: usize| i64::from(board.have(program, group)) * self.remote(program, group);
            self.main(board, program).1
                + board.places(program).map(remote).sum::<i64>()
                + i64::from(self.weights.moves) * i64::from(board.gained(program))
        };
        (0..board.programs()).map(program).sum::<i64>()
            + (0..board.groups()).map(|group| self.crowd(i64::from(board.crowd(group)))).sum::<i64>()
    }
}
