//! The manager's loop: one thread that sleeps until something happens, and passes it to the
//! component that watches it. Nothing is decided here, and nothing is kept.

use std::path::Path;
use std::rc::Rc;

use anyhow::Result;
use numaestro_engine::Event;
use numaestro_host::poll::{Interest, Order, Ready, StopSignals};
use numaestro_host::stop::Remote;
use numaestro_host::{limits, listen, monotonic_ns};

use crate::config::Config;
use crate::people::front::{Ending, Front};
use crate::shell::Shell;
use crate::state::Directory;
use crate::wakeups::{Due, ShellSource, Source};

/// See the file's header.
pub(crate) struct Manager {
    signals: StopSignals,
    shell: Shell,
    front: Front,
}

impl Manager {
    /// Takes the directory, opens the sockets, takes over the applications that a former manager
    /// left. `None` if another manager lives there. `guard`: the process that stops programs.
    pub(crate) fn new(config: Config, mut guard: Option<Remote>) -> Result<Option<Self>> {
        config.validate()?;
        let inherited = listen::inherited();
        let Some(directory) = Directory::take(&config)? else { return Ok(None) };
        guard.iter_mut().for_each(Remote::arm);
        limits::raise_descriptors();
        let config = Rc::new(config);
        let mut shell = Shell::new(config.clone(), directory.attach_socket(), guard)?;
        let signals = StopSignals::block()?;
        shell.wakeups().watch(&signals, Source::Signal, Interest::Read)?;
        let front = Front::new(config, directory, inherited, &mut shell)?;
        Ok(Some(Self { signals, shell, front }))
    }

    /// Its runtime directory.
    pub(crate) fn place(&self) -> &Path {
        self.front.place()
    }

    /// Everything is set up: commands that wait for the manager go on.
    pub(crate) fn announce(&mut self) {
        self.front.announce(&mut self.shell);
    }

    /// Works until there is a reason to end.
    pub(crate) fn run(mut self) -> Result<Ending> {
        let mut ready = Vec::new();
        while !self.front.is_ending() {
            let deadline = self.shell.deadline();
            match self.front.next_request_ns() {
                Some(at) if at <= monotonic_ns() => self.shell.wakeups().look(deadline, &mut ready)?,
                at => {
                    let deadline = [deadline, at].into_iter().flatten().min();
                    self.shell.wakeups().wait(deadline, &mut ready)?;
                }
            }
            // Deaths first: the processors of the dead can be given to applications that ask in the
            // same moment.
            let is_death = |event: &Ready| matches!(Source::of(event), Some(Source::Shell(ShellSource::Process(_))));
            ready.sort_by_key(|event| !is_death(event));
            for event in &ready {
                self.happened(*event);
                self.front.deliver(&mut self.shell);
            }
            // One: everything that has happened meanwhile comes before the next.
            self.front.serve(&mut self.shell);
        }
        Ok(self.front.finish(&mut self.shell))
    }

    fn happened(&mut self, event: Ready) {
        match Source::of(&event) {
            Some(Source::Timer) => self.time_has_come(),
            Some(Source::Signal) => match self.signals.take() {
                Some(Order::Stop) => self.front.end(),
                Some(Order::Reload) => {
                    self.front.reload_by_signal(&mut self.shell);
                    self.front.something_has_happened();
                }
                None => {}
            },
            Some(Source::Shell(source)) => {
                self.shell.ready(source);
                self.front.something_has_happened();
            }
            Some(Source::Front(source)) => self.front.ready(source, event, &mut self.shell),
            None => {}
        }
    }

    fn time_has_come(&mut self) {
        let now = monotonic_ns();
        if self.shell.deadline().is_some_and(|deadline| deadline <= now) {
            self.shell.feed(Event::Timer);
        }
        for due in self.shell.wakeups().take_due(now) {
            match due {
                Due::Shell(due) => self.shell.due(due),
                Due::Front(due) => self.front.due(due, &mut self.shell),
            }
            self.front.deliver(&mut self.shell);
        }
    }
}
