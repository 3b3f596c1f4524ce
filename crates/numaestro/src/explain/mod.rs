//! `numaestro explain`: why a program has what it has, what led to it, and what would change it.

mod answer;
mod find;
mod question;
mod source;
mod words;

use crate::cli::ExplainArgs;
use crate::manager::Manager;
use crate::moment::local_offset;
use crate::say::{self, Failure};
use answer::{Answer, OfApp, OfCpu, OfTime};
use numaestro_abi::control::AppName;
use numaestro_engine::AppId;
use numaestro_topology::PuId;
use question::{Question, Subject};
use source::Known;
use std::path::PathBuf;
use time::OffsetDateTime;

/// Changes that are shown besides what led to the present state.
const LATEST: usize = 5;

/// The subcommand.
pub fn explain(dir: Option<PathBuf>, args: &ExplainArgs) -> anyhow::Result<u8> {
    let now = OffsetDateTime::now_utc().to_offset(local_offset());
    let question = Question::read(&args.what, args.at.as_deref(), now)
        .map_err(|error| Failure::error(say::USAGE, format!("{error:#}"), "`numaestro explain --help` has examples"))?;
    let word = match &question.subject {
        Subject::App(word) => Some(word.as_str()),
        Subject::All | Subject::Cpu(_) => None,
    };
    let known = match &args.from {
        Some(place) => source::of_place(place, question.at)?,
        None => source::of_manager(dir.as_ref(), word, question.at)?,
    };
    let later = move || match &args.from {
        Some(place) => source::of_place(place, None),
        None => source::of_manager(dir.as_ref(), None, None),
    };
    let answer = answer(&known, &question, args.last.unwrap_or(LATEST), later)?;
    say::print(&if args.json { format!("{}\n", serde_json::to_string_pretty(&answer)?) } else { words::of(&answer) })?;
    Ok(say::OK)
}

/// What `top` shows of one application.
pub fn of_app(manager: &mut Manager, app: u64) -> anyhow::Result<String> {
    let known = source::of_running(manager, AppName::Number(app))?;
    Ok(words::of(&Answer::App(Box::new(OfApp::of(&known, AppId(app), LATEST)))))
}

/// `later`: what is known of the time after the one that was asked for.
fn answer(
    known: &Known,
    question: &Question,
    last: usize,
    later: impl FnOnce() -> anyhow::Result<Known>,
) -> anyhow::Result<Answer> {
    match &question.subject {
        Subject::App(word) => Ok(Answer::App(Box::new(OfApp::of(known, find::find(known, word, later)?, last)))),
        Subject::Cpu(cpu) => Ok(Answer::Cpu(Box::new(OfCpu::of(known, *cpu, processor(known, *cpu)?, last)))),
        Subject::All => Ok(Answer::Time(Box::new(OfTime::of(known, last)))),
    }
}

fn processor(known: &Known, cpu: u32) -> anyhow::Result<PuId> {
    known.chronicle.machine().pu_of_os(cpu).ok_or_else(|| {
        let count = known.chronicle.machine().pu_count();
        Failure::error(say::FAILED, format!("there is no processor {cpu}, only {count}"), "`numaestro topo` shows them")
    })
}
