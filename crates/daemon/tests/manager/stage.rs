//! A manager in a process and a directory of its own, and applications beside it. Every test has
//! its own; nothing outlives a test.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use numaestro_abi::control::{AppStatus, Options, Reply, Request, Status};
use numaestro_contract::Duties;
use numaestro_daemon::Connection;
use numaestro_engine::journal;
use numaestro_host::rundir::RuntimeDir;
use numaestro_sim::world::Played;
use numaestro_skip::machine::{self, Held};

/// Long enough for any machine; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the shell of a manager owes its engine, checked on its journal, and parity: what it
/// observed gives the same events and actions in the simulator's shell. The last line of a manager
/// that was killed may be cut off. The journal of a second machine holds no observations.
pub fn check_journal(journal: &Path) {
    let text = std::fs::read_to_string(journal).unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    if whole.is_empty() {
        return;
    }
    let duties = if journal.extension().is_none() {
        let outcome = numaestro_contract::play(whole, Played::new);
        outcome.unwrap_or_else(|difference| panic!("{}: {difference}", journal.display())).duties
    } else {
        let mut duties = Duties::new(PATIENCE.as_nanos() as u64);
        for line in whole.lines().skip(1) {
            let (at, event, actions) = journal::decode(line).unwrap();
            duties.step(at, &event, &actions);
        }
        duties
    };
    let breaches: Vec<_> = duties.breaches().iter().map(ToString::to_string).collect();
    assert!(breaches.is_empty(), "{}: {}", journal.display(), breaches.join("; "));
}

/// See the file's header.
pub struct Stage {
    root: tempfile::TempDir,
    /// Goes when its manager has ended.
    _beside: Held,
    /// Managers so far: each has a journal of its own.
    managers: u32,
    pub manager: Option<Child>,
}

pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples").join(name)
}

/// Waits until `look` finds something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// This test measures, or looks at who runs where: no other one runs meanwhile.
pub fn turn() -> Held {
    machine::alone(env!("CARGO_TARGET_TMPDIR"))
}

impl Stage {
    /// A directory with this configuration, and no manager yet.
    pub fn empty(config: &str) -> Self {
        let beside = machine::beside(env!("CARGO_TARGET_TMPDIR"));
        let root = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::open(root.path().join("n")).unwrap();
        std::fs::write(dir.file("config.toml"), config).unwrap();
        std::fs::create_dir(root.path().join("journals")).unwrap();
        Self { root, _beside: beside, managers: 0, manager: None }
    }

    /// With a running manager.
    pub fn new(config: &str) -> Self {
        let mut stage = Self::empty(config);
        stage.start();
        stage
    }

    pub fn dir(&self) -> PathBuf {
        self.root.path().join("n")
    }

    pub fn start(&mut self) {
        self.start_under(&mut Command::new(example("manager")));
    }

    /// For [`check_journal`], unless the test wants the journal elsewhere.
    fn keep_a_journal(&mut self) {
        let journals = self.root.path().join("journals");
        let (file, ours) = (self.dir().join("config.toml"), format!("journal = \"{}", journals.display()));
        let before = std::fs::read_to_string(&file).unwrap();
        let config: Vec<&str> =
            before.lines().filter(|line| !line.starts_with(&ours) && !line.starts_with("journal_")).collect();
        if !config.iter().any(|line| line.starts_with("journal")) {
            self.managers += 1;
            let config = format!("{ours}/{}\"\njournal_observations = true\n{}\n", self.managers, config.join("\n"));
            std::fs::write(file, config).unwrap();
        }
    }

    pub fn start_under(&mut self, command: &mut Command) {
        self.keep_a_journal();
        let log = std::fs::File::options().create(true).append(true).open(self.root.path().join("log")).unwrap();
        let child = command.arg("daemon").arg("--dir").arg(self.dir()).stderr(log).spawn().unwrap();
        self.manager = Some(child);
        wait_for("the manager", || self.try_connect());
    }

    pub fn kill_manager(&mut self) {
        let mut child = self.manager.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn try_connect(&self) -> Option<Connection> {
        let mut connection = Connection::open(&RuntimeDir::open(self.dir()).unwrap()).ok()?;
        matches!(connection.ask(&Request::Ping), Ok(Reply::Done)).then_some(connection)
    }

    pub fn connect(&self) -> Connection {
        self.try_connect().expect("the manager does not answer")
    }

    pub fn status(&self) -> Status {
        match self.connect().ask(&Request::Status).unwrap() {
            Reply::Status(status) => *status,
            other => panic!("no status: {other:?}"),
        }
    }

    pub fn app(&self, app: u64) -> Option<AppStatus> {
        self.status().apps.into_iter().find(|entry| entry.app == app)
    }

    /// Waits until the application is as wanted.
    pub fn wait_app(&self, app: u64, what: &str, wanted: impl Fn(&AppStatus) -> bool) -> AppStatus {
        wait_for(what, || self.app(app).filter(&wanted))
    }

    /// Waits until the program has adopted its latest target. It says so again and again: what it
    /// says once may be of the target before, because a decision came first.
    pub fn adopts(&self, client: &mut Client, app: u64) -> AppStatus {
        wait_for("adoption", || {
            client.say("adopted");
            self.app(app).filter(|seen| seen.epoch[0] == seen.epoch[1])
        })
    }

    pub fn client(&self) -> Client {
        Client::under(&mut Command::new(example("client")), &self.dir())
    }

    /// A program that works with two threads from its start: one that sleeps, or works with one,
    /// lends processors.
    pub fn busy(&self) -> Client {
        let mut client = self.client();
        client.say("spin");
        client.say("spin");
        client
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.root.path().join("log")).unwrap_or_default()
    }

    /// Processors of this machine that the manager gives out.
    pub fn processors(&self) -> u32 {
        self.status().pus.iter().filter(|pu| pu.state != "offline").count() as u32
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut child) = self.manager.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("the manager's log:\n{}", self.log());
        } else {
            for entry in std::fs::read_dir(self.root.path().join("journals")).unwrap() {
                check_journal(&entry.unwrap().path());
            }
        }
    }
}

/// An application; see `examples/client.rs`.
pub struct Client {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Client {
    pub fn under(command: &mut Command, dir: &Path) -> Self {
        let mut child = command.env("NUMAESTRO_DIR", dir).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn say(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    /// Asks as `run` does; the first answer.
    pub fn run(&mut self, options: &Options) -> Reply {
        let answer = self.say(&format!("run {}", serde_json::to_string(options).unwrap()));
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"))
    }

    /// Attaches; the application's number.
    pub fn hello(&mut self, threads: u32) -> u64 {
        let answer = self.say(&format!("hello {threads}"));
        answer.strip_prefix("app ").unwrap_or_else(|| panic!("not attached: {answer}")).parse().unwrap()
    }

    /// Epoch, count, flags, first word of the cpuset.
    pub fn page(&mut self) -> [u32; 4] {
        let answer = self.say("page");
        let words: Vec<u32> =
            answer.split(' ').map(|word| word.parse().unwrap_or_else(|_| panic!("{answer}"))).collect();
        words.try_into().unwrap()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
