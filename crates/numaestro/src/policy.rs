//! `numaestro policy`: lists the policies, shows which one decides, checks one, and switches it
//! live.

use crate::cli::PolicyCommand;
use crate::manager::{self, Manager};
use crate::say;
use numaestro_abi::control::{Policies, Reply, Request};
use numaestro_daemon::{Config, Source};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The parts in the order in which they are thought of.
const PARTS: [&str; 6] = ["preset", "share", "placement", "turns", "pages", "admission"];

/// The subcommand.
pub fn policy(dir: Option<PathBuf>, what: PolicyCommand) -> anyhow::Result<u8> {
    match what {
        PolicyCommand::List { json } => {
            let policies = present_or_next(dir)?.0;
            say::print(&if json {
                format!("{}\n", serde_json::to_string_pretty(&policies)?)
            } else {
                table(&policies)
            })?;
        }
        PolicyCommand::Show { json } => {
            let (Policies { current, next, .. }, runs) = present_or_next(dir)?;
            if json {
                return shown(&serde_json::json!({ "policy": current, "next": next, "running": runs }));
            }
            say::print(&format!("{current}\n"))?;
            if !runs {
                say::note("no manager runs; the next one begins with this policy");
            } else if next != current {
                say::note(&format!("the next manager begins with {next}"));
            }
        }
        PolicyCommand::Check { policy } => {
            if let Some(mistake) = numaestro_daemon::policy_mistake(&policy.join(" ")) {
                return Err(say::Failure::error(
                    say::USAGE,
                    mistake,
                    "`numaestro policy list` shows those that there are",
                ));
            }
        }
        PolicyCommand::Set { policy } => {
            let dir = manager::directory(dir)?;
            let mut manager = Manager::started(&dir)?;
            manager.order(&Request::PolicySet { policy: policy.join(" ") })?;
            let Policies { current, next, .. } = policies(&mut manager)?;
            say::print(&format!("{current}\n"))?;
            say::note(&kept(&current, &next, manager::is_of_system(&dir)));
        }
    }
    Ok(say::OK)
}

fn shown(value: &serde_json::Value) -> anyhow::Result<u8> {
    say::print(&format!("{value}\n"))?;
    Ok(say::OK)
}

/// How long a policy holds that was set.
fn kept(current: &str, next: &str, system: bool) -> String {
    if current == next {
        return "the next manager begins with it too".to_owned();
    }
    let file = if system { "/etc/numaestro/config.toml" } else { "the configuration" };
    format!("it holds until this manager ends; `policy = \"{current}\"` in {file} keeps it")
}

/// The policies, and whether a manager runs. Where none runs, the present one is that of the next
/// manager; none is started for the question.
fn present_or_next(dir: Option<PathBuf>) -> anyhow::Result<(Policies, bool)> {
    let dir = manager::directory(dir)?;
    match Manager::reach(&dir) {
        Ok(mut manager) => Ok((policies(&mut manager)?, true)),
        Err(error) if manager::is_absent(&error) => Ok((next(&dir)?, false)),
        Err(_) => Ok((policies(&mut Manager::required(Some(dir))?)?, true)),
    }
}

fn next(dir: &Path) -> anyhow::Result<Policies> {
    let source = if manager::is_of_system(dir) { Source::of_system() } else { Source::of_user() };
    let config = Config::load(&source).map_err(|error| {
        let next = "`numaestro daemon --check-config` tries it again without starting anything";
        say::Failure::error(say::CONFIG, error.to_string(), next)
    })?;
    let next = numaestro_daemon::next_policy(dir, &config.config);
    let available = numaestro_daemon::available_policies();
    Ok(Policies { current: next.clone(), next, available })
}

/// The manager's answer about policies.
pub fn policies(manager: &mut Manager) -> anyhow::Result<Policies> {
    match manager.ask(&Request::PolicyList)? {
        Reply::Policies(policies) => Ok(policies),
        other => Err(manager::unexpected(&other)),
    }
}

fn table(policies: &Policies) -> String {
    let width = policies.available.iter().map(|p| p.name.chars().count()).max().unwrap_or(0);
    let mut text = format!("present: {}\n", policies.current);
    for part in PARTS {
        let members: Vec<_> = policies.available.iter().filter(|p| p.part == part).collect();
        if members.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{part}");
        for member in members {
            let source = if member.source.is_empty() { String::new() } else { format!("  [{}]", member.source) };
            let _ = writeln!(text, "  {:width$}  {}{source}", member.name, member.summary);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_abi::control::PolicyInfo;

    #[test]
    fn the_list_is_grouped_by_part() {
        let info = |part: &str, name: &str| PolicyInfo {
            part: part.into(),
            name: name.into(),
            summary: "does it".into(),
            source: "Author 1999 §1".into(),
        };
        let policies = Policies {
            current: "equi".into(),
            next: "equi".into(),
            available: vec![info("share", "equi"), info("preset", "default"), info("share", "dss")],
        };
        let expected = "present: equi\n\npreset\n  default  does it  [Author 1999 §1]\n\nshare\n  equi     does it  [Author 1999 §1]\n  dss      does it  [Author 1999 §1]\n";
        assert_eq!(table(&policies), expected);
    }
}
