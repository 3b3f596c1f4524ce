//! The runs in a ring: the segments that belong together, and a sum of what is in them.

use numaestro_engine::Event;
use numaestro_engine::journal::{self, State};
use numaestro_recording::{Contents, Segment, Stamp};
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One engine's life on one machine, as far as the ring still has it.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(clippy::struct_field_names, reason = "the names are those of the JSON")]
pub struct Run {
    /// The name that its segments have in common.
    pub run: String,
    /// Nanoseconds since 1970 of the first event.
    pub began_ns: u64,
    /// Nanoseconds since 1970 of the last time that was written.
    pub until_ns: u64,
    /// Events of the engine.
    pub events: u64,
    /// Applications that it knew.
    pub programs: usize,
    /// Bytes on disk.
    pub bytes: u64,
    /// The policy at the end.
    pub policy: String,
    /// Version of the program that wrote it.
    pub numaestro: String,
    /// Its begin is there, so it can be repeated.
    pub whole: bool,
    /// Names were left out.
    pub anonymous: bool,
    /// Why lines are missing; empty: none are.
    pub torn: String,
    /// Its segments, oldest first.
    #[serde(skip)]
    pub segments: Vec<Segment>,
    #[serde(skip)]
    apps: BTreeSet<u64>,
}

/// The runs, newest first. A segment that cannot be read is a run of its own that says why.
pub fn of(segments: Vec<Segment>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for segment in segments {
        // It may have gone, or hold nothing yet: the manager is at work.
        match segment.read() {
            Ok(contents) => {
                let known = runs.iter().position(|run| run.run == contents.begins.run);
                let place = known.unwrap_or_else(|| {
                    runs.push(Run::new(&contents));
                    runs.len() - 1
                });
                runs[place].add(segment, &contents);
            }
            Err(_) if segment.bytes == 0 => {}
            Err(cause) => runs.push(Run {
                began_ns: segment.began_ms * 1_000_000,
                until_ns: segment.began_ms * 1_000_000,
                bytes: segment.bytes,
                torn: cause.to_string(),
                ..Run::default()
            }),
        }
    }
    runs.reverse();
    runs
}

impl Run {
    fn new(contents: &Contents) -> Self {
        let begins = &contents.begins;
        Self {
            run: begins.run.clone(),
            numaestro: begins.numaestro.clone(),
            whole: !begins.continues,
            anonymous: begins.anonymous,
            ..Self::default()
        }
    }

    fn add(&mut self, segment: Segment, contents: &Contents) {
        let mut lines = contents.text.lines();
        let head = lines.next().unwrap_or_default();
        if let Ok((_, settings, _)) = journal::decode_head(head) {
            self.policy = settings.policy;
        }
        let (mut first, mut latest) = (None, None);
        for line in lines {
            if !journal::is_aside(line) {
                let Ok((at, event, _)) = journal::decode(line) else { continue };
                first = first.or(Some(at));
                self.events += 1;
                match event {
                    Event::Arrive { app, .. } => drop(self.apps.insert(app.0)),
                    Event::Policy { policy } => self.policy = policy,
                    _ => {}
                }
            } else if let Some(stamp) = Stamp::decode(line) {
                latest = Some(stamp);
                if let (Some(at), 0) = (first, self.began_ns) {
                    self.began_ns = stamp.wall_at(at);
                }
            } else if let Ok(state) = State::decode(line) {
                first = first.or(Some(state.at));
                self.policy.clone_from(&state.state.policy);
                self.apps.extend(state.state.apps.iter().map(|app| app.app.0));
            }
        }
        if let Some(stamp) = latest {
            self.until_ns = stamp.wall;
        }
        if self.began_ns == 0 {
            self.began_ns = segment.began_ms * 1_000_000;
        }
        if let Some(torn) = &contents.torn {
            self.torn.clone_from(torn);
        }
        self.programs = self.apps.len();
        self.bytes += segment.bytes;
        self.segments.push(segment);
    }

    /// Its begin.
    pub fn began(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.began_ns)
    }

    /// Its end so far.
    pub fn until(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.until_ns)
    }

    /// What people should know about it.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.torn.is_empty() {
            remarks.push(format!("lines are missing: {}", self.torn));
        } else if !self.whole {
            remarks.push("the begin is missing".to_owned());
        }
        if self.anonymous {
            remarks.push("without names".to_owned());
        }
        remarks
    }
}
