//! One user asks as fast as the sockets take it, and the manager of all users decides, answers and
//! stays small for everybody else.

mod support;

use numaestro_skip::machine::Held;
use numaestro_skip::skip;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::manager::NUMAESTRO;
use support::programs::any;
use support::{eventually, hang, is_root, turn};

/// Works and waits.
const ALICE: u32 = 730_021;
/// Floods.
const BOB: u32 = 730_022;
const ACCOUNTS: &str = "root:x:0:0::/:/bin/sh\nalice:x:730021:730021::/:/bin/sh\nbob:x:730022:730022::/:/bin/sh\n";
/// Programs of Alice that sleep.
const PROGRAMS: usize = 20;
/// Decisions whose median counts.
const CHANGES: usize = 41;
/// Seconds of a flood.
const SECONDS: &str = "3";
/// The most that a request of somebody else may take, whatever the machine does beside: a manager
/// that serves the flood first takes all of its seconds.
const LATE: Duration = Duration::from_millis(1500);

const QUESTIONS: [&str; 6] = [
    r#"{"ask":"advise","options":{}}"#,
    r#"{"ask":"status"}"#,
    r#"{"ask":"history"}"#,
    r#"{"ask":"memory"}"#,
    r#"{"ask":"ping"}"#,
    r#"{"ask":"stop"}"#,
];

/// The manager of all users, with programs of Alice.
struct Place {
    root: tempfile::TempDir,
    children: Vec<Child>,
    signs: UnixDatagram,
    _turn: Held,
}

impl Place {
    fn new() -> Self {
        let turn = turn();
        let root = tempfile::Builder::new().prefix("nmflood").tempdir().expect("a directory");
        let open = |path: &Path| {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
        };
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).expect("written");
        open(root.path());
        for (name, from) in [("numaestro", NUMAESTRO), ("hostile", &any("hostile"))] {
            numaestro_skip::programs::copy(from, root.path().join(name), 0o755);
        }
        write("accounts", ACCOUNTS);
        for user in [ALICE, BOB] {
            let home = root.path().join(user.to_string());
            std::fs::create_dir(&home).expect("a home");
            std::os::unix::fs::chown(&home, Some(user), Some(user)).expect("as root");
        }
        let accounts = root.path().join("accounts");
        let service = format!("[service]\naccounts = \"{}\"\n", accounts.display());
        write("config.toml", &format!("unmanaged = false\n[recording]\non = false\n{service}"));
        let signs = UnixDatagram::bind(root.path().join("notify")).expect("a socket");
        signs.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
        let log = std::fs::File::create(root.path().join("log")).expect("a file");
        let mut daemon = Command::new(root.path().join("numaestro"));
        daemon.args(["daemon", "--system", "--dir"]).arg(root.path().join("n"));
        daemon.arg("--config").arg(root.path().join("config.toml"));
        daemon.env("NOTIFY_SOCKET", root.path().join("notify")).env("WATCHDOG_USEC", "400000");
        let daemon = daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("starts");
        let mut place = Self { root, children: vec![daemon], signs, _turn: turn };
        let control = place.path("n/control");
        assert!(eventually(|| UnixStream::connect(&control).is_ok()), "no manager");
        for _ in 0..PROGRAMS {
            let sleeper = place.command(ALICE, "numaestro", &["run", "--", "sleep", "1000"]).spawn().expect("starts");
            place.children.push(sleeper);
        }
        let all = format!("\"app\":{PROGRAMS},");
        assert!(eventually(|| place.ask(r#"{"ask":"status"}"#).contains(&all)), "not all programs have come");
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, user: u32, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.path(program));
        command.args(words).env("NUMAESTRO_DIR", self.path("n")).current_dir("/").uid(user).gid(user);
        command.env("HOME", self.path(&user.to_string())).env_remove("XDG_CACHE_HOME").env_remove("XDG_RUNTIME_DIR");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Root's own question.
    fn ask(&self, line: &str) -> String {
        let mut stream = UnixStream::connect(self.path("n/control")).expect("it listens");
        stream.set_read_timeout(Some(hang())).expect("set");
        stream.write_all(format!("{line}\n").as_bytes()).expect("it reads");
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).expect("it answers");
        answer
    }

    /// The median time in which a limit of a program is changed, which is a decision.
    fn decides(&self) -> Duration {
        let pid = self.children[1].id();
        let changed = |most: usize| {
            let wishes = format!(r#"{{"min":null,"max":{{"processors":{most}}},"weight_milli":null,"class":null}}"#);
            let begun = Instant::now();
            let answer = self.ask(&format!(r#"{{"ask":"set","app":"{pid}","wishes":{wishes}}}"#));
            assert!(answer.contains(r#""reply":"set""#), "{answer}");
            begun.elapsed()
        };
        let mut times: Vec<Duration> = (0..CHANGES).map(|number| changed(1 + number % 2)).collect();
        times.sort();
        times[CHANGES / 2]
    }

    /// Bob floods.
    fn flood(&self, line: &str, connections: usize, reads: bool) -> Child {
        let control = self.path("n/control");
        let count = connections.to_string();
        let mut words = vec![control.to_str().expect("plain"), "asks", SECONDS, line, &count];
        words.extend(reads.then_some("reads"));
        self.command(BOB, "hostile", &words).spawn().expect("starts")
    }

    /// Alice runs a program; how long that took. It must have been managed.
    fn run(&self, what: &str) -> Duration {
        let begun = Instant::now();
        let run = self.command(ALICE, "numaestro", &["run", "--", "true"]).output().expect("starts");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success() && said.is_empty(), "{what}: not managed: {said}");
        begun.elapsed()
    }

    /// Runs programs of Alice until the flood ends; the longest time of one. A flood that ends
    /// within the first has been served before her. `first` is done when the flood has come.
    fn runs_during(&self, flood: &mut Child, what: &str, first: impl FnOnce()) -> Duration {
        std::thread::sleep(Duration::from_millis(300));
        first();
        let (mut longest, mut count) = (Duration::ZERO, 0);
        while flood.try_wait().expect("a child").is_none() {
            longest = longest.max(self.run(what));
            count += 1;
        }
        assert!(count > 2, "{what}: {count} runs in {SECONDS} s");
        longest
    }

    fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.children[0].id())).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Neither on one connection nor on many, whatever is asked, and whether the answers are read.
#[test]
fn another_user_is_served_while_one_floods() {
    if !is_root() {
        skip!("only root can be several users");
    }
    let place = Place::new();
    let quiet = (0..10).map(|_| place.run("quiet")).max().unwrap_or_default();
    for (number, line) in QUESTIONS.iter().enumerate() {
        let connections = [1, 20, 200][number % 3];
        let what = format!("{line} on {connections} connections");
        let decides_quietly = place.decides();
        let mut flood = place.flood(line, connections, number != 1);
        let longest = place.runs_during(&mut flood, &what, || {
            let decides = place.decides();
            println!("{what}: a decision {decides:?}, quiet {decides_quietly:?}");
            assert!(decides < decides_quietly * 4, "{what}: a decision took {decides:?}, quiet {decides_quietly:?}");
        });
        println!("{what}: {longest:?}, quiet {quiet:?}");
        assert!(longest < LATE + quiet * 4, "{what}: a run took {longest:?}, quiet {quiet:?}");
    }
}

#[test]
fn signs_of_life_come_during_a_flood() {
    if !is_root() {
        skip!("only root can be several users");
    }
    let place = Place::new();
    let mut flood = place.flood(QUESTIONS[2], 20, true);
    let (mut latest, mut longest) = (Instant::now(), Duration::ZERO);
    while flood.try_wait().expect("a child").is_none() {
        let mut notice = [0; 256];
        let length = place.signs.recv(&mut notice).unwrap_or(0);
        if notice[..length].starts_with(b"WATCHDOG=1") {
            longest = longest.max(latest.elapsed());
            latest = Instant::now();
        }
    }
    longest = longest.max(latest.elapsed());
    println!("longest gap: {longest:?}");
    assert!(longest < LATE, "no sign of life for {longest:?}");
}

/// Answers that nobody reads, and looks at memory.
#[test]
fn the_manager_stays_small() {
    if !is_root() {
        skip!("only root can be several users");
    }
    let place = Place::new();
    for question in QUESTIONS {
        place.ask(question.replace("stop", "ping").as_str());
    }
    let quiet = place.resident_kib();
    for (line, reads) in [(QUESTIONS[2], false), (QUESTIONS[3], true), (QUESTIONS[3], false)] {
        let mut flood = place.flood(line, 200, reads);
        let mut most = 0;
        while flood.try_wait().expect("a child").is_none() {
            most = most.max(place.resident_kib());
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("{line}: {most} KiB, quiet {quiet} KiB");
        assert!(most < quiet + (64 << 10), "{line}: grown from {quiet} to {most} KiB");
    }
}

#[test]
fn refusals_do_not_fill_the_log() {
    if !is_root() {
        skip!("only root can be several users");
    }
    let place = Place::new();
    let lines = || std::fs::read_to_string(place.path("log")).expect("a log");
    let before = lines().lines().count();
    let mut flood = place.flood(r#"{"ask":"stop"}"#, 4, true);
    flood.wait().expect("ends");
    assert!(eventually(|| lines().contains("more refusals")), "what was left out is not counted: {}", lines());
    let refused = lines().lines().count() - before;
    assert!((2..200).contains(&refused), "{refused} lines");
}
