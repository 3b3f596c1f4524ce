//! Decides which processors move when counts change, so that all programs together are as local as
//! can be with few moves.
//!
//! **Source**: repartitioning with pools, which Brecht 1997 leaves open (§2, §6; the conflict of
//! how many and which: §5.3, §7); pools of pools: §2. Isolation by the pool with most free
//! processors: §6.2. The farthest processors go first: Koita et al. §2.2.
//!
//! **Terms**: group = pool; main group of a program = the one from which its processors are least
//! far; far = the firmware's distance above that to local memory, and a little for each step
//! outwards in the tree of groups.
//!
//! **Algorithm**
//! ```text
//! cost = Σ spread × far(processor, its program's main group) + memory × far(processor, its program's pages, by bytes)
//!      + move × processors that change hands + isolation × pairs of programs in one group
//! 1. a program with too many loses idle ones, then those farthest away; the one that lacks most takes first, nearest to what it has;
//!    a newcomer takes the main group from which all it wants is cheapest, of equals the one with most room around it
//! 2. while that lowers the cost, within a fixed budget: processors go to groups with room, two programs change processors, one takes another's
//!    place and that one goes where there is room, a program goes elsewhere as a whole
//! 3. in a group: what it has not left yet, what it had before, then whole cores (one of each core while there are enough)
//! ```
//! Home = the node of the main group; it moves when most of the program has. Where pages are not
//! known they may be at home, which counts a quarter.
//!
//! **Differs from the paper**: there is no algorithm in it.
//!
//! **Use when** programs come and go on a machine with several nodes or caches. **Avoid when**
//! moving a processor costs programs more than being far away does (many short sequential phases,
//! small data).

mod arrange;
mod board;
mod cost;
mod ground;
mod improve;
mod levels;
mod memory;
mod nest;
mod optimum;
mod seats;
#[cfg(test)]
mod tests;

pub use arrange::Arranger;
pub use board::{Bits, Board, Seat};
pub use cost::{Costs, Weights};
pub use ground::Ground;
pub use levels::{GROUPS_MAX, PoolLevels};
pub use memory::Distances;
pub use optimum::optimum;

use crate::answer::Answer;
use crate::parameters::Parameters;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::random::Tie;
use crate::rejected::Rejected;
use crate::shares::Shares;
use crate::view::{PuState, View};
use numaestro_topology::{Machine, NumaNodeId, PuId, PuSet};
use seats::Seats;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info {
        name: "repartition",
        summary: "All programs together as local as can be: few processors move, and only where it pays",
        source: "left open in Brecht 1997, §2, §5.3, §6",
    },
    build: |given| Ok(Box::new(Repartition::read(given)?)),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct Repartition {
    /// Config: the groups.
    levels: PoolLevels,
    arranger: Arranger,
    ground: Option<Ground>,
    seats: Seats,
    /// By slot: its number in this decision.
    number: Vec<u32>,
}

const NOBODY: u32 = u32::MAX;

impl Placement for Repartition {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        let (weights, usual) = (self.arranger.weights, Weights::default());
        let mut out: Vec<String> = self.levels.write().into_iter().collect();
        if self.arranger.tie() == Tie::Random {
            out.push("tie=random".to_owned());
        }
        for (name, weight, usual) in [
            ("spread", weights.spread, usual.spread),
            ("memory", weights.memory, usual.memory),
            ("move", weights.moves, usual.moves),
            ("isolation", weights.isolation, usual.isolation),
        ] {
            if weight != usual {
                out.push(format!("{name}={weight}"));
            }
        }
        out.join(",")
    }

    fn fits(&self, machine: &Machine, usable: &PuSet) -> Result<(), Rejected> {
        Ground::fits(machine, &self.levels, usable)
    }

    fn gives_homes(&self) -> bool {
        true
    }

    fn moves(&self) -> bool {
        true
    }

    fn reads_memory(&self) -> bool {
        self.arranger.weights.memory > 0
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.seats.release_idle(view, shares, plan);
        let formed = self.ground.take().filter(|ground| ground.is_current(view));
        let ground = formed.unwrap_or_else(|| self.form(view));
        let spread = self.set_board(view, shares, plan, &ground);
        self.arranger.arrange(&ground);
        self.seats.write(view, shares, &ground, &self.arranger.board, spread, plan);
        self.set_homes(view, plan, &ground);
        self.ground = Some(ground);
    }
}

impl Repartition {
    /// With groups, weights, a rule for ties and the seed of its random stream.
    pub fn new(levels: PoolLevels, weights: Weights, tie: Tie, seed: u64) -> Self {
        let arranger = Arranger::new(weights, tie, seed);
        Self { levels, arranger, ground: None, seats: Seats::default(), number: Vec::new() }
    }

    /// From the parameters of an answer.
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let levels = PoolLevels::read(parameters)?;
        let tie = parameters.tie()?.unwrap_or(Tie::Lowest);
        let usual = Weights::default();
        let weights = Weights {
            spread: parameters.weight("spread")?.unwrap_or(usual.spread),
            memory: parameters.weight("memory")?.unwrap_or(usual.memory),
            moves: parameters.weight("move")?.unwrap_or(usual.moves),
            isolation: parameters.weight("isolation")?.unwrap_or(usual.isolation),
        };
        Ok(Self::new(levels, weights, tie, parameters.seed()))
    }

    fn form(&mut self, view: &View<'_>) -> Ground {
        let there = view.pus.iter().enumerate().filter(|(_, pu)| pu.state != PuState::Reserved);
        let of: PuSet = there.map(|(index, _)| PuId(index as u32)).collect();
        let ground = Ground::form(view.machine, &self.levels, of);
        self.arranger.memory.reset(&ground, view.machine.numa_nodes().len());
        ground
    }

    /// Puts all programs on the board. True if none should get a second processor of a core.
    fn set_board(&mut self, view: &View<'_>, shares: &Shares, plan: &Plan, ground: &Ground) -> bool {
        self.number.clear();
        self.number.resize(view.apps.len(), NOBODY);
        let Arranger { board, memory, .. } = &mut self.arranger;
        board.reset(ground.groups(), view.order.len());
        memory.begin();
        let (mut wanted, mut lacking) = (0, 0);
        for (number, &slot) in view.order.iter().enumerate() {
            let count = shares.count(slot);
            self.number[slot.index()] = number as u32;
            board.enter(Seat { wanted: count as u16, number: number as u32 });
            memory.enter(view, ground, slot);
            wanted += count;
            lacking += count.saturating_sub(plan.count(slot));
        }
        for index in 0..view.pus.len() as u32 {
            let pu = PuId(index);
            if let (Some(slot), Some(group)) = (plan.next(pu), ground.of(pu))
                && self.number[slot.index()] != NOBODY
            {
                board.holds(self.number[slot.index()] as usize, group);
            }
        }
        let spread = ground.is_smt() && wanted as usize <= view.machine.cores().len();
        let is_open = |pu: PuId, spread: bool| !spread || is_first_of_empty_core(view, plan, pu);
        let alone = plan.free().iter().filter(|&pu| is_open(pu, spread)).count();
        let spread = spread && alone as u32 >= lacking;
        for pu in plan.free().iter().filter(|&pu| is_open(pu, spread)) {
            if let Some(group) = ground.of(pu) {
                board.add_room(group, 1);
            }
        }
        spread
    }

    /// The node of the main group, if there is none yet or twice as many processors are there.
    fn set_homes(&self, view: &View<'_>, plan: &mut Plan, ground: &Ground) {
        let board = &self.arranger.board;
        for (program, &slot) in view.order.iter().enumerate() {
            if board.total(program) == 0 {
                continue;
            }
            let node = ground.node(board.main(program));
            let home = plan.home(slot);
            if home != Some(node)
                && home.is_none_or(|home| self.on(ground, program, node) >= 2 * self.on(ground, program, home))
            {
                plan.set_home(slot, Some(node));
            }
        }
    }

    /// Processors that a program has on a node.
    fn on(&self, ground: &Ground, program: usize, node: NumaNodeId) -> u32 {
        let board = &self.arranger.board;
        let there = board.places(program).filter(|&group| ground.node(group) == node);
        there.map(|group| u32::from(board.have(program, group))).sum()
    }
}

/// Says whether its core is empty and no free sibling comes before it.
fn is_first_of_empty_core(view: &View<'_>, plan: &Plan, pu: PuId) -> bool {
    let mut siblings = view.machine.smt_siblings(pu).iter();
    siblings.all(|sibling| plan.next(sibling).is_none() && (sibling >= pu || !plan.free().contains(sibling)))
}
