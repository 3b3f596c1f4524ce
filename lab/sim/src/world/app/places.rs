//! The places of an application's threads: its processors as told, and the spread of its threads
//! over them.

use super::super::os::Thread;
use numaestro_topology::{PuId, PuSet};

/// See the file's header.
#[derive(Debug, Default)]
pub struct Places {
    /// Its processors as told last, in rising order.
    list: Vec<PuId>,
    /// Its threads run anywhere on `list`.
    floats: bool,
    /// `list` has changed since its threads were spread.
    moved: bool,
    /// Threads of the team that was spread last; 0: none was, or some threads have been put
    /// elsewhere.
    spread: u32,
    /// By place in `list`: threads there.
    load: Vec<u32>,
    /// Threads that are not where they belong, each with its processor.
    moves: Vec<(u32, u32)>,
    idle: PuSet,
}

impl Places {
    /// It is told its processors. The caller says whether its threads float, and whether anything
    /// but their order is new.
    pub fn allot(&mut self, pus: &PuSet, floats: bool, changed: bool) {
        self.list.clear();
        self.list.extend(pus.iter());
        self.floats = floats;
        self.moved |= changed;
    }

    /// Its processors as told last, in rising order.
    pub fn list(&self) -> &[PuId] {
        &self.list
    }

    /// The processor with this number, counted round and round.
    pub fn nth(&self, number: usize) -> Option<PuId> {
        self.list.get(number % self.list.len().max(1)).copied()
    }

    /// Whether its threads run anywhere on its processors.
    pub fn floats(&self) -> bool {
        self.floats
    }

    /// Whether its places have changed since its threads were spread.
    pub fn have_moved(&self) -> bool {
        self.moved
    }

    /// Its threads have to be spread again.
    pub fn unsettle(&mut self) {
        self.moved = true;
    }

    /// Its first thread is where it belongs.
    pub fn settle(&mut self) {
        self.moved = false;
    }

    /// Its threads may have left the places of a team: the next team is spread anew.
    pub fn scatter(&mut self) {
        self.spread = 0;
    }

    /// Whether a team of this size is where it belongs.
    pub fn are_spread(&self, size: u32) -> bool {
        !self.moved && self.spread == size
    }

    /// Spreads threads evenly, as a team of `size` (0: of none). Threads that already have a right
    /// place stay. Returns the others, each with its processor.
    pub fn spread<'t>(&mut self, size: u32, threads: impl Iterator<Item = (u32, &'t Thread)> + Clone) -> &[(u32, u32)] {
        (self.moved, self.spread) = (false, size);
        let Self { list, floats, load, moves, .. } = self;
        moves.clear();
        let count = threads.clone().count();
        if count == 0 {
            return moves;
        }
        load.clear();
        load.resize(list.len(), 0);
        let most = count.div_ceil(list.len().max(1)) as u32;
        for (id, thread) in threads {
            match list.binary_search(&PuId(thread.pu)) {
                Ok(_) if *floats && thread.floats => {}
                Ok(at) if !*floats && !thread.floats && load[at] < most => load[at] += 1,
                Ok(_) | Err(_) => moves.push((id, 0)),
            }
        }
        let mut at = 0;
        for (_, pu) in moves.iter_mut() {
            // Rising levels of load from the first processor on: the least loaded, of equals the
            // first.
            let level = load.iter().copied().min().unwrap_or(0);
            while load.get(at).is_none_or(|&load| load > level) {
                at = if at + 1 < load.len() { at + 1 } else { 0 };
            }
            load[at] += 1;
            *pu = list[at].0;
        }
        moves
    }

    /// Notes the processors of a set that have nothing to run, for [`Self::take_idle`].
    pub fn find_idle(&mut self, set: &PuSet, busy: impl Iterator<Item = PuId>) {
        self.idle.clone_from(set);
        busy.for_each(|pu| _ = self.idle.remove(pu));
    }

    /// The next one of the processors that [`Self::find_idle`] has noted.
    pub fn take_idle(&mut self) -> Option<PuId> {
        let first = self.idle.first()?;
        self.idle.remove(first);
        Some(first)
    }
}
