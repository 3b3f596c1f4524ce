//! Quanta Window Gang: all threads of an application at the same time, gangs put together by the bandwidth they wanted in the latest few quanta.
//!
//! **Source**: QWG, Antonopoulos et al. 2004, §4 (its details are in the ICPP 2003 paper of the same authors, reference 1 there).
//!
//! **Terms**: as `turns=lqg`; window = the latest 5 quanta in which the application ran.
//!
//! **Algorithm**
//! ```text
//! as lqg, but b(j) is the mean over the window
//! ```
//!
//! **Differs from the paper**: as `turns=lqg`. The paper does not print the length of the window.
//!
//! **Use when** rates go up and down from quantum to quantum. **Avoid when** they are smooth: then `lqg` follows them sooner.

use super::machinery::buses::needs_buses;
use super::machinery::gang::{Gangs, WINDOW_MAX};
use super::machinery::quantum::QUANTUM_NS;
use crate::answer::Answer;
use crate::parameters::Parameters;
use crate::part::{Info, Needs, Turns};
use crate::rejected::Rejected;
use crate::turn::Turn;
use crate::view::{Bus, View};

/// How it is named and made.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "qwg",
        summary: "All threads of an application at once, put together by their mean bandwidth over some quanta",
        source: "Antonopoulos et al. 2004, §4",
    },
    build: |given| Ok(Box::new(Qwg::read(given)?)),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct Qwg(Gangs);

impl Qwg {
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let window = parameters.number("window")?.unwrap_or(Self::WINDOW);
        Self::new(window, parameters.duration("quantum")?.unwrap_or(QUANTUM_NS))
    }

    /// Default of the window, quanta.
    pub const WINDOW: u32 = 5;

    /// With the window, quanta, and the length of a quantum, nanoseconds.
    ///
    /// # Errors
    /// If the window is too long.
    pub fn new(window: u32, quantum_ns: u64) -> Result<Self, Rejected> {
        if !(1..=WINDOW_MAX).contains(&window) {
            return Err(Rejected::new(format!("window={window} should be a number of quanta from 1 to {WINDOW_MAX}")));
        }
        Ok(Self(Gangs::new(window, quantum_ns)))
    }
}

impl Turns for Qwg {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs { preemption: true, bandwidth: true, ..Needs::NONE }
    }

    fn parameters(&self) -> String {
        let window = (self.0.window != Self::WINDOW).then(|| format!("window={}", self.0.window));
        [window, self.0.quantum.parameter()].into_iter().flatten().collect::<Vec<_>>().join(",")
    }

    fn stops(&self) -> bool {
        true
    }

    fn chooses_threads(&self) -> bool {
        true
    }

    fn fits(&self, buses: &[Bus]) -> Result<(), Rejected> {
        needs_buses(buses)
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        self.0.now(view, turn)
    }
}
