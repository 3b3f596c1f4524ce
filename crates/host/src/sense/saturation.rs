//! Keeps the saturation rate of a bus honest while the machine works: a virtual machine may move to
//! another host, and a burst may have been too short. Three things contradict a measured rate: more
//! is carried than it says, the bus is full although much less is carried, or it is not full
//! although as much is carried. The first one corrects it at once, the others ask for a new
//! measurement.

/// Streams that are slowed down by this much have a full bus, thousandths.
const FULL_MILLI: u32 = 1500;
/// Streams that are slowed down by less have not.
const FREE_MILLI: u32 = 1150;
/// Probes in a row that contradict until it is believed.
const PATIENCE: u32 = 3;

/// The saturation rate of one bus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saturation {
    rate: u32,
    doubtful: bool,
    contradictions: u32,
}

impl Saturation {
    /// Transactions per millisecond of all processors of the bus together; 0 is unknown.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// It should be measured as soon as the machine is idle enough.
    pub fn is_wanted(&self) -> bool {
        self.rate == 0 || self.doubtful
    }

    /// It has been measured, or said.
    pub fn set(&mut self, rate: u32) {
        *self = Self { rate, doubtful: false, contradictions: 0 };
    }

    /// Takes in the transactions per millisecond that were counted for all threads on the bus
    /// together. True if the rate is another one now.
    pub fn carried(&mut self, total: u32) -> bool {
        // A measurement of a few milliseconds is not exact to a twentieth.
        let beyond = u64::from(total) * 20 > u64::from(self.rate) * 21;
        if beyond && self.rate > 0 {
            self.rate = total;
        }
        beyond && self.rate > 0
    }

    /// Takes in the stretch that a probe measured, thousandths, while the bus carried `total`
    /// transactions per millisecond.
    pub fn felt(&mut self, stretch_milli: u32, total: u32) {
        let full_too_early = stretch_milli >= FULL_MILLI && total < self.rate / 2;
        let free_too_long = stretch_milli < FREE_MILLI && u64::from(total) * 10 >= u64::from(self.rate) * 9;
        self.contradictions = if full_too_early || free_too_long { self.contradictions + 1 } else { 0 };
        self.doubtful |= self.contradictions >= PATIENCE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rate: u32) -> Saturation {
        let mut saturation = Saturation::default();
        saturation.set(rate);
        saturation
    }

    #[test]
    fn more_than_everything_corrects_it_at_once() {
        let mut bus = of(1000);
        assert!(!bus.carried(1040) && bus.rate() == 1000, "within the error");
        assert!(bus.carried(1200) && bus.rate() == 1200);
        let mut unknown = Saturation::default();
        assert!(!unknown.carried(1200) && unknown.is_wanted(), "what is carried is no measure of what could be");
    }

    #[test]
    fn contradictions_that_last_ask_for_a_new_measurement() {
        for (stretch, total) in [(2000, 400), (1000, 950)] {
            let mut bus = of(1000);
            bus.felt(stretch, total);
            bus.felt(stretch, total);
            bus.felt(1300, 700);
            assert!(!bus.is_wanted(), "they did not last");
            (0..PATIENCE).for_each(|_| bus.felt(stretch, total));
            assert!(bus.is_wanted() && bus.rate() == 1000, "{stretch}: until then it is all there is");
            bus.set(800);
            assert!(!bus.is_wanted());
        }
    }

    #[test]
    fn a_full_bus_that_carries_much_is_no_contradiction() {
        let mut bus = of(1000);
        (0..10).for_each(|_| bus.felt(2000, 950));
        (0..10).for_each(|_| bus.felt(1000, 200));
        assert!(!bus.is_wanted());
    }
}
