//! The threads on processors, their demands on each channel, and the flow on each channel. Rates
//! come from outside, from any solver.
//!
//! Flows are whole numbers of 2^-20 transactions per microsecond. A flow that is taken away is
//! computed by the same multiplication as when it was added, so sums are exact however long a run
//! is.

use super::classes::Classes;
use super::pace::Pace;
use crate::Nanos;
use crate::machine::Model;
use crate::outcome::ChannelUse;
use numaestro_topology::PuId;

/// The field tells a processor a new rate only when it differs from the last one it told by more
/// than this share: thousands of changes far away, each too small to matter, would otherwise cost
/// more than everything else. Channels give away less than their capacity by the same share, so
/// that the told rates never add up to more than the channels carry.
pub const CHANGE_TOLD: f64 = 1.0 / 1024.0;

/// Flow units in one transaction per microsecond.
const UNIT: f64 = 1_048_576.0;

/// A flow over a channel, in the units of the module's header.
pub type Flow = u64;

fn flow(per_us: f32, rate: f64) -> Flow {
    (f64::from(per_us) * rate * UNIT) as Flow
}

#[derive(Debug, Clone)]
struct Channel {
    /// The flow that may be given away: `limit`, less the error of told rates.
    capacity: Flow,
    /// The largest flow that the channel carries.
    limit: Flow,
    /// The flow that its users would use without contention.
    demand: Flow,
    /// The flow that they use.
    used: Flow,
    /// Integral of `used` until `since`.
    carried: u128,
    since: Nanos,
    peak: Flow,
}

/// The progress of a PU, as the world knows it.
#[derive(Debug, Clone, Copy)]
struct Progress {
    runs: bool,
    rate: f64,
    local_remote_per_us: (f64, f64),
}

const IDLE: Progress = Progress { runs: false, rate: 1.0, local_remote_per_us: (0.0, 0.0) };

/// The threads that run on a machine. Threads that use no channel are in no class.
#[derive(Debug)]
pub struct Field {
    now: Nanos,
    channels: Vec<Channel>,
    classes: Classes,
    /// A bitmap of classes for each channel, `words` each.
    users: Vec<u64>,
    words: usize,
    /// Progress by PU, as told.
    told: Vec<Progress>,
    /// By class: the rate that the world knows of all its threads.
    rates: Vec<f64>,
}

impl Field {
    /// A field in which nothing runs.
    pub fn new(model: &Model) -> Self {
        let pus = model.topology.pu_count();
        let channel = |channel: &crate::machine::Channel| {
            let limit = channel.per_ms as f64 / 1e3 * UNIT;
            Channel {
                capacity: (limit * (1.0 - CHANGE_TOLD)) as Flow,
                limit: limit as Flow,
                demand: 0,
                used: 0,
                carried: 0,
                since: 0,
                peak: 0,
            }
        };
        let words = pus.div_ceil(64);
        Self {
            now: 0,
            channels: model.channels.iter().map(channel).collect(),
            classes: Classes::new(pus),
            users: vec![0; words * model.channels.len()],
            words,
            told: vec![IDLE; pus],
            rates: vec![1.0; pus],
        }
    }

    /// A thread begins, at the rate of its class, or at its rate alone if the class is new. Returns
    /// the class and whether it is new; `None` if the thread uses no channel.
    pub fn start(&mut self, pu: PuId, pace: &Pace) -> Option<(usize, bool)> {
        let told = &mut self.told[pu.index()];
        assert!(!told.runs, "something runs on processor {pu} already");
        *told = Progress { runs: true, rate: pace.rate_alone(), local_remote_per_us: pace.local_remote_per_us() };
        if pace.is_empty() {
            return None;
        }
        let class = self.classes.join(pu, pace);
        let is_new = self.classes.threads(class) == 1;
        if is_new {
            self.rates[class] = pace.rate_alone();
        }
        let rate = self.rates[class];
        told.rate = rate;
        for (channel, per_us) in pace.demands() {
            let state = &mut self.channels[channel];
            state.carry_until(self.now);
            state.demand += flow(per_us, pace.rate_alone());
            state.used += flow(per_us, rate);
            state.peak = state.peak.max(state.demand);
            if is_new {
                self.users[channel * self.words + class / 64] |= 1 << (class % 64);
            }
        }
        Some((class, is_new))
    }

    /// Ends the thread on a PU.
    pub fn stop(&mut self, pu: PuId) {
        let told = std::mem::replace(&mut self.told[pu.index()], IDLE);
        if self.classes.of(pu).is_none() {
            return;
        }
        let class = self.classes.part(pu);
        let is_gone = self.classes.threads(class) == 0;
        let pace = self.classes.pace(class);
        for (channel, per_us) in pace.demands() {
            let state = &mut self.channels[channel];
            state.carry_until(self.now);
            state.demand -= flow(per_us, pace.rate_alone());
            state.used -= flow(per_us, told.rate);
            if is_gone {
                self.users[channel * self.words + class / 64] &= !(1 << (class % 64));
            }
        }
    }

    /// Sets the rate of all threads of a class from now on; `each` is given their PUs.
    pub fn tell(&mut self, class: usize, rate: f64, mut each: impl FnMut(PuId)) {
        let threads = u64::from(self.classes.threads(class));
        let before = std::mem::replace(&mut self.rates[class], rate);
        for (channel, per_us) in self.classes.pace(class).demands() {
            let state = &mut self.channels[channel];
            state.carry_until(self.now);
            state.used = state.used - threads * flow(per_us, before) + threads * flow(per_us, rate);
        }
        for pu in self.classes.members(class) {
            self.told[pu.index()].rate = rate;
            each(pu);
        }
    }

    /// Whether a thread runs there.
    pub fn runs(&self, pu: PuId) -> bool {
        self.told[pu.index()].runs
    }

    /// The class of the thread on a PU, if it uses channels.
    pub fn class_of(&self, pu: PuId) -> Option<usize> {
        self.classes.of(pu)
    }

    /// The rate that the world knows; 1 where nothing runs.
    pub fn told(&self, pu: PuId) -> f64 {
        self.told[pu.index()].rate
    }

    /// References per microsecond of work, local and remote, of the thread there.
    pub fn local_remote_per_us(&self, pu: PuId) -> (f64, f64) {
        self.told[pu.index()].local_remote_per_us
    }

    /// The rate that the world knows of the threads of a class.
    pub fn rate(&self, class: usize) -> f64 {
        self.rates[class]
    }

    /// The pace that the threads of a class have in common.
    pub fn pace(&self, class: usize) -> &Pace {
        self.classes.pace(class)
    }

    /// Number of threads of a class; 0 if there is no such class now.
    pub fn threads(&self, class: usize) -> u32 {
        self.classes.threads(class)
    }

    /// The classes whose threads use a channel, in order.
    pub fn users(&self, channel: usize) -> impl Iterator<Item = usize> {
        let words = &self.users[channel * self.words..(channel + 1) * self.words];
        words.iter().enumerate().flat_map(|(index, &word)| Bits(word).map(move |bit| index * 64 + bit as usize))
    }

    /// Most classes there can be.
    pub fn classes_max(&self) -> usize {
        self.rates.len()
    }

    /// Number of channels.
    pub fn channel_count(&self) -> usize {
        self.channels.len()
    }

    /// Transactions per microsecond that may be given away.
    pub fn capacity(&self, channel: usize) -> f64 {
        self.channels[channel].capacity as f64 / UNIT
    }

    /// Whether its users want more than may be given away.
    pub fn is_short(&self, channel: usize) -> bool {
        self.channels[channel].demand > self.channels[channel].capacity
    }

    /// The present, nanoseconds.
    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// Lets time go on until `now`.
    pub fn advance(&mut self, now: Nanos) {
        assert!(now >= self.now, "time goes back from {} to {now}", self.now);
        self.now = now;
    }

    /// See [`super::Memory::channel_use`].
    pub fn channel_use(&self, model: &Model, elapsed: Nanos) -> Vec<ChannelUse> {
        let of = |(channel, facts): (&Channel, &crate::machine::Channel)| {
            let carried = channel.carried + u128::from(channel.used) * u128::from(self.now - channel.since);
            let most = channel.limit as f64 * elapsed as f64;
            ChannelUse {
                name: facts.name.clone(),
                utilisation: if elapsed == 0 { 0.0 } else { carried as f64 / most },
                peak_demand: channel.peak as f64 / channel.limit as f64,
            }
        };
        self.channels.iter().zip(&model.channels).map(of).collect()
    }

    /// See [`super::Memory::check`].
    pub fn check(&self, model: &Model, limited: bool) -> Result<(), String> {
        for (index, channel) in self.channels.iter().enumerate() {
            let name = &model.channels[index].name;
            if limited && channel.used > channel.limit {
                return Err(format!("{name} carries {} of {} flow units", channel.used, channel.limit));
            }
            let (mut demand, mut used) = (0, 0);
            for pu in (0..self.told.len() as u32).map(PuId) {
                let Some(pace) = self.class_of(pu).map(|class| self.pace(class)) else { continue };
                for (_, per_us) in pace.demands().filter(|&(of, _)| of == index) {
                    demand += flow(per_us, pace.rate_alone());
                    used += flow(per_us, self.told(pu));
                }
            }
            if (demand, used) != (channel.demand, channel.used) {
                let (d, u) = (channel.demand, channel.used);
                return Err(format!("{name}: users want {demand} and use {used}, but {d} and {u} are kept"));
            }
        }
        Ok(())
    }
}

impl Channel {
    fn carry_until(&mut self, now: Nanos) {
        if now > self.since {
            self.carried += u128::from(self.used) * u128::from(now - self.since);
            self.since = now;
        }
    }
}

/// The bits of a word that are set, lowest first.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}
