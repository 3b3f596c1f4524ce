//! The policies of a recorded time, in their order.
//!
//! A manager begins with the policy of its settings, and takes the one that a person chose under a
//! former manager a moment later. Nobody has run under the first one. So it does not count. Nor
//! does one that was chosen and given up again while no program was there.

use numaestro_engine::{Action, Event, Nanos};

/// More changes are counted, and not named.
const NAMED_MOST: usize = 3;

/// See the file's header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    first: String,
    /// With the times on the journal's clock.
    switches: Vec<(Nanos, String)>,
    /// An application has come.
    is_used: bool,
    /// Applications that are there.
    there: usize,
    /// The policy that was chosen since nobody has been there, and the time.
    idle: Option<(Nanos, String)>,
}

impl Ran {
    /// The head of a journal says the policy.
    pub fn begins(&mut self, policy: &str) {
        if self.first.is_empty() {
            policy.clone_into(&mut self.first);
        }
    }

    /// A line says the state.
    pub fn is_now(&mut self, at: Nanos, policy: &str, apps: usize) {
        self.there = apps;
        self.switch(at, policy);
        self.is_used |= apps > 0;
    }

    /// A refused event has changed nothing.
    pub fn hear(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        match event {
            _ if actions.iter().any(Action::is_refusal) => {}
            Event::Arrive { .. } => self.come(),
            Event::Depart { .. } => self.there = self.there.saturating_sub(1),
            Event::Policy { policy } => self.switch(at, policy),
            _ => {}
        }
    }

    fn come(&mut self) {
        self.is_used = true;
        self.there += 1;
        if let Some((at, policy)) = self.idle.take() {
            self.switch(at, &policy);
        }
    }

    fn switch(&mut self, at: Nanos, policy: &str) {
        if !self.is_used {
            policy.clone_into(&mut self.first);
        } else if self.there == 0 {
            self.idle = Some((at, policy.to_owned()));
        } else {
            self.idle = None;
            if self.last() != policy {
                self.switches.push((at, policy.to_owned()));
            }
        }
    }

    /// The same without what came before applications ran, and after they did.
    #[must_use]
    pub fn between(self, begin: Nanos, end: Nanos) -> Self {
        let (before, after): (Vec<_>, Vec<_>) = self.switches.into_iter().partition(|(at, _)| *at <= begin);
        let first = before.into_iter().next_back().map_or(self.first, |(_, policy)| policy);
        Self { first, switches: after.into_iter().filter(|(at, _)| *at < end).collect(), ..self }
    }

    /// The policy at the begin.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// The policy at the end.
    pub fn last(&self) -> &str {
        self.switches.last().map_or(&self.first, |(_, policy)| policy)
    }

    /// The later ones, with the times on the journal's clock.
    pub fn switches(&self) -> &[(Nanos, String)] {
        &self.switches
    }

    /// All of them in their order.
    pub fn policies(&self) -> Vec<String> {
        std::iter::once(&self.first).chain(self.switches.iter().map(|(_, policy)| policy)).cloned().collect()
    }
}

/// Policies in their order, for people: `equi, later dss`.
pub fn in_words(policies: &[String]) -> String {
    match policies {
        [] => String::new(),
        [only] => only.clone(),
        [first, later @ ..] if later.len() <= NAMED_MOST => format!("{first}, later {}", later.join(", ")),
        [first, .., last] => format!("{first}, changed {} times, at last to {last}", policies.len() - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_engine::{AppId, Wish};

    fn policy(policy: &str) -> Event {
        Event::Policy { policy: policy.to_owned() }
    }

    fn arrive() -> Event {
        Event::Arrive { app: AppId(1), wish: Wish::new(1) }
    }

    #[test]
    fn what_nobody_ran_under_and_what_was_refused_do_not_count() {
        let mut ran = Ran::default();
        ran.begins("equi");
        ran.hear(36, &policy("dss"), &[]);
        ran.hear(40, &arrive(), &[]);
        let refusal = Action::Refuse { app: None, reason: "no".to_owned() };
        ran.hear(50, &policy("b2arr"), &[refusal]);
        assert_eq!(ran.policies(), ["dss"]);
        ran.hear(60, &policy("batch"), &[]);
        ran.hear(70, &policy("batch"), &[]);
        ran.is_now(80, "batch", 1);
        assert_eq!((ran.policies(), ran.last()), (vec!["dss".to_owned(), "batch".to_owned()], "batch"));
        assert_eq!(ran.clone().between(60, 100).policies(), ["batch"], "it ran from the first arrival on");
        assert_eq!(ran.between(40, 60).policies(), ["dss"], "nobody ran under the later one");
    }

    #[test]
    fn what_was_chosen_while_nobody_was_there_counts_from_the_next_arrival_on() {
        let mut ran = Ran::default();
        ran.begins("equi");
        ran.hear(1, &arrive(), &[]);
        ran.hear(2, &Event::Depart { app: AppId(1) }, &[]);
        ran.hear(3, &policy("dss"), &[]);
        ran.hear(4, &policy("batch"), &[]);
        assert_eq!(ran.policies(), ["equi"]);
        let mut back = ran.clone();
        ran.hear(5, &arrive(), &[]);
        assert_eq!(ran.policies(), ["equi", "batch"]);
        back.hear(5, &policy("equi"), &[]);
        back.hear(6, &arrive(), &[]);
        assert_eq!(back.policies(), ["equi"]);
    }

    #[test]
    fn words() {
        let words = |names: &str| in_words(&names.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(words("equi"), "equi");
        assert_eq!(words("equi dss equi"), "equi, later dss, equi");
        assert_eq!(words("a b c d e"), "a, changed 4 times, at last to e");
    }
}
