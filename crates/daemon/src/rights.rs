//! Who may do what: the only place where that is decided. It must not know how anything is done.
//!
//! A user's own manager answers that user only. The system's manager answers everybody: who asks is what the kernel says of the other end of the
//! socket, never what it says of itself. Administrators (root, the manager's own user, members of `service.admin_group`) may do everything. Everybody
//! else sees and steers their own programs, and sees of others' only which processors are taken.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};

use numaestro_abi::control::{Options, Request, Status};
use numaestro_host::socket::{self, Peer};
use numaestro_host::{PidFd, procfs};

use crate::config::Service;
use crate::manager::Manager;

/// What others' things are called in a user's picture of the queue.
const SOMEBODY_ELSES: u64 = 0;

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything.
    Admin,
    /// What concerns their own programs.
    User,
    /// Nothing: it is another user's manager.
    Stranger,
}

/// Somebody who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) peer: Peer,
    pub(crate) role: Role,
}

/// No, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) hint: String,
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: hint.into() }
    }
}

/// What one user has of the manager at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) connections: u32,
    pub(crate) programs: u32,
    pub(crate) waiting: u32,
}

/// The role of a peer. `groups`: those of the peer, as the kernel says.
pub(crate) fn role(system: bool, own_uid: u32, admin_group: Option<u32>, peer: Peer, groups: &[u32]) -> Role {
    let is_admin =
        peer.uid == own_uid || system && (peer.uid == 0 || admin_group.is_some_and(|admins| groups.contains(&admins)));
    match (is_admin, system) {
        (true, _) => Role::Admin,
        (false, true) => Role::User,
        (false, false) => Role::Stranger,
    }
}

/// What needs an administrator, in words.
fn for_admins(request: &Request) -> Option<&'static str> {
    match request {
        Request::PolicySet { .. } => Some("changing the policy for everybody"),
        Request::Reload => Some("reading the configuration again"),
        Request::Stop => Some("stopping the manager of all users"),
        // Whose program it is about is looked at where that is known.
        Request::Run(_)
        | Request::Adopt { .. }
        | Request::Release { .. }
        | Request::Status
        | Request::Memory
        | Request::Watch
        | Request::PolicyList
        | Request::Advise { .. }
        | Request::Ping => None,
    }
}

impl Manager {
    /// Whether somebody may ask this at all.
    pub(crate) fn may_ask(&self, who: Who, request: &Request) -> Result<(), Refusal> {
        match (who.role, for_admins(request)) {
            (Role::Stranger, _) => {
                Err(Refusal::new("this manager belongs to another user", "start one of your own with `numaestro run`"))
            }
            (Role::User, Some(what)) => Err(Refusal::new(format!("{what} needs an administrator"), self.whom_to_ask())),
            _ => Ok(()),
        }
    }

    /// Who the administrators are.
    fn whom_to_ask(&self) -> String {
        match &self.config.service.admin_group {
            Some(group) => format!("ask an administrator: root, or members of the group {group}"),
            None => "ask an administrator: that is root here".to_owned(),
        }
    }

    /// Whether somebody may steer this application. The same answer for one that does not exist: whether it does is nobody else's business.
    pub(crate) fn may_steer(&self, who: Who, app: u64) -> Result<(), Refusal> {
        let hint = "`numaestro status` shows those that there are";
        match (who.role, self.apps.get(&app)) {
            (Role::Admin, None) => Err(Refusal::new(format!("there is no application {app}"), hint)),
            (Role::Admin, Some(_)) => Ok(()),
            (_, Some(entry)) if entry.uid == who.peer.uid => Ok(()),
            _ => Err(Refusal::new(format!("you have no application {app}"), hint)),
        }
    }

    /// Whether somebody may have a running process managed. Looked at while the process is held, so that its number cannot come to mean another one.
    pub(crate) fn may_adopt(&self, who: Who, process: Option<&PidFd>, pid: u32) -> Result<(), Refusal> {
        let not_yours = || Err(Refusal::new(format!("process {pid} is not one of your programs"), ""));
        if pid == std::process::id() {
            return not_yours();
        }
        let Some(process) = process else {
            return match who.role {
                Role::Admin => {
                    Err(Refusal::new(format!("there is no process {pid}"), "`ps` shows the processes that there are"))
                }
                _ => not_yours(),
            };
        };
        let uids = procfs::identity(pid).ok().filter(|_| !process.has_ended());
        match (uids.map(|uids| uids.only()), who.role) {
            (Some(Some(uid)), _) if uid == who.peer.uid => Ok(()),
            (Some(_), Role::Admin) if self.config.system => Ok(()),
            // A setuid program of one's own is not one's own any more.
            _ => not_yours(),
        }
    }

    /// Whether a process is the user's who asks, and nobody else's: the one behind the socket, not one that has its number by now, and none with
    /// another user's rights.
    pub(crate) fn is_of_peer(&self, peer: Peer, process: &PidFd) -> bool {
        !self.config.system
            || procfs::identity(process.pid()).is_ok_and(|uids| uids.only() == Some(peer.uid)) && !process.has_ended()
    }

    /// Who is at the other end.
    pub(crate) fn who_is(&self, peer: Peer, socket: BorrowedFd<'_>) -> Who {
        let asks_groups = self.config.system && self.users.admins.is_some();
        let groups = if asks_groups { socket::peer_groups(socket) } else { Vec::new() };
        Who { peer, role: role(self.config.system, self.own_uid(), self.users.admins, peer, &groups) }
    }

    /// Other administrators from now on.
    pub(crate) fn recheck_roles(&mut self) {
        let numbers: Vec<u64> = self.connections.keys().copied().collect();
        for number in numbers {
            let Some(connection) = self.connections.get(&number) else { continue };
            let who = self.who_is(connection.who.peer, connection.fd.as_fd());
            if let Some(connection) = self.connections.get_mut(&number) {
                connection.who = who;
            }
        }
    }

    /// Whether these wishes are within what the user is entitled to.
    pub(crate) fn may_wish(&mut self, uid: u32, options: &Options) -> Result<(), Refusal> {
        let known = self.user(uid);
        let (Some(min), Some(max)) = (options.min, known.entitled.max) else { return Ok(()) };
        if min <= max {
            return Ok(());
        }
        Err(Refusal::new(
            format!("at least {min} processors are wanted, but {} may have {max} at most", known.name),
            format!("use --min {max} or less, or {}", self.whom_to_ask()),
        ))
    }

    /// The same for whoever has started a process.
    pub(crate) fn owner_may_wish(&mut self, pid: u32, options: &Options) -> Result<(), Refusal> {
        let uid = self.owner_of(pid);
        self.may_wish(uid, options)
    }

    /// Whether a user may have one more connection.
    pub(crate) fn may_connect(&mut self, who: Who) -> Result<(), Refusal> {
        let usage = self.usage(who);
        let most = self.config.service.connections_per_user;
        self.within(who, usage.connections, most, "connections", "end some of the commands that wait or watch")
    }

    /// Whether a user may have one more program, and perhaps let it wait.
    pub(crate) fn may_start(&mut self, who: Who) -> Result<(), Refusal> {
        let usage = self.usage(who);
        let Service { programs_per_user, waiting_per_user, .. } = self.config.service;
        let hint = "wait until some have ended, or run this one without the manager";
        self.within(who, usage.programs, programs_per_user, "programs", hint)?;
        self.within(who, usage.waiting, waiting_per_user, "waiting programs", "wait until some have started")
    }

    fn within(&self, who: Who, has: u32, most: u32, what: &str, hint: &str) -> Result<(), Refusal> {
        if !self.config.system || who.role == Role::Admin || has < most {
            return Ok(());
        }
        Err(Refusal::new(format!("you have {has} {what} already, which is all that one user may have"), hint))
    }

    /// What the user has at this moment. All that have no account count as one.
    fn usage(&mut self, who: Who) -> Usage {
        if !self.config.system || who.role == Role::Admin {
            return Usage::default();
        }
        let counted = self.user(who.peer.uid).counted_as;
        let mut same: BTreeMap<u32, bool> = BTreeMap::new();
        let uids: Vec<u32> = self.connections.values().map(|connection| connection.who.peer.uid).collect();
        let uids = uids.into_iter().chain(self.apps.values().map(|app| app.uid).collect::<Vec<_>>());
        for uid in uids.collect::<std::collections::BTreeSet<_>>() {
            let is_same = uid == who.peer.uid || counted.is_none() && self.user(uid).counted_as.is_none();
            same.insert(uid, is_same);
        }
        let is = |uid: u32| same.get(&uid).copied().unwrap_or(false);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let own = |app: &&crate::app::App| is(app.uid);
        Usage {
            connections: count(self.connections.values().filter(|connection| is(connection.who.peer.uid)).count()),
            programs: count(self.apps.values().filter(own).count()),
            waiting: count(self.apps.values().filter(own).filter(|app| app.waiting.is_some()).count()),
        }
    }

    /// The picture as this one may see it.
    pub(crate) fn status_for(&self, who: Who) -> Status {
        self.as_seen(who, self.status())
    }

    /// For one who is no administrator: of others' programs only which processors are taken.
    pub(crate) fn as_seen(&self, who: Who, mut status: Status) -> Status {
        if who.role == Role::Admin {
            return status;
        }
        let uid = who.peer.uid;
        let own = |app: u64| self.apps.get(&app).is_some_and(|entry| entry.uid == uid);
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
}
