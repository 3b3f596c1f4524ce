//! Runs of the paper's workloads on its machine under a policy, and the values that claims read
//! from them.

use super::policy::Policy;
use super::{programs, system};
use crate::lab::{Experiment, Lab, Outcomes, Trouble};
use crate::perturbation::Perturbation;
use numaestro_engine::{Action, AppId, Event};
use numaestro_sim::Nanos;
use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::read::{NoFiles, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::world::Observer;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs of each point, with seeds of their own: intervals are narrow.
const RUNS: u32 = 4;
/// Processors of the machine that others have while table 1 is measured.
const OTHERS: &str = "32-63";

/// A workload.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Its file.
    pub name: &'static str,
    text: &'static str,
    /// Whether it uses the programs of section 6.
    programs: bool,
    /// Whether it runs on half of the machine.
    half: bool,
    /// The constant that says when it is cut off.
    window: Option<&'static str>,
}

macro_rules! workload {
    ($name:literal, $programs:literal, $half:literal, $window:expr) => {
        Workload {
            name: $name,
            text: include_str!(concat!($name, ".toml")),
            programs: $programs,
            half: $half,
            window: $window,
        }
    };
}

/// Table 1.
pub const CPUSET: Workload = workload!("cpuset", true, true, Some("window of table 1"));
/// Table 2.
pub const GANGS: Workload = workload!("gangs", true, false, Some("window of table 2"));
/// Table 3.
pub const LTOMCATV: Workload = workload!("ltomcatv", true, false, None);
/// Table 4.
pub const TURB3D: Workload = workload!("turb3d", true, false, None);
/// Table 5.
pub const APSI: Workload = workload!("apsi", true, false, None);
/// Section 2.3.
pub const SWITCHING: Workload = workload!("switching", true, false, None);
/// Section 3.2.
pub const PARTNERS: Workload = workload!("partners", false, false, None);
/// Figure 1.
pub const CURVES: Workload = workload!("curves", false, false, None);
/// Section 6.2: how Cluster divides.
pub const DIVISION: Workload = workload!("division", false, true, None);

/// A workload under a policy.
#[derive(Debug, Clone)]
pub struct Run {
    /// The workload.
    pub workload: Workload,
    /// The policy.
    pub policy: Policy,
    /// Fields of the workload and its programs that are changed, as paths and TOML values.
    pub changes: Vec<(String, String)>,
    /// Whether new threads have the best priority for one quantum (IRIX).
    pub favours_new: bool,
    /// Policies that replace each other, one each second; empty = the policy stays.
    pub switches: Vec<&'static str>,
    /// Runs under full statistics.
    pub runs: u32,
}

impl Run {
    /// The workload without changes.
    pub fn new(workload: Workload, policy: Policy) -> Self {
        Self { workload, policy, changes: Vec::new(), favours_new: true, switches: Vec::new(), runs: RUNS }
    }

    /// Changes one field.
    pub fn with(mut self, path: &str, value: &str) -> Self {
        self.changes.push((path.to_owned(), value.to_owned()));
        self
    }

    /// The run as an experiment of the lab, with the constants of the file of inputs.
    pub fn experiment(&self, lab: &Lab) -> Result<Experiment, Trouble> {
        let policy = self.policy.text(lab)?;
        let name = format!(
            "{} under {policy} with {:?}, favours new {}, switches {:?}, {} runs",
            self.workload.name, self.changes, self.favours_new, self.switches, self.runs
        );
        let wrong = |reason: String| Trouble::new(&name, reason);
        let (text, mut changes) = if self.workload.programs {
            (format!("{}\n{}", self.workload.text, programs::FILE), programs::changes(lab)?)
        } else {
            (self.workload.text.to_owned(), Vec::new())
        };
        if let Some(window) = self.workload.window {
            changes.push(("until".to_owned(), format!("\"{} s\"", lab.constant(window)?)));
        }
        changes.extend(self.changes.iter().cloned());
        changes.push(("policy".to_owned(), format!("{policy:?}")));
        let scenario = Scenario::read_changed(Text::new(self.workload.name, &text), &changes, &NoFiles)
            .map_err(|mistake| wrong(mistake.to_string()))?;
        let mut setup = scenario.setup(Lab::FIRST_SEED);
        system::apply(lab, &mut setup)?;
        if self.workload.programs {
            setup.noise.speedups = lab.constant("speedup error")? / 100.0;
        }
        let model = Arc::make_mut(&mut setup.model);
        model.favours_new = self.favours_new;
        if self.workload.half {
            model.reserved = OTHERS.parse().map_err(|_| wrong(format!("`{OTHERS}` are no processors")))?;
        }
        let policies = self.switches.iter().cycle().take(if self.switches.is_empty() { 0 } else { SWITCHES });
        setup.switches =
            policies.zip(1..).map(|(policy, second)| (second * 1_000_000_000, (*policy).to_owned())).collect();
        // NTHLIB's threads run the work that a virtual processor left when it lost its processor,
        // because the manager tells them of it (§5.2). The vendor's library knows of no preemption.
        let recovers = self.policy != Policy::Native;
        let source = Arc::new(move |seed| {
            let source = scenario.source(seed);
            if recovers { source } else { Perturbation::RecoveryOff.change_source(source) }
        });
        Ok(Experiment { name, setup, source, runs: self.runs })
    }

    /// The outcomes of every run.
    pub fn outcomes(&self, lab: &Lab) -> Result<Outcomes, Trouble> {
        lab.outcomes(&self.experiment(lab)?)
    }
}

/// The words on a miss: no experiment has shown its cause.
pub const CAUSE_UNKNOWN: &str = "The cause is not known";

/// Seconds in which policies change.
const SWITCHES: usize = 300;

/// Runs all of these side by side.
pub fn all(lab: &Lab, runs: &[Run]) -> Result<Vec<Outcomes>, Trouble> {
    lab.all(&runs.iter().map(|run| run.experiment(lab)).collect::<Result<Vec<_>, _>>()?)
}

/// Mean of a value over the jobs that are meant and have ended, run by run; without any such job,
/// the value that `without` gives for the run.
pub fn means(
    outcomes: &[Outcome],
    meant: impl Fn(&JobRecord) -> bool,
    of: impl Fn(&JobRecord) -> f64,
    without: impl Fn(&Outcome) -> f64,
) -> Vec<f64> {
    let mean = |outcome: &Outcome| {
        let values: Vec<f64> = outcome.jobs.iter().filter(|job| meant(job)).map(&of).collect();
        if values.is_empty() { without(outcome) } else { values.iter().sum::<f64>() / values.len() as f64 }
    };
    outcomes.iter().map(mean).collect()
}

/// Time of a job from its start to its end, seconds.
pub fn run_time(job: &JobRecord) -> f64 {
    (job.ended - job.started) as f64 / 1e9
}

/// Mean execution time of a program in each run, seconds.
pub fn of_program(outcomes: &[Outcome], program: &str) -> Vec<f64> {
    means(outcomes, |job| *job.program == *program, run_time, |outcome| outcome.end as f64 / 1e9)
}

/// Time until everything has ended, seconds.
pub fn totals(outcomes: &[Outcome]) -> Vec<f64> {
    outcomes.iter().map(|outcome| outcome.end as f64 / 1e9).collect()
}

/// Records the numbers of processors that applications are told, and the causes.
#[derive(Debug, Default)]
pub struct Told {
    /// Program of each application.
    pub programs: BTreeMap<AppId, String>,
    /// Time, application, processors, and whether the event before was its own request.
    pub counts: Vec<(Nanos, AppId, u32, bool)>,
    /// Time of each application's end, nanoseconds.
    pub ends: BTreeMap<AppId, Nanos>,
}

impl Told {
    /// The numbers of processors that this application was told, one after another, without
    /// repetitions.
    pub fn of(&self, app: AppId) -> Vec<u32> {
        let mut counts: Vec<u32> = self.counts.iter().filter(|told| told.1 == app).map(|told| told.2).collect();
        counts.dedup();
        counts
    }
}

impl Observer for Told {
    fn wants_journal(&self) -> bool {
        true
    }

    fn wants_runs(&self) -> bool {
        false
    }

    fn arrives(&mut self, app: AppId, program: &str) {
        self.programs.insert(app, program.to_owned());
    }

    fn journal(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        if let Event::Depart { app } = event {
            self.ends.insert(*app, at);
        }
        let asks = |who: AppId| matches!(event, Event::Request { app, .. } if *app == who);
        for action in actions {
            if let Action::Target { app, count, .. } = action {
                self.counts.push((at, *app, *count, asks(*app)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use crate::{Conditions, Statistics};
    use numaestro_sim::program::{Body, Phase, Work};

    fn inputs() -> Inputs {
        let paper = super::super::PAPER;
        Inputs::read(paper.basis.file, paper.basis.constants, paper.basis.rows, paper.claims).unwrap()
    }

    fn centre() -> Lab {
        Lab::under(Statistics::Quick, Conditions { constants: inputs().centre(), ..Conditions::default() })
    }

    /// Programs that arrive first, one of each stream.
    fn first(lab: &Lab, run: &Run) -> Vec<(String, bool)> {
        let mut source = (run.experiment(lab).unwrap().source)(1);
        let arrivals = std::iter::from_fn(|| source.next()).take(5);
        arrivals.map(|arrival| (arrival.program.name.clone(), arrival.program.recovers)).collect()
    }

    #[test]
    fn the_native_library_recovers_nothing() {
        let lab = centre();
        let with = |policy| first(&lab, &Run::new(CPUSET, policy));
        let (nanos, native) = (with(Policy::Cluster), with(Policy::Native));
        assert!(nanos.len() == 5 && nanos.iter().all(|(_, recovers)| *recovers), "{nanos:?}");
        assert!(native.len() == 5 && native.iter().all(|(_, recovers)| !*recovers), "{native:?}");
    }

    /// Seconds on one processor.
    fn work(phases: &[Phase]) -> f64 {
        let of = |phase: &Phase| match phase {
            Phase::Repeat { times, phases } => f64::from(*times) * work(phases),
            Phase::Parallel { iterations, work: Work::Divided(each, _), .. } => {
                f64::from(*iterations) * each.mean() / 1e9
            }
            _ => 0.0,
        };
        phases.iter().map(of).sum()
    }

    #[test]
    fn programs_have_the_works_that_are_declared() {
        let lab = centre();
        for workload in [CPUSET, GANGS] {
            let mut source = (Run::new(workload, Policy::Native).experiment(&lab).unwrap().source)(1);
            for arrival in std::iter::from_fn(|| source.next()).take(5) {
                let program = &arrival.program;
                let Body::Phases(phases) = &program.body else { panic!("{}", program.name) };
                let declared =
                    lab.constant("work factor").unwrap() * lab.constant(&format!("work of {}", program.name)).unwrap();
                assert!((work(phases) / declared - 1.0).abs() < 1e-3, "{}: {}", program.name, work(phases));
            }
        }
    }

    /// Every experiment of the tables can be built at every end of the ranges.
    #[test]
    fn experiments_are_built_from_the_constants() {
        let inputs = inputs();
        let corner = |high: bool| {
            let ends =
                inputs.constants().iter().map(|one| (one.name.clone(), if high { one.range.1 } else { one.range.0 }));
            Lab::under(Statistics::Quick, Conditions { constants: ends.collect(), ..Conditions::default() })
        };
        for lab in [centre(), corner(false), corner(true)] {
            for (workload, policy) in [
                (CPUSET, Policy::Native),
                (CPUSET, Policy::Cluster),
                (GANGS, Policy::Ssw),
                (GANGS, Policy::Vtq),
                (LTOMCATV, Policy::Pdpa(5)),
                (TURB3D, Policy::Pdpa(4)),
                (APSI, Policy::Pdpa(4)),
            ] {
                let experiment = Run::new(workload, policy).experiment(&lab).unwrap();
                numaestro_policy::Policy::parse(&experiment.setup.settings.policy, 0).unwrap();
            }
        }
    }
}
