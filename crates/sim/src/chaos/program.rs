//! A program as it really is, whatever anybody has been told of it. Knows nothing of who else there is.

use crate::Nanos;
use crate::random::{Purpose, Stream};
use numaestro_engine::{AppId, Class, Wish};
use numaestro_topology::PuSet;

/// What it does when it changes what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Parallel regions and sequential phases.
    Regions,
    /// The same, and in sequential phases it waits for something outside.
    Blocks,
    /// Asks for what it can use now, and says what it does not use.
    Demands,
    /// Asks for another number of processors.
    Requests,
    /// Starts others and waits for them.
    Wraps,
    /// Always the same.
    Steady,
}

/// What it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Parallel,
    Sequential,
    Blocked,
    Wrapping,
}

/// What its page says.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub epoch: u32,
    pub pus: PuSet,
    pub shared: bool,
}

/// A program.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
pub(super) struct Program {
    /// By which number the present manager knows it; `None`: not, or not yet.
    pub app: Option<AppId>,
    pub alive: bool,
    pub wish: Wish,
    pub style: Style,
    pub doing: Doing,
    /// How the manager believes it can be steered.
    pub class: Class,
    pub page: Option<Page>,
    /// Latest epoch of its page that it (or somebody from outside) has carried out.
    pub seen: u32,
    /// Where its threads may run.
    pub placed: PuSet,
    /// Where it may be although somebody else is promised to be alone there, through no fault of the engine's: it said that it was not, the
    /// system refused to move it, it was a guest, or the engine has never heard of it.
    pub excused: PuSet,
    /// What it has told the engine to be idle, and has not been given since.
    pub idle: PuSet,
    /// It runs without a manager: that refused it, or was killed.
    pub alone: bool,
    /// It has really been stopped, and has not gone on since.
    pub stopped: bool,
    /// The manager wants it to run, if it is stopped still.
    pub goes_on: bool,
    pub started: bool,
    /// Its place in the queue as last told; 0 = none.
    pub position: u32,
    /// The processors it wants now.
    pub wants: u32,
    /// Nanoseconds that it still has to run.
    pub left: Nanos,
    /// Since when it runs.
    pub running: Option<Nanos>,
    /// Which of its expected ends counts.
    pub version: u32,
    /// Nanoseconds from being told to having done it; `None`: never by itself.
    pub slowness: Option<Nanos>,
    /// Where its pages are, as last said; empty: it has not been said.
    pub bytes: Vec<u64>,
    pub draws: Stream,
    /// For what is said of memory.
    pub memory: Stream,
}

impl Program {
    /// The one with this number.
    pub fn new(seed: u64, number: u32, wish: Wish, never: bool) -> Self {
        let mut draws = Stream::new(seed, Purpose::Program, 1 << 32 | u64::from(number));
        let styles = [
            Style::Regions,
            Style::Blocks,
            Style::Demands,
            Style::Demands,
            Style::Requests,
            Style::Wraps,
            Style::Steady,
        ];
        let style = styles[draws.below(styles.len() as u32) as usize];
        let slowness = [1_000, 50_000, 200_000, 5_000_000, 30_000_000, 300_000_000][draws.below(6) as usize];
        let left = (draws.exponential() * [1e6, 1e8, 1e9, 5e9][draws.below(4) as usize]) as Nanos + 1000;
        Self {
            app: None,
            alive: true,
            style,
            doing: Doing::Parallel,
            class: wish.class,
            page: None,
            seen: 0,
            placed: PuSet::new(),
            excused: PuSet::new(),
            idle: PuSet::new(),
            alone: false,
            stopped: false,
            goes_on: true,
            started: false,
            position: 0,
            wants: wish.request,
            wish,
            left,
            running: None,
            version: 0,
            slowness: (!never).then_some(slowness),
            bytes: Vec::new(),
            draws,
            memory: Stream::new(seed, Purpose::Program, 2 << 32 | u64::from(number)),
        }
    }

    /// Whether it gets on: it has a processor, needs none of its own, or runs without a manager.
    pub fn gets_on(&self, offline: &PuSet) -> bool {
        let waits_for_children = self.started && self.doing == Doing::Wrapping;
        self.alive && !self.stopped && (self.alone || waits_for_children || !self.placed.is_subset(offline))
    }

    /// The clock of its work, started or stopped. True if another end has to be expected.
    pub fn reckon(&mut self, now: Nanos, gets_on: bool) -> bool {
        if let Some(since) = self.running.take() {
            self.left = self.left.saturating_sub(now - since);
        }
        self.running = gets_on.then_some(now);
        self.version += 1;
        gets_on
    }

    /// It, or somebody from outside, moves its threads.
    pub fn move_to(&mut self, epoch: u32, pus: &PuSet, shared: bool) {
        self.seen = self.seen.max(epoch);
        self.placed.clone_from(pus);
        self.excused.and_with(pus);
        if !shared {
            self.excused.clear();
        }
    }

    /// Its page is written.
    pub fn publish(&mut self, epoch: u32, pus: &PuSet, shared: bool) {
        let lost = self.idle.difference(pus);
        self.excused.or_with(&lost);
        self.idle.subtract(&lost);
        if shared {
            self.excused.or_with(pus);
        } else {
            let before = self.page.take().map(|page| page.pus).unwrap_or_default();
            self.idle.subtract(&pus.difference(&before));
            self.excused.subtract(pus);
        }
        self.page = Some(Page { epoch, pus: pus.clone(), shared });
    }

    /// What is said of the memory of so many nodes: none, some gigabytes, or more than there is anywhere.
    pub fn draw_bytes(&mut self, nodes: u32) -> Vec<u64> {
        let node = |draws: &mut Stream| match draws.below(10) {
            0..3 => 0,
            3..9 => u64::from(1 + draws.below(8)) << 30,
            _ => u64::MAX,
        };
        (0..nodes).map(|_| node(&mut self.memory)).collect()
    }

    /// Where it may be although it was promised to nobody else and did nothing that excuses it. What is stopped runs nowhere.
    pub fn answers_for(&self, offline: &PuSet) -> PuSet {
        if self.stopped {
            return PuSet::new();
        }
        let mut there = self.placed.difference(&self.excused);
        there.subtract(&self.idle);
        there.subtract(offline);
        there
    }
}
