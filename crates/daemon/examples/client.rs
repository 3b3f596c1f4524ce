//! An application that speaks the attach protocol by hand, one command a line on standard input:
//! for tests, and to try the manager.
//!
//! `run OPTIONS_JSON`, `ask REQUEST_JSON`, `next`, `hold N`, `hangup`, `hello THREADS [RUNTIMES]`,
//! `page`, `adopted [APP EPOCH]`, `busy`, `request N`, `regions N IN_REGION`, `fold WORD…`,
//! `affinity`, `spin`, `child`, `childless`, `garbage N`, `keep N`, `hello-over PID`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use numaestro_abi::attach::{Hello, Kind, MAGIC, Notice, VERSION, Welcome};
use numaestro_abi::control::{Request, Run};
use numaestro_abi::page::{self, Page};
use numaestro_daemon::Connection;
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::socket::{self, Listener, Received, Sort};
use zerocopy::{FromZeros, IntoBytes};

struct Client {
    socket: PathBuf,
    app: u64,
    page: Option<File>,
    asked: Option<Connection>,
    held: Vec<UnixStream>,
    /// Connections of processes that have ended.
    kept: BTreeMap<u32, OwnedFd>,
    children: Vec<Child>,
}

fn main() -> Result<()> {
    let dir = std::env::var_os("NUMAESTRO_DIR").context("NUMAESTRO_DIR is not set")?;
    let socket = PathBuf::from(dir).join("attach");
    if let Some(place) = std::env::args_os().nth(1) {
        return hand_over(&socket, Path::new(&place));
    }
    let (held, kept, children) = Default::default();
    let mut client = Client { socket, app: 0, page: None, asked: None, held, kept, children };
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = client.command(&words).unwrap_or_else(|cause| format!("error {cause:#}"));
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// A process that connects, gives its connection away, and ends.
fn hand_over(socket: &Path, place: &Path) -> Result<()> {
    let connection = socket::connect(socket, Sort::Packets)?;
    socket::send(socket::connect(place, Sort::Packets)?.as_fd(), b"here", Some(connection.as_fd()))?;
    Ok(())
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end_children();
    }
}

impl Client {
    fn command(&mut self, words: &[&str]) -> Result<String> {
        let number = |index: usize| words.get(index).map_or(Ok(0), |word| word.parse::<u64>());
        match words.first().copied() {
            Some("run") => self.run(&words[1..].join(" ")),
            Some("ask") => self.ask(&words[1..].join(" ")),
            Some("next") => Ok(serde_json::to_string(&self.asked.as_mut().context("not asked")?.receive()?)?),
            Some("hangup") => Ok(self.asked.take().map_or("not asked", |_| "ok").to_owned()),
            Some("hello") => self.greet(number(1)? as u32, number(2)?.max(1) as u32, 0),
            Some("reattach") => self.greet(number(1)? as u32, 1, number(2)?),
            Some("hello-over") => {
                let kept = self.kept.remove(&(number(1)? as u32)).context("not kept")?;
                self.hello(kept.as_fd(), 1, 1, 0)
            }
            Some("keep") => self.keep(number(1)? as usize),
            Some("page") => self.show(),
            Some("adopted") if words.len() == 3 => self.notice(Kind::Adopted, number(1)?, number(2)? as u32),
            Some("adopted") => {
                let epoch = self.word(std::mem::offset_of!(Page, manager))?;
                self.notice(Kind::Adopted, self.app, epoch)
            }
            Some("busy") => self.notice(Kind::Busy, self.app, 0),
            Some("request") => self.notice(Kind::Request, self.app, number(1)? as u32),
            Some("regions") => self.regions(number(1)?, number(2)? as u32),
            Some("fold") => self.fold(&words[1..]),
            Some("affinity") => Ok(numaestro_host::affinity::get(0)?.to_string()),
            Some("hold") => self.hold(number(1)? as usize),
            Some("garbage") => self.garbage(number(1)? as usize),
            Some("spin") => {
                std::thread::spawn(|| {
                    loop {
                        std::hint::spin_loop();
                    }
                });
                Ok("ok".to_owned())
            }
            Some("child") => {
                self.children
                    .push(Command::new("sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn()?);
                Ok("ok".to_owned())
            }
            Some("childless") => {
                self.end_children();
                Ok("ok".to_owned())
            }
            other => bail!("unknown command {other:?}"),
        }
    }

    fn end_children(&mut self) {
        for mut child in self.children.drain(..) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn run(&mut self, options: &str) -> Result<String> {
        let options = serde_json::from_str(options)?;
        let dir = RuntimeDir::open(self.socket.parent().context("no directory")?)?;
        let connection = self.asked.insert(Connection::open(&dir)?);
        let answer = connection.ask(&Request::Run(Run { command: vec!["client".to_owned()], options }))?;
        Ok(serde_json::to_string(&answer)?)
    }

    /// Any line on the control socket; the first answer as it comes.
    fn ask(&self, line: &str) -> Result<String> {
        let mut stream = UnixStream::connect(self.socket.with_file_name("control"))?;
        // Where it has hung up, what it said before is still there to be read.
        if let Err(cause) = writeln!(stream, "{line}")
            && cause.kind() != std::io::ErrorKind::BrokenPipe
        {
            return Err(cause.into());
        }
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        Ok(answer.trim_end().to_owned())
    }

    /// Connections that are held from now on, and say nothing.
    fn hold(&mut self, count: usize) -> Result<String> {
        for _ in 0..count {
            self.held.push(UnixStream::connect(self.socket.with_file_name("control"))?);
        }
        Ok("ok".to_owned())
    }

    /// Connections of so many processes that have ended; answers with their numbers.
    fn keep(&mut self, count: usize) -> Result<String> {
        let place = std::env::temp_dir().join(format!("numaestro-client-{}", std::process::id()));
        let listener = Listener::bind(&place, Sort::Packets)?;
        let mut numbers = Vec::new();
        for _ in 0..count {
            let mut child = Command::new(std::env::current_exe()?).arg(&place).stdin(Stdio::null()).spawn()?;
            child.wait()?;
            let messenger = listener.accept()?.context("nobody has come")?;
            let Received::Packet(_, Some(connection)) = socket::receive(messenger.as_fd(), &mut [0; 16])? else {
                bail!("no connection");
            };
            numbers.push(child.id().to_string());
            self.kept.insert(child.id(), connection);
        }
        std::fs::remove_file(place)?;
        Ok(numbers.join(" "))
    }

    fn greet(&mut self, threads: u32, runtimes: u32, claim: u64) -> Result<String> {
        let connection = socket::connect(&self.socket, Sort::Packets)?;
        self.hello(connection.as_fd(), threads, runtimes, claim)
    }

    fn hello(&mut self, connection: BorrowedFd<'_>, threads: u32, runtimes: u32, claim: u64) -> Result<String> {
        let mut hello = Hello {
            magic: MAGIC,
            kind: Kind::Hello as u16,
            version: VERSION,
            page_version: page::VERSION,
            runtimes,
            threads_max: threads,
            reattach: u32::from(claim != 0),
            claim_count: claim.count_ones(),
            claim_app: self.app,
            ..Hello::new_zeroed()
        };
        hello.name[..6].copy_from_slice(b"client");
        hello.claim_cpuset[0] = claim;
        socket::send(connection, hello.as_bytes(), None)?;
        let mut answer = [0; size_of::<Welcome>()];
        let Received::Packet(_, descriptor) = socket::receive(connection, &mut answer)? else {
            bail!("no answer");
        };
        let welcome: Welcome = zerocopy::transmute!(answer);
        if welcome.code != 0 {
            return Ok(format!("refused {}", welcome.code));
        }
        self.app = welcome.app;
        self.page = descriptor.map(File::from);
        Ok(format!("app {}", self.app))
    }

    fn notice(&self, kind: Kind, app: u64, value: u32) -> Result<String> {
        let notice = Notice { magic: MAGIC, kind: kind as u16, version: VERSION, app, value, second: 0 };
        let connection = socket::connect(&self.socket, Sort::Packets)?;
        socket::send(connection.as_fd(), notice.as_bytes(), None)?;
        Ok("ok".to_owned())
    }

    fn garbage(&self, packets: usize) -> Result<String> {
        let connection = socket::connect(&self.socket, Sort::Packets)?;
        for index in 0..packets {
            let bytes: Vec<u8> = (0..=index % 700).map(|place| (place * 31 + index) as u8).collect();
            if socket::send(connection.as_fd(), &bytes, None).is_err() {
                return Ok("closed".to_owned());
            }
        }
        Ok("ok".to_owned())
    }

    fn word(&self, offset: usize) -> Result<u32> {
        let mut bytes = [0; 4];
        self.page.as_ref().context("no page")?.read_exact_at(&mut bytes, offset as u64)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// `EPOCH COUNT FLAGS FIRST_WORD_OF_CPUSET`.
    fn show(&self) -> Result<String> {
        let line = std::mem::offset_of!(Page, manager);
        let cpus = self.word(std::mem::offset_of!(Page, cpuset))?;
        Ok(format!("{} {} {} {cpus}", self.word(line)?, self.word(line + 4)?, self.word(line + 8)?))
    }

    /// Writes 32-bit words into the line of folding, from its beginning.
    fn fold(&self, words: &[&str]) -> Result<String> {
        let page = self.page.as_ref().context("no page")?;
        let mut bytes = Vec::new();
        for word in words {
            bytes.extend(word.parse::<u32>()?.to_le_bytes());
        }
        page.write_all_at(&bytes, std::mem::offset_of!(Page, fold) as u64)?;
        Ok("ok".to_owned())
    }

    fn regions(&self, regions: u64, in_region: u32) -> Result<String> {
        let page = self.page.as_ref().context("no page")?;
        let line = std::mem::offset_of!(Page, root) as u64;
        page.write_all_at(&regions.to_le_bytes(), line)?;
        page.write_all_at(&in_region.to_le_bytes(), line + 8)?;
        Ok("ok".to_owned())
    }
}
