//! What people ask: the JSON lines of the control socket. It must not know how processors are found for them.

use std::os::fd::AsFd;

use numaestro_abi::control::{Options, Policies, Reply, Request, Run};
use numaestro_engine::{Class, Event};
use numaestro_host::{PidFd, affinity, procfs, rundir};
use numaestro_policy::AppId;
use tracing::info;

use crate::manager::Manager;
use crate::rights::{Refusal, Who};

/// Longest name that is shown.
const NAME_CHARS_MAX: usize = 64;
/// Others wait for as long as a program that is let go does not let itself be given back. Usually
/// that takes milliseconds.
const PATIENCE_AT_RELEASE: std::time::Duration = std::time::Duration::from_millis(300);

impl Manager {
    /// One line has come.
    pub(crate) fn line(&mut self, number: u64, line: &[u8]) {
        let Some(who) = self.connections.get(&number).map(|connection| connection.who) else { return };
        // Nothing that a stranger says is even looked at.
        if let Err(refusal) = self.may_ask(who, &Request::Ping) {
            self.say_no(number, &refusal);
            self.close_after_flush(number);
            return;
        }
        match serde_json::from_slice(line) {
            Ok(request) => match self.may_ask(who, &request) {
                Ok(()) => self.request(number, who, request),
                Err(refusal) => {
                    info!(uid = who.peer.uid, pid = who.peer.pid, "refused: {}", refusal.reason);
                    self.say_no(number, &refusal);
                }
            },
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

    fn request(&mut self, number: u64, who: Who, request: Request) {
        match request {
            Request::Run(run) => self.run_asked(number, who, run),
            Request::Adopt { pid, options } => self.adopt(number, who, pid, options),
            Request::Release { app } => self.release_asked(number, who, app),
            Request::Status => {
                let status = Box::new(self.status_for(who));
                self.reply(number, &Reply::Status(status));
            }
            Request::Watch => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.watching = true;
                }
                let status = Box::new(self.status_for(who));
                self.reply(number, &Reply::Status(status));
            }
            Request::Memory => self.memory_asked(number),
            Request::PolicyList => {
                let policies = self.policies();
                self.reply(number, &Reply::Policies(policies));
            }
            Request::PolicySet { policy } => self.set_policy(number, policy),
            Request::Reload => self.reload_asked(number),
            Request::Advise { options } => self.advise_asked(number, who, &options),
            Request::Stop => {
                info!(pid = who.peer.pid, uid = who.peer.uid, "asked to stop");
                self.askers_of_end.push(number);
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

    /// The same with its reasons.
    pub(crate) fn say_no(&mut self, number: u64, refusal: &Refusal) {
        self.refuse(number, &refusal.reason, &refusal.hint);
    }

    /// The asking process is about to become the program.
    fn run_asked(&mut self, number: u64, who: Who, run: Run) {
        let peer = who.peer;
        if let Err(refusal) = self.may_start(who).and_then(|()| self.may_wish(peer.uid, &run.options)) {
            self.say_no(number, &refusal);
            return;
        }
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
        if !self.is_of_peer(peer, &process) {
            self.refuse(number, "a program with another user's rights is not managed", "");
            return;
        }
        self.released.remove(peer.pid);
        if let Some(former) = self.by_pid.get(&peer.pid).copied() {
            if self.come_from_former_queue(number, former) {
                return;
            }
            // A process that asks again begins anew.
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

    /// Who has waited in a former manager's queue has its place in ours.
    fn come_from_former_queue(&mut self, number: u64, app: u64) -> bool {
        if !self.expected.contains(&app) {
            return false;
        }
        let Some(entry) = self.apps.get_mut(&app).filter(|entry| !entry.process.has_ended()) else { return false };
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        connection.asked = Some(app);
        entry.asker = Some(number);
        let waiting = entry.waiting;
        self.expected.remove(&app);
        match waiting {
            Some(position) => self.reply(number, &Reply::Waiting { app, position }),
            None => self.answer_run(app),
        }
        true
    }

    /// Takes over a running process and what descends from it.
    fn adopt(&mut self, number: u64, who: Who, pid: u32, options: Options) {
        let process = PidFd::open(pid).ok();
        let allowed = self.may_adopt(who, process.as_ref(), pid).and_then(|()| self.may_start(who));
        if let Err(refusal) = allowed {
            self.say_no(number, &refusal);
            return;
        }
        let (Some(process), Ok(stat)) = (process, procfs::stat(pid)) else {
            self.refuse(number, &format!("process {pid} has ended"), "`ps` shows the processes that there are");
            return;
        };
        if let Err(refusal) = self.owner_may_wish(pid, &options) {
            self.say_no(number, &refusal);
            return;
        }
        if let Some(app) = self.by_pid.get(&pid) {
            let reason = format!("process {pid} is application {app} already");
            self.refuse(number, &reason, "");
            return;
        }
        self.released.remove(pid);
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
            None if self.apps.contains_key(&app) => {
                // A manager that is killed now is followed by one that knows the program.
                self.save_soon_enough();
                self.reply(number, &Reply::Done);
            }
            // Refused by the engine.
            None => {
                let reason = format!("process {pid} cannot be managed under these wishes: {}", self.refusal);
                self.refuse(number, &reason, "");
            }
        }
    }

    fn release_asked(&mut self, number: u64, who: Who, app: u64) {
        if let Err(refusal) = self.may_steer(who, app) {
            self.say_no(number, &refusal);
            return;
        }
        self.let_go(app);
        let whole = self.pay_back(&[app], PATIENCE_AT_RELEASE);
        let process = self.apps.get(&app).map(|entry| (entry.pid(), entry.process.start_time()));
        self.depart(app);
        // Neither a rule nor its own helper thread takes back what a user has let go.
        if let Some((pid, start_time)) = process {
            self.leave_alone(pid, start_time);
            self.released.insert(pid, start_time);
        }
        self.reply(number, &Reply::Whole(whole));
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
        if self.apps.get(&app).is_none_or(|entry| entry.asker.is_none() || entry.target.is_none()) {
            return;
        }
        // A manager that is killed now is followed by one that knows the program.
        self.save_soon_enough();
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let (Some(number), Some(target)) = (entry.asker, &entry.target) else { return };
        let memory = entry.memory.told.as_ref().map(ToString::to_string);
        let reply = Reply::Run { app, cpus: target.cpus.to_string(), count: target.count, memory };
        entry.asker = None;
        self.consider_cpuset(app);
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
        let status = self.status();
        for number in numbers {
            let Some(who) = self.connections.get(&number).map(|connection| connection.who) else { continue };
            let seen = self.as_seen(who, status.clone());
            self.reply(number, &Reply::Status(Box::new(seen)));
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

    /// Affinity that a process would have without us: below a `run` of ours, what the user gave;
    /// else what it has now.
    pub(crate) fn original_of(&self, pid: u32) -> numaestro_topology::CpuSet {
        let given = crate::whole::given_by_user(pid, &self.dir.attach_socket());
        given.filter(|cpus| cpus.intersects(&self.usable)).unwrap_or_else(|| self.affinity_of(pid))
    }

    /// The event for an application's new number of wanted processors.
    pub(crate) fn ask_for(&mut self, app: u64, processors: u32) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let processors = entry.within_limits(processors);
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
