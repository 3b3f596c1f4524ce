//! `numaestro policy`: lists the policies, shows which one decides, and switches it live.

use crate::cli::PolicyCommand;
use crate::manager::{self, Manager};
use crate::say;
use numaestro_abi::control::{Policies, Reply, Request};
use std::fmt::Write;
use std::path::PathBuf;

/// The parts in the order in which they are thought of.
const PARTS: [&str; 6] = ["preset", "share", "placement", "turns", "pages", "admission"];

/// The subcommand.
pub fn policy(dir: Option<PathBuf>, what: PolicyCommand) -> anyhow::Result<u8> {
    match what {
        PolicyCommand::List { json } => {
            // Listing needs a manager only to know the present policy; it is started where there is
            // none.
            let policies = ask(dir)?;
            say::print(&if json {
                format!("{}\n", serde_json::to_string_pretty(&policies)?)
            } else {
                table(&policies)
            })?;
        }
        PolicyCommand::Show { json } => {
            let current = ask(dir)?.current;
            say::print(&if json {
                format!("{}\n", serde_json::json!({ "policy": current }))
            } else {
                format!("{current}\n")
            })?;
        }
        PolicyCommand::Set { policy } => {
            let dir = manager::directory(dir)?;
            let mut manager = Manager::started(&dir)?;
            manager.order(&Request::PolicySet { policy: policy.join(" ") })?;
            say::print(&format!("{}\n", policies(&mut manager)?.current))?;
        }
    }
    Ok(say::OK)
}

fn ask(dir: Option<PathBuf>) -> anyhow::Result<Policies> {
    let dir = manager::directory(dir)?;
    policies(&mut Manager::started(&dir)?)
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
            available: vec![info("share", "equi"), info("preset", "default"), info("share", "dss")],
        };
        let expected = "present: equi\n\npreset\n  default  does it  [Author 1999 §1]\n\nshare\n  equi     does it  [Author 1999 §1]\n  dss      does it  [Author 1999 §1]\n";
        assert_eq!(table(&policies), expected);
    }
}
