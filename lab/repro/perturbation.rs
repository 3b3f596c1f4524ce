//! Perturbations: changes of a run under which a claim has to fail, if it says anything.
//!
//! A perturbation takes the mechanism away that the paper gives as the reason of a finding: a claim
//! about distance must fail where every place of memory is as near as the next one. It changes the
//! values that a run gets (machine, policy, programs), so no experiment knows of it, and every
//! claim can be tried under every perturbation.

use numaestro_policy::Policy;
use numaestro_sim::Nanos;
use numaestro_sim::machine::{Model, System};
use numaestro_sim::memory::Contention;
use numaestro_sim::program::{PagePlace, Program};
use numaestro_sim::workload::{Arrival, Source};
use numaestro_sim::world::Setup;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The factor of [`Perturbation::LargeCaches`].
const CACHES_LARGER: u64 = 256;
/// The cost of [`Perturbation::CostlyStops`], nanoseconds.
const COSTLY_STOP_NS: Nanos = 10_000_000;

/// A change that takes a mechanism away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Perturbation {
    /// Every place of memory costs as much as the nearest one.
    EqualLatencies,
    /// The farthest places cost as much as those one level nearer (Hector: the ring as the
    /// station).
    RingAsStation,
    /// References do not queue.
    ContentionOff,
    /// Worst-Fit chooses as First-Fit does.
    FirstFit,
    /// Worst-Fit chooses as Best-Fit does.
    BestFit,
    /// All processors are one pool.
    OnePool,
    /// No node is reserved for a program.
    HomesOff,
    /// Pages lie on all nodes in turn, whatever programs and policies say.
    PagesAnywhere,
    /// No program runs the work of its preempted threads.
    RecoveryOff,
    /// The operating system's own scheduler replaces the policy.
    ManagerOff,
    /// Bus transactions tell nothing: a policy that balances them serves in turn.
    RatesUnknown,
    /// Nobody searches: a program has the processors that an even division gives it.
    SearchOff,
    /// New threads cost nothing and have no better priority.
    CreationFree,
    /// The farthest places cost four times as much: "no difference" must end.
    FarMemory,
    /// Channels carry an eighth: "no queueing" must end.
    NarrowChannels,
    /// Processors are given one by one instead of in clusters: an even division.
    ClustersOff,
    /// Quanta make processor time equal, whatever programs ask for.
    EqualTime,
    /// A program needs sixteen times as many iterations to measure its speedup: "no overhead" must
    /// end.
    SlowReports,
    /// Caches and working sets are 256 times as large, so that to fill one takes a good part of a
    /// quantum: "lost affinity does not matter" must end.
    LargeCaches,
    /// To stop a thread and let it go on costs a tenth of a usual quantum: "a manager is no worse"
    /// must end.
    CostlyStops,
    /// The engine itself is measured with 64 times as many threads: "its decisions cost nothing"
    /// must end. Simulated runs stay as they are.
    Crowd,
}

impl Perturbation {
    /// Every perturbation with its name in files and its effect in words.
    pub const ALL: [(&str, Self, &str); 21] = [
        ("equal-latencies", Self::EqualLatencies, "every place of memory costs as much as the nearest one"),
        ("ring-as-station", Self::RingAsStation, "the farthest places cost as much as those one level nearer"),
        ("contention-off", Self::ContentionOff, "references do not queue"),
        ("first-fit", Self::FirstFit, "Worst-Fit chooses as First-Fit does"),
        ("best-fit", Self::BestFit, "Worst-Fit chooses as Best-Fit does"),
        ("one-pool", Self::OnePool, "all processors are one pool"),
        ("homes-off", Self::HomesOff, "no node is reserved for a program"),
        ("pages-anywhere", Self::PagesAnywhere, "pages lie on all nodes in turn"),
        ("recovery-off", Self::RecoveryOff, "no program runs the work of its preempted threads"),
        ("manager-off", Self::ManagerOff, "the operating system's own scheduler replaces the policy"),
        ("rates-unknown", Self::RatesUnknown, "a policy that balances bus transactions serves in turn"),
        ("search-off", Self::SearchOff, "a program has the processors that an even division gives it"),
        ("creation-free", Self::CreationFree, "new threads cost nothing and have no better priority"),
        ("far-memory", Self::FarMemory, "the farthest places cost four times as much"),
        ("narrow-channels", Self::NarrowChannels, "channels carry an eighth"),
        ("clusters-off", Self::ClustersOff, "processors are divided evenly, not in clusters"),
        ("equal-time", Self::EqualTime, "quanta make the processor time of all programs equal"),
        ("slow-reports", Self::SlowReports, "a measurement of speedup takes sixteen times as many iterations"),
        ("large-caches", Self::LargeCaches, "caches and working sets are 256 times as large"),
        ("costly-stops", Self::CostlyStops, "to stop a thread costs 10 ms"),
        ("crowd", Self::Crowd, "decisions are measured with 64 times as many threads"),
    ];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// The effect in words.
    pub fn about(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    /// Changes machine, policy and contention of a run.
    pub fn change_setup(self, setup: &mut Setup) {
        match self {
            Self::EqualLatencies => equal_costs(Arc::make_mut(&mut setup.model), 0),
            Self::RingAsStation => {
                let farthest = setup.model.access.classes.len().saturating_sub(1);
                equal_costs(Arc::make_mut(&mut setup.model), farthest.saturating_sub(1));
            }
            Self::ContentionOff => setup.contention = Contention::None,
            Self::FarMemory => {
                let farthest = Arc::make_mut(&mut setup.model).access.classes.last_mut();
                farthest.into_iter().flat_map(|class| &mut class.cost_ps).for_each(|cost| *cost *= 4);
            }
            Self::NarrowChannels => {
                for channel in &mut Arc::make_mut(&mut setup.model).channels {
                    channel.per_ms = (channel.per_ms / 8).max(1);
                }
            }
            Self::CreationFree => Arc::make_mut(&mut setup.model).favours_new = false,
            Self::ManagerOff => {
                let native = if setup.model.system == System::Irix { "sgi-mp" } else { "linux24" };
                native.clone_into(&mut setup.settings.policy);
                setup.switches.clear();
            }
            Self::LargeCaches => Arc::make_mut(&mut setup.model).cache.lines *= CACHES_LARGER,
            Self::CostlyStops => Arc::make_mut(&mut setup.model).costs.stop_ns = COSTLY_STOP_NS,
            Self::RecoveryOff | Self::SlowReports | Self::Crowd => {}
            Self::FirstFit
            | Self::BestFit
            | Self::OnePool
            | Self::HomesOff
            | Self::PagesAnywhere
            | Self::RatesUnknown
            | Self::SearchOff
            | Self::ClustersOff
            | Self::EqualTime => {
                setup.settings.policy = self.policy(&setup.settings.policy);
                for (_, policy) in &mut setup.switches {
                    *policy = self.policy(policy);
                }
            }
        }
    }

    /// The policy without the mechanism; the policy itself where it does not have it.
    fn policy(self, text: &str) -> String {
        let Ok(policy) = Policy::parse(text, 0) else { return text.to_owned() };
        let full = policy.in_full();
        let parts: Vec<String> = full.split(' ').map(|part| self.part(part)).collect();
        let changed = parts.join(" ");
        if changed == full { text.to_owned() } else { changed }
    }

    /// One part, `placement=worst-fit(level=l3)`, without the mechanism.
    fn part(self, part: &str) -> String {
        let name = part.split('(').next().unwrap_or(part);
        let parameters = &part[name.len()..];
        match (self, name) {
            (Self::FirstFit, "placement=worst-fit") => format!("placement=first-fit{parameters}"),
            (Self::BestFit, "placement=worst-fit") => format!("placement=best-fit{parameters}"),
            (
                Self::OnePool,
                "placement=worst-fit" | "placement=best-fit" | "placement=first-fit" | "placement=worst-fit-jobs",
            ) => format!("{name}(level=machine)"),
            (Self::HomesOff, "placement=home") => "placement=base-priority".to_owned(),
            // Without the parameters that only homes need.
            (Self::HomesOff, "share=demand") => "share=demand".to_owned(),
            (Self::PagesAnywhere, "pages=home") => "pages=first-touch".to_owned(),
            (Self::RatesUnknown, "turns=b2arr" | "turns=lqg" | "turns=qwg" | "turns=b2adss") => "turns=rr".to_owned(),
            (Self::SearchOff, "share=pdpa") | (Self::ClustersOff, "share=cluster") => "share=equip".to_owned(),
            (Self::SearchOff, "admission=multiprogramming") => "admission=fifo".to_owned(),
            (Self::EqualTime, "turns=vtq-dss") => {
                let parameters = parameters.trim_matches(['(', ')']).split(',');
                let kept: Vec<&str> = parameters.filter(|one| !one.starts_with("equal=")).collect();
                format!("{name}({},equal=100%)", kept.join(",")).replace("(,", "(")
            }
            _ => part.to_owned(),
        }
    }

    /// The factor on the number of threads with which the engine itself is measured.
    pub const fn crowd(self) -> u32 {
        if matches!(self, Self::Crowd) { 64 } else { 1 }
    }

    /// Whether it changes programs.
    const fn changes_programs(self) -> bool {
        matches!(
            self,
            Self::PagesAnywhere
                | Self::RecoveryOff
                | Self::ManagerOff
                | Self::CreationFree
                | Self::SlowReports
                | Self::LargeCaches
        )
    }

    /// Changes a program.
    fn change_program(self, program: &mut Program) {
        match self {
            Self::PagesAnywhere => {
                for data in &mut program.data {
                    data.place = PagePlace::RoundRobin;
                }
            }
            Self::RecoveryOff | Self::ManagerOff => program.recovers = false,
            Self::CreationFree => program.creation_ns = 0,
            Self::SlowReports => {
                let mut analyzer = program.analyzer.unwrap_or_default();
                (analyzer.warm, analyzer.measured) = (16 * analyzer.warm, 16 * analyzer.measured);
                program.analyzer = Some(analyzer);
            }
            Self::LargeCaches => program.footprint_lines *= CACHES_LARGER,
            _ => {}
        }
    }

    /// The same arrivals with changed programs.
    pub fn change_source(self, source: Box<dyn Source>) -> Box<dyn Source> {
        if self.changes_programs() { Box::new(Perturbed { by: self, source, known: BTreeMap::new() }) } else { source }
    }
}

impl Serialize for Perturbation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Every class of places beyond this one costs as much as this one does.
fn equal_costs(model: &mut Model, last: usize) {
    let classes = &mut model.access.classes;
    let Some(costs) = classes.get(last).map(|class| class.cost_ps) else { return };
    for class in classes.iter_mut().skip(last + 1) {
        class.cost_ps = costs;
    }
}

/// Arrivals of changed programs.
#[derive(Debug)]
struct Perturbed {
    by: Perturbation,
    source: Box<dyn Source>,
    /// Changed programs by the address of the original, which they keep alive.
    known: BTreeMap<usize, (Arc<Program>, Arc<Program>)>,
}

impl Perturbed {
    fn changed(&mut self, mut arrival: Arrival) -> Arrival {
        let original = Arc::clone(&arrival.program);
        let (_, changed) = self.known.entry(Arc::as_ptr(&original) as usize).or_insert_with(|| {
            let mut program = (*original).clone();
            self.by.change_program(&mut program);
            (original, Arc::new(program))
        });
        arrival.program = Arc::clone(changed);
        arrival
    }
}

impl Source for Perturbed {
    fn next(&mut self) -> Option<Arrival> {
        let arrival = self.source.next()?;
        Some(self.changed(arrival))
    }

    fn ended(&mut self, stream: u32, now: Nanos) -> Option<Arrival> {
        let arrival = self.source.ended(stream, now)?;
        Some(self.changed(arrival))
    }

    fn total(&self) -> Option<u64> {
        self.source.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_sim::machine::{self, Op};
    use numaestro_sim::program::{Body, Data, Split};
    use numaestro_sim::workload::List;

    fn setup(machine: &str, policy: &str) -> Setup {
        let mut setup = Setup::new(Arc::new(machine::named(machine, 0).unwrap()));
        policy.clone_into(&mut setup.settings.policy);
        setup
    }

    fn policy(by: Perturbation, text: &str) -> String {
        let mut setup = setup("hector", text);
        by.change_setup(&mut setup);
        Policy::parse(&setup.settings.policy, 0)
            .unwrap_or_else(|no| panic!("{}: {no}", setup.settings.policy))
            .in_full()
    }

    #[test]
    fn the_table_is_in_the_order_of_the_names() {
        for (number, (name, perturbation, _)) in Perturbation::ALL.into_iter().enumerate() {
            assert_eq!((perturbation as usize, perturbation.name()), (number, name));
        }
    }

    #[test]
    fn places_become_equally_near() {
        let lines = |by: Perturbation| {
            let mut setup = setup("hector", "");
            by.change_setup(&mut setup);
            setup.model.access.classes.iter().map(|class| class.cost_ps[Op::Line as usize]).collect::<Vec<_>>()
        };
        let (local, station) = (19 * 60_000, 29 * 60_000);
        assert_eq!(lines(Perturbation::EqualLatencies), [local, local, local]);
        assert_eq!(lines(Perturbation::RingAsStation), [local, station, station]);
        let unchanged = lines(Perturbation::ContentionOff);
        assert!(unchanged[2] > station);
        assert_eq!(lines(Perturbation::FarMemory), [local, station, 4 * unchanged[2]]);
    }

    #[test]
    fn policies_lose_one_mechanism_and_keep_the_rest() {
        let full = |text: &str| Policy::parse(text, 0).unwrap().in_full();
        assert_eq!(policy(Perturbation::FirstFit, "worst-fit"), full("first-fit"));
        assert_eq!(policy(Perturbation::BestFit, "worst-fit"), full("best-fit"));
        assert_eq!(policy(Perturbation::OnePool, "worst-fit"), full("nopool"));
        assert_eq!(policy(Perturbation::HomesOff, "HS-Con"), full("FR-Con"));
        assert_eq!(policy(Perturbation::PagesAnywhere, "HS-Con"), full("HS-Dist"));
        assert_eq!(policy(Perturbation::SearchOff, "pdpa"), full("share=equip admission=fifo"));
        assert_eq!(policy(Perturbation::RatesUnknown, "b2arr"), full("rr"));
        assert_eq!(policy(Perturbation::ClustersOff, "nanos-cluster"), full("nanos-equip"));
        let vtq = |parameters: &str| format!("vtq-dss turns=vtq-dss{parameters}");
        assert_eq!(policy(Perturbation::EqualTime, &vtq("(k=1.5,equal=20%)")), full(&vtq("(k=1.5)")));
        assert_eq!(policy(Perturbation::EqualTime, "vtq-dss"), full("vtq-dss"));
        assert_eq!(policy(Perturbation::FirstFit, "HS-Con"), full("HS-Con"), "it has no pools");
    }

    #[test]
    fn the_native_scheduler_is_that_of_the_machine() {
        let native = |machine: &str| {
            let mut setup = setup(machine, "equi");
            Perturbation::ManagerOff.change_setup(&mut setup);
            setup.settings.policy
        };
        assert_eq!((native("origin2000-64").as_str(), native("xeon-4").as_str()), ("sgi-mp", "linux24"));
    }

    #[test]
    fn caches_grow_with_their_working_sets_and_stops_become_dear() {
        let mut larger = setup("xeon-4", "rr");
        let lines = larger.model.cache.lines;
        Perturbation::LargeCaches.change_setup(&mut larger);
        assert_eq!(larger.model.cache.lines, 256 * lines);
        let mut program = Program::new("p", 1, Body::Phases(Vec::new()));
        program.footprint_lines = 3;
        Perturbation::LargeCaches.change_program(&mut program);
        assert_eq!(program.footprint_lines, 768);
        let mut dear = setup("xeon-4", "rr");
        Perturbation::CostlyStops.change_setup(&mut dear);
        assert_eq!(dear.model.costs.stop_ns, 10_000_000);
    }

    #[test]
    fn programs_are_changed_on_arrival_and_shared() {
        let data = Data { name: "d".into(), pages: 1, split: Split::Whole, place: PagePlace::Master };
        let mut program = Program::new("p", 1, Body::Phases(Vec::new()));
        (program.recovers, program.creation_ns, program.data) = (true, 7, vec![data]);
        let program = Arc::new(program);
        let arrived = |by: Perturbation| {
            let arrival = |job| Arrival {
                at: job,
                job,
                stream: 0,
                program: Arc::clone(&program),
                estimate_ns: None,
                until: None,
            };
            let mut source = by.change_source(Box::new(List::new(vec![arrival(0), arrival(1)])));
            let (first, second) = (source.next().unwrap().program, source.next().unwrap().program);
            assert!(Arc::ptr_eq(&first, &second), "one copy for all");
            (first.recovers, first.creation_ns, first.data[0].place)
        };
        assert_eq!(arrived(Perturbation::RecoveryOff), (false, 7, PagePlace::Master));
        assert_eq!(arrived(Perturbation::CreationFree), (true, 0, PagePlace::Master));
        assert_eq!(arrived(Perturbation::PagesAnywhere), (true, 7, PagePlace::RoundRobin));
        assert_eq!(arrived(Perturbation::OnePool), (true, 7, PagePlace::Master));
    }
}
