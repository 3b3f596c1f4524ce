//! Reads and writes logs in the Standard Workload Format: text in, text out.
//!
//! Source: Chapin et al. 1999, version 2.2 of the format at the Parallel Workloads Archive: 18
//! fields a line, -1 where unknown; lines of `;` are the header. Fields after the 18th are skipped.

use super::batch::{BatchJob, Demand};
use crate::read::{Mistake, Text};
use crate::{CLOCK_END, Nanos};
use std::fmt::Write as _;
use std::sync::Arc;

/// A line of a log. `None` = unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Its number.
    pub number: Option<u64>,
    /// Time of its submission, from the start of the log, nanoseconds.
    pub submit: Option<Nanos>,
    /// Time from its submission to its start, nanoseconds.
    pub wait: Option<Nanos>,
    /// Time from its start to its end, nanoseconds.
    pub run: Option<Nanos>,
    /// Processors that it had.
    pub allocated: Option<u64>,
    /// Processor time, on average over its processors, nanoseconds.
    pub cpu: Option<Nanos>,
    /// Memory that it used, kilobytes a processor.
    pub memory: Option<u64>,
    /// Processors that it asked for.
    pub requested: Option<u64>,
    /// Run time that its user asked for, nanoseconds.
    pub requested_run: Option<Nanos>,
    /// Memory that it asked for, kilobytes a processor.
    pub requested_memory: Option<u64>,
    /// 1 completed, 0 failed, 5 cancelled, 2 to 4 parts of a job that was stopped and started
    /// again.
    pub status: Option<u64>,
    /// User, group, executable, queue, partition, preceding job, and think time after that, as in
    /// the log.
    pub rest: [Option<u64>; 7],
}

/// A log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// The header's lines without their `;`.
    pub header: Vec<String>,
    /// Lines in the order of the file.
    pub records: Vec<Record>,
}

/// Counts of jobs that are left out, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Failed (status 0).
    pub failed: u64,
    /// Parts of jobs (status 2 to 4): the job has a line of its own.
    pub partial: u64,
    /// Without time of submission, without run time, or with none.
    pub no_time: u64,
    /// Without a number of processors, or with none.
    pub no_size: u64,
}

/// Nanoseconds of a second.
const SECOND: Nanos = 1_000_000_000;

impl Log {
    /// Reads a log.
    ///
    /// # Errors
    /// The first line that is no record, with its number.
    pub fn read(text: Text<'_>) -> Result<Self, Mistake> {
        let mut log = Self { header: Vec::new(), records: Vec::with_capacity(text.text.len() / 80) };
        for (line, number) in text.text.lines().zip(1..) {
            if let Some(header) = line.trim_start().strip_prefix(';') {
                log.header.push(header.trim().to_owned());
            } else if !line.trim().is_empty() {
                let record = record(line).map_err(|(field, problem)| Mistake {
                    file: text.name.to_owned(),
                    line: number,
                    field: field.to_owned(),
                    problem,
                })?;
                log.records.push(record);
            }
        }
        Ok(log)
    }

    /// The value of `key` in the header, as in `MaxProcs: 128`.
    pub fn header(&self, key: &str) -> Option<&str> {
        self.header.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim())
        })
    }

    /// Processors of the machine by the header, or else of the largest job.
    pub fn processors(&self) -> u32 {
        let said = ["MaxProcs", "MaxNodes"].iter().find_map(|key| self.header(key)?.parse().ok());
        let largest = || self.records.iter().filter_map(Record::size).max().unwrap_or(1);
        said.filter(|&processors| processors > 0).unwrap_or_else(largest)
    }

    /// The jobs that ran, in order of submission, counted from the first one's; and the counts of
    /// the jobs that are left out.
    pub fn jobs(&self) -> (Vec<BatchJob>, Skipped) {
        let mut skipped = Skipped::default();
        let mut jobs: Vec<BatchJob> = Vec::with_capacity(self.records.len());
        for record in &self.records {
            match record.status {
                Some(0) => skipped.failed += 1,
                Some(2..=4) => skipped.partial += 1,
                _ => match (record.submit, record.run.filter(|&run| run > 0), record.size()) {
                    (Some(submit), Some(run_ns), Some(size)) => jobs.push(BatchJob {
                        submit,
                        demand: Demand::Rigid { size, run_ns },
                        estimate_ns: record.requested_run.filter(|&time| time > 0),
                    }),
                    (_, _, None) => skipped.no_size += 1,
                    _ => skipped.no_time += 1,
                },
            }
        }
        jobs.sort_by_key(|job| job.submit);
        let first = jobs.first().map_or(0, |job| job.submit);
        for job in &mut jobs {
            job.submit -= first;
        }
        (jobs, skipped)
    }

    /// The log as text.
    pub fn write(&self) -> String {
        let mut out = String::with_capacity(self.records.len() * 80);
        for line in &self.header {
            let _ = writeln!(out, "; {line}");
        }
        for record in &self.records {
            record.write(&mut out);
        }
        out
    }
}

/// Jobs of a log, in order.
#[derive(Debug, Clone)]
pub struct LogJobs {
    jobs: Arc<[BatchJob]>,
    next: usize,
    end: usize,
}

impl LogJobs {
    /// `count` jobs after the first `skip`.
    pub fn new(jobs: Arc<[BatchJob]>, skip: usize, count: usize) -> Self {
        let next = skip.min(jobs.len());
        let end = next.saturating_add(count).min(jobs.len());
        Self { jobs, next, end }
    }
}

impl Iterator for LogJobs {
    type Item = BatchJob;

    fn next(&mut self) -> Option<BatchJob> {
        if self.next >= self.end {
            return None;
        }
        self.next += 1;
        Some(self.jobs[self.next - 1].clone())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl Record {
    /// Processors that it had, or else asked for.
    pub fn size(&self) -> Option<u32> {
        let size = self.allocated.filter(|&size| size > 0).or(self.requested).filter(|&size| size > 0)?;
        u32::try_from(size).ok()
    }

    fn write(&self, out: &mut String) {
        whole(out, self.number);
        for value in [self.submit, self.wait, self.run] {
            time(out, value);
        }
        whole(out, self.allocated);
        time(out, self.cpu);
        whole(out, self.memory);
        whole(out, self.requested);
        time(out, self.requested_run);
        whole(out, self.requested_memory);
        whole(out, self.status);
        for value in self.rest {
            whole(out, value);
        }
        // The last field ends the line.
        out.pop();
        out.push('\n');
    }
}

fn whole(out: &mut String, value: Option<u64>) {
    let _ = match value {
        None => write!(out, "-1 "),
        Some(value) => write!(out, "{value} "),
    };
}

/// Seconds, with a fraction only where there is one.
fn time(out: &mut String, value: Option<Nanos>) {
    whole(out, value.map(|ns| ns / SECOND));
    if let Some(fraction) = value.map(|ns| ns % SECOND).filter(|&fraction| fraction > 0) {
        out.pop();
        let digits = format!("{fraction:09}");
        let _ = write!(out, ".{} ", digits.trim_end_matches('0'));
    }
}

const NAMES: [&str; 18] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// A field's name and the mistake in it.
type Problem = (&'static str, String);

/// The whole and the billionths of a field; `None` = unknown.
type Decimal = Option<(u64, u64)>;

fn record(line: &str) -> Result<Record, Problem> {
    let mut words = line.split_ascii_whitespace();
    let mut position = 0;
    let mut read = || -> Result<(&'static str, Decimal), Problem> {
        let name = NAMES[position];
        position += 1;
        let word = words.next().ok_or_else(|| (name, format!("expected 18 numbers, found {}", position - 1)))?;
        let value = decimal(word).map_err(|NoNumber| (name, format!("expected a number, found \"{word}\"")))?;
        Ok((name, value))
    };
    // A number that is cut off would be another job's.
    let time = |(name, value): (&'static str, Decimal)| {
        let ns = value.map(|(whole, ns)| whole.checked_mul(SECOND)?.checked_add(ns).filter(|&ns| ns < CLOCK_END));
        let most = CLOCK_END / SECOND;
        ns.map(|ns| ns.ok_or_else(|| (name, format!("expected less than {most} seconds, where the clock ends"))))
            .transpose()
    };
    let size = |(name, value): (&'static str, Decimal)| match value {
        Some((size, _)) if u32::try_from(size).is_err() => {
            Err((name, format!("expected at most {} processors, found {size}", u32::MAX)))
        }
        _ => Ok(value.map(|(size, _)| size)),
    };
    let whole = |(_, value): (_, Decimal)| value.map(|(whole, _)| whole);
    Ok(Record {
        number: whole(read()?),
        submit: time(read()?)?,
        wait: time(read()?)?,
        run: time(read()?)?,
        allocated: size(read()?)?,
        cpu: time(read()?)?,
        memory: whole(read()?),
        requested: size(read()?)?,
        requested_run: time(read()?)?,
        requested_memory: whole(read()?),
        status: whole(read()?),
        rest: {
            let mut rest = [None; 7];
            for value in &mut rest {
                *value = whole(read()?);
            }
            rest
        },
    })
}

struct NoNumber;

/// A number; negative ones mean unknown. Made for speed: logs have millions of them.
fn decimal(word: &str) -> Result<Decimal, NoNumber> {
    let bytes = word.as_bytes();
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let (mut whole, mut fraction, mut unit) = (0u64, 0, SECOND);
    let mut rest = digits.iter();
    let mut any = false;
    for &byte in rest.by_ref() {
        match byte {
            b'0'..=b'9' => {
                let more = whole.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(byte - b'0')));
                whole = more.ok_or(NoNumber)?;
            }
            b'.' => break,
            _ => return Err(NoNumber),
        }
        any = true;
    }
    for &byte in rest {
        if !byte.is_ascii_digit() {
            return Err(NoNumber);
        }
        unit /= 10;
        fraction += unit * u64::from(byte - b'0');
        any = true;
    }
    if any { Ok((digits.len() == bytes.len()).then_some((whole, fraction))) } else { Err(NoNumber) }
}
