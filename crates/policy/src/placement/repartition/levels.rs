//! The groups that programs are arranged in: as the hardware has them, or as the pool family forms
//! its pools.

use crate::parameters::Parameters;
use crate::placement::machinery::pool_config::{read_levels, write_levels};
use crate::rejected::Rejected;
use numaestro_topology::{Formation, Level, Machine, PuSet};

/// Most groups: every group is compared with every other.
pub const GROUPS_MAX: usize = 1024;

/// Rules of formation, outermost first; none: every level of the hardware that divides the one
/// before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolLevels(Vec<Formation>);

impl PoolLevels {
    /// Groups formed by these rules, outermost first; several make pools of pools.
    pub const fn formed(levels: Vec<Formation>) -> Self {
        Self(levels)
    }

    /// From the parameters of an answer.
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        Ok(Self(read_levels(parameters)?.unwrap_or_default()))
    }

    /// The parameter, if it is not the default.
    pub(crate) fn write(&self) -> Option<String> {
        write_levels(&self.0)
    }

    /// The rules on this machine: packages, nodes and caches, each level if it has more objects
    /// than the one outside it, as far as there are not too many. A cache that belongs to one core
    /// is no group.
    pub(super) fn on(&self, machine: &Machine, usable: &PuSet) -> Vec<Formation> {
        if !self.0.is_empty() {
            return self.0.clone();
        }
        let mut levels = Vec::new();
        let mut before = 1;
        for level in [Level::Package, Level::NumaNode, Level::Llc] {
            let mut seen = vec![false; machine.pu_count()];
            for pu in usable.iter().take_while(|pu| pu.index() < machine.pu_count()) {
                seen[machine.object(level, pu) as usize] = true;
            }
            let objects = seen.iter().filter(|&&seen| seen).count();
            let too_small = level == Level::Llc && objects >= machine.cores().len();
            if objects > before && objects <= GROUPS_MAX && !too_small {
                levels.push(Formation::ByLevel(level));
                before = objects;
            }
        }
        levels
    }
}
