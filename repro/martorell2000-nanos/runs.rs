//! Runs of the paper's workloads on its machine under a policy, and the values that claims read
//! from them.

use crate::lab::{Experiment, Lab, Outcomes, Trouble};
use crate::perturbation::Perturbation;
use crate::{Finding, Judge};
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
/// The programs of section 6.
pub const PROGRAMS: &str = include_str!("../../scenarios/programs/nanos.toml");
/// Processors of the machine that others have while table 1 is measured.
const OTHERS: &str = "32-63";

/// The native library.
pub const SGI: &str = "sgi-mp";
/// The native library, if it never made a team smaller: "it tries to use as many processors as
/// possible" (§6.2). It is no documented library: a claim that holds with it only is not
/// reproduced.
const SGI_ALL: &str = "linux24";
/// Table 1.
pub const CLUSTER: &str = "nanos-cluster";
/// Table 2.
pub const SSW: &str = "ssw-dss";
/// Table 2.
pub const VTQ: &str = "vtq-dss";

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
}

macro_rules! workload {
    ($name:literal, $programs:literal, $half:literal) => {
        Workload { name: $name, text: include_str!(concat!($name, ".toml")), programs: $programs, half: $half }
    };
}

/// Table 1.
pub const CPUSET: Workload = workload!("cpuset", true, true);
/// Table 2.
pub const GANGS: Workload = workload!("gangs", true, false);
/// Table 3.
pub const LTOMCATV: Workload = workload!("ltomcatv", true, false);
/// Table 4.
pub const TURB3D: Workload = workload!("turb3d", true, false);
/// Table 5.
pub const APSI: Workload = workload!("apsi", true, false);
/// Section 2.3.
pub const SWITCHING: Workload = workload!("switching", true, false);
/// Section 3.2.
pub const PARTNERS: Workload = workload!("partners", false, false);
/// Figure 1.
pub const CURVES: Workload = workload!("curves", false, false);
/// Section 6.2: how Cluster divides.
pub const DIVISION: Workload = workload!("division", false, true);

/// The thread library of a workload's programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// NTHLIB: its threads run the work that a virtual processor left when it lost its processor,
    /// because the manager tells them of it (§5.2).
    Nanos,
    /// The vendor's, which knows of no preemption.
    Vendor,
}

/// A workload under a policy.
#[derive(Debug, Clone)]
pub struct Run {
    /// The workload.
    pub workload: Workload,
    /// The library of its programs.
    pub library: Library,
    /// The policy, as policies are written.
    pub policy: String,
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
    /// The workload without the manager, under a native library.
    pub fn native(workload: Workload, policy: &str) -> Self {
        Self { library: Library::Vendor, ..Self::new(workload, policy) }
    }

    /// The workload without changes, under the manager.
    pub fn new(workload: Workload, policy: &str) -> Self {
        Self {
            workload,
            library: Library::Nanos,
            policy: policy.to_owned(),
            changes: Vec::new(),
            favours_new: true,
            switches: Vec::new(),
            runs: RUNS,
        }
    }

    /// Changes one field.
    pub fn with(mut self, path: &str, value: &str) -> Self {
        self.changes.push((path.to_owned(), value.to_owned()));
        self
    }

    /// The run as an experiment of the lab.
    pub fn experiment(&self) -> Result<Experiment, Trouble> {
        let name = format!(
            "{} under {} with {:?}, library {:?}, favours new {}, switches {:?}, {} runs",
            self.workload.name, self.policy, self.changes, self.library, self.favours_new, self.switches, self.runs
        );
        let wrong = |reason: String| Trouble::new(&name, reason);
        let text = if self.workload.programs {
            format!("{}\n{PROGRAMS}", self.workload.text)
        } else {
            self.workload.text.to_owned()
        };
        let mut changes = self.changes.clone();
        changes.push(("policy".to_owned(), format!("{:?}", self.policy)));
        let scenario = Scenario::read_changed(Text::new(self.workload.name, &text), &changes, &NoFiles)
            .map_err(|mistake| wrong(mistake.to_string()))?;
        let mut setup = scenario.setup(Lab::FIRST_SEED);
        let model = Arc::make_mut(&mut setup.model);
        model.favours_new = self.favours_new;
        if self.workload.half {
            model.reserved = OTHERS.parse().map_err(|_| wrong(format!("`{OTHERS}` are no processors")))?;
        }
        let policies = self.switches.iter().cycle().take(if self.switches.is_empty() { 0 } else { SWITCHES });
        setup.switches =
            policies.zip(1..).map(|(policy, second)| (second * 1_000_000_000, (*policy).to_owned())).collect();
        let library = self.library;
        let source = Arc::new(move |seed| match library {
            Library::Nanos => scenario.source(seed),
            Library::Vendor => Perturbation::RecoveryOff.change_source(scenario.source(seed)),
        });
        Ok(Experiment { name, setup, source, runs: self.runs })
    }

    /// The outcomes of every run.
    pub fn outcomes(&self, lab: &Lab) -> Result<Outcomes, Trouble> {
        lab.outcomes(&self.experiment()?)
    }
}

/// Reproduced if all demands hold with the native library; else not reproduced. Our values are this
/// library's in any case. The words say what comes out with one that never adapts.
pub fn with_either(
    lab: &Lab,
    demands: impl Fn(&Lab, &'static str) -> Result<Judge, Trouble>,
) -> Result<Finding, Trouble> {
    let judge = demands(lab, SGI)?;
    if judge.holds() {
        return Ok(judge.verdict(""));
    }
    let other = demands(lab, SGI_ALL)?.missed().join("; ");
    let other = if other.is_empty() { "every demand holds" } else { &other };
    Ok(judge
        .verdict(&format!("The cause is not known. With a native library whose teams never become smaller: {other}")))
}

/// Seconds in which policies change.
const SWITCHES: usize = 300;

/// Runs all of these side by side.
pub fn all(lab: &Lab, runs: &[Run]) -> Result<Vec<Outcomes>, Trouble> {
    lab.all(&runs.iter().map(Run::experiment).collect::<Result<Vec<_>, _>>()?)
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

    /// Programs that arrive first, one of each stream.
    fn first(run: &Run) -> Vec<(String, bool)> {
        let mut source = (run.experiment().unwrap().source)(1);
        let arrivals = std::iter::from_fn(|| source.next()).take(5);
        arrivals.map(|arrival| (arrival.program.name.clone(), arrival.program.recovers)).collect()
    }

    #[test]
    fn the_native_library_recovers_nothing() {
        let (nanos, native) = (first(&Run::new(CPUSET, CLUSTER)), first(&Run::native(CPUSET, SGI)));
        assert!(nanos.len() == 5 && nanos.iter().all(|(_, recovers)| *recovers), "{nanos:?}");
        assert!(native.len() == 5 && native.iter().all(|(_, recovers)| !*recovers), "{native:?}");
    }
}
