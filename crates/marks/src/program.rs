//! One program, as the watch knows it: the targets that it was told, and its answers.

use numaestro_engine::PageHome;
use numaestro_topology::{PuId, PuSet};

/// What a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Doing {
    #[default]
    Parallel,
    Lending,
    Wrapping,
}

/// See the file's header.
#[derive(Debug, Clone, Default)]
// Each is a fact of its own.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Program {
    /// Epoch and processors of its targets, from the one that it answered last.
    targets: Vec<(u32, PuSet)>,
    pub adopted: u32,
    pub shared: bool,
    pub lent: bool,
    pub started: bool,
    /// Its place in the queue; 0: it does not wait.
    pub position: u32,
    pub stopped: bool,
    /// It could not be stopped at some time.
    pub unstoppable: bool,
    pub doing: Doing,
    /// Processors that it came with.
    pub claim: PuSet,
    pub idle: PuSet,
    /// Processors that it called idle were taken away.
    pub idle_taken: bool,
    /// Epoch of the latest force.
    pub forced: u32,
    pub home: Option<PageHome>,
}

impl Program {
    /// One that comes with these processors.
    pub fn coming_with(claim: PuSet) -> Self {
        Self { claim, ..Self::default() }
    }

    /// Epoch of its latest target; 0: none.
    pub fn epoch(&self) -> u32 {
        self.targets.last().map_or(0, |(epoch, _)| *epoch)
    }

    /// The processors of its latest target.
    pub fn told(&self) -> PuSet {
        self.targets.last().map(|(_, pus)| pus.clone()).unwrap_or_default()
    }

    /// Processors where it may still be, and was told not to be.
    pub fn leaving(&self) -> PuSet {
        let Some(((_, told), former)) = self.targets.split_last() else { return PuSet::new() };
        let mut there = PuSet::new();
        for (_, pus) in former {
            there.or_with(pus);
        }
        there.difference(told)
    }

    /// Processors that it was told to have, and has not taken.
    pub fn untaken(&self) -> PuSet {
        if self.epoch() == self.adopted {
            return PuSet::new();
        }
        let taken = self.targets.iter().find(|(epoch, _)| *epoch == self.adopted);
        self.told().difference(&taken.map(|(_, pus)| pus.clone()).unwrap_or_default())
    }

    /// It is told a target.
    pub fn target(&mut self, epoch: u32, pus: &PuSet) {
        self.targets.push((epoch, pus.clone()));
    }

    /// It has carried a target out.
    pub fn adopt(&mut self, epoch: u32) {
        if epoch <= self.epoch() {
            self.adopted = self.adopted.max(epoch);
            self.targets.retain(|(epoch, _)| *epoch >= self.adopted);
        }
    }

    /// It runs nowhere: nothing is left to leave.
    pub fn vacate(&mut self) {
        let former = self.targets.len().saturating_sub(1);
        self.targets.drain(..former);
    }

    /// A processor is not there any more.
    pub fn lose(&mut self, pu: PuId) {
        for (_, pus) in &mut self.targets {
            pus.remove(pu);
        }
    }
}
