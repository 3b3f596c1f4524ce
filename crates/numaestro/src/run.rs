//! `numaestro run`: asks for processors, then becomes the program.
//!
//! If anything goes wrong with the manager, the program still runs: with one warning, and as it
//! would have run without us.

use crate::class::ClassArg;
use crate::cli::{FoldArg, JobserverArg, LibraryRule, PoolArg, RunArgs, WishArgs, milli};
use crate::environment::{Environment, Told};
use crate::jobserver;
use crate::manager::{self, Manager};
use crate::{place, profile, say, shim, target};
use numaestro_abi::control::{Class, Options, Reply, Request, Run};
use numaestro_host::HostError;
use numaestro_host::exec;
use numaestro_host::image::{self, Image, Kind};
use rustix::io::Errno;
use std::ffi::{CString, OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Managers that may be killed while one program waits.
const LOSSES_MOST: u32 = 20;
/// Longest wait for the next manager.
const NEXT_PATIENCE: Duration = Duration::from_secs(10);
const NEXT_PAUSE: Duration = Duration::from_millis(100);

/// The command to start, and its options.
#[derive(Debug)]
pub struct Plan {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Wishes to the manager.
    pub options: Options,
    /// The class, where the user or a profile named one.
    pub class: Option<&'static str>,
    /// The party that switches between threads, where the user or a profile named one.
    pub fold: Option<FoldArg>,
    /// Rules for libraries in the program, from its profile.
    pub libraries: Vec<LibraryRule>,
    /// What pools are sized for, where the user or a profile said so.
    pub pool: Option<PoolArg>,
    /// Whether builds follow their processors, where the user said so.
    pub jobserver: Option<JobserverArg>,
    /// Further entries of the environment.
    pub extra: Vec<(&'static str, OsString)>,
}

/// The subcommand, but for `--dry-run`.
pub fn run(dir: Option<PathBuf>, args: &RunArgs) -> anyhow::Result<u8> {
    let (path, plan) = planned(args)?;
    start(dir, &path, &plan)
}

/// The program's file, and what is wished for it.
pub fn planned(args: &RunArgs) -> anyhow::Result<(PathBuf, Plan)> {
    let wait = match (args.wait, args.no_wait) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let path = target::find(&args.command[0], std::env::var_os("PATH"))?;
    let mut plan = Plan::new(args.command.clone(), &path, &args.wish, args.fold.fold, wait)?;
    plan.options.estimate_ns = args.time;
    plan.pool = args.pool.pool.or(plan.pool);
    plan.jobserver = args.jobserver.jobserver;
    Ok((path, plan))
}

impl Plan {
    /// The options of the command line, completed by the program's profile.
    pub fn new(
        command: Vec<OsString>,
        path: &Path,
        wish: &WishArgs,
        fold: Option<FoldArg>,
        wait: Option<bool>,
    ) -> anyhow::Result<Self> {
        let mut wish = wish.clone();
        let own = profile::find(path);
        if let Some((key, own)) = &own {
            tracing::info!("profile `{key}`: {own}");
            own.complete(&mut wish);
        }
        let own = own.map(|(_, own)| own).unwrap_or_default();
        let (fold, libraries, pool) = (fold.or_else(|| own.folding()), own.rules(), own.pool());
        let mut options = options(&wish)?;
        options.wait = wait;
        if options.name.is_empty() {
            options.name = command.first().map(|c| base_name(c)).unwrap_or_default();
        }
        let class = wish.class.map(ClassArg::word);
        Ok(Self { command, class, fold, libraries, pool, options, jobserver: None, extra: Vec::new() })
    }
}

/// Wishes as the manager takes them.
pub fn options(wish: &WishArgs) -> anyhow::Result<Options> {
    if let (Some(min), Some(max)) = (wish.min, wish.max)
        && min > max
    {
        let what = format!("--min {min} is more than --max {max}");
        return Err(say::Failure::error(say::USAGE, what, "give a --min that is not above --max"));
    }
    Ok(Options {
        name: wish.name.clone().unwrap_or_default(),
        min: wish.min,
        max: wish.max,
        weight_milli: wish.weight.map(milli),
        class: wish.class.map_or(Class::Auto, ClassArg::class),
        wait: None,
        estimate_ns: None,
        memory: wish.mem,
        btr: wish.btr,
        jobserver: None,
        allowed: String::new(),
    })
}

fn base_name(command: &OsStr) -> String {
    Path::new(command).file_name().unwrap_or(command).to_string_lossy().into_owned()
}

/// Asks the manager, then becomes the program at `path`. Returns only if the program cannot be
/// executed or is refused.
pub fn start(dir: Option<PathBuf>, path: &Path, plan: &Plan) -> anyhow::Result<u8> {
    let mut environment = Environment::new(exec::environment());
    let all = place::processors();
    let image = look(path, plan);
    if let (Kind::Rights, Err(why)) = (image.kind, image.takes_preload()) {
        // No manager of the user's can move it, and the one of all users does not: its processors
        // would be its own for life, and those of all that it starts.
        let next = "start numaestro with those rights, inside of it";
        say::warn(&format!("{} runs without numaestro: {why} ({next})", plan.options.name));
        let dir = manager::directory(dir).unwrap_or_default();
        place::begin_on_allowed(&mut environment, &dir, image);
        return Err(become_program(path, &plan.command, &environment));
    }
    let offer = jobserver::offer(plan.jobserver, path, &plan.command, &environment);
    // Until `execve`: the program inherits it.
    let pipe = offer.pipe();
    let jobserver = jobserver::wish(&offer, pipe.as_ref());
    let options = Options { jobserver, allowed: environment.allowed(&all), ..plan.options.clone() };
    match admitted(dir, plan, &options) {
        // The manager has moved this process before it answered. Doing so here too could undo a
        // newer decision.
        Ok((dir, start)) => {
            place::place_memory(start.memory.as_deref());
            let mut changes = manage(&mut environment, &dir, &all, Some(&image), plan, start.most);
            changes.extend(place::begin_on_allowed(&mut environment, &dir, image));
            jobserver::forget(&mut environment);
            if let Some(pipe) = pipe.as_ref().filter(|_| start.jobserver) {
                changes.extend(pipe.announce(&mut environment, &all));
            }
            for change in changes {
                tracing::info!("{change}");
            }
        }
        Err(error) if is_final(&error, plan) => {
            say::failed(&error);
            return Ok(say::RUN_REFUSED);
        }
        Err(error) => {
            // Below another `run` that is still managed it stays on that one's share.
            place::restore(if manager::has_gone(&error) { &options.allowed } else { &all });
            let next = error.downcast_ref::<say::Failure>().map_or("", |f| f.next.as_str());
            let next = match next {
                "" if no_room(&error) => "`ulimit -u` leaves no room for the manager's processes",
                "" => "see `numaestro doctor`",
                next => next,
            };
            say::warn(&format!("{} runs without numaestro: {error:#} ({next})", plan.options.name));
        }
    }
    Err(become_program(path, &plan.command, &environment))
}

/// The limit of processes is reached.
fn no_room(error: &anyhow::Error) -> bool {
    let full = |cause: &HostError| cause.errno() == Some(Errno::AGAIN.raw_os_error());
    error.chain().any(|cause| cause.downcast_ref::<HostError>().is_some_and(full))
}

/// A refusal of something the user demanded ends it; every other trouble lets the program run
/// unmanaged.
fn is_final(error: &anyhow::Error, plan: &Plan) -> bool {
    let refused = error.downcast_ref::<say::Failure>().is_some_and(|f| f.code == say::REFUSED);
    refused && (plan.options.min.is_some() || plan.options.wait.is_some())
}

/// Waits until the manager lets the program start; gives the runtime directory, and the manager's
/// word on the start.
fn admitted(dir: Option<PathBuf>, plan: &Plan, options: &Options) -> anyhow::Result<(PathBuf, Start)> {
    let dir = manager::directory(dir)?;
    let mut manager = Manager::started(&dir)?;
    let mut lost = 0;
    loop {
        if let Answer::Start(start) = asked(&mut manager, plan, options, lost > 0)? {
            return Ok((dir, start));
        }
        // Nobody manages this process now. It may have waited on the processors of its first turn,
        // or have begun on those of an outer `run`.
        place::restore(&options.allowed);
        // A place in the queue outlives the manager: the next one has read it from the state file.
        tracing::info!("the manager has gone; its queue goes on in the next one");
        lost += 1;
        anyhow::ensure!(lost <= LOSSES_MOST, "one manager after the other ends while the program waits");
        manager = next_manager(&dir)?;
    }
}

/// The manager after one that was killed. The system's is started by the system, which takes its
/// time.
fn next_manager(dir: &Path) -> anyhow::Result<Manager> {
    let until = Instant::now() + NEXT_PATIENCE;
    loop {
        match Manager::started(dir) {
            Err(_) if Instant::now() < until => std::thread::sleep(NEXT_PAUSE),
            outcome => return outcome,
        }
    }
}

/// The manager's word on a program that may start.
struct Start {
    /// The most processors that it can ever have, if the manager says so.
    most: Option<u32>,
    /// Its memory policy.
    memory: Option<String>,
    /// The manager supplies its jobserver.
    jobserver: bool,
}

/// The manager's answer.
enum Answer {
    Start(Start),
    /// None: it has gone while the program waited in its queue.
    Gone,
}

/// Asks, and waits as long as it takes. `waited`: it has a place in the queue already, which no
/// death of a manager may cost it.
fn asked(manager: &mut Manager, plan: &Plan, options: &Options, waited: bool) -> anyhow::Result<Answer> {
    let command = plan.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut reply = match manager.ask(&Request::Run(Run { command, options: options.clone() })) {
        Err(error) if waited && manager::has_gone(&error) => return Ok(Answer::Gone),
        answer => answer?,
    };
    let terminal = std::io::stderr().is_terminal();
    let mut shown = false;
    loop {
        match reply {
            Reply::Run { app, cpus, count, most, memory, jobserver } => {
                if shown {
                    eprint!("\r\x1b[K");
                }
                tracing::info!("application {app}: {}, {cpus}", say::counted(count as usize, "processor"));
                manager.permit_to_stop();
                return Ok(Answer::Start(Start { most, memory, jobserver }));
            }
            Reply::Waiting { app, position } => {
                tracing::info!("application {app} waits, position {position}");
                if terminal {
                    eprint!("\r\x1b[Knumaestro: waiting, position {position} (Ctrl-C leaves the queue)");
                    shown = true;
                }
            }
            Reply::Ended => {
                let what = "the manager was stopped while the program waited";
                return Err(say::Failure::error(say::UNAVAILABLE, what, "the next `numaestro run` starts another one"));
            }
            other => return Err(manager::unexpected(&other)),
        }
        match manager.next_in_queue()? {
            Some(next) => reply = next,
            None => return Ok(Answer::Gone),
        }
    }
}

/// Looks at the program as the stub does at what a program starts.
pub fn look(path: &Path, plan: &Plan) -> Image {
    let libraries = LibraryRule::list(&plan.libraries).map(OsString::from);
    let rules = libraries.or_else(|| std::env::var_os("NUMAESTRO_LIBRARIES"));
    image::look(path, std::env::var_os("LD_LIBRARY_PATH").as_deref(), rules.as_deref())
}

/// A static program hands the libraries on to what it starts.
fn takes_files(image: Image) -> bool {
    image.takes_preload().is_ok() || image.kind == Kind::Static
}

/// Everything that the environment needs; a sentence for each change. `image`: the program; `None`
/// if it is not known.
pub fn manage(
    environment: &mut Environment,
    dir: &Path,
    all: &str,
    image: Option<&Image>,
    plan: &Plan,
    most: Option<u32>,
) -> Vec<String> {
    let told = told(plan, most);
    let preload = shim::locate(dir)
        .inspect_err(|error| say::warn(&format!("without the shim it is steered by affinity only: {error:#}")))
        .ok();
    let files =
        preload.as_ref().filter(|_| image.is_none_or(|image| takes_files(*image))).map(|preload| preload.files(image));
    let mut changes = environment.prepare(&dir.join("attach"), all, &files.unwrap_or_default(), &told);
    match image.map(Image::takes_preload) {
        Some(Err(why)) => tracing::info!("no shim: {why}; its threads are kept on its processors by affinity"),
        _ => changes.extend(image.filter(|image| image.sanitizer).and_then(|_| environment.calm_sanitizer())),
    }
    for (name, value) in &plan.extra {
        environment.set(name, value);
    }
    changes
}

/// The user's wishes to the shim in the program.
pub fn told(plan: &Plan, most: Option<u32>) -> Told {
    let (fold, libraries) = (plan.fold.map(FoldArg::word), LibraryRule::list(&plan.libraries));
    Told { class: plan.class, fold, libraries, pool: plan.pool, terminal: terminal(), most }
}

/// Advice is for whoever looks at this command's own terminal: what a program makes for itself
/// (`script`, `expect`) belongs to its output.
fn terminal() -> Option<String> {
    let stderr = rustix::stdio::stderr();
    let device = rustix::termios::isatty(stderr).then(|| rustix::fs::fstat(stderr).ok())?;
    device.map(|status| status.st_rdev.to_string())
}

/// `execve`, with `execvp`'s rule that a file the kernel does not know is a script for `/bin/sh`.
fn become_program(path: &Path, command: &[OsString], environment: &Environment) -> anyhow::Error {
    let words: Result<Vec<CString>, _> = command.iter().map(|word| CString::new(word.as_bytes())).collect();
    let (Ok(words), Ok(file)) = (words, CString::new(path.as_os_str().as_bytes())) else {
        return say::Failure::error(say::USAGE, "an argument has a zero byte in it", "leave it out");
    };
    let mut error = exec::execute(&file, &words, environment.entries());
    if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) {
        let mut script = vec![c"/bin/sh".to_owned(), file];
        script.extend(words.into_iter().skip(1));
        error = exec::execute(c"/bin/sh", &script, environment.entries());
    }
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let next = if missing {
        "its interpreter or dynamic loader is missing: see the first line of the script, or `file`"
    } else {
        ""
    };
    let code = if missing { say::NOT_FOUND } else { say::NOT_EXECUTABLE };
    say::Failure::error(code, format!("{}: {error}", path.display()), next)
}
