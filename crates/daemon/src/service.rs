//! The manager as a service: takes sockets that were opened before us, gives signs of life and one
//! line of status. Without a service manager, nothing here costs more than a look at an option.
//!
//! The sign of life comes from the event loop itself: a loop that hangs gives none, and the service
//! manager ends it and starts another one, which takes over from the state file. Programs do not
//! notice: nothing of theirs hangs on the manager's life.

use anyhow::Result;
use numaestro_host::listen::{self, Inherited};
use numaestro_host::notify::{self, Notifier};
use numaestro_host::poll::Interest;
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::socket::{Listener, Sort};
use numaestro_host::{HostError, monotonic_ns};
use tracing::{debug, warn};

use crate::config::Config;
use crate::wakeups::{FrontDue, FrontSource, Wakeups};

/// The line of status follows changes after this time.
const STATUS_DELAY_NS: u64 = 1_000_000_000;

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Service {
    notifier: Option<Notifier>,
    /// Half of the longest time that the service manager waits for a sign of life, nanoseconds.
    alive_ns: Option<u64>,
    /// The line of status that was told last.
    told: String,
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
    /// Takes the sockets that were passed, and opens the others.
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

    /// The one where connections of this sort come.
    pub(crate) fn of(&self, sort: Sort) -> &Listener {
        if sort == Sort::Packets { &self.attach } else { &self.control }
    }

    /// A connection that waits wakes the manager.
    pub(crate) fn watch(&self, wakeups: &Wakeups) -> Result<(), HostError> {
        let attach = wakeups.watch(&self.attach, FrontSource::Attach, Interest::Read);
        let control = wakeups.watch(&self.control, FrontSource::Control, Interest::Read);
        attach.and(control)
    }

    /// Not any more.
    pub(crate) fn forget(&self, wakeups: &Wakeups) {
        wakeups.forget(&self.attach);
        wakeups.forget(&self.control);
    }
}

impl Service {
    /// As the environment says.
    pub(crate) fn from_environment() -> Self {
        let notifier = Notifier::from_environment();
        let alive_ns = notify::watchdog_ns().filter(|_| notifier.is_some()).map(|ns| ns / 2);
        Self { notifier, alive_ns, told: String::new() }
    }

    fn tell(&self, text: &str) {
        if let Some(notifier) = &self.notifier
            && let Err(cause) = notifier.send(text)
        {
            // The next sign of life is another try.
            debug!("{cause}");
        }
    }

    /// Everything is set up: the service manager goes on.
    pub(crate) fn ready(&mut self, line: String, wakeups: &mut Wakeups) {
        self.tell(&format!("READY=1\nSTATUS={line}"));
        self.told = line;
        self.show_life(wakeups);
    }

    /// The configuration is about to be read again.
    pub(crate) fn reloads(&self) {
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_ns() / 1000));
    }

    /// The end begins.
    pub(crate) fn ends(&self) {
        self.tell("STOPPING=1\nSTATUS=giving everything back");
    }

    /// A sign of life, if the service manager wants one, and the time of the next.
    pub(crate) fn show_life(&mut self, wakeups: &mut Wakeups) {
        if let Some(after) = self.alive_ns {
            self.tell("WATCHDOG=1");
            wakeups.set(FrontDue::Life, monotonic_ns() + after);
        }
    }

    /// Something has changed that the line of status may say.
    pub(crate) fn changed(&self, wakeups: &mut Wakeups) {
        if self.notifier.is_some() {
            wakeups.set_if_unset(FrontDue::Line, monotonic_ns() + STATUS_DELAY_NS);
        }
    }

    /// Tells the line of status if it is another one.
    pub(crate) fn tell_line(&mut self, line: String) {
        if line != self.told {
            self.tell(&format!("STATUS={line}"));
            self.told = line;
        }
    }
}
