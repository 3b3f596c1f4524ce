//! `[metrics]`: an OpenMetrics page over HTTP, on loopback or a Unix socket, served by the manager's one thread.
//!
//! A scraper costs at most one page and [`PATIENCE_NS`]: who has not sent a whole request or taken the whole answer by then is cut off. Of more
//! than [`PEERS_MAX`] at once, the oldest that has not asked for anything is. Nothing here ever waits. It must not know what the numbers mean (`figures.rs`).

mod figures;
mod format;
mod http;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use numaestro_host::monotonic_ns;
use numaestro_host::poll::{Interest, Ready};
use tracing::warn;

use crate::config::{ConfigError, Metrics as Settings};
use crate::manager::{Manager, token};
use crate::timers::Due;

pub(crate) use format::Histogram;
use http::{Asked, response, understand};

/// Scrapers at once.
const PEERS_MAX: usize = 16;
/// How long one has for everything.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Scrapers that are accepted before others get their turn.
const BUDGET: usize = 64;
/// Longest request head.
const REQUEST_BYTES_MAX: usize = 8 * 1024;

impl Settings {
    /// What is wrong with them, if anything is. Also what the manager listens at.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self.listen.as_deref().map(Place::parse) {
            Some(Err(problem)) => Err(ConfigError { file: String::new(), field: "metrics.listen", problem }),
            _ => Ok(()),
        }
    }
}

/// Where scrapers come.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Place {
    fn parse(text: &str) -> Result<Self, String> {
        let wanted = "expected 127.0.0.1:PORT, [::1]:PORT or the absolute path of a socket";
        if text.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(text)));
        }
        let address: SocketAddr = text.parse().map_err(|_| format!("{wanted}, found `{text}`"))?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "{wanted}, found `{text}`: everybody on the network could read who works on this machine"
            ));
        }
        Ok(Self::Tcp(address))
    }
}

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
    /// What is left of the answer; `None` while it is not known what is wanted.
    answer: Option<Vec<u8>>,
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

impl Manager {
    /// Opens the endpoint that the configuration asks for, closes one that it does not ask for any more, and leaves alone one that stays. That
    /// it cannot be opened is no reason to be without a manager.
    pub(crate) fn configure_metrics(&mut self) {
        let wanted = self.config.metrics.listen.as_deref().and_then(|text| Place::parse(text).ok());
        if wanted == self.service.metrics.place && wanted.is_some() == self.service.metrics.listener.is_some() {
            return;
        }
        // What was open ends with its descriptors; the poller forgets those by itself.
        self.service.metrics = Endpoint { next: self.service.metrics.next, ..Endpoint::default() };
        self.timers.clear(Due::Metrics);
        let Some(place) = wanted else { return };
        match Listener::open(&place) {
            Ok(listener) => {
                let watched = self.poller.add(listener.as_fd(), token::METRICS, Interest::Read);
                self.service.metrics.accepting = watched.is_ok();
                self.service.metrics.listener = Some(listener);
                self.service.metrics.place = Some(place);
            }
            Err(cause) => warn!("no metrics: {cause:#}"),
        }
    }

    /// The poller has something to say about the endpoint or one of its scrapers.
    pub(crate) fn metrics_ready(&mut self, event: Ready) {
        match event.token - token::METRICS {
            0 => self.accept_scrapers(),
            number => self.serve(number),
        }
    }

    fn accept_scrapers(&mut self) {
        for _ in 0..BUDGET {
            let Some(listener) = &self.service.metrics.listener else { return };
            match listener.accept() {
                Ok(stream) => self.admit_scraper(stream),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return,
                Err(cause) if matches!(cause.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                // No descriptors: not to be asked again and again.
                Err(_) => {
                    let _ = self.poller.remove(listener.as_fd());
                    self.service.metrics.accepting = false;
                    self.timers.set_if_unset(Due::Metrics, monotonic_ns() + PATIENCE_NS);
                    return;
                }
            }
        }
    }

    fn admit_scraper(&mut self, stream: Stream) {
        let endpoint = &mut self.service.metrics;
        if endpoint.peers.len() >= PEERS_MAX {
            let silent = endpoint.peers.iter().find(|(_, peer)| peer.answer.is_none()).map(|(number, _)| *number);
            let oldest = silent.or_else(|| endpoint.peers.keys().next().copied());
            oldest.map(|number| endpoint.peers.remove(&number));
        }
        endpoint.next += 1;
        let number = endpoint.next;
        if self.poller.add(stream.as_fd(), token::METRICS + number, Interest::Read).is_err() {
            return;
        }
        let until_ns = monotonic_ns() + PATIENCE_NS;
        let peer = Peer { stream, until_ns, request: Vec::new(), answer: None, ended: false };
        endpoint.peers.insert(number, peer);
        self.timers.set_if_unset(Due::Metrics, until_ns);
        self.serve(number);
    }

    /// Cuts off those whose time is over.
    pub(crate) fn end_slow_scrapers(&mut self) {
        let now = monotonic_ns();
        let endpoint = &mut self.service.metrics;
        // Closing takes them out of the poller.
        endpoint.peers.retain(|_, peer| peer.until_ns > now);
        if let Some(listener) = endpoint.listener.as_ref().filter(|_| !endpoint.accepting) {
            endpoint.accepting = self.poller.add(listener.as_fd(), token::METRICS, Interest::Read).is_ok();
        }
        let next = endpoint.peers.values().map(|peer| peer.until_ns).min();
        let again = (!endpoint.accepting && endpoint.listener.is_some()).then_some(now + PATIENCE_NS);
        if let Some(at) = next.or(again) {
            self.timers.set(Due::Metrics, at);
        }
    }

    fn serve(&mut self, number: u64) {
        let Some(mut peer) = self.service.metrics.peers.remove(&number) else { return };
        // One that has ended gets what its socket has room for: its end would be reported again and again.
        if peer.read_request(|target| self.answer(target)) && peer.write_answer() && !peer.ended {
            let interest = if peer.answer.as_ref().is_some_and(|rest| !rest.is_empty()) {
                Interest::ReadWrite
            } else {
                Interest::Read
            };
            if self.poller.change(peer.stream.as_fd(), token::METRICS + number, interest).is_ok() {
                self.service.metrics.peers.insert(number, peer);
            }
        }
    }

    fn answer(&self, request: &Asked<'_>) -> Vec<u8> {
        match request {
            Asked::Page { body } => {
                let page = self.metrics_page();
                response("200 OK", format::CONTENT_TYPE, &page, *body)
            }
            Asked::Wrong { status, hint } => response(status, "text/plain; charset=utf-8", hint, true),
        }
    }
}

impl Peer {
    /// Reads what has come; when the head of the request is complete, `answer` makes the answer. False: it has gone.
    fn read_request(&mut self, answer: impl FnOnce(&Asked<'_>) -> Vec<u8>) -> bool {
        let mut bytes = [0; 4096];
        // Each time a bounded amount: the rest is reported again.
        for _ in 0..4 {
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                // After the request, whatever comes is thrown away until the peer has seen the end.
                Ok(_) if self.answer.is_some() => {}
                Ok(length) => self.request.extend_from_slice(&bytes[..length]),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
            if self.answer.is_none() && self.request.len() > REQUEST_BYTES_MAX {
                break;
            }
        }
        if self.answer.is_none() {
            let complete = self.request.windows(4).any(|bytes| bytes == b"\r\n\r\n");
            if complete {
                self.answer = Some(answer(&understand(&self.request)));
            } else if self.request.len() > REQUEST_BYTES_MAX {
                let status = "431 Request Header Fields Too Large";
                self.answer = Some(answer(&Asked::Wrong { status, hint: "the request is too long\n" }));
            }
        }
        self.answer.is_some() || !self.ended
    }

    /// Writes what there is room for. False: it has gone.
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
                // The peer closes when it has read it: closing first could take the last bytes away from it.
                self.stream.finish();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_to() {
        let check = |text: &str| Settings { listen: Some(text.to_owned()) }.check();
        for good in ["127.0.0.1:9464", "[::1]:9464", "/run/numaestro/metrics", "127.0.0.1:0"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["0.0.0.0:9464", "192.168.1.1:9464", "9464", "localhost:9464", "run/metrics", ""] {
            let problem = check(bad).unwrap_err();
            assert_eq!(problem.field, "metrics.listen");
            assert!(problem.problem.contains("expected 127.0.0.1:PORT"), "{problem}");
        }
    }
}
