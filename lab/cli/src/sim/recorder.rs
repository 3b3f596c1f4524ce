//! Writes while a run goes on: the event log, the journal, one line for each application, the
//! occupancy.
//!
//! Everything is streamed, so a long run needs no memory for it. A file that cannot be written is
//! noticed before the run where that is possible, and told after it otherwise.

use super::occupancy::Occupancy;
use super::summary::seconds;
use anyhow::Context;
use numaestro_engine::{Action, AppId, Event, journal};
use numaestro_sim::Nanos;
use numaestro_sim::outcome::JobRecord;
use numaestro_sim::world::{Observer, Occupant};
use numaestro_topology::PuId;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is written line by line.
#[derive(Debug)]
struct Sink {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

impl Sink {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::with_capacity(1 << 16, file), failed: None })
    }

    fn line(&mut self, line: &str) {
        if self.failed.is_none() {
            let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.write_all(b"\n"));
            self.failed = written.err();
        }
    }

    fn close(mut self) -> anyhow::Result<()> {
        let result = self.failed.take().map_or_else(|| self.file.flush(), Err);
        result.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// An observer that writes the requested files, and nothing else.
#[derive(Default)]
pub struct Recorder<'a> {
    log: Option<Sink>,
    journal: Option<Sink>,
    /// The program of the application that the next line of the journal is about.
    arriving: Option<String>,
    jobs: Option<Sink>,
    occupancy: Option<Occupancy>,
    /// Called for each application that ends.
    pub tick: Option<&'a (dyn Fn() + Sync)>,
}

/// The first line of the file of applications.
pub const JOBS_HEADER: &str = "job,program,stream,arrived_s,started_s,ended_s,response_s,cpu_s,threads,local_refs,remote_refs,\
                               migrations,children,children_away";

impl Recorder<'_> {
    /// Writes the event log here.
    pub fn log_to(&mut self, path: &Path) -> anyhow::Result<()> {
        self.log = Some(Sink::create(path)?);
        Ok(())
    }

    /// Writes the journal here; `head` is its first line.
    pub fn journal_to(&mut self, path: &Path, head: &str) -> anyhow::Result<()> {
        let mut sink = Sink::create(path)?;
        sink.line(head);
        self.journal = Some(sink);
        Ok(())
    }

    /// Writes one line for each application here.
    pub fn jobs_to(&mut self, path: &Path) -> anyhow::Result<()> {
        let mut sink = Sink::create(path)?;
        sink.line(JOBS_HEADER);
        self.jobs = Some(sink);
        Ok(())
    }

    /// Collects the occupancy of the processors.
    pub fn collect_occupancy(&mut self, processors: usize) {
        self.occupancy = Some(Occupancy::new(processors));
    }

    /// Writes the rest, and gives the occupancy.
    pub fn close(self) -> anyhow::Result<Option<Occupancy>> {
        for sink in [self.log, self.journal, self.jobs].into_iter().flatten() {
            sink.close()?;
        }
        Ok(self.occupancy)
    }
}

impl Observer for Recorder<'_> {
    fn wants_log(&self) -> bool {
        self.log.is_some()
    }

    fn log(&mut self, line: &str) {
        if let Some(sink) = &mut self.log {
            sink.line(line);
        }
    }

    fn wants_journal(&self) -> bool {
        self.journal.is_some()
    }

    fn arrives(&mut self, _app: AppId, program: &str) {
        self.arriving = Some(program.to_owned());
    }

    fn journal(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        let name = self.arriving.take();
        if let Some(sink) = &mut self.journal {
            sink.line(&journal::encode_named(at, name.as_deref(), event, actions));
        }
    }

    fn wants_runs(&self) -> bool {
        self.occupancy.is_some()
    }

    fn runs(&mut self, at: Nanos, pu: PuId, what: Occupant) {
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.runs(at, pu.index(), what.map(|(_, job, _)| job));
        }
    }

    fn ended(&mut self, job: &JobRecord) {
        if let Some(sink) = &mut self.jobs {
            sink.line(&job_line(job));
        }
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.ended(job.job, &job.program);
        }
        if let Some(tick) = self.tick {
            tick();
        }
    }
}

fn job_line(job: &JobRecord) -> String {
    format!(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        job.job,
        super::csv::field(&job.program),
        job.stream,
        seconds(job.arrived),
        seconds(job.started),
        seconds(job.ended),
        seconds(job.response()),
        seconds(job.cpu_ns),
        job.threads,
        job.local_refs,
        job.remote_refs,
        job.migrations,
        job.children,
        job.children_away
    )
}
