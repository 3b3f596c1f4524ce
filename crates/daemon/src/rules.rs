//! Programs that nobody has started with `run`: found by the kernel's notices of what is executed, judged by `[[rules]]`, and adopted once they
//! have proven that it is worth it. It must not know what a rule says, nor how the kernel is listened to.
//!
//! A program is a *candidate* from its `exec` on. It is looked at three times; what it has used of processors since then decides. So a
//! `grep` in a script is never adopted, and thousands of short programs cost two system calls each: while they come, the notices are left to
//! gather in the kernel, and most of their programs have ended when they are read. Nothing in `/proc` is opened for one that has used little.
//!
//! Where the kernel gives no notices, everything is looked through when an application arrives and every few seconds.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use numaestro_engine::Class;
use numaestro_host::exec_watch::ExecWatch;
use numaestro_host::poll::Interest;
use numaestro_host::procfs::{self, Stat};
use numaestro_host::{HostError, PidFd, monotonic_ns};
use tracing::{info, warn};

use crate::config::rules::{self, Facts, ReadyRule};
use crate::control::shown;
use crate::manager::{Manager, token};
use crate::timers::Due;

/// How long notices gather in the kernel after the first one.
const GATHER_NS: u64 = 200_000_000;
/// Looks at a candidate, after it has been noticed. After the last one it is left alone until its next `exec`.
const LOOKS_NS: [u64; 3] = [200_000_000, 1_000_000_000, 5_000_000_000];
/// Candidates that are due this soon are looked at together with those that are.
const TOGETHER_NS: u64 = 50_000_000;
/// Without notices: time between two scans.
const SCAN_NS: u64 = 10_000_000_000;
/// Processor time that a program with several threads must have used.
const PROVEN_TEAM_NS: u64 = 50_000_000;
/// The same for one with a single thread: it is a program that computes, though not a parallel one yet.
const PROVEN_ALONE_NS: u64 = 1_000_000_000;
/// Candidates at most; a system that starts more within seconds is not one whose programs compute.
const CANDIDATES_MAX: usize = 1 << 16;
/// The system's own cgroups: their services are no programs of users.
const SERVICES: [&str; 2] = ["/system.slice", "/init.scope"];

/// A process that may have to be adopted.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Processor time when it was noticed.
    before_ns: u64,
    noticed_ns: u64,
    looks: usize,
    /// It was found by a scan, not by its `exec`.
    scanned: bool,
}

impl Candidate {
    fn due_ns(&self) -> u64 {
        self.noticed_ns + LOOKS_NS[self.looks.min(LOOKS_NS.len() - 1)]
    }
}

/// Whose programs a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Everybody,
    /// Number.
    User(u32),
    /// It names a user that does not exist.
    Nobody,
}

/// A rule and the user it names.
#[derive(Debug)]
struct Judge {
    rule: ReadyRule,
    /// Whom it is about.
    user: About,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    judges: Vec<Judge>,
    watch: Option<ExecWatch>,
    candidates: BTreeMap<u32, Candidate>,
    /// Processes that were let go, or that cannot be managed, with their start times: left alone until their next `exec`.
    left: BTreeMap<u32, u64>,
    /// What names the manager's own program.
    own_program: Option<(u64, u64)>,
}

impl Rules {
    /// There is something to look for.
    pub(crate) fn is_wanted(&self) -> bool {
        self.judges.iter().any(|judge| judge.rule.adopt)
    }

    /// Whether the kernel says by itself what is executed.
    pub(crate) fn is_told(&self) -> bool {
        self.watch.is_some()
    }
}

impl Manager {
    /// Reads the rules of the configuration, at the start and whenever it has changed, and looks through what runs already.
    pub(crate) fn start_rules(&mut self) {
        let ready = rules::ready(&self.config.rules).unwrap_or_default();
        self.rules.judges = ready.into_iter().map(|rule| self.judge(rule)).collect();
        self.rules.candidates.clear();
        self.timers.clear(Due::Candidates);
        self.timers.clear(Due::Scan);
        if !self.rules.is_wanted() {
            self.stop_watching();
            return;
        }
        self.rules.own_program = procfs::program(std::process::id()).ok().map(|(_, file)| file);
        if self.rules.watch.is_none() {
            match self.watch_execs() {
                Ok(watch) => self.rules.watch = Some(watch),
                Err(cause) => warn!("programs are looked for every {} s: {cause}", SCAN_NS / 1_000_000_000),
            }
        }
        info!(rules = self.rules.judges.len(), told = self.rules.is_told(), "programs are adopted by rules");
        self.scan();
    }

    fn judge(&self, rule: ReadyRule) -> Judge {
        let Some(name) = rule.user.as_deref() else { return Judge { rule, user: About::Everybody } };
        let user = self.uid_of(name).map_or(About::Nobody, About::User);
        match user {
            About::Nobody => warn!(user = name, "a rule names a user that does not exist"),
            About::User(uid) if !self.config.system && uid != self.own_uid() => {
                warn!(user = name, "a rule is about another user's programs, which this manager cannot adopt");
            }
            _ => {}
        }
        Judge { rule, user }
    }

    fn watch_execs(&self) -> Result<ExecWatch, HostError> {
        let watch = ExecWatch::open()?;
        self.poller.add(watch.as_fd(), token::EXECS, Interest::Read)?;
        Ok(watch)
    }

    fn stop_watching(&mut self) {
        self.timers.clear(Due::Execs);
        if let Some(watch) = self.rules.watch.take() {
            let _ = self.poller.remove(watch.as_fd());
        }
    }

    /// Something has been executed. Nothing is read yet, and no further notice wakes the manager until then.
    pub(crate) fn execs_waiting(&mut self) {
        if let Some(watch) = &self.rules.watch {
            let _ = self.poller.remove(watch.as_fd());
            self.timers.set_if_unset(Due::Execs, monotonic_ns() + GATHER_NS);
        }
    }

    /// Reads the notices that have gathered.
    pub(crate) fn take_execs(&mut self) {
        let Some(watch) = &self.rules.watch else { return };
        let mut pids = Vec::new();
        let drained = watch.drain(&mut pids);
        let again = self.poller.add(watch.as_fd(), token::EXECS, Interest::Read);
        let now = monotonic_ns();
        for pid in pids {
            self.rules.left.remove(&pid);
            self.notice(pid, now, false);
        }
        match (drained, again) {
            (Ok(lost), Ok(())) => {
                if lost {
                    info!("more programs were started than the kernel could say; looking through all");
                    self.scan();
                }
            }
            (Err(cause), _) | (_, Err(cause)) => {
                warn!("programs are looked for every {} s from now on: {cause}", SCAN_NS / 1_000_000_000);
                self.stop_watching();
                self.scan();
            }
        }
    }

    /// Looks through all processes there are.
    pub(crate) fn scan(&mut self) {
        if !self.rules.is_wanted() {
            return;
        }
        let now = monotonic_ns();
        self.rules.left.retain(|pid, start| procfs::stat(*pid).is_ok_and(|stat| stat.start_time == *start));
        for pid in procfs::all().unwrap_or_default() {
            if !self.rules.candidates.contains_key(&pid) {
                self.notice(pid, now, true);
            }
        }
        if !self.rules.is_told() {
            self.timers.set(Due::Scan, now + SCAN_NS);
        }
    }

    /// An application has arrived: where the kernel says nothing, others may have come with it.
    pub(crate) fn scan_after_arrival(&mut self) {
        if self.rules.is_wanted() && !self.rules.is_told() {
            self.timers.set_earlier(Due::Scan, monotonic_ns() + GATHER_NS);
        }
    }

    /// A process is busy that is not managed: perhaps it should be, though it has done nothing for long after its `exec`.
    pub(crate) fn notice_busy(&mut self, pid: u32) {
        if self.rules.is_wanted() && !self.rules.candidates.contains_key(&pid) {
            self.notice(pid, monotonic_ns(), true);
        }
    }

    /// A process is a candidate from now on.
    fn notice(&mut self, pid: u32, now: u64, scanned: bool) {
        // Most of what starts in a storm has ended by now: that costs one system call.
        let Some(before_ns) = procfs::cpu_clock_ns(pid) else {
            self.rules.candidates.remove(&pid);
            return;
        };
        if pid == 1 || self.by_pid.contains_key(&pid) || self.rules.candidates.len() >= CANDIDATES_MAX {
            return;
        }
        let candidate = Candidate { before_ns, noticed_ns: now, looks: 0, scanned };
        self.rules.candidates.insert(pid, candidate);
        self.timers.set_earlier(Due::Candidates, candidate.due_ns());
    }

    /// Looks at all candidates whose time has come.
    pub(crate) fn look_at_candidates(&mut self) {
        let soon = monotonic_ns() + TOGETHER_NS;
        let due: Vec<(u32, Candidate)> = self
            .rules
            .candidates
            .iter()
            .filter(|(_, candidate)| candidate.due_ns() <= soon)
            .map(|(pid, candidate)| (*pid, *candidate))
            .collect();
        for (pid, candidate) in due {
            if self.is_worth_another_look(pid, candidate) && candidate.looks + 1 < LOOKS_NS.len() {
                self.rules.candidates.insert(pid, Candidate { looks: candidate.looks + 1, ..candidate });
            } else {
                self.rules.candidates.remove(&pid);
            }
        }
        if let Some(next) = self.rules.candidates.values().map(Candidate::due_ns).min() {
            self.timers.set(Due::Candidates, next);
        }
    }

    /// One look at a candidate: adopts it if it has proven to be worth it and a rule says so. False when there is nothing more to be seen.
    fn is_worth_another_look(&mut self, pid: u32, candidate: Candidate) -> bool {
        let Some(time) = procfs::cpu_clock_ns(pid) else { return false };
        // The clock of an image that has been executed goes on; one that went back belongs to another process.
        let Some(used) = time.checked_sub(candidate.before_ns) else { return false };
        if used < PROVEN_TEAM_NS {
            return true;
        }
        let Ok(stat) = procfs::stat(pid) else { return false };
        if stat.kernel || (candidate.scanned && self.rules.left.get(&pid) == Some(&stat.start_time)) {
            return false;
        }
        if stat.threads < 2 && used < PROVEN_ALONE_NS {
            return true;
        }
        self.consider_adopting(&stat);
        false
    }

    /// Adopts a process that a rule is about.
    fn consider_adopting(&mut self, stat: &Stat) {
        let pid = stat.pid;
        // Everything below is read while the descriptor is held, and believed only if the process lives after it.
        let Ok(process) = PidFd::open_verified(pid, stat.start_time) else { return };
        let Some(options) = self.verdict(stat) else { return };
        if self.is_ours(pid) || hosts_sessions(stat) || process.has_ended() {
            return;
        }
        let name = if options.name.is_empty() { stat.name.clone() } else { options.name.clone() };
        info!(pid, name, "adopted by a rule");
        let app = self.insert(process, shown(&name), options, Class::Fold);
        self.arrive(app, None);
        if let Some(reason) = self.apps.get(&app).and_then(|entry| entry.denied.clone()) {
            warn!(pid, reason, "cannot be managed");
            self.depart(app);
        }
        if !self.apps.contains_key(&app) {
            self.leave_alone(pid, stat.start_time);
        }
    }

    /// What the process is to be adopted with; `None` if it is not.
    fn verdict(&self, stat: &Stat) -> Option<numaestro_abi::control::Options> {
        let pid = stat.pid;
        let identity = procfs::identity(pid).ok()?;
        let uid = identity.only()?;
        if !self.config.system && uid != self.own_uid() {
            return None;
        }
        let program = procfs::program(pid).ok();
        if program.as_ref().is_some_and(|(_, file)| Some(*file) == self.rules.own_program) {
            return None;
        }
        let cgroup = procfs::cgroup(pid).ok()?;
        let service =
            |slice: &&str| cgroup.strip_prefix(*slice).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let facts = Facts {
            program: program.as_ref().map(|(path, _)| path.as_path()),
            name: &stat.name,
            cgroup: &cgroup,
            apart: identity.nested || SERVICES.iter().any(service),
        };
        let users = [About::Everybody, About::User(uid)];
        let meant = |judge: &&Judge| users.contains(&judge.user) && judge.rule.is_about(facts);
        let judge = self.rules.judges.iter().find(meant)?;
        judge.rule.adopt.then(|| judge.rule.options.clone())
    }

    /// It is the manager or belongs to it, or to an application.
    fn is_ours(&self, pid: u32) -> bool {
        let ours = |pid: &u32| {
            *pid == std::process::id()
                || self.by_pid.contains_key(pid)
                || self.apps.values().any(|app| app.members.contains_key(pid))
        };
        ours(&pid) || procfs::ancestors(pid).iter().any(ours)
    }

    /// An application has been let go by its user: no rule takes it back.
    pub(crate) fn leave_alone(&mut self, pid: u32, start_time: u64) {
        if self.rules.is_wanted() {
            self.rules.left.insert(pid, start_time);
        }
    }
}

/// Processes below it have sessions of their own: a terminal, `tmux`, a notebook server. What runs in these is somebody's program; it is not.
fn hosts_sessions(stat: &Stat) -> bool {
    let tree = procfs::tree(stat.pid, &std::collections::BTreeSet::new()).unwrap_or_default();
    tree.into_iter().any(|pid| procfs::stat(pid).is_ok_and(|found| found.session != stat.session))
}
