//! A Slurm cluster that ends with its test and leaves nothing behind, also when the test is killed.

use crate::user::{User, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The exit code of the script where there is no Slurm.
const NOT_INSTALLED: i32 = 77;

/// Three nodes of two processors.
pub struct Cluster {
    /// A user, whose directory all nodes share.
    pub user: User,
    dir: PathBuf,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/slurm-cluster.sh")
}

impl Cluster {
    /// Starts it; the reason if Slurm is not installed here.
    pub fn start() -> Result<Self, String> {
        Self::start_with(|_| Vec::new())
    }

    /// The same with further options of the script.
    pub fn start_with(options: impl FnOnce(&User) -> Vec<String>) -> Result<Self, String> {
        let user = User::new();
        let options = options(&user);
        let cluster = Self { dir: user.path("slurm"), user };
        let own = std::process::id().to_string();
        let words: Vec<&str> = ["--with", &own].into_iter().chain(options.iter().map(String::as_str)).collect();
        let output = cluster.script("start", &words);
        if output.status.code() == Some(NOT_INSTALLED) {
            return Err("Slurm is not installed here".to_owned());
        }
        assert!(output.status.success(), "{}", text(&output.stderr));
        Ok(cluster)
    }

    /// The same, of one node of two processors that `jobs` jobs share, with the plugin. The
    /// manager's directory is `run` below the user's place. `words`: further ones for
    /// plugstack.conf.
    pub fn with_plugin(jobs: u32, words: &str, options: &[&str]) -> Result<Self, String> {
        let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/client/spank/numaestro.so");
        if !plugin.exists() {
            return Err("the plugin is not built: make spank".to_owned());
        }
        Self::start_with(|user| {
            let (plugin, file) = (plugin.canonicalize().expect("a path"), user.path("plugstack.conf"));
            let (command, run) = (env!("CARGO_BIN_EXE_numaestro"), user.path("run"));
            let line = format!("optional {} command={command} dir={} {words}\n", plugin.display(), run.display());
            std::fs::write(&file, line).expect("written");
            let usual =
                ["--nodes", "1", "--oversubscribe", &jobs.to_string(), "--plugstack", file.to_str().expect("text")];
            usual.iter().chain(options).map(|word| (*word).to_owned()).collect()
        })
    }

    /// `srun WORDS`, of one task.
    pub fn srun(&self, words: &[&str]) -> Command {
        let mut command = self.on_it(Command::new("srun"));
        command.args(["--quiet", "--ntasks=1"]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Number of a job that was submitted.
    pub fn sbatch(&self, words: &[&str]) -> u32 {
        let said = self.slurm("sbatch", &[&["--parsable", "--output=/dev/null"], words].concat());
        said.trim().parse().unwrap_or_else(|_| panic!("{said}"))
    }

    /// A verb of the script.
    pub fn script(&self, verb: &str, words: &[&str]) -> Output {
        let mut command = Command::new(script());
        command.arg(verb).arg(&self.dir).args(words).stdin(Stdio::null());
        command.output().expect("the script starts")
    }

    /// A command that finds the cluster.
    pub fn on_it(&self, mut command: Command) -> Command {
        command.env("SLURM_CONF", self.dir.join("slurm.conf"));
        command
    }

    /// What a command of Slurm says.
    pub fn slurm(&self, program: &str, words: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(words);
        let output = self.on_it(command).output().expect("it starts");
        assert!(output.status.success(), "{program} {words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Numbers of jobs that have not ended.
    pub fn jobs(&self) -> Vec<String> {
        let said = self.slurm("squeue", &["--noheader", "--format=%F"]);
        let mut jobs: Vec<String> = said.lines().map(|line| line.trim().to_owned()).collect();
        jobs.dedup();
        jobs
    }

    /// The process id of a node's daemon.
    pub fn daemon(&self, node: &str) -> u32 {
        let file = self.dir.join(format!("run/slurmd.{node}.pid"));
        std::fs::read_to_string(&file).expect("its number").trim().parse().expect("a number")
    }

    /// The process ids of the parents of a job's steps.
    pub fn step_parents(&self, job: u32) -> Vec<u32> {
        let is_one = |pid: &u32| {
            let read = |name: &str| text(&std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default());
            read("cmdline").starts_with(&format!("slurmstepd: [{job}."))
                && read("environ").contains(self.dir.to_str().expect("text"))
        };
        let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_one).collect()
    }

    /// Command lines of processes that name this cluster's directory or have it in their
    /// environment, and are not this test.
    fn processes(&self) -> Vec<String> {
        let dir = self.dir.to_str().expect("text").to_owned();
        let mut found = Vec::new();
        for process in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let read = |name: &str| text(&std::fs::read(process.path().join(name)).unwrap_or_default());
            if process.file_name() != *std::process::id().to_string()
                && (read("environ") + &read("cmdline")).contains(&dir)
            {
                found.push(read("cmdline").replace('\0', " "));
            }
        }
        found
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let output = self.script("stop", &[]);
        if std::thread::panicking() {
            return;
        }
        // Where Slurm is not installed there is no cluster to be stopped.
        if self.dir.join("slurm.conf").exists() {
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        let left = self.processes();
        assert!(left.is_empty(), "left behind: {left:#?}");
    }
}
