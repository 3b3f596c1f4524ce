//! The arrivals of a workload: each application at its time, its program converted for this
//! machine.

use crate::Nanos;
use crate::machine::Model;
use crate::program::{Asks, Program};
use crate::workload::{Arrival, Source};
use crate::world::clock::Clock;
use crate::world::queue::{Happening, Rank};
use numaestro_engine::Wish;
use std::collections::BTreeMap;
use std::sync::Arc;

/// See the file's header.
#[derive(Debug)]
pub struct Arrivals {
    source: Box<dyn Source>,
    /// Expected arrivals, by place; and whether the next one is fetched when it comes.
    expected: Vec<Option<(Arrival, bool)>>,
    free: Vec<u32>,
    names: BTreeMap<String, Arc<str>>,
    /// Programs of which only rates are known, each with its conversion for this machine.
    converted: Vec<(Arc<Program>, Arc<Program>)>,
}

impl Arrivals {
    /// The arrivals of a workload.
    pub fn new(source: Box<dyn Source>) -> Self {
        Self { source, expected: Vec::new(), free: Vec::new(), names: BTreeMap::new(), converted: Vec::new() }
    }

    /// Expects the next arrival that depends on nothing.
    pub fn fetch(&mut self, clock: &mut Clock) {
        if let Some(arrival) = self.source.next() {
            self.expect(arrival, true, clock);
        }
    }

    /// An application of a stream has ended, and the stream goes on.
    pub fn go_on(&mut self, stream: u32, clock: &mut Clock) {
        if let Some(arrival) = self.source.ended(stream, clock.now()) {
            self.expect(arrival, false, clock);
        }
    }

    fn expect(&mut self, arrival: Arrival, fetches: bool, clock: &mut Clock) {
        let at = arrival.at;
        let place = self.free.pop().unwrap_or_else(|| {
            self.expected.push(None);
            self.expected.len() as u32 - 1
        });
        self.expected[place as usize] = Some((arrival, fetches));
        clock.expect(at, Rank::Arrival, Happening::Arrival(place));
    }

    /// The application at a place has come.
    pub fn take(&mut self, place: u32, clock: &mut Clock) -> Option<Arrival> {
        let (arrival, fetches) = self.expected[place as usize].take()?;
        self.free.push(place);
        if fetches {
            self.fetch(clock);
        }
        Some(arrival)
    }

    /// The program on this machine: one of which only transaction rates are known is converted.
    pub fn on(&mut self, program: Arc<Program>, model: &Model) -> Arc<Program> {
        if !program.has_rates() {
            return program;
        }
        if let Some((_, known)) = self.converted.iter().find(|(other, _)| Arc::ptr_eq(other, &program)) {
            return Arc::clone(known);
        }
        let known = Arc::new(program.on(model));
        self.converted.push((program, Arc::clone(&known)));
        known
    }

    /// One name for all jobs of a program.
    pub fn name_of(&mut self, program: &Program) -> Arc<str> {
        if let Some(name) = self.names.get(program.name.as_str()) {
            return Arc::clone(name);
        }
        let name: Arc<str> = program.name.as_str().into();
        self.names.insert(program.name.clone(), Arc::clone(&name));
        name
    }
}

/// The wish of a program that arrives.
pub fn wish(program: &Program, estimate_ns: Option<Nanos>) -> Wish {
    let request = match program.asks {
        Asks::Once(_) => program.processors.max(1),
        Asks::Runnable | Asks::Creation => 1,
    };
    Wish {
        min: program.limits.min.max(1),
        max: program.limits.max,
        weight_milli: program.limits.weight_milli.max(1),
        class: program.class,
        estimate_ns,
        ..Wish::new(request)
    }
}
