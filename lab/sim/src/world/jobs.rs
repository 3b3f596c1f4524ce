//! Programs that are jobs of a batch system: each is a party with the processors that it was
//! allocated, by the rule of the manager on a real machine ([`Party::of_job`]).

use crate::world::host::Host;
use numaestro_engine::{Event, Wish};
use numaestro_policy::{AppId, Party, own_of_job};

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
    /// The processors that a job was allocated whose program can use so many.
    fn allocated(self, usable: u32) -> u32 {
        up(usable, self.allocated_milli)
    }

    /// Its party, on a machine where it owns so many.
    fn party(self, usable: u32, own: u32) -> Party {
        let range = |(least, most): (u32, u32)| {
            let (least, most) = (up(usable, least), (part(usable, most) / 1000) as u32);
            (least, most.max(least))
        };
        Party::of_job(self.allocated(usable), own, self.malleable_milli.map(range), None)
    }
}

fn part(usable: u32, milli: u32) -> u64 {
    u64::from(usable) * u64::from(milli)
}

fn up(usable: u32, milli: u32) -> u32 {
    part(usable, milli).div_ceil(1000) as u32
}

/// The present jobs, by the slots of their applications. The number of a slot is that of its party.
#[derive(Debug)]
pub struct Parties {
    jobs: Option<Jobs>,
    /// The processors that the program in each slot can use; 0: none is there.
    usable: Vec<u32>,
    told: Vec<Party>,
}

impl Parties {
    /// No job yet. `None`: programs are no jobs.
    pub const fn new(jobs: Option<Jobs>) -> Self {
        Self { jobs, usable: Vec::new(), told: Vec::new() }
    }

    /// A program arrives in a slot: the engine hears of its party first.
    pub fn arrive(&mut self, (slot, app): (u32, AppId), wish: Wish, host: &mut Host) {
        let mut wish = wish;
        if self.jobs.is_some() {
            wish.party = slot;
            self.set(slot, wish.request.min(host.usable as u32), host);
        }
        host.outbox.say(Event::Arrive { app, wish });
    }

    /// The program in a slot has ended: nothing is kept for it any more.
    pub fn leave(&mut self, slot: u32, host: &mut Host) {
        if self.jobs.is_some() {
            self.set(slot, 0, host);
        }
    }

    fn set(&mut self, slot: u32, usable: u32, host: &mut Host) {
        let Some(jobs) = self.jobs else { return };
        let slots = self.usable.len().max(slot as usize + 1);
        self.usable.resize(slots, 0);
        self.usable[slot as usize] = usable;
        let by_all = self.usable.iter().map(|&usable| u64::from(jobs.allocated(usable))).sum();
        let party = |&usable: &u32| {
            if usable == 0 {
                return Party::default();
            }
            let own = own_of_job(jobs.allocated(usable).into(), by_all, host.usable as u64);
            jobs.party(usable, own as u32)
        };
        let parties: Vec<Party> = self.usable.iter().map(party).collect();
        if parties != self.told {
            self.told.clone_from(&parties);
            host.outbox.say(Event::Parties { parties });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_what_it_was_allocated_or_its_range() {
        let rigid = Jobs { allocated_milli: 500, malleable_milli: None };
        assert_eq!(rigid.party(7, 4), Party { weight_milli: 4000, most: 4, reserved: 0 });
        let malleable = Jobs { malleable_milli: Some((250, 1000)), ..rigid };
        assert_eq!(malleable.party(7, 4), Party { weight_milli: 4000, most: 7, reserved: 2 });
        assert_eq!(malleable.party(7, 1), Party { weight_milli: 4000, most: 7, reserved: 1 });
        assert_eq!(malleable.party(1, 1), Party { weight_milli: 1000, most: 1, reserved: 1 });
    }
}
