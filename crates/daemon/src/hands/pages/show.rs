//! Gives the picture of memory that people see. It changes nothing.

use std::collections::BTreeMap;

use numaestro_abi::control::{MemoryStatus, NodeStatus, OnNode};
use numaestro_engine::PageHome;
use numaestro_host::monotonic_ns;
use numaestro_topology::{CpuSet, Machine, NumaNode};

use super::{Pages, Verdict};

impl Pages {
    /// The residency of an application at the latest look; `None` before the first.
    pub(crate) fn status(&self, app: u64) -> Option<MemoryStatus> {
        let memory = self.by_app.get(&app)?;
        let (sample, verdict, at_ns) = memory.seen.as_ref()?;
        let wanted: CpuSet = memory.aim.stay.iter().copied().collect();
        let policy = match memory.wanted {
            _ if sample.has_own_policy() => "its own",
            None | Some(PageHome::FirstTouch) => "first-touch",
            Some(PageHome::Node(_)) => "home",
            Some(PageHome::Interleave) => "interleave",
        };
        let spilled = if let Verdict::Spilled(bytes) = verdict { *bytes } else { 0 };
        let note = match verdict {
            _ if !memory.note.is_empty() => memory.note.clone(),
            Verdict::Spilled(_) => format!("node {wanted} is full, and the rest has spilled"),
            Verdict::NotWorth => "moving would cost more than it brings so far".to_owned(),
            Verdict::Settled | Verdict::Move(_) => String::new(),
        };
        Some(MemoryStatus {
            policy: policy.to_owned(),
            home: memory.home_os,
            wanted: wanted.to_string(),
            threads: on_nodes(&sample.threads),
            bytes: on_nodes(&sample.own),
            shared: on_nodes(&sample.shared),
            at_home_permille: sample.at_home_permille(&memory.aim.stay),
            elsewhere: sample.elsewhere(&memory.aim.stay),
            spilled,
            moving: memory.moving,
            moved: memory.moved,
            age_ms: monotonic_ns().saturating_sub(*at_ns) / 1_000_000,
            note,
        })
    }

    /// One sentence for `why`; `None` if there is nothing that people should know.
    pub(crate) fn remark(&self, app: u64) -> Option<String> {
        let (_, verdict, _) = self.by_app.get(&app)?.seen.as_ref()?;
        let Verdict::Spilled(bytes) = verdict else { return None };
        Some(format!("{} MiB of its memory are outside its home, which is full", bytes >> 20))
    }

    /// Nodes as of the latest look.
    pub(crate) fn node_statuses(&self, machine: &Machine) -> Vec<NodeStatus> {
        let nodes = machine.numa_nodes().iter();
        let status = |node: &NumaNode| {
            let memory = self.nodes.iter().find(|memory| memory.node == node.os_index);
            NodeStatus {
                node: node.os_index,
                cpus: machine.os_cpuset(&node.pus).to_string(),
                total: memory.map_or(0, |memory| memory.total),
                free: memory.map_or(0, |memory| memory.free),
            }
        };
        nodes.map(status).collect()
    }
}

fn on_nodes(counts: &BTreeMap<u32, u64>) -> Vec<OnNode> {
    counts.iter().map(|(node, count)| OnNode { node: *node, count: *count }).collect()
}
