//! Accepts connections, and keeps their limits and buffers. A bad peer loses its own connection and
//! costs the other peers nothing.
//!
//! A connection gives whole messages, packets or lines, and takes bytes to send. If a connection
//! ends that has asked for a program and has not been answered, its application is *abandoned*.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use numaestro_abi::control::Reply;
use numaestro_host::poll::{Interest, Ready};
use numaestro_host::socket::{self, Received, Sort, Spare};
use numaestro_host::{HostError, monotonic_ns};
use tracing::warn;

use crate::peer::Evidence;
use crate::rights::{Refusal, Rights, Role, Who};
use crate::service::Sockets;
use crate::wakeups::{Due, Wakeups, token};
use crate::wire;

/// Longest control line, bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Most unread bytes of a slow reader before it is dropped: of an administrator, or the manager's
/// own user. A quarter of it for others.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Reads of one connection, or connections of one listener, before others get their turn.
pub(crate) const BUDGET: usize = 64;
/// Most connections at once.
const CONNECTIONS_MAX: usize = 4096;
/// Pause in accepting after descriptors have run out, unless one becomes free earlier.
const PAUSE_NS: u64 = 100_000_000;

/// One peer.
#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
    who: Who,
    sort: Sort,
    input: Vec<u8>,
    output: Vec<u8>,
    /// It gets a status after every change.
    watching: bool,
    /// The application it asked for with `run` and that has not been answered.
    asked: Option<u64>,
    /// To be closed once everything is sent.
    closing: bool,
    /// The poller says when there is something to read.
    watched: bool,
}

/// The result of one read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Whole messages, in order.
    pub(crate) messages: Vec<Vec<u8>>,
    /// A line that follows them is longer than a line may be.
    pub(crate) too_long: bool,
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Connections {
    sockets: Sockets,
    accepting: bool,
    /// A descriptor that is kept so that one peer can be told when there is none left.
    spare: Spare,
    open: BTreeMap<u64, Connection>,
    next: u64,
    /// Applications whose command has gone.
    abandoned: Vec<u64>,
}

impl Connections {
    pub(crate) fn new(sockets: Sockets, wakeups: &Wakeups) -> Result<Self, HostError> {
        let (open, abandoned) = (BTreeMap::new(), Vec::new());
        let connections = Self { sockets, accepting: true, spare: Spare::new(), open, next: 0, abandoned };
        connections.sockets.watch(wakeups)?;
        Ok(connections)
    }

    /// Listens at these sockets from now on. Peers that are connected stay so.
    pub(crate) fn listen_at(&mut self, sockets: Sockets, wakeups: &Wakeups) -> Result<(), HostError> {
        self.sockets.forget(wakeups);
        (self.sockets, self.accepting) = (sockets, true);
        self.sockets.watch(wakeups)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// The sockets stay when the manager ends: they were passed to it.
    pub(crate) fn sockets_stay(&self) -> bool {
        self.sockets.stay
    }

    /// Accepts one that waits, with a time since boot at which it had not connected yet.
    pub(crate) fn accept(&mut self, sort: Sort, wakeups: &mut Wakeups) -> Option<(OwnedFd, u64)> {
        if !self.accepting {
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
        wakeups.set(Due::Accept, monotonic_ns() + PAUSE_NS);
    }

    /// Accepts again after a pause.
    pub(crate) fn resume(&mut self, wakeups: &mut Wakeups) {
        if self.accepting {
            return;
        }
        if let Err(cause) = self.sockets.watch(wakeups) {
            warn!("cannot accept again: {cause}");
            wakeups.set(Due::Accept, monotonic_ns() + PAUSE_NS);
            return;
        }
        wakeups.clear(Due::Accept);
        self.accepting = true;
    }

    /// Takes an accepted peer in. It is to be read, then [`Self::listen_to`]: most peers have said
    /// everything already, and end.
    pub(crate) fn admit(&mut self, fd: OwnedFd, who: Who, sort: Sort, wakeups: &mut Wakeups) -> Option<u64> {
        if self.open.len() >= CONNECTIONS_MAX {
            // The oldest that has not asked for anything is the least worth.
            let idle = self.open.iter().find(|(_, other)| other.asked.is_none() && !other.watching);
            let oldest = idle.map(|(number, _)| *number)?;
            self.hang_up(oldest, wakeups);
        }
        let number = self.next;
        self.next += 1;
        let connection = Connection {
            fd,
            who,
            sort,
            input: Vec::new(),
            output: Vec::new(),
            watching: false,
            asked: None,
            closing: false,
            watched: false,
        };
        self.open.insert(number, connection);
        Some(number)
    }

    /// What a peer says from now on wakes the manager, if it has not ended.
    pub(crate) fn listen_to(&mut self, number: u64, wakeups: &mut Wakeups) {
        let Some(connection) = self.open.get_mut(&number).filter(|connection| !connection.watched) else { return };
        let interest = if connection.output.is_empty() { Interest::Read } else { Interest::ReadWrite };
        connection.watched = true;
        if let Err(cause) = wakeups.watch(&connection.fd, token::CONNECTION + number, interest) {
            warn!("cannot watch a connection: {cause}");
            connection.watched = false;
            self.hang_up(number, wakeups);
        }
    }

    /// Tells a peer that is not taken in why.
    pub(crate) fn turn_away(fd: BorrowedFd<'_>, sort: Sort, refusal: &Refusal) {
        let answer = match sort {
            Sort::Packets => wire::welcome(numaestro_abi::attach::code::EXHAUSTED, 0, &refusal.reason),
            Sort::Stream => line_of(&refusal.reply()),
        };
        let _ = socket::send_some(fd, &answer);
    }

    /// The poller has something to say about a connection; true if there is something to read.
    pub(crate) fn ready(&mut self, number: u64, event: Ready, wakeups: &mut Wakeups) -> bool {
        if event.writable {
            self.flush(number, wakeups);
        }
        event.readable
    }

    /// Reads once. `None`: there is nothing more to read for now.
    pub(crate) fn read(&mut self, number: u64, wakeups: &mut Wakeups) -> Option<Heard> {
        let connection = self.open.get_mut(&number)?;
        let mut bytes = [0; 16 * 1024];
        let room = match connection.sort {
            Sort::Packets => &mut bytes[..wire::BUFFER_BYTES],
            Sort::Stream => &mut bytes[..],
        };
        match socket::receive(connection.fd.as_fd(), room) {
            // Its further messages do not matter; its end does.
            Ok(Received::Packet(..) | Received::Nothing) if connection.closing => None,
            Ok(Received::Packet(length, _)) => Some(connection.take_in(&bytes[..length])),
            Ok(Received::Nothing) => None,
            Ok(Received::Closed) | Err(_) => {
                self.hang_up(number, wakeups);
                None
            }
        }
    }

    /// Sends one line.
    pub(crate) fn reply(&mut self, number: u64, reply: &Reply, wakeups: &mut Wakeups) {
        self.write(number, &line_of(reply), wakeups);
    }

    /// Sends bytes to a stream, now or when there is room.
    fn write(&mut self, number: u64, bytes: &[u8], wakeups: &mut Wakeups) {
        let Some(connection) = self.open.get_mut(&number) else { return };
        let most = if connection.who.role == Role::Admin { OUTPUT_BYTES_MAX } else { OUTPUT_BYTES_MAX / 4 };
        if connection.output.len() + bytes.len() > most {
            self.hang_up(number, wakeups);
            return;
        }
        let was_flushed = connection.output.is_empty();
        connection.output.extend(bytes);
        self.flush(number, wakeups);
        if let Some(connection) = self.open.get(&number)
            && was_flushed
            && connection.watched
            && !connection.output.is_empty()
        {
            let _ = wakeups.change(&connection.fd, token::CONNECTION + number, Interest::ReadWrite);
        }
    }

    fn flush(&mut self, number: u64, wakeups: &mut Wakeups) {
        let Some(connection) = self.open.get_mut(&number) else { return };
        while !connection.output.is_empty() {
            match socket::send_some(connection.fd.as_fd(), &connection.output) {
                Ok(0) => return,
                Ok(sent) => drop(connection.output.drain(..sent)),
                Err(_) => {
                    self.hang_up(number, wakeups);
                    return;
                }
            }
        }
        if connection.closing {
            self.hang_up(number, wakeups);
        } else if connection.watched {
            let _ = wakeups.change(&connection.fd, token::CONNECTION + number, Interest::Read);
        }
    }

    /// Sends one packet, perhaps with a descriptor.
    pub(crate) fn send(
        &self,
        number: u64,
        packet: &[u8],
        descriptor: Option<BorrowedFd<'_>>,
    ) -> Option<Result<(), HostError>> {
        let connection = self.open.get(&number)?;
        Some(socket::send(connection.fd.as_fd(), packet, descriptor))
    }

    /// No more is read; the connection ends when everything is sent.
    pub(crate) fn close_after_flush(&mut self, number: u64, wakeups: &mut Wakeups) {
        let Some(connection) = self.open.get_mut(&number) else { return };
        connection.closing = true;
        connection.input = Vec::new();
        if connection.output.is_empty() {
            self.hang_up(number, wakeups);
        }
    }

    /// Ends a connection at once.
    pub(crate) fn hang_up(&mut self, number: u64, wakeups: &mut Wakeups) {
        let Some(connection) = self.open.remove(&number) else { return };
        if connection.watched {
            wakeups.forget(&connection.fd);
        }
        drop(connection.fd);
        self.abandoned.extend(connection.asked);
        self.resume(wakeups);
    }

    /// Ends all connections.
    pub(crate) fn close(&mut self) {
        self.open.clear();
    }

    /// Applications whose command has gone, since the last time.
    pub(crate) fn take_abandoned(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.abandoned)
    }

    /// The peer of a connection from which messages are still taken.
    pub(crate) fn who(&self, number: u64) -> Option<Who> {
        self.open.get(&number).filter(|connection| !connection.closing).map(|connection| connection.who)
    }

    pub(crate) fn sort(&self, number: u64) -> Option<Sort> {
        self.open.get(&number).map(|connection| connection.sort)
    }

    /// The other end has closed: nobody reads an answer.
    pub(crate) fn peer_has_gone(&self, number: u64) -> bool {
        self.open.get(&number).is_none_or(|connection| socket::has_closed(connection.fd.as_fd()))
    }

    /// What tells who is at the other end.
    pub(crate) fn behind(&self, number: u64) -> Option<Evidence<'_>> {
        self.open.get(&number).map(|connection| connection.who.evidence(connection.fd.as_fd()))
    }

    /// The application it asked for and that has not been answered.
    pub(crate) fn asked(&self, number: u64) -> Option<u64> {
        self.open.get(&number)?.asked
    }

    /// It asks for this application, or has been answered.
    pub(crate) fn set_asked(&mut self, number: u64, app: Option<u64>) {
        if let Some(connection) = self.open.get_mut(&number) {
            connection.asked = app;
        }
    }

    /// It gets a status after every change from now on.
    pub(crate) fn watch(&mut self, number: u64) {
        if let Some(connection) = self.open.get_mut(&number) {
            connection.watching = true;
        }
    }

    pub(crate) fn are_watching(&self) -> bool {
        self.open.values().any(|connection| connection.watching)
    }

    /// Connections that watch and have taken the last status already.
    pub(crate) fn ready_watchers(&self) -> Vec<u64> {
        let ready = |connection: &Connection| connection.watching && connection.output.is_empty();
        self.open.iter().filter(|(_, connection)| ready(connection)).map(|(number, _)| *number).collect()
    }

    /// The users of all connections.
    pub(crate) fn uids(&self) -> impl Iterator<Item = u32> {
        self.open.values().map(|connection| connection.who.peer.uid)
    }

    /// There are other administrators from now on.
    pub(crate) fn renew_roles(&mut self, rights: &Rights) {
        for connection in self.open.values_mut() {
            connection.who = rights.renewed(connection.who, connection.fd.as_fd());
        }
    }
}

impl Connection {
    /// The messages that are whole with these bytes.
    fn take_in(&mut self, bytes: &[u8]) -> Heard {
        if self.sort == Sort::Packets {
            return Heard { messages: vec![bytes.to_vec()], too_long: false };
        }
        self.input.extend(bytes);
        let mut heard = Heard::default();
        loop {
            let end = self.input.iter().position(|byte| *byte == b'\n');
            heard.too_long = end.unwrap_or(self.input.len()) > LINE_BYTES_MAX;
            let Some(end) = end.filter(|_| !heard.too_long) else { return heard };
            let mut line: Vec<u8> = self.input.drain(..=end).collect();
            line.pop();
            heard.messages.push(line);
        }
    }
}

/// A reply as one line.
fn line_of(reply: &Reply) -> Vec<u8> {
    let mut line = serde_json::to_vec(reply).unwrap_or_default();
    line.push(b'\n');
    line
}
