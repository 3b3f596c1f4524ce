//! The contents that caches have lost: a debt of lines, computed from the lines of others that have
//! come in since.
//!
//! Source: Squillante and Lazowska 1993, §2 (footprints and reload transients); Thiébaut and Stone
//! 1987 for direct-mapped caches.

use crate::machine::{Model, Replacement};
use numaestro_topology::{Level, PuId};

/// Counters of lines that came in, for each cache.
#[derive(Debug)]
pub struct Caches {
    capacity: u64,
    replacement: Replacement,
    /// By PU, the index of its cache.
    of: Vec<u32>,
    entered: Vec<u64>,
}

impl Caches {
    /// All caches cold.
    pub fn new(model: &Model) -> Self {
        let object = |pu: &numaestro_topology::Pu| match model.cache.level {
            Level::Pu => pu.id.0,
            Level::Core => pu.core,
            Level::Llc => pu.llc,
            Level::NumaNode => pu.node.0,
            Level::Package => pu.package,
            Level::Machine => 0,
        };
        let of: Vec<u32> = model.topology.pus().iter().map(object).collect();
        let count = of.iter().max().map_or(0, |&last| last as usize + 1);
        Self { capacity: model.cache.lines, replacement: model.cache.replacement, of, entered: vec![0; count] }
    }

    pub fn entered(&self, pu: PuId) -> u64 {
        self.entered[self.of[pu.index()] as usize]
    }

    pub fn enter(&mut self, pu: PuId, lines: u64) {
        self.entered[self.of[pu.index()] as usize] += lines;
    }

    pub fn same(&self, a: PuId, b: PuId) -> bool {
        self.of[a.index()] == self.of[b.index()]
    }

    /// Lines that do not fit into the cache are no debt: they are brought in over and over anyway,
    /// and counted as references.
    pub fn reload_lines(&self, footprint: u64, since_entered: u64, same_cache: bool, pu: PuId) -> u64 {
        let most = footprint.min(self.capacity);
        if !same_cache || most == 0 {
            return most;
        }
        let foreign = self.entered(pu).saturating_sub(since_entered);
        if foreign == 0 {
            return 0;
        }
        let lost = foreign as f64 / self.capacity as f64;
        let survives = match self.replacement {
            Replacement::Random => libm::exp(-lost),
            Replacement::Lru => (1.0 - lost).max(0.0),
        };
        libm::round(most as f64 * (1.0 - survives)) as u64
    }
}
