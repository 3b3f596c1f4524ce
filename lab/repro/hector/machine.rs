//! Hector as the runs see it: the ring nearer than in the worst position that the papers print, and
//! channels of the rates that the inputs give.
//!
//! "The values shown represent worst case relative positioning" (Brecht 1993, §7.1). The distance
//! of the ring beyond the station follows from the time that MM loses by spreading without delay
//! (table 1.3) and from its number of lines.

use super::constants::lines_of_mm;
use crate::lab::{Lab, Trouble};
use numaestro_sim::machine::{self, Model, Op};
use numaestro_topology::PuId;
use std::collections::BTreeMap;

/// One process on station 3.
pub const ONE: [PuId; 1] = [PuId(12)];
/// `---- ---- ---- 1234`.
pub const LOCALIZED: [PuId; 4] = [PuId(12), PuId(13), PuId(14), PuId(15)];
/// `---- ---3 --42 ---1`.
pub const SPREAD: [PuId; 4] = [PuId(15), PuId(11), PuId(7), PuId(10)];

/// Settings of the delay switches that the papers use.
const DELAYS: [u32; 6] = [0, 4, 8, 16, 32, 64];
/// The file of the printed latencies.
const WORST: &str = "hector-worst";
/// Its places on other stations.
const RING: &str = "ring";
/// Names of channels begin so; the constant with the cycles of a reference on them.
const CHANNELS: [(&str, &str); 3] = [("module", "module cycles"), ("station bus", "bus cycles"), (RING, "ring cycles")];

/// Hector at each delay.
#[derive(Debug)]
pub struct Machines(BTreeMap<u32, Model>);

impl Machines {
    /// The machines with the constants of a lab.
    pub fn of(lab: &Lab) -> Result<Self, Trouble> {
        let seconds_a_line = lab.constant("MM cost of spreading")? / lines_of_mm(lab)?;
        let nearer = nearer(&worst(0)?, seconds_a_line)?;
        let mut cycles = Vec::new();
        for (channel, constant) in CHANNELS {
            cycles.push((channel, lab.constant(constant)?));
        }
        let at = |delay| -> Result<(u32, Model), Trouble> {
            let mut model = worst(delay)?;
            bring_nearer(&mut model, nearer);
            set_channels(&mut model, &cycles);
            Ok((delay, model))
        };
        Ok(Self(DELAYS.into_iter().map(at).collect::<Result<_, _>>()?))
    }

    /// The machine with the delay switches at so many cycles.
    pub fn at(&self, delay: u32) -> Result<&Model, Trouble> {
        self.0.get(&delay).ok_or_else(|| Trouble::new(WORST, format!("no paper sets its delay switches to {delay}")))
    }
}

/// The machine with the printed latencies.
fn worst(delay: u32) -> Result<Model, Trouble> {
    machine::named(WORST, delay).ok_or_else(|| Trouble::new(WORST, "there is no such machine"))
}

/// Picoseconds by which the ring is nearer than in the worst position, if a line from it takes so
/// many seconds more than one from the station.
#[allow(clippy::cast_sign_loss)] // It is not above the farthest distance.
fn nearer(worst: &Model, seconds_a_line: f64) -> Result<u64, Trouble> {
    let line = |class: &str| {
        let found = worst.access.classes.iter().find(|found| found.name == class);
        found.map(|found| found.cost_ps[Op::Line as usize] as f64)
    };
    let missing = || Trouble::new(WORST, "it has no station and no ring");
    let farthest = line(RING).zip(line("station")).map(|(ring, station)| ring - station).ok_or_else(missing)?;
    let mean = seconds_a_line * 1e12;
    if !(0.0..=farthest).contains(&mean) {
        let cycles = mean / worst.cycle_ps as f64;
        return Err(Trouble::new("MM lines", format!("the ring would be {cycles:.1} cycles beyond the station")));
    }
    Ok((farthest - mean).round() as u64)
}

/// Loads, stores and lines from the ring take so many picoseconds less.
fn bring_nearer(model: &mut Model, nearer: u64) {
    for class in model.access.classes.iter_mut().filter(|class| class.name == RING) {
        for op in [Op::Load, Op::Store, Op::Line] {
            class.cost_ps[op as usize] -= nearer;
        }
    }
}

/// Each reference occupies its channels for so many cycles.
#[allow(clippy::cast_sign_loss)] // Cycles are above 0.
fn set_channels(model: &mut Model, cycles: &[(&str, f64)]) {
    let cycle_ps = model.cycle_ps as f64;
    for channel in &mut model.channels {
        for (_, cycles) in cycles.iter().filter(|(name, _)| channel.name.starts_with(name)) {
            channel.per_ms = (1e9 / (cycles * cycle_ps)).round().max(1.0) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hector::lab;

    #[test]
    fn the_ring_is_as_far_as_mm_s_loss_says() {
        // 0.32 s over 192³/4 lines are 181 ns, 3.01 cycles beyond the station's 29.
        let machines = Machines::of(&lab()).unwrap();
        let line = |delay| machines.at(delay).unwrap().access.classes[2].cost_ps[Op::Line as usize] as f64 / 60e3;
        assert!((line(0) - 32.01).abs() < 0.01, "{}", line(0));
        assert!((line(16) - line(0) - 48.0).abs() < 1e-9);
        assert!(machines.at(3).is_err());
        assert!(nearer(&worst(0).unwrap(), 1e-6).unwrap_err().to_string().contains("16.7 cycles"));
    }

    #[test]
    fn channels_have_the_rates_of_the_inputs() {
        let machines = Machines::of(&lab()).unwrap();
        let rate = |name: &str| {
            let channels = &machines.at(0).unwrap().channels;
            channels.iter().find(|channel| channel.name.starts_with(name)).unwrap().per_ms
        };
        // 10, 4 and 1.5 cycles of 60 ns.
        assert_eq!((rate("module"), rate("station bus"), rate("ring")), (1667, 4167, 11_111));
    }
}
