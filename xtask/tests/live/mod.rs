//! A manager from the copied tree with a program of its own, so that a policy decides about real
//! processors. Both are processes of this test, in a directory of their own, and end with it.

use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use numaestro_abi::control::{Options, Reply, Request, Status};

/// Long enough for any machine; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(30);
/// Threads of the program.
const THREADS: &str = "2";

/// A process that does not outlive the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running manager and its directory.
pub struct Manager {
    _process: Process,
    examples: PathBuf,
    dir: PathBuf,
}

impl Manager {
    /// Starts the example `manager` of `examples` under this policy.
    pub fn start(examples: &Path, policy: &str) -> Self {
        // Not below the target directory: the path of a socket may have 107 bytes only.
        let dir = std::env::temp_dir().join(format!("new-policy-{}", std::process::id()));
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).expect("a directory");
        let config = format!("policy = \"{policy}\"\nunmanaged = false\nidle_exit_s = 120\n");
        std::fs::write(dir.join("config.toml"), config).expect("writable");
        let mut command = Command::new(examples.join("manager"));
        command.arg("daemon").arg("--dir").arg(&dir).stdin(Stdio::null()).stderr(Stdio::null());
        let process = Process(command.spawn().expect("the manager was built"));
        let manager = Self { _process: process, examples: examples.to_owned(), dir };
        wait_for(&format!("a manager under {policy}"), || manager.try_ask(&Request::Ping));
        manager
    }

    /// A program runs under this policy, and the status says that the policy gave it processors.
    pub fn decides(&self, policy: &str) {
        let set = self.ask(&Request::PolicySet { policy: policy.to_owned() });
        assert!(matches!(set, Reply::Done), "{policy} is not known to a manager: {set:?}");
        let before = self.status();
        let mut program = Command::new(self.examples.join("busy"));
        let program = Process(program.args([THREADS, "120"]).stdin(Stdio::null()).spawn().expect("busy was built"));
        let pid = program.0.id();
        let adopted = self.ask(&Request::Adopt { pid, options: Options::default(), force: false });
        assert!(matches!(adopted, Reply::Done), "{policy}: {adopted:?}");
        let held = |status: &Status| {
            let app = status.apps.iter().find(|app| app.pid == pid)?;
            let owned = status.pus.iter().filter(|pu| pu.owner == Some(app.app)).count();
            (app.count > 0 && owned == app.count as usize).then_some(())
        };
        let status = wait_for(&format!("{policy} to give processors"), || {
            Some(self.status()).filter(|status| held(status).is_some())
        });
        // Named as it was set, in whatever order its parts are written.
        for word in policy.split(' ') {
            assert!(status.policy.split(' ').any(|part| part == word), "{word} decides: {}", status.policy);
        }
        assert!(status.decisions > before.decisions, "{policy} decided nothing: {status:?}");
        drop(program);
        wait_for(&format!("the end of a program under {policy}"), || self.status().apps.is_empty().then_some(()));
    }

    /// A name that nobody registered is refused, so the manager's word for a policy is worth
    /// something.
    pub fn refuses(&self, policy: &str) {
        let set = self.ask(&Request::PolicySet { policy: policy.to_owned() });
        assert!(matches!(set, Reply::Refused { .. }), "{policy}: {set:?}");
    }

    fn status(&self) -> Status {
        match self.ask(&Request::Status) {
            Reply::Status(status) => *status,
            other => panic!("no status: {other:?}"),
        }
    }

    fn ask(&self, request: &Request) -> Reply {
        self.try_ask(request).expect("the manager answers")
    }

    fn try_ask(&self, request: &Request) -> Option<Reply> {
        let mut stream = UnixStream::connect(self.dir.join("control")).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut line = serde_json::to_vec(request).expect("a request is JSON");
        line.push(b'\n');
        stream.write_all(&line).ok()?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).ok()?;
        serde_json::from_str(&answer).ok()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // It gives every affinity back before it ends.
        let _ = self.try_ask(&Request::Stop);
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
