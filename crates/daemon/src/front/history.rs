//! Answers what the manager has heard and decided lately.

use numaestro_abi::control::{self, AppName, History, Reply};
use numaestro_engine::AppId;
use numaestro_engine::explain::{Alternative, Change};

use super::{Front, steering};
use crate::recording;
use crate::rights::{Refusal, Role, Who};
use crate::shell::Shell;
use crate::veil;

impl Front {
    /// The latest events as a journal, and what would give an application another number of
    /// processors.
    pub(super) fn history(
        who: Who,
        name: Option<&AppName>,
        after: Option<u64>,
        shell: &Shell,
    ) -> Result<Reply, Refusal> {
        let app = name.map(|name| steering::find(who, name, shell)).transpose()?;
        let own = |app: AppId| shell.history().user_of(app).is_some_and(|user| who.steers(user));
        let (mut journal, is_rest) = shell.told(after);
        if who.role != Role::Admin {
            journal = if is_rest { veil::veiled_rest(&journal, &own) } else { veil::veiled(&journal, &own) };
        }
        if !is_rest {
            journal += &recording::clock().encode();
            journal.push('\n');
        }
        let alternatives = app.map(|app| shell.alternatives(app, &own)).unwrap_or_default();
        let alternatives = alternatives.into_iter().map(|found| in_words_of_linux(found, shell)).collect();
        let next = shell.history().events();
        Ok(Reply::History(Box::new(History { journal, is_rest, next, app, alternatives })))
    }
}

/// With the numbers that Linux gives processors.
fn in_words_of_linux(found: Alternative, shell: &Shell) -> control::Alternative {
    let change = match found.change {
        Change::Limit { max } => control::Change::Limit { max },
        Change::Weight { weight_milli } => control::Change::Weight { weight_milli },
        Change::Use { processors } => control::Change::Use { processors },
        Change::LessLoad => control::Change::LessLoad,
        Change::End { app } => control::Change::End { app: app.0 },
        Change::Policy { policy } => control::Change::Policy { policy },
    };
    let cpus = shell.site().machine.os_cpuset(&found.pus).to_string();
    control::Alternative { change, count: found.count, cpus, shared: found.shared }
}
