//! The situations that chaos runs come to: those between the engine and its programs, and those
//! around them, which only the run itself knows.

use numaestro_engine::{Action, Event};
use numaestro_marks::{Mark, Marks, Step, Watch};
use std::fmt::Debug;

numaestro_marks::marks! {
    /// A situation around the engine.
    pub enum Around {
        KilledAmidTurns = "the manager is killed while it has stopped a program",
        KilledWhileOneWaits = "the manager is killed while a program waits in the queue",
        KilledWhileOneLeaves = "the manager is killed while a program has to leave processors",
        KilledBeforeAllAreBack = "the next manager is killed before every program has come to it",
        ComesToNobody = "a program arrives while there is no manager",
        DiesUnmanaged = "a program ends while there is no manager",
        EndsWithoutReturn = "a program ends that has not come to the next manager, which runs",
        BackWithProcessors = "a program comes to the next manager with the processors that it has",
        UnheardWord = "a program says something while there is no manager",
        WordOfTheGone = "a word comes of a program that the manager does not know any more",
        DiesBeforeItIsTold = "a program dies between a decision and its page",
        TargetLost = "a target does not reach its program",
        ForceFails = "the system refuses to move a program that is forced",
        StopFails = "the system refuses to stop a program",
        GoesOnLate = "a stopped program cannot go on at once",
        NeverAnswersAndIsForced = "a program that does nothing by itself is forced",
        DeathHeardLate = "the manager hears of a death late",
        ClockBackWhileOneLeaves = "the clock jumps back while a program has to leave processors",
        ClockAheadWhileOneLeaves = "the clock jumps ahead while a program has to leave processors",
        UnpluggedWithoutManager = "a processor is unplugged while there is no manager",
        AllButOneUnplugged = "all processors but one are unplugged at once",
        CalmWithoutManager = "the faults stop while there is no manager",
        CalmWhileOneWaits = "the faults stop while a program waits in the queue",
        CalmWhileOneIsStopped = "the faults stop while a program is stopped",
    }
}

/// The situations between engine and programs that no chaos run can come to: nobody sets limits or
/// allowed processors there.
pub const NOT_IN_CHAOS: [Step; 3] = [Step::LimitsShrink, Step::LimitsGrow, Step::AllowedMoves];

/// The situations that one or more runs came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reached {
    /// Between the engine and its programs.
    pub steps: Marks<Step>,
    /// Around them.
    pub around: Marks<Around>,
}

impl Reached {
    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        self.steps.add(&other.steps);
        self.around.add(&other.around);
    }

    /// The number of situations that were reached, and of all that can be.
    pub fn count(&self) -> (usize, usize) {
        let all = Step::ALL.len() - NOT_IN_CHAOS.len() + Around::ALL.len();
        (self.steps.reached() + self.around.reached(), all)
    }

    /// Names of the situations that were not reached, of those that can be.
    pub fn never(&self) -> Vec<String> {
        fn name(mark: impl Debug) -> String {
            format!("{mark:?}")
        }
        let steps = self.steps.never().into_iter().filter(|mark| !NOT_IN_CHAOS.contains(mark)).map(name);
        steps.chain(self.around.never().into_iter().map(name)).collect()
    }

    /// Checks that every situation was reached.
    ///
    /// # Errors
    /// Those that were not, a line each.
    pub fn check(&self) -> Result<(), String> {
        let problems = [self.steps.check(&NOT_IN_CHAOS), self.around.check(&[])];
        let problems: String = problems.into_iter().filter_map(Result::err).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// The observer of one run.
#[derive(Debug, Default)]
pub(super) struct Observer {
    pub watch: Watch,
    pub around: Marks<Around>,
}

impl Observer {
    /// The engine has heard an event, and wants these actions.
    pub fn step(&mut self, event: &Event, actions: &[Action]) {
        self.watch.step(event, actions);
    }

    /// The situations so far.
    pub fn reached(&self) -> Reached {
        Reached { steps: self.watch.marks().clone(), around: self.around.clone() }
    }
}
