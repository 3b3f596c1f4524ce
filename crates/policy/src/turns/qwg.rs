//! Quanta Window Gang: all threads of an application at the same time, gangs put together by the
//! bandwidth they wanted in the latest few quanta.
//!
//! **Source**: QWG, Antonopoulos et al. 2004, §4 (its details are in the ICPP 2003 paper of the
//! same authors, reference 1 there).
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
//! **Use when** rates go up and down from quantum to quantum. **Avoid when** they are smooth: then
//! `lqg` follows them sooner.

use super::machinery::gang::{Gangs, WINDOW_MAX};
use super::machinery::quantum::QUANTUM_NS;
use crate::answer::Answer;
use crate::part::{Info, Turns};
use crate::rejected::Rejected;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "qwg",
        summary: "All threads of an application at once, put together by their mean bandwidth over some quanta",
        source: "Antonopoulos et al. 2004, §4",
    },
    build: |given| {
        let window = given.number("window")?.unwrap_or(WINDOW);
        let quantum_ns = given.duration("quantum")?.unwrap_or(QUANTUM_NS);
        if window > WINDOW_MAX {
            return Err(Rejected::new(format!("window={window} should be a number of quanta from 1 to {WINDOW_MAX}")));
        }
        Ok(Box::new(Gangs::new(ANSWER.info, WINDOW, quantum_ns).over(window)))
    },
};

/// Default length of the window, quanta.
const WINDOW: u32 = 5;
