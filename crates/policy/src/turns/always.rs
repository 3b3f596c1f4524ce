//! All applications run all the time, side by side.
//!
//! **Source**: space sharing; Martorell et al. 2000, §1.
//!
//! **Terms**: none.
//!
//! **Algorithm**
//! ```text
//! running = all admitted applications
//! ```
//!
//! **Differs from the paper**: no.
//!
//! **Use when** there are at least as many processors as applications. **Avoid when** programs
//! cannot shrink and there are more.

use crate::answer::Answer;
use crate::part::{Info, Turns};
use crate::turn::Turn;
use crate::view::View;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "always",
        summary: "Everybody runs all the time, side by side",
        source: "Martorell et al. 2000, §1",
    },
    build: |_| Ok(Box::new(Always)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct Always;

impl Turns for Always {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn now(&mut self, _view: &View<'_>, _turn: &mut Turn) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn keeps_everybody_and_never_asks_to_be_asked_again() {
        let case = Case::new(2).wants(&[1, 1, 1]);
        case.with_view(|view| {
            let mut turn = Turn::new();
            turn.reset(view.order);
            assert_eq!(Always.now(view, &mut turn), None);
            assert_eq!(turn.running, view.order);
        });
    }
}
