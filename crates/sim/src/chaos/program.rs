//! A program as it really is, whatever anybody has been told of it: its places, its work and its
//! notices.

use super::whereabouts::Whereabouts;
use crate::Nanos;
use crate::random::{Purpose, Stream};
use numaestro_engine::{AppId, Class, Wish};
use numaestro_topology::PuSet;

/// How it changes its activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Parallel regions and sequential phases.
    Regions,
    /// The same, and in sequential phases it waits for something outside.
    Blocks,
    /// Asks for processors that it can use now, and names those that it does not use.
    Demands,
    /// Asks for another number of processors.
    Requests,
    /// Starts others and waits for them.
    Wraps,
    /// Always the same.
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
    /// It has.
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

/// How far its work is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Nanoseconds that it still has to run.
    left: Nanos,
    /// Since when it runs, nanoseconds.
    since: Option<Nanos>,
    /// Which of its expected ends counts.
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

    /// No end counts any more.
    pub fn cease(&mut self) {
        self.version += 1;
    }

    /// Its clock, started or stopped. Gives when and with which version its end has to be expected
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
    /// By which number the present manager knows it; `None`: not, or not yet.
    pub app: Option<AppId>,
    pub alive: bool,
    /// It runs without a manager: that refused it, or was killed.
    pub alone: bool,
    pub admission: Admission,
    pub halt: Halt,
    pub wish: Wish,
    pub style: Style,
    pub doing: Doing,
    /// How the manager believes it can be steered.
    pub class: Class,
    /// The processors it wants now.
    pub wants: u32,
    pub places: Whereabouts,
    pub work: Work,
    /// Nanoseconds from being told to having done it; `None`: never by itself.
    pub slowness: Option<Nanos>,
    pub draws: Stream,
    /// Where its pages are, as last said (empty: it has not been said), and what that is drawn
    /// from.
    pub memory: (Vec<u64>, Stream),
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

    /// Whether it has really been stopped, and has not gone on since.
    pub fn is_stopped(&self) -> bool {
        self.halt != Halt::No
    }

    /// Its place in the queue; 0 = none.
    pub fn position(&self) -> u32 {
        if let Admission::Waits(position) = self.admission { position } else { 0 }
    }

    /// Whether it gets on: it has a processor, needs none of its own, or runs without a manager.
    pub fn gets_on(&self, offline: &PuSet) -> bool {
        let waits_for_children = self.admission == Admission::Started && self.doing == Doing::Wrapping;
        let runs = self.alone || waits_for_children || !self.places.placed().is_subset(offline);
        self.alive && !self.is_stopped() && runs
    }

    /// What is said of the memory of so many nodes: none, some gigabytes, or more than there is
    /// anywhere.
    pub fn draw_bytes(&mut self, nodes: u32) -> Vec<u64> {
        let node = |draws: &mut Stream| match draws.below(10) {
            0..3 => 0,
            3..9 => u64::from(1 + draws.below(8)) << 30,
            _ => u64::MAX,
        };
        (0..nodes).map(|_| node(&mut self.memory.1)).collect()
    }

    /// Where it may be although it was promised to nobody else and did nothing that excuses it.
    /// What is stopped runs nowhere.
    pub fn answers_for(&self, offline: &PuSet) -> PuSet {
        if self.is_stopped() { PuSet::new() } else { self.places.unexcused().difference(offline) }
    }
}
