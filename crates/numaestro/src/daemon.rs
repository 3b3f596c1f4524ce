//! `numaestro daemon`: this process is the manager until it ends. This file puts its settings
//! together; the crate `numaestro-daemon` is the manager itself.

use std::fmt::Write;
use std::path::PathBuf;

use numaestro_daemon::{Config, ConfigError, End, Loaded, Source};
use numaestro_host::{descriptors, signals};
use serde::Serialize;

use crate::cli::DaemonArgs;
use crate::{manager, say};

/// The log level of the system's manager unless it is told otherwise.
const SYSTEM_LOG: &str = "info";

/// The subcommand.
pub fn daemon(dir: Option<PathBuf>, args: &DaemonArgs, verbose: u8) -> anyhow::Result<u8> {
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
    let dir = if dir.as_os_str().is_empty() { manager::directory(None).unwrap_or_default() } else { dir };
    let who = match manager::Manager::reach(&dir).ok().and_then(|mut other| other.status().ok()) {
        Some(other) => format!(" (process {}, policy {})", other.pid, other.policy),
        None => String::new(),
    };
    let what = format!("another manager{who} runs in {}; nothing has changed", dir.display());
    let next = "`numaestro policy set POLICY` switches its policy; `numaestro stop` ends it; --dir gives this one a directory of its own";
    say::Failure::error(say::UNAVAILABLE, what, next)
}

fn wrong(error: &ConfigError) -> anyhow::Error {
    let next = "`numaestro daemon --check-config` tries it again without starting anything";
    say::Failure::error(say::CONFIG, error.to_string(), next)
}

/// The files that count, and the options as the last layer over them.
fn source(dir: Option<PathBuf>, args: &DaemonArgs) -> anyhow::Result<Source> {
    let mut source = match &args.config {
        Some(file) => Source::only(std::path::absolute(file)?),
        None if args.system => Source::of_system(),
        None => Source::of_user(),
    };
    source.system = args.system;
    // Without a directory in the files or options, the manager takes the usual one.
    if let Some(dir) = dir {
        source.dir = manager::directory(Some(dir))?;
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
