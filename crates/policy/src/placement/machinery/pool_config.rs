//! The parameters of the pool family: how pools are formed and filled, read from a policy's text
//! and written to it.

use crate::parameters::Parameters;
use crate::random::Tie;
use crate::rejected::Rejected;
use numaestro_topology::{Formation, GroupTree, Level, Machine, PuSet};

/// The free processor of a pool that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPool {
    /// Any (Brecht 1997, §5.4).
    Random,
    /// The first in hardware order.
    Lowest,
    /// A processor that the application has not left yet, then one that it had before, the latest
    /// first; then by the rule for ties.
    Affinity,
}

/// The rule for an application that starts in an empty pool and outgrows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It goes on in the pool with most free processors.
    WorstFit,
    /// It gets no more.
    Deny,
}

/// Config of all placements over pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolConfig {
    /// Rules of formation, outermost first; several make pools of pools. Default: by architecture
    /// (Brecht 1997, §5.4, §8).
    pub levels: Vec<Formation>,
    /// The rule for ties among equal pools. Default: random (§5.4).
    pub tie: Tie,
    /// The processor of a pool that is taken. Default: random (§5.4), the lowest if ties go to the
    /// lowest.
    pub in_pool: InPool,
    /// The overflow of `empty-pool`. Default: worst-fit (the paper does not say).
    pub overflow: Overflow,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self::with(Tie::Random)
    }
}

impl PoolConfig {
    /// The defaults, with this rule for ties.
    pub fn with(tie: Tie) -> Self {
        let in_pool = default_in_pool(tie);
        Self { levels: vec![Formation::ByArchitecture], tie, in_pool, overflow: Overflow::WorstFit }
    }

    /// The defaults, but the lowest of equals.
    #[cfg(test)]
    pub fn lowest() -> Self {
        Self::with(Tie::Lowest)
    }

    /// This config with pools formed so.
    #[cfg(test)]
    #[must_use]
    pub fn formed(self, levels: Vec<Formation>) -> Self {
        Self { levels, ..self }
    }

    /// From the parameters of an answer. `overflows` = it knows the parameter `overflow`.
    pub(crate) fn read(parameters: &mut Parameters, overflows: bool) -> Result<Self, Rejected> {
        let levels = read_levels(parameters)?;
        let tie = parameters.tie()?.unwrap_or(Tie::Random);
        let kinds = [("random", InPool::Random), ("lowest", InPool::Lowest), ("affinity", InPool::Affinity)];
        let in_pool = parameters.choice("in-pool", &kinds)?.unwrap_or(default_in_pool(tie));
        let mut config = Self { in_pool, ..Self::with(tie) };
        if let Some(levels) = levels {
            config.levels = levels;
        }
        if overflows {
            let kinds = [("worst-fit", Overflow::WorstFit), ("deny", Overflow::Deny)];
            config.overflow = parameters.choice("overflow", &kinds)?.unwrap_or(config.overflow);
        }
        Ok(config)
    }

    /// The parameters that are not the default.
    pub(crate) fn write(&self) -> String {
        let mut out: Vec<_> = write_levels(&self.levels).into_iter().collect();
        if self.tie == Tie::Lowest {
            out.push("tie=lowest".to_owned());
        }
        if self.in_pool != default_in_pool(self.tie) {
            out.push(match self.in_pool {
                InPool::Random => "in-pool=random".to_owned(),
                InPool::Lowest => "in-pool=lowest".to_owned(),
                InPool::Affinity => "in-pool=affinity".to_owned(),
            });
        }
        if self.overflow == Overflow::Deny {
            out.push("overflow=deny".to_owned());
        }
        out.join(",")
    }

    /// Says whether such pools can be formed.
    pub(crate) fn fits(&self, machine: &Machine, usable: &PuSet) -> Result<(), Rejected> {
        let formed = GroupTree::form(machine, &self.levels, usable);
        formed.map(|_| ()).map_err(|error| Rejected::new(format!("pools cannot be formed: {error}")))
    }
}

const fn default_in_pool(tie: Tie) -> InPool {
    match tie {
        Tie::Random => InPool::Random,
        Tie::Lowest => InPool::Lowest,
    }
}

const LEVELS: [(&str, Level); 7] = [
    ("llc", Level::Llc),
    ("node", Level::NumaNode),
    ("numa", Level::NumaNode),
    ("package", Level::Package),
    ("core", Level::Core),
    ("pu", Level::Pu),
    ("machine", Level::Machine),
];

fn word(formation: &Formation) -> String {
    match formation {
        Formation::ByLevel(Level::NumaNode) => "node".to_owned(),
        Formation::ByLevel(level) => level.to_string(),
        Formation::Equal(k) => k.to_string(),
        Formation::ByArchitecture | Formation::Unequal(_) => "architecture".to_owned(),
    }
}

/// As [`read_levels`] reads it; nothing for the default.
pub fn write_levels(levels: &[Formation]) -> Option<String> {
    match levels {
        [] | [Formation::ByArchitecture] => None,
        [Formation::Equal(k)] => Some(format!("equal={k}")),
        [Formation::Unequal(sizes)] => {
            let sizes: Vec<_> = sizes.iter().map(u32::to_string).collect();
            Some(format!("sizes={}", sizes.join("+")))
        }
        [one] => Some(format!("level={}", word(one))),
        several => Some(format!("levels={}", several.iter().map(word).collect::<Vec<_>>().join("/"))),
    }
}

/// `level=llc`, `equal=6`, `sizes=4+8` or `levels=package/llc`: one of them at most.
pub fn read_levels(parameters: &mut Parameters) -> Result<Option<Vec<Formation>>, Rejected> {
    let level = parameters.choice("level", &LEVELS)?.map(|level| vec![Formation::ByLevel(level)]);
    let equal = parameters.number("equal")?.map(|k| vec![Formation::Equal(k)]);
    let sizes = match parameters.value("sizes") {
        Some(text) => Some(vec![Formation::Unequal(read_sizes(&text)?)]),
        None => None,
    };
    let levels = match parameters.value("levels") {
        Some(text) => Some(read_nested(&text)?),
        None => None,
    };
    let mut given = [level, equal, sizes, levels].into_iter().flatten();
    let formation = given.next();
    if given.next().is_some() {
        return Err(Rejected::new(
            "pools are formed by level, of equal size, of given sizes or nested: one of them, not several",
        ));
    }
    Ok(formation)
}

fn read_sizes(text: &str) -> Result<Vec<u32>, Rejected> {
    let wrong = || Rejected::new(format!("`sizes={text}` should be sizes of pools from 1 on, such as sizes=4+8"));
    let size = |word: &str| word.parse().ok().filter(|&size: &u32| (1..=65_536).contains(&size)).ok_or_else(wrong);
    text.split('+').map(size).collect()
}

/// Outermost first; every level is smaller than the one before.
fn read_nested(text: &str) -> Result<Vec<Formation>, Rejected> {
    let wrong = || {
        Rejected::new(format!(
            "`levels={text}` should be levels or sizes of pools, outermost first, such as levels=package/llc or levels=12/4"
        ))
    };
    let formation = |word: &str| {
        let level = LEVELS.iter().find(|(name, _)| *name == word).map(|&(_, level)| Formation::ByLevel(level));
        let size = || word.parse().ok().filter(|size| (1..=65_536).contains(size)).map(Formation::Equal);
        level.or_else(size).ok_or_else(wrong)
    };
    let levels: Vec<Formation> = text.split('/').map(formation).collect::<Result<_, _>>()?;
    let falls = levels.windows(2).all(|pair| match pair {
        [Formation::ByLevel(outer), Formation::ByLevel(inner)] => inner < outer,
        [Formation::Equal(outer), Formation::Equal(inner)] => inner < outer,
        _ => true,
    });
    if falls && levels.len() > 1 { Ok(levels) } else { Err(wrong()) }
}
