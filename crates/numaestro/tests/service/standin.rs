//! A stand-in for systemd, for machines without it: it passes sockets, listens to notices, and
//! keeps the sockets open while the manager is gone.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use numaestro_skip::machine::{self, Held};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::boot::wait_for;
use crate::status_of;

const NUMAESTRO: &str = env!("CARGO_BIN_EXE_numaestro");
/// What the stand-in waits for a sign of life.
const WATCHDOG: Duration = Duration::from_millis(600);

/// See the file's header.
pub struct StandIn {
    pub root: tempfile::TempDir,
    control: OwnedFd,
    attach: OwnedFd,
    notices: UnixDatagram,
    pub manager: Option<Child>,
    _beside: Held,
}

fn listening(path: &std::path::Path, kind: SocketType) -> OwnedFd {
    // Without close-on-exec, so that the manager gets it.
    let fd = rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::empty(), None).unwrap();
    rustix::net::bind(&fd, &SocketAddrUnix::new(path).unwrap()).unwrap();
    rustix::net::listen(&fd, 1024).unwrap();
    fd
}

impl StandIn {
    /// With these settings, and no manager yet.
    pub fn new(config: &str) -> Self {
        let beside = machine::beside(env!("CARGO_TARGET_TMPDIR"));
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("n");
        std::fs::create_dir(&dir).unwrap();
        std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::write(root.path().join("config.toml"), config).unwrap();
        let notices = UnixDatagram::bind(root.path().join("notify")).unwrap();
        notices.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let (control, attach) = (
            listening(&dir.join("control"), SocketType::STREAM),
            listening(&dir.join("attach"), SocketType::SEQPACKET),
        );
        Self { root, control, attach, notices, manager: None, _beside: beside }
    }

    pub fn dir(&self) -> PathBuf {
        self.root.path().join("n")
    }

    /// As `sd_listen_fds(3)` and `sd_notify(3)` demand it.
    pub fn start(&mut self) {
        // By copies above 9: one of the two may be descriptor 3, which the first copy replaces.
        let script = format!(
            "exec {{attach}}<&{} {{control}}<&{}
             exec 3<&$attach 4<&$control {{attach}}<&- {{control}}<&-
             LISTEN_PID=$$ LISTEN_FDS=2 WATCHDOG_PID=$$ exec \"$0\" daemon --dir \"$1\" --config \"$2\"",
            self.attach.as_fd().as_raw_fd(),
            self.control.as_fd().as_raw_fd()
        );
        let log = std::fs::File::options().create(true).append(true).open(self.root.path().join("log")).unwrap();
        let child = Command::new("bash")
            .args(["-c", &script, NUMAESTRO])
            .args([self.dir(), self.root.path().join("config.toml")])
            .env("NOTIFY_SOCKET", self.root.path().join("notify"))
            .env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string())
            .env("NUMAESTRO_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.manager = Some(child);
    }

    /// The next notice.
    fn notice(&self) -> String {
        let mut buffer = [0; 4096];
        let length = self.notices.recv(&mut buffer).expect("a notice");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[track_caller]
    pub fn wait_notice(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        wait_for(what, || Some(self.notice()).filter(|notice| wanted(notice)))
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(NUMAESTRO);
        command.args(words).env("NUMAESTRO_DIR", self.dir()).stdin(Stdio::null());
        command
    }

    pub fn kill(&mut self) {
        let mut child = self.manager.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some(mut child) = self.manager.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("log:\n{}", std::fs::read_to_string(self.root.path().join("log")).unwrap_or_default());
        }
    }
}

#[test]
fn it_says_that_it_is_ready_how_it_is_and_that_it_ends() {
    let mut stand = StandIn::new("unmanaged = false\n");
    stand.start();
    let ready = stand.wait_notice("being ready", |notice| notice.starts_with("READY=1\n"));
    assert!(ready.contains("STATUS=0 programs on 0 of "), "{ready}");
    let mut program = stand.command(&["run", "--", "sleep", "600"]).spawn().unwrap();
    stand.wait_notice("the status", |notice| notice.starts_with("STATUS=1 program on "));
    assert!(stand.command(&["stop"]).status().unwrap().success());
    stand.wait_notice("the end", |notice| notice.starts_with("STOPPING=1"));
    assert!(stand.manager.take().unwrap().wait().unwrap().success());
    for socket in ["control", "attach"] {
        assert!(stand.dir().join(socket).exists(), "{socket} is not ours to remove");
    }
    program.kill().unwrap();
    program.wait().unwrap();
}

#[test]
fn signs_of_life_stop_when_the_loop_stops() {
    let mut stand = StandIn::new("unmanaged = false\n");
    stand.start();
    for _ in 0..5 {
        stand.wait_notice("a sign of life", |notice| notice == "WATCHDOG=1");
    }
    let pid = rustix::process::Pid::from_child(stand.manager.as_ref().unwrap());
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    // What was sent before it stopped is taken out first.
    stand.notices.set_read_timeout(Some(WATCHDOG * 3)).unwrap();
    let mut buffer = [0; 4096];
    let begun = Instant::now();
    while stand.notices.recv(&mut buffer).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(30), "a stopped manager goes on giving signs of life");
    }
}

#[test]
fn nobody_fails_to_connect_while_the_manager_is_started_anew() {
    let mut stand = StandIn::new("unmanaged = false\n");
    stand.start();
    let mut program = stand.command(&["run", "--", "sleep", "600"]).spawn().unwrap();
    let known = |stand: &StandIn| {
        let output = stand.command(&["status", "--json"]).output().unwrap();
        status_of(&output.stdout).filter(|status| status.apps.iter().any(|app| app.pid == program.id()))
    };
    wait_for("the program", || known(&stand));
    wait_for("the state file", || stand.dir().join("state.json").exists().then_some(()));
    stand.kill();
    // There is no manager now: who connects waits for the next one.
    let waiting: Vec<UnixStream> = (0..20)
        .map(|_| {
            let mut stream = UnixStream::connect(stand.dir().join("control")).expect("connects without a manager");
            stream.write_all(b"{\"ask\":\"ping\"}\n").unwrap();
            stream
        })
        .collect();
    stand.start();
    for stream in waiting {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert!(line.contains("done"), "{line}");
    }
    assert!(known(&stand).is_some(), "the program is taken over");
    program.kill().unwrap();
    program.wait().unwrap();
}

#[test]
fn sockets_that_are_elsewhere_are_refused() {
    let mut stand = StandIn::new("");
    // The same sockets, but a directory to which nobody's programs would come.
    std::fs::rename(stand.dir(), stand.root.path().join("m")).unwrap();
    std::fs::create_dir(stand.dir()).unwrap();
    std::fs::set_permissions(stand.dir(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let other = listening(&stand.root.path().join("elsewhere"), SocketType::STREAM);
    stand.control = other;
    stand.start();
    assert!(!stand.manager.take().unwrap().wait().unwrap().success());
    let log = std::fs::read_to_string(stand.root.path().join("log")).unwrap();
    assert!(log.contains("the service manager listens at"), "{log}");
}
