//! The policy's own stream of random numbers, which its seed determines.
//!
//! Source: `SplitMix64`, Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
//! OOPSLA 2014.

/// A stream that its seed determines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number, uniform over all of `u64`.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, uniform (multiply-shift; the bias is below 2^-32 for the bounds used
    /// here).
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "nothing to choose from");
        ((u64::from((self.draw() >> 32) as u32) * u64::from(bound)) >> 32) as u32
    }
}

/// The choice among processors or pools that a rule finds equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    /// The policy's random stream.
    Random,
    /// The lowest index.
    Lowest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_values_of_seed_zero() {
        let mut random = Random::new(0);
        assert_eq!(random.draw(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.draw(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn below_reaches_every_value_and_no_other() {
        let mut random = Random::new(7);
        let mut seen = [0u32; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 150), "{seen:?}");
    }
}
