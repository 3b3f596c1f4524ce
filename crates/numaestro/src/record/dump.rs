//! Writes a run as one journal: its segments one after the other, their heads only once.

use super::runs::Run;
use super::{place, runs_of};
use crate::cli::RecordDumpArgs;
use crate::say::{self, Failure};
use anyhow::Context;
use numaestro_engine::journal::{self, State};
use numaestro_recording::{Ring, Segment};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

pub fn dump(dir: Option<PathBuf>, args: &RecordDumpArgs) -> anyhow::Result<u8> {
    let ring = Ring::at(place(dir, args.from.as_deref())?.directory);
    let runs = runs_of(&ring)?;
    let run = numbered(&ring, &runs, args.number)?;
    if !run.torn.is_empty() {
        say::warn(&format!("lines are missing: {}", run.torn));
    }
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => {
            let what = || format!("cannot write {}", path.display());
            Box::new(BufWriter::new(File::create(path).with_context(what)?))
        }
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    let mut first = true;
    for segment in &run.segments {
        // It may have grown since it was listed, but not shrunk.
        let Ok(contents) = segment.read() else { continue };
        for line in contents.text.lines().skip(usize::from(!first)) {
            let line = if args.anonymous { without_names(line) } else { Cow::Borrowed(line) };
            writeln!(out, "{line}")?;
        }
        first = false;
    }
    out.flush()?;
    Ok(say::OK)
}

/// A run by its number in the list.
pub fn numbered<'a>(ring: &Ring, runs: &'a [Run], number: u32) -> anyhow::Result<&'a Run> {
    let run = (number as usize).checked_sub(1).and_then(|place| runs.get(place));
    run.filter(|run| !run.segments.is_empty()).ok_or_else(|| {
        let what = match (runs.len(), run) {
            (0, _) => format!("there are no recordings in {}", ring.directory().display()),
            (_, Some(run)) => format!("recording {number} cannot be read: {}", run.torn),
            (some, None) => format!("there is no recording {number}, only {some}"),
        };
        Failure::error(say::FAILED, what, "`numaestro record list` shows them")
    })
}

/// Segments of one run as one journal.
pub fn text(segments: &[Segment]) -> anyhow::Result<String> {
    let mut text = String::new();
    for segment in segments {
        let contents = segment.read().with_context(|| format!("cannot read {}", segment.path.display()))?;
        for line in contents.text.lines().skip(usize::from(!text.is_empty())) {
            text += line;
            text.push('\n');
        }
    }
    Ok(text)
}

/// The same line by line. Of segments after the first the head is left out.
pub fn lines(segments: Vec<Segment>) -> impl Iterator<Item = io::Result<String>> {
    segments.into_iter().enumerate().flat_map(|(place, segment)| match segment.read() {
        Ok(contents) => {
            let lines = contents.text.lines().skip(usize::from(place > 0));
            lines.map(|line| Ok(line.to_owned())).collect::<Vec<_>>()
        }
        Err(cause) => vec![Err(io::Error::other(cause.to_string()))],
    })
}

/// The line without names of programs.
fn without_names(line: &str) -> Cow<'_, str> {
    if journal::is_aside(line) {
        let state = State::decode(line);
        return state.map_or(Cow::Borrowed(line), |state| State { names: BTreeMap::new(), ..state }.encode().into());
    }
    match journal::decode(line) {
        Ok((at, event, actions)) if journal::name(line).is_some() => journal::encode(at, &event, &actions).into(),
        _ => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_and_nothing_else() {
        let arrival = r#"{"at":1,"name":"secret","event":{"what":"arrive","app":1,"request":4,"min":1,"max":4,"weight_milli":1000,"class":"malleable"},"actions":[{"do":"start","app":1}]}"#;
        assert_eq!(without_names(arrival), arrival.replace(r#""name":"secret","#, ""));
        let state = r#"{"at":1,"state":{"now":1,"policy":"equi","usable":"0-1","unmanaged":0,"decisions":1,"apps":[],"pus":[],"queue":[],"work_list":[]},"names":{"1":"secret"}}"#;
        assert_eq!(without_names(state), state.replace(r#","names":{"1":"secret"}"#, ""));
        for kept in [r#"{"at":1,"wall":2}"#, r#"{"at":1,"event":{"what":"timer"},"actions":[]}"#, "a head"] {
            assert_eq!(without_names(kept), kept);
        }
    }
}
