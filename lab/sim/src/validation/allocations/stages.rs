//! The holdings of applications at rest, from the events and actions of a run.
//!
//! An arrival or a departure begins a stage; the stage holds what all actions until the next one
//! have decided.

use numaestro_engine::journal::{self, JournalError};
use numaestro_engine::{Action, AppId, Event, PageHome};
use numaestro_topology::{NumaNodeId, PuSet};
use std::collections::BTreeMap;

/// The processors and the home of an application.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holding {
    /// Its processors; none: it waits.
    pub pus: PuSet,
    /// Others run on them too.
    pub shared: bool,
    /// The node to which its pages go, if that is one.
    pub home: Option<NumaNodeId>,
}

/// The holdings of all applications, by their numbers from 1 in order of arrival.
pub type Stage = BTreeMap<usize, Holding>;

/// The beginning of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The application of this number has come.
    Arrived(usize),
    /// The application of this number has gone.
    Departed(usize),
}

/// Makes stages of the events and actions of a run.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    numbers: BTreeMap<AppId, usize>,
    past: Vec<(Change, Stage)>,
    now: Stage,
}

impl Stages {
    /// The stages of a journal.
    ///
    /// # Errors
    /// A line cannot be read; the line's number is in the error.
    pub fn of(text: &str) -> Result<Vec<(Change, Stage)>, JournalError> {
        let mut stages = Self::default();
        for (number, line) in (1..).zip(text.lines()).skip(1) {
            if !journal::is_aside(line) {
                let (_, event, actions) = journal::decode(line)
                    .map_err(|error| JournalError { problem: format!("line {number}: {}", error.problem) })?;
                stages.hear(&event, &actions);
            }
        }
        Ok(stages.finish())
    }

    /// The engine was given an event, and decided.
    pub fn hear(&mut self, event: &Event, actions: &[Action]) {
        match event {
            Event::Arrive { app, .. } => {
                let number = self.numbers.len() + 1;
                self.numbers.insert(*app, number);
                self.begin(Change::Arrived(number));
                self.now.insert(number, Holding::default());
            }
            Event::Depart { app } => {
                if let Some(&number) = self.numbers.get(app) {
                    self.begin(Change::Departed(number));
                    self.now.remove(&number);
                }
            }
            _ => {}
        }
        for action in actions {
            self.decided(action);
        }
    }

    /// The stages, in their order.
    pub fn finish(mut self) -> Vec<(Change, Stage)> {
        self.keep();
        self.past
    }

    fn begin(&mut self, change: Change) {
        self.keep();
        self.past.push((change, Stage::new()));
    }

    /// The present stage is at rest.
    fn keep(&mut self) {
        if let Some((_, stage)) = self.past.last_mut() {
            stage.clone_from(&self.now);
        }
    }

    fn decided(&mut self, action: &Action) {
        let (Action::Target { app, .. } | Action::Pages { app, .. }) = action else { return };
        let Some(holding) = self.numbers.get(app).and_then(|number| self.now.get_mut(number)) else { return };
        match action {
            Action::Target { pus, shared, .. } => (holding.pus, holding.shared) = (pus.clone(), *shared),
            Action::Pages { home: PageHome::Node(node), .. } => holding.home = Some(*node),
            _ => holding.home = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOURNAL: &str = r#"head
{"at":0,"name":"a","event":{"what":"arrive","app":4,"request":4,"min":1,"max":4,"weight_milli":1000,"class":"malleable"},"actions":[{"do":"start","app":4},{"do":"pages","app":4,"home":"1"},{"do":"target","app":4,"epoch":1,"count":4,"pus":"0-3","shared":false,"lent":false}]}
{"at":5,"name":"b","event":{"what":"arrive","app":7,"request":2,"min":1,"max":2,"weight_milli":1000,"class":"malleable"},"actions":[{"do":"start","app":7},{"do":"target","app":4,"epoch":2,"count":2,"pus":"2-3","shared":false,"lent":false}]}
{"at":6,"event":{"what":"adopted","app":4,"epoch":2},"actions":[{"do":"target","app":7,"epoch":1,"count":2,"pus":"0-1","shared":false,"lent":false}]}
{"at":9,"event":{"what":"depart","app":4},"actions":[]}"#;

    #[test]
    fn a_stage_holds_what_is_decided_until_the_next() {
        let found = Stages::of(JOURNAL).expect("a journal");
        let holding = |pus: &str, home: Option<u32>| Holding {
            pus: pus.parse().expect("a set"),
            shared: false,
            home: home.map(NumaNodeId),
        };
        let both = Stage::from([(1, holding("2-3", Some(1))), (2, holding("0-1", None))]);
        let expected = [
            (Change::Arrived(1), Stage::from([(1, holding("0-3", Some(1)))])),
            (Change::Arrived(2), both),
            (Change::Departed(1), Stage::from([(2, holding("0-1", None))])),
        ];
        assert_eq!(found, expected);
        let wrong = Stages::of("head\nno line").expect_err("no journal");
        assert!(wrong.problem.starts_with("line 2: "), "{wrong}");
    }
}
