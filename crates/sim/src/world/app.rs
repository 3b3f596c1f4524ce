//! An application of the world: what it was told, where it stands in its program, its threads. Knows nothing of processors' states.

use super::analyzer::Watch;
use super::draws::Draws;
use super::pages::Following;
use super::thread::NONE;
use crate::Nanos;
use crate::memory::AppMemory;
use crate::outcome::JobRecord;
use crate::program::{Body, Phase, Program, Wait};
use numaestro_engine::{AppId, PageHome};
use numaestro_topology::{NumaNodeId, PuId, PuSet};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the engine told it last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// 0 = nothing yet.
    pub epoch: u32,
    /// Threads that it should have.
    pub count: u32,
    /// Others run on some of its processors.
    pub shared: bool,
    /// It still has to say `Adopted`.
    pub owes: bool,
}

/// What it told the engine last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub processors: u32,
    pub idle: PuSet,
    pub sequential: bool,
    pub blocked: bool,
}

/// Where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// Has no processor yet.
    Waiting,
    /// Between phases.
    Between,
    Serial,
    /// Its master asks the engine, or creates threads.
    Forking,
    Region,
    Tasks,
    Pause,
    /// Only a curve.
    Curve,
    /// Nothing more to do.
    Over,
}

/// What has to wait until a stopped application goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deferred {
    Meeting,
    Resume,
    Answer,
}

/// A step into a list of phases.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// Phase of the list.
    at: u32,
    /// Rounds of the list, the present one included.
    rounds: u32,
}

/// The place in a program.
#[derive(Debug, Clone, Default)]
pub(super) struct Cursor {
    frames: Vec<Frame>,
    begun: bool,
}

impl Cursor {
    /// Goes to the next phase that is not a repetition. `None` at the end.
    pub fn next<'a>(&mut self, program: &'a Program) -> Option<&'a Phase> {
        let Body::Phases(phases) = &program.body else { return None };
        if self.begun {
            self.frames.last_mut()?.at += 1;
        } else {
            self.begun = true;
            self.frames.push(Frame { at: 0, rounds: 1 });
        }
        loop {
            let list = self.list(phases);
            let depth = self.frames.len();
            let frame = self.frames.last_mut()?;
            match list.get(frame.at as usize) {
                Some(Phase::Repeat { times, phases }) if *times > 0 && !phases.is_empty() => {
                    self.frames.push(Frame { at: 0, rounds: *times });
                }
                Some(Phase::Repeat { .. }) => frame.at += 1,
                Some(phase) => return Some(phase),
                None if frame.rounds > 1 => *frame = Frame { at: 0, rounds: frame.rounds - 1 },
                None if depth == 1 => {
                    self.frames.clear();
                    return None;
                }
                None => {
                    self.frames.pop();
                    self.frames.last_mut()?.at += 1;
                }
            }
        }
    }

    /// How many repetitions it is inside of, and how many rounds of the innermost of them are left.
    pub fn round(&self) -> (u32, u32) {
        (self.frames.len().saturating_sub(1) as u32, self.frames.last().map_or(0, |frame| frame.rounds))
    }

    /// The list that the innermost frame steps through.
    fn list<'a>(&self, phases: &'a [Phase]) -> &'a [Phase] {
        let mut list = phases;
        for frame in &self.frames[..self.frames.len() - 1] {
            if let Some(Phase::Repeat { phases, .. }) = list.get(frame.at as usize) {
                list = phases;
            }
        }
        list
    }

    /// The phase it stands at.
    pub fn phase<'a>(&self, program: &'a Program) -> Option<&'a Phase> {
        let Body::Phases(phases) = &program.body else { return None };
        self.list(phases).get(self.frames.last()?.at as usize)
    }
}

/// The parallel region or the tasks that it is in.
#[derive(Debug, Clone)]
pub(super) struct Region {
    /// Threads of the team.
    pub size: u32,
    /// Most.
    pub width: u32,
    /// Threads still to be created before it begins.
    pub creating: u32,
    /// Meetings so far.
    pub iteration: u32,
    pub iterations: u32,
    /// Threads at the meeting.
    pub arrived: u32,
    pub wait: Wait,
    /// Tasks nobody has begun.
    pub tasks: u32,
    /// Tasks in all.
    pub tasks_all: u32,
    /// Tasks being done.
    pub running: u32,
}

impl Default for Region {
    fn default() -> Self {
        Self {
            size: 0,
            width: 0,
            creating: 0,
            iteration: 0,
            iterations: 0,
            arrived: 0,
            wait: Wait::Spin,
            tasks: 0,
            tasks_all: 0,
            running: 0,
        }
    }
}

/// An application that is only a curve.
#[derive(Debug, Clone, Default)]
pub(super) struct Fluid {
    /// Work left at `marked`, nanoseconds on one processor.
    pub left: Nanos,
    /// What a change of processors still costs.
    pub stall: Nanos,
    pub marked: Nanos,
    /// Work per elapsed nanosecond.
    pub rate: f64,
    /// Work after that in `left`, where it measures itself from part to part.
    pub rest: Nanos,
    /// The present part, and when it began.
    pub chunk: (Nanos, Nanos),
    /// Processors it had last.
    pub size: u32,
}

/// An application.
#[derive(Debug)]
pub(super) struct App {
    pub id: AppId,
    pub program: Arc<Program>,
    pub record: JobRecord,
    pub draws: Draws,
    pub told: Told,
    pub said: Said,
    pub stand: Stand,
    pub cursor: Cursor,
    /// Phases entered so far.
    pub phase: u64,
    pub region: Region,
    /// Threads by number; the master first.
    pub team: Vec<u32>,
    /// Its processors, as told last.
    pub set: PuSet,
    /// What it has been told to leave since it last said that all of that is left.
    pub leaving: PuSet,
    /// `set` in rising order.
    pub list: Vec<PuId>,
    /// NUMA nodes of those.
    pub nodes: Vec<NumaNodeId>,
    /// Its threads run anywhere in the set.
    pub floats: bool,
    /// `set` or `floats` has changed since its threads were spread over it.
    pub moved: bool,
    /// Threads that were spread then.
    pub spread: u32,
    pub home: PageHome,
    pub following: Following,
    pub memory: AppMemory,
    /// Who holds its lock.
    pub holder: u32,
    pub lockers: VecDeque<u32>,
    pub fluid: Fluid,
    /// It does not run until it is let go on.
    pub stopped: bool,
    pub deferred: Option<Deferred>,
    pub watch: Watch,
    /// Largest number of processors it has asked for so far.
    pub widest: u32,
    /// Since when its number of processors is being searched for.
    pub searched: Option<Nanos>,
    /// Whether it had been found before the last step of the engine, and after it.
    pub settled: (bool, bool),
    pub local_refs: f64,
    pub remote_refs: f64,
    /// Work given to its threads so far, nanoseconds.
    pub given: u64,
    /// Work done by segments that have ended.
    pub done: u64,
}

impl App {
    /// One that has just arrived.
    pub fn new(id: AppId, program: Arc<Program>, record: JobRecord, draws: Draws, memory: AppMemory) -> Self {
        Self {
            id,
            program,
            record,
            draws,
            told: Told::default(),
            said: Said::default(),
            stand: Stand::Waiting,
            cursor: Cursor::default(),
            phase: 0,
            region: Region::default(),
            team: Vec::new(),
            set: PuSet::new(),
            leaving: PuSet::new(),
            list: Vec::new(),
            nodes: Vec::new(),
            floats: false,
            moved: false,
            spread: 0,
            home: PageHome::FirstTouch,
            following: Following::default(),
            memory,
            holder: NONE,
            lockers: VecDeque::new(),
            fluid: Fluid::default(),
            stopped: false,
            deferred: None,
            watch: Watch::default(),
            widest: 1,
            searched: None,
            settled: (false, false),
            local_refs: 0.0,
            remote_refs: 0.0,
            given: 0,
            done: 0,
        }
    }

    /// Whether tasks of it run where it has been told not to be.
    pub fn waits_to_leave(&self) -> bool {
        self.told.owes && self.stand == Stand::Tasks
    }

    /// Whether it has work to do that is shared by several threads.
    pub fn is_parallel(&self) -> bool {
        matches!(self.stand, Stand::Region | Stand::Tasks)
    }
}
