//! Parity: what the engine decided in a simulation, it decides again when its journal is repeated, byte for byte, under every preset.

use numaestro_engine::{Action, Event, Needs, Settings, journal};
use numaestro_policy::catalogue;
use numaestro_sim::dist::Dist;
use numaestro_sim::program::{Phase, Wait, Work};
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
                refs: Vec::new(),
                wait: Wait::Block,
                locked: None,
                curve: None,
            };
            vec![region.clone(), Phase::Pause { time: Dist::Constant(3_000_000.0) }, region]
        };
        let programs = (0..6).map(|job| (job * 700_000, support::program(2 + job as u32, phases()))).collect();
        let model = support::machine(8, numaestro_sim::machine::System::default(), 1_000_000);
        let setup = support::setup(model, policy, 3);
        let host = Needs { requests: true, preemption: true, page_control: true, ..Needs::NONE };
        let settings = Settings { host, ..setup.settings.clone() };
        let text = journal::encode_head(&setup.model.topology, &settings, setup.seed);
        let mut recorder = Recorder { text, lines: 0 };
        World::new(setup, support::Listed::new(programs)).unwrap().run(&mut recorder);
        assert!(recorder.lines > 12, "{policy}: {} events", recorder.lines);
        let repeated = journal::Replay::run(&recorder.text);
        assert!(repeated.is_ok(), "{policy}: {}", repeated.err().map(|error| error.to_string()).unwrap_or_default());
    }
}
