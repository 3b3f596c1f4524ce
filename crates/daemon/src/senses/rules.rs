//! The sensor of programs that no user has started with `run`: it finds them by the kernel's
//! notices of executed programs, judges them by `[[rules]]`, and gives the programs that are to be
//! adopted.
//!
//! A program is a *candidate* from its `exec` on. It is looked at three times; its processor time
//! since then decides. So a `grep` in a script is never adopted, and thousands of short programs
//! cost two system calls each: while they come, the notices are left to gather in the kernel, and
//! most of their programs have ended when they are read. Nothing in `/proc` is opened for a
//! candidate that has used little.
//!
//! Where the kernel gives no notices, everything is looked through when an application arrives and
//! every few seconds.

use std::collections::BTreeMap;

use numaestro_abi::control::Options;
use numaestro_host::exec_watch::ExecWatch;
use numaestro_host::poll::Interest;
use numaestro_host::procfs::{self, Stat};
use numaestro_host::{HostError, PidFd, monotonic_ns};
use tracing::{info, warn};

use crate::config::rules::{Facts, ReadyRule};
use crate::wakeups::{FrontDue, FrontSource, Wakeups};

/// Time for which notices gather in the kernel after the first one.
const GATHER_NS: u64 = 200_000_000;
/// Looks at a candidate, after it has been noticed. After the last one it is left alone until its
/// next `exec`.
const LOOKS_NS: [u64; 3] = [200_000_000, 1_000_000_000, 5_000_000_000];
/// Candidates that are due this soon are looked at together with the due ones.
const TOGETHER_NS: u64 = 50_000_000;
/// Without notices: time between two scans.
const SCAN_NS: u64 = 10_000_000_000;
/// Processor time that a program with several threads must have used.
const PROVEN_TEAM_NS: u64 = 50_000_000;
/// The same for one with a single thread: it is a program that computes, though not a parallel one
/// yet.
const PROVEN_ALONE_NS: u64 = 1_000_000_000;
/// Candidates at most; the programs of a system that starts more within seconds do not compute.
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

/// The users whose programs a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Everybody,
    /// The user with this id.
    User(u32),
    /// It names a user that does not exist.
    Nobody,
}

/// A rule and the user it names.
#[derive(Debug)]
struct Judge {
    rule: ReadyRule,
    user: About,
}

/// A process that is to be adopted.
#[derive(Debug)]
pub(crate) struct Find {
    pub(crate) process: PidFd,
    pub(crate) stat: Stat,
    pub(crate) options: Options,
}

/// Says whether a process is an application already.
pub(crate) type IsApplication<'a> = &'a dyn Fn(u32) -> bool;

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    judges: Vec<Judge>,
    watch: Option<ExecWatch>,
    candidates: BTreeMap<u32, Candidate>,
    /// Processes that were let go, or that cannot be managed, with their start times: left alone
    /// until their next `exec`.
    left: BTreeMap<u32, u64>,
    /// Identifies the manager's own program: device and inode.
    own_program: Option<(u64, u64)>,
    /// The only user whose programs may be adopted; `None`: every user's.
    only_user: Option<u32>,
}

impl Rules {
    /// There is something to look for.
    fn is_wanted(&self) -> bool {
        self.judges.iter().any(|judge| judge.rule.adopt)
    }

    /// Says whether the kernel gives notices of executed programs.
    fn is_told(&self) -> bool {
        self.watch.is_some()
    }

    /// Takes these rules, at the start and whenever the configuration has changed, and looks
    /// through the processes that run already. `only_user`: the only user whose programs may be
    /// adopted.
    pub(crate) fn configure(
        &mut self,
        rules: Vec<ReadyRule>,
        uid_of: &dyn Fn(&str) -> Option<u32>,
        only_user: Option<u32>,
        is_application: IsApplication<'_>,
        wakeups: &mut Wakeups,
    ) {
        self.only_user = only_user;
        self.judges = rules.into_iter().map(|rule| judge(rule, uid_of, only_user)).collect();
        self.candidates.clear();
        wakeups.clear(FrontDue::Candidates);
        wakeups.clear(FrontDue::Scan);
        if !self.is_wanted() {
            self.stop_watching(wakeups);
            return;
        }
        self.own_program = procfs::program(std::process::id()).ok().map(|(_, file)| file);
        if self.watch.is_none() {
            match watch_execs(wakeups) {
                Ok(watch) => self.watch = Some(watch),
                Err(cause) => warn!("programs are looked for every {} s: {cause}", SCAN_NS / 1_000_000_000),
            }
        }
        info!(rules = self.judges.len(), told = self.is_told(), "programs are adopted by rules");
        self.scan(is_application, wakeups);
    }

    fn stop_watching(&mut self, wakeups: &mut Wakeups) {
        wakeups.clear(FrontDue::Execs);
        if let Some(watch) = self.watch.take() {
            wakeups.forget(&watch);
        }
    }

    /// Something has been executed. Nothing is read yet, and no further notice wakes the manager
    /// until then.
    pub(crate) fn execs_waiting(&mut self, wakeups: &mut Wakeups) {
        if let Some(watch) = &self.watch {
            wakeups.forget(watch);
            wakeups.set_if_unset(FrontDue::Execs, monotonic_ns() + GATHER_NS);
        }
    }

    /// Reads the notices that have gathered.
    pub(crate) fn take_execs(&mut self, is_application: IsApplication<'_>, wakeups: &mut Wakeups) {
        let Some(watch) = &self.watch else { return };
        let mut pids = Vec::new();
        let drained = watch.drain(&mut pids);
        let again = wakeups.watch(watch, FrontSource::Execs, Interest::Read);
        let now = monotonic_ns();
        for pid in pids {
            self.left.remove(&pid);
            self.notice(pid, now, false, is_application, wakeups);
        }
        match (drained, again) {
            (Ok(lost), Ok(())) => {
                if lost {
                    info!("more programs were started than the kernel could say; looking through all");
                    self.scan(is_application, wakeups);
                }
            }
            (Err(cause), _) | (_, Err(cause)) => {
                warn!("programs are looked for every {} s from now on: {cause}", SCAN_NS / 1_000_000_000);
                self.stop_watching(wakeups);
                self.scan(is_application, wakeups);
            }
        }
    }

    /// Looks through all processes there are.
    pub(crate) fn scan(&mut self, is_application: IsApplication<'_>, wakeups: &mut Wakeups) {
        if !self.is_wanted() {
            return;
        }
        let now = monotonic_ns();
        self.left.retain(|pid, start| procfs::stat(*pid).is_ok_and(|stat| stat.start_time == *start));
        for pid in procfs::all().unwrap_or_default() {
            if !self.candidates.contains_key(&pid) {
                self.notice(pid, now, true, is_application, wakeups);
            }
        }
        if !self.is_told() {
            wakeups.set(FrontDue::Scan, now + SCAN_NS);
        }
    }

    /// An application has arrived: where the kernel gives no notices, others may have come with it.
    pub(crate) fn arrived(&mut self, wakeups: &mut Wakeups) {
        if self.is_wanted() && !self.is_told() {
            wakeups.set_earlier(FrontDue::Scan, monotonic_ns() + GATHER_NS);
        }
    }

    /// A process is busy that is not managed: perhaps it should be, though it has done nothing for
    /// long after its `exec`.
    pub(crate) fn busy(&mut self, pid: u32, is_application: IsApplication<'_>, wakeups: &mut Wakeups) {
        if self.is_wanted() && !self.candidates.contains_key(&pid) {
            self.notice(pid, monotonic_ns(), true, is_application, wakeups);
        }
    }

    /// A process is a candidate from now on.
    fn notice(&mut self, pid: u32, now: u64, scanned: bool, is_application: IsApplication<'_>, wakeups: &mut Wakeups) {
        // Most programs that start in a storm have ended by now: each costs one system call.
        let Some(before_ns) = procfs::cpu_clock_ns(pid) else {
            self.candidates.remove(&pid);
            return;
        };
        if pid == 1 || is_application(pid) || self.candidates.len() >= CANDIDATES_MAX {
            return;
        }
        let candidate = Candidate { before_ns, noticed_ns: now, looks: 0, scanned };
        self.candidates.insert(pid, candidate);
        wakeups.set_earlier(FrontDue::Candidates, candidate.due_ns());
    }

    /// Looks at all candidates whose time has come, and gives the programs that a rule adopts.
    pub(crate) fn look(&mut self, wakeups: &mut Wakeups) -> Vec<Find> {
        let soon = monotonic_ns() + TOGETHER_NS;
        let is_due = |(_, candidate): &(&u32, &Candidate)| candidate.due_ns() <= soon;
        let due: Vec<(u32, Candidate)> =
            self.candidates.iter().filter(is_due).map(|(pid, candidate)| (*pid, *candidate)).collect();
        let mut found = Vec::new();
        for (pid, candidate) in due {
            if self.is_worth_another_look(pid, candidate, &mut found) && candidate.looks + 1 < LOOKS_NS.len() {
                self.candidates.insert(pid, Candidate { looks: candidate.looks + 1, ..candidate });
            } else {
                self.candidates.remove(&pid);
            }
        }
        if let Some(next) = self.candidates.values().map(Candidate::due_ns).min() {
            wakeups.set(FrontDue::Candidates, next);
        }
        found
    }

    /// One look at a candidate, which finds it if it has proven to be worth it and a rule says so.
    /// False when there is nothing more to be seen.
    fn is_worth_another_look(&self, pid: u32, candidate: Candidate, found: &mut Vec<Find>) -> bool {
        let Some(time) = procfs::cpu_clock_ns(pid) else { return false };
        // The clock of an image that has been executed goes on; one that went back belongs to
        // another process.
        let Some(used) = time.checked_sub(candidate.before_ns) else { return false };
        if used < PROVEN_TEAM_NS {
            return true;
        }
        let Ok(stat) = procfs::stat(pid) else { return false };
        if stat.kernel || (candidate.scanned && self.left.get(&pid) == Some(&stat.start_time)) {
            return false;
        }
        if stat.threads < 2 && used < PROVEN_ALONE_NS {
            return true;
        }
        found.extend(self.judged(stat));
        false
    }

    /// The process, if a rule adopts it. Everything is read while the descriptor is held, and is to
    /// be believed only if the process lives after it.
    fn judged(&self, stat: Stat) -> Option<Find> {
        let process = PidFd::open_verified(stat.pid, stat.start_time).ok()?;
        let options = self.verdict(&stat)?;
        (!hosts_sessions(&stat)).then_some(Find { process, stat, options })
    }

    /// The options that the process is to be adopted with; `None` if it is not.
    fn verdict(&self, stat: &Stat) -> Option<Options> {
        let pid = stat.pid;
        let identity = procfs::identity(pid).ok()?;
        let uid = identity.only()?;
        if self.only_user.is_some_and(|only| uid != only) {
            return None;
        }
        let program = procfs::program(pid).ok();
        if program.as_ref().is_some_and(|(_, file)| Some(*file) == self.own_program) {
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
        let judge = self.judges.iter().find(meant)?;
        judge.rule.adopt.then(|| judge.rule.options.clone())
    }

    /// Its user has let it go, or it cannot be managed: no rule takes it back.
    pub(crate) fn leave_alone(&mut self, pid: u32, start_time: u64) {
        if self.is_wanted() {
            self.left.insert(pid, start_time);
        }
    }
}

fn judge(rule: ReadyRule, uid_of: &dyn Fn(&str) -> Option<u32>, only_user: Option<u32>) -> Judge {
    let Some(name) = rule.user.as_deref() else { return Judge { rule, user: About::Everybody } };
    let user = uid_of(name).map_or(About::Nobody, About::User);
    match user {
        About::Nobody => warn!(user = name, "a rule names a user that does not exist"),
        About::User(uid) if only_user.is_some_and(|only| uid != only) => {
            warn!(user = name, "a rule is about another user's programs, which this manager cannot adopt");
        }
        About::User(_) | About::Everybody => {}
    }
    Judge { rule, user }
}

fn watch_execs(wakeups: &Wakeups) -> Result<ExecWatch, HostError> {
    let watch = ExecWatch::open()?;
    wakeups.watch(&watch, FrontSource::Execs, Interest::Read)?;
    Ok(watch)
}

/// Processes below it have sessions of their own: a terminal, `tmux`, a notebook server. The
/// processes in these sessions are users' programs; the process itself is not.
fn hosts_sessions(stat: &Stat) -> bool {
    let tree = procfs::tree(stat.pid, &std::collections::BTreeSet::new()).unwrap_or_default();
    tree.into_iter().any(|pid| procfs::stat(pid).is_ok_and(|found| found.session != stat.session))
}
