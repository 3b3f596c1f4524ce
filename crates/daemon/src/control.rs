//! What people ask: the JSON lines of the control socket. It must not know how processors are found for them.

use std::os::fd::AsFd;

use numaestro_abi::control::{Options, Policies, Reply, Request, Run};
use numaestro_engine::{Class, Event};
use numaestro_host::socket::Peer;
use numaestro_host::{PidFd, affinity, procfs, rundir};
use numaestro_policy::AppId;
use tracing::info;

use crate::manager::Manager;

/// Longest name that is shown.
const NAME_CHARS_MAX: usize = 64;

impl Manager {
    /// One line has come.
    pub(crate) fn line(&mut self, number: u64, line: &[u8]) {
        let Some(peer) = self.connections.get(&number).map(|connection| connection.peer) else { return };
        if peer.uid != self.own_uid() {
            self.refuse(number, "this manager belongs to another user", "start one of your own with `numaestro run`");
            self.close_after_flush(number);
            return;
        }
        match serde_json::from_slice(line) {
            Ok(request) => self.request(number, peer, request),
            Err(cause) => {
                self.refuse(
                    number,
                    &format!("not a request: {cause}"),
                    "the command and the manager may be of different versions",
                );
                self.close_after_flush(number);
            }
        }
    }

    fn request(&mut self, number: u64, peer: Peer, request: Request) {
        match request {
            Request::Run(run) => self.run_asked(number, peer, run),
            Request::Adopt { pid, options } => self.adopt(number, pid, options),
            Request::Release { app } => self.release_asked(number, app),
            Request::Status => {
                let status = Box::new(self.status());
                self.reply(number, &Reply::Status(status));
            }
            Request::Watch => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.watching = true;
                }
                let status = Box::new(self.status());
                self.reply(number, &Reply::Status(status));
            }
            Request::PolicyList => {
                let policies = self.policies();
                self.reply(number, &Reply::Policies(policies));
            }
            Request::PolicySet { policy } => self.set_policy(number, policy),
            Request::Advise { options } => self.advise_asked(number, &options),
            Request::Reload => self.refuse(number, "this manager cannot do that", ""),
            Request::Stop => {
                info!(pid = peer.pid, "asked to stop");
                self.reply(number, &Reply::Done);
                self.stopping = true;
            }
            Request::Ping => self.reply(number, &Reply::Done),
        }
    }

    /// Sends one line.
    pub(crate) fn reply(&mut self, number: u64, reply: &Reply) {
        let mut line = serde_json::to_vec(reply).unwrap_or_default();
        line.push(b'\n');
        self.write(number, &line);
    }

    /// Says no.
    pub(crate) fn refuse(&mut self, number: u64, reason: &str, hint: &str) {
        self.reply(number, &Reply::Refused { reason: reason.to_owned(), hint: hint.to_owned() });
    }

    /// The asking process is about to become the program.
    fn run_asked(&mut self, number: u64, peer: Peer, run: Run) {
        if self.connections.get(&number).is_some_and(|connection| connection.asked.is_some()) {
            self.refuse(number, "this connection has already asked for a program", "");
            return;
        }
        let process = self.connections.get(&number).map(|connection| PidFd::of_peer(connection.fd.as_fd(), peer.pid));
        let process = match process {
            Some(Ok(process)) => process,
            Some(Err(cause)) => {
                self.refuse(number, &format!("the asking process cannot be watched: {cause}"), "");
                return;
            }
            None => return,
        };
        // A process that asks again begins anew.
        if let Some(former) = self.by_pid.get(&peer.pid).copied() {
            self.depart(former);
        }
        let program = run.command.first().map(|program| rundir::program_name(program.as_ref())).unwrap_or_default();
        let name = if run.options.name.is_empty() { program } else { run.options.name.clone() };
        let app = self.insert(process, shown(&name), run.options, Class::Fold);
        if let (Some(connection), Some(entry)) = (self.connections.get_mut(&number), self.apps.get_mut(&app)) {
            connection.asked = Some(app);
            entry.asker = Some(number);
        }
        self.arrive(app, None);
    }

    /// Takes over a running process and what descends from it.
    fn adopt(&mut self, number: u64, pid: u32, options: Options) {
        if let Some(app) = self.by_pid.get(&pid) {
            let reason = format!("process {pid} is application {app} already");
            self.refuse(number, &reason, "");
            return;
        }
        if pid == std::process::id() || procfs::uid(pid).is_ok_and(|uid| uid != self.own_uid()) {
            self.refuse(number, &format!("process {pid} is not one of your programs"), "");
            return;
        }
        let (process, stat) = match PidFd::open(pid).and_then(|process| Ok((process, procfs::stat(pid)?))) {
            Ok(found) => found,
            Err(cause) => {
                self.refuse(number, &cause.to_string(), "`ps` shows the processes that there are");
                return;
            }
        };
        let name = if options.name.is_empty() { stat.name } else { options.name.clone() };
        let app = self.insert(process, shown(&name), options, Class::Fold);
        if let Some(entry) = self.apps.get_mut(&app) {
            entry.options.wait = Some(false);
        }
        self.arrive(app, None);
        let denied = self.apps.get(&app).and_then(|entry| entry.denied.clone());
        match denied {
            Some(reason) => {
                self.depart(app);
                self.refuse(number, &reason, "");
            }
            None if self.apps.contains_key(&app) => self.reply(number, &Reply::Done),
            // Refused by the engine.
            None => {
                let reason = format!("process {pid} cannot be managed under these wishes: {}", self.refusal);
                self.refuse(number, &reason, "");
            }
        }
    }

    fn release_asked(&mut self, number: u64, app: u64) {
        if self.apps.contains_key(&app) {
            self.let_go(app);
            let process = self.apps.get(&app).map(|entry| (entry.pid(), entry.process.start_time()));
            self.depart(app);
            // A rule does not take back what a user has let go.
            if let Some((pid, start_time)) = process {
                self.leave_alone(pid, start_time);
            }
            self.reply(number, &Reply::Done);
        } else {
            let reason = format!("there is no application {app}");
            self.refuse(number, &reason, "`numaestro status` shows those that there are");
        }
    }

    fn set_policy(&mut self, number: u64, policy: String) {
        let before = self.refusals;
        self.feed(Event::Policy { policy });
        if self.refusals == before {
            info!(policy = self.brain.policy_text(), "policy switched");
            self.reply(number, &Reply::Done);
        } else {
            let reason = self.refusal.clone();
            let hint = if self.stops.rung.works {
                "`numaestro policy list` shows those that there are".to_owned()
            } else {
                format!("programs cannot be stopped here: {}", self.stops.rung.detail)
            };
            self.refuse(number, &reason, &hint);
        }
    }

    fn policies(&self) -> Policies {
        Policies { current: self.brain.policy_text(), available: crate::brain::available() }
    }

    /// A `run` gets its answer: its processors are known, and its threads are already on them.
    pub(crate) fn answer_run(&mut self, app: u64) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let (Some(number), Some(target)) = (entry.asker, &entry.target) else { return };
        let reply = Reply::Run { app, cpus: target.cpus.to_string(), count: target.count };
        entry.asker = None;
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.asked = None;
        }
        self.reply(number, &reply);
    }

    /// Sends the picture to those who watch; not to those who have not taken the last one yet.
    pub(crate) fn tell_watchers(&mut self) {
        let ready = |connection: &crate::connection::Connection| connection.watching && connection.is_flushed();
        let numbers: Vec<u64> =
            self.connections.iter().filter(|(_, connection)| ready(connection)).map(|(number, _)| *number).collect();
        if numbers.is_empty() {
            return;
        }
        let status = Reply::Status(Box::new(self.status()));
        for number in numbers {
            self.reply(number, &status);
        }
    }

    /// The user whose programs are managed.
    pub(crate) fn own_uid(&self) -> u32 {
        self.uid
    }

    /// Affinity that a process has now; every usable processor if that cannot be told.
    pub(crate) fn affinity_of(&self, pid: u32) -> numaestro_topology::CpuSet {
        affinity::get(pid).unwrap_or_else(|_| self.usable.clone())
    }

    /// The event for an application's new number of wanted processors.
    pub(crate) fn ask_for(&mut self, app: u64, processors: u32) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let before = std::mem::replace(&mut entry.request, processors);
        if before == processors {
            return;
        }
        self.feed(Event::Request { app: AppId(app), processors });
        if processors > before {
            // It may want what others hold without need.
            let others: Vec<u64> = self.apps.keys().copied().filter(|other| *other != app).collect();
            for other in others {
                self.consider_demand(other);
            }
        }
    }
}

/// A name that cannot disturb a terminal.
pub(crate) fn shown(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).map(|c| if c.is_control() { '?' } else { c }).collect()
}
