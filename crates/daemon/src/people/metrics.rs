//! `[metrics]`: an OpenMetrics page over HTTP, on loopback or a Unix socket, served by the
//! manager's one thread. The system's manager, which is root, serves it at a Unix socket only: a
//! process without rights passes it on to the network.
//!
//! A scraper costs at most one page and [`PATIENCE_NS`]: a scraper that has not sent a whole
//! request or taken the whole answer by then is cut off. If more than [`PEERS_MAX`] come at once,
//! the oldest that has not asked for anything is cut off. Nothing here ever waits.

mod figures;
mod format;
mod http;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use numaestro_host::monotonic_ns;
use numaestro_host::poll::Interest;
use tracing::{info, warn};

use crate::config::{Metrics as Settings, Place};
use crate::wakeups::{FrontDue, FrontSource, Wakeups};

pub(crate) use figures::Figures;
use http::{Asked, response, understand};

/// Most scrapers at once.
const PEERS_MAX: usize = 16;
/// Time that a scraper has for its request and the answer.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Scrapers that are accepted before others get their turn.
const BUDGET: usize = 64;
/// Longest request head, bytes.
const REQUEST_BYTES_MAX: usize = 8 * 1024;

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    /// And the file to be removed.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    fn open(place: &Place) -> Result<Self> {
        match place {
            Place::Tcp(address) => {
                let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
                listener.set_nonblocking(true)?;
                Ok(Self::Tcp(listener))
            }
            Place::Unix(path) => {
                clear_stale_socket(path)?;
                let at = || format!("cannot listen at {}", path.display());
                let listener = UnixListener::bind(path).with_context(at)?;
                // As on loopback: every user of this machine may read.
                std::fs::set_permissions(path, PermissionsExt::from_mode(0o666)).with_context(at)?;
                listener.set_nonblocking(true)?;
                Ok(Self::Unix(listener, path.clone()))
            }
        }
    }

    fn accept(&self) -> std::io::Result<Stream> {
        let stream = match self {
            Self::Tcp(listener) => Stream::Tcp(listener.accept()?.0),
            Self::Unix(listener, _) => Stream::Unix(listener.accept()?.0),
        };
        match &stream {
            Stream::Tcp(stream) => stream.set_nonblocking(true)?,
            Stream::Unix(stream) => stream.set_nonblocking(true)?,
        }
        Ok(stream)
    }
}

/// Only a socket is ever removed, and only one that nobody listens at.
fn clear_stale_socket(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(found) if !found.file_type().is_socket() => bail!("{} is there already, and is no socket", path.display()),
        Ok(_) if UnixStream::connect(path).is_ok() => bail!("somebody listens at {} already", path.display()),
        Ok(_) => std::fs::remove_file(path).with_context(|| format!("cannot replace {}", path.display())),
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    /// Rust's sockets never raise `SIGPIPE` by themselves; the manager ignores it besides.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn finish(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// One scraper.
#[derive(Debug)]
struct Peer {
    stream: Stream,
    until_ns: u64,
    request: Vec<u8>,
    /// The rest of the answer; `None` while the request is not whole.
    answer: Option<Vec<u8>>,
    /// It wants the page with its body.
    body: bool,
    /// It has said that nothing more comes.
    ended: bool,
}

/// The endpoint.
#[derive(Debug, Default)]
pub(crate) struct Endpoint {
    place: Option<Place>,
    listener: Option<Listener>,
    /// The listener is watched: it is not for a while after descriptors have run out.
    accepting: bool,
    peers: BTreeMap<u64, Peer>,
    next: u64,
}

impl Endpoint {
    /// Opens the endpoint that the configuration asks for, closes one that it does not ask for any
    /// more, and leaves alone one that stays. The manager goes on if the endpoint cannot be opened.
    /// `socket`: where it is instead of a place in the network, if that is not for this manager.
    pub(crate) fn configure(&mut self, settings: &Settings, socket: Option<PathBuf>, wakeups: &mut Wakeups) {
        let wanted = settings.place().and_then(Result::ok).map(|place| match (place, socket) {
            (Place::Tcp(_), Some(socket)) => Place::Unix(socket),
            (place, _) => place,
        });
        if wanted == self.place && wanted.is_some() == self.listener.is_some() {
            return;
        }
        // Open connections end with their descriptors; the poller forgets these by itself.
        *self = Self { next: self.next, ..Self::default() };
        wakeups.clear(FrontDue::Metrics);
        let Some(place) = wanted else { return };
        match Listener::open(&place) {
            Ok(listener) => {
                info!("metrics are at {place}");
                self.accepting = wakeups.watch(&listener, FrontSource::Metrics(0), Interest::Read).is_ok();
                (self.listener, self.place) = (Some(listener), Some(place));
            }
            Err(cause) => warn!("no metrics: {cause:#}"),
        }
    }

    /// The endpoint (0) or one of its scrapers is ready. Gives a scraper that asks for the page:
    /// [`Self::answer`] comes next.
    pub(crate) fn ready(&mut self, scraper: u64, wakeups: &mut Wakeups) -> Option<u64> {
        match scraper {
            0 => self.accept(wakeups),
            number => self.serve(number, wakeups),
        }
    }

    /// Lets scrapers in, up to the first that asks for the page: it is answered before others come
    /// and could push it out.
    fn accept(&mut self, wakeups: &mut Wakeups) -> Option<u64> {
        for _ in 0..BUDGET {
            let Some(listener) = &self.listener else { break };
            match listener.accept() {
                Ok(stream) => {
                    let asking = self.admit(stream, wakeups);
                    if asking.is_some() {
                        return asking;
                    }
                }
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if matches!(cause.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                // No descriptors: not to be asked again and again.
                Err(_) => {
                    wakeups.forget(listener);
                    self.accepting = false;
                    wakeups.set_if_unset(FrontDue::Metrics, monotonic_ns() + PATIENCE_NS);
                    break;
                }
            }
        }
        None
    }

    fn admit(&mut self, stream: Stream, wakeups: &mut Wakeups) -> Option<u64> {
        if self.peers.len() >= PEERS_MAX {
            let silent = self.peers.iter().find(|(_, peer)| peer.answer.is_none()).map(|(number, _)| *number);
            let oldest = silent.or_else(|| self.peers.keys().next().copied());
            oldest.map(|number| self.peers.remove(&number));
        }
        self.next += 1;
        let number = self.next;
        if wakeups.watch(&stream, FrontSource::Metrics(number), Interest::Read).is_err() {
            return None;
        }
        let until_ns = monotonic_ns() + PATIENCE_NS;
        let peer = Peer { stream, until_ns, request: Vec::new(), answer: None, body: true, ended: false };
        self.peers.insert(number, peer);
        wakeups.set_if_unset(FrontDue::Metrics, until_ns);
        self.serve(number, wakeups)
    }

    /// Cuts off the scrapers whose time is over.
    pub(crate) fn end_slow_scrapers(&mut self, wakeups: &mut Wakeups) {
        let now = monotonic_ns();
        // Closing takes them out of the poller.
        self.peers.retain(|_, peer| peer.until_ns > now);
        if let Some(listener) = self.listener.as_ref().filter(|_| !self.accepting) {
            self.accepting = wakeups.watch(listener, FrontSource::Metrics(0), Interest::Read).is_ok();
        }
        let next = self.peers.values().map(|peer| peer.until_ns).min();
        let again = (!self.accepting && self.listener.is_some()).then_some(now + PATIENCE_NS);
        if let Some(at) = next.or(again) {
            wakeups.set(FrontDue::Metrics, at);
        }
    }

    /// Goes on with one scraper; gives it if it asks for the page.
    fn serve(&mut self, number: u64, wakeups: &Wakeups) -> Option<u64> {
        match self.peers.get_mut(&number)?.read_request() {
            Progress::Gone => drop(self.peers.remove(&number)),
            Progress::Asks => return Some(number),
            Progress::Reads => self.go_on(number, wakeups),
        }
        None
    }

    /// Answers a scraper with the page.
    pub(crate) fn answer(&mut self, number: u64, page: &str, wakeups: &Wakeups) {
        if let Some(peer) = self.peers.get_mut(&number) {
            peer.answer = Some(response("200 OK", format::CONTENT_TYPE, page, peer.body));
            self.go_on(number, wakeups);
        }
    }

    /// Writes as much as there is room for, and waits for more of the request or more room.
    fn go_on(&mut self, number: u64, wakeups: &Wakeups) {
        let Some(mut peer) = self.peers.remove(&number) else { return };
        // A peer that has ended gets as much as its socket has room for: its end would be reported
        // again and again.
        if peer.write_answer() && !peer.ended {
            let writes = peer.answer.as_ref().is_some_and(|rest| !rest.is_empty());
            let interest = if writes { Interest::Write } else { Interest::Read };
            if wakeups.change(&peer.stream, FrontSource::Metrics(number), interest).is_ok() {
                self.peers.insert(number, peer);
            }
        }
    }
}

/// The progress of a scraper's request.
enum Progress {
    /// It has gone without one.
    Gone,
    /// Its request is not whole, or has been answered.
    Reads,
    /// It asks for the page.
    Asks,
}

impl Peer {
    /// Reads the bytes that have come. An invalid request is answered when its head is complete.
    fn read_request(&mut self) -> Progress {
        let mut bytes = [0; 4096];
        // Each time a bounded amount: the rest is reported again.
        for _ in 0..4 {
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                // After the request, further bytes are thrown away until the peer has seen the end.
                Ok(_) if self.answer.is_some() => {}
                Ok(length) => self.request.extend_from_slice(&bytes[..length]),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Progress::Gone,
            }
            if self.answer.is_none() && self.request.len() > REQUEST_BYTES_MAX {
                break;
            }
        }
        let too_long =
            Asked::Wrong { status: "431 Request Header Fields Too Large", hint: "the request is too long\n" };
        let complete = self.request.windows(4).any(|bytes| bytes == b"\r\n\r\n");
        let asked = match self.answer {
            None if complete => understand(&self.request),
            None if self.request.len() > REQUEST_BYTES_MAX => too_long,
            None if self.ended => return Progress::Gone,
            _ => return Progress::Reads,
        };
        match asked {
            Asked::Page { body } => {
                self.body = body;
                Progress::Asks
            }
            Asked::Wrong { status, hint } => {
                self.answer = Some(response(status, "text/plain; charset=utf-8", hint, true));
                Progress::Reads
            }
        }
    }

    /// Writes as much as there is room for. False: the peer has gone.
    fn write_answer(&mut self) -> bool {
        let Some(rest) = &mut self.answer else { return true };
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return false,
                Ok(written) => drop(rest.drain(..written)),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return true,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
            if rest.is_empty() {
                // The peer closes when it has read it: closing first could take the last bytes away
                // from it.
                self.stream.finish();
            }
        }
        true
    }
}
