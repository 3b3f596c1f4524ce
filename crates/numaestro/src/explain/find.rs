//! Finds the program that a word names, by the manager's own rule among those that are there, else
//! among those that were.

use super::source::Known;
use crate::manager;
use crate::say::{self, Failure};
use numaestro_abi::control::{AppName, RefusalKind, letter};
use numaestro_daemon::{Named, Names};
use numaestro_engine::AppId;
use numaestro_quantity::names::did_you_mean;

/// The application that a word names: as the manager says, else one of those that are there; else
/// the latest that was. `later`: what is known of the time after.
pub fn find(known: &Known, word: &str, later: impl FnOnce() -> anyhow::Result<Known>) -> anyhow::Result<AppId> {
    if let Some(app) = known.app {
        return Ok(AppId(app));
    }
    match names(known).find(&AppName::Word(word.to_owned()), |_| None) {
        Ok(app) => return Ok(AppId(app)),
        Err(refusal) if refusal.kind != RefusalKind::Absent => {
            return Err(manager::refused(refusal.reason, refusal.hint, refusal.kind));
        }
        Err(_) => {}
    }
    let all = known.chronicle.names();
    let by_number = word.parse().ok().map(AppId).filter(|app| all.contains_key(app));
    let by_name = || all.iter().rev().find(|(_, name)| name.as_str() == word).map(|(app, _)| *app);
    by_number.or_else(by_name).ok_or_else(|| lacking(known, word, later))
}

/// Those that are there. They have letters only in the manager's present, which it knows itself.
fn names(known: &Known) -> Names<'_> {
    let all = known.chronicle.names();
    let named = |app: AppId| Named { number: app.0, pid: None, name: all.get(&app).map_or("", String::as_str) };
    let seen = known.chronicle.snapshot().apps.iter().map(|app| named(app.app)).collect();
    Names { seen, there_is: "there is", has_letters: false }
}

fn lacking(known: &Known, word: &str, later: impl FnOnce() -> anyhow::Result<Known>) -> anyhow::Error {
    let all = known.chronicle.names();
    if let Some(came) = known.is_past.then(later).and_then(Result::ok).and_then(|later| came_later(known, &later, word))
    {
        return Failure::error(say::FAILED, came, "`numaestro explain TIME` shows those that are there at a time");
    }
    if known.is_past && is_letter(word) {
        let what = format!("no program `{word}` was there; letters are those of the present");
        return Failure::error(say::FAILED, what, "for an earlier time, name a program by its name or number");
    }
    let meant = did_you_mean(word, all.values().map(String::as_str));
    let what = format!("no program `{word}` is there or was there, as far as is known{meant}");
    let next = "`numaestro status` shows those that are there; `numaestro explain` those at a time";
    Failure::error(say::FAILED, what, next)
}

/// As `status` gives them to applications.
fn is_letter(word: &str) -> bool {
    // A letter is one of ASCII's, so that there are not more of them.
    (0..128).map(letter).take_while(|&letter| letter != '#').any(|letter| word == letter.to_string())
}

/// It came after the time that was asked for.
fn came_later(known: &Known, later: &Known, word: &str) -> Option<String> {
    let until = known.chronicle.now();
    let fits = |app: AppId, name: &str| name == word || word.parse() == Ok(app.0);
    let fitting = later.chronicle.names().iter().filter(|(app, name)| fits(**app, name));
    let arrivals = fitting.filter_map(|(app, _)| Some((later.chronicle.life(*app).arrived?, *app)));
    let (at, app) = arrivals.filter(|(at, _)| *at > until).min()?;
    let called = later.chronicle.called(app);
    Some(format!("{called} was not there yet: it came at {}", later.clock.show(at)))
}
