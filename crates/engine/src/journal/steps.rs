//! Reads a step. Most steps are adopted targets, which bring other targets, and a day has ten
//! million of them: they are read field by field. An enum with its tag inside, as all others are
//! read, is kept in memory field by field until its tag is known.

use crate::event::{Action, Event, Nanos};
use numaestro_policy::AppId;
use numaestro_topology::PuSet;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The begin of an event that is read field by field, as it is written.
const ADOPTED: &str = "{\"what\":\"adopted\",";
/// The begin of an action that is.
const TARGET: &str = "{\"do\":\"target\",";

/// The parts of a step.
pub(super) type Parts = (Nanos, Option<String>, Event, Vec<Action>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step<'a> {
    at: Nanos,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event: &'a RawValue,
    #[serde(borrow)]
    actions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Adopted {
    #[serde(rename = "what")]
    _what: IgnoredAny,
    app: AppId,
    epoch: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    #[serde(rename = "do")]
    _what: IgnoredAny,
    app: AppId,
    epoch: u32,
    count: u32,
    pus: PuSet,
    shared: bool,
    lent: bool,
}

/// Reads a step.
///
/// # Errors
/// It is none; the places in the message are those in a part of the line.
pub(super) fn read(line: &str) -> serde_json::Result<Parts> {
    let Step { at, name, event: what, actions } = serde_json::from_str(line)?;
    let actions = actions.into_iter().map(|one| action(one.get())).collect::<Result<_, _>>()?;
    Ok((at, name.map(Cow::into_owned), event(what.get())?, actions))
}

fn event(text: &str) -> serde_json::Result<Event> {
    if !text.starts_with(ADOPTED) {
        return serde_json::from_str(text);
    }
    let Adopted { app, epoch, .. } = serde_json::from_str(text)?;
    Ok(Event::Adopted { app, epoch })
}

fn action(text: &str) -> serde_json::Result<Action> {
    if !text.starts_with(TARGET) {
        return serde_json::from_str(text);
    }
    let Target { app, epoch, count, pus, shared, lent, .. } = serde_json::from_str(text)?;
    Ok(Action::Target { app, epoch, count, pus, shared, lent })
}

#[cfg(test)]
mod tests {
    use super::super::Body;
    use super::*;

    #[test]
    fn a_step_is_read_as_the_derived_reader_reads_it() {
        let kept = include_str!("../../tests/journal/every-kind.journal");
        let (mut adopted, mut targets) = (0, 0);
        for line in kept.lines().skip(1) {
            let Ok(whole) = Body::read(line) else { continue };
            let (at, name, event, actions) = read(line).expect("the other one reads it");
            assert_eq!((at, name.as_deref()), (whole.at, whole.name.as_deref()), "{line}");
            assert_eq!((&event, &actions[..]), (&*whole.event, &*whole.actions), "{line}");
            adopted += u32::from(line.contains(ADOPTED));
            targets += u32::from(line.contains(TARGET));
        }
        assert!(adopted > 0 && targets > 0, "none is read field by field: {adopted} {targets}");
    }

    #[test]
    fn refusals_are_those_of_the_derived_reader() {
        let step = |event: &str, action: &str| format!(r#"{{"at":1,"event":{event},"actions":[{action}]}}"#);
        let adopted = r#"{"what":"adopted","app":1,"epoch":2}"#;
        let target = r#"{"do":"target","app":1,"epoch":1,"count":1,"pus":"0","shared":false,"lent":false}"#;
        assert!(read(&step(adopted, target)).is_ok());
        let wrong = [
            (adopted.replace(",\"epoch\":2", ""), target.to_owned()),
            (adopted.replace("2}", "2,\"more\":1}"), target.to_owned()),
            (adopted.to_owned(), target.replace(",\"lent\":false", "")),
            (adopted.to_owned(), target.replace("\"0\"", "\"x\"")),
            (adopted.to_owned(), target.replace("false}", "false,\"more\":1}")),
        ];
        for (event, action) in wrong {
            let line = step(&event, &action);
            assert!(read(&line).is_err() && Body::read(&line).is_err(), "{line}");
        }
    }
}
