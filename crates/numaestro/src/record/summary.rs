//! What is in a run, for lists: all of it is read.

use crate::recordings::runs::Run;
use crate::recordings::{Ran, in_words};
use numaestro_engine::Event;
use numaestro_engine::journal::{self, State};
use numaestro_recording::{Contents, Stamp};
use serde::Serialize;
use std::collections::BTreeSet;

/// See the file's header.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
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
    /// All that ran, in their order.
    pub policies: Vec<String>,
    /// Version of the program that wrote it.
    pub numaestro: String,
    /// Its begin is there, so it can be repeated.
    pub whole: bool,
    /// Names were left out.
    pub anonymous: bool,
    /// Why lines are missing; empty: none are.
    pub torn: String,
}

impl Summary {
    /// Reads the run.
    pub fn of(run: &Run) -> Self {
        let mut summary = Self { began_ns: run.began(), bytes: run.bytes(), ..Self::default() };
        summary.until_ns = summary.began_ns;
        match &run.begins {
            Ok(begins) => {
                summary.run.clone_from(&begins.run);
                summary.numaestro.clone_from(&begins.numaestro);
                (summary.whole, summary.anonymous) = (!begins.continues, begins.anonymous);
            }
            Err(why) => summary.torn.clone_from(why),
        }
        let mut apps = BTreeSet::new();
        let mut ran = Ran::default();
        let mut is_begin_known = false;
        for piece in &run.pieces {
            // It may have gone since: the manager is at work.
            let Ok(contents) = piece.segment.read() else { continue };
            summary.add(&contents, &mut apps, &mut ran, &mut is_begin_known);
        }
        summary.programs = apps.len();
        ran.last().clone_into(&mut summary.policy);
        summary.policies = ran.policies();
        summary
    }

    fn add(&mut self, contents: &Contents, apps: &mut BTreeSet<u64>, ran: &mut Ran, is_begin_known: &mut bool) {
        let mut lines = contents.text.lines();
        let head = lines.next().unwrap_or_default();
        if let Ok((_, settings, _)) = journal::decode_head(head) {
            ran.begins(&settings.policy);
        }
        let mut first = None;
        for line in lines {
            if !journal::is_aside(line) {
                let Ok((at, event, actions)) = journal::decode(line) else { continue };
                first = first.or(Some(at));
                self.events += 1;
                ran.hear(at, &event, &actions);
                if let Event::Arrive { app, .. } = event {
                    apps.insert(app.0);
                }
            } else if let Some(stamp) = Stamp::decode(line) {
                self.until_ns = stamp.wall;
                if let (Some(at), false) = (first, *is_begin_known) {
                    self.began_ns = stamp.wall_at(at);
                    *is_begin_known = true;
                }
            } else if let Ok(state) = State::decode(line) {
                first = first.or(Some(state.at));
                ran.is_now(state.at, &state.state.policy, state.state.apps.len());
                apps.extend(state.state.apps.iter().map(|app| app.app.0));
            }
        }
        if let Some(torn) = &contents.torn {
            self.torn.clone_from(torn);
        }
    }

    /// The policies that ran, for people.
    pub fn ran(&self) -> String {
        in_words(&self.policies)
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
