//! What the contexts of a model do, and what must be true meanwhile.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize};

use super::mistake::Mistake;
use super::team::{Carrier, Flow, Team};

/// A construct of the program, or a call of the adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `nm_fold_member` of all others, before the root opens a region.
    Join,
    /// `nm_fold_run` begins a region.
    Open,
    /// Data that all others read after the next meeting.
    Write,
    Read,
    /// `nm_fold_barrier`.
    Meet,
    /// `end`, the meeting of a region's end.
    End,
    /// `nm_fold_recall`.
    Recall,
    /// `nm_fold_barrier`, whose meeting is recalled.
    MeetInVain,
    /// `nm_fold_yield`.
    GiveWay,
    /// A flag of the program's own: `Await` spins until another context does `Tell`.
    Tell,
    Await,
    /// Lets other threads run once, if nobody has come to the meeting.
    LetOthersCome,
    GoHome,
    LeaveHome,
    SendHome(usize),
    AwaitHome(usize),
    /// Must be on its own carrier.
    AtHome,
    Roam(bool),
    /// `nm_fold_limit`.
    Limit(u32),
    /// `nm_fold_dissolve`, the root only.
    Dissolve,
    /// `nm_fold_member` returns.
    Return,
}

/// Where a context goes on when it runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// With its next step.
    Program,
    /// In `suspend`, after `leave_for`.
    Left,
    /// In `suspend`, after `leave_for_parking`.
    Parked,
}

/// A context's stack.
pub struct Frame {
    program: &'static [Step],
    next: usize,
    meetings: u32,
    /// The generation in which it came to a meeting in vain.
    in_vain: Option<u32>,
    point: Point,
}

impl Frame {
    pub fn new(program: &'static [Step]) -> Self {
        Self { program, next: 0, meetings: 0, in_vain: None, point: Point::Program }
    }
}

/// Keeps the truth beside the model: none of it orders anything, but for the data of the program.
pub struct Witness {
    /// The carrier on each stack, plus 1.
    standing: Vec<AtomicUsize>,
    /// Meetings that each context has come to.
    met: Vec<AtomicU32>,
    data: Vec<UnsafeCell<()>>,
    told: AtomicBool,
}

impl Witness {
    pub fn new(members: usize) -> Self {
        Self {
            standing: (0..members).map(|_| AtomicUsize::new(0)).collect(),
            met: (0..members).map(|_| AtomicU32::new(0)).collect(),
            data: (0..members).map(|_| UnsafeCell::new(())).collect(),
            told: AtomicBool::new(false),
        }
    }

    pub fn steps_on(&self, context: usize, carrier: usize) {
        let before = self.standing[context].swap(carrier + 1, Ordering::SeqCst);
        assert_eq!(before, 0, "two carriers on the stack of context {context}");
    }

    pub fn steps_off(&self, context: usize) {
        self.standing[context].store(0, Ordering::SeqCst);
    }

    fn comes(&self, context: usize, meeting: u32) {
        self.met[context].store(meeting, Ordering::SeqCst);
    }

    /// Called by who goes on after its meeting of this number.
    fn all_have_come(&self, meeting: u32) {
        let early = self.met.iter().any(|met| met.load(Ordering::SeqCst) < meeting);
        assert!(!early, "a context passed a meeting that not all have come to");
    }
}

impl Team {
    fn step(&self, carrier: &mut Carrier, me: usize, frame: &mut Frame) -> Flow {
        if frame.meetings > 0 {
            self.witness.all_have_come(frame.meetings);
        }
        if let Some(generation) = frame.in_vain.take() {
            self.takes_back(generation);
        }
        let step = frame.program[frame.next];
        frame.next += 1;
        let inside = [Step::Join, Step::Meet, Step::End, Step::MeetInVain, Step::GiveWay, Step::GoHome].contains(&step);
        self.contexts[me].inside.store(inside, Ordering::Relaxed);
        match step {
            Step::Join => return Flow::Parks,
            Step::Open => self.open_turn(self.generation.load(Ordering::Relaxed) + 1),
            Step::Write => self.witness.data[me].with_mut(|_| ()),
            Step::Read => self.witness.data.iter().for_each(|data| data.with(|_| ())),
            Step::Meet | Step::End => {
                frame.meetings += 1;
                self.witness.comes(me, frame.meetings);
                let wait = if step == Step::End && me != 0 { 2 } else { 1 };
                return self.meet(carrier, me, wait);
            }
            Step::Recall => self.recall(),
            Step::MeetInVain => {
                let (flow, generation) = self.comes_in_vain(carrier, me);
                frame.in_vain = generation;
                return flow;
            }
            Step::GiveWay => return self.give_way(carrier, me),
            Step::Tell => self.witness.told.store(true, Ordering::Release),
            Step::Await => {
                while !self.witness.told.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            }
            Step::LetOthersCome => {
                if self.arrived.load(Ordering::Acquire) == 0 {
                    thread::yield_now();
                }
            }
            Step::GoHome => return self.go_home(carrier, me),
            Step::LeaveHome => self.leave_home(me),
            Step::SendHome(number) => self.send_home(number),
            Step::AwaitHome(number) => {
                while !self.is_at_home(number) {
                    thread::yield_now();
                }
            }
            Step::AtHome => assert_eq!(carrier.number, me, "a context that is at home is on another's carrier"),
            Step::Roam(on) => self.roam(on),
            Step::Limit(limit) => self.change_limit(limit),
            Step::Dissolve => {
                self.dissolve();
                return Flow::Ended;
            }
            Step::Return => {
                assert!(self.dissolving.load(Ordering::Acquire), "the team is not dissolved yet");
                assert_eq!(carrier.number, me, "a thread ends that is not its own");
                return Flow::Ended;
            }
        }
        Flow::GoesOn
    }

    /// Runs a context until its carrier leaves it.
    fn run(&self, carrier: &mut Carrier, me: usize, frame: &mut Frame) -> Flow {
        loop {
            let flow = match frame.point {
                Point::Program => self.step(carrier, me, frame),
                Point::Left => self.suspended(carrier, me),
                Point::Parked => self.suspend(carrier, me),
            };
            if !matches!(flow, Flow::GoesOn) {
                return flow;
            }
            frame.point = Point::Program;
        }
    }

    /// A kernel thread of the team, from joining to its end.
    fn carry(&self, number: usize) {
        let mut carrier = Carrier::new(number);
        let mut me = number;
        loop {
            let standing = self.enter(&carrier, me);
            let mut frame = self.contexts[me].frame.lock().unwrap();
            let flow = self.run(&mut carrier, me, &mut frame);
            let last = frame.program[frame.next - 1];
            // `nm_fold_member` and `nm_fold_yield` go on behind the call; `suspend` looks again.
            frame.point = match (&flow, last) {
                (_, Step::Join | Step::GiveWay) => Point::Program,
                (Flow::LeavesFor(_), _) => Point::Left,
                _ => Point::Parked,
            };
            drop(frame);
            match flow {
                Flow::LeavesFor(next) => {
                    self.leaves(&mut carrier, me, next);
                    standing.leave();
                    self.runs_again(&mut carrier);
                    me = next;
                }
                Flow::Parks => {
                    standing.leave();
                    me = self.park(&mut carrier);
                }
                Flow::Ended | Flow::GoesOn => return,
            }
        }
    }
}

/// A team in which context `i` runs `programs[i]` and the first `limit` carriers work, while
/// `limits` are set one after the other from outside.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Interleavings with more preemptions are left out: without a bound they do not end.
    pub preemptions: usize,
    pub limit: u32,
    pub programs: &'static [&'static [Step]],
    pub limits: &'static [u32],
}

/// All interleavings of a case. Panics if one of them goes wrong. Most mistakes show with fewer
/// preemptions than the case has, and then they are found much sooner.
pub fn check(case: &Case, mistake: Option<Mistake>) {
    let fewest = if mistake.is_some() { 1 } else { case.preemptions };
    for preemptions in fewest..=case.preemptions {
        check_most(&Case { preemptions, ..*case }, mistake, None);
    }
}

/// At most so many interleavings of a case, where all would take too long.
pub fn check_most(case: &Case, mistake: Option<Mistake>, most: Option<usize>) {
    let Case { preemptions, limit, programs, limits } = *case;
    let mut builder = loom::model::Builder::new();
    // Loom's own variable, LOOM_MAX_PREEMPTIONS, asks for more of them.
    builder.preemption_bound = builder.preemption_bound.max(Some(preemptions));
    builder.max_branches = 5_000;
    builder.max_permutations = most;
    builder.check(move || {
        let team = Arc::new(Team::new(programs, limit, mistake));
        let carry = |number: usize| {
            let team = Arc::clone(&team);
            thread::spawn(move || team.carry(number))
        };
        let carriers: Vec<_> = (1..programs.len()).map(carry).collect();
        let outside = (!limits.is_empty()).then(|| {
            let team = Arc::clone(&team);
            thread::spawn(move || limits.iter().for_each(|&limit| team.change_limit(limit)))
        });
        team.carry(0);
        carriers.into_iter().chain(outside).for_each(|thread| thread.join().unwrap());
    });
}
