//! Bus Bandwidth-Aware Dynamic Space Sharing: processors in proportion to requests for two quanta at once, threads so divided that both want about
//! the same bandwidth.
//!
//! **Source**: B2ADSS, Antonopoulos et al. 2004, §4, over Dynamic Space Sharing ([`share=dss`](#share-dss)).
//!
//! **Terms**: as `turns=chunks`, of which it is the case `share=dss`.
//!
//! **Algorithm**
//! ```text
//! every mult quanta: a(j) = what DSS gives of mult · P processors
//! every quantum: P threads of those with a(j) > 0, one by one, by fitness for what is left of P times the mean rate of all threads
//! ```
//!
//! **Differs from the paper**: as `turns=chunks`: slots that could not be used later are used first. DSS gives everybody at least one slot while there are
//! enough; if not, those that have waited longest.
//!
//! **Use when** applications are to have their shares and bandwidth is short. **Avoid when** all applications have one thread: then DSS decides nothing
//! and `b2arr` is as fair.

use super::chunks::Chunks;
use super::machinery::buses::needs_buses;
use super::machinery::quantum::QUANTUM_NS;
use crate::answer::Answer;
use crate::parameters::Parameters;
use crate::part::{Info, Needs, Turns};
use crate::rejected::Rejected;
use crate::share::dss::Dss;
use crate::turn::Turn;
use crate::view::{Bus, View};

/// How it is named and made.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "b2adss",
        summary: "Processors by request for two quanta at once, each with threads of about the same bandwidth",
        source: "Antonopoulos et al. 2004, §4",
    },
    build: |given| Ok(Box::new(B2adss::read(given)?)),
};

/// Neither config nor state of its own.
#[derive(Debug, Clone)]
pub struct B2adss(Chunks);

impl B2adss {
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let mult = parameters.number("mult")?.unwrap_or(Chunks::MULT);
        Self::new(mult, parameters.duration("quantum")?.unwrap_or(QUANTUM_NS))
    }

    /// With the length of an epoch in quanta and of a quantum in nanoseconds.
    ///
    /// # Errors
    /// If the epoch is too long.
    pub fn new(mult: u32, quantum_ns: u64) -> Result<Self, Rejected> {
        Chunks::new(mult, Box::<Dss>::default(), quantum_ns).map(Self)
    }
}

impl Turns for B2adss {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn parameters(&self) -> String {
        self.0.common_parameters().join(",")
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
