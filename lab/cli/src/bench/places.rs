//! Finds the programs of the mixes: built kernels, the Python of the user's choice, the Rust
//! examples, the scripts.
//!
//! It starts nothing but `python -c "import …"`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::mix::{Program, Runtime};

/// The places, as found at the start.
#[derive(Debug, Clone)]
pub struct Places {
    /// Has `gcc/` and `clang/` in it.
    pub kernels: Option<PathBuf>,
    /// Has the Python scripts and C programs of the benchmarks in it.
    pub programs: Option<PathBuf>,
    /// Has the built Rust examples in it.
    pub examples: PathBuf,
    /// Pythons that may have the needed modules, best first.
    pub pythons: Vec<PathBuf>,
    /// By modules: the first of them that has them, or why there is none; looked for when first
    /// needed.
    importing: RefCell<BTreeMap<&'static str, Result<PathBuf, String>>>,
    /// The command under test.
    pub numaestro: PathBuf,
}

/// A command line without its environment: program and first arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The executable.
    pub executable: PathBuf,
    /// Arguments before the benchmark's own.
    pub arguments: Vec<String>,
}

impl Places {
    /// Looks around: `kernels`, `python` and `numaestro` as the user gave them, else upwards from
    /// the working directory and from `numaestro`.
    pub fn find(kernels: Option<&Path>, python: Option<&Path>, numaestro: PathBuf) -> Self {
        let near = |what: &str| {
            let here = std::env::current_dir().ok();
            here.as_deref().and_then(|dir| upwards(dir, what)).or_else(|| upwards(&numaestro, what))
        };
        let pythons: Vec<PathBuf> = match python {
            Some(path) => vec![path.to_owned()],
            None => near("build/venv/bin/python").into_iter().chain([PathBuf::from("python3")]).collect(),
        };
        let examples = numaestro.parent().map(|dir| dir.join("examples")).filter(|dir| dir.exists());
        Self {
            kernels: kernels.map(Path::to_owned).or_else(|| near("build/kernels")),
            programs: near("lab/bench/programs"),
            examples: examples.or_else(|| near("target/release/examples")).unwrap_or_default(),
            pythons,
            importing: RefCell::default(),
            numaestro,
        }
    }

    /// The command line of `program`, or one sentence with the reason why it cannot be run here,
    /// and the remedy.
    pub fn command(&self, program: &Program) -> Result<CommandLine, String> {
        if let Some(name) = program.name.strip_suffix(LATE) {
            let mut line = self.command(&Program { name: name.to_owned(), ..program.clone() })?;
            line.arguments.push("--late".to_owned());
            return Ok(line);
        }
        match program.runtime {
            Runtime::Gcc | Runtime::Clang => {
                let kernels =
                    self.kernels.as_ref().ok_or("no directory build/kernels here or above: run `make kernels`")?;
                existing(kernels.join(program.runtime.name()).join(&program.name), "run `make kernels`")
            }
            Runtime::Rust => existing(self.examples.join(format!("load-{}", program.name)), "run `make examples`"),
            Runtime::Python => {
                let modules = if program.name == "learn" { "sklearn" } else { "numpy" };
                self.python(modules, &format!("{}.py", program.name), &[])
            }
            Runtime::Library => self.python(modules_of(&program.name), "library.py", &[&program.name]),
        }
    }

    /// A script with its first arguments, by a Python that has these modules.
    fn python(&self, modules: &'static str, script: &str, arguments: &[&str]) -> Result<CommandLine, String> {
        let mut known = self.importing.borrow_mut();
        let executable = known.entry(modules).or_insert_with(|| importing(modules, &self.pythons)).clone()?;
        let script = self.script(script)?.to_string_lossy().into_owned();
        let arguments = std::iter::once(script).chain(arguments.iter().map(|&argument| argument.to_owned())).collect();
        Ok(CommandLine { executable, arguments })
    }

    /// The file `name` of `lab/bench/programs`.
    pub fn script(&self, name: &str) -> Result<PathBuf, String> {
        let programs = self
            .programs
            .as_ref()
            .ok_or("no directory lab/bench/programs here or above: start it in the source tree")?;
        existing(programs.join(name), "start it in the source tree").map(|line| line.executable)
    }

    /// The programs that can be run, with their command lines, and the others, with the reason.
    pub fn sort(&self, programs: &[Program]) -> (BTreeMap<Program, CommandLine>, BTreeMap<Program, String>) {
        let (mut found, mut missing) = (BTreeMap::new(), BTreeMap::new());
        for program in programs {
            match self.command(program) {
                Ok(line) => drop(found.insert(program.clone(), line)),
                Err(reason) => drop(missing.insert(program.clone(), reason)),
            }
        }
        (found, missing)
    }
}

/// The end of the name of a program that begins with its second phase.
const LATE: &str = "-late";

/// The modules that a workload of `library.py` needs.
fn modules_of(workload: &str) -> &'static str {
    match workload {
        "torch" | "torch-small" => "torch",
        "xgboost" => "xgboost",
        "lightgbm" => "lightgbm",
        "numba-tbb" => "numba.np.ufunc.tbbpool",
        "polars" => "polars",
        "duckdb" => "duckdb",
        _ => "numba",
    }
}

fn existing(path: PathBuf, remedy: &str) -> Result<CommandLine, String> {
    if path.exists() {
        Ok(CommandLine { executable: path, arguments: Vec::new() })
    } else {
        Err(format!("{} is missing: {remedy}", path.display()))
    }
}

fn upwards(from: &Path, what: &str) -> Option<PathBuf> {
    from.ancestors().map(|dir| dir.join(what)).find(|path| path.exists())
}

fn importing(module: &str, candidates: &[PathBuf]) -> Result<PathBuf, String> {
    let imports = |python: &&PathBuf| {
        let mut command = Command::new(python);
        command.args(["-c", &format!("import {module}")]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    candidates.iter().find(imports).cloned().ok_or_else(|| {
        format!("no Python that can `import {module}`: name one with --python or $NUMAESTRO_PYTHON, or make build/venv")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_a_remedy() {
        let nowhere = Path::new("/nonexistent");
        let places = Places::find(Some(nowhere), Some(nowhere), PathBuf::from("/nonexistent/bin/numaestro"));
        for (runtime, name) in [(Runtime::Gcc, "sor"), (Runtime::Python, "matmul"), (Runtime::Rust, "no-such-load")] {
            let program = Program { name: name.to_owned(), runtime };
            let reason = places.command(&program).expect_err("nothing is there");
            assert!(
                reason.contains("run `") || reason.contains("--python") || reason.contains("source tree"),
                "{reason}"
            );
        }
    }

    #[test]
    fn an_executable_is_found_upwards() {
        assert_eq!(upwards(Path::new("/usr/share/doc"), "bin/sh"), Some(PathBuf::from("/usr/bin/sh")));
        assert_eq!(upwards(Path::new("/"), "no such file"), None);
    }
}
