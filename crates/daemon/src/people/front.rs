//! The manager's front: the connections of programs and people, their users, their rights, and the
//! pictures shown to them and to the service manager.
//!
//! A message or a request becomes calls of the [`Shell`]; [`Front::deliver`] sends their outcome to
//! the connections that wait for it.

mod advice;
mod attach;
mod control;
mod history;
mod jobs;
mod picture;
mod place;
mod questions;
mod recording;
mod reload;
mod steering;
mod takeover;
mod turns;
mod users;

use std::collections::BTreeSet;
use std::rc::Rc;

use anyhow::Result;
use numaestro_abi::control::Reply;
use numaestro_host::listen::Inherited;
use numaestro_host::monotonic_ns;
use numaestro_host::poll::Ready;
use numaestro_host::socket::Sort;
use numaestro_quantity::label;
use tracing::info;

pub(crate) use place::Ending;

use crate::config::Config;
use crate::hands::notes::Notes;
use crate::hands::released::Released;
use crate::identity::payer::Payer;
use crate::identity::rights::{Refusal, Rights, Who};
use crate::identity::users::Users;
use crate::people::connection::Connections;
use crate::people::metrics::Endpoint;
use crate::people::sparing::{self, Line};
use crate::senses::rules::Rules;
use crate::service::{Service, Sockets};
use crate::shell::Shell;
use crate::state::Directory;
use crate::wakeups::{FrontDue, FrontSource};

/// Watchers get at most twenty pictures a second.
const WATCH_DELAY_NS: u64 = 50_000_000;
/// The state file follows changes after this time.
const SAVE_DELAY_NS: u64 = 50_000_000;
/// The same while turns are taken: allocations change all the time then.
const SAVE_DELAY_TURNS_NS: u64 = 1_000_000_000;
/// The most processor time of a job that a kill of the manager takes from its account, though
/// nothing changes.
const SAVE_JOBS_NS: u64 = 10_000_000_000;
/// Up to so many applications the state file is written before a reply tells its contents.
const APPS_AT_ONCE: usize = 64;

/// See the file's header.
pub(crate) struct Front {
    config: Rc<Config>,
    directory: Directory,
    connections: Connections,
    users: Users,
    rights: Rights,
    rules: Rules,
    jobs: jobs::Jobs,
    service: Service,
    metrics: Endpoint,
    questions: questions::Questions,
    released: Released,
    /// Applications that waited in the queue of a former manager, and whose commands have not come
    /// to this one yet.
    expected: BTreeSet<u64>,
    /// Start of the manager, nanoseconds.
    started_ns: u64,
    end: place::End,
    /// Why the latest recording ended before its time; empty: it did not.
    recording_trouble: String,
}

impl Front {
    /// Opens the sockets, and takes over the applications that a former manager left.
    pub(crate) fn new(
        config: Rc<Config>,
        directory: Directory,
        inherited: Inherited,
        shell: &mut Shell,
    ) -> Result<Self> {
        let sockets = Sockets::open(&config, directory.runtime(), inherited)?;
        let connections = Connections::new(sockets, !config.system, shell.wakeups())?;
        let mut front = Self {
            config,
            directory,
            connections,
            users: Users::default(),
            rights: Rights::default(),
            rules: Rules::default(),
            jobs: jobs::Jobs::default(),
            service: Service::from_environment(),
            metrics: Endpoint::default(),
            questions: questions::Questions::default(),
            released: Released::default(),
            expected: BTreeSet::new(),
            started_ns: monotonic_ns(),
            end: place::End::default(),
            recording_trouble: String::new(),
        };
        front.directory.watch(shell.wakeups());
        shell.note_moves(Notes::of(front.directory.runtime()));
        // Before the first event: so the recording can be repeated.
        front.choose_recording(shell);
        front.configure_users(shell);
        front.choose_policy(shell);
        front.take_over(shell);
        // The places in the queue that were taken over are not lost if this manager is killed, too.
        if !shell.programs().is_empty() {
            front.save(shell);
        }
        front.configure_metrics(shell);
        shell.start_sensing();
        front.start_rules(shell);
        front.deliver(shell);
        Ok(front)
    }

    /// The manager is to end.
    pub(crate) fn end(&mut self) {
        self.end.how = Some(Ending::Orderly);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.end.how.is_some()
    }

    /// Something has happened beside questions: what is told from now on is taken anew.
    pub(crate) fn something_has_happened(&mut self) {
        self.questions.forget();
    }

    /// A time has come.
    pub(crate) fn due(&mut self, due: FrontDue, shell: &mut Shell) {
        match due {
            FrontDue::Watch => self.connections.show_watchers(shell.wakeups()),
            FrontDue::Refusals => self.log_left_out(),
            FrontDue::Save => {
                self.save(shell);
                if !self.jobs.are_none() {
                    shell.wakeups().set(FrontDue::Save, monotonic_ns() + SAVE_JOBS_NS);
                }
            }
            FrontDue::Idle => self.end_if_idle(shell),
            FrontDue::Life => self.service.show_life(shell.wakeups()),
            FrontDue::Line => self.service.tell_line(shell.picture().status_line()),
            FrontDue::Metrics => self.metrics.end_slow_scrapers(shell.wakeups()),
            FrontDue::Accept => self.connections.resume(shell.wakeups()),
            FrontDue::Place => self.look_at_place(shell),
            FrontDue::Execs => self.take_execs(shell),
            FrontDue::Scan => self.scan_processes(shell),
            FrontDue::Candidates => self.look_at_candidates(shell),
        }
    }

    /// A descriptor is ready.
    pub(crate) fn ready(&mut self, source: FrontSource, event: Ready, shell: &mut Shell) {
        match source {
            FrontSource::Attach => self.accept(Sort::Packets, shell),
            FrontSource::Control => self.accept(Sort::Stream, shell),
            FrontSource::Step(step) => {
                self.questions.forget();
                self.step_ended(step, shell);
            }
            FrontSource::Place => self.place_has_changed(shell),
            FrontSource::Answers => self.take_answers(shell),
            FrontSource::Execs => self.rules.execs_waiting(shell.wakeups()),
            FrontSource::Metrics(scraper) => self.serve_metrics(scraper, shell),
            FrontSource::Connection(connection) => self.connections.ready(connection, event, shell.wakeups()),
        }
    }

    /// A user is refused something: in the log, unless there are too many lines of this user.
    fn log_refusal(&mut self, payer: Payer, who: Who, refusal: &Refusal, shell: &mut Shell) {
        let line = self.connections.log().line(payer);
        if line == Line::First {
            shell.wakeups().set(FrontDue::Refusals, monotonic_ns() + sparing::PERIOD_NS);
        }
        if line != Line::LeftOut {
            info!(uid = who.peer.uid, pid = who.peer.pid, "refused: {}", label::line(&refusal.reason));
        }
    }

    /// Says what was left out of the log.
    fn log_left_out(&mut self) {
        for (payer, lines) in self.connections.log().renew() {
            let (uid, contained) = (payer.uid, payer.contained);
            info!(uid, contained, "{lines} more refusals in {} s", sparing::PERIOD_NS / 1_000_000_000);
        }
    }

    fn reply(&mut self, number: u64, reply: &Reply, shell: &mut Shell) {
        self.connections.reply(number, reply, shell.wakeups());
    }

    fn refuse(&mut self, number: u64, reason: &str, hint: &str, shell: &mut Shell) {
        self.reply(number, &Refusal::new(reason, hint).reply(), shell);
    }

    /// Sends the shell's outcome to the connections that wait for it, and to all that watch.
    /// Programs whose commands have gone depart.
    pub(crate) fn deliver(&mut self, shell: &mut Shell) {
        loop {
            let outcome = shell.take_outcome();
            if !outcome.replies.is_empty() {
                // A manager that is killed now is followed by one that knows the programs and their
                // places in the queue.
                self.save_soon_enough(shell);
            }
            for (number, reply) in outcome.replies {
                if !matches!(reply, Reply::Waiting { .. }) {
                    self.connections.set_asked(number, None);
                }
                self.reply(number, &reply, shell);
            }
            for looked in outcome.looked {
                self.show_memory(looked, shell);
            }
            if outcome.arrived || outcome.departed {
                self.company_has_changed(shell);
            }
            if outcome.departed {
                if self.users.jobs_reserve() {
                    self.vacate_jobs(shell);
                }
                // Descriptors have become free.
                self.connections.resume(shell.wakeups());
            }
            if outcome.arrived {
                self.rules.arrived(shell.wakeups());
            }
            for pid in outcome.busy {
                let (programs, wakeups) = shell.programs_and_wakeups();
                self.rules.busy(pid, &|pid| programs.of_pid(pid).is_some(), wakeups);
            }
            if outcome.changed {
                self.changed(shell);
            }
            if let Some(trouble) = outcome.recording_ended {
                self.recording_ended(trouble, shell);
            }
            let abandoned = self.connections.take_abandoned();
            if abandoned.is_empty() {
                break;
            }
            self.questions.forget();
            for app in abandoned {
                shell.depart(app);
            }
        }
        self.measure_changes(shell);
        if shell.has_failed() {
            self.end();
        }
        self.watch_idleness(shell);
    }

    /// Something that people can see is different.
    fn changed(&mut self, shell: &mut Shell) {
        self.jobs_have_changed();
        let now = monotonic_ns();
        let delay = if shell.takes_turns() { SAVE_DELAY_TURNS_NS } else { SAVE_DELAY_NS };
        let wakeups = shell.wakeups();
        self.service.changed(wakeups);
        wakeups.set_earlier(FrontDue::Save, now + delay);
        if self.connections.are_watching() {
            wakeups.set_if_unset(FrontDue::Watch, now + WATCH_DELAY_NS);
        }
    }

    /// Arms the end while there is no program and no connection, and disarms it otherwise.
    fn watch_idleness(&self, shell: &mut Shell) {
        let idle = shell.programs().is_empty() && self.connections.is_empty() && self.jobs.are_none();
        match self.config.idle_exit_s {
            Some(seconds) if idle => {
                shell.wakeups().set_if_unset(FrontDue::Idle, monotonic_ns() + u64::from(seconds) * 1_000_000_000);
            }
            _ => shell.wakeups().clear(FrontDue::Idle),
        }
    }

    fn end_if_idle(&mut self, shell: &mut Shell) {
        // Peers that have connected since then are served first.
        self.accept(Sort::Packets, shell);
        self.accept(Sort::Stream, shell);
        if shell.programs().is_empty() && self.connections.is_empty() && self.jobs.are_none() {
            info!("nothing to manage; ending");
            self.end();
        }
    }

    /// The orderly end: nothing is left that could be mistaken for a manager.
    pub(crate) fn finish(mut self, shell: &mut Shell) -> Ending {
        // Without programs nobody looks for a next manager.
        let ending = self.end.how.filter(|_| !shell.programs().is_empty()).unwrap_or(Ending::Orderly);
        self.service.ends();
        // Commands that wait in the queue start their programs without a manager.
        for number in shell.end_queue() {
            self.reply(number, &Reply::Ended, shell);
        }
        self.save_jobs();
        let whole = shell.end();
        // Whoever asked for the end may look at the recording at once.
        Self::stop_recording(shell);
        self.directory.clear(self.connections.sockets_stay(), whole.processes == 0 && whole.left.is_empty());
        for asker in std::mem::take(&mut self.end.askers) {
            self.reply(asker, &Reply::Whole(whole.clone()), shell);
        }
        let Self { directory, mut connections, .. } = self;
        // A command that sees the end of its connection may start the next manager at once.
        drop(directory);
        connections.close();
        info!("ended");
        ending
    }

    /// Writes the state file before a reply tells its contents; not while so many applications run
    /// that this would hold everybody up.
    fn save_soon_enough(&mut self, shell: &mut Shell) {
        if shell.programs().len() <= APPS_AT_ONCE {
            self.save(shell);
        }
    }

    pub(super) fn save(&mut self, shell: &mut Shell) {
        if self.directory.save(&shell.picture().state()) {
            shell.saved_all();
        }
        self.save_jobs();
    }
}
