//! Being a service: sockets that were opened before us, signs of life, one line of status, what is counted for the metrics page.
//! It must not know which service manager there is; without any, nothing here costs more than a look at an option.
//!
//! The sign of life comes from the event loop itself: a loop that hangs gives none, and the service manager ends it and starts another one,
//! which takes over from the state file. Programs do not notice: nothing of theirs hangs on the manager's life.

use anyhow::Result;
use numaestro_host::listen::{self, Inherited};
use numaestro_host::notify::{self, Notifier};
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::socket::{Listener, Sort};
use numaestro_host::{HostError, monotonic_ns};
use tracing::{debug, warn};

use crate::config::Config;
use crate::manager::Manager;
use crate::metrics::{Endpoint, Histogram};
use crate::timers::Due;

/// The line of status follows changes after this time.
const STATUS_DELAY_NS: u64 = 1_000_000_000;

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Service {
    notifier: Option<Notifier>,
    /// Half of what the service manager waits for a sign of life at most.
    alive_ns: Option<u64>,
    /// The sockets stay when we end.
    pub(crate) sockets_stay: bool,
    /// The line of status that was told last.
    told: String,
    pub(crate) metrics: Endpoint,
    /// Times of the engine's steps.
    pub(crate) steps: Histogram,
    /// Memory of programs, of all that there have been, that was moved to other nodes.
    pub(crate) moved_bytes: u64,
}

/// The two sockets of the directory.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) attach: Listener,
    pub(crate) control: Listener,
    /// They were passed to us: they stay when we end.
    pub(crate) stay: bool,
}

/// The directory of this configuration.
pub(crate) fn directory(config: &Config) -> Result<RuntimeDir, HostError> {
    let given = !config.dir.as_os_str().is_empty();
    let usual = || if config.system { RuntimeDir::system_path() } else { RuntimeDir::default_path() };
    let path = if given { config.dir.clone() } else { usual() };
    if config.system {
        return RuntimeDir::open_for_all(path);
    }
    let dir = RuntimeDir::open(path)?;
    if dir.is_shared() {
        let reason = "it is the one of the system's manager (`numaestro daemon --system`)".to_owned();
        return Err(HostError::RuntimeDir { path: dir.path().to_owned(), reason });
    }
    Ok(dir)
}

impl Sockets {
    /// Takes those that were passed, and opens what was not.
    pub(crate) fn open(config: &Config, dir: &RuntimeDir, inherited: Inherited) -> Result<Self> {
        for reason in &inherited.refused {
            warn!("a socket of the service manager is of no use: {reason}");
        }
        let open = |passed: Option<Listener>, path: std::path::PathBuf, sort| -> Result<(Listener, bool)> {
            match passed {
                Some(listener) => {
                    let at = listen::path_of(&listener).unwrap_or_default();
                    anyhow::ensure!(
                        at == path,
                        "the service manager listens at {}, but programs come to {}: change the socket unit or the directory",
                        at.display(),
                        path.display()
                    );
                    Ok((listener, true))
                }
                None if config.system => Ok((Listener::bind_for_all(&path, sort)?, false)),
                None => Ok((Listener::bind(&path, sort)?, false)),
            }
        };
        let (attach, one) = open(inherited.attach, dir.attach_socket(), Sort::Packets)?;
        let (control, other) = open(inherited.control, dir.control_socket(), Sort::Stream)?;
        anyhow::ensure!(one == other, "the service manager must listen at both sockets or at none");
        Ok(Self { attach, control, stay: one })
    }
}

impl Service {
    /// What the environment says.
    pub(crate) fn new(sockets_stay: bool) -> Self {
        let notifier = Notifier::from_environment();
        let alive_ns = notify::watchdog_ns().filter(|_| notifier.is_some()).map(|ns| ns / 2);
        Self { notifier, alive_ns, sockets_stay, ..Self::default() }
    }

    fn tell(&self, text: &str) {
        if let Some(notifier) = &self.notifier
            && let Err(cause) = notifier.send(text)
        {
            // The next sign of life is another try.
            debug!("{cause}");
        }
    }
}

impl Manager {
    /// Everything is set up: whoever waits for us may go on.
    pub(crate) fn service_is_ready(&mut self) {
        self.service.told = self.status_line();
        self.service.tell(&format!("READY=1\nSTATUS={}", self.service.told));
        self.show_life();
    }

    /// The configuration is about to be read again.
    pub(crate) fn service_reloads(&self) {
        self.service.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_ns() / 1000));
    }

    /// The end begins.
    pub(crate) fn service_stops(&self) {
        self.service.tell("STOPPING=1\nSTATUS=giving everything back");
    }

    /// A sign of life, if somebody wants one, and the time of the next.
    pub(crate) fn show_life(&mut self) {
        if let Some(after) = self.service.alive_ns {
            self.service.tell("WATCHDOG=1");
            self.timers.set(Due::Life, monotonic_ns() + after);
        }
    }

    /// Something has changed that the line of status may say.
    pub(crate) fn consider_status_line(&mut self) {
        if self.service.notifier.is_some() {
            self.timers.set_if_unset(Due::Line, monotonic_ns() + STATUS_DELAY_NS);
        }
    }

    /// Tells the line of status if it is another one.
    pub(crate) fn tell_status_line(&mut self) {
        let line = self.status_line();
        if line != self.service.told {
            self.service.tell(&format!("STATUS={line}"));
            self.service.told = line;
        }
    }

    fn status_line(&self) -> String {
        let ledger = self.brain.snapshot();
        let taken = ledger.pus.iter().filter(|known| known.owner.is_some()).count();
        let (programs, waiting) = (self.apps.len() - ledger.queue.len().min(self.apps.len()), ledger.queue.len());
        let queue = if waiting > 0 { format!(", {waiting} waiting") } else { String::new() };
        let word = if programs == 1 { "program" } else { "programs" };
        format!("{programs} {word} on {taken} of {} processors{queue}; policy {}", self.usable.len(), ledger.policy)
    }
}
