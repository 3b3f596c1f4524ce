//! Judges each step of a staged run: whether the live run and the simulated one agree.

use super::staged::{AtRest, StagedRun};
use super::stages::{Change, Holding, Stage};
use super::symmetry::Nodes;
use numaestro_topology::{Machine, NumaNodeId};
use serde::Serialize;
use std::collections::BTreeSet;

/// A question about a step. All but the first are about live and simulated holdings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// The kernel lets each application run where the live manager decided.
    Kernel,
    /// The same application came or went, and each has as many processors, shared or not.
    Counts,
    /// Each application is on as many nodes.
    Spans,
    /// Each application has as many processors on each node, but for a symmetry.
    Nodes,
    /// The same symmetry explains the nodes before the step too, and the processors that each
    /// application has kept on each node.
    Kept,
    /// The same symmetry as for the nodes explains the homes. Only where there are homes.
    Homes,
}

impl Aspect {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Kernel, Self::Counts, Self::Spans, Self::Nodes, Self::Kept, Self::Homes];

    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Counts => "counts",
            Self::Spans => "spans",
            Self::Nodes => "nodes",
            Self::Kept => "kept",
            Self::Homes => "homes",
        }
    }
}

/// The judgement about one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The step's number, from 1.
    pub step: usize,
    /// The aspects that apply, and whether they agree.
    pub aspects: Vec<(Aspect, bool)>,
    /// Every application has exactly the same processors and home.
    pub identical: bool,
    /// Live holdings, for people.
    pub live: String,
    /// Simulated holdings, for people.
    pub simulated: String,
}

impl Judgement {
    /// The aspects that do not agree.
    pub fn disagreements(&self) -> impl Iterator<Item = Aspect> {
        self.aspects.iter().filter(|(_, agree)| !agree).map(|(aspect, _)| *aspect)
    }
}

/// Steps that agree, of all steps to which an aspect applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Steps that agree.
    pub agree: usize,
    /// All steps.
    pub of: usize,
}

/// A live run, or a simulated one: its machine and its stages.
#[derive(Debug, Clone, Copy)]
struct Side<'a> {
    machine: &'a Machine,
    stages: &'a [(Change, Stage)],
}

impl<'a> Side<'a> {
    /// The holdings before and after a step.
    fn around(self, step: usize) -> [&'a Stage; 2] {
        static EMPTY: Stage = Stage::new();
        let after = |step: usize| self.stages.get(step).map_or(&EMPTY, |(_, stage)| stage);
        [step.checked_sub(1).map_or(&EMPTY, after), after(step)]
    }

    /// The nodes of an application.
    fn nodes(self, holding: &Holding) -> Vec<NumaNodeId> {
        let nodes = (0..).map(NumaNodeId).zip(self.machine.numa_nodes());
        nodes.filter(|(_, node)| node.pus.intersects(&holding.pus)).map(|(node, _)| node).collect()
    }

    /// The nodes, each with these numbers of every application.
    fn numbered(self, applications: &[usize], numbers: impl Fn(NumaNodeId, usize) -> Vec<usize>) -> Nodes<'a> {
        Nodes::new(self.machine, |node| applications.iter().flat_map(|&app| numbers(node, app)).collect())
    }
}

/// All steps of a staged run, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    steps: Vec<Judgement>,
}

impl Comparison {
    /// Judges a staged run: the stages of its journal on its machine, beside those of a simulation
    /// on another one (or the same).
    pub fn new(
        run: &StagedRun,
        (machine, live): (&Machine, &[(Change, Stage)]),
        (model, simulated): (&Machine, &[(Change, Stage)]),
    ) -> Self {
        let sides = [Side { machine, stages: live }, Side { machine: model, stages: simulated }];
        // A run with more changes than steps has one that nobody made.
        let count = run.steps().len().max(live.len()).max(simulated.len());
        let judged = |step| judge(step, run.at_rest().get(step), sides);
        Self { steps: (0..count).map(judged).collect() }
    }

    /// The steps.
    pub fn steps(&self) -> &[Judgement] {
        &self.steps
    }

    /// Steps that agree in an aspect.
    pub fn tally(&self, aspect: Aspect) -> Tally {
        let answers = self.steps.iter().flat_map(|step| &step.aspects).filter(|(other, _)| *other == aspect);
        answers.fold(Tally::default(), |tally, (_, agree)| Tally {
            agree: tally.agree + usize::from(*agree),
            of: tally.of + 1,
        })
    }

    /// Steps after which every application has exactly the same processors and home.
    pub fn identical(&self) -> Tally {
        Tally { agree: self.steps.iter().filter(|step| step.identical).count(), of: self.steps.len() }
    }

    /// Whether every step agrees in every aspect. Without steps nothing does.
    pub fn holds(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.disagreements().next().is_none())
    }
}

fn judge(step: usize, at_rest: Option<&AtRest>, sides: [Side<'_>; 2]) -> Judgement {
    let around = sides.map(|side| side.around(step));
    let [live, simulated] = around.map(|[_, after]| after);
    let applications: Vec<usize> =
        live.keys().chain(simulated.keys()).copied().collect::<BTreeSet<_>>().into_iter().collect();
    let none = Holding::default();
    let holding = |side: usize, when: usize, app: usize| around[side][when].get(&app).unwrap_or(&none);
    let every = |same: &dyn Fn(&Holding, &Holding) -> bool| {
        applications.iter().all(|&app| same(holding(0, 1, app), holding(1, 1, app)))
    };
    // Whether one symmetry explains all these numbers of nodes and applications.
    let alike = |numbers: &dyn Fn(usize, NumaNodeId, usize) -> Vec<usize>| {
        let [one, other] = [0, 1].map(|side| sides[side].numbered(&applications, |node, app| numbers(side, node, app)));
        one.are_alike(&other)
    };
    let on = |side: usize, when: usize, node: NumaNodeId, app: usize| {
        holding(side, when, app).pus.common(&sides[side].machine.numa_nodes()[node.index()].pus)
    };
    let kept = |side: usize, node: NumaNodeId, app: usize| {
        let both = holding(side, 0, app).pus.intersection(&holding(side, 1, app).pus);
        both.common(&sides[side].machine.numa_nodes()[node.index()].pus)
    };
    let home = |side: usize, node: NumaNodeId, app: usize| usize::from(holding(side, 1, app).home == Some(node));
    let changes = sides.map(|side| side.stages.get(step).map(|(change, _)| *change));
    let same_change = changes[0] == changes[1] && live.keys().eq(simulated.keys());
    let mut aspects = vec![
        (Aspect::Kernel, at_rest.is_some_and(|at_rest| agrees(at_rest, live, sides[0].machine))),
        (Aspect::Counts, same_change && every(&|a, b| a.pus.len() == b.pus.len() && a.shared == b.shared)),
        (Aspect::Spans, every(&|a, b| sides[0].nodes(a).len() == sides[1].nodes(b).len())),
        (Aspect::Nodes, alike(&|side, node, app| vec![on(side, 1, node, app)])),
    ];
    if applications.iter().any(|&app| (0..2).any(|side| !holding(side, 0, app).pus.is_empty())) {
        let numbers = |side, node, app| vec![on(side, 0, node, app), on(side, 1, node, app), kept(side, node, app)];
        aspects.push((Aspect::Kept, alike(&numbers)));
    }
    if live.values().chain(simulated.values()).any(|holding| holding.home.is_some()) {
        aspects.push((Aspect::Homes, alike(&|side, node, app| vec![on(side, 1, node, app), home(side, node, app)])));
    }
    Judgement {
        step: step + 1,
        aspects,
        identical: same_change && live == simulated,
        live: text(changes[0], live),
        simulated: text(changes[1], simulated),
    }
}

/// Whether the kernel lets every application run on exactly its processors.
fn agrees(at_rest: &AtRest, live: &Stage, machine: &Machine) -> bool {
    at_rest.keys().eq(live.keys())
        && at_rest.values().zip(live.values()).all(|(cpus, holding)| match cpus {
            Some(cpus) => *cpus == machine.os_cpuset(&holding.pus),
            None => holding.pus.is_empty(),
        })
}

/// Holdings for people: `1: 0-3 home 0, 2 waits`.
fn text(change: Option<Change>, stage: &Stage) -> String {
    let one = |(app, holding): (&usize, &Holding)| {
        let home = holding.home.map_or_else(String::new, |node| format!(" home {node}"));
        let shared = if holding.shared { " shared" } else { "" };
        if holding.pus.is_empty() { format!("{app} waits") } else { format!("{app}: {}{shared}{home}", holding.pus) }
    };
    let change = match change {
        None => "nothing happens".to_owned(),
        Some(Change::Arrived(app)) => format!("{app} arrives"),
        Some(Change::Departed(app)) => format!("{app} departs"),
    };
    let held: Vec<String> = stage.iter().map(one).collect();
    if held.is_empty() { change } else { format!("{change}; {}", held.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::super::staged::Step;
    use super::*;
    use Aspect::{Counts, Homes, Kept, Nodes, Spans};
    use numaestro_topology::synthetic;

    const ARRIVE: Step = Step::Arrive { processors: 2, rigid: false };

    fn stage(holdings: &[(usize, &str, Option<u32>)]) -> Stage {
        let holding = |&(app, pus, home): &(usize, &str, Option<u32>)| {
            (app, Holding { pus: pus.parse().expect("a set"), shared: false, home: home.map(NumaNodeId) })
        };
        holdings.iter().map(holding).collect()
    }

    /// Two arrivals on two nodes of two processors, live and simulated; the aspects that disagree
    /// in the second step.
    fn wrong(live: [Stage; 2], simulated: [Stage; 2]) -> Vec<Aspect> {
        let machine = synthetic::parse("numa:2 core:2 pu:1").expect("a machine");
        let mut run = StagedRun::new("m", "equi");
        for stage in &live {
            let cpus = |holding: &Holding| (!holding.pus.is_empty()).then(|| machine.os_cpuset(&holding.pus));
            run.add(ARRIVE, stage.iter().map(|(app, holding)| (*app, cpus(holding))).collect());
        }
        let changes = [Change::Arrived(1), Change::Arrived(2)];
        let [live, simulated] = [live, simulated].map(|stages| changes.into_iter().zip(stages).collect::<Vec<_>>());
        let comparison = Comparison::new(&run, (&machine, &live), (&machine, &simulated));
        assert_eq!(comparison.steps().len(), 2);
        assert_eq!(comparison.holds(), comparison.steps().iter().all(|step| step.disagreements().count() == 0));
        comparison.steps()[1].disagreements().collect()
    }

    #[test]
    fn a_symmetry_of_the_machine_is_no_difference() {
        let live = [stage(&[(1, "0-1", None)]), stage(&[(1, "0-1", Some(0)), (2, "2", Some(1))])];
        let other = [stage(&[(1, "2-3", None)]), stage(&[(1, "2-3", Some(1)), (2, "1", Some(0))])];
        assert_eq!(wrong(live.clone(), live.clone()), []);
        assert_eq!(wrong(live, other), []);
    }

    #[test]
    fn each_difference_is_found_and_named() {
        let before = || stage(&[(1, "0-1", None)]);
        let live = || [before(), stage(&[(1, "0", Some(0)), (2, "2-3", Some(1))])];
        let with = |after: &[(usize, &str, Option<u32>)]| [before(), stage(after)];
        assert_eq!(
            wrong(live(), with(&[(1, "0-1", Some(0)), (2, "2-3", Some(1))])),
            [Counts, Nodes, Kept, Homes],
            "one more"
        );
        assert_eq!(
            wrong(live(), with(&[(1, "0", Some(0)), (2, "1-2", Some(1))])),
            [Spans, Nodes, Kept, Homes],
            "over two nodes"
        );
        assert_eq!(wrong(live(), with(&[(1, "2", Some(1)), (2, "0-1", Some(0))])), [Kept], "moved away");
        assert_eq!(wrong(live(), with(&[(1, "0", Some(1)), (2, "2-3", Some(1))])), [Homes], "another home");
        assert_eq!(wrong(live(), with(&[(1, "0", Some(0))])), [Counts, Spans, Nodes, Kept, Homes], "one is missing");
    }

    #[test]
    fn the_kernel_and_changes_that_nobody_made_count() {
        let machine = synthetic::parse("numa:2 core:2 pu:1").expect("a machine");
        let mut run = StagedRun::new("m", "equi");
        run.add(ARRIVE, AtRest::from([(1, Some("0".parse().expect("a set")))]));
        let stages = [(Change::Arrived(1), stage(&[(1, "0-1", None)])), (Change::Departed(1), Stage::new())];
        let comparison = Comparison::new(&run, (&machine, &stages), (&machine, &stages[..1]));
        let wrong = |step: usize| comparison.steps()[step].disagreements().collect::<Vec<_>>();
        assert_eq!(wrong(0), [Aspect::Kernel]);
        assert_eq!(wrong(1), [Aspect::Kernel, Aspect::Counts]);
        assert_eq!(comparison.tally(Aspect::Counts), Tally { agree: 1, of: 2 });
        assert_eq!(comparison.steps()[1].simulated, "nothing happens");
        assert!(!Comparison { steps: Vec::new() }.holds());
    }
}
