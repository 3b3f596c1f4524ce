//! `numaestro daemon`: this process is the manager until it ends. Here its settings are put together; what it does is in the
//! crate `numaestro-daemon`.

use crate::cli::DaemonArgs;
use crate::{manager, say};
use anyhow::Context;
use numaestro_daemon::Config;
use numaestro_host::{descriptors, signals};
use std::path::PathBuf;

/// Settings of the machine, for all its users.
const CONFIG_OF_MACHINE: &str = "/etc/numaestro/config.toml";

/// The subcommand.
pub fn daemon(dir: Option<PathBuf>, args: &DaemonArgs) -> anyhow::Result<u8> {
    if std::env::var_os("LISTEN_FDS").is_none() {
        descriptors::close_inherited();
    }
    let config = config(dir, args)?;
    // A program that hangs up while it is answered must not take the manager with it.
    signals::ignore_broken_pipes();
    numaestro_daemon::main_loop(config)?;
    Ok(say::OK)
}

/// File first, options over it.
fn config(dir: Option<PathBuf>, args: &DaemonArgs) -> anyhow::Result<Config> {
    let mut config = match file(args) {
        Some(file) => {
            let name = file.display().to_string();
            let text = std::fs::read_to_string(&file).with_context(|| name.clone())?;
            Config::from_toml(&name, &text)?
        }
        None => Config::default(),
    };
    if dir.is_some() || config.dir.as_os_str().is_empty() {
        config.dir = manager::directory(dir)?;
    }
    for (field, option) in
        [(&mut config.policy, &args.policy), (&mut config.cpus, &args.cpus), (&mut config.reserved, &args.reserved)]
    {
        if let Some(value) = option {
            field.clone_from(value);
        }
    }
    config.grace_ms = args.grace_ms.unwrap_or(config.grace_ms);
    config.seed = args.seed.unwrap_or(config.seed);
    config.unmanaged &= !args.ignore_unmanaged;
    if let Some(seconds) = args.idle_exit {
        config.idle_exit_s = (seconds > 0).then_some(seconds);
    }
    if let Some(journal) = &args.journal {
        config.journal = Some(std::path::absolute(journal)?);
    }
    if let Some(rates) = &args.inject_rates {
        config.inject_rates = Some(std::path::absolute(rates)?);
    }
    config.validate()?;
    Ok(config)
}

fn file(args: &DaemonArgs) -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let own = base.map(|base| base.join("numaestro/config.toml"));
    let places = [own, Some(PathBuf::from(CONFIG_OF_MACHINE))];
    args.config.clone().or_else(|| places.into_iter().flatten().find(|place| place.is_file()))
}
