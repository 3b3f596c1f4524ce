//! A manager of one worker, and the changes of a program's processors.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use numaestro_policy::Random;

/// What would change team sizes or the way they run behind our back.
const QUIET: [&str; 6] =
    ["LD_PRELOAD", "NUMAESTRO_ATTACH", "NUMAESTRO_CLASS", "NUMAESTRO_DIR", "NUMAESTRO_POOL", "XDG_RUNTIME_DIR"];
/// All settings of the runtimes begin so.
const RUNTIMES: [&str; 4] = ["OMP_", "GOMP_", "KMP_", "LIBOMP_"];

/// The environment of every program: nothing that has a say in how a runtime works.
pub fn quiet(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if QUIET.contains(&name.as_ref()) || RUNTIMES.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name.as_ref());
        }
    }
}

/// A manager in a directory of its own; it ends with this.
pub struct Manager {
    numaestro: PathBuf,
    directory: PathBuf,
    daemon: Child,
    control: BufReader<UnixStream>,
}

impl Manager {
    /// Starts it.
    pub fn start(numaestro: &Path, directory: &Path) -> Result<Self> {
        std::fs::create_dir_all(directory)?;
        let mut command = Command::new(numaestro);
        quiet(&mut command);
        // It does not give way to what else runs here, which would leave nothing to change.
        command.arg("daemon").arg("--dir").arg(directory).args(["--idle-exit", "300", "--ignore-unmanaged"]);
        command.env("NUMAESTRO_DIR", directory).env("XDG_CONFIG_HOME", directory);
        let nothing = || Stdio::null();
        let daemon = command.stdin(nothing()).stdout(nothing()).stderr(nothing()).spawn();
        let mut daemon = daemon.with_context(|| format!("cannot start {}", numaestro.display()))?;
        let until = Instant::now() + Duration::from_mins(1);
        let stream = loop {
            match UnixStream::connect(directory.join("control")) {
                Ok(stream) => break stream,
                Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                Err(error) => {
                    let _ = daemon.kill();
                    bail!("no manager in {}: {error}", directory.display());
                }
            }
        };
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        let (numaestro, directory) = (numaestro.to_owned(), directory.to_owned());
        Ok(Self { numaestro, directory, daemon, control: BufReader::new(stream) })
    }

    /// `numaestro run -- PROGRAM`.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.numaestro);
        quiet(&mut command);
        command.args(["run", "--"]).arg(program);
        command.env("NUMAESTRO_DIR", &self.directory).env("XDG_CONFIG_HOME", &self.directory);
        command
    }

    /// Lets the program have so many processors at most. Says whether it was there.
    pub fn limit(&mut self, pid: u32, processors: u32) -> Result<bool> {
        let request = serde_json::json!({
            "ask": "set",
            "app": pid.to_string(),
            "wishes": { "min": null, "max": { "processors": processors }, "weight_milli": null, "class": null },
        });
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        self.control.get_mut().write_all(&line).context("the manager does not read")?;
        let mut answer = String::new();
        self.control.read_line(&mut answer).context("the manager does not answer")?;
        if answer.is_empty() {
            bail!("the manager is gone");
        }
        Ok(answer.contains("\"apps\""))
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let mut stop = Command::new(&self.numaestro);
        stop.arg("stop").env("NUMAESTRO_DIR", &self.directory).env("XDG_CONFIG_HOME", &self.directory);
        let stopped = stop.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !stopped.is_ok_and(|status| status.success()) {
            let _ = self.daemon.kill();
        }
        let _ = self.daemon.wait();
    }
}

/// Changes a program's processors every 2 to 8 ms, between one and `most`.
pub struct Flips<'a> {
    manager: &'a mut Manager,
    random: Random,
    most: u32,
    next: Instant,
    /// Changes that met the program.
    pub met: u64,
    /// Why no further change is possible.
    pub error: Option<anyhow::Error>,
}

impl<'a> Flips<'a> {
    /// None yet.
    pub fn new(manager: &'a mut Manager, random: Random, most: u32) -> Self {
        Self { manager, random, most, next: Instant::now(), met: 0, error: None }
    }

    /// The next one, if it is time.
    pub fn turn(&mut self, pid: u32) {
        if self.error.is_some() || Instant::now() < self.next {
            return;
        }
        let processors = if self.met.is_multiple_of(2) { 1 } else { self.most };
        match self.manager.limit(pid, processors) {
            Ok(met) => self.met += u64::from(met),
            Err(error) => self.error = Some(error),
        }
        self.next = Instant::now() + Duration::from_micros(2000 + u64::from(self.random.below(6000)));
    }
}
