//! Reads rates from a file or a pipe, so that a test can drive a policy that needs them on any
//! machine. One JSON object a line:
//!
//! ```text
//! {"app": 3, "rates": [11000, null, "NaN"]}     by the manager's number, by virtual processor
//! {"name": "cg", "rates": [11000]}              by name; the last rate is that of all further threads
//! {"name": "cg", "rates": null}                 nothing is known of it any more
//! {"bus": 0, "saturation": 29000}               the most that a bus carries
//! {"end": true}                                 the source vanishes
//! ```
//!
//! A line holds until another one replaces it. Lines appended later are read at the next sample.
//! Nonsense passes through on purpose: the rest must withstand `"NaN"`, `"inf"`, negative and huge
//! numbers. A line that cannot be read at all is skipped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Moment, Outcome, Rung, Source, Subject};
use crate::error::{self, HostError};

/// Most bytes kept of a line whose end has not come yet.
const LINE_BYTES_MAX: usize = 1 << 20;

/// A number of JSON, or text for the numbers that JSON lacks.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Raw {
    Number(f64),
    Text(String),
}

impl Raw {
    fn value(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    App { app: u64, rates: Option<Vec<Option<Raw>>> },
    Name { name: String, rates: Option<Vec<Option<Raw>>> },
    Bus { bus: u32, saturation: Raw },
    End { end: bool },
}

type Rates = Vec<Option<f64>>;

/// See the file's header.
#[derive(Debug)]
pub struct Injected {
    path: PathBuf,
    file: File,
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
    by_app: BTreeMap<u64, Rates>,
    by_name: BTreeMap<String, Rates>,
    saturations: Vec<(u32, f64)>,
    ended: bool,
}

impl Injected {
    /// Opens the file; a pipe need not have a writer yet.
    pub fn open(path: &Path) -> Result<Self, HostError> {
        let file = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(error::file("read rates from", path))?,
            rest: Vec::new(),
            by_app: BTreeMap::new(),
            by_name: BTreeMap::new(),
            saturations: Vec::new(),
            ended: false,
        })
    }

    /// Takes in the lines that have been written since.
    fn catch_up(&mut self) {
        let mut block = [0; 4096];
        // An end is only the end for now; nothing to read, or a writer that breaks off, is no
        // different.
        while let Ok(bytes @ 1..) = self.file.read(&mut block) {
            self.rest.extend_from_slice(&block[..bytes]);
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                if let Ok(line) = serde_json::from_slice(&line) {
                    self.take(line);
                }
            }
            if self.rest.len() > LINE_BYTES_MAX {
                self.rest.clear();
            }
        }
    }

    fn take(&mut self, line: Line) {
        let values = |rates: Vec<Option<Raw>>| rates.iter().map(|rate| rate.as_ref().map(Raw::value)).collect();
        match line {
            Line::App { app, rates: Some(rates) } => drop(self.by_app.insert(app, values(rates))),
            Line::App { app, rates: None } => drop(self.by_app.remove(&app)),
            Line::Name { name, rates: Some(rates) } => drop(self.by_name.insert(name, values(rates))),
            Line::Name { name, rates: None } => drop(self.by_name.remove(&name)),
            Line::Bus { bus, saturation } => self.saturations.push((bus, saturation.value())),
            Line::End { end } => self.ended |= end,
        }
    }
}

impl Source for Injected {
    fn rung(&self) -> Rung {
        Rung::Injected
    }

    fn sample(&mut self, subject: &Subject<'_>, _moment: &Moment) -> Outcome {
        self.catch_up();
        if self.ended {
            return Outcome::Gone(format!("{} says that it ends", self.path.display()));
        }
        let Some(rates) = self.by_app.get(&subject.app).or_else(|| self.by_name.get(subject.name)) else {
            return Outcome::Nothing(format!("{} says nothing of it", self.path.display()));
        };
        let last = rates.last().copied().flatten();
        let threads = subject.threads.len().max(rates.len());
        Outcome::Rates((0..threads).map(|vp| rates.get(vp).copied().unwrap_or(last)).collect())
    }

    fn forget(&mut self, app: u64) {
        self.by_app.remove(&app);
    }

    fn saturations(&mut self) -> Vec<(u32, f64)> {
        self.catch_up();
        std::mem::take(&mut self.saturations)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::ThreadUse;
    use super::*;

    fn sample(source: &mut Injected, app: u64, threads: usize) -> Outcome {
        let threads = vec![Some(ThreadUse { tid: 1, used_ns: 0 }); threads];
        let subject = Subject { app, name: "cg", threads: &threads, declared: None, stretch_milli: 0 };
        source.sample(&subject, &Moment::default())
    }

    #[test]
    fn lines_are_read_as_they_come_and_hold_until_replaced() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = file.reopen().unwrap();
        let mut source = Injected::open(file.path()).unwrap();
        assert!(matches!(sample(&mut source, 1, 1), Outcome::Nothing(_)));
        writeln!(writer, "{{\"name\": \"cg\", \"rates\": [5, null]}}\nnonsense\n{{\"app\": 2, \"rates\": [7]}}")
            .unwrap();
        write!(writer, "{{\"app\": 2, ").unwrap();
        assert_eq!(sample(&mut source, 1, 3), Outcome::Rates(vec![Some(5.0), None, None]));
        assert_eq!(sample(&mut source, 2, 2), Outcome::Rates(vec![Some(7.0), Some(7.0)]), "the number before the name");
        writeln!(writer, "\"rates\": [8]}}").unwrap();
        assert_eq!(sample(&mut source, 2, 1), Outcome::Rates(vec![Some(8.0)]));
        writeln!(writer, "{{\"app\": 2, \"rates\": null}}\n{{\"name\": \"cg\", \"rates\": null}}").unwrap();
        assert!(matches!(sample(&mut source, 2, 1), Outcome::Nothing(_)));
    }

    #[test]
    fn nonsense_passes_and_the_end_is_the_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "{\"app\":1,\"rates\":[\"NaN\",\"-inf\",-4,1e300,\"x\"]}\n{\"bus\":0,\"saturation\":2.5}\n",
        )
        .unwrap();
        let mut source = Injected::open(file.path()).unwrap();
        assert_eq!(source.saturations(), [(0, 2.5)]);
        assert!(source.saturations().is_empty(), "each is told once");
        let Outcome::Rates(rates) = sample(&mut source, 1, 5) else { panic!("no rates") };
        let rates: Vec<f64> = rates.into_iter().flatten().collect();
        assert!(rates[0].is_nan() && rates[1] < 0.0 && rates[4].is_nan(), "{rates:?}");
        assert_eq!(rates[2..4], [-4.0, 1e300]);
        std::fs::OpenOptions::new().append(true).open(file.path()).unwrap().write_all(b"{\"end\":true}\n").unwrap();
        assert!(matches!(sample(&mut source, 1, 1), Outcome::Gone(_)));
    }

    #[test]
    fn a_pipe_without_a_writer_does_not_hold_anybody_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        let mut source = Injected::open(&path).unwrap();
        assert!(matches!(sample(&mut source, 1, 1), Outcome::Nothing(_)));
        let mut writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        writer.write_all(b"{\"app\":1,\"rates\":[3]}\n").unwrap();
        assert_eq!(sample(&mut source, 1, 1), Outcome::Rates(vec![Some(3.0)]));
        drop(writer);
        assert_eq!(sample(&mut source, 1, 1), Outcome::Rates(vec![Some(3.0)]), "the writer's end is not the end");
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        assert!(Injected::open(Path::new("/nonexistent/rates")).is_err());
    }
}
