//! The words of `cargo xtask suites`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::recipe::Compiler;

/// What may be said.
const USAGE: &str = "\
cargo xtask suites OPTIONS: the OpenMP runtimes' own tests, alone and managed

  --draw N          so many cases of all, drawn by the seed (60)
  --all             all cases
  --seed N          of the draw and of the changes; without it a new one, which is said
  --only TEXT       only programs that have this in their name; several, divided by commas
  --compiler NAME   only gcc or clang
  --threads N       only this OMP_NUM_THREADS; `unset` for none
  --times N         managed runs of each case (1)
  --workers N       cases at the same time, each with a manager of its own (2)
  --seconds N       no new case after this time
  --alone-max N     programs that take more seconds alone are not counted (10)
  --command FILE    the build of numaestro (target/debug/numaestro)
  --json FILE       the report as JSON
  --list            the names of the cases, and nothing else
";

/// What was asked for.
#[derive(Debug)]
pub struct Options {
    /// Cases to draw; none: all.
    pub draw: Option<usize>,
    /// Of the draw.
    pub seed: u64,
    /// Parts of names.
    pub only: Vec<String>,
    /// One compiler.
    pub compiler: Option<Compiler>,
    /// Team sizes; `None`: what the machine has.
    pub threads: Vec<Option<u32>>,
    /// Managed runs of each case.
    pub times: u32,
    /// Cases at the same time.
    pub workers: u32,
    /// When to stop.
    pub seconds: Option<Duration>,
    /// What a program may take alone.
    pub alone_max: Duration,
    /// The build.
    pub command: PathBuf,
    /// Where to write the report.
    pub json: Option<PathBuf>,
    /// Names only.
    pub list: bool,
}

impl Options {
    /// Reads them.
    pub fn read(arguments: &[&str]) -> Result<Self> {
        if arguments.contains(&"--help") {
            bail!("{USAGE}");
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        let mut it = Self {
            draw: Some(60),
            seed: now.as_millis() as u64 % 1_000_000_007,
            only: Vec::new(),
            compiler: None,
            threads: vec![None, Some(2), Some(4), Some(8), Some(64)],
            times: 1,
            workers: 2,
            seconds: None,
            alone_max: Duration::from_secs(10),
            command: PathBuf::from("target/debug/numaestro"),
            json: None,
            list: false,
        };
        let mut words = arguments.iter();
        while let Some(&word) = words.next() {
            match word {
                "--all" => it.draw = None,
                "--list" => it.list = true,
                _ if !word.starts_with("--") => bail!("{word}?\n\n{USAGE}"),
                _ => {
                    let value = words.next().with_context(|| format!("{word} needs a value\n\n{USAGE}"))?;
                    it.set(word, value)?;
                }
            }
        }
        Ok(it)
    }

    fn set(&mut self, word: &str, value: &str) -> Result<()> {
        let number = || value.parse::<u64>().with_context(|| format!("{word} {value}: a number is needed"));
        match word {
            "--draw" => self.draw = Some(number()? as usize),
            "--seed" => self.seed = number()?,
            "--only" => self.only = value.split(',').map(str::to_owned).collect(),
            "--compiler" if value == "gcc" => self.compiler = Some(Compiler::Gcc),
            "--compiler" if value == "clang" => self.compiler = Some(Compiler::Clang),
            "--threads" if value == "unset" => self.threads = vec![None],
            "--threads" => self.threads = vec![Some(number()? as u32)],
            "--times" => self.times = number()? as u32,
            "--workers" => self.workers = (number()? as u32).max(1),
            "--seconds" => self.seconds = Some(Duration::from_secs(number()?)),
            "--alone-max" => self.alone_max = Duration::from_secs(number()?),
            "--command" => self.command = PathBuf::from(value),
            "--json" => self.json = Some(PathBuf::from(value)),
            _ => bail!("{word} {value}?\n\n{USAGE}"),
        }
        Ok(())
    }

    /// Whether a program of this name is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }
}
