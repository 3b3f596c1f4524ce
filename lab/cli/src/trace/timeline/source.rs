//! The engine's state after each event of a file: of a journal the engine itself knows it, of a
//! recording its events and actions tell it.

use numaestro_engine::journal::{self, JournalError, Picture, Replay};
use numaestro_engine::{Action, Event, Nanos, Snapshot};
use numaestro_topology::Machine;
use std::borrow::Cow;

/// The side that knows the state after each event.
pub enum Source {
    Replayed(Box<Replay>),
    Recorded { machine: Box<Machine>, picture: Picture },
}

impl Source {
    pub fn new(head: &str, recorded: bool) -> Result<Self, JournalError> {
        if !recorded {
            return Ok(Self::Replayed(Box::new(Replay::new(head)?)));
        }
        let (machine, settings, _) = journal::decode_head(head)?;
        let picture = Picture::empty(&machine, &settings.policy, &settings.reserved);
        Ok(Self::Recorded { machine: Box::new(machine), picture })
    }

    pub fn machine(&self) -> &Machine {
        match self {
            Self::Replayed(replay) => replay.engine().machine(),
            Self::Recorded { machine, .. } => machine,
        }
    }

    pub fn snapshot(&self) -> Cow<'_, Snapshot> {
        match self {
            Self::Replayed(replay) => Cow::Owned(replay.engine().snapshot()),
            Self::Recorded { picture, .. } => Cow::Borrowed(picture.snapshot()),
        }
    }

    pub fn step(&mut self, line: &str, at: Nanos, event: &Event, actions: &[Action]) -> Result<(), JournalError> {
        match self {
            Self::Replayed(replay) => replay.step(line),
            Self::Recorded { picture, .. } => {
                picture.hear(at, event, actions);
                Ok(())
            }
        }
    }
}
