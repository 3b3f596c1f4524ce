//! `numaestro demo`: shows the gain on this machine, with real programs, in under a minute.
//!
//! Pairs of programs that each ask for every processor, under plain Linux and under numaestro, turn
//! by turn. A taste only: `numaestro bench coexec` measures with care.

use crate::cli::DemoArgs;
use crate::say::{self, Tone, paint};
use anyhow::Context;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A plain run that takes longer is ended, and its time is a lower bound.
const RUN_MAX: Duration = Duration::from_secs(20);
/// No further rounds are begun after this; the whole is to stay under a minute.
const BUDGET: Duration = Duration::from_secs(35);
/// Length of each program alone, seconds: plain Linux may take fifty times as long.
const ALONE_S: f64 = 0.15;
/// One line for each pair: the program below the directory of the programs, its runtime, and its
/// kind of work. `scripts/install.sh` reads the same file, and installs these programs.
const PAIRS: &str = include_str!("../../../kernels/demo.txt");
/// Exit code of a program that the loader cannot load.
const LOADER_FAILED: i32 = 127;
/// Where an installed copy has them, as seen from the directory of the command.
const INSTALLED: &str = "../lib/numaestro/demo";

/// One pair and its measurements: seconds until both programs were done.
struct Pair {
    label: String,
    program: PathBuf,
    repetitions: u64,
    plain: Vec<Time>,
    managed: Vec<Time>,
}

/// Seconds, and whether the run was ended at that time.
type Time = (f64, bool);

/// The subcommand.
pub fn demo(dir: Option<&Path>, args: &DemoArgs) -> anyhow::Result<u8> {
    let kernels = kernels(args.kernels.as_deref())?;
    let me = std::env::current_exe().context("this command does not find itself")?;
    let begin = Instant::now();
    let processors = numaestro_host::affinity::get(0).map_or(1, |set| set.len());
    say::note(&format!(
        "two programs at once, each asking for all {processors} processors; {} runs of each, please wait",
        args.runs
    ));
    let mut pairs = Vec::new();
    for (path, runtime, what) in programs() {
        let program = kernels.join(path);
        if !program.is_file() {
            continue;
        }
        match calibrate(&program)? {
            Ok(repetitions) => {
                let name = path.rsplit('/').next().unwrap_or(path);
                let label = format!("{name} + {name}  {what}, {runtime}");
                pairs.push(Pair { label, program, repetitions, plain: Vec::new(), managed: Vec::new() });
            }
            Err(reason) => say::warn(&format!("{path} of the demo is left out: {reason}")),
        }
    }
    if pairs.is_empty() {
        let what = format!("none of the programs of the demo runs from {}", kernels.display());
        let next = "they need the libraries of their compilers (Debian and Ubuntu: apt install libgomp1); `make -C kernels` in numaestro's source tree builds others";
        return Err(say::Failure::error(say::FAILED, what, next));
    }
    'rounds: for _ in 0..args.runs {
        for pair in &mut pairs {
            // The first round is always whole.
            if begin.elapsed() > BUDGET && !pair.managed.is_empty() {
                break 'rounds;
            }
            pair.managed.push(race(|| managed(&me, dir, pair))?);
            pair.plain.push(race(|| plain(pair))?);
        }
    }
    say::print(&table(&pairs, say::colours(&std::io::stdout())))?;
    Ok(say::OK)
}

/// Path, runtime and kind of work of each line.
fn programs() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    PAIRS.lines().filter_map(|line| {
        let (path, rest) = line.split_once(' ')?;
        let (runtime, what) = rest.split_once(' ')?;
        Some((path, runtime, what))
    })
}

/// The built programs: as given, as installed with this command, or upwards from here or from this
/// command; built first where only their source is.
fn kernels(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        anyhow::ensure!(given.is_dir(), "{} is not a directory", given.display());
        return Ok(given.to_owned());
    }
    let here = std::env::current_dir().ok();
    let exe = std::env::current_exe().ok();
    let installed = exe.as_deref().and_then(Path::parent).map(|bin| bin.join(INSTALLED));
    if let Some(installed) = installed.filter(|place| place.is_dir()) {
        return Ok(installed);
    }
    let around = || here.iter().chain(&exe).flat_map(|place| place.ancestors());
    if let Some(source) = around().find(|place| place.join("kernels/kernel.h").is_file()) {
        say::note("building the programs of kernels/ (`make -C kernels`) where need be");
        let made = Command::new("make").arg("-s").arg("-C").arg(source.join("kernels")).stdout(Stdio::null()).status();
        if made.is_ok_and(|status| status.success()) {
            return Ok(source.join("build/kernels"));
        }
        say::warn("the programs of kernels/ do not all build; those that are there are used");
    }
    around().map(|place| place.join("build/kernels")).find(|place| place.is_dir()).ok_or_else(|| {
        let next = "go to numaestro's source tree, or name the directory with --kernels; then try `numaestro run` on a program of your own";
        say::Failure::error(say::FAILED, "the programs of the demo are not here", next)
    })
}

/// A command that sees none of the caller's thread settings.
fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if [
            "OMP_",
            "GOMP_",
            "KMP_",
            "LD_PRELOAD",
            "NUMAESTRO_ATTACH",
            "NUMAESTRO_CLASS",
            "NUMAESTRO_CPUS",
            "NUMAESTRO_POOL",
        ]
        .iter()
        .any(|p| name.to_string_lossy().starts_with(p))
        {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Repetitions that take [`ALONE_S`] alone: the most of three tries, since other load only makes
/// them fewer. An error within is the loader's: a library is not here.
fn calibrate(program: &Path) -> anyhow::Result<Result<u64, String>> {
    let place = || program.display().to_string();
    let mut most = 1;
    for _ in 0..3 {
        let out = clean(program)
            .args(["--json", "--seconds", &ALONE_S.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .with_context(place)?;
        if out.status.code() == Some(LOADER_FAILED) {
            return Ok(Err(String::from_utf8_lossy(&out.stderr).trim().to_owned()));
        }
        let report: serde_json::Value = serde_json::from_slice(&out.stdout).with_context(place)?;
        most = most.max(report["reps"].as_u64().unwrap_or(1));
    }
    Ok(Ok(most))
}

fn plain(pair: &Pair) -> Command {
    let mut command = clean(&pair.program);
    command.arg("--reps").arg(pair.repetitions.to_string());
    command
}

fn managed(me: &Path, dir: Option<&Path>, pair: &Pair) -> Command {
    let mut command = clean(me);
    if let Some(dir) = dir {
        command.arg("--dir").arg(dir);
    }
    command.args(["run", "--"]).arg(&pair.program).arg("--reps").arg(pair.repetitions.to_string());
    command
}

/// Starts two and waits for both.
fn race(make: impl Fn() -> Command) -> anyhow::Result<Time> {
    let begin = Instant::now();
    let start = || make().spawn().context("a program of the demo cannot be started");
    let mut children = vec![start()?, start()?];
    while !children.is_empty() {
        if begin.elapsed() > RUN_MAX {
            children.iter_mut().for_each(end);
            return Ok((RUN_MAX.as_secs_f64(), true));
        }
        let mut running = Vec::new();
        for mut child in children {
            match child.try_wait()? {
                None => running.push(child),
                Some(status) => anyhow::ensure!(
                    status.success(),
                    "a program of the demo failed ({status}): its result is not right"
                ),
            }
        }
        children = running;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok((begin.elapsed().as_secs_f64(), false))
}

/// Under numaestro too the child is the program itself.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The middle one; of two the better, since noise only adds.
fn median(times: &[Time]) -> Time {
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or((0.0, false))
}

fn table(pairs: &[Pair], colours: bool) -> String {
    let width = pairs.iter().map(|p| p.label.len()).max().unwrap_or(0);
    let head =
        format!("{:width$}  {:>12}  {:>12}  {:>10}", "both done after (median)", "plain Linux", "numaestro", "faster");
    let mut text = format!("{}\n", paint(&head, Tone::Strong, colours));
    for pair in pairs {
        let ((plain, limited), (managed, over)) = (median(&pair.plain), median(&pair.managed));
        let more = |mark: bool, text: String| if mark { format!("> {text}") } else { text };
        let factor = more(limited, format!("{:.1} x", plain / managed.max(1e-9)));
        let factor = if over { "-".to_owned() } else { factor };
        let (plain, managed) = (more(limited, format!("{plain:.2} s")), more(over, format!("{managed:.2} s")));
        let _ = writeln!(text, "{:width$}  {plain:>12}  {managed:>12}  {factor:>10}", pair.label);
    }
    let runs: Vec<usize> = pairs.iter().map(|p| p.managed.len()).collect();
    let _ =
        writeln!(text, "\nmedians of {} to {} runs", runs.iter().min().unwrap_or(&0), runs.iter().max().unwrap_or(&0));
    text.push_str(
        "\nNext:\n  numaestro run -- ./your-program     in two terminals\n  numaestro top                       in a third\n  numaestro bench coexec --quick      the same with more programs and rivals\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_run_is_a_lower_bound() {
        let pair = Pair {
            label: "x".into(),
            program: PathBuf::new(),
            repetitions: 1,
            plain: vec![(20.0, true), (20.0, true), (3.0, false)],
            managed: vec![(0.5, false), (0.4, false)],
        };
        let text = table(&[pair], false);
        assert!(text.contains("> 20.00 s") && text.contains("0.40 s") && text.contains("> 50.0 x"), "{text}");
    }
}
