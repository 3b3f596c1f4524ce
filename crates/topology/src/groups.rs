//! Forms groups of PUs from the tree: pools, clusters, and other groups that policies choose
//! between.
//!
//! Formation follows the pool family of Brecht 1997 (§2, §5): by architecture, of equal size, or of
//! given sizes, always in hardware order so that a pool coincides with or subdivides a group of the
//! hardware wherever that is possible.

use crate::id::PuId;
use crate::machine::Machine;
use crate::nearness::Level;
use crate::set::PuSet;

/// Rule for forming groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formation {
    /// One group for each last-level cache, node or package: the smallest of them that holds
    /// several cores.
    ByArchitecture,
    /// One group for each object of the level.
    ByLevel(Level),
    /// Groups of `k` PUs. If `k` does not divide their number, sizes differ by at most one and none
    /// is above `k`.
    Equal(u32),
    /// Groups of these sizes, in this order; PUs left over form one more group.
    Unequal(Vec<u32>),
}

/// A rule that cannot be followed on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormationError {
    /// A size of 0.
    #[error("a group needs at least one processor")]
    Empty,
    /// Sizes that sum up to more PUs than there are.
    #[error("groups of {wanted} processors in all, but there are {available}")]
    TooMany {
        /// Sum of the sizes.
        wanted: u64,
        /// PUs to form groups of.
        available: u64,
    },
}

/// Disjoint, non-empty groups of PUs, numbered 0.. in hardware order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// Members, group after group.
    members: Vec<PuId>,
    /// Index in `members` where each group begins; one more entry at the end.
    starts: Vec<u32>,
    sets: Vec<PuSet>,
    /// Number of the group, by PU; `u32::MAX` = in none.
    of: Vec<u32>,
}

impl Groups {
    /// Forms groups of the PUs of `within` (usually [`Machine::allowed`]).
    ///
    /// # Errors
    /// A size is zero, or the sizes sum up to more PUs than there are.
    pub fn form(machine: &Machine, formation: &Formation, within: &PuSet) -> Result<Self, FormationError> {
        let pus: Vec<PuId> = within.iter().take_while(|pu| pu.index() < machine.pu_count()).collect();
        let groups = match formation {
            Formation::ByArchitecture => {
                let level = first_with_several(machine, &pus, [Level::Llc, Level::NumaNode, Level::Package], 1);
                split_by(&pus, |pu| machine.object(level, pu))
            }
            Formation::ByLevel(level) => split_by(&pus, |pu| machine.object(*level, pu)),
            Formation::Equal(0) => return Err(FormationError::Empty),
            Formation::Equal(k) => equal(machine, &pus, *k as usize),
            Formation::Unequal(sizes) => unequal(&pus, sizes)?,
        };
        Ok(Self::new(groups, machine.pu_count()))
    }

    pub(crate) fn new(groups: Vec<Vec<PuId>>, pu_count: usize) -> Self {
        let mut out = Self {
            members: Vec::new(),
            starts: vec![0],
            sets: Vec::with_capacity(groups.len()),
            of: vec![u32::MAX; pu_count],
        };
        for (number, group) in groups.into_iter().enumerate() {
            for &pu in &group {
                out.of[pu.index()] = number as u32;
            }
            out.sets.push(group.iter().copied().collect());
            out.members.extend(group);
            out.starts.push(out.members.len() as u32);
        }
        out
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Says whether there are none (no PUs to form them of).
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Members of a group in hardware order.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn members(&self, group: usize) -> &[PuId] {
        &self.members[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// Members of a group as a set.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn set(&self, group: usize) -> &PuSet {
        &self.sets[group]
    }

    /// The group of a PU; `None` if it is in none.
    pub fn of(&self, pu: PuId) -> Option<usize> {
        self.of.get(pu.index()).copied().filter(|&group| group != u32::MAX).map(|group| group as usize)
    }

    /// All groups in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[PuId]> {
        (0..self.len()).map(|group| self.members(group))
    }
}

impl Machine {
    /// Groups of the allowed PUs, one for each object of the level that has any.
    pub fn groups(&self, level: Level) -> Groups {
        Groups::new(split_by(&self.allowed.iter().collect::<Vec<_>>(), |pu| self.object(level, pu)), self.pu_count())
    }

    /// Number of the object of this level that holds a PU.
    ///
    /// # Panics
    /// If it is not a PU of this machine.
    pub fn object(&self, level: Level, pu: PuId) -> u32 {
        let found = self.pu(pu);
        match level {
            Level::Pu => pu.0,
            Level::Core => found.core,
            Level::Llc => found.llc,
            Level::NumaNode => found.node.0,
            Level::Package => found.package,
            Level::Machine => 0,
        }
    }
}

/// Puts PUs with the same key together, in the order of first appearance.
fn split_by(pus: &[PuId], key: impl Fn(PuId) -> u32) -> Vec<Vec<PuId>> {
    let mut group_of = std::collections::BTreeMap::new();
    let mut groups: Vec<Vec<PuId>> = Vec::new();
    for &pu in pus {
        let group = *group_of.entry(key(pu)).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(pu);
    }
    groups
}

fn unequal(pus: &[PuId], sizes: &[u32]) -> Result<Vec<Vec<PuId>>, FormationError> {
    let wanted: u64 = sizes.iter().copied().map(u64::from).sum();
    if sizes.contains(&0) {
        return Err(FormationError::Empty);
    }
    if wanted > pus.len() as u64 {
        return Err(FormationError::TooMany { wanted, available: pus.len() as u64 });
    }
    let mut rest = pus;
    let mut groups = Vec::with_capacity(sizes.len() + 1);
    for &size in sizes {
        let (group, after) = rest.split_at(size as usize);
        groups.push(group.to_vec());
        rest = after;
    }
    if !rest.is_empty() {
        groups.push(rest.to_vec());
    }
    Ok(groups)
}

/// Two candidates, and the one with fewer PUs away from the hardware group that most of their pool
/// is in; if equal, plain slices of the hardware order (the cases Brecht 1997 prints for 12 PUs in
/// 3 stations are all slices).
fn equal(machine: &Machine, pus: &[PuId], k: usize) -> Vec<Vec<PuId>> {
    let station = station_level(machine, pus);
    let sizes = sizes(pus.len(), k);
    let sliced = slices(pus, &sizes);
    let whole = whole_first(&split_by(pus, |pu| machine.object(station, pu)), &sizes);
    let cost = |groups: &[Vec<PuId>]| -> usize { groups.iter().map(|group| strays(machine, station, group)).sum() };
    if cost(&whole) < cost(&sliced) { whole } else { sliced }
}

/// The paper's "station": a NUMA node of several cores; where there is only one node, or each is a
/// single core, a package or an LLC.
fn station_level(machine: &Machine, pus: &[PuId]) -> Level {
    first_with_several(machine, pus, [Level::NumaNode, Level::Package, Level::Llc], 2)
}

/// The first of these levels of which there are `least` objects and one holds several cores; the
/// machine if there is none.
fn first_with_several(machine: &Machine, pus: &[PuId], levels: [Level; 3], least: usize) -> Level {
    let cores = |group: &Vec<PuId>| split_by(group, |pu| machine.object(Level::Core, pu)).len();
    let divides = |&level: &Level| {
        let groups = split_by(pus, |pu| machine.object(level, pu));
        groups.len() >= least && groups.iter().any(|group| cores(group) > 1)
    };
    levels.into_iter().find(divides).unwrap_or(Level::Machine)
}

/// As few groups as possible of at most `k`, as even as possible.
fn sizes(total: usize, k: usize) -> Vec<usize> {
    let count = total.div_ceil(k);
    (0..count).map(|number| total / count + usize::from(number < total % count)).collect()
}

fn slices(pus: &[PuId], sizes: &[usize]) -> Vec<Vec<PuId>> {
    let mut rest = pus.iter().copied();
    sizes.iter().map(|&size| rest.by_ref().take(size).collect()).collect()
}

/// Whole stations to each pool while they fit, then the rest in order.
fn whole_first(stations: &[Vec<PuId>], sizes: &[usize]) -> Vec<Vec<PuId>> {
    let mut pools: Vec<Vec<PuId>> = vec![Vec::new(); sizes.len()];
    let mut left: Vec<&[PuId]> = stations.iter().map(Vec::as_slice).collect();
    for (pool, &size) in pools.iter_mut().zip(sizes) {
        while let Some(fits) = left.iter().position(|station| pool.len() + station.len() <= size) {
            pool.extend(left.remove(fits));
        }
    }
    let mut rest = left.into_iter().flatten().copied();
    for (pool, &size) in pools.iter_mut().zip(sizes) {
        let missing = size - pool.len();
        pool.extend(rest.by_ref().take(missing));
        pool.sort_unstable();
    }
    pools
}

/// Members outside the station that holds most of the group.
fn strays(machine: &Machine, station: Level, group: &[PuId]) -> usize {
    let most = split_by(group, |pu| machine.object(station, pu)).iter().map(Vec::len).max().unwrap_or(0);
    group.len() - most
}
