//! Lets peers in, and serves one request at a time: between two of them the manager looks at
//! everything else.

use std::os::fd::{AsFd, OwnedFd};

use numaestro_host::socket::{self, Sort};
use numaestro_host::{monotonic_ns, thread_time_ns};

use super::Front;
use crate::identity::payer::Payer;
use crate::identity::peer::Evidence;
use crate::identity::rights::{Role, Who};
use crate::people::connection::{Connections, Heard, Turn};
use crate::shell::Shell;
use crate::wakeups::FrontDue;

/// Time for peers that come, before others get their turn.
const ACCEPT_NS: u64 = 1_000_000;

impl Front {
    pub(super) fn accept(&mut self, sort: Sort, shell: &mut Shell) {
        let until = monotonic_ns() + ACCEPT_NS;
        while let Some((fd, after_ns)) = self.connections.accept(sort, shell.wakeups()) {
            self.admit(fd, after_ns, sort, shell);
            if monotonic_ns() > until {
                return;
            }
        }
    }

    fn admit(&mut self, fd: OwnedFd, after_ns: u64, sort: Sort, shell: &mut Shell) {
        let Ok(peer) = socket::peer(fd.as_fd()) else { return };
        let who = self.rights.who_is(Evidence { socket: fd.as_fd(), peer, after_ns });
        let payer = self.payer(who, shell);
        let there = u32::try_from(self.connections.count(payer.uid)).unwrap_or(u32::MAX);
        if let Err(refusal) = self.rights.may_connect(who, there) {
            self.log_refusal(payer, who, &refusal, shell);
            Connections::turn_away(fd.as_fd(), sort, &refusal);
            return;
        }
        shell.wakeups().clear(FrontDue::Idle);
        self.connections.admit(fd, (who, payer), sort, shell.wakeups());
    }

    /// Who pays for a peer's requests.
    fn payer(&mut self, who: Who, shell: &mut Shell) -> Payer {
        let contained = who.role == Role::Contained;
        let uid = if self.rights.limits(who) { self.user(who.peer.uid, shell).counted_as } else { Some(who.peer.uid) };
        Payer { uid, contained }
    }

    /// The time from which there is a request to serve, nanoseconds.
    pub(crate) fn next_request_ns(&self) -> Option<u64> {
        match self.connections.next_turn() {
            Turn::Of(_) => Some(0),
            Turn::At(at) => Some(at),
            Turn::Nobody => None,
        }
    }

    /// Serves one request, if it is anybody's turn.
    pub(crate) fn serve(&mut self, shell: &mut Shell) {
        let Turn::Of(number) = self.connections.take_turn() else { return };
        let Some((sort, payer)) = self.connections.sort(number).zip(self.connections.payer(number)) else { return };
        let begun_ns = thread_time_ns();
        match self.connections.hear(number, shell.wakeups()) {
            Heard::Message(message) if sort == Sort::Packets => self.packet(number, &message, shell),
            Heard::Message(line) => self.line(number, &line, shell),
            Heard::TooLong => {
                self.refuse(number, "the line is longer than 65536 bytes", "", shell);
                self.connections.close_after_flush(number, shell.wakeups());
            }
            Heard::Picture => self.show_picture(number, shell),
            Heard::Nothing => {}
        }
        self.deliver(shell);
        self.connections.end_turn(number, payer, thread_time_ns().saturating_sub(begun_ns), shell.wakeups());
    }
}
