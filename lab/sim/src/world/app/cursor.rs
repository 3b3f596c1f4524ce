//! The place in a program: the phase in each list, and the round of each repetition.

use crate::Nanos;
use crate::program::{Body, Phase, Program};

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
pub struct Cursor {
    frames: Vec<Frame>,
    /// Phases entered so far, the end of the program included.
    entered: u64,
    /// The time at which the program is told to end, nanoseconds.
    until: Option<Nanos>,
}

impl Cursor {
    /// The beginning of a program that is told to end then.
    pub fn until(until: Option<Nanos>) -> Self {
        Self { until, ..Self::default() }
    }

    /// Whether the program has been told to end.
    pub fn is_told_to_end(&self, now: Nanos) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Goes to the next phase that is not a repetition. `None` at the end, and once the program has
    /// been told to end.
    pub fn next<'a>(&mut self, program: &'a Program, now: Nanos) -> Option<&'a Phase> {
        let Body::Phases(phases) = &program.body else { return None };
        self.entered += 1;
        if self.is_told_to_end(now) {
            self.frames.clear();
            return None;
        }
        match self.frames.last_mut() {
            Some(frame) => frame.at += 1,
            None if self.entered == 1 => self.frames.push(Frame { at: 0, rounds: 1 }),
            None => return None,
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

    /// Phases entered so far, the end of the program included.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// The number of repetitions it is inside of, and the rounds left of the innermost one.
    pub fn round(&self) -> (u32, u32) {
        (self.frames.len().saturating_sub(1) as u32, self.frames.last().map_or(0, |frame| frame.rounds))
    }

    /// Whether a later phase is for a team: a parallel one, or tasks.
    pub fn has_team_ahead(&self, program: &Program) -> bool {
        let Body::Phases(phases) = &program.body else { return false };
        let mut list = &phases[..];
        for frame in &self.frames {
            let (at, again) = (frame.at as usize, frame.rounds > 1);
            if has_team(if again { list } else { list.get(at + 1..).unwrap_or_default() }) {
                return true;
            }
            if let Some(Phase::Repeat { phases, .. }) = list.get(at) {
                list = phases;
            }
        }
        false
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
        let at = self.frames.last()?.at as usize;
        self.list(phases).get(at)
    }
}

/// Whether one of these phases is for a team.
fn has_team(phases: &[Phase]) -> bool {
    phases.iter().any(|phase| match phase {
        Phase::Parallel { .. } | Phase::Tasks { .. } => true,
        Phase::Repeat { times, phases } => *times > 0 && has_team(phases),
        Phase::Serial { .. } | Phase::Pause { .. } | Phase::Request { .. } => false,
    })
}
