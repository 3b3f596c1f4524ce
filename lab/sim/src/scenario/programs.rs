//! The programs of a scenario, in order and by name.

use crate::program::Program;
use std::collections::BTreeMap;
use std::sync::Arc;

/// See the file's header. A recorded day has some ten thousand.
#[derive(Debug, Default)]
pub(super) struct Programs {
    all: Vec<Arc<Program>>,
    places: BTreeMap<String, usize>,
}

impl Programs {
    /// All of them, in order.
    pub fn all(&self) -> &[Arc<Program>] {
        &self.all
    }

    /// The same.
    pub fn into_all(self) -> Vec<Arc<Program>> {
        self.all
    }

    /// The first one of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Program>> {
        self.places.get(name).map(|&place| &self.all[place])
    }

    /// Adds one. It is the one of its name unless there is one already.
    pub fn push(&mut self, program: Arc<Program>) {
        self.places.entry(program.name.clone()).or_insert(self.all.len());
        self.all.push(program);
    }
}
