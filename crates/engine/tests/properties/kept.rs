//! Stories that are kept: journals of what went wrong once. A failed test leaves the latest story
//! in a file of the same form.
//!
//! A kept story says what happens, and nothing of what follows: its lines have no actions. So it
//! stays the same story when policies are added, when other events are drawn, and when the engine
//! decides otherwise.

use super::{World, check_end};
use numaestro_engine::{Event, Settings, journal};
use numaestro_topology::Machine;
use std::fs;
use std::path::{Path, PathBuf};

/// What an engine is made of, and what happens to it, each event with its time.
#[derive(Debug, Clone)]
pub struct Story {
    pub machine: Machine,
    pub settings: Settings,
    pub seed: u64,
    pub events: Vec<(u64, Event)>,
}

impl Story {
    fn read(journal: &str) -> Self {
        let mut lines = journal.lines();
        let (machine, settings, seed) = journal::decode_head(lines.next().expect("a first line")).unwrap();
        let event = |line| journal::decode(line).map(|(at, event, _)| (at, event)).unwrap();
        Self { machine, settings, seed, events: lines.map(event).collect() }
    }

    fn write(&self) -> String {
        let mut text = journal::encode_head(&self.machine, &self.settings, self.seed);
        for (at, event) in &self.events {
            text.push('\n');
            text.push_str(&journal::encode(*at, event, &[]));
        }
        text.push('\n');
        text
    }
}

/// The events of a story once more. On the way a copy is made.
pub fn repeat(story: Story) -> World {
    let events = story.events.clone();
    let mut world = World::new(story);
    let copied = world.story.seed as usize % events.len();
    for (number, (at, event)) in events.into_iter().enumerate() {
        if number == copied {
            world.copy = Some(world.engine.clone());
        }
        world.tell(at, &event);
    }
    world
}

/// Proptest tries ever shorter stories: the last one that fails is the one that stays in the file.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failed.journal");
            let written = fs::write(&path, self.story.write());
            println!("the story is in {}: {written:?}", path.display());
        }
    }
}

fn files() -> Vec<PathBuf> {
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/properties/kept");
    let mut files: Vec<PathBuf> = fs::read_dir(room).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Each file is named after what it showed.
#[test]
fn kept_stories() {
    let files = files();
    assert!(!files.is_empty());
    for file in files {
        println!("{}", file.display());
        check_end(repeat(Story::read(&fs::read_to_string(&file).unwrap())));
    }
}
