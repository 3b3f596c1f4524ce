//! Groups of groups: pools of pools, clusters of clusters, and how they nest.

use crate::groups::{Formation, FormationError, Groups};
use crate::id::PuId;
use crate::machine::Machine;
use crate::set::PuSet;
use std::ops::Range;

/// Groups on several levels: the groups of each level are parts of groups of the level before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupTree {
    /// From the outermost to the leaves; never empty.
    levels: Vec<Groups>,
    /// By level and group, index of its first child on the next level; one more entry at the end of
    /// each.
    children: Vec<Vec<u32>>,
    /// By level and group, the group of the level before; nothing for the outermost.
    parents: Vec<Vec<u32>>,
}

impl GroupTree {
    /// Forms groups of the PUs of `within` by the first rule, groups of each of these by the
    /// second, and so on. Without a rule all PUs are one group.
    ///
    /// # Errors
    /// A size is zero, or the sizes sum up to more PUs than a group has.
    pub fn form(machine: &Machine, formations: &[Formation], within: &PuSet) -> Result<Self, FormationError> {
        let (first, inner) = match formations.split_first() {
            Some((first, inner)) => (first.clone(), inner),
            None => (Formation::Unequal(Vec::new()), formations),
        };
        let outermost = Groups::form(machine, &first, within)?;
        let mut tree = Self { parents: vec![Vec::new()], children: Vec::new(), levels: vec![outermost] };
        for formation in inner {
            tree.add_level(machine, formation)?;
        }
        Ok(tree)
    }

    fn add_level(&mut self, machine: &Machine, formation: &Formation) -> Result<(), FormationError> {
        let above = self.leaves();
        let (mut groups, mut parents, mut starts) = (Vec::<Vec<PuId>>::new(), Vec::new(), vec![0]);
        for parent in 0..above.len() {
            let inside = Groups::form(machine, formation, above.set(parent))?;
            groups.extend(inside.iter().map(<[PuId]>::to_vec));
            parents.resize(groups.len(), parent as u32);
            starts.push(groups.len() as u32);
        }
        self.levels.push(Groups::new(groups, machine.pu_count()));
        self.parents.push(parents);
        self.children.push(starts);
        Ok(())
    }

    /// Number of levels; at least 1.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The groups of a level; 0 = the outermost.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn level(&self, level: usize) -> &Groups {
        &self.levels[level]
    }

    /// The groups of the last level.
    pub fn leaves(&self) -> &Groups {
        &self.levels[self.levels.len() - 1]
    }

    /// The groups of the next level that a group consists of; none for a leaf.
    ///
    /// # Panics
    /// If there is no such level or group.
    pub fn children(&self, level: usize, group: usize) -> Range<usize> {
        match self.children.get(level) {
            Some(starts) => starts[group] as usize..starts[group + 1] as usize,
            None => 0..0,
        }
    }

    /// The group of the level before that a group is part of; `None` for the outermost.
    ///
    /// # Panics
    /// If there is no such level or group.
    pub fn parent(&self, level: usize, group: usize) -> Option<usize> {
        (level > 0).then(|| self.parents[level][group] as usize)
    }
}
