//! References to memory: where pages are, and how fast a thread works because of it.

use super::Naive;
use numaestro_sim::program::{PagePlace, Part, Phase, Refs, Split};
use numaestro_topology::{NumaNodeId, PuId};

impl Naive {
    pub(super) fn refs(&self, app: usize) -> Vec<Refs> {
        match &self.apps[app].phase {
            Some(Phase::Serial { refs, .. } | Phase::Parallel { refs, .. } | Phase::Tasks { refs, .. }) => refs.clone(),
            _ => Vec::new(),
        }
    }

    /// Which part a reference is to.
    pub(super) fn part_of(&self, app: usize, refs: &Refs, part: u32) -> u32 {
        let whole = self.apps[app].program.data[refs.data].split == Split::Whole;
        if whole || refs.part == Part::Master { 0 } else { part }
    }

    /// It touches what it will refer to: parts that nobody has touched are placed now.
    pub(super) fn touch(&mut self, app: usize, number: usize, part: u32) {
        self.apps[app].threads[number].part = part;
        let here = self.model.node_of(self.apps[app].threads[number].pu.expect("somewhere"));
        let master = self.model.node_of(self.apps[app].threads[0].pu.expect("somewhere"));
        for refs in self.refs(app) {
            if refs.part == Part::Own || part == 0 {
                let key = (refs.data, self.part_of(app, &refs, part));
                let entry = &mut self.apps[app];
                let node = match entry.program.data[refs.data].place {
                    PagePlace::Node(node) => NumaNodeId(node),
                    PagePlace::Master => master,
                    PagePlace::Policy | PagePlace::FirstTouch => here,
                    PagePlace::RoundRobin => panic!("on several nodes"),
                };
                entry.pages.entry(key).or_insert(node);
            }
        }
    }

    /// A microsecond of work takes as long as that, and its references.
    pub(super) fn rate(&self, app: usize, part: u32, pu: PuId) -> f64 {
        let stall = |refs: &Refs| {
            let node = self.apps[app].pages[&(refs.data, self.part_of(app, refs, part))];
            refs.per_us * self.model.cost_ps(pu, node, refs.op) as f64 / 1e6
        };
        1.0 / (1.0 + self.refs(app).iter().map(stall).sum::<f64>())
    }
}
