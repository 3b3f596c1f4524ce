//! Decides what each user may do; no other file does.
//!
//! A user's own manager answers that user only. The system's manager answers everybody: the kernel
//! names the user at the other end of the socket; the peer's own word never counts. Administrators
//! (root, the manager's own user, members of `service.admin_group`) may do everything. All other
//! users see and steer their own programs, and see of others' only the processors that are taken.
//!
//! A number of a user inside a container says little: root there may be somebody who may do nothing
//! here, and two containers may have different users of one number. So a process in a container
//! (its process-id namespace lies below ours) asks the system's manager for itself only.

use std::os::fd::BorrowedFd;

use numaestro_abi::control::{Options, RefusalKind, Reply, Request, Status};
use numaestro_host::socket::{self, Peer};
use numaestro_host::{HostError, PidFd, procfs};

use crate::config::{Config, Service};
use crate::identity::peer::{Evidence, LivePeer};
use crate::identity::users::Known;

/// The number that stands for others' applications in a user's picture of the queue.
const SOMEBODY_ELSES: u64 = 0;

/// The rights of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// May do everything.
    Admin,
    /// May see and steer their own programs.
    User,
    /// A process in a container: may become a program, and ask what it would get.
    Contained,
    /// Nothing: it is another user's manager.
    Stranger,
}

/// A peer and its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) peer: Peer,
    pub(crate) role: Role,
    /// It was in a container when it connected.
    contained: bool,
    /// It had not connected yet at this time since boot, nanoseconds.
    after_ns: u64,
}

/// A refusal, with its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// One sentence.
    pub reason: String,
    /// The next step; may be empty.
    pub hint: String,
    /// What kind of refusal it is.
    pub kind: RefusalKind,
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: hint.into(), kind: RefusalKind::Later }
    }

    /// The answer to a command.
    pub(crate) fn reply(&self) -> Reply {
        Reply::Refused { reason: self.reason.clone(), hint: self.hint.clone(), kind: self.kind }
    }

    /// The same, of another kind than usual.
    pub(crate) fn of_kind(self, kind: RefusalKind) -> Self {
        Self { kind, ..self }
    }
}

/// The programs that one user has at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) programs: u32,
    pub(crate) waiting: u32,
}

/// The role of a peer. `groups`: the peer's groups, as the kernel says.
pub(crate) fn role(system: bool, own_uid: u32, admin_group: Option<u32>, peer: Peer, groups: &[u32]) -> Role {
    let is_admin =
        peer.uid == own_uid || system && (peer.uid == 0 || admin_group.is_some_and(|admins| groups.contains(&admins)));
    match (is_admin, system) {
        (true, _) => Role::Admin,
        (false, true) => Role::User,
        (false, false) => Role::Stranger,
    }
}

/// The part of a request that no process in a container may ask, in words.
fn for_outside(request: &Request) -> Option<&'static str> {
    match request {
        Request::Adopt { .. } => Some("taking a running program over"),
        Request::Release { .. } => Some("letting a program go"),
        Request::Set { .. } => Some("changing the wishes for a program"),
        Request::History { .. } => Some("the history of programs"),
        Request::Memory => Some("where programs have their memory"),
        _ => for_admins(request),
    }
}

/// The part of a request that needs an administrator, in words.
fn for_admins(request: &Request) -> Option<&'static str> {
    match request {
        Request::PolicySet { .. } => Some("changing the policy for everybody"),
        Request::BeginStep(_) => Some("registering the steps of jobs"),
        Request::Reload => Some("reading the configuration again"),
        Request::Stop => Some("stopping the manager of all users"),
        Request::Record { on: Some(_) } => Some("choosing whether everybody's programs are recorded"),
        // The program's owner is checked where the program is known.
        Request::Run(_)
        | Request::Adopt { .. }
        | Request::Release { .. }
        | Request::Set { .. }
        | Request::Status
        | Request::Memory
        | Request::Watch
        | Request::PolicyList
        | Request::Advise { .. }
        | Request::History { .. }
        | Request::Record { on: None }
        | Request::Jobs
        | Request::SetJob { .. }
        | Request::Ping => None,
    }
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    /// This is the manager of all users.
    system: bool,
    own_uid: u32,
    /// Number of the administrators' group.
    admins: Option<u32>,
    limits: Service,
}

impl Rights {
    /// As the configuration says. `admins`: number of the administrators' group.
    pub(crate) fn new(config: &Config, admins: Option<u32>) -> Self {
        let limits = config.service.clone();
        Self { system: config.system, own_uid: numaestro_host::own_uid(), admins, limits }
    }

    /// Says whether a peer may ask this at all.
    pub(crate) fn may_ask(&self, who: Who, request: &Request) -> Result<(), Refusal> {
        match (who.role, for_admins(request)) {
            (Role::Stranger, _) => {
                Err(Refusal::new("this manager belongs to another user", "start one of your own with `numaestro run`"))
            }
            (Role::Contained, _) => match for_outside(request) {
                Some(what) => {
                    let refusal = Refusal::new(
                        format!("{what} cannot be asked for from inside a container"),
                        "ask from outside, where the kernel's word on who asks means something",
                    );
                    Err(refusal.of_kind(RefusalKind::Permission))
                }
                None => Ok(()),
            },
            (Role::User, Some(what)) => {
                let refusal = Refusal::new(format!("{what} needs an administrator"), self.administrators());
                Err(refusal.of_kind(RefusalKind::Permission))
            }
            _ => Ok(()),
        }
    }

    /// A hint: the administrators.
    fn administrators(&self) -> String {
        match &self.limits.admin_group {
            Some(group) => format!("ask an administrator: root, or members of the group {group}"),
            None => "ask an administrator: that is root here".to_owned(),
        }
    }

    /// Says whether a peer may adopt a running process. The caller holds the process, so that its
    /// number cannot come to mean another one.
    pub(crate) fn may_adopt(&self, who: Who, process: Option<&PidFd>, pid: u32) -> Result<(), Refusal> {
        let not_yours = || {
            let refusal = Refusal::new(format!("process {pid} is not one of your programs"), "");
            Err(refusal.of_kind(RefusalKind::Permission))
        };
        if pid == std::process::id() {
            return not_yours();
        }
        let Some(process) = process else {
            return match who.role {
                Role::Admin => Err(no_process(format!("there is no process {pid}"))),
                Role::User | Role::Contained | Role::Stranger => not_yours(),
            };
        };
        let uids = procfs::identity(pid).ok().filter(|_| !process.has_ended());
        match (uids.map(|uids| uids.only()), who.role) {
            (Some(Some(uid)), _) if uid == who.peer.uid => Ok(()),
            (Some(_), Role::Admin) if self.system => Ok(()),
            // A setuid program of one's own is not one's own any more.
            _ => not_yours(),
        }
    }

    /// The living process behind a connection, for what is done to an application because it asks.
    pub(crate) fn prove(&self, evidence: Evidence<'_>) -> Result<LivePeer, HostError> {
        LivePeer::prove(evidence, self.system)
    }

    /// The peer at the other end of a new connection, with its role.
    pub(crate) fn who_is(&self, evidence: Evidence<'_>) -> Who {
        let contained = self.system && evidence.is_contained();
        let Evidence { peer, after_ns, socket } = evidence;
        self.renewed(Who { peer, role: Role::Contained, contained, after_ns }, socket)
    }

    /// The same peer, now that there are other administrators. Nothing is asked about its process,
    /// whose number may be another one's by now.
    pub(crate) fn renewed(&self, who: Who, socket: BorrowedFd<'_>) -> Who {
        let asks_groups = self.system && self.admins.is_some();
        let groups = if asks_groups { socket::peer_groups(socket) } else { Vec::new() };
        let role = role(self.system, self.own_uid, self.admins, who.peer, &groups);
        Who { role: if who.contained { Role::Contained } else { role }, ..who }
    }

    /// Says whether these wishes are within a user's entitlement.
    pub(crate) fn may_wish(&self, user: &Known, options: &Options) -> Result<(), Refusal> {
        let (Some(min), Some(max)) = (options.min, user.entitled.max) else { return Ok(()) };
        if min <= max {
            return Ok(());
        }
        Err(Refusal::new(
            format!("at least {min} processors are wanted, but {} may have {max} at most", user.name),
            format!("use --min {max} or less, or {}", self.administrators()),
        ))
    }

    /// Says whether limits count for a peer.
    pub(crate) fn limits(&self, who: Who) -> bool {
        self.system && who.role != Role::Admin
    }

    /// Says whether a user who has so many may have one more connection.
    pub(crate) fn may_connect(&self, who: Who, there: u32) -> Result<(), Refusal> {
        let most = self.limits.connections_per_user;
        self.within(who, there, most, "connections", "end some of the commands that wait or watch")
    }

    /// Says whether a user who has this may have one more program, and perhaps let it wait.
    pub(crate) fn may_start(&self, who: Who, usage: Usage) -> Result<(), Refusal> {
        let Service { programs_per_user, waiting_per_user, .. } = self.limits;
        let hint = "wait until some have ended, or run this one without the manager";
        self.within(who, usage.programs, programs_per_user, "programs", hint)?;
        self.within(who, usage.waiting, waiting_per_user, "waiting programs", "wait until some have started")
    }

    fn within(&self, who: Who, has: u32, most: u32, what: &str, hint: &str) -> Result<(), Refusal> {
        if !self.limits(who) || has < most {
            return Ok(());
        }
        Err(Refusal::new(format!("you have {has} {what} already, which is all that one user may have"), hint))
    }
}

/// The process that a request names is not there.
pub(crate) fn no_process(what: String) -> Refusal {
    Refusal::new(what, "`ps` shows the processes that there are").of_kind(RefusalKind::Absent)
}

impl Who {
    /// What tells who is at the other end of its connection.
    pub(crate) fn evidence(self, socket: BorrowedFd<'_>) -> Evidence<'_> {
        Evidence { socket, peer: self.peer, after_ns: self.after_ns }
    }

    /// Says whether this peer sees and steers the applications of a user. A peer who does not is
    /// told nothing that reveals them.
    pub(crate) fn steers(self, owner: u32) -> bool {
        self.role == Role::Admin || self.role != Role::Contained && owner == self.peer.uid
    }

    /// The words that begin a sentence on the applications that this peer sees.
    pub(crate) fn there_is(self) -> &'static str {
        if self.role == Role::Admin { "there is" } else { "you have" }
    }
}

/// The picture as a peer may see it: of others' programs only the processors that are taken, unless
/// the peer is an administrator. `owner`: the user of an application.
pub(crate) fn as_seen(who: Who, owner: &dyn Fn(u64) -> Option<u32>, mut status: Status) -> Status {
    if who.role == Role::Admin {
        return status;
    }
    let own = |app: u64| owner(app).is_some_and(|owner| who.steers(owner));
    status.apps.retain(|entry| own(entry.app));
    for pu in &mut status.pus {
        if pu.owner.is_some_and(|owner| !own(owner)) {
            pu.owner = None;
            "owned".clone_into(&mut pu.state);
        }
        pu.guests.retain(|guest| own(*guest));
    }
    for place in status.queue.iter_mut().filter(|app| !own(**app)) {
        *place = SOMEBODY_ELSES;
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles() {
        let of = |system, admins, uid, groups: &[u32]| role(system, 500, admins, Peer { pid: 1, uid }, groups);
        // A user's own manager: nobody else, not even root.
        assert_eq!(of(false, None, 500, &[]), Role::Admin);
        assert_eq!(of(false, None, 0, &[]), Role::Stranger);
        assert_eq!(of(false, Some(7), 501, &[7]), Role::Stranger);
        assert_eq!(of(true, None, 0, &[]), Role::Admin);
        assert_eq!(of(true, None, 501, &[7]), Role::User);
        assert_eq!(of(true, Some(7), 501, &[1, 7]), Role::Admin);
        assert_eq!(of(true, Some(7), 501, &[1]), Role::User);
    }

    /// Its number may be a process's of the host by now.
    #[test]
    fn who_has_come_from_a_container_stays_there() {
        let (here, _there) = std::os::unix::net::UnixStream::pair().unwrap();
        let rights = Rights { system: true, own_uid: 500, ..Rights::default() };
        let peer = Peer { pid: std::process::id(), uid: 0 };
        let who = |contained| Who { peer, role: Role::User, contained, after_ns: 0 };
        let renewed = |who| rights.renewed(who, std::os::fd::AsFd::as_fd(&here)).role;
        assert_eq!((renewed(who(true)), renewed(who(false))), (Role::Contained, Role::Admin));
    }
}
