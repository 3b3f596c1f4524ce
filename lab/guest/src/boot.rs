//! One run of a guest: starts QEMU, hands the output of the job on, and says how the guest ended.
//!
//! A run leaves nothing behind, even if this program is killed: the guest's files are descriptors
//! and not paths, and the kernel ends QEMU when its parent dies.

use crate::qemu::{self, Files, Settings};
use crate::shape::Shape;
use anyhow::{Context, Result};
use rustix::fs::MemfdFlags;
use rustix::io::FdFlags;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The ways in which a guest ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The job's own exit code.
    Exit(u8),
    /// The guest was not over in time; the last lines of the console.
    Hung(Vec<String>),
    /// The kernel of the guest died; the last lines of the console.
    Died(Vec<String>),
    /// QEMU did not start the guest; the words of QEMU.
    Refused(String),
}

/// Directories and options of the launcher.
#[derive(Debug, Clone)]
pub struct Place {
    /// The directory that `fetch.sh` fills.
    pub directory: PathBuf,
    /// Leave file system, console and command line below `directory` for a look.
    pub keep: bool,
    /// Print the console as well.
    pub console: bool,
}

/// Lines of the console that a failure shows.
const TAIL: usize = 40;

/// Runs a guest until its end. The output of the job goes to `output`, its errors to this program's
/// stderr.
///
/// # Errors
/// Something of this machine is in the way; anything that happens in the guest is an [`Ending`].
pub fn run(
    place: &Place,
    shape: &Shape,
    settings: &Settings,
    initial: &[u8],
    limit: Duration,
    output: Box<dyn Write + Send>,
) -> Result<Ending> {
    // Emulation takes every processor there is, so two guests at once would only wait for each
    // other. The turn is held until the end of this function.
    let _turn = turn(&place.directory)?;
    let archive = File::from(rustix::fs::memfd_create("initial", MemfdFlags::empty())?);
    (&archive).write_all(initial).context("no room for the guest's files")?;
    let (console, job, errors) = (pipe()?, pipe()?, pipe()?);
    let path = |fd: &dyn AsRawFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
    let (initial_path, serial) = (path(&archive), [path(&console.1), path(&job.1), path(&errors.1)]);
    let files = Files {
        root: &place.directory.join("root"),
        kernel: &place.directory.join("kernel"),
        initial: &initial_path,
        serial: [&serial[0], &serial[1], &serial[2]],
    };
    let command = qemu::command(shape, settings, &files);
    let kept = place.keep.then(|| keep(place, &command, initial)).transpose()?;
    let mut child = start(&command, &place.directory).context("QEMU does not start")?;
    // Now only QEMU holds the writing ends: when it ends, the readers end too.
    drop((console.1, job.1, errors.1, archive));
    let said = child.stderr.take().context("QEMU has no stderr")?;
    let said = std::thread::spawn(move || std::io::read_to_string(said).unwrap_or_default());
    let log = kept.map(|directory| File::create(directory.join("console"))).transpose()?;
    let readers = Readers {
        console: {
            let print = place.console;
            std::thread::spawn(move || listen(console.0, print, log))
        },
        job: std::thread::spawn(move || hand_on(job.0, output)),
        errors: std::thread::spawn(move || hand_on(errors.0, Box::new(std::io::stderr()))),
    };
    let ended = wait(&mut child, limit)?;
    let heard = readers.join();
    let said = said.join().unwrap_or_default();
    Ok(match (ended, heard.exit) {
        (_, Some(code)) => Ending::Exit(code),
        (None, None) => Ending::Hung(heard.tail),
        (Some(status), None) if !heard.anything && !status.success() => {
            Ending::Refused(format!("{status}: {}", said.trim()))
        }
        (Some(_), None) => Ending::Died(heard.tail),
    })
}

/// Waits until no other guest runs from this directory.
fn turn(directory: &Path) -> Result<File> {
    let file = File::create(directory.join("running")).with_context(|| directory.display().to_string())?;
    if file.try_lock().is_err() {
        eprintln!("guest: another guest is running, waiting for its end");
        file.lock()?;
    }
    Ok(file)
}

/// A pipe whose writing end stays open in QEMU.
fn pipe() -> Result<(PipeReader, PipeWriter)> {
    const ROOM: usize = 1 << 20;
    let (reader, writer) = std::io::pipe()?;
    rustix::io::fcntl_setfd(&writer, FdFlags::empty())?;
    // A serial line that finds no room loses characters, so the pipe gets as much room as an
    // unprivileged process may have.
    let _ = rustix::pipe::fcntl_setpipe_size(writer.as_fd(), ROOM);
    Ok((reader, writer))
}

/// Starts QEMU through this program, which arranges that QEMU does not outlive it.
fn start(command: &[OsString], directory: &Path) -> Result<Child> {
    let own = std::env::current_exe()?;
    let modules = directory.join("root/usr/lib/x86_64-linux-gnu/qemu");
    let mut qemu = Command::new(own);
    qemu.arg("guarded").arg(std::process::id().to_string()).args(command).env("QEMU_MODULE_DIR", modules);
    Ok(qemu.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?)
}

/// The part of [`start`] in the child: becomes `command`, to be killed when the process `parent`
/// ends.
///
/// # Errors
/// The parent has gone, or the command is not there.
pub fn become_guarded(parent: u32, command: &[OsString]) -> Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let now = rustix::process::getppid().map(rustix::process::Pid::as_raw_nonzero);
    anyhow::ensure!(now.is_some_and(|pid| u32::try_from(pid.get()) == Ok(parent)), "the launcher has gone");
    let (program, arguments) = command.split_first().context("no command")?;
    Err(Command::new(program).args(arguments).exec().into())
}

/// Waits for the end; after `limit` QEMU is killed, and there is no status.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

struct Readers {
    console: JoinHandle<Heard>,
    job: JoinHandle<()>,
    errors: JoinHandle<()>,
}

impl Readers {
    fn join(self) -> Heard {
        let _ = (self.job.join(), self.errors.join());
        self.console.join().unwrap_or_default()
    }
}

/// The lines of the console.
#[derive(Debug, Default)]
struct Heard {
    exit: Option<u8>,
    anything: bool,
    tail: Vec<String>,
}

/// Reads the console line by line. The last `NUMAVM_EXIT=` counts.
fn listen(console: PipeReader, print: bool, mut log: Option<File>) -> Heard {
    let (mut heard, mut tail) = (Heard::default(), VecDeque::new());
    let mut reader = BufReader::new(console);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        heard.anything = true;
        if let Some(log) = &mut log {
            let _ = log.write_all(&line);
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if let Some((_, code)) = text.rsplit_once("NUMAVM_EXIT=") {
            heard.exit = code.trim().parse().ok();
        }
        if print {
            eprintln!("console: {text}");
        }
        tail.push_back(text);
        if tail.len() > TAIL {
            tail.pop_front();
        }
        line.clear();
    }
    heard.tail = tail.into();
    heard
}

/// Hands everything on at once, as it comes: somebody may be watching.
fn hand_on(mut from: PipeReader, mut to: Box<dyn Write + Send>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        // The reader of this program's output may have gone; the guest shall not notice.
        let _ = to.write_all(&buffer[..n]).and_then(|()| to.flush());
    }
}

fn keep(place: &Place, command: &[OsString], initial: &[u8]) -> Result<PathBuf> {
    let directory = place.directory.join(format!("kept-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join("initial.cpio"), initial)?;
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    std::fs::write(directory.join("command"), words.join("\n") + "\n")?;
    eprintln!("guest: command line, file system and console are kept in {}", directory.display());
    Ok(directory)
}
