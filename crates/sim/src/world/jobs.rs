//! Programs that are jobs of a batch system: each is a party with the processors that it was
//! allocated, by the rule of the manager on a real machine ([`Party::of_job`]).

use crate::world::host::Host;
use crate::world::shell::Outbox;
use numaestro_engine::{Event, Wish};
use numaestro_policy::{AppId, Party};

/// What the jobs of a scenario were allocated, in thousandths of the processors that each program
/// can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jobs {
    /// The allocation, rounded up to whole processors.
    pub allocated_milli: u32,
    /// The fewest and the most that a malleable job can do with, the fewest rounded up and the most
    /// down; absent: no job is malleable.
    pub malleable_milli: Option<(u32, u32)>,
}

impl Jobs {
    /// The party of a job whose program can use so many processors.
    fn party(self, usable: u32) -> Party {
        let part = |milli: u32| u64::from(usable) * u64::from(milli);
        let up = |milli: u32| part(milli).div_ceil(1000) as u32;
        let malleable = self.malleable_milli.map(|(least, most)| (up(least), (part(most) / 1000) as u32));
        Party::of_job(up(self.allocated_milli), malleable.map(|(least, most)| (least, most.max(least))), None)
    }
}

/// The parties of the present jobs, by the slots of their applications.
#[derive(Debug)]
pub struct Parties {
    jobs: Option<Jobs>,
    parties: Vec<Party>,
}

impl Parties {
    /// No job yet. `None`: programs are no jobs.
    pub const fn new(jobs: Option<Jobs>) -> Self {
        Self { jobs, parties: Vec::new() }
    }

    /// A program arrives in a slot: the engine hears of its party first.
    pub fn arrive(&mut self, (slot, app): (u32, AppId), wish: Wish, host: &mut Host) {
        let mut wish = wish;
        if let Some(jobs) = self.jobs {
            self.set(slot, jobs.party(wish.request.min(host.usable as u32)), &mut host.outbox);
            wish.party = slot;
        }
        host.outbox.say(Event::Arrive { app, wish });
    }

    /// The program in a slot has ended: nothing is kept for it any more.
    pub fn leave(&mut self, slot: u32, outbox: &mut Outbox) {
        if self.parties.get(slot as usize).is_some_and(|party| party.reserved > 0) {
            self.set(slot, Party::default(), outbox);
        }
    }

    fn set(&mut self, slot: u32, party: Party, outbox: &mut Outbox) {
        let slot = slot as usize;
        if self.parties.len() <= slot {
            self.parties.resize(slot + 1, Party::default());
        }
        if self.parties[slot] != party {
            self.parties[slot] = party;
            outbox.say(Event::Parties { parties: self.parties.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_what_it_was_allocated_or_its_range() {
        let rigid = Jobs { allocated_milli: 500, malleable_milli: None };
        assert_eq!(rigid.party(7), Party { weight_milli: 4000, most: 4, reserved: 0 });
        let malleable = Jobs { malleable_milli: Some((250, 1000)), ..rigid };
        assert_eq!(malleable.party(7), Party { weight_milli: 4000, most: 7, reserved: 2 });
        assert_eq!(malleable.party(1), Party { weight_milli: 1000, most: 1, reserved: 1 });
    }
}
