//! Two policies for the same mix: which one is better, as measured and as simulated.

use super::cell::{Cell, Quantity};
use serde::Serialize;

/// Policies whose measured values differ by a smaller share than this count as equal.
pub const LEAST_EFFECT: f64 = 0.03;
/// They also count as equal if they differ by less than so many standard errors.
const ERRORS: f64 = 2.0;

/// Two policies that differ by more than the noise of the real runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The mix.
    pub mix: String,
    /// The two policies.
    pub policies: [String; 2],
    /// The quantity.
    pub quantity: Quantity,
    /// Its measured value under the first by that under the second.
    pub measured: f64,
    /// The same, simulated.
    pub simulated: f64,
}

impl Pair {
    /// `None` if they do not differ by more than the noise.
    pub fn of(one: &Cell, other: &Cell, quantity: Quantity) -> Option<Self> {
        let measured = one.measured(quantity) / other.measured(quantity);
        let noise = libm::hypot(one.noise(quantity), other.noise(quantity));
        let differ = libm::log(measured).abs() > libm::log1p(LEAST_EFFECT).max(ERRORS * noise);
        let value = |cell: &Cell| cell.simulated.value(quantity) as f64;
        differ.then(|| Self {
            mix: one.mix.clone(),
            policies: [one.policy.clone(), other.policy.clone()],
            quantity,
            measured,
            simulated: value(one) / value(other),
        })
    }

    /// Whether the simulator says the same order. Equal values are no order.
    pub fn is_right(&self) -> bool {
        (self.measured > 1.0 && self.simulated > 1.0) || (self.measured < 1.0 && self.simulated < 1.0)
    }
}
