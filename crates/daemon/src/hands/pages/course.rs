//! Decides after a look at an application's memory whether pages move, how many, and when to look
//! again. The caller looks and gives the time.

use std::collections::BTreeMap;

use numaestro_host::numa::NodeMemory;
use numaestro_policy::pages::worth::{self, Situation};
use numaestro_topology::Machine;

/// Times from a reason to look to the first look, and from each look to the next.
const LOOKS_NS: [u64; 4] = [100_000_000, 400_000_000, 2_000_000_000, 10_000_000_000];
/// The longest time between two looks at an application that is not as it should be.
const LOOK_LAST_NS: u64 = 300_000_000_000;
/// A look may take this part of the time at most: the program cannot map memory meanwhile.
const LOOK_SHARE: u64 = 100;
/// The part of a node that is not filled by moving pages to it.
const RESERVE: u64 = 32;

/// Distances between nodes, by OS index; 10 is local.
#[derive(Debug, Default)]
pub(crate) struct Distances(BTreeMap<(u32, u32), u64>);

impl Distances {
    pub(crate) fn of(machine: &Machine) -> Self {
        let nodes = machine.numa_nodes();
        let all = (0..nodes.len() as u32).flat_map(|from| (0..nodes.len() as u32).map(move |to| (from, to)));
        let distance = |(from, to): (u32, u32)| {
            let key = (nodes[from as usize].os_index, nodes[to as usize].os_index);
            (key, u64::from(machine.node_distance(from.into(), to.into())))
        };
        Self(all.map(distance).collect())
    }

    /// A node that is not known is as far as assumed where nothing is known.
    fn get(&self, from: u32, to: u32) -> u64 {
        self.0.get(&(from, to)).copied().unwrap_or(if from == to { 10 } else { 20 })
    }
}

/// The nodes of an application's processors, and the nodes where its pages should be. Nodes are OS
/// indices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Aim {
    /// Nodes of its processors, with the number of processors on each.
    pub(crate) processors: Vec<(u32, u64)>,
    /// Nodes whose pages stay; none: the right nodes are not known.
    pub(crate) stay: Vec<u32>,
    /// Arrival of the application, nanoseconds.
    pub(crate) arrived_ns: u64,
    /// Time of the latest change of these fields, nanoseconds.
    pub(crate) since_ns: u64,
    /// The part of their time in which its threads wait for memory, thousandths, if that is known.
    pub(crate) busy_permille: Option<u64>,
}

impl Aim {
    /// Some of its processors are not where its pages should be.
    fn runs_outside(&self) -> bool {
        self.processors.iter().any(|(node, _)| !self.stay.contains(node))
    }

    /// Mean distance from its processors to a node, times a thousand.
    fn distance_milli(&self, distances: &Distances, to: u32) -> u64 {
        let count = self.processors.iter().map(|(_, count)| count).sum::<u64>().max(1);
        self.processors.iter().map(|(from, number)| distances.get(*from, to) * number * 1000).sum::<u64>() / count
    }
}

/// The result of a look; bytes by OS index of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Its own pages.
    pub(crate) own: BTreeMap<u32, u64>,
    /// Pages of files, and of memory it shares.
    pub(crate) shared: BTreeMap<u32, u64>,
    /// Its own pages in areas that may be moved.
    pub(crate) movable: BTreeMap<u32, u64>,
    /// Threads by the node they ran on last.
    pub(crate) threads: BTreeMap<u32, u64>,
    /// Duration of the look, nanoseconds.
    pub(crate) took_ns: u64,
}

impl Sample {
    /// Bytes that may be moved and are not on these nodes.
    pub(crate) fn elsewhere(&self, stay: &[u32]) -> u64 {
        self.movable.iter().filter(|(node, _)| !stay.contains(node)).map(|(_, bytes)| bytes).sum()
    }

    /// All its own bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.own.values().sum()
    }

    /// Most of its own pages are where it has said itself.
    pub(crate) fn has_own_policy(&self) -> bool {
        self.movable.values().sum::<u64>() * 2 < self.bytes()
    }

    /// Thousandths of its own bytes that are on these nodes.
    pub(crate) fn at_home_permille(&self, stay: &[u32]) -> u32 {
        let there: u64 = self.own.iter().filter(|(node, _)| stay.contains(node)).map(|(_, bytes)| bytes).sum();
        let all = u128::from(self.bytes().max(1));
        if self.bytes() == 0 { 1000 } else { (u128::from(there) * 1000 / all) as u32 }
    }

    /// People would see a difference.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        let noticeable = (self.bytes() / 32).max(1 << 20);
        let nodes = self.own.keys().chain(other.own.keys());
        let bytes = |sample: &Self, node: &u32| sample.own.get(node).copied().unwrap_or(0);
        nodes.clone().any(|node| bytes(self, node).abs_diff(bytes(other, node)) >= noticeable)
    }
}

/// The verdict after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Everything is where it should be, or so little is not that it does not matter.
    Settled,
    /// Moving the pages that are elsewhere would cost more than it brings, so far.
    NotWorth,
    /// So many bytes are elsewhere because there is no room where they should be.
    Spilled(u64),
    /// So many bytes move.
    Move(u64),
}

/// Judges a look. `rate`: bytes that may be moved in a second.
pub(crate) fn judge(
    aim: &Aim,
    sample: &Sample,
    nodes: &[NodeMemory],
    distances: &Distances,
    rate: u64,
    now_ns: u64,
) -> Verdict {
    let elsewhere = sample.elsewhere(&aim.stay);
    if aim.stay.is_empty() || elsewhere < worth::LEAST_BYTES {
        return Verdict::Settled;
    }
    let there = nodes.iter().filter(|memory| aim.stay.contains(&memory.node));
    let kept = |memory: &NodeMemory| memory.reserve.max(memory.total / RESERVE);
    let room: u64 = there.map(|memory| memory.free.saturating_sub(kept(memory))).sum();
    if room < worth::LEAST_BYTES {
        return Verdict::Spilled(elsewhere);
    }
    let then_milli =
        aim.stay.iter().map(|node| aim.distance_milli(distances, *node)).sum::<u64>() / aim.stay.len() as u64;
    let excess = |(node, bytes): (&u32, &u64)| {
        let more_milli = aim.distance_milli(distances, *node).saturating_sub(then_milli);
        u128::from(*bytes) * u128::from(more_milli) / 1000
    };
    let left = sample.movable.iter().filter(|(node, _)| !aim.stay.contains(node));
    let situation = Situation {
        bytes: sample.bytes(),
        moves: elsewhere.min(room),
        excess: u64::try_from(left.map(excess).sum::<u128>()).unwrap_or(u64::MAX),
        threads: aim.processors.iter().map(|(_, count)| count).sum(),
        age_ns: now_ns.saturating_sub(aim.arrived_ns),
        there_ns: now_ns.saturating_sub(aim.since_ns),
        busy_permille: aim.busy_permille,
        rate,
    };
    if worth::is_worth(&situation) { Verdict::Move(situation.moves) } else { Verdict::NotWorth }
}

/// The times at which an application is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    looks: usize,
    /// Absent: not before there is a reason.
    pub(crate) next_ns: Option<u64>,
}

impl Schedule {
    /// There is a reason: a new application, other processors, another home.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.looks = 0;
        self.next_ns = Some(now_ns + LOOKS_NS[0]);
    }

    /// It has been looked at. An application that is as it should be is left alone after some
    /// looks; any other is looked at again when it has been there twice as long, because then a
    /// move that was not worth it may be.
    pub(crate) fn looked(&mut self, aim: &Aim, verdict: Verdict, took_ns: u64, now_ns: u64) {
        self.looks += 1;
        let settled = verdict == Verdict::Settled && !aim.runs_outside();
        let there_ns = now_ns.saturating_sub(aim.since_ns);
        let last = || (!settled).then(|| there_ns.clamp(LOOKS_NS[LOOKS_NS.len() - 1], LOOK_LAST_NS));
        let delay = LOOKS_NS.get(self.looks).copied().or_else(last);
        self.next_ns = delay.map(|delay| now_ns + delay.max(took_ns.saturating_mul(LOOK_SHARE)));
    }
}

/// Bytes that may be moved, in the course of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Bytes a second; 0: nothing is ever moved.
    rate: u64,
    /// Bytes that may be moved at once; below 0 after a batch that was larger.
    level: i64,
    at_ns: u64,
}

/// Bytes that may be moved at once after a pause.
const BURST_BYTES: i64 = 4 << 20;

impl Bucket {
    pub(crate) fn new(rate: u64, now_ns: u64) -> Self {
        Self { rate, level: 0, at_ns: now_ns }
    }

    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// Bytes that may be moved now.
    pub(crate) fn allows(&mut self, now_ns: u64) -> u64 {
        let passed = u128::from(now_ns.saturating_sub(self.at_ns));
        let more = passed * u128::from(self.rate) / 1_000_000_000;
        if more > 0 {
            self.at_ns = now_ns;
            self.level = self.level.saturating_add(i64::try_from(more).unwrap_or(i64::MAX)).min(BURST_BYTES);
        }
        u64::try_from(self.level).unwrap_or(0)
    }

    /// So many have been moved.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.level = self.level.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// The time at which a batch of this size may be moved, nanoseconds.
    pub(crate) fn ready_ns(&self, bytes: u64) -> u64 {
        let lacking = i64::try_from(bytes).unwrap_or(i64::MAX).min(BURST_BYTES).saturating_sub(self.level).max(0);
        let wait = lacking.unsigned_abs().saturating_mul(1_000_000_000).div_ceil(self.rate.max(1));
        self.at_ns.saturating_add(wait)
    }
}

#[cfg(test)]
#[path = "course_tests.rs"]
mod tests;
