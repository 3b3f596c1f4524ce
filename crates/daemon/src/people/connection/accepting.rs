//! Lets peers in, as far as there is room, and turns others away.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use numaestro_host::poll::Interest;
use numaestro_host::socket::{self, Sort};
use numaestro_host::{HostError, monotonic_ns};
use tracing::warn;

use super::{Connection, Connections, Pictures, Rests, line_of};
use crate::identity::payer::Payer;
use crate::identity::rights::{Refusal, Who};
use crate::people::wire;
use crate::service::Sockets;
use crate::wakeups::{FrontDue, Wakeups};

/// Most connections at once.
const CONNECTIONS_MAX: usize = 4096;
/// Pause in accepting after descriptors have run out, unless one becomes free earlier.
const PAUSE_NS: u64 = 100_000_000;

impl Connections {
    /// Listens at these sockets from now on. Peers that are connected stay so.
    pub(crate) fn listen_at(&mut self, sockets: Sockets, wakeups: &Wakeups) -> Result<(), HostError> {
        self.sockets.forget(wakeups);
        (self.sockets, self.accepting) = (sockets, true);
        self.sockets.watch(wakeups)
    }

    /// The sockets stay when the manager ends: they were passed to it.
    pub(crate) fn sockets_stay(&self) -> bool {
        self.sockets.stay
    }

    /// Accepts one that waits, with a time since boot at which it had not connected yet.
    pub(crate) fn accept(&mut self, sort: Sort, wakeups: &mut Wakeups) -> Option<(OwnedFd, u64)> {
        // Those who are not let in yet wait in the kernel.
        if !self.accepting || self.requests.is_full() {
            return None;
        }
        let listener = self.sockets.of(sort);
        match listener.accept() {
            Ok(accepted) => accepted.map(|fd| (fd, listener.empty_ns())),
            Err(cause) => {
                self.pause(sort, &cause, wakeups);
                None
            }
        }
    }

    /// No descriptor is left: with the spare one, one peer is told by a close; then there is a
    /// pause.
    fn pause(&mut self, sort: Sort, cause: &HostError, wakeups: &mut Wakeups) {
        warn!("cannot accept: {cause}");
        if cause.is_out_of_descriptors() {
            self.spare.release();
            if let Ok(Some(fd)) = self.sockets.of(sort).accept() {
                if sort == Sort::Packets {
                    let text = "the manager has no descriptors left";
                    let answer = wire::welcome(numaestro_abi::attach::code::EXHAUSTED, 0, text);
                    let _ = socket::send(fd.as_fd(), &answer, None);
                }
                drop(fd);
            }
            self.spare.refill();
        }
        self.sockets.forget(wakeups);
        self.accepting = false;
        wakeups.set(FrontDue::Accept, monotonic_ns() + PAUSE_NS);
    }

    /// Accepts again after a pause.
    pub(crate) fn resume(&mut self, wakeups: &mut Wakeups) {
        if self.accepting {
            return;
        }
        if let Err(cause) = self.sockets.watch(wakeups) {
            warn!("cannot accept again: {cause}");
            wakeups.set(FrontDue::Accept, monotonic_ns() + PAUSE_NS);
            return;
        }
        wakeups.clear(FrontDue::Accept);
        self.accepting = true;
    }

    /// Takes an accepted peer in. Most peers have spoken by then, so it waits for its turn.
    pub(crate) fn admit(&mut self, fd: OwnedFd, (who, payer): (Who, Payer), sort: Sort, wakeups: &mut Wakeups) {
        if self.open.len() >= CONNECTIONS_MAX {
            // The oldest that asks for nothing is the least worth.
            let is_idle = |other: &Connection| {
                let waits = other.asked.is_some() || other.pictures != Pictures::Unwanted;
                !waits && other.rests == Rests::Polled(Interest::Read)
            };
            let idle = self.open.iter().find(|(_, other)| is_idle(other));
            let Some(oldest) = idle.map(|(number, _)| *number) else { return };
            self.hang_up(oldest, wakeups);
        }
        let number = self.next;
        self.next += 1;
        let connection = Connection {
            fd,
            who,
            payer,
            sort,
            input: Vec::new(),
            output: Vec::new(),
            pictures: Pictures::Unwanted,
            asked: None,
            closing: false,
            is_dry: false,
            held: 0,
            rests: Rests::Queued,
        };
        self.open.insert(number, connection);
        self.requests.wait(payer, number, monotonic_ns());
    }

    /// Tells a peer that is not taken in why.
    pub(crate) fn turn_away(fd: BorrowedFd<'_>, sort: Sort, refusal: &Refusal) {
        let answer = match sort {
            Sort::Packets => wire::welcome(numaestro_abi::attach::code::EXHAUSTED, 0, &refusal.reason),
            Sort::Stream => line_of(&refusal.reply()),
        };
        let _ = socket::send_some(fd, &answer);
    }
}
