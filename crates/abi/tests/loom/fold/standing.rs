//! `nm_switch`, in two halves.

use loom::sync::atomic::Ordering;

use super::mistake::Mistake;
use super::team::{Carrier, Team};

impl Team {
    /// The first half of `nm_switch`: the carrier stands on the stack that it loads.
    pub fn enter(&self, carrier: &Carrier, context: usize) -> Standing<'_> {
        self.witness.steps_on(context, carrier.number);
        Standing { team: self, context, stack: self.contexts[context].stack.get_mut() }
    }
}

/// A carrier on a context's stack.
pub struct Standing<'a> {
    team: &'a Team,
    context: usize,
    stack: loom::cell::MutPtr<()>,
}

impl Standing<'_> {
    /// The second half of `nm_switch`: what was saved is published after the stack has been left.
    pub fn leave(self) {
        let Self { team, context, stack } = self;
        let runner = &team.contexts[context].runner;
        let order = if team.has(Mistake::FreeWithoutOrder) { Ordering::Relaxed } else { Ordering::Release };
        if team.has(Mistake::FreeBeforeLeft) {
            runner.store(0, order);
            // Any access: others may run before it.
            runner.load(Ordering::Relaxed);
        }
        team.witness.steps_off(context);
        drop(stack);
        if !team.has(Mistake::FreeBeforeLeft) {
            runner.store(0, order);
        }
    }
}
