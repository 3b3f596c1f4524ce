//! The recording of this manager: each event with its actions, and what the shell saw, go into a
//! ring on disk (`numaestro-recording`). Off, it costs one look at an option.
//!
//! A **run** is one engine on one machine. A segment that does not begin with its run begins with
//! the whole state. So each segment can be read without those before it, which the ring may have
//! removed by then.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use numaestro_contract::Observation;
use numaestro_engine::journal::{self, State};
use numaestro_engine::{Action, Event, Nanos, Snapshot};
use numaestro_host::monotonic_ns;
use numaestro_host::rundir::RuntimeDir;
use numaestro_policy::AppId;
use numaestro_recording::{Begins, Limits, Recorder, Ring, Stamp, VERSION};

use crate::config::Config;

/// The directory of the recordings below the one of the manager's state.
const DIRECTORY: &str = "recordings";

/// A recording that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) directory: PathBuf,
    limits: Limits,
    anonymous: bool,
}

impl Wanted {
    /// As the configuration says.
    pub(crate) fn of(config: &Config) -> Self {
        let section = &config.recording;
        let age = Duration::from_secs(u64::from(section.days) * 24 * 3600);
        let limits = Limits { bytes: u64::from(section.mib) << 20, age };
        Self { directory: directory(config), limits, anonymous: section.anonymous }
    }
}

/// The directory of this manager's recordings: the configured one; `/var/lib/numaestro/recordings`
/// for the system's; for a user's below `$XDG_STATE_HOME/numaestro`, else
/// `~/.local/state/numaestro`; for a manager with a runtime directory of its own below that.
pub fn directory(config: &Config) -> PathBuf {
    if let Some(directory) = &config.recording.directory {
        return directory.clone();
    }
    if config.system {
        return Path::new("/var/lib/numaestro").join(DIRECTORY);
    }
    let usual = config.dir.as_os_str().is_empty() || config.dir == RuntimeDir::default_path();
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    match state.filter(|_| usual && std::env::var_os("NUMAESTRO_DIR").is_none()) {
        Some(state) => state.join("numaestro").join(DIRECTORY),
        None if usual => RuntimeDir::default_path().join(DIRECTORY),
        None => config.dir.join(DIRECTORY),
    }
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Recording {
    recorder: Recorder,
    wanted: Wanted,
    /// The name of the first run, from which those of the later ones are made.
    name: String,
    /// Runs so far.
    runs: u32,
    /// Segments of the present run so far.
    segments: u32,
}

impl Recording {
    /// Starts the writer. [`Self::begin_run`] has to follow.
    pub(crate) fn start(wanted: Wanted) -> io::Result<Self> {
        let recorder = Recorder::start(Ring::at(&wanted.directory), wanted.limits, clock)?;
        let name = format!("{}-{}", clock().wall / 1_000_000, std::process::id());
        Ok(Self { recorder, wanted, name, runs: 0, segments: 0 })
    }

    pub(crate) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Says whether names are left out.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.wanted.anonymous
    }

    /// The next run begins. `head`: the journal's. `state`: the engine has decided before.
    pub(crate) fn begin_run(&mut self, head: &str, state: Option<(Snapshot, BTreeMap<AppId, String>)>) {
        (self.runs, self.segments) = (self.runs + 1, 0);
        self.begin_segment(head, state);
    }

    /// The next segment begins.
    pub(crate) fn begin_segment(&mut self, head: &str, state: Option<(Snapshot, BTreeMap<AppId, String>)>) {
        self.segments += 1;
        let at = monotonic_ns();
        let begins = Begins {
            version: VERSION,
            numaestro: env!("CARGO_PKG_VERSION").to_owned(),
            run: format!("{}.{}", self.name, self.runs),
            segment: self.segments,
            continues: state.is_some(),
            anonymous: self.wanted.anonymous,
        };
        let mut lines = format!("{head}\n{}\n", begins.encode(at));
        if let Some((state, names)) = state {
            lines += &State { at, state, names }.encode();
            lines.push('\n');
        }
        self.recorder.begin(at, &lines);
    }

    /// The line of an event, and of what followed.
    pub(crate) fn step(&mut self, line: &[u8]) {
        self.recorder.line(|text| text.extend_from_slice(line));
    }

    /// The same for an application whose name is to be left out.
    pub(crate) fn step_without_name(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        self.recorder.line(|text| journal::write_named(text, at, None, event, actions));
    }

    /// What the shell has seen, if no event says it.
    pub(crate) fn observed(&mut self, at: Nanos, what: &Observation) {
        if matches!(what, Observation::Look { .. } | Observation::Phase { .. } | Observation::Page { .. }) {
            self.recorder.line(|text| {
                text.extend_from_slice(what.encode(at).as_bytes());
                text.push(b'\n');
            });
        }
    }

    /// It is time for the next segment, or there is trouble.
    pub(crate) fn wants_attention(&self, now: Nanos) -> bool {
        self.recorder.is_full(now)
    }

    /// Why it has ended before its time.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.recorder.trouble()
    }
}

/// The time on the journal's clock and on people's.
pub(crate) fn clock() -> Stamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp { at: monotonic_ns(), wall: wall.as_nanos() as u64 }
}
