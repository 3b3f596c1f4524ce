//! The engine behind a wall: catches a policy that panics, and puts the simplest one in its place.
//! It writes journal and recording too, because these hold each event with the actions that follow
//! from it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use numaestro_abi::control::PolicyInfo;
use numaestro_contract::Observation;
use numaestro_engine::{Action, Engine, Event, Nanos, Needs, Settings, Snapshot, journal};
use numaestro_policy::AppId;
use numaestro_topology::{CpuSet, Machine};

use crate::config::Config;
use crate::decision::histogram::Histogram;
use crate::decision::history::History;
use crate::decision::recording::{Recording, Wanted};
use crate::decision::witness::{Witness, message_of};
use crate::senses::bandwidth;

/// The policy that takes over when another one has failed.
pub(crate) const FALLBACK_POLICY: &str = "share=equi placement=affinity";

/// After a renewal all applications are there to claim their processors at once: there is nobody to
/// wait for.
const RENEWAL_NS: Nanos = 1_000_000;

/// Failures until the manager gives up: programs are better off without one that cannot decide.
const FAILURES_MAX: u32 = 3;

/// The file of every event and action.
#[derive(Debug)]
struct Journal {
    path: PathBuf,
    /// `None` once it could not be written.
    file: Option<File>,
    /// Number of its files: one for each machine.
    files: u32,
    /// It holds what the shell observed, too. The first file only: what was observed before another
    /// begins has a part in what follows.
    observations: bool,
}

impl Journal {
    fn create(path: &Path, observations: bool) -> Result<Self> {
        Ok(Self { path: path.to_owned(), file: Some(open(path)?), files: 1, observations })
    }

    /// It goes on in a file of its own, `NAME.2` and so on: each is about one machine.
    fn next_file(&mut self) -> Result<()> {
        if self.file.is_some() {
            self.files += 1;
            self.observations = false;
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{}", self.files));
            self.file = Some(open(Path::new(&name))?);
        }
        Ok(())
    }

    /// One line. A journal that cannot be written any more is given up: programs do not depend on
    /// it.
    fn write(&mut self, line: &str) {
        self.write_line(format!("{}\n", line.trim_end()).as_bytes());
    }

    /// The same with its newline.
    fn write_line(&mut self, line: &[u8]) {
        if let Some(file) = &mut self.file
            && let Err(cause) = file.write_all(line)
        {
            tracing::warn!("the journal ends here: {cause}");
            self.file = None;
        }
    }
}

fn open(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write the journal {}", path.display()))
}

/// The times that the engine takes for an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepTimes {
    /// Nanoseconds of the latest step.
    pub(crate) latest_ns: u64,
    /// Nanoseconds of the longest step.
    pub(crate) longest_ns: u64,
    pub(crate) all: Histogram,
}

/// The engine, its measurements, and the settings needed to begin anew.
pub(crate) struct ContainedEngine {
    engine: Engine,
    settings: Settings,
    seed: u64,
    /// Policies that have failed so far, each of them for good.
    failures: u32,
    journal: Option<Journal>,
    recording: Option<Recording>,
    history: History,
    /// The name of the application of the next event, for the journal.
    arriving: Option<String>,
    /// Events so far: the position in the journal.
    events: u64,
    /// Events that this engine has heard.
    events_of_engine: u64,
    /// Refusals so far, of all engines.
    refusals: u64,
    times: StepTimes,
}

/// The policy has failed at an event; [`ContainedEngine::fall_back`] has to follow.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The message of its panic.
    pub(crate) message: String,
}

fn build(machine: &Machine, settings: &Settings, seed: u64) -> Result<Engine> {
    Engine::new(machine.clone(), settings.clone(), seed)
        .map_err(|cause| anyhow!("{cause}"))
        .with_context(|| format!("policy `{}` cannot be used", settings.policy))
}

impl ContainedEngine {
    /// An engine for this machine under the configured policy. `preemption`: programs can be
    /// stopped.
    pub(crate) fn new(config: &Config, machine: &Machine, preemption: bool) -> Result<Self> {
        let mut settings = Settings {
            policy: config.policy.clone(),
            grace_ns: u64::from(config.grace_ms) * 1_000_000,
            reserved: machine.pu_set(&config.reserved.parse::<CpuSet>()?),
            buses: bandwidth::buses(machine),
            ..Settings::default()
        };
        settings.host.bandwidth = bandwidth::is_offered(config);
        // Programs measure their speedup when they are asked to.
        (settings.host.speedup, settings.host.preemption) = (true, preemption);
        settings.host.page_control = numaestro_host::numa::memory_policy_permitted().is_ok();
        let engine = build(machine, &settings, config.seed)?;
        let journal =
            config.journal.as_deref().map(|path| Journal::create(path, config.journal_observations)).transpose()?;
        let mut contained = Self {
            engine,
            settings,
            seed: config.seed,
            failures: 0,
            journal,
            recording: None,
            history: History::default(),
            arriving: None,
            events: 0,
            events_of_engine: 0,
            refusals: 0,
            times: StepTimes::default(),
        };
        contained.begin_journal(machine);
        Ok(contained)
    }

    fn begin_journal(&mut self, machine: &Machine) {
        let head = journal::encode_head(machine, &self.settings, self.seed);
        if let Some(journal) = &mut self.journal {
            journal.write(&head);
        }
        if let Some(recording) = &mut self.recording {
            recording.begin_run(&head, None);
        }
        self.history.begin(head);
    }

    /// Begins a recording, or ends it.
    pub(crate) fn record(&mut self, wanted: Option<Wanted>, machine: &Machine) -> std::io::Result<()> {
        self.recording = None;
        let Some(wanted) = wanted else { return Ok(()) };
        let mut recording = Recording::start(wanted)?;
        let state = self.fresh_or_state(&recording);
        recording.begin_run(&journal::encode_head(machine, &self.settings, self.seed), state);
        self.recording = Some(recording);
        Ok(())
    }

    /// The state that a recording which begins now begins with, and the names of the applications;
    /// `None`: nothing has happened yet.
    fn fresh_or_state(&self, recording: &Recording) -> Option<(Snapshot, BTreeMap<AppId, String>)> {
        let names = || if recording.is_anonymous() { BTreeMap::new() } else { self.history.names().clone() };
        (self.events_of_engine > 0).then(|| (self.engine.snapshot(), names()))
    }

    /// The recording, if there is one.
    pub(crate) fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// The next segment of the recording begins.
    pub(crate) fn next_segment(&mut self, machine: &Machine) {
        let Some(mut recording) = self.recording.take() else { return };
        let state = self.fresh_or_state(&recording);
        recording.begin_segment(&journal::encode_head(machine, &self.settings, self.seed), state);
        self.recording = Some(recording);
    }

    /// Begins anew for the machine as it is now, under the present policy; under the configured one
    /// where that does not fit the machine any more, and under the simplest one where that does not
    /// either. Nothing has changed where none fits.
    pub(crate) fn renew(&mut self, config: &Config, machine: &Machine) -> Result<()> {
        let mut settings = Settings {
            reserved: machine.pu_set(&config.reserved.parse::<CpuSet>()?),
            buses: bandwidth::buses(machine),
            recovery_ns: RENEWAL_NS,
            ..self.settings.clone()
        };
        let mut fresh = None;
        for policy in [&self.policy_text(), &config.policy, FALLBACK_POLICY] {
            policy.clone_into(&mut settings.policy);
            match build(machine, &settings, self.seed) {
                Ok(engine) => {
                    fresh = Some(engine);
                    break;
                }
                Err(cause) => tracing::warn!("{cause:#}"),
            }
        }
        let fresh = fresh.context("no policy can be used on the changed machine")?;
        if let Some(journal) = &mut self.journal {
            journal.next_file()?;
        }
        (self.engine, self.settings, self.arriving) = (fresh, settings, None);
        self.events_of_engine = 0;
        self.begin_journal(machine);
        Ok(())
    }

    /// Begins anew under the simplest policy, to go on after a failure. The journal ends with the
    /// failure.
    pub(crate) fn fall_back(&mut self, machine: &Machine) -> Result<()> {
        anyhow::ensure!(self.failures < FAILURES_MAX, "the simplest policy fails too");
        let settings = Settings { policy: FALLBACK_POLICY.to_owned(), ..self.settings.clone() };
        self.engine = build(machine, &settings, self.seed)?;
        (self.settings, self.journal, self.arriving) = (settings, None, None);
        (self.failures, self.events_of_engine) = (self.failures + 1, 0);
        // The recording goes on: a run of its own is the simplest policy's.
        self.begin_journal(machine);
        Ok(())
    }

    /// Another engine in its place, which has heard nothing.
    #[cfg(test)]
    pub(crate) fn replace(&mut self, engine: Engine) {
        self.engine = engine;
    }

    /// One event; what follows from it is appended to `actions`.
    pub(crate) fn step(&mut self, now: Nanos, event: &Event, actions: &mut Vec<Action>) -> Result<(), Failed> {
        if let Event::Parties { parties } = event {
            // An engine that begins anew has them too.
            self.settings.parties.clone_from(parties);
        }
        let begun = Instant::now();
        let engine = &mut self.engine;
        // A broken engine is not looked at again: `Failed` leads to a new one.
        let outcome = catch_unwind(AssertUnwindSafe(|| engine.step(now, event, actions)));
        let taken = begun.elapsed().as_nanos() as u64;
        (self.times.latest_ns, self.times.longest_ns) = (taken, self.times.longest_ns.max(taken));
        (self.events, self.events_of_engine) = (self.events + 1, self.events_of_engine + 1);
        if outcome.is_ok() {
            self.times.all.count(taken);
            self.refusals += actions.iter().filter(|action| matches!(action, Action::Refuse { .. })).count() as u64;
            self.remember(now, event, actions);
        }
        outcome.map_err(|cause| Failed { message: message_of(cause.as_ref()) })
    }

    /// Writes an event and its actions where they are kept.
    fn remember(&mut self, now: Nanos, event: &Event, actions: &[Action]) {
        let name = self.arriving.take();
        let line = self.history.step(now, name.as_deref(), event, actions);
        if let Some(journal) = &mut self.journal {
            journal.write_line(line);
        }
        if let Some(recording) = &mut self.recording {
            match &name {
                Some(_) if recording.is_anonymous() => recording.step_without_name(now, event, actions),
                _ => recording.step(line),
            }
        }
        if self.history.is_full() {
            self.history.turn_over(now, self.engine.snapshot());
        }
    }

    /// Refusals so far.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals
    }

    /// A copy that answers questions.
    pub(crate) fn witness(&self, now: Nanos) -> Witness {
        Witness::new(now, self.engine.clone(), self.history.clone())
    }

    /// The shell has observed something; for the journal.
    pub(crate) fn observed(&mut self, now: Nanos, what: &Observation) {
        if let Some(journal) = self.journal.as_mut().filter(|journal| journal.observations) {
            journal.write(&what.encode(now));
        }
        if let Some(recording) = &mut self.recording {
            recording.observed(now, what);
        }
    }

    /// Name and user of the application of the next event, which is its arrival.
    pub(crate) fn arrives(&mut self, app: AppId, name: &str, user: u32) {
        self.arriving = Some(name.to_owned());
        self.history.arrives(app, user);
    }

    /// Events so far: the position in the journal.
    pub(crate) fn position(&self) -> u64 {
        self.events
    }

    pub(crate) fn times(&self) -> &StepTimes {
        &self.times
    }

    /// The time at which the engine wants [`Event::Timer`].
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.engine.deadline()
    }

    /// As [`numaestro_contract::measures_until`].
    pub(crate) fn measures_until(&self) -> Option<Nanos> {
        numaestro_contract::measures_until(&self.engine)
    }

    /// The needs of the present policy from its host.
    pub(crate) fn needs(&self) -> Needs {
        self.engine.policy().needs()
    }

    /// The home of an application, for policies that give one.
    pub(crate) fn home(&self, app: numaestro_policy::AppId) -> Option<numaestro_topology::NumaNodeId> {
        self.engine.home(app)
    }

    /// Says whether pages can be placed and moved here.
    pub(crate) fn controls_pages(&self) -> bool {
        self.settings.host.page_control
    }

    /// The present policy, as `policy set` takes it.
    pub(crate) fn policy_text(&self) -> String {
        self.engine.policy().to_string()
    }

    /// Everything the engine has to show.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }
}

/// The policies and parts there are.
pub fn available() -> Vec<PolicyInfo> {
    let info = |entry: numaestro_policy::Entry| PolicyInfo {
        part: entry.part.to_owned(),
        name: entry.info.name.to_owned(),
        summary: entry.info.summary.to_owned(),
        source: entry.info.source.to_owned(),
    };
    numaestro_policy::catalogue().into_iter().map(info).collect()
}
