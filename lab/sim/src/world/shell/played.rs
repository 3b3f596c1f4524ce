//! The simulator's shell without a world: the observations of another shell take the place of the
//! modelled programs. `numaestro_contract::play` drives it.

use super::{Outbox, Shell};
use crate::Nanos;
use numaestro_contract::{Next, Observation};
use numaestro_engine::{Action, Engine, Event};

/// See the file's header.
#[derive(Debug)]
pub struct Played {
    shell: Shell,
    outbox: Outbox,
}

impl Played {
    /// Around an engine that has heard nothing.
    pub fn new(engine: Engine) -> Self {
        Self { shell: Shell::new(engine, 0, Vec::new()), outbox: Outbox::default() }
    }
}

impl numaestro_contract::Shell for Played {
    fn observe(&mut self, at: Nanos, what: &Observation) {
        self.outbox.observe(at, what.clone());
    }

    fn next(&mut self, now: Nanos) -> Option<Next> {
        self.shell.next(now, &mut self.outbox)
    }

    fn decide(&mut self, at: Nanos, event: &Event) -> Vec<Action> {
        self.shell.hear(at, event.clone(), &mut self.outbox)
    }
}
