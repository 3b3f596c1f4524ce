//! A manager of the benchmark's own, in a directory of its own, that lives from before the first
//! run to after the last.
//!
//! Speaks only through the command line a user has (`daemon`, `run`, `status`, `policy set`,
//! `stop`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use numaestro_host::children::end_with_parent;
use rustix::process::Signal;
use tempfile::TempDir;

use super::launch::clean_command;
use super::load;
use crate::manager::Manager;

/// Longest time until a manager answers for the first time.
const START_LIMIT: Duration = Duration::from_secs(10);

/// The manager; ended when dropped.
#[derive(Debug)]
pub struct Managed {
    numaestro: PathBuf,
    dir: TempDir,
    policy: String,
    options: Vec<OsString>,
    child: Child,
}

impl Managed {
    /// Starts one with `policy` (`"default"` = as installed) and waits until it answers. Its
    /// journal goes into the file `journal`.
    pub fn start(numaestro: &Path, policy: &str, journal: Option<&Path>) -> Result<Self> {
        let options = journal.map(|file| vec!["--journal".into(), file.into()]);
        Self::begin(numaestro, policy, options.unwrap_or_default())
    }

    /// Starts one that gives out every processor beside any load: for probes, whose numbers are not
    /// about other load.
    pub fn start_undisturbed(numaestro: &Path) -> Result<Self> {
        Self::start_undisturbed_with(numaestro, &[])
    }

    /// The same with further options.
    pub fn start_undisturbed_with(numaestro: &Path, further: &[OsString]) -> Result<Self> {
        let mut options: Vec<OsString> = vec!["--ignore-unmanaged".into()];
        options.extend_from_slice(further);
        Self::begin(numaestro, "default", options)
    }

    /// Starts one like that with `policy`, a journal and further options.
    pub fn start_recorded(numaestro: &Path, policy: &str, journal: &Path, further: &[OsString]) -> Result<Self> {
        // From its first moment, so that the journal's head tells it.
        let mut options: Vec<OsString> = vec!["--ignore-unmanaged".into(), "--policy".into(), policy.into()];
        options.extend(["--journal".into(), journal.into()]);
        options.extend_from_slice(further);
        Self::begin(numaestro, "default", options)
    }

    fn begin(numaestro: &Path, policy: &str, options: Vec<OsString>) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("numaestro-bench-")
            .tempdir()
            .context("cannot make a directory for the manager")?;
        let child = spawn(numaestro, dir.path(), &options)?;
        let mut managed = Self { numaestro: numaestro.to_owned(), dir, policy: policy.to_owned(), options, child };
        managed.until_ready()?;
        Ok(managed)
    }

    /// Makes sure it is alive, starting another one in its place if not. `true`: it was.
    pub fn keep(&mut self) -> Result<bool> {
        if self.child.try_wait()?.is_none() {
            return Ok(true);
        }
        // The journal of the one that is gone ends where it ended; only the latest one is kept.
        self.child = spawn(&self.numaestro, self.dir.path(), &self.options)?;
        self.until_ready()?;
        Ok(false)
    }

    /// Processor seconds it has used so far.
    pub fn time(&self) -> f64 {
        load::process_time(self.child.id())
    }

    /// `numaestro run OPTIONS -- EXECUTABLE`, to which arguments can be added.
    pub fn run(&self, options: &[&str], executable: &Path) -> Command {
        let mut command = self.command();
        command.arg("run").args(options).arg("--").arg(executable);
        command
    }

    /// The present status; `None` while it does not answer.
    pub fn status(&self) -> Option<serde_json::Value> {
        let output = self.command().args(["status", "--json"]).stderr(Stdio::null()).output().ok()?;
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        (value.get("pid").and_then(serde_json::Value::as_u64) == Some(u64::from(self.child.id()))).then_some(value)
    }

    /// Waits until no application is left, at most a second: a former run must not reach into the
    /// next.
    pub fn settle(&self) {
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(1) {
            let apps = self.status().and_then(|status| status.get("apps")?.as_array().map(Vec::len));
            if apps == Some(0) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A connection to it, as every command opens one.
    pub fn connect(&self) -> std::io::Result<Manager> {
        Manager::reach(self.dir.path())
    }

    /// The command, which asks this manager.
    pub fn command(&self) -> Command {
        let mut command = clean_command(&self.numaestro);
        command.env("NUMAESTRO_DIR", self.dir.path()).env("XDG_CONFIG_HOME", self.dir.path());
        command
    }

    fn until_ready(&mut self) -> Result<()> {
        let since = Instant::now();
        while self.status().is_none() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the manager ended at once ({status}): run `{} daemon` and see why", self.numaestro.display());
            }
            if since.elapsed() > START_LIMIT {
                bail!("the manager does not answer: run `{} doctor`", self.numaestro.display());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        if self.policy == "default" { Ok(()) } else { self.set_policy(&self.policy) }
    }

    /// Switches the policy.
    pub fn set_policy(&self, policy: &str) -> Result<()> {
        let output = self.command().args(["policy", "set", policy]).output()?;
        if !output.status.success() {
            bail!("policy {policy} was refused: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// Begins to record.
    pub fn record(&self) -> Result<()> {
        let output = self.command().args(["record", "on"]).output()?;
        if !output.status.success() {
            bail!("`numaestro record on` fails: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        drop(self.command().arg("stop").stdout(Stdio::null()).stderr(Stdio::null()).status());
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if since.elapsed() > Duration::from_secs(2) {
                drop(self.child.kill());
                drop(self.child.wait());
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn spawn(numaestro: &Path, dir: &Path, options: &[OsString]) -> Result<Child> {
    let mut command = clean_command(numaestro);
    // An empty configuration: the settings and profiles of this user and this machine must not
    // change the measurement.
    let config = dir.join("empty.toml");
    std::fs::write(&config, "").context("cannot write the manager's configuration")?;
    command.env("NUMAESTRO_DIR", dir).env("XDG_CONFIG_HOME", dir);
    command.args(["daemon", "--idle-exit", "0", "--config"]).arg(config).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    end_with_parent(&mut command, Signal::TERM);
    command.spawn().with_context(|| format!("cannot start the manager, {} daemon", numaestro.display()))
}
