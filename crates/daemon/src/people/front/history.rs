//! Answers what the manager has heard and decided lately.

use numaestro_abi::control::{self, AppName, History, Reply};
use numaestro_engine::AppId;
use numaestro_engine::explain::{Alternative, Change};
use numaestro_topology::Machine;

use super::{Front, steering};
use crate::decision::recording;
use crate::decision::witness::Witness;
use crate::identity::rights::{Refusal, Role, Who};
use crate::people::veil;
use crate::shell::Shell;

impl Front {
    /// The latest events as a journal, and what would give an application another number of
    /// processors.
    pub(super) fn history(
        &mut self,
        number: u64,
        who: Who,
        (name, after): (Option<&AppName>, Option<u64>),
        shell: &mut Shell,
    ) -> Result<(), Refusal> {
        let app = name.map(|name| steering::find(who, name, shell)).transpose()?;
        let copy = self.witness(shell);
        let question = format!("history of {app:?} after {after:?}");
        let make = move || {
            let (witness, kept) = &*copy;
            kept.find_or(who, &question, || Reply::History(Box::new(history(who, app, after, witness))))
        };
        self.answer_by_thread(vec![number], make, shell);
        Ok(())
    }
}

fn history(who: Who, app: Option<u64>, after: Option<u64>, witness: &Witness) -> History {
    let own = |app: AppId| witness.history().user_of(app).is_some_and(|user| who.steers(user));
    let (mut journal, is_rest) = witness.told(after);
    if who.role != Role::Admin {
        journal = if is_rest { veil::veiled_rest(&journal, &own) } else { veil::veiled(&journal, &own) };
    }
    if !is_rest {
        journal += &recording::clock().encode();
        journal.push('\n');
    }
    let found = app.map(|app| witness.alternatives(AppId(app), &own)).unwrap_or_default();
    let words = |machine: &Machine| found.into_iter().map(|found| in_words_of_linux(found, machine)).collect();
    let alternatives = witness.on_machine(words);
    History { journal, is_rest, next: witness.history().events(), app, alternatives }
}

/// With the numbers that Linux gives processors.
fn in_words_of_linux(found: Alternative, machine: &Machine) -> control::Alternative {
    let change = match found.change {
        Change::Limit { max } => control::Change::Limit { max },
        Change::Weight { weight_milli } => control::Change::Weight { weight_milli },
        Change::Use { processors } => control::Change::Use { processors },
        Change::LessLoad => control::Change::LessLoad,
        Change::End { app } => control::Change::End { app: app.0 },
        Change::Policy { policy } => control::Change::Policy { policy },
    };
    let cpus = machine.os_cpuset(&found.pus).to_string();
    control::Alternative { change, count: found.count, cpus, shared: found.shared }
}
