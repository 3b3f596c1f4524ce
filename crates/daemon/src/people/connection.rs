//! Keeps the connections of peers, their limits and buffers, and whose request is next. A bad peer
//! loses its own connection and costs the other peers nothing.
//!
//! A connection gives one message at a time, a packet or a line, and takes bytes to send. While it
//! waits for its turn, for its answer, or for its peer to take an answer, nothing is read from it:
//! what its peer says meanwhile stays in the kernel, which makes the peer wait. If a connection
//! ends that has asked for a program and has not been answered, its application is *abandoned*.

mod accepting;
mod requests;
mod turns;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use numaestro_abi::control::Reply;
use numaestro_host::poll::Interest;
use numaestro_host::socket::{self, Sort, Spare};
use numaestro_host::{HostError, monotonic_ns};

use crate::identity::payer::Payer;
use crate::identity::peer::Evidence;
use crate::identity::rights::{Rights, Who};
use crate::people::sparing::Sparing;
use crate::service::Sockets;
use crate::wakeups::{FrontSource, Wakeups};

use requests::Requests;
pub(crate) use requests::Turn;
pub(crate) use turns::Heard;

/// Most bytes that are kept for the connections of one user, of what they have said and of answers
/// that they have not taken.
const HELD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One peer.
#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
    who: Who,
    payer: Payer,
    sort: Sort,
    input: Vec<u8>,
    output: Vec<u8>,
    pictures: Pictures,
    /// The application it asked for with `run` and that has not been answered.
    asked: Option<u64>,
    /// To be closed once everything is sent.
    closing: bool,
    /// Nothing more was there to read at the latest look.
    is_dry: bool,
    /// Bytes of both buffers, as they were counted last.
    held: usize,
    rests: Rests,
}

/// Whether a connection gets a status after every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pictures {
    Unwanted,
    /// The latest has been given.
    Shown,
    /// The next is due.
    Due,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rests {
    /// Its turn.
    Queued,
    /// The end of its turn.
    Served,
    /// Its answer, which another thread makes.
    Answering,
    /// The poller.
    Polled(Interest),
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
    requests: Requests,
    /// Of refusals.
    log: Sparing,
    /// Applications whose command has gone.
    abandoned: Vec<u64>,
}

impl Connections {
    /// `of_one`: they are all of one user.
    pub(crate) fn new(sockets: Sockets, of_one: bool, wakeups: &Wakeups) -> Result<Self, HostError> {
        let connections = Self {
            sockets,
            accepting: true,
            spare: Spare::new(),
            open: BTreeMap::new(),
            next: 0,
            requests: Requests::new(of_one),
            log: Sparing::default(),
            abandoned: Vec::new(),
        };
        connections.sockets.watch(wakeups)?;
        Ok(connections)
    }

    /// The lines of refusals in the log.
    pub(crate) fn log(&mut self) -> &mut Sparing {
        &mut self.log
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Sends one line, now or when there is room.
    pub(crate) fn reply(&mut self, number: u64, reply: &Reply, wakeups: &mut Wakeups) {
        self.write(number, &line_of(reply), wakeups);
    }

    /// The same of bytes; a packet is sent now or never.
    pub(crate) fn write(&mut self, number: u64, bytes: &[u8], wakeups: &mut Wakeups) {
        let Some(connection) = self.open.get_mut(&number) else { return };
        if connection.sort == Sort::Packets {
            // A program that does not read has asked in vain.
            let _ = socket::send(connection.fd.as_fd(), bytes, None);
            return;
        }
        connection.output.extend_from_slice(bytes);
        self.account(number);
        self.flush(number, wakeups);
        self.bound(number, wakeups);
        if let Some(connection) = self.open.get_mut(&number)
            && connection.rests == Rests::Polled(Interest::Read)
            && !connection.output.is_empty()
        {
            connection.rests = Rests::Polled(Interest::Write);
            let _ = wakeups.change(&connection.fd, FrontSource::Connection(number), Interest::Write);
        }
    }

    fn flush(&mut self, number: u64, wakeups: &mut Wakeups) {
        let Some(connection) = self.open.get_mut(&number) else { return };
        let mut sent = 0;
        while sent < connection.output.len() {
            match socket::send_some(connection.fd.as_fd(), &connection.output[sent..]) {
                Ok(0) => break,
                Ok(some) => sent += some,
                Err(_) => {
                    self.hang_up(number, wakeups);
                    return;
                }
            }
        }
        connection.output.drain(..sent);
        if connection.output.is_empty() {
            connection.output = Vec::new();
            if connection.closing {
                self.hang_up(number, wakeups);
            } else if connection.rests == Rests::Polled(Interest::Write) {
                self.queue(number, wakeups);
            }
        }
        self.account(number);
    }

    /// The bytes of a connection have changed.
    fn account(&mut self, number: u64) {
        if let Some(connection) = self.open.get_mut(&number) {
            let (before, now) = (connection.held, connection.input.len() + connection.output.len());
            connection.held = now;
            self.requests.hold(connection.payer, before, now, monotonic_ns());
        }
    }

    /// A user for whom too much is kept loses the connection for which most of it is.
    fn bound(&mut self, number: u64, wakeups: &mut Wakeups) {
        let Some(payer) = self.open.get(&number).map(|connection| connection.payer) else { return };
        while self.requests.held(payer) > HELD_BYTES_MAX {
            let own = self.open.iter().filter(|(_, other)| other.payer == payer);
            let Some((&most, _)) = own.max_by_key(|(_, other)| other.held) else { return };
            self.hang_up(most, wakeups);
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
        match connection.rests {
            Rests::Polled(_) => wakeups.forget(&connection.fd),
            Rests::Queued => self.requests.forget(connection.payer, number),
            Rests::Served | Rests::Answering => {}
        }
        self.requests.hold(connection.payer, connection.held, 0, monotonic_ns());
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

    /// Who pays for its requests.
    pub(crate) fn payer(&self, number: u64) -> Option<Payer> {
        self.open.get(&number).map(|connection| connection.payer)
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
            connection.pictures = Pictures::Shown;
        }
    }

    pub(crate) fn are_watching(&self) -> bool {
        self.open.values().any(|connection| connection.pictures != Pictures::Unwanted)
    }

    /// The connections of a user, inside of containers and outside.
    pub(crate) fn count(&self, uid: Option<u32>) -> usize {
        self.open.values().filter(|connection| connection.payer.uid == uid).count()
    }

    /// There are other administrators from now on.
    pub(crate) fn renew_roles(&mut self, rights: &Rights) {
        for connection in self.open.values_mut() {
            connection.who = rights.renewed(connection.who, connection.fd.as_fd());
        }
    }
}

/// A reply as one line.
pub(crate) fn line_of(reply: &Reply) -> Vec<u8> {
    let mut line = serde_json::to_vec(reply).unwrap_or_default();
    line.push(b'\n');
    line
}
