//! Writes a run, or a part of it, as one journal.

use crate::cli::RecordDumpArgs;
use crate::recordings::{Part, Recording};
use crate::say;
use anyhow::Context;
use numaestro_engine::journal::{self, State};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

pub fn dump(dir: Option<PathBuf>, args: &RecordDumpArgs) -> anyhow::Result<u8> {
    let part = Part::of(&args.part)?;
    let recording = Recording::numbered(dir, args.from.as_deref(), args.number)?;
    let mut journal = recording.journal(part)?;
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => {
            let what = || format!("cannot write {}", path.display());
            Box::new(BufWriter::new(File::create(path).with_context(what)?))
        }
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    writeln!(out, "{}", journal.head())?;
    while let Some(line) = journal.line()? {
        let text = if args.anonymous { without_names(&line.text) } else { Cow::Borrowed(line.text.as_str()) };
        writeln!(out, "{text}")?;
    }
    out.flush()?;
    recording.warn();
    Ok(say::OK)
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
