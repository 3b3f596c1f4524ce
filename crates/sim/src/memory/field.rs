//! What runs where, what it asks of each channel, and what each channel carries. Knows no solver: rates come from outside.
//!
//! Flows are whole numbers of 2^-20 transactions per microsecond. A flow that is taken away is computed by the same multiplication as
//! when it was added, so sums are exact however long a run is.

use super::CHANGE_TOLD;
use super::pace::Pace;
use crate::Nanos;
use crate::machine::Model;
use crate::outcome::ChannelUse;
use numaestro_topology::PuId;

/// Flow units in one transaction per microsecond.
const UNIT: f64 = 1_048_576.0;

/// A share of what a channel can carry; see the module.
pub type Flow = u64;

fn flow(per_us: f32, rate: f64) -> Flow {
    (f64::from(per_us) * rate * UNIT) as Flow
}

#[derive(Debug, Clone)]
struct Channel {
    /// What may be given away: what it carries, less what rates may be wrong by.
    capacity: Flow,
    /// What it carries.
    limit: Flow,
    /// What its users would use if nobody were in the way.
    demand: Flow,
    /// What they use.
    used: Flow,
    /// Integral of `used` until `since`.
    carried: u128,
    since: Nanos,
    peak: Flow,
}

/// What runs on a machine.
#[derive(Debug)]
pub struct Field {
    now: Nanos,
    channels: Vec<Channel>,
    /// A bitmap of PUs for each channel, `words` each.
    users: Vec<u64>,
    words: usize,
    /// By PU: whether something runs, how, and the rate that the world knows.
    running: Vec<bool>,
    paces: Vec<Pace>,
    told: Vec<f64>,
}

impl Field {
    /// Nothing runs.
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
            users: vec![0; words * model.channels.len()],
            words,
            running: vec![false; pus],
            paces: vec![Pace::FREE; pus],
            told: vec![1.0; pus],
        }
    }

    /// Begins to use channels, at the rate of one who is alone.
    pub fn start(&mut self, pu: PuId, pace: &Pace) {
        let at = pu.index();
        assert!(!self.running[at], "something runs on processor {pu} already");
        self.running[at] = true;
        self.told[at] = pace.rate_alone();
        for (channel, per_us) in pace.demands() {
            let amount = flow(per_us, pace.rate_alone());
            let state = &mut self.channels[channel];
            state.carry_until(self.now);
            state.demand += amount;
            state.used += amount;
            state.peak = state.peak.max(state.demand);
            self.users[channel * self.words + at / 64] |= 1 << (at % 64);
        }
        self.paces[at] = *pace;
    }

    /// Ends what runs.
    pub fn stop(&mut self, pu: PuId) {
        let at = pu.index();
        let pace = &self.paces[at];
        for (channel, per_us) in pace.demands() {
            let state = &mut self.channels[channel];
            state.carry_until(self.now);
            state.demand -= flow(per_us, pace.rate_alone());
            state.used -= flow(per_us, self.told[at]);
            self.users[channel * self.words + at / 64] &= !(1 << (at % 64));
        }
        self.running[at] = false;
        self.told[at] = 1.0;
    }

    /// From now on it runs at this rate.
    pub fn tell(&mut self, pu: PuId, rate: f64) {
        let at = pu.index();
        for (channel, per_us) in self.paces[at].demands() {
            let state = &mut self.channels[channel];
            state.carry_until(self.now);
            state.used = state.used - flow(per_us, self.told[at]) + flow(per_us, rate);
        }
        self.told[at] = rate;
    }

    /// Whether something runs there.
    pub fn runs(&self, pu: PuId) -> bool {
        self.running[pu.index()]
    }

    /// How what runs there runs; what ran last where nothing does.
    pub fn pace(&self, pu: PuId) -> &Pace {
        &self.paces[pu.index()]
    }

    /// The rate that the world knows; 1 where nothing runs.
    pub fn told(&self, pu: PuId) -> f64 {
        self.told[pu.index()]
    }

    /// The PUs that run something, in order.
    pub fn runners(&self) -> impl Iterator<Item = PuId> {
        self.running.iter().enumerate().filter(|&(_, &runs)| runs).map(|(at, _)| PuId(at as u32))
    }

    /// The PUs whose threads use a channel, in order.
    pub fn users(&self, channel: usize) -> impl Iterator<Item = PuId> {
        let words = &self.users[channel * self.words..(channel + 1) * self.words];
        words.iter().enumerate().flat_map(|(index, &word)| Bits(word).map(move |bit| PuId(index as u32 * 64 + bit)))
    }

    /// How many channels there are.
    pub fn channel_count(&self) -> usize {
        self.channels.len()
    }

    /// How many PUs there are.
    pub fn pu_count(&self) -> usize {
        self.running.len()
    }

    /// Transactions per microsecond that may be given away.
    pub fn capacity(&self, channel: usize) -> f64 {
        self.channels[channel].capacity as f64 / UNIT
    }

    /// Whether its users want more than may be given away.
    pub fn is_short(&self, channel: usize) -> bool {
        self.channels[channel].demand > self.channels[channel].capacity
    }

    /// The present.
    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// Time goes on.
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
            for pu in self.runners() {
                let pace = self.pace(pu);
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
