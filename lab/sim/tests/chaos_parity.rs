//! Parity: what the engine decided in a simulation, it decides again when its journal is repeated,
//! byte for byte, under every preset.

use numaestro_engine::{Action, Event, journal};
use numaestro_policy::catalogue;
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Channel, Over};
use numaestro_sim::program::{Data, PagePlace, Phase, Program, Refs, Split, Wait, Work};
use numaestro_sim::world::{Observer, World};

#[path = "world_support/mod.rs"]
mod support;

/// Keeps the journal as the manager writes it.
struct Recorder {
    text: String,
    lines: usize,
}

impl Observer for Recorder {
    fn wants_journal(&self) -> bool {
        true
    }

    fn journal(&mut self, at: u64, event: &Event, actions: &[Action]) {
        self.text.push('\n');
        self.text.push_str(&journal::encode(at, event, actions));
        self.lines += 1;
    }
}

#[test]
fn journals_of_every_preset_are_repeated_byte_for_byte() {
    let presets: Vec<_> = catalogue().into_iter().filter(|entry| entry.part == "preset").collect();
    assert!(presets.len() >= 10);
    for preset in presets {
        let policy = preset.info.name;
        let phases = || {
            let shared = Work::Each(Dist::Exponential(200_000.0));
            let region = Phase::Parallel {
                width: 6,
                iterations: 5,
                work: shared,
                refs: vec![Refs::new(0, 2.0)],
                wait: Wait::Block,
                locked: None,
                curve: None,
            };
            vec![region.clone(), Phase::Pause { time: Dist::Constant(3_000_000.0) }, region]
        };
        let data = || Data { name: "lines".to_owned(), pages: 1, split: Split::Whole, place: PagePlace::FirstTouch };
        let program = |job: u64| Program { data: vec![data()], ..support::program(2 + job as u32, phases()) };
        let programs = (0..6).map(|job| (job * 700_000, program(job))).collect();
        let mut model = support::machine(8, numaestro_sim::machine::System::default(), 1_000_000);
        // Policies of bandwidth need a bus; this one is always too small.
        let over = Over::Bus(model.topology.all());
        model.channels.push(Channel { name: "bus".to_owned(), over, per_ms: 8_000 });
        let setup = support::setup(model, policy, 3);
        let (topology, seed) = (setup.model.topology.clone(), setup.seed);
        let mut world = World::new(setup, support::Listed::new(programs)).unwrap_or_else(|no| panic!("{no}"));
        let text = journal::encode_head(&topology, world.settings(), seed);
        let mut recorder = Recorder { text, lines: 0 };
        world.run(&mut recorder);
        assert!(recorder.lines > 12, "{policy}: {} events", recorder.lines);
        let repeated = journal::Replay::run(&recorder.text);
        assert!(repeated.is_ok(), "{policy}: {}", repeated.err().map(|error| error.to_string()).unwrap_or_default());
    }
}
