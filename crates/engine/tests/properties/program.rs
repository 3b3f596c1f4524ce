//! A program as the property test sees it: what it has been told, and what it has said.

use numaestro_engine::Settings;
use numaestro_topology::{PuId, PuSet};

/// What one program has been told.
#[derive(Debug, Default, Clone)]
pub struct Program {
    pub started: bool,
    pub class_folds: bool,
    pub targets: Vec<(u32, PuSet, bool)>,
    /// Its processors by the latest target, whether it is there or not.
    pub told: PuSet,
    pub adopted: u32,
    /// What it has said to be idle, until it is given it anew.
    pub idle: PuSet,
    /// What it has left by being idle there, until it is given it anew.
    pub left: PuSet,
    /// Epoch and time of the latest `Force`.
    pub forced: (u32, u64),
    /// It has been stopped and not gone on since.
    pub stopped: bool,
}

impl Program {
    /// While it was folded at once, old targets did not count; they must not come back.
    pub fn forget_past(&mut self) {
        if self.class_folds {
            let past = self.targets.len().saturating_sub(1);
            self.targets[..past].iter_mut().for_each(|(_, pus, _)| pus.clear());
        }
    }

    /// Nothing of it runs, wherever it was, and nothing of it is idle. It still knows its latest
    /// target: it is there if it could not be stopped.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.idle.clear();
        self.targets.iter_mut().for_each(|(_, pus, _)| pus.clear());
    }

    /// It has nothing to do there: where it has been told to go away, that is its going.
    pub fn say_idle(&mut self, idle: &PuSet) {
        self.idle.clone_from(idle);
        if let Some((.., shared)) = self.targets.last() {
            let told_to_leave = if *shared { idle.clone() } else { idle.difference(&self.told) };
            self.left = self.left.union(&told_to_leave);
        }
    }

    /// What is idle and not its own any more it has left already. As a guest nothing is its own;
    /// who shares what it owns is not told apart.
    pub fn leave_idle(&mut self, pus: &PuSet, shared: bool) {
        if shared {
            self.left = self.left.union(&self.idle);
        } else {
            self.left = self.left.union(&self.idle).difference(pus);
            self.idle = self.idle.difference(&pus.difference(&self.told));
        }
        self.told.clone_from(pus);
    }

    /// Where it may be as an owner that was promised to be alone.
    pub fn alone_on(&self, pu: PuId, now: u64) -> bool {
        let since = if self.class_folds { self.targets.len().saturating_sub(1) } else { 0 };
        let (epoch, at) = self.forced;
        let gone = if now >= at + Settings::default().grace_ns { epoch } else { 0 };
        let mut current = self.targets[since..].iter().filter(|(epoch, ..)| *epoch >= self.adopted.max(gone));
        !self.left.contains(pu)
            && !self.idle.contains(pu)
            && current.any(|(_, pus, shared)| !shared && pus.contains(pu))
    }
}
