//! The turns of connections: what each waits for, and what it has when its turn comes.

use std::os::fd::AsFd;

use numaestro_host::monotonic_ns;
use numaestro_host::poll::{Interest, Ready};
use numaestro_host::socket::{self, Received, Sort};
use tracing::warn;

use super::{Connection, Connections, Pictures, Rests, Turn};
use crate::identity::payer::Payer;
use crate::people::wire;
use crate::wakeups::{FrontSource, Wakeups};

/// Longest control line, bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of one read.
const READ_BYTES: usize = 16 * 1024;

/// What a connection has for its turn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A packet, or a line.
    Message(Vec<u8>),
    /// A line that is longer than a line may be.
    TooLong,
    /// It gets a picture.
    Picture,
    Nothing,
}

impl Connections {
    /// The poller has something to say about a connection.
    pub(crate) fn ready(&mut self, number: u64, event: Ready, wakeups: &mut Wakeups) {
        if event.writable {
            self.flush(number, wakeups);
        }
        match self.open.get(&number).map(|connection| connection.rests) {
            Some(Rests::Polled(Interest::Read)) if event.readable => self.queue(number, wakeups),
            // Nobody takes the rest of the answer.
            Some(Rests::Polled(_)) if event.readable => self.hang_up(number, wakeups),
            _ => {}
        }
    }

    /// It waits for its turn, unless it does so already or is served.
    pub(super) fn queue(&mut self, number: u64, wakeups: &mut Wakeups) {
        let Some(connection) = self.open.get_mut(&number) else { return };
        if let Rests::Polled(_) = connection.rests {
            wakeups.forget(&connection.fd);
            connection.rests = Rests::Queued;
            self.requests.wait(connection.payer, number, monotonic_ns());
        }
    }

    /// Whose request is next; it is served from now on, up to [`Self::end_turn`].
    pub(crate) fn take_turn(&mut self) -> Turn {
        let turn = self.requests.take(monotonic_ns());
        if let Turn::Of(number) = turn
            && let Some(connection) = self.open.get_mut(&number)
        {
            connection.rests = Rests::Served;
        }
        turn
    }

    /// The same, and it goes on waiting.
    pub(crate) fn next_turn(&self) -> Turn {
        self.requests.next(monotonic_ns())
    }

    /// What a connection has for its turn: one message, for which the socket is read once at most.
    pub(crate) fn hear(&mut self, number: u64, wakeups: &mut Wakeups) -> Heard {
        self.flush(number, wakeups);
        let Some(connection) = self.open.get_mut(&number) else { return Heard::Nothing };
        if !connection.output.is_empty() {
            return Heard::Nothing;
        }
        if connection.pictures == Pictures::Due {
            connection.pictures = Pictures::Shown;
            return Heard::Picture;
        }
        let heard = connection.message();
        if heard != Heard::Nothing {
            self.account(number);
            return heard;
        }
        let mut bytes = [0; READ_BYTES];
        let room = match connection.sort {
            Sort::Packets => &mut bytes[..wire::BUFFER_BYTES],
            Sort::Stream => &mut bytes[..],
        };
        let heard = match socket::receive(connection.fd.as_fd(), room) {
            Ok(Received::Packet(length, _)) if connection.sort == Sort::Packets => {
                Heard::Message(bytes[..length].to_vec())
            }
            Ok(Received::Packet(length, _)) => {
                connection.input.extend_from_slice(&bytes[..length]);
                connection.message()
            }
            Ok(Received::Nothing) => {
                connection.is_dry = true;
                Heard::Nothing
            }
            Ok(Received::Closed) | Err(_) => {
                self.hang_up(number, wakeups);
                Heard::Nothing
            }
        };
        self.account(number);
        self.bound(number, wakeups);
        heard
    }

    /// The turn has cost its user so much processor time. The connection waits for the next one if
    /// there may be more, and otherwise until something happens to it.
    pub(crate) fn end_turn(&mut self, number: u64, payer: Payer, spent_ns: u64, wakeups: &mut Wakeups) {
        self.requests.charge(payer, spent_ns, monotonic_ns());
        self.rest(number, wakeups);
    }

    fn rest(&mut self, number: u64, wakeups: &mut Wakeups) {
        let Some(connection) = self.open.get_mut(&number) else { return };
        if connection.rests != Rests::Served {
            return;
        }
        let is_dry = std::mem::take(&mut connection.is_dry);
        let interest = if !connection.output.is_empty() {
            Interest::Write
        } else if is_dry && connection.pictures != Pictures::Due {
            Interest::Read
        } else {
            connection.rests = Rests::Queued;
            self.requests.wait(connection.payer, number, monotonic_ns());
            return;
        };
        connection.rests = Rests::Polled(interest);
        if let Err(cause) = wakeups.watch(&connection.fd, FrontSource::Connection(number), interest) {
            warn!("cannot watch a connection: {cause}");
            connection.rests = Rests::Served;
            self.hang_up(number, wakeups);
        }
    }

    /// Another thread makes the answer to its request: its next turn comes afterwards.
    pub(crate) fn await_answer(&mut self, number: u64) {
        if let Some(connection) = self.open.get_mut(&number) {
            connection.rests = Rests::Answering;
        }
    }

    /// The answer that it waits for.
    pub(crate) fn answer(&mut self, number: u64, bytes: &[u8], wakeups: &mut Wakeups) {
        self.write(number, bytes, wakeups);
        if let Some(connection) = self.open.get_mut(&number).filter(|it| it.rests == Rests::Answering) {
            connection.rests = Rests::Served;
            self.rest(number, wakeups);
        }
    }

    /// A thread makes an answer for this user.
    pub(crate) fn answer_begins(&mut self, payer: Payer) {
        self.requests.answer_begins(payer, monotonic_ns());
    }

    /// It has been made, and has cost so much processor time.
    pub(crate) fn answer_ends(&mut self, payer: Payer, spent_ns: u64) {
        self.requests.answer_ends(payer);
        self.charge(payer, spent_ns);
    }

    /// What a user has asked for has cost so much processor time.
    pub(crate) fn charge(&mut self, payer: Payer, spent_ns: u64) {
        self.requests.charge(payer, spent_ns, monotonic_ns());
    }

    /// Every connection that watches gets a picture when its turn comes.
    pub(crate) fn show_watchers(&mut self, wakeups: &mut Wakeups) {
        let mut idle = Vec::new();
        for (number, connection) in &mut self.open {
            if connection.pictures != Pictures::Unwanted {
                connection.pictures = Pictures::Due;
                if connection.rests == Rests::Polled(Interest::Read) {
                    idle.push(*number);
                }
            }
        }
        for number in idle {
            self.queue(number, wakeups);
        }
    }
}

impl Connection {
    /// Takes out the first of the lines that have been read, if one is whole.
    fn message(&mut self) -> Heard {
        let end = self.input.iter().position(|byte| *byte == b'\n');
        if end.unwrap_or(self.input.len()) > LINE_BYTES_MAX {
            return Heard::TooLong;
        }
        let Some(end) = end else { return Heard::Nothing };
        let mut line: Vec<u8> = self.input.drain(..=end).collect();
        line.pop();
        if self.input.is_empty() {
            self.input = Vec::new();
        }
        Heard::Message(line)
    }
}
