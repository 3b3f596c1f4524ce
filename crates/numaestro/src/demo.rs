//! `numaestro demo`: shows the gain on this machine, with real programs, in under a minute.
//!
//! Pairs of programs that each ask for every processor, under plain Linux and under numaestro, turn
//! by turn. A taste only: `numaestro bench coexec` measures with care.

use crate::cli::DemoArgs;
use crate::environment::OFF;
use crate::say::{self, Tone, paint};
use anyhow::Context;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A plain run that takes longer is ended, and its time is a lower bound.
const RUN_MAX: Duration = Duration::from_secs(20);
/// No further rounds are begun after this; the whole is to stay under a minute.
const BUDGET: Duration = Duration::from_secs(35);
/// Length of each program alone, seconds: plain Linux may take fifty times as long.
const ALONE_S: f64 = 0.15;
/// Compiler, runtime, program, its kind of work, and the program itself, of all that could be built
/// together with this command.
static PROGRAMS: &[(&str, &str, &str, &str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/demo.rs"));
/// Exit code of a program that the loader cannot load.
const LOADER_FAILED: i32 = 127;

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
    let own = if args.kernels.is_none() { Some(unpacked(dir)?) } else { None };
    let kernels = own.as_ref().map_or_else(|| args.kernels.clone().unwrap_or_default(), |own| own.path().to_owned());
    let me = std::env::current_exe().context("this command does not find itself")?;
    let begin = Instant::now();
    let processors = numaestro_host::affinity::get(0).map_or(1, |set| set.len());
    say::note(&format!(
        "two programs at once, each asking for all {processors} processors; {} runs of each, please wait",
        args.runs
    ));
    let mut pairs = Vec::new();
    for (compiler, runtime, name, what, _) in PROGRAMS {
        let program = kernels.join(compiler).join(name);
        if !program.is_file() {
            continue;
        }
        match calibrate(&program)? {
            Ok(repetitions) => {
                let label = format!("{name} + {name}  {what}, {runtime}");
                pairs.push(Pair { label, program, repetitions, plain: Vec::new(), managed: Vec::new() });
            }
            Err(reason) => say::warn(&format!("{name} with {runtime} is left out: {reason}")),
        }
    }
    if pairs.is_empty() {
        let next =
            "install libgomp (Debian and Ubuntu: apt install libgomp1), or name a directory with programs by --kernels";
        return Err(say::Failure::error(say::FAILED, "none of the programs of the demo runs here", next));
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

/// The programs in a directory of their own, which goes at the end: where
/// programs may be started.
fn unpacked(dir: Option<&Path>) -> anyhow::Result<tempfile::TempDir> {
    let runtime = dir.map_or_else(numaestro_host::rundir::RuntimeDir::default_path, Path::to_owned);
    let mut refusals = Vec::new();
    for place in [Some(std::env::temp_dir()), Some(runtime), crate::shim::cache()].into_iter().flatten() {
        match unpack_into(&place) {
            Ok(unpacked) => return Ok(unpacked),
            Err(error) => refusals.push(format!("{}: {error:#}", place.display())),
        }
    }
    let next = "set TMPDIR to a directory that is writable and not mounted noexec";
    let what = format!("the programs of the demo can be put nowhere ({})", refusals.join("; "));
    Err(say::Failure::error(say::FAILED, what, next))
}

fn unpack_into(place: &Path) -> anyhow::Result<tempfile::TempDir> {
    let flags = rustix::fs::statvfs(place)?.f_flag;
    anyhow::ensure!(!flags.contains(rustix::fs::StatVfsMountFlags::NOEXEC), "mounted noexec");
    let unpacked = tempfile::Builder::new().prefix("numaestro-demo-").tempdir_in(place)?;
    for (compiler, _, name, _, bytes) in PROGRAMS {
        let directory = unpacked.path().join(compiler);
        std::fs::create_dir_all(&directory)?;
        let mut file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(directory.join(name))?;
        file.write_all(bytes)?;
    }
    Ok(unpacked)
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
    // Also where the demo itself runs below a manager.
    command.env(OFF, "1").stdin(Stdio::null()).stdout(Stdio::null());
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
