//! Reads a journal line by line, because that of a day is large.

use super::part::Numbered;
use crate::say::Failure;
use crate::say::WRONG_FILE;
use anyhow::Context;
use numaestro_engine::journal::JournalError;
use std::io;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;

/// Lines that go to the other thread and come back together.
const BATCH: usize = 512;
/// Batches on their way.
const BATCHES: usize = 4;

type Lines<'a> = Box<dyn Iterator<Item = Numbered> + 'a>;

/// A journal that is being read.
pub struct Journal<'a> {
    name: String,
    head: String,
    lines: Peekable<Lines<'a>>,
}

/// A line on its way.
struct Posted {
    text: String,
    number: u64,
    is_last: bool,
}

/// A line behind the head.
pub struct Line<'a> {
    /// Its text, without newline.
    pub text: String,
    number: u64,
    is_last: bool,
    journal: &'a str,
}

impl<'a> Journal<'a> {
    /// Reads the first line. `name`: the journal's, for messages.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn begin(name: impl Into<String>, mut lines: impl Iterator<Item = Numbered> + 'a) -> anyhow::Result<Self> {
        let name = name.into();
        let head = lines.next().transpose().with_context(|| cannot_read(&name))?;
        let (_, head) = head.ok_or_else(|| wrong(&name, 1, "it is empty"))?;
        let lines: Lines<'a> = Box::new(lines);
        Ok(Self { name, head, lines: lines.peekable() })
    }

    /// The first line.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// For people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a reader made of the head.
    ///
    /// # Errors
    /// Exit code 2: it could not be understood.
    pub fn headed<T>(&self, outcome: Result<T, JournalError>) -> anyhow::Result<T> {
        outcome.map_err(|error| {
            // What a parser says of any other file helps nobody.
            if self.head.contains("\"numaestro_journal\"") {
                self.wrong(&error.problem)
            } else {
                self.wrong("this is no journal and no recording")
            }
        })
    }

    /// There is something wrong with the whole of it: exit code 2.
    pub fn wrong(&self, problem: &str) -> anyhow::Error {
        wrong(&self.name, 1, problem)
    }

    /// The line that comes next, but not yet.
    pub fn coming(&mut self) -> Option<&str> {
        self.lines.peek()?.as_ref().ok().map(|(_, text)| text.as_str())
    }

    /// All lines to come, each with what `decode` makes of its text, in their order. `decode` runs
    /// in another thread: it takes most of the time for which a day is read. Each thread frees the
    /// memory that it has allocated, because threads wait for each other where one frees another's.
    ///
    /// # Errors
    /// A line cannot be read, or `each` fails.
    pub fn each<T: Send>(
        &mut self,
        decode: impl Fn(&str) -> T + Send,
        mut each: impl FnMut(&Line<'_>, &T) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        std::thread::scope(|scope| {
            let (give, given) = sync_channel::<(Vec<Posted>, Vec<T>)>(BATCHES);
            let (answer, answers) = sync_channel::<(Vec<Posted>, Vec<T>)>(BATCHES);
            scope.spawn(move || {
                for (lines, mut decoded) in given {
                    decoded.clear();
                    decoded.extend(lines.iter().map(|line| decode(&line.text)));
                    if answer.send((lines, decoded)).is_err() {
                        break;
                    }
                }
            });
            let (mut on_way, mut last, mut used) = (0, None, Vec::new());
            while last.is_none() || on_way > 0 {
                while last.is_none() && on_way < BATCHES {
                    let batch = (self.batch(&mut last), used.pop().unwrap_or_default());
                    if give.send(batch).is_err() {
                        last = Some(Ok(()));
                    }
                    on_way += 1;
                }
                // Only a panic ends the other thread before: leaving the scope passes it on.
                let Ok((lines, decoded)) = answers.recv() else { break };
                on_way -= 1;
                for (Posted { text, number, is_last }, decoded) in lines.into_iter().zip(&decoded) {
                    if each(&Line { text, number, is_last, journal: &self.name }, decoded)?.is_break() {
                        return Ok(());
                    }
                }
                used.push(decoded);
            }
            last.unwrap_or(Ok(()))
        })
    }

    /// The next lines. `last`: how the lines ended, if they did.
    fn batch(&mut self, last: &mut Option<anyhow::Result<()>>) -> Vec<Posted> {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH && last.is_none() {
            match self.line() {
                Ok(Some(Line { text, number, is_last, .. })) => batch.push(Posted { text, number, is_last }),
                Ok(None) => *last = Some(Ok(())),
                Err(error) => *last = Some(Err(error)),
            }
        }
        batch
    }

    /// The next line.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn line(&mut self) -> anyhow::Result<Option<Line<'_>>> {
        let Some(text) = self.lines.next() else { return Ok(None) };
        let (number, text) = text.with_context(|| cannot_read(&self.name))?;
        let is_last = self.lines.peek().is_none();
        Ok(Some(Line { text, number, is_last, journal: &self.name }))
    }
}

impl Line<'_> {
    /// What a reader made of it. `None`: it is a last line that was cut off, because its writer was
    /// killed.
    ///
    /// # Errors
    /// Exit code 2: it could not be understood, and is not the last.
    pub fn understood<T>(&self, outcome: Result<T, JournalError>) -> anyhow::Result<Option<T>> {
        match outcome {
            Ok(known) => Ok(Some(known)),
            Err(_) if self.is_last => Ok(None),
            Err(error) => self.followed(Err(error)).map(Some),
        }
    }

    /// What a reader made of a line that was not cut off.
    ///
    /// # Errors
    /// Exit code 2: it says what cannot be.
    pub fn followed<T>(&self, outcome: Result<T, JournalError>) -> anyhow::Result<T> {
        outcome.map_err(|error| wrong(self.journal, self.number, &error.problem))
    }
}

/// Lines with their numbers, from 1.
pub fn numbered(lines: impl Iterator<Item = io::Result<String>>) -> impl Iterator<Item = Numbered> {
    (1..).zip(lines).map(|(number, line)| Ok((number, line?)))
}

fn cannot_read(name: &str) -> String {
    format!("cannot read {name}")
}

fn wrong(name: &str, line: u64, problem: &str) -> anyhow::Error {
    let next = "journals are written by `numaestro record dump`, `daemon --journal` and `sim run --journal`";
    Failure::error(WRONG_FILE, format!("{name}:{line}: {problem}"), next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_engine::journal;

    const EVENT: &str = r#"{"at":1,"event":{"what":"timer"},"actions":[]}"#;

    fn read(lines: &[&str]) -> Result<u64, String> {
        let lines = lines.iter().map(|&line| Ok(line.to_owned()));
        let mut journal = Journal::begin("x", numbered(lines)).map_err(|error| error.to_string())?;
        let mut events = 0;
        while let Some(line) = journal.line().map_err(|error| error.to_string())? {
            match line.understood(journal::decode(&line.text)) {
                Ok(Some(_)) => events += 1,
                Ok(None) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(events)
    }

    #[test]
    fn lines_come_in_order_through_the_other_thread_and_an_error_behind_those_before_it() {
        let many = 5 * BATCH * BATCHES + 7;
        let run = |broken: Option<usize>, ends: usize| {
            let line = |number: usize| match broken {
                Some(broken) if number == broken => Err(io::Error::other("torn")),
                _ => Ok(number.to_string()),
            };
            let lines = std::iter::once(Ok("head".to_owned())).chain((0..many).map(line));
            let mut journal = Journal::begin("x", numbered(lines)).unwrap();
            let mut seen = Vec::new();
            let done = journal.each(
                |text| text.parse::<usize>().unwrap() * 2,
                |line, twice| {
                    assert_eq!(line.text, seen.len().to_string());
                    seen.push(*twice);
                    Ok(if seen.len() == ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                },
            );
            assert!(seen.iter().enumerate().all(|(number, twice)| number * 2 == *twice));
            (seen.len(), done.map_err(|error| format!("{error:#}")))
        };
        assert_eq!(run(None, 0), (many, Ok(())));
        assert_eq!(run(None, BATCH + 3), (BATCH + 3, Ok(())));
        let (seen, error) = run(Some(2 * BATCH + 1), 0);
        assert_eq!(seen, 2 * BATCH + 1);
        assert!(error.unwrap_err().contains("torn"));
    }

    #[test]
    fn a_last_line_may_be_cut_off_and_no_other() {
        assert_eq!(read(&["head", EVENT, EVENT]), Ok(2));
        assert_eq!(read(&["head", EVENT, &EVENT[..9]]), Ok(1));
        assert!(read(&["head", EVENT, &EVENT[..9], EVENT]).unwrap_err().starts_with("x:3: "));
        assert!(read(&[]).unwrap_err().starts_with("x:1: it is empty"));
    }
}
