//! The text of a live run in which arrivals and departures were forced, one JSON object a line.
//!
//! ```text
//! {"numaestro_staged_run":1,"mix":"pair","policy":"equi","steps":[{"arrive":{"processors":4}},{"depart":1}]}
//! {"at_rest":{"1":"0-3"}}                      one line for each step: the kernel's word
//! {"at_rest":{}}
//! {"numaestro_journal":1,...}                  the rest is the manager's journal
//! ```

use crate::read::{Mistake, Text};
use numaestro_engine::journal;
use numaestro_topology::{CpuSet, Machine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format.
const VERSION: u32 = 1;

/// An arrival or a departure. Applications are numbered from 1 in order of their arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// A program comes.
    Arrive {
        /// Processors that it could use.
        processors: u32,
        /// It has all of them or waits.
        #[serde(default, skip_serializing_if = "is_false")]
        rigid: bool,
    },
    /// The application of this number ends.
    Depart(usize),
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde wants a reference.
fn is_false(rigid: &bool) -> bool {
    !rigid
}

/// The processors on which the kernel lets each application run; none: it waits.
pub type AtRest = BTreeMap<usize, Option<CpuSet>>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    numaestro_staged_run: u32,
    mix: String,
    policy: String,
    steps: Vec<Step>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    at_rest: AtRest,
}

/// A live run whose steps were forced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedRun {
    mix: String,
    policy: String,
    steps: Vec<Step>,
    at_rest: Vec<AtRest>,
    journal: String,
    seed: u64,
}

impl StagedRun {
    /// The staged run of a mix under a policy, before its first step.
    pub fn new(mix: &str, policy: &str) -> Self {
        let (mix, policy) = (mix.to_owned(), policy.to_owned());
        Self { mix, policy, steps: Vec::new(), at_rest: Vec::new(), journal: String::new(), seed: 0 }
    }

    /// A step has been made, and the kernel has shown this afterwards.
    pub fn add(&mut self, step: Step, at_rest: AtRest) {
        self.steps.push(step);
        self.at_rest.push(at_rest);
    }

    /// The run is over; this is the manager's journal.
    pub fn close(&mut self, journal: String) {
        self.journal = journal;
    }

    /// The name of the mix.
    pub fn mix(&self) -> &str {
        &self.mix
    }

    /// The policy of the live manager.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The steps in their order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The kernel's word after each step.
    pub fn at_rest(&self) -> &[AtRest] {
        &self.at_rest
    }

    /// The seed of the live manager's random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The manager's journal.
    pub fn journal(&self) -> &str {
        &self.journal
    }

    /// Its text.
    pub fn to_text(&self) -> String {
        let (mix, policy, steps) = (self.mix.clone(), self.policy.clone(), self.steps.clone());
        let mut out = line(&Head { numaestro_staged_run: VERSION, mix, policy, steps });
        for at_rest in &self.at_rest {
            out.push_str(&line(&Rest { at_rest: at_rest.clone() }));
        }
        out + &self.journal
    }

    /// Reads its text, and the live manager's machine, which is in the journal.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn read(text: Text<'_>) -> Result<(Self, Machine), Mistake> {
        let mut rest = text.text;
        let mut next = || {
            let from = text.text.len() - rest.len();
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            rest = after;
            (from..from + line.len(), line, after)
        };
        let (span, first, mut journal) = next();
        let wrong = |problem: String| text.mistake(span.clone(), "", problem);
        let head: Head = serde_json::from_str(first)
            .map_err(|error| wrong(format!("expected the first line of a staged run of `make test-numa`: {error}")))?;
        if head.numaestro_staged_run != VERSION {
            let found = head.numaestro_staged_run;
            return Err(wrong(format!("expected format {VERSION} of staged runs, found {found}")));
        }
        check(&head.steps).map_err(|problem| text.mistake(span.clone(), "steps", problem))?;
        let mut at_rest = Vec::with_capacity(head.steps.len());
        for number in 1..=head.steps.len() {
            let (span, line, after) = next();
            let read: Rest = serde_json::from_str(line).map_err(|error| {
                text.mistake(
                    span,
                    "",
                    format!("expected `at_rest` after step {number} of {}: {error}", head.steps.len()),
                )
            })?;
            at_rest.push(read.at_rest);
            journal = after;
        }
        let (span, first, _) = next();
        let (machine, _, seed) = journal::decode_head(first).map_err(|error| text.mistake(span, "", error.problem))?;
        let Head { mix, policy, steps, .. } = head;
        Ok((Self { mix, policy, steps, at_rest, journal: journal.to_owned(), seed }, machine))
    }
}

/// Checks that every departure is of an application that is there.
fn check(steps: &[Step]) -> Result<(), String> {
    if steps.is_empty() {
        return Err("expected at least one step".to_owned());
    }
    let (mut arrived, mut there) = (0, Vec::new());
    for (number, step) in (1..).zip(steps) {
        match step {
            Step::Arrive { processors: 0, .. } => return Err(format!("step {number}: expected at least 1 processor")),
            Step::Arrive { .. } => {
                arrived += 1;
                there.push(arrived);
            }
            Step::Depart(application) if there.contains(application) => there.retain(|other| other != application),
            Step::Depart(application) => {
                return Err(format!("step {number}: application {application} is not there; there are {there:?}"));
            }
        }
    }
    Ok(())
}

fn line(of: &impl Serialize) -> String {
    serde_json::to_string(of).expect("numbers, strings and lists can always be written") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"numaestro_staged_run":1,"mix":"one","policy":"equi","steps":[{"arrive":{"processors":4}},{"arrive":{"processors":2,"rigid":true}},{"depart":1}]}
{"at_rest":{"1":"0-3"}}
{"at_rest":{"1":"0-3","2":null}}
{"at_rest":{"2":"0-1"}}
"#;

    fn journal() -> String {
        let machine = numaestro_topology::synthetic::parse("numa:2 core:2 pu:1").expect("a machine");
        journal::encode_head(&machine, &numaestro_engine::Settings::default(), 1) + "\n"
    }

    #[test]
    fn a_text_is_read_and_written() {
        let text = TEXT.to_owned() + &journal();
        let (staged, machine) = StagedRun::read(Text::new("r", &text)).expect("a staged run");
        assert_eq!((staged.steps().len(), staged.at_rest()[1].get(&2), machine.pu_count()), (3, Some(&None), 4));
        assert_eq!(staged.to_text(), text);
    }

    #[test]
    fn mistakes_have_their_lines() {
        let journal = journal();
        for (from, to, expected) in [
            ("staged_run\":1", "staged_run\":2", "r:1: expected format 1"),
            ("\"depart\":1", "\"depart\":3", "r:1: steps: step 3: application 3 is not there; there are [1, 2]"),
            ("\"processors\":4", "\"processors\":0", "r:1: steps: step 1: expected at least 1"),
            ("{\"at_rest\":{\"2\":\"0-1\"}}\n", "", "r:4: expected `at_rest` after step 3 of 3"),
            ("_journal\"", "_journey\"", "r:5: "),
        ] {
            let text = (TEXT.to_owned() + &journal).replacen(from, to, 1);
            let said = StagedRun::read(Text::new("r", &text)).expect_err(from).to_string();
            assert!(said.starts_with(expected), "{said}");
        }
        assert!(StagedRun::read(Text::new("r", "")).is_err());
    }
}
