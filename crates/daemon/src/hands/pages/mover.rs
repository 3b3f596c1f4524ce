//! The mover: a thread of its own that looks where the memory of programs is and moves the pages
//! that are worth it, a batch at a time, all programs together under one rate. It never holds up
//! the manager. When there is nothing to look at and nothing to move, it sleeps.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use numaestro_host::numa::{self, NodeMemory, Target, Walk};
use numaestro_host::poll::Wake;
use numaestro_host::{HostError, monotonic_ns, thread_time_ns};

use super::course::{Bucket, Sample, Schedule, Verdict, judge};
use super::orders::{Next, Order, Orders};
use super::residency::{Places, Subject, pids, sample};

/// Addresses looked at in one step.
const STEP_LOOKS: usize = 8192;
/// Bytes moved in one step, as far as there are so many.
const STEP_BYTES: u64 = 1 << 20;
/// Reports that wait; the mover waits when there are more.
const REPORTS_MOST: usize = 256;
/// Reports that are taken at once, before others get their turn.
const REPORTS_AT_ONCE: usize = 32;
/// A move that moves less than this part of the pages it should was in vain.
const BARREN: u64 = 8;

/// A report of the mover.
#[derive(Debug)]
pub(crate) enum Report {
    /// An application has been looked at.
    Sample { app: u64, sample: Sample, verdict: Verdict },
    /// Its pages have been moved as far as could be.
    Moved { app: u64, bytes: u64, left: u64, why: &'static str },
    /// It cannot be looked at.
    Blind { app: u64, reason: String },
    /// The memory of nodes is this now.
    Nodes(Vec<NodeMemory>),
    /// See [`Order::Look`]; and the processor time that it has cost, nanoseconds.
    Looked(u64, u64),
}

/// The thread, from the manager's side. It ends with this.
#[derive(Debug)]
pub(crate) struct Mover {
    orders: Arc<Orders>,
    reports: Receiver<Report>,
    wake: Arc<Wake>,
}

impl Mover {
    /// Starts the thread. `rate`: bytes a second.
    pub(crate) fn start(rate: u64, places: Arc<Places>) -> Result<Self, HostError> {
        let orders = Arc::new(Orders::default());
        let inbox = orders.clone();
        let (outbox, reports) = sync_channel(REPORTS_MOST);
        let wake = Arc::new(Wake::new()?);
        let caller = wake.clone();
        let work = move || Worker::new(rate, places, outbox, caller).run(&inbox);
        let thread = std::thread::Builder::new().name("pages".to_owned()).spawn(work);
        let failed = |cause| HostError::Call { operation: "start the mover of pages", cause };
        thread.map_err(failed)?;
        Ok(Self { orders, reports, wake })
    }

    /// Ready when it has reported something.
    pub(crate) fn wake(&self) -> &Wake {
        &self.wake
    }

    pub(crate) fn tell(&self, order: Order) {
        self.orders.give(order);
    }

    /// The first that it has said since the last time.
    pub(crate) fn take(&self) -> Vec<Report> {
        self.wake.clear();
        let reports: Vec<Report> = self.reports.try_iter().take(REPORTS_AT_ONCE).collect();
        if reports.len() == REPORTS_AT_ONCE {
            // There may be more.
            self.wake.call();
        }
        reports
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.orders.end();
    }
}

/// One application that is watched.
#[derive(Debug)]
struct Watched {
    subject: Subject,
    schedule: Schedule,
    told: Option<(Sample, Verdict)>,
    walks: Vec<Walk>,
    moved: u64,
    unmoved: u64,
    to_move: u64,
    /// Hardly any of the pages that should move could be moved: not tried again before something
    /// has changed.
    barren: bool,
    /// The node where they should be has had no room in the end, although its free memory may say
    /// otherwise.
    full: bool,
}

struct Worker {
    places: Arc<Places>,
    outbox: SyncSender<Report>,
    wake: Arc<Wake>,
    watched: BTreeMap<u64, Watched>,
    bucket: Bucket,
    nodes: Vec<NodeMemory>,
}

impl Worker {
    fn new(rate: u64, places: Arc<Places>, outbox: SyncSender<Report>, wake: Arc<Wake>) -> Self {
        let bucket = Bucket::new(rate, monotonic_ns());
        Self { places, outbox, wake, watched: BTreeMap::new(), bucket, nodes: Vec::new() }
    }

    fn run(mut self, inbox: &Orders) {
        loop {
            let left = self.next_ns().map(|at| Duration::from_nanos(at.saturating_sub(monotonic_ns())));
            match inbox.take(left) {
                Next::Order(order) => self.obey(order),
                Next::Nothing => {
                    self.observe_due();
                    self.move_some();
                }
                Next::End => return,
            }
        }
    }

    /// The time of the next task, nanoseconds, if there is one.
    fn next_ns(&self) -> Option<u64> {
        let moving = self.watched.values().any(|watched| !watched.walks.is_empty());
        let step = moving.then(|| self.bucket.ready_ns(STEP_BYTES));
        let look = self.watched.values().filter_map(|watched| watched.schedule.next_ns).min();
        [step, look].into_iter().flatten().min()
    }

    fn say(&self, report: Report) {
        // One that finds no room waits for the manager, which has been woken by those before it.
        let _ = self.outbox.send(report);
        self.wake.call();
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Watch(subject) => self.watch(*subject),
            Order::Forget(app) => {
                self.watched.remove(&app);
                // There may be room now for applications that had none.
                let now = monotonic_ns();
                let lack = |watched: &&mut Watched| matches!(watched.told, Some((_, Verdict::Spilled(_))));
                for watched in self.watched.values_mut().filter(lack) {
                    watched.schedule.begin(now);
                    (watched.barren, watched.full) = (false, false);
                }
            }
            Order::Look(number, subjects) => {
                let begun_ns = thread_time_ns();
                self.observe_nodes(true);
                for subject in &subjects {
                    self.look(subject, true);
                }
                self.say(Report::Looked(number, thread_time_ns().saturating_sub(begun_ns)));
            }
            Order::Rate(rate) => self.bucket = Bucket::new(rate, monotonic_ns()),
            Order::Machine(places) => self.places = places,
        }
    }

    fn watch(&mut self, subject: Subject) {
        let mut schedule = Schedule::default();
        schedule.begin(monotonic_ns());
        let app = subject.app;
        let former = self.watched.remove(&app);
        if let Some(former) = former.as_ref().filter(|former| !former.walks.is_empty() && former.moved > 0) {
            self.say(Report::Moved { app, bytes: former.moved, left: former.unmoved, why: "" });
        }
        let told = former.and_then(|former| former.told);
        self.watched.insert(app, Watched::new(subject, schedule, told));
    }

    fn observe_due(&mut self) {
        let now = monotonic_ns();
        let is_due = |watched: &&Watched| watched.schedule.next_ns.is_some_and(|at| at <= now);
        let due: Vec<Subject> = self.watched.values().filter(is_due).map(|watched| watched.subject.clone()).collect();
        if due.is_empty() {
            return;
        }
        self.observe_nodes(false);
        for subject in due {
            self.look(&subject, false);
        }
    }

    /// Reads the memory of nodes, and says it if it has changed noticeably or `always`.
    fn observe_nodes(&mut self, always: bool) {
        let nodes = numa::node_memory().unwrap_or_default();
        let same = |(a, b): (&NodeMemory, &NodeMemory)| {
            a.node == b.node && a.total == b.total && a.free.abs_diff(b.free) < (a.total / 32).max(1)
        };
        if always || nodes.len() != self.nodes.len() || !nodes.iter().zip(&self.nodes).all(same) {
            self.nodes.clone_from(&nodes);
            self.say(Report::Nodes(nodes));
        }
    }

    /// Looks at one application, reports the changes, and goes on from there if it is watched.
    fn look(&mut self, subject: &Subject, always: bool) {
        let app = subject.app;
        let sample = match sample(subject, &self.places) {
            Ok(Some(sample)) => sample,
            nothing => {
                if let Some(watched) = self.watched.get_mut(&app) {
                    watched.schedule.next_ns = None;
                }
                if let Err(cause) = nothing {
                    self.say(Report::Blind { app, reason: cause.to_string() });
                }
                return;
            }
        };
        // Memory that has been moved there since is free no more.
        let nodes = if always { self.nodes.clone() } else { numa::node_memory().unwrap_or_default() };
        let (rate, now) = (self.bucket.rate(), monotonic_ns());
        let verdict = judge(&subject.aim, &sample, &nodes, &self.places.distances, rate, now);
        let Some(watched) = self.watched.get_mut(&app) else {
            self.say(Report::Sample { app, sample, verdict });
            return;
        };
        let verdict = match verdict {
            Verdict::Move(_) if watched.full => Verdict::Spilled(sample.elsewhere(&subject.aim.stay)),
            other => other,
        };
        let told = watched.told.as_ref();
        let differs = always || told.is_none_or(|(former, said)| sample.differs(former) || *said != verdict);
        if !always {
            watched.schedule.looked(&watched.subject.aim, verdict, sample.took_ns, now);
        }
        if let Verdict::Move(bytes) = verdict
            && watched.walks.is_empty()
            && !watched.barren
        {
            watched.begin(bytes);
        }
        if differs {
            watched.told = Some((sample.clone(), verdict));
            self.say(Report::Sample { app, sample, verdict });
        }
    }

    /// Moves one step for every application whose pages are being moved.
    fn move_some(&mut self) {
        let apps: Vec<u64> = self.watched.iter().filter(|(_, it)| !it.walks.is_empty()).map(|(app, _)| *app).collect();
        for app in apps {
            let allowed = self.bucket.allows(monotonic_ns());
            if allowed < numa::page_bytes() {
                return;
            }
            let Some(watched) = self.watched.get_mut(&app) else { continue };
            let (bytes, end) = watched.step(allowed.min(STEP_BYTES));
            self.bucket.spend(bytes);
            if let Some(why) = end {
                let (bytes, left) = (watched.moved, watched.unmoved);
                watched.walks.clear();
                watched.barren = bytes < watched.to_move / BARREN;
                // The pages are looked at again soon; nothing has changed for the application.
                let now = monotonic_ns();
                let soon = now + 100_000_000;
                watched.schedule.next_ns = Some(watched.schedule.next_ns.map_or(soon, |at| at.min(soon)));
                self.say(Report::Moved { app, bytes, left, why });
            }
        }
    }
}

impl Watched {
    fn new(subject: Subject, schedule: Schedule, told: Option<(Sample, Verdict)>) -> Self {
        let (walks, moved, unmoved, to_move) = (Vec::new(), 0, 0, 0);
        Self { subject, schedule, told, walks, moved, unmoved, to_move, barren: false, full: false }
    }

    /// Begins to move.
    fn begin(&mut self, bytes: u64) {
        (self.moved, self.unmoved, self.to_move) = (0, 0, bytes);
        let target = Target { stay: self.subject.aim.stay.clone(), to: self.subject.aim.stay.clone() };
        let walks = pids(&self.subject).into_iter().filter_map(|pid| Walk::new(pid, target.clone()).ok());
        self.walks = walks.collect();
    }

    /// Goes on; gives the bytes moved, and at the end why it is the end.
    fn step(&mut self, bytes: u64) -> (u64, Option<&'static str>) {
        let Some(walk) = self.walks.last_mut() else { return (0, Some("nothing to move")) };
        let left = self.to_move.saturating_sub(self.moved).min(bytes);
        let batch = match walk.step(STEP_LOOKS, left.div_ceil(numa::page_bytes())) {
            Ok(batch) => batch,
            Err(cause) if cause.is_gone() => {
                self.walks.pop();
                return (0, self.walks.is_empty().then_some("it has ended"));
            }
            Err(_) => return (0, Some("the system does not let them be moved")),
        };
        let moved = batch.moved * numa::page_bytes();
        self.moved += moved;
        self.unmoved += (batch.busy + batch.shared) * numa::page_bytes();
        self.full = batch.full;
        if batch.full {
            return (moved, Some("the node is full"));
        }
        if batch.forbidden {
            return (moved, Some("the node may not be used by it"));
        }
        if batch.done {
            self.walks.pop();
        }
        let end = self.walks.is_empty() || self.moved >= self.to_move;
        (moved, end.then_some(""))
    }
}

#[cfg(test)]
#[path = "mover_tests.rs"]
mod tests;
