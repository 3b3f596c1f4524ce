//! Connections: accepting them, their limits, their buffers. One bad peer costs itself its connection and nobody anything else.
//! It must not know what is said.

use std::os::fd::{AsFd, OwnedFd};

use numaestro_abi::control::Reply;
use numaestro_host::poll::{Interest, Ready};
use numaestro_host::socket::{self, Received, Sort};
use numaestro_host::{HostError, monotonic_ns};
use tracing::warn;

use crate::manager::{Manager, token};
use crate::rights::{Role, Who};
use crate::timers::Due;
use crate::wire;

/// Longest control line.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;
/// What a slow reader may owe before it is dropped: an administrator, or the manager's own user. Others a quarter of it.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Messages of one connection, or connections of one listener, before others get their turn.
const BUDGET: usize = 64;
/// Connections at once.
const CONNECTIONS_MAX: usize = 4096;
/// When descriptors have run out: how long not to accept, unless one becomes free earlier.
const PAUSE_NS: u64 = 100_000_000;

/// One peer.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) fd: OwnedFd,
    pub(crate) who: Who,
    sort: Sort,
    input: Vec<u8>,
    output: Vec<u8>,
    /// It gets a status after every change.
    pub(crate) watching: bool,
    /// The application it asked for with `run` and that has not been answered.
    pub(crate) asked: Option<u64>,
    /// To be closed once everything is sent.
    pub(crate) closing: bool,
}

impl Connection {
    /// Nothing is waiting to be sent.
    pub(crate) fn is_flushed(&self) -> bool {
        self.output.is_empty()
    }
}

impl Manager {
    /// Accepts those who wait, up to the budget.
    pub(crate) fn accept(&mut self, sort: Sort) {
        if !self.accepting {
            return;
        }
        for _ in 0..BUDGET {
            let listener = if sort == Sort::Packets { &self.attach } else { &self.control };
            match listener.accept() {
                Ok(Some(fd)) => self.admit(fd, sort),
                Ok(None) => return,
                Err(cause) => {
                    self.refuse_one(sort, &cause);
                    return;
                }
            }
        }
    }

    /// No descriptor is left: with the spare one, one peer is told by a close; then there is a pause.
    fn refuse_one(&mut self, sort: Sort, cause: &HostError) {
        warn!("cannot accept: {cause}");
        if cause.is_out_of_descriptors() {
            self.spare.release();
            let listener = if sort == Sort::Packets { &self.attach } else { &self.control };
            if let Ok(Some(fd)) = listener.accept() {
                if sort == Sort::Packets {
                    let text = "the manager has no descriptors left";
                    let answer = wire::welcome(numaestro_abi::attach::code::EXHAUSTED, 0, text);
                    let _ = socket::send(fd.as_fd(), &answer, None);
                }
                drop(fd);
            }
            self.spare.refill();
        }
        let _ = self.poller.remove(self.attach.as_fd());
        let _ = self.poller.remove(self.control.as_fd());
        self.accepting = false;
        self.timers.set(Due::Accept, monotonic_ns() + PAUSE_NS);
    }

    /// Accepts again after a pause.
    pub(crate) fn resume_accepting(&mut self) {
        if self.accepting {
            return;
        }
        let attach = self.poller.add(self.attach.as_fd(), token::ATTACH, Interest::Read);
        let control = self.poller.add(self.control.as_fd(), token::CONTROL, Interest::Read);
        if let Err(cause) = attach.and(control) {
            warn!("cannot accept again: {cause}");
            self.timers.set(Due::Accept, monotonic_ns() + PAUSE_NS);
            return;
        }
        self.timers.clear(Due::Accept);
        self.accepting = true;
    }

    fn admit(&mut self, fd: OwnedFd, sort: Sort) {
        let Ok(peer) = socket::peer(fd.as_fd()) else { return };
        let who = self.who_is(peer, fd.as_fd());
        if let Err(refusal) = self.may_connect(who) {
            warn!(uid = peer.uid, "{}", refusal.reason);
            let answer = match sort {
                Sort::Packets => wire::welcome(numaestro_abi::attach::code::EXHAUSTED, 0, &refusal.reason),
                Sort::Stream => line_of(&refusal),
            };
            let _ = socket::send_some(fd.as_fd(), &answer);
            return;
        }
        if self.connections.len() >= CONNECTIONS_MAX {
            // The oldest that has not asked for anything is the least worth.
            let idle = self.connections.iter().find(|(_, other)| other.asked.is_none() && !other.watching);
            let Some(oldest) = idle.map(|(number, _)| *number) else { return };
            self.hang_up(oldest);
        }
        let number = self.connection_next;
        self.connection_next += 1;
        if let Err(cause) = self.poller.add(fd.as_fd(), token::CONNECTION + number, Interest::Read) {
            warn!("cannot watch a connection: {cause}");
            return;
        }
        let connection = Connection {
            fd,
            who,
            sort,
            input: Vec::new(),
            output: Vec::new(),
            watching: false,
            asked: None,
            closing: false,
        };
        self.connections.insert(number, connection);
        self.timers.clear(Due::Idle);
        // Most peers have spoken before they are accepted: no need to sleep in between.
        self.read(number);
    }

    /// The poller has something to say about a connection.
    pub(crate) fn connection_ready(&mut self, number: u64, event: Ready) {
        if event.writable {
            self.flush(number);
        }
        if event.readable {
            self.read(number);
        }
    }

    fn read(&mut self, number: u64) {
        for _ in 0..BUDGET {
            let Some(connection) = self.connections.get_mut(&number) else { return };
            if connection.closing {
                // What it still says does not matter; its end does.
                let mut rest = [0; 4096];
                if !matches!(
                    socket::receive(connection.fd.as_fd(), &mut rest),
                    Ok(Received::Packet(..) | Received::Nothing)
                ) {
                    self.hang_up(number);
                }
                return;
            }
            let more = match connection.sort {
                Sort::Packets => self.read_packet(number),
                Sort::Stream => self.read_lines(number),
            };
            if !more {
                return;
            }
        }
    }

    fn read_packet(&mut self, number: u64) -> bool {
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        let mut packet = [0; wire::BUFFER_BYTES];
        match socket::receive(connection.fd.as_fd(), &mut packet) {
            Ok(Received::Packet(length, _)) => {
                let peer = connection.who.peer;
                self.packet(number, peer, &packet[..length]);
                true
            }
            Ok(Received::Nothing) => false,
            Ok(Received::Closed) | Err(_) => {
                self.hang_up(number);
                false
            }
        }
    }

    fn read_lines(&mut self, number: u64) -> bool {
        let Some(connection) = self.connections.get_mut(&number) else { return false };
        let mut bytes = [0; 16 * 1024];
        match socket::receive(connection.fd.as_fd(), &mut bytes) {
            Ok(Received::Packet(length, _)) => connection.input.extend(&bytes[..length]),
            Ok(Received::Nothing) => return false,
            Ok(Received::Closed) | Err(_) => {
                self.hang_up(number);
                return false;
            }
        }
        self.take_lines(number);
        true
    }

    fn take_lines(&mut self, number: u64) {
        while let Some(connection) = self.connections.get_mut(&number) {
            let end = connection.input.iter().position(|byte| *byte == b'\n');
            if end.unwrap_or(connection.input.len()) > LINE_BYTES_MAX {
                self.refuse(number, "the line is longer than 65536 bytes", "");
                self.close_after_flush(number);
                return;
            }
            let Some(end) = end else { return };
            let mut line: Vec<u8> = connection.input.drain(..=end).collect();
            line.pop();
            self.line(number, &line);
        }
    }

    /// Sends bytes to a stream, now or when there is room.
    pub(crate) fn write(&mut self, number: u64, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let most = if connection.who.role == Role::Admin { OUTPUT_BYTES_MAX } else { OUTPUT_BYTES_MAX / 4 };
        if connection.output.len() + bytes.len() > most {
            self.hang_up(number);
            return;
        }
        let was_flushed = connection.is_flushed();
        connection.output.extend(bytes);
        self.flush(number);
        if let Some(connection) = self.connections.get(&number)
            && was_flushed
            && !connection.is_flushed()
        {
            let _ = self.poller.change(connection.fd.as_fd(), token::CONNECTION + number, Interest::ReadWrite);
        }
    }

    fn flush(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        while !connection.output.is_empty() {
            match socket::send_some(connection.fd.as_fd(), &connection.output) {
                Ok(0) => return,
                Ok(sent) => drop(connection.output.drain(..sent)),
                Err(_) => {
                    self.hang_up(number);
                    return;
                }
            }
        }
        if connection.closing {
            self.hang_up(number);
        } else {
            let _ = self.poller.change(connection.fd.as_fd(), token::CONNECTION + number, Interest::Read);
        }
    }

    /// No more is read; the connection ends when everything is sent.
    pub(crate) fn close_after_flush(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        connection.closing = true;
        connection.input = Vec::new();
        if connection.is_flushed() {
            self.hang_up(number);
        }
    }

    /// Ends a connection at once. A `run` that still waited for its answer leaves the queue.
    pub(crate) fn hang_up(&mut self, number: u64) {
        let Some(connection) = self.connections.remove(&number) else { return };
        let _ = self.poller.remove(connection.fd.as_fd());
        drop(connection.fd);
        if let Some(app) = connection.asked {
            self.depart(app);
        }
        self.resume_accepting();
        self.consider_idle();
    }
}

/// A refusal as one line.
fn line_of(refusal: &crate::rights::Refusal) -> Vec<u8> {
    let reply = Reply::Refused { reason: refusal.reason.clone(), hint: refusal.hint.clone() };
    let mut line = serde_json::to_vec(&reply).unwrap_or_default();
    line.push(b'\n');
    line
}
