//! A second, naive simulator: plain vectors, every event found by looking at everything. It has no
//! queue, no slots, no shared processors, no random draws and no costs of the system; it drives the
//! same engine. Where both can tell a story they must tell the same, line by line.
//! Its programs ask once for processors and leave them at meetings; its turns fold no teams.

mod curves;
mod phases;
mod references;
mod turns;

use super::support::Entry;
use numaestro_engine::{Action, AppId, Engine, Event, Needs, Settings, Wish};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::Model;
use numaestro_sim::program::{Body, Phase, Program, Stretch};
use numaestro_topology::{NumaNodeId, PuId, PuSet};
use std::collections::{BTreeMap, VecDeque};

/// A thread. It has something to do (`busy`), and then works or waits for its team.
#[derive(Default, Clone)]
struct Thread {
    pu: Option<PuId>,
    busy: bool,
    works: bool,
    left: u64,
    rate: f64,
    since: u64,
    part: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Waiting,
    Alone,
    Team,
    Tasks,
    Curve,
    Over,
}

struct App {
    job: u64,
    program: Program,
    /// Phases still to come, repetitions written out.
    phases: VecDeque<Phase>,
    /// Stretches of a curve still to come, repetitions written out; the first one is the present.
    stretches: VecDeque<Stretch>,
    phase: Option<Phase>,
    place: Place,
    threads: Vec<Thread>,
    set: PuSet,
    count: u32,
    epoch: u32,
    owes: bool,
    moved: bool,
    /// Threads of the team, meetings so far, threads at the next one.
    size: usize,
    iteration: u32,
    arrived: usize,
    /// Tasks nobody has begun, and tasks being done.
    tasks: u32,
    running: u32,
    /// Where each part of its data is.
    pages: BTreeMap<(usize, u32), NumaNodeId>,
    /// A curve's work, what it still pays, since when, and how fast.
    work: (u64, u64, u64, f64),
    stopped: bool,
    missed: Option<What>,
}

#[derive(Clone, Copy)]
enum What {
    Resume(usize),
    Meeting(usize),
    End(usize),
}

/// The whole state.
pub struct Naive {
    model: Model,
    engine: Engine,
    now: u64,
    jobs: Vec<(u64, Program)>,
    apps: Vec<App>,
    /// Time, class, sequence.
    later: Vec<((u64, u8, usize), What)>,
    sequence: usize,
    said: VecDeque<Event>,
    log: Vec<Entry>,
    /// Somebody has to share a processor.
    shared: bool,
}

/// Runs these jobs to their ends and gives the event log. `None` if two must share a processor.
pub fn run(model: Model, mut settings: Settings, seed: u64, jobs: Vec<(u64, Program)>) -> Option<Vec<Entry>> {
    settings.host = Needs { requests: true, preemption: true, page_control: true, ..Needs::NONE };
    let engine = Engine::new(model.topology.clone(), settings, seed).expect("a policy");
    let (apps, later, said, log) = (Vec::new(), Vec::new(), VecDeque::new(), Vec::new());
    let mut naive = Naive { model, engine, now: 0, jobs, apps, later, sequence: 0, said, log, shared: false };
    while !naive.shared && naive.step() {}
    (!naive.shared).then_some(naive.log)
}

fn constant(dist: &Dist) -> u64 {
    let Dist::Constant(value) = dist else { panic!("{dist:?} would have to be drawn") };
    value.round() as u64
}

fn written_out(phases: &[Phase]) -> VecDeque<Phase> {
    let each = |phase: &Phase| match phase {
        Phase::Repeat { times, phases } => (0..*times).flat_map(|_| written_out(phases)).collect(),
        other => VecDeque::from([other.clone()]),
    };
    phases.iter().flat_map(each).collect()
}

fn done_at(since: u64, left: u64, rate: f64) -> u64 {
    since + (left as f64 / rate).ceil() as u64
}

impl Naive {
    /// The next event. At one time: work, curves, pauses, meetings, ends, arrivals, timers.
    fn step(&mut self) -> bool {
        let mut first = (u64::MAX, 0, 0);
        let mut thread_of_first = None;
        for (app, entry) in self.apps.iter().enumerate().filter(|(_, entry)| !entry.stopped) {
            for (number, thread) in entry.threads.iter().enumerate().filter(|(_, thread)| thread.works) {
                let key = (done_at(thread.since, thread.left, thread.rate), 0, thread.pu.expect("somewhere").index());
                if key < first {
                    (first, thread_of_first) = (key, Some((app, Some(number))));
                }
            }
            let (left, stall, since, rate) = entry.work;
            if entry.place == Place::Curve && rate > 0.0 {
                let key = (done_at(since + stall, left, rate), 0, 1000 + app);
                if key < first {
                    (first, thread_of_first) = (key, Some((app, None)));
                }
            }
        }
        let later = self.later.iter().enumerate().map(|(at, (key, _))| ((key.0, key.1 + 1, key.2), at)).min();
        let arrival = self.jobs.first().map(|(at, _)| ((*at).max(self.now), 4, 0));
        let timer = self.engine.deadline().map(|at| (at.max(self.now), 5, 0));
        let next = [Some(first), later.map(|(key, _)| key), arrival, timer].into_iter().flatten().min();
        let next = next.expect("one of them is always there");
        if next.0 == u64::MAX {
            return false;
        }
        self.now = next.0;
        if next == first {
            match thread_of_first.expect("an end of work") {
                (app, Some(number)) => self.work_ended(app, number),
                (app, None) => self.curve_ended(app),
            }
        } else if let Some((_, at)) = later.filter(|(key, _)| *key == next) {
            match self.later.remove(at).1 {
                what @ (What::Resume(app) | What::Meeting(app)) => self.happens(app, what),
                What::End(app) => {
                    self.note("end", app, 0, 0);
                    self.said.push_back(Event::Depart { app: AppId(app as u64 + 1) });
                }
            }
        } else if Some(next) == arrival {
            self.arrive();
        } else {
            self.said.push_back(Event::Timer);
        }
        self.decide();
        true
    }

    fn note(&mut self, name: &str, app: usize, thread: u32, value: u32) {
        let job = self.apps[app].job;
        self.log.push(Entry { at: self.now, name: name.to_owned(), job, thread, value });
    }

    fn later(&mut self, at: u64, class: u8, what: What) {
        self.sequence += 1;
        self.later.push(((at, class, self.sequence), what));
    }

    fn arrive(&mut self) {
        let (_, program) = self.jobs.remove(0);
        let wish = Wish {
            request: program.processors,
            min: program.limits.min,
            max: program.limits.max,
            weight_milli: program.limits.weight_milli,
            class: program.class,
            wait: None,
            estimate_ns: None,
            ..Wish::new(1)
        };
        let (phases, stretches) = match &program.body {
            Body::Phases(phases) => (written_out(phases), VecDeque::new()),
            Body::Curve { stretches, times, .. } => {
                (VecDeque::new(), (0..*times).flat_map(|_| stretches.clone()).collect())
            }
        };
        self.apps.push(App {
            job: self.apps.len() as u64,
            program,
            phases,
            stretches,
            phase: None,
            place: Place::Waiting,
            threads: Vec::new(),
            set: PuSet::new(),
            count: 0,
            epoch: 0,
            owes: false,
            moved: false,
            size: 0,
            iteration: 0,
            arrived: 0,
            tasks: 0,
            running: 0,
            pages: BTreeMap::new(),
            work: (0, 0, 0, 0.0),
            stopped: false,
            missed: None,
        });
        self.note("arrive", self.apps.len() - 1, 0, 0);
        self.said.push_back(Event::Arrive { app: AppId(self.apps.len() as u64), wish });
    }

    /// All that was said is decided, and done at once.
    fn decide(&mut self) {
        while let Some(event) = self.said.pop_front().filter(|_| !self.shared) {
            let mut actions = Vec::new();
            self.engine.step(self.now, &event, &mut actions);
            for action in actions {
                match action {
                    Action::Target { app, epoch, count, pus, shared, .. } => {
                        self.shared |= shared;
                        self.target(app.0 as usize - 1, epoch, count, pus);
                    }
                    Action::Stop { app } => self.stop(app.0 as usize - 1),
                    Action::Continue { app } => self.go_on(app.0 as usize - 1),
                    Action::Start { .. } | Action::Wait { .. } | Action::Pages { .. } => {}
                    other => panic!("{other:?} does not happen here"),
                }
            }
        }
    }

    fn target(&mut self, app: usize, epoch: u32, count: u32, pus: PuSet) {
        self.note("target", app, count, epoch);
        let entry = &mut self.apps[app];
        let (before, old) = (entry.epoch, std::mem::replace(&mut entry.set, pus));
        (entry.epoch, entry.count) = (epoch, count);
        if entry.place == Place::Over {
            return;
        }
        entry.owes |= !old.is_subset(&entry.set);
        let changed = old != entry.set;
        entry.moved |= changed;
        if matches!(entry.program.body, Body::Curve { .. }) {
            return self.target_of_curve(app, before == 0, changed);
        }
        if before == 0 {
            self.note("start", app, 0, 0);
            let first = self.apps[app].set.first();
            self.apps[app].threads.push(Thread { pu: first, ..Thread::default() });
            self.apps[app].moved = false;
            self.advance(app);
        } else if changed {
            match self.apps[app].place {
                Place::Team | Place::Tasks if !self.apps[app].stopped => self.slide(app),
                _ => self.settle(app),
            }
            self.start_tasks(app);
        }
    }

    /// In a team, a thread outside of the set moves only to idle processors of the program.
    fn slide(&mut self, app: usize) {
        if self.outside(app) > 0 {
            self.start_tasks(app);
            for number in 0..self.apps[app].threads.len() {
                let free = self.unused(app);
                let thread = &self.apps[app].threads[number];
                let strays =
                    self.on_processor(app, number) && !self.apps[app].set.contains(thread.pu.expect("somewhere"));
                if let (true, Some(pu)) = (strays, free.first()) {
                    self.move_to(app, number, pu);
                }
            }
        }
        if self.outside(app) == 0 {
            self.adopt(app);
        }
    }

    /// Works, or waits for its team on the processor.
    fn on_processor(&self, app: usize, number: usize) -> bool {
        let entry = &self.apps[app];
        let blocks = matches!(&entry.phase, Some(Phase::Parallel { wait: numaestro_sim::program::Wait::Block, .. }));
        let thread = &entry.threads[number];
        // The last one at a meeting does not get as far as leaving its processor.
        thread.busy && (thread.works || !blocks || entry.arrived == entry.size)
    }

    fn outside(&self, app: usize) -> usize {
        let entry = &self.apps[app];
        let strays = |&number: &usize| {
            self.on_processor(app, number) && entry.threads[number].pu.is_some_and(|pu| !entry.set.contains(pu))
        };
        (0..entry.threads.len()).filter(strays).count()
    }

    fn unused(&self, app: usize) -> PuSet {
        let mut unused = self.apps[app].set.clone();
        for thread in self.apps[app].threads.iter().filter(|thread| thread.busy) {
            if let Some(pu) = thread.pu {
                unused.remove(pu);
            }
        }
        unused
    }

    fn adopt(&mut self, app: usize) {
        if std::mem::take(&mut self.apps[app].owes) {
            let epoch = self.apps[app].epoch;
            self.note("adopted", app, 0, epoch);
            self.said.push_back(Event::Adopted { app: AppId(app as u64 + 1), epoch });
        }
    }

    /// Nothing holds its threads: the misplaced go to its least loaded processor, the lowest first.
    fn settle(&mut self, app: usize) {
        if std::mem::take(&mut self.apps[app].moved) {
            self.spread(app);
        }
        self.adopt(app);
    }

    fn spread(&mut self, app: usize) {
        let entry = &self.apps[app];
        let takes_part = |number: usize| match entry.place {
            Place::Team => number < entry.size,
            Place::Tasks => number == 0 || entry.threads[number].busy,
            _ => number == 0,
        };
        let numbers: Vec<usize> = (0..entry.threads.len()).filter(|&number| takes_part(number)).collect();
        let mut load: Vec<(usize, PuId)> = entry.set.iter().map(|pu| (0, pu)).collect();
        let most = numbers.len().div_ceil(load.len());
        let mut movers = Vec::new();
        for number in numbers {
            match load.iter_mut().find(|(load, pu)| Some(*pu) == entry.threads[number].pu && *load < most) {
                Some((load, _)) => *load += 1,
                None => movers.push(number),
            }
        }
        self.shared |= movers.len() > load.iter().filter(|(load, _)| *load == 0).count();
        for number in movers {
            let least = load.iter_mut().min().expect("a processor");
            least.0 += 1;
            let pu = least.1;
            self.move_to(app, number, pu);
        }
    }

    fn move_to(&mut self, app: usize, number: usize, pu: PuId) {
        let now = self.now;
        let thread = &mut self.apps[app].threads[number];
        thread.pu = Some(pu);
        if thread.works {
            thread.left -= ((now - thread.since) as f64 * thread.rate) as u64;
            thread.since = now;
            let part = thread.part;
            let rate = self.rate(app, part, pu);
            self.apps[app].threads[number].rate = rate;
        }
    }

    fn work(&mut self, app: usize, number: usize, work: u64) {
        let thread = &self.apps[app].threads[number];
        let rate = self.rate(app, thread.part, thread.pu.expect("somewhere"));
        let since = self.now;
        let thread = &mut self.apps[app].threads[number];
        (thread.busy, thread.works, thread.left, thread.since, thread.rate) = (true, true, work, since, rate);
    }

    fn rest(&mut self, app: usize, from: usize) {
        for thread in self.apps[app].threads.iter_mut().skip(from) {
            (thread.busy, thread.works) = (false, false);
        }
    }
}
