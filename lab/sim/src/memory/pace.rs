//! The pace of a thread on its processor, and its demands on channels: the program's references,
//! the pages' places and the machine's costs put together, without the other threads.

use super::pages::{AppPages, Spread};
use super::viewers::Viewers;
use crate::machine::{CHANNELS_MAX, Model, Picos};
use crate::program::{Part, Refs};
use numaestro_topology::{NumaNodeId, PuId};

/// The pace of a thread: its slowdown without contention, and its demands on each channel at that
/// speed.
#[derive(Clone, Copy)]
pub struct Pace {
    alone: f64,
    /// References that leave the cache, per microsecond of work.
    local: f64,
    remote: f64,
    fingerprint: u64,
    len: u32,
    /// Indices of channels, increasing.
    channels: [u16; CHANNELS_MAX],
    /// Transactions per microsecond of work.
    per_us: [f32; CHANNELS_MAX],
}

impl Pace {
    /// The pace of a thread without references.
    pub const FREE: Self = Self {
        alone: 1.0,
        local: 0.0,
        remote: 0.0,
        fingerprint: 0,
        len: 0,
        channels: [0; CHANNELS_MAX],
        per_us: [0.0; CHANNELS_MAX],
    };

    /// Work nanoseconds per elapsed nanosecond without contention, in (0, 1].
    pub const fn rate_alone(&self) -> f64 {
        self.alone
    }

    /// References that leave the cache, per microsecond of work: to the nearest class, and to all
    /// others.
    pub const fn local_remote_per_us(&self) -> (f64, f64) {
        (self.local, self.remote)
    }

    /// Transactions per microsecond of work on each channel it uses, by increasing index.
    pub fn demands(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        let count = self.len as usize;
        self.channels[..count]
            .iter()
            .zip(&self.per_us[..count])
            .map(|(&channel, &per_us)| (usize::from(channel), per_us))
    }

    /// A number that is the same for all paces with the same demands on the same channels.
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn mix(&self) -> u64 {
        let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        self.demands().fold(self.alone.to_bits(), |hash, (channel, per_us)| {
            step(hash, (channel as u64) << 32 | u64::from(per_us.to_bits()))
        })
    }

    /// Whether both paces have the same demands on the same channels.
    pub fn is_alike(&self, other: &Self) -> bool {
        let count = self.len as usize;
        self.alone.to_bits() == other.alone.to_bits()
            && self.len == other.len
            && self.channels[..count] == other.channels[..count]
            && self.per_us[..count] == other.per_us[..count]
    }

    /// Number of channels it uses.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it uses no channel.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl std::fmt::Debug for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pace")
            .field("alone", &self.alone)
            .field("local", &self.local)
            .field("remote", &self.remote)
            .field("demands", &self.demands().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Makes paces.
#[derive(Debug)]
pub struct Mixer {
    viewers: Viewers,
    /// Demand by channel, and the channels with any demand: all 0 and none between calls.
    demand: Vec<f64>,
    used: Vec<u16>,
}

impl Mixer {
    /// A mixer for a machine.
    pub fn new(model: &Model) -> Self {
        Self { viewers: Viewers::new(model), demand: vec![0.0; model.channels.len()], used: Vec::new() }
    }

    /// The channels from a processor to a node's memory.
    pub fn route(&self, pu: PuId, node: NumaNodeId) -> &[u16] {
        self.viewers.route(pu, node.index()).1
    }

    /// See [`super::Memory::pace`].
    pub fn pace(
        &mut self,
        model: &Model,
        pages: &AppPages,
        refs: &[Refs],
        (part, master): (u32, u32),
        partners: f64,
        pu: PuId,
    ) -> Pace {
        let mut pace = Pace::FREE;
        // Picoseconds per microsecond of work.
        let mut stall_ps = 0.0;
        for what in refs {
            stall_ps += what.per_us * what.hits * model.access.hit_ps as f64;
            // Lines that partners have written do not come from memory when there are fewer
            // partners.
            let misses = what.per_us * (1.0 - what.hits) * (1.0 - what.sharing * (1.0 - partners));
            if misses <= 0.0 {
                continue;
            }
            let spread = match what.part {
                Part::Own => pages.part(what.data, part),
                Part::Master => pages.part(what.data, master),
                Part::All => Some(pages.all(what.data)),
            };
            let cost = |class: usize| -> Picos { model.access.classes[class].cost_ps[what.op as usize] };
            let Some(Spread { by_node, total }) = spread.filter(|spread| spread.total > 0) else {
                let class = self.send(&mut pace, pu, model.node_of(pu).index(), misses);
                stall_ps += misses * cost(class) as f64;
                continue;
            };
            for &(node, here) in by_node {
                let share = misses * here as f64 / *total as f64;
                let class = self.send(&mut pace, pu, usize::from(node), share);
                stall_ps += share * cost(class) as f64;
            }
        }
        pace.alone = 1.0 / (1.0 + stall_ps / 1e6);
        self.collect(&mut pace);
        pace.fingerprint = pace.mix();
        pace
    }

    /// Counts references to a node's memory; returns their class.
    fn send(&mut self, pace: &mut Pace, pu: PuId, node: usize, refs: f64) -> usize {
        let (class, channels) = self.viewers.route(pu, node);
        if class == 0 {
            pace.local += refs;
        } else {
            pace.remote += refs;
        }
        for &channel in channels {
            let demand = &mut self.demand[usize::from(channel)];
            if *demand == 0.0 {
                self.used.push(channel);
            }
            *demand += refs;
        }
        class
    }

    fn collect(&mut self, pace: &mut Pace) {
        self.used.sort_unstable();
        assert!(self.used.len() <= CHANNELS_MAX, "one thread uses {} channels", self.used.len());
        for (at, channel) in self.used.drain(..).enumerate() {
            pace.channels[at] = channel;
            pace.per_us[at] = std::mem::take(&mut self.demand[usize::from(channel)]) as f32;
            pace.len += 1;
        }
    }
}
