//! The observations of a shell, as values: the inputs of the contract. A journal can hold them
//! between its events, one JSON object a line, so that a run of one shell can be played through
//! another.
//!
//! ```text
//! {"at":1000,"saw":{"fact":{"what":"depart","app":1}}}
//! {"at":2000,"saw":{"look":{"app":2,"look":{"regions":5,"in_region":false,"several":true},"cpu_ns":7,"of_use":true}}}
//! ```

use crate::look::Look;
use crate::phase::Phase;
use numaestro_engine::journal::JournalError;
use numaestro_engine::{AppId, Event, Nanos};
use serde::{Deserialize, Serialize};

/// Something that a shell has observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Observation {
    /// An event that the engine hears as it is: an application comes, asks or goes, a time has
    /// come.
    Fact(Event),
    /// The rates of the turn that is over; the answer to [`crate::Next::Measure`].
    Rates(Vec<Event>),
    /// A look at a program that does not say its phases.
    Look {
        /// The application.
        app: AppId,
        /// The findings of the look.
        look: Look,
        /// Processor time of the whole program, nanoseconds, if [`Look::needs_cpu_time`].
        cpu_ns: Option<Nanos>,
        /// An application lacks processors that this one could lend.
        of_use: bool,
    },
    /// The program says its phase.
    Phase {
        /// The application.
        app: AppId,
        /// Its phase.
        phase: Phase,
    },
    /// The program has a new page: earlier looks say nothing about it any more.
    Page {
        /// The application.
        app: AppId,
    },
    /// The program says that it has adopted a target.
    Adopted {
        /// The application.
        app: AppId,
        /// The engine's number of the target.
        epoch: u32,
    },
    /// The shell has carried a target out from outside: the program is within it.
    Placed {
        /// The application.
        app: AppId,
        /// The engine's number of the target.
        epoch: u32,
    },
}

impl Observation {
    /// The journal's line, without its newline. `at`: when it was observed, nanoseconds on the
    /// shell's clock.
    pub fn encode(&self, at: Nanos) -> String {
        let saw = serde_json::to_string(self).expect("numbers, strings and lists can always be written");
        format!("{{\"at\":{at},\"saw\":{saw}}}")
    }

    /// The time and the observation of a line.
    ///
    /// # Errors
    /// The line is no observation; the error says why.
    pub fn decode(line: &str) -> Result<(Nanos, Self), JournalError> {
        let line: Line = serde_json::from_str(line).map_err(|error| JournalError { problem: error.to_string() })?;
        Ok((line.at, line.saw))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at: Nanos,
    saw: Observation,
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_engine::journal;

    #[test]
    fn every_observation_comes_back_from_its_line() {
        let (app, look) = (AppId(3), Look { regions: 5, in_region: false, several: true, ready: None, waits: false });
        for what in [
            Observation::Fact(Event::Policy { policy: "share=equi".to_owned() }),
            Observation::Rates(vec![Event::Bandwidth { app, rates: vec![Some(7), None] }]),
            Observation::Look { app, look, cpu_ns: Some(8), of_use: true },
            Observation::Phase { app, phase: Phase::Blocked },
            Observation::Page { app },
            Observation::Adopted { app, epoch: 4 },
            Observation::Placed { app, epoch: 4 },
        ] {
            let line = what.encode(12);
            assert!(journal::is_observation(&line), "{line}");
            assert_eq!(Observation::decode(&line), Ok((12, what)), "{line}");
        }
        assert!(!journal::is_observation(&journal::encode(12, &Event::Timer, &[])));
    }
}
