//! The rules that lead from an event to an action.

use numaestro_policy::Policy;
use serde::Serialize;

/// A rule. The first five are parts of the policy; the others hold under every policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// When an application may start.
    Admission,
    /// How many processors it gets.
    Share,
    /// Which processors it gets.
    Placement,
    /// When it runs.
    Turns,
    /// Where its new pages go.
    Pages,
    /// Processors that an application does not use now are lent, and come back when it does.
    Lending,
    /// A processor goes on when its application has left it.
    Handover,
    /// The threads of an application that has not left in time are folded.
    Grace,
    /// More applications than processors: some run beside others.
    Sharing,
    /// Load outside keeps processors for itself.
    Load,
    /// Only processors that are there are given.
    Presence,
    /// Each user has a part of the machine.
    Parties,
    /// When a manager begins anew, applications keep what they had for a while.
    Recovery,
    /// The wish cannot be fulfilled.
    Refusal,
}

/// A rule as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The rule.
    pub rule: Rule,
    /// Its name: `share=equi` for a part of the policy.
    pub name: String,
    /// One sentence.
    pub summary: &'static str,
    /// Paper and section, or where numaestro has it from.
    pub source: &'static str,
}

impl Rule {
    /// The rule in words, with its source, under this policy.
    pub fn named(self, policy: &Policy) -> Named {
        let part = match self {
            Self::Admission => Some(("admission", policy.admission.info())),
            Self::Share => Some(("share", policy.share.info())),
            Self::Placement => Some(("placement", policy.placement.info())),
            Self::Turns => Some(("turns", policy.turns.info())),
            Self::Pages => Some(("pages", policy.pages.info())),
            _ => None,
        };
        if let Some((part, info)) = part {
            return Named {
                rule: self,
                name: format!("{part}={}", info.name),
                summary: info.summary,
                source: info.source,
            };
        }
        let (name, summary, source) = self.of_every_policy();
        Named { rule: self, name: name.to_owned(), summary, source }
    }

    const fn of_every_policy(self) -> (&'static str, &'static str, &'static str) {
        const OWN: &str = "numaestro, docs/ARCHITECTURE.md";
        match self {
            Self::Lending => (
                "lending",
                "Processors that an application does not use now are lent, and come back when it does",
                "voluntary release, Martorell et al. 2000, §3.1",
            ),
            Self::Handover => {
                ("hand-over", "A processor goes on when its application has left it", "Martorell et al. 2000, §3.1")
            }
            Self::Grace => (
                "grace time",
                "The threads of an application that has not left in time are folded onto the others",
                "Martorell et al. 2000, §3.1",
            ),
            Self::Sharing => ("sharing", "More applications than processors: some run beside others", OWN),
            Self::Load => ("load outside", "Load that is not managed keeps processors for itself", OWN),
            Self::Presence => ("presence", "Only processors that are there are given", OWN),
            Self::Parties => ("parts of users", "Each user has a part of the machine", OWN),
            Self::Recovery => {
                ("recovery", "When a manager begins anew, applications keep what they had for a while", OWN)
            }
            _ => ("refusal", "The wish cannot be fulfilled", OWN),
        }
    }
}

/// What made the engine decide, where no event from outside did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// An application has left processors, or its time to leave was over.
    Leaving,
    /// There has been less load outside for long enough.
    LessLoad,
    /// Applications had their time to come back to a manager that began anew.
    Recovery,
    /// A turn.
    Turn,
    /// A quantum.
    Quantum,
}
