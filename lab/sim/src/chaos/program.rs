//! The real state of a program, whatever anybody has been told of it: its places, its work and its
//! notices.

use super::whereabouts::Whereabouts;
use crate::Nanos;
use crate::random::{Purpose, Stream};
use numaestro_engine::{AppId, Class, Wish};
use numaestro_topology::PuSet;

/// The ways in which a program changes its activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// It has parallel regions and sequential phases.
    Regions,
    /// As `Regions`, and in sequential phases it waits for something outside.
    Blocks,
    /// It asks for the processors that it can use now, and names the ones that it does not use.
    Demands,
    /// It asks for another number of processors.
    Requests,
    /// It starts others and waits for them.
    Wraps,
    /// It always does the same.
    Steady,
}

/// Its activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Parallel,
    Sequential,
    Blocked,
    Wrapping,
}

/// Whether the manager has let it start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It has heard nothing.
    Unheard,
    /// It has this place in the queue.
    Waits(u32),
    /// It has started.
    Started,
}

/// Whether it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// It runs.
    No,
    /// It is to go on, but still stopped.
    Ending,
    Stopped,
}

/// The progress of a program's work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Nanoseconds that the program still has to run.
    left: Nanos,
    /// Time since which the program runs, nanoseconds.
    since: Option<Nanos>,
    /// The version of its expected end that counts.
    version: u32,
}

impl Work {
    /// Nanoseconds that it still has to run, as far as they are accounted for.
    pub fn left(self) -> Nanos {
        self.left
    }

    /// Whether it is this expected end that counts.
    pub fn ends_with(self, version: u32) -> bool {
        self.version == version
    }

    /// Makes all expected ends void.
    pub fn cease(&mut self) {
        self.version += 1;
    }

    /// Starts or stops the clock. Returns the time and version of an end that has to be expected
    /// anew.
    pub fn reckon(&mut self, now: Nanos, gets_on: bool) -> Option<(Nanos, u32)> {
        if gets_on == self.since.is_some() {
            return None;
        }
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(now - since);
        }
        self.since = gets_on.then_some(now);
        self.version += 1;
        gets_on.then_some((now + self.left, self.version))
    }
}

/// A program.
#[derive(Debug)]
pub(super) struct Program {
    /// The number by which the present manager knows the program; `None`: not, or not yet.
    pub app: Option<AppId>,
    pub alive: bool,
    /// The program runs without a manager, which refused it or was killed.
    pub alone: bool,
    pub admission: Admission,
    pub halt: Halt,
    pub wish: Wish,
    pub style: Style,
    pub doing: Doing,
    /// The class that the manager believes it to have.
    pub class: Class,
    /// Number of processors it wants now.
    pub wants: u32,
    pub places: Whereabouts,
    pub work: Work,
    /// Nanoseconds from a target to its adoption; `None`: never by itself.
    pub slowness: Option<Nanos>,
    pub draws: Stream,
    /// Bytes of its pages by node, as last said (empty: it has not said them), and the stream that
    /// draws them.
    pub memory: (Vec<u64>, Stream),
}

impl Program {
    /// The program with this number.
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
            alone: false,
            admission: Admission::Unheard,
            halt: Halt::No,
            style,
            doing: Doing::Parallel,
            class: wish.class,
            wants: wish.request,
            wish,
            places: Whereabouts::default(),
            work: Work { left, since: None, version: 0 },
            slowness: (!never).then_some(slowness),
            draws,
            memory: (Vec::new(), Stream::new(seed, Purpose::Program, 2 << 32 | u64::from(number))),
        }
    }

    /// Whether the program has really been stopped, and has not gone on since.
    pub fn is_stopped(&self) -> bool {
        self.halt != Halt::No
    }

    /// Its place in the queue; 0 = none.
    pub fn position(&self) -> u32 {
        if let Admission::Waits(position) = self.admission { position } else { 0 }
    }

    /// Whether its work goes on: it has a processor, needs none of its own, or runs without a
    /// manager.
    pub fn gets_on(&self, offline: &PuSet) -> bool {
        let waits_for_children = self.admission == Admission::Started && self.doing == Doing::Wrapping;
        let runs = self.alone || waits_for_children || !self.places.placed().is_subset(offline);
        self.alive && !self.is_stopped() && runs
    }

    /// Draws the bytes on each of so many nodes as the program reports them: none, some gigabytes,
    /// or more than there is anywhere.
    pub fn draw_bytes(&mut self, nodes: u32) -> Vec<u64> {
        let node = |draws: &mut Stream| match draws.below(10) {
            0..3 => 0,
            3..9 => u64::from(1 + draws.below(8)) << 30,
            _ => u64::MAX,
        };
        (0..nodes).map(|_| node(&mut self.memory.1)).collect()
    }

    /// Processors where its threads may be without an excuse, so that another program's promise to
    /// be alone there would be broken. A stopped program runs nowhere.
    pub fn answers_for(&self, offline: &PuSet) -> PuSet {
        if self.is_stopped() { PuSet::new() } else { self.places.unexcused().difference(offline) }
    }
}
