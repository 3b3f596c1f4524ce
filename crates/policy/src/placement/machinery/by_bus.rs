//! Decides which processors an application gives back, and how many it lacks on each bus, when the
//! turns part chooses buses. The placement itself chooses among the processors of a bus.
//!
//! Source: Antonopoulos et al. 2004, §5, asks for balanced buses; the wishes are those of
//! [`crate::Turn::prefer`].

use crate::plan::Plan;
use crate::shares::Shares;
use crate::view::{Slot, View};
use numaestro_topology::PuId;

/// The wishes: (application, bus, processors).
#[derive(Debug, Clone, Default)]
pub struct ByBus {
    wanted: Vec<(Slot, u32, u32)>,
    /// Processors of one application on buses where it has too many.
    excess: Vec<PuId>,
}

impl ByBus {
    /// From now on these wishes hold.
    pub fn prefer(&mut self, preferred: &[(Slot, u32, u32)]) {
        self.wanted.clear();
        self.wanted.extend_from_slice(preferred);
        self.wanted.sort_unstable();
    }

    /// Number of wishes.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// The application and the bus of a wish, and the number of processors it lacks there, as far
    /// as it may have them.
    pub fn lacking(&self, number: usize, view: &View<'_>, shares: &Shares, plan: &Plan) -> (Slot, usize, u32) {
        let (slot, bus, wanted) = self.wanted[number];
        let bus = bus as usize;
        let Some(line) = view.buses.get(bus) else { return (slot, bus, 0) };
        let mine = |pu: &PuId| plan.next(*pu) == Some(slot);
        let there = view.app(slot).own.iter().filter(|pu| line.pus.contains(*pu)).filter(mine).count() as u32;
        let room = shares.count(slot).saturating_sub(plan.count(slot));
        (slot, bus, wanted.saturating_sub(there).min(room))
    }

    /// Takes from every application the processors that it has too many of on a bus: all of them if
    /// its wishes add up to its count, so that it moves; else only those above its count.
    pub fn release(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        let mut from = 0;
        while let Some(&(slot, ..)) = self.wanted.get(from) {
            let to = from + self.wanted[from..].iter().take_while(|wish| wish.0 == slot).count();
            self.release_from(from..to, view, shares, plan);
            from = to;
        }
    }

    fn release_from(&mut self, wishes: std::ops::Range<usize>, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        let wishes = &self.wanted[wishes];
        let slot = wishes[0].0;
        let sum: u32 = wishes.iter().map(|&(_, _, wanted)| wanted).sum();
        let surplus = plan.count(slot).saturating_sub(shares.count(slot)) as usize;
        self.excess.clear();
        for (bus, line) in view.buses.iter().enumerate() {
            let wanted = wishes.iter().find(|&&(_, on, _)| on as usize == bus).map_or(0, |&(_, _, wanted)| wanted);
            let mine = view.app(slot).own.iter().filter(|&pu| line.pus.contains(pu) && plan.next(pu) == Some(slot));
            // The lowest processors stay, so that the same ones stay each time.
            self.excess.extend(mine.skip(wanted as usize));
        }
        let most = if sum == shares.count(slot) { self.excess.len() } else { surplus.min(self.excess.len()) };
        for &pu in &self.excess[self.excess.len() - most..] {
            plan.release(pu);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::conformance::Case;
    use crate::part::Placement;
    use crate::placement::affinity::Affinity;
    use crate::random::{Random, Tie};
    use crate::view::{Bus, Slot};
    use numaestro_topology::PuId;

    fn two_buses() -> Case {
        let mut case = Case::on("numa:2 core:4 pu:1");
        let bus = |from: u32| Bus { pus: (from..from + 4).map(PuId).collect(), saturation: 100 };
        case.buses = vec![bus(0), bus(4)];
        case
    }

    fn affinity(preferred: &[(Slot, u32, u32)]) -> Affinity {
        let mut affinity = Affinity::new(Tie::Lowest, 0);
        affinity.prefer(preferred);
        affinity
    }

    #[test]
    fn each_on_the_buses_where_it_is_wanted() {
        let mut case = two_buses().wants(&[4, 4]);
        let wishes = [(Slot(0), 0, 1), (Slot(0), 1, 3), (Slot(1), 0, 3), (Slot(1), 1, 1)];
        assert_eq!(case.place(&mut affinity(&wishes), &[4, 4]), ["0,4-6", "1-3,7"]);
        assert_eq!(case.place(&mut affinity(&wishes), &[4, 4]), ["0,4-6", "1-3,7"], "nobody moves");
        assert_eq!(case.place(&mut affinity(&[]), &[4, 4]), ["0,4-6", "1-3,7"], "nobody cares");
    }

    #[test]
    fn a_thread_changes_its_bus() {
        let mut case = two_buses().wants(&[4, 4]).holds(&[4, 4]);
        let wishes = [(Slot(0), 0, 3), (Slot(0), 1, 1), (Slot(1), 0, 1), (Slot(1), 1, 3)];
        assert_eq!(case.place(&mut affinity(&wishes), &[4, 4]), ["0-2,7", "3-6"]);
    }

    #[test]
    fn counts_come_first() {
        // The share has given fewer processors than the turns part wanted, and more.
        let mut case = two_buses().wants(&[8, 8]).holds(&[4]);
        assert_eq!(case.place(&mut affinity(&[(Slot(0), 1, 4)]), &[2, 6]), ["0-1", "2-7"]);
    }

    #[test]
    fn any_wishes_and_counts() {
        let mut random = Random::new(0xB15);
        for round in 0..2000 {
            let mut case = two_buses().wants(&[8, 8, 8]);
            for pu in 0..8 {
                if random.below(3) > 0 {
                    case.give(Slot(random.below(3)), PuId(pu), 0);
                }
            }
            let mut left = 8;
            let mut counts = [0; 3];
            for count in &mut counts {
                *count = random.below(left + 1);
                left -= *count;
            }
            let wishes: Vec<_> = (0..6).map(|of| (Slot(of / 2), of % 2, random.below(4))).collect();
            let mut affinity = affinity(&wishes);
            case.place(&mut affinity, &counts);
            for (slot, &count) in counts.iter().enumerate() {
                assert_eq!(case.apps[slot].own.len(), count as usize, "round {round}");
            }
            let places = case.place(&mut affinity, &counts);
            assert_eq!(places, case.place(&mut affinity, &counts), "round {round}: it does not come to rest");
        }
    }
}
