//! The launcher's command line.

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};
use numaestro_guest::boot::{self, Ending, Place};
use numaestro_guest::packing::{self, Job};
use numaestro_guest::qemu::Settings;
use numaestro_guest::shape::Shape;
use numaestro_guest::{inside, plan, record};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  numaestro-guest run --nodes 4x2:256 -- cat /sys/devices/system/node/online
  numaestro-guest run --nodes 2x2:256 --distances '10,15;25,10' -- sh -c 'cat /sys/devices/system/node/node*/distance'
  numaestro-guest run --nodes 3:256,0:256,1:0 --append maxcpus=2 --program target/debug/numaestro -- numaestro topo
  numaestro-guest run --nodes @0+2:256,@1+3:256 --file ./data=/job/data -- sh
  numaestro-guest test                       all boots with their scenarios, but for those that take long
  numaestro-guest test --boot four --only shape
  numaestro-guest test --only validate-      live managers beside the simulator; an hour
  numaestro-guest record 2:256,0:256 testdata/machines/new

A shape is a list of nodes CPUS:MB. 4x2:256 = four nodes of two processors; 0:256 = only memory; 2:0 = no memory;
@0+4-5:256 = the numbers of the processors.

Exit codes of `run`: the command's own; 124 it hung, 125 the guest's kernel died (twice),
126 QEMU refused the shape or arguments; 77 there can be no guests on this machine; 1 something else, 2 wrong usage.";

/// Linux guests with several NUMA nodes, emulated, for tests.
#[derive(Debug, Parser)]
#[command(name = "numaestro-guest", version, after_help = AFTER_HELP, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run a command in a guest.
    Run(RunArgs),
    /// Run the scenarios in the guests they are made for.
    Test(TestArgs),
    /// Write what a guest's /sys says of its machine into DIR, as testdata/machines keeps it.
    Record(RecordArgs),
    /// Fetch QEMU, a kernel and busybox now (every other command does it when they are missing).
    Fetch,
    /// Become QEMU, and end when the launcher does.
    #[command(hide = true)]
    Guarded {
        parent: u32,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
struct Common {
    /// Where what is fetched is kept.
    #[arg(long, value_name = "DIR", default_value = "build/guest")]
    cache: PathBuf,
    /// All processors of a guest take turns in one thread: steadier on a busy machine, but nothing
    /// is truly at once.
    #[arg(long)]
    single: bool,
    /// Leave the guest's files and its console behind, for a look.
    #[arg(long)]
    keep: bool,
    /// Print the kernel's messages.
    #[arg(long)]
    console: bool,
    /// Seconds after which a guest is given up [default: 480; `test` gives some guests more].
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

#[derive(Debug, Args)]
struct ShapeArgs {
    /// Distances, row by row: '10,20;20,10'.
    #[arg(long, value_name = "ROWS", default_value = "")]
    distances: String,
    /// Hardware threads of a core.
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads_per_core: u32,
    /// An argument for the kernel, such as maxcpus=4 or isolcpus=2-3; may be repeated.
    #[arg(long, value_name = "WORD")]
    append: Vec<String>,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    common: Common,
    /// The nodes, as CPUS:MB.
    #[arg(long, value_name = "SHAPE", default_value = "2x2:256")]
    nodes: String,
    #[command(flatten)]
    shape: ShapeArgs,
    /// A program to put in, with its libraries; may be repeated.
    #[arg(long, value_name = "FILE")]
    program: Vec<PathBuf>,
    /// A file to put in; may be repeated.
    #[arg(long, value_name = "FILE=PATH")]
    file: Vec<String>,
    /// What to run there.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct TestArgs {
    #[command(flatten)]
    common: Common,
    /// Only this guest.
    #[arg(long, value_name = "NAME")]
    boot: Option<String>,
    /// Only scenarios whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// List guests and scenarios.
    #[arg(long)]
    list: bool,
    /// The command that is tested. The release build: an emulated machine has no time for another.
    #[arg(long, value_name = "FILE", default_value = "target/release/numaestro")]
    numaestro: PathBuf,
    /// Directory with the guests' own programs.
    #[arg(long, value_name = "DIR", default_value = "target/debug")]
    programs: PathBuf,
    /// Directory with the load programs.
    #[arg(long, value_name = "DIR", default_value = "build/kernels/gcc")]
    kernels: PathBuf,
}

#[derive(Debug, Args)]
struct RecordArgs {
    #[command(flatten)]
    common: Common,
    /// The nodes, as CPUS:MB.
    nodes: String,
    /// Where to.
    directory: PathBuf,
    #[command(flatten)]
    shape: ShapeArgs,
    /// A command of the shell to run before, such as taking a processor offline.
    #[arg(long, value_name = "COMMAND", default_value = ":")]
    before: String,
}

fn main() -> ExitCode {
    match act(Cli::parse().command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("numaestro-guest: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn act(action: Action) -> Result<u8> {
    match action {
        Action::Guarded { parent, command } => boot::become_guarded(parent, &command).map(|()| 0),
        Action::Fetch => fetch(&PathBuf::from("build/guest")),
        Action::Run(args) => run(&args),
        Action::Test(args) => test(&args),
        Action::Record(args) => recorded(&args),
    }
}

/// Runs `fetch.sh` unless it has filled the directory before: 0, or its exit code.
fn fetch(directory: &PathBuf) -> Result<u8> {
    if directory.join("versions").exists() {
        return Ok(0);
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fetch.sh");
    let directory = std::path::absolute(directory)?;
    let status = Command::new(&script).arg(directory).status().with_context(|| script.display().to_string())?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

impl Common {
    fn place(&self) -> Place {
        Place { directory: self.cache.clone(), keep: self.keep, console: self.console }
    }

    fn settings(&self, append: &[String]) -> Settings {
        Settings { append: append.to_vec(), single_thread: self.single }
    }
}

fn run(args: &RunArgs) -> Result<u8> {
    let shape = Shape::parse(&args.nodes, &args.shape.distances, args.shape.threads_per_core)?;
    let mut job = Job { command: args.command.clone(), programs: args.program.clone(), ..Job::default() };
    for file in &args.file {
        let (from, to) = file.split_once('=').with_context(|| format!("--file {file}: FILE=PATH is expected"))?;
        job.files.push((PathBuf::from(from), to.to_owned()));
    }
    let code = fetch(&args.common.cache)?;
    if code != 0 {
        return Ok(code);
    }
    run_job(&args.common, (&shape, plan::SECONDS), &args.shape.append, &job, || Box::new(std::io::stdout()))
}

/// Runs a guest; one whose kernel died is tried once more.
fn run_job(
    common: &Common,
    (shape, seconds): (&Shape, u64),
    append: &[String],
    job: &Job,
    output: impl Fn() -> Box<dyn std::io::Write + Send>,
) -> Result<u8> {
    let place = common.place();
    let initial = packing::pack(&place.directory.join("root"), &place.directory.join("stripped"), shape, job)?;
    let settings = common.settings(append);
    for attempt in ["trying once more", "giving up"] {
        let seconds = common.timeout.unwrap_or(seconds);
        let limit = Duration::from_secs(seconds);
        match boot::run(&place, shape, &settings, &initial, limit, output())? {
            Ending::Exit(code) => return Ok(code),
            Ending::Hung(console) => {
                show(&console);
                eprintln!("guest: not over after {seconds} s, ended; the console's last lines are above");
                return Ok(124);
            }
            Ending::Died(console) => {
                show(&console);
                eprintln!("guest: its kernel died, {attempt}; the console's last lines are above");
            }
            Ending::Refused(reason) => {
                eprintln!("guest: QEMU does not take it: {reason}");
                return Ok(126);
            }
        }
    }
    Ok(125)
}

fn show(console: &[String]) {
    for line in console {
        eprintln!("console: {line}");
    }
}

fn test(args: &TestArgs) -> Result<u8> {
    if args.list {
        print!("{}", plan::listing());
        return Ok(0);
    }
    let boots = boots(args)?;
    let code = fetch(&args.common.cache)?;
    if code != 0 {
        return Ok(code);
    }
    let mut worst = 0;
    for boot in boots {
        let shape = Shape::parse(boot.nodes, boot.distances, boot.threads_per_core)?;
        let append: Vec<String> = boot.append.iter().map(|&word| word.to_owned()).collect();
        let job = plan::job(boot, args.only.as_deref(), &args.numaestro, &args.programs, &args.kernels)?;
        println!("\nguest {}: {}", boot.name, boot.what);
        let begun = std::time::Instant::now();
        let code = run_job(&args.common, (&shape, boot.seconds), &append, &job, || Box::new(std::io::stdout()))?;
        println!("guest {}: over after {} s", boot.name, begun.elapsed().as_secs());
        if code > 1 {
            // The guest could not say how many scenarios failed.
            println!("test result: FAILED. 0 passed; 1 failed; 0 ignored: the guest {} ended with {code}", boot.name);
        }
        worst = worst.max(code);
    }
    Ok(worst)
}

/// The guests to boot: those that have a chosen scenario. A guest that takes long is left out
/// unless the user names guests or scenarios.
fn boots(args: &TestArgs) -> Result<Vec<&'static plan::Boot>> {
    let only = args.only.as_deref().unwrap_or_default();
    let named = |boot: &&plan::Boot| args.boot.as_ref().is_none_or(|name| name == boot.name);
    let chosen = |boot: &&plan::Boot| inside::chosen(boot.name, only).next().is_some();
    let boots: Vec<_> = plan::BOOTS.iter().filter(named).filter(chosen).collect();
    ensure!(!boots.is_empty(), "there is no such guest or scenario; numaestro-guest test --list names them");
    let (long, short): (Vec<_>, Vec<_>) = boots.into_iter().partition(|boot| boot.takes_long());
    if args.boot.is_some() || args.only.is_some() {
        return Ok([short, long].concat());
    }
    for boot in long {
        println!("guest {}: left out because it takes long; `make test-numa BOOT={}` runs it", boot.name, boot.name);
    }
    Ok(short)
}

fn recorded(args: &RecordArgs) -> Result<u8> {
    let shape = Shape::parse(&args.nodes, &args.shape.distances, args.shape.threads_per_core)?;
    let code = fetch(&args.common.cache)?;
    if code != 0 {
        return Ok(code);
    }
    let job = record::job(&args.before);
    let collected = record::Collected::default();
    let code =
        run_job(&args.common, (&shape, plan::SECONDS), &args.shape.append, &job, || Box::new(collected.again()))?;
    if code == 0 {
        record::write(&args.directory, &collected.text()?)?;
    }
    Ok(code)
}
