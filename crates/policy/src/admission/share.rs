//! Every application starts at once; when there are more applications than processors, several run
//! on one.
//!
//! **Source**: this project. Nobody waits behind a program that may never end.
//!
//! **Terms**: owner = the application whose processor it is; guest = one that runs on it too,
//! folded.
//!
//! **Algorithm**
//! ```text
//! start
//! ```
//!
//! **Differs from the paper**: Martorell et al. 2000 (§4.1) leave applications beyond the number of
//! processors without any.
//!
//! **Use when** programs are interactive or endless. **Avoid when** many batch jobs wait: `fifo`
//! ends them sooner on average.

use crate::answer::Answer;
use crate::part::{Admission, Info, Offer};
use crate::view::{Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Admission> = Answer {
    info: Info {
        name: "share",
        summary: "Everybody starts; with more applications than processors several run on one",
        source: "numaestro",
    },
    build: |_| Ok(Box::new(Share)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct Share;

impl Admission for Share {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn queues(&self) -> bool {
        false
    }

    fn starts(&mut self, _view: &View<'_>, _app: Slot, _offer: Offer) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn starts_even_with_nothing_on_offer() {
        let case = Case::new(1).wants(&[1, 1]);
        case.with_view(|view| assert!(Share.starts(view, Slot(1), Offer { count: 0, others_served: false })));
    }
}
