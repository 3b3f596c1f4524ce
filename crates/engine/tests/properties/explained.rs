//! Every decision of a story can be explained: each action has a rule and words, and a chain of
//! causes that ends at something that came from outside, or at the passing of time.

use super::World;
use numaestro_engine::explain::{Chronicle, Decision, Effect, Passed};

impl World {
    /// Reads the story's journal as a recording, and walks all of its actions.
    pub fn check_explanations(&self) {
        let mut lines = self.journal.lines();
        let mut chronicle = Chronicle::new(lines.next().unwrap(), usize::MAX).unwrap();
        for (number, line) in lines.enumerate() {
            chronicle.line(line).unwrap_or_else(|error| panic!("line {}: {error}", number + 2));
        }
        let mut actions = 0;
        for decision in chronicle.decisions() {
            for effect in &decision.effects {
                actions += 1;
                check_explanation(&chronicle, decision, effect);
            }
        }
        assert_eq!(actions, self.log.len(), "actions without an explanation");
    }
}

fn check_explanation(chronicle: &Chronicle, decision: &Decision, effect: &Effect) {
    let link = chronicle.link(decision, effect);
    assert!(!link.event.is_empty() && !link.effect.is_empty() && !link.rule.name.is_empty(), "{link:?}");
    assert!(!link.rule.source.is_empty() && !link.rule.summary.is_empty(), "{link:?}");
    let (mut root, mut steps) = (decision, 0);
    let mut cause = effect.cause;
    while let Some(number) = cause {
        assert!(number < root.number && steps < 1000, "{number} comes after {}", root.number);
        root = chronicle.decision(number).unwrap_or_else(|| panic!("decision {number} is not kept"));
        cause = root.effects.iter().find_map(|effect| effect.cause).or(root.behind);
        steps += 1;
    }
    assert!(!matches!(root.passed, Some(Passed::Leaving | Passed::LessLoad)), "{effect:?} has no cause but {root:?}");
    if let Some(app) = effect.app {
        let chain = chronicle.chain_of(decision, app);
        assert!(chain.contains(&link), "{link:?} is not in its own chain");
        assert!(chain.is_sorted_by_key(|link| link.decision), "{chain:?}");
    }
}
