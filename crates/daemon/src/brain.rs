//! The engine behind a wall: a policy that panics is caught here, and replaced by the simplest one. Nothing else calls the engine.

use std::any::Any;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use numaestro_abi::control::PolicyInfo;
use numaestro_engine::{Action, Advice, Engine, Event, Nanos, Needs, Settings, Snapshot, Wish, journal};
use numaestro_topology::{CpuSet, Machine};

use crate::bandwidth;
use crate::config::Config;

/// The policy that takes over when another one has failed.
pub(crate) const FALLBACK_POLICY: &str = "share=equi placement=affinity";

/// After a renewal everybody is there to claim what they have, at once: there is nobody to wait for.
const RENEWAL_NS: Nanos = 1_000_000;

/// Failures until the manager gives up: programs are better off without one that cannot decide.
const FAILURES_MAX: u32 = 3;

/// The engine, its measurements, and what is needed to begin anew.
pub(crate) struct Brain {
    engine: Engine,
    machine: Machine,
    settings: Settings,
    seed: u64,
    /// Policies that have failed so far, each of them for good.
    failures: u32,
    journal: Option<File>,
    /// How many files the journal has: one for each machine.
    journals: u32,
    /// What people call the application of the next event.
    arriving: Option<String>,
    /// Events so far: the position in the journal.
    pub(crate) events: u64,
    /// Nanoseconds of the latest and the longest step.
    pub(crate) step_ns: [u64; 2],
}

/// The policy has failed at an event; the engine must be thrown away.
#[derive(Debug)]
pub(crate) struct Failed {
    /// What it said.
    pub(crate) message: String,
}

impl Brain {
    /// An engine for this machine under the configured policy.
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
        let mut brain = Self::build(machine.clone(), settings, config.seed)?;
        if let Some(path) = &config.journal {
            brain.begin_journal(path)?;
        }
        Ok(brain)
    }

    fn begin_journal(&mut self, path: &Path) -> Result<()> {
        let file = File::create(path).with_context(|| format!("cannot write the journal {}", path.display()))?;
        self.journal = Some(file);
        self.note(&journal::encode_head(&self.machine, &self.settings, self.seed));
        Ok(())
    }

    /// One for the machine as it is now, under the present policy; under the configured one where that does not fit the machine any more, and under the
    /// simplest one where that does not either. The journal goes on in a file of its own, `NAME.2` and so on: each is about one machine.
    pub(crate) fn renewed(&self, config: &Config, machine: &Machine) -> Result<Self> {
        let mut settings = Settings {
            reserved: machine.pu_set(&config.reserved.parse::<CpuSet>()?),
            buses: bandwidth::buses(machine),
            recovery_ns: RENEWAL_NS,
            ..self.settings.clone()
        };
        let mut fresh = None;
        for policy in [&self.policy_text(), &config.policy, FALLBACK_POLICY] {
            policy.clone_into(&mut settings.policy);
            match Self::build(machine.clone(), settings.clone(), self.seed) {
                Ok(brain) => {
                    fresh = Some(brain);
                    break;
                }
                Err(cause) => tracing::warn!("{cause:#}"),
            }
        }
        let mut fresh = fresh.context("no policy can be used on the changed machine")?;
        (fresh.failures, fresh.events, fresh.step_ns) = (self.failures, self.events, self.step_ns);
        fresh.journals = self.journals;
        if let (Some(path), Some(_)) = (&config.journal, &self.journal) {
            fresh.journals += 1;
            let mut name = path.clone().into_os_string();
            name.push(format!(".{}", fresh.journals));
            fresh.begin_journal(Path::new(&name))?;
        }
        Ok(fresh)
    }

    fn build(machine: Machine, settings: Settings, seed: u64) -> Result<Self> {
        let engine = Engine::new(machine.clone(), settings.clone(), seed)
            .map_err(|cause| anyhow!("{cause}"))
            .with_context(|| format!("policy `{}` cannot be used", settings.policy))?;
        Ok(Self {
            engine,
            machine,
            settings,
            seed,
            failures: 0,
            journal: None,
            journals: 1,
            arriving: None,
            events: 0,
            step_ns: [0, 0],
        })
    }

    /// One under the simplest policy, to go on after a failure.
    pub(crate) fn fallback(&self) -> Result<Self> {
        anyhow::ensure!(self.failures < FAILURES_MAX, "the simplest policy fails too");
        let settings = Settings { policy: FALLBACK_POLICY.to_owned(), ..self.settings.clone() };
        let mut fresh = Self::build(self.machine.clone(), settings, self.seed)?;
        fresh.failures = self.failures + 1;
        (fresh.events, fresh.step_ns) = (self.events, self.step_ns);
        Ok(fresh)
    }

    /// One event; what follows from it is appended to `actions`.
    pub(crate) fn step(&mut self, now: Nanos, event: &Event, actions: &mut Vec<Action>) -> Result<(), Failed> {
        if let Event::Parties { parties } = event {
            // An engine that begins anew has them too.
            self.settings.parties.clone_from(parties);
        }
        let begun = Instant::now();
        // What was measured in a turn belongs to it, and must not end it.
        let measured = matches!(event, Event::Bandwidth { .. } | Event::Saturation { .. });
        let end = self.engine.turn_ends().filter(|_| measured);
        let now = end.map_or(now, |end| now.min(end.saturating_sub(1)));
        let engine = &mut self.engine;
        // A broken engine is not looked at again: `Failed` leads to a new one.
        let outcome = catch_unwind(AssertUnwindSafe(|| engine.step(now, event, actions)));
        let taken = begun.elapsed().as_nanos() as u64;
        self.step_ns = [taken, self.step_ns[1].max(taken)];
        self.events += 1;
        if self.journal.is_some() && outcome.is_ok() {
            let name = self.arriving.take();
            self.note(&journal::encode_named(now, name.as_deref(), event, actions));
        }
        outcome.map_err(|cause| Failed { message: message_of(cause.as_ref()) })
    }

    /// What people call the application of the next event, which is its arrival. For the journal.
    pub(crate) fn arrives(&mut self, name: &str) {
        self.arriving = self.journal.is_some().then(|| name.to_owned());
    }

    /// One line for the journal. One that cannot be written any more is given up: programs do not depend on it.
    fn note(&mut self, line: &str) {
        if let Some(file) = &mut self.journal
            && let Err(cause) = file.write_all(format!("{}\n", line.trim_end()).as_bytes())
        {
            tracing::warn!("the journal ends here: {cause}");
            self.journal = None;
        }
    }

    /// What an application with this wish would get if it came now, or why it would be refused. Nothing changes, even if the policy fails at it.
    pub(crate) fn advise(&self, now: Nanos, wish: &Wish, free_memory: &[u64]) -> Result<Advice, String> {
        let asked = catch_unwind(AssertUnwindSafe(|| self.engine.advise(now, wish, free_memory)));
        match asked {
            Ok(answer) => answer.map_err(|refusal| refusal.reason),
            Err(cause) => Err(format!("the policy fails at such an application: {}", message_of(cause.as_ref()))),
        }
    }

    /// The machine that is divided.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// When the engine wants [`Event::Timer`].
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.engine.deadline()
    }

    /// When the present turn ends, if turns end.
    pub(crate) fn turn_ends(&self) -> Option<Nanos> {
        self.engine.turn_ends()
    }

    /// What the present policy needs of its host.
    pub(crate) fn needs(&self) -> Needs {
        self.engine.policy().needs()
    }

    /// The home of an application, for policies that give one.
    pub(crate) fn home(&self, app: numaestro_policy::AppId) -> Option<numaestro_topology::NumaNodeId> {
        self.engine.home(app)
    }

    /// Whether pages can be placed and moved here.
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

fn message_of(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// The policies and parts there are.
pub(crate) fn available() -> Vec<PolicyInfo> {
    let info = |entry: numaestro_policy::Entry| PolicyInfo {
        part: entry.part.to_owned(),
        name: entry.info.name.to_owned(),
        summary: entry.info.summary.to_owned(),
        source: entry.info.source.to_owned(),
    };
    numaestro_policy::catalogue().into_iter().map(info).collect()
}
