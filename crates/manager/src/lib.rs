//! `numaestro daemon`, and the program that the system's service is: this process is the manager
//! until it ends. Its settings are put together here; the crate `numaestro-daemon` is the manager
//! itself.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use numaestro_abi::control::{Reply, Request, Status};
use numaestro_daemon::{Config, ConfigError, Connection, End, Loaded, Source};
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::{descriptors, signals};
use numaestro_say as say;
use serde::Serialize;

/// The log level of the system's manager unless it is told otherwise.
const SYSTEM_LOG: &str = "info";

/// The options of `numaestro daemon`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples: numaestro daemon --policy share=dss --journal run.journal\n          \
                  numaestro daemon --reserved 0 --idle-exit 0\n          \
                  numaestro daemon --system --check-config -v\n\n\
                  Settings come from $XDG_CONFIG_HOME/numaestro/config.toml and the *.toml in config.d beside it, with --system from the \
                  same names below /etc/numaestro, or from --config FILE alone; options win. `numaestro stop` or SIGTERM ends it in order.")]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Args {
    /// Be the manager of all users of this machine. Needs root.
    #[arg(long)]
    pub system: bool,
    /// Read the settings from this file only.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Only check the settings: say `ok`, or what is wrong where. With -v also what they come to,
    /// and from which file.
    #[arg(long)]
    pub check_config: bool,
    /// With --check-config: what the settings come to, for programs.
    #[arg(long, requires = "check_config")]
    pub json: bool,
    /// End after this many seconds without an application; 0 = never.
    #[arg(long, value_name = "SECONDS")]
    pub idle_exit: Option<u32>,
    /// The policy to begin with.
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<String>,
    /// Processors to manage, as a Linux list; default: all it may use.
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Processors never given out, as a Linux list.
    #[arg(long, value_name = "LIST")]
    pub reserved: Option<String>,
    /// Milliseconds a program has to vacate processors before it is folded from outside.
    #[arg(long, value_name = "MS")]
    pub grace_ms: Option<u32>,
    /// Record every event and decision here.
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Seed of the policy's random choices.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Do not look for load that is not managed.
    #[arg(long)]
    pub ignore_unmanaged: bool,
    /// For tests: believe the transaction rates in this file or pipe, one JSON object a line.
    #[arg(long, value_name = "FILE", hide = true)]
    pub inject_rates: Option<PathBuf>,
}

/// Is the manager; gives the exit code. `dir`: its runtime directory, where the user said one.
pub fn daemon(dir: Option<PathBuf>, args: &Args, verbose: u8) -> anyhow::Result<u8> {
    if std::env::var_os("LISTEN_FDS").is_none() {
        descriptors::close_inherited();
    }
    let loaded = Config::load(&source(dir, args)?).map_err(|error| wrong(&error))?;
    if args.check_config {
        return check(&loaded, args.json, verbose > 0);
    }
    let config = loaded.config;
    let usual = if config.system { SYSTEM_LOG } else { "" };
    say::start_daemon_log(verbose, if config.log.is_empty() { usual } else { &config.log });
    loaded.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    if config.system && numaestro_host::own_uid() != 0 {
        let next =
            "start it as a service: `sudo systemctl start numaestro`; without --system you get a manager of your own";
        return Err(say::Failure::error(
            say::NOT_PERMITTED,
            "only root can move the programs of all users: --system needs root",
            next,
        ));
    }
    // A program that hangs up while it is answered must not take the manager with it.
    signals::ignore_broken_pipes();
    let dir = config.dir.clone();
    match numaestro_daemon::main_loop(config)? {
        End::Orderly => Ok(say::OK),
        End::Taken => Err(taken(dir)),
    }
}

/// Nothing that was asked for has happened: not the policy, not the processors, nothing.
fn taken(dir: PathBuf) -> anyhow::Error {
    let dir = if dir.as_os_str().is_empty() { RuntimeDir::usual_path().unwrap_or_default() } else { dir };
    let who = match other(&dir) {
        Some(other) => format!(" (process {}, policy {})", other.pid, other.policy),
        None => String::new(),
    };
    let what = format!("another manager{who} runs in {}; nothing has changed", dir.display());
    let next = "`numaestro policy set POLICY` switches its policy; `numaestro stop` ends it; --dir gives this one a directory of its own";
    say::Failure::error(say::UNAVAILABLE, what, next)
}

/// What the manager of a directory says of itself.
fn other(dir: &Path) -> Option<Status> {
    match Connection::open(&RuntimeDir::open(dir).ok()?).ok()?.ask(&Request::Status).ok()? {
        Reply::Status(status) => Some(*status),
        _ => None,
    }
}

fn wrong(error: &ConfigError) -> anyhow::Error {
    let next = "`numaestro daemon --check-config` tries it again without starting anything";
    say::Failure::error(say::CONFIG, error.to_string(), next)
}

/// The files that count, and the options as the last layer over them.
fn source(dir: Option<PathBuf>, args: &Args) -> anyhow::Result<Source> {
    let mut source = match &args.config {
        Some(file) => Source::only(std::path::absolute(file)?),
        None if args.system => Source::of_system(),
        None => Source::of_user(),
    };
    source.system = args.system;
    // Without a directory in the files or options, the manager takes the usual one.
    if let Some(dir) = dir {
        source.dir = std::path::absolute(dir)?;
    }
    let options = &mut source.options;
    let mut set = |name: &str, value: Option<toml::Value>| {
        if let Some(value) = value {
            options.insert(name.to_owned(), value);
        }
    };
    let text = |value: &Option<String>| value.clone().map(toml::Value::String);
    let number = |value: Option<u32>| value.map(|value| toml::Value::Integer(value.into()));
    let path = |value: &Option<PathBuf>| -> anyhow::Result<Option<toml::Value>> {
        let Some(path) = value else { return Ok(None) };
        let path = std::path::absolute(path)?;
        let name = path.to_str().ok_or_else(|| anyhow::anyhow!("{} is not UTF-8", path.display()))?;
        Ok(Some(toml::Value::String(name.to_owned())))
    };
    set("policy", text(&args.policy));
    set("cpus", text(&args.cpus));
    set("reserved", text(&args.reserved));
    set("grace_ms", number(args.grace_ms));
    set("seed", args.seed.map(|seed| toml::Value::Integer(seed.cast_signed())));
    set("unmanaged", args.ignore_unmanaged.then_some(toml::Value::Boolean(false)));
    set("idle_exit_s", number(args.idle_exit));
    set("journal", path(&args.journal)?);
    set("inject_rates", path(&args.inject_rates)?);
    Ok(source)
}

/// For programs.
#[derive(Debug, Serialize)]
struct Checked<'a> {
    files: &'a [PathBuf],
    /// By dotted name: `FILE:LINE`, or `option`; the rest has its default.
    origins: &'a std::collections::BTreeMap<String, String>,
    warnings: &'a [String],
    system: bool,
    config: &'a Config,
}

/// `--check-config`.
fn check(loaded: &Loaded, json: bool, long: bool) -> anyhow::Result<u8> {
    let Loaded { config, files, origins, warnings } = loaded;
    if let Some((name, problem)) = config.unknown_names().into_iter().next() {
        let place = origins.iter().find(|(known, _)| **known == name || known.starts_with(&format!("{name}.")));
        let place = place.map(|(_, place)| format!("{place}: ")).unwrap_or_default();
        let next = "`getent passwd` and `getent group` show those that there are; the manager starts without it";
        return Err(say::Failure::error(say::CONFIG, format!("{place}{name}: {problem}"), next));
    }
    if json {
        let checked = Checked { files, origins, warnings, system: config.system, config };
        say::print(&format!("{}\n", serde_json::to_string_pretty(&checked)?))?;
        return Ok(say::OK);
    }
    for warning in warnings {
        say::warn(warning);
    }
    let mut text = String::from("ok\n");
    if long {
        for file in files {
            writeln!(text, "read  {}", file.display())?;
        }
        for (name, place) in origins {
            writeln!(text, "      {name}  from {place}")?;
        }
        writeln!(text, "\n{}", toml::to_string(config)?.trim_end())?;
    }
    say::print(&text)?;
    Ok(say::OK)
}
