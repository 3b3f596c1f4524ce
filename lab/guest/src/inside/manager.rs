//! A manager and programs below it, started and addressed with the command alone.

use super::patience::until;
use anyhow::{Context, Result, ensure};
use numaestro_abi::control::{Reply, Request, Status};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The longest time that something may take in an emulated machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// An open connection to a manager.
#[derive(Debug)]
pub struct Line(BufReader<std::os::unix::net::UnixStream>);

impl Line {
    /// The manager's status.
    ///
    /// # Errors
    /// It does not answer.
    pub fn status(&mut self) -> Result<Status> {
        let mut question = serde_json::to_vec(&Request::Status)?;
        question.push(b'\n');
        self.0.get_ref().write_all(&question)?;
        let mut answer = String::new();
        self.0.read_line(&mut answer)?;
        match serde_json::from_str(&answer)? {
            Reply::Status(status) => Ok(*status),
            other => anyhow::bail!("no status: {other:?}"),
        }
    }
}

/// A manager with a directory of its own. It is killed when this is dropped.
#[derive(Debug)]
pub struct Manager {
    directory: PathBuf,
    child: Child,
}

impl Manager {
    /// Starts a manager with these settings (the text of a configuration file) and options, and
    /// waits until it answers.
    ///
    /// # Errors
    /// It ends or does not answer; its output is in the error.
    pub fn start(settings: &str, options: &[&str]) -> Result<Self> {
        Self::again(fresh_directory()?, settings, options)
    }

    /// Starts a manager in the directory of an earlier one, as after a crash.
    ///
    /// # Errors
    /// As [`Manager::start`].
    pub fn again(directory: PathBuf, settings: &str, options: &[&str]) -> Result<Self> {
        Self::again_in(None, directory, settings, options)
    }

    /// [`Manager::start`] in a control group, as a service is.
    ///
    /// # Errors
    /// As [`Manager::start`].
    pub fn start_in(group: &Path, settings: &str, options: &[&str]) -> Result<Self> {
        Self::again_in(Some(group), fresh_directory()?, settings, options)
    }

    /// [`Manager::again`] in a control group.
    ///
    /// # Errors
    /// As [`Manager::start`].
    pub fn again_in(group: Option<&Path>, directory: PathBuf, settings: &str, options: &[&str]) -> Result<Self> {
        // Unmanaged load is this test's own: the manager gives way to it only if the settings say
        // so.
        let defaults = if settings.contains("unmanaged") { "" } else { "unmanaged = false\n" };
        std::fs::write(directory.join("config.toml"), format!("{defaults}{settings}\n"))?;
        let log = std::fs::File::create(directory.join("log"))?;
        let daemon = ["daemon", "--idle-exit", "0"];
        let mut command =
            group.map_or_else(|| command(&directory, &daemon), |group| command_in(group, &directory, &daemon));
        command.arg("--config").arg(directory.join("config.toml")).args(options);
        if options.contains(&"--system") {
            // The directory that `NUMAESTRO_DIR` names is not the manager's usual one.
            command.arg("--dir").arg(&directory);
        }
        let child = command.stdout(log.try_clone()?).stderr(log).spawn()?;
        let mut manager = Self { directory, child };
        let up = until("the manager answers", PATIENCE, || manager.status(), |_| Some(()));
        up.with_context(|| format!("the manager wrote:\n{}", manager.log()))?;
        ensure!(manager.child.try_wait()?.is_none(), "the manager has ended; it wrote:\n{}", manager.log());
        Ok(manager)
    }

    /// Its runtime directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its output.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// A command with these arguments that speaks to this manager.
    pub fn command(&self, arguments: &[&str]) -> Command {
        command(&self.directory, arguments)
    }

    /// Runs the command to its end; returns its output.
    ///
    /// # Errors
    /// It does not exit with 0; its output is in the error.
    pub fn ask(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(arguments).stdin(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "numaestro {arguments:?}: {}\n{text}{errors}", output.status);
        Ok(text)
    }

    /// Its status, by the command.
    ///
    /// # Errors
    /// It does not answer.
    pub fn status_by_command(&self) -> Result<Status> {
        let text = self.ask(&["status", "--json"])?;
        let value: serde_json::Value = serde_json::from_str(&text)?;
        ensure!(value["running"] == true, "no manager runs");
        serde_json::from_value(value).with_context(|| format!("status --json is no status: {text}"))
    }

    /// Its status, without the command, which takes long to start in an emulated machine under
    /// load: scenarios ask very often.
    ///
    /// # Errors
    /// It does not answer.
    pub fn status(&self) -> Result<Status> {
        self.line()?.status()
    }

    /// A connection that stays open.
    ///
    /// # Errors
    /// It does not take it.
    pub fn line(&self) -> Result<Line> {
        let socket = std::os::unix::net::UnixStream::connect(self.directory.join("control"))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Line(BufReader::new(socket)))
    }

    /// `numaestro run OPTIONS -- PROGRAM`, in the background.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn run(&self, options: &[&str], program: &[&str]) -> Result<Program> {
        self.run_as(None, options, program)
    }

    /// [`Manager::run`] as a user (and group) with this number.
    ///
    /// # Errors
    /// As [`Manager::run`].
    pub fn run_as(&self, user: Option<u32>, options: &[&str], program: &[&str]) -> Result<Program> {
        let mut command = self.command(&["run"]);
        command.args(options).arg("--").args(program);
        Program::start(command, user)
    }

    /// Waits until the manager knows this process, and gives its part of the status.
    ///
    /// # Errors
    /// It does not within a minute.
    pub fn app(&self, pid: u32) -> Result<numaestro_abi::control::AppStatus> {
        let what = format!("the manager knows process {pid}");
        until(&what, PATIENCE, || self.status(), |status| status.apps.iter().find(|app| app.pid == pid).cloned())
    }

    /// Kills the manager with SIGKILL, and waits until it is gone.
    ///
    /// # Errors
    /// It has been gone before.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Ends the manager in order.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        self.ask(&["stop"])?;
        let child = &mut self.child;
        until("the manager ends", PATIENCE, || Ok(child.try_wait()?), |status| *status)
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

fn fresh_directory() -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = PathBuf::from(format!("/run/test-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// The command from a shell that goes into the group and becomes the command there.
fn command_in(group: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo 0 >\"$0/cgroup.procs\" && exec \"$@\""]).arg(group).arg("numaestro").args(arguments);
    shell.env("NUMAESTRO_DIR", directory).stdin(Stdio::null());
    shell
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("numaestro");
    command.args(arguments).env("NUMAESTRO_DIR", directory).stdin(Stdio::null());
    command
}

/// A program in the background. It is killed when this is dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    output: PathBuf,
}

impl Program {
    /// Starts a command; its output goes to a file.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut command: Command, user: Option<u32>) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let output = PathBuf::from(format!("/tmp/program-{}-{number}", std::process::id()));
        let file = std::fs::File::create(&output)?;
        if let Some(user) = user {
            command.uid(user).gid(user).current_dir("/tmp");
        }
        let child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn();
        Ok(Self { child: child.with_context(|| format!("{command:?}"))?, output })
    }

    /// Its process id: `run` becomes the program, so it is the program's.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its output up to now.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap_or_default()).into_owned()
    }

    /// The status with which it ended, if it has.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits until it has written `text`; returns all its output.
    ///
    /// # Errors
    /// It does not.
    pub fn says(&mut self, text: &str) -> Result<String> {
        let what = format!("process {} writes \"{text}\"", self.pid());
        until(&what, PATIENCE, || Ok(self.output()), |output| output.contains(text).then(|| output.clone()))
    }

    /// Waits for its end; it must exit with 0. Returns its output.
    ///
    /// # Errors
    /// It does not end, or not well.
    pub fn finish(&mut self) -> Result<String> {
        let what = format!("process {} ends", self.pid());
        let child = &mut self.child;
        let status = until(&what, PATIENCE, || Ok(child.try_wait()?), |status| *status)?;
        ensure!(status.success(), "process {} ended with {status}: {}", self.pid(), self.output());
        Ok(self.output())
    }

    /// Kills it and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
