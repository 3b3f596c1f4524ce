//! The steps of jobs that a batch system's plugin has registered, and what follows from them: whose
//! job a process belongs to, what the job may have, and the policy that it asks for.
//!
//! A step lives as long as the process that registered it. Slurm starts one for each step, as the
//! parent of all its tasks, so a step needs no farewell, and one that is killed leaves nothing.

use std::collections::BTreeMap;

use numaestro_abi::control::{BeginStep, Malleable, STEP_VERSION};
use numaestro_host::PidFd;
use numaestro_policy::Party;
use serde::{Deserialize, Serialize};

/// A job on this machine: its user, and its number.
pub(crate) type JobId = (u32, u32);

/// More processors than a machine has are no allocation.
const CPUS_MOST: u32 = 1 << 20;
/// Steps of one job, at most, and of all.
const STEPS_MOST: usize = 1 << 16;
/// Bytes of the name of a step, at most.
const NAME_MOST: usize = 16;

/// What stands against a wish for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Objection {
    /// One sentence.
    pub(crate) reason: String,
    /// The next step; may be empty.
    pub(crate) hint: &'static str,
}

impl Objection {
    fn new(reason: impl Into<String>, hint: &'static str) -> Self {
        Self { reason: reason.into(), hint }
    }
}

/// What a job may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    /// Processors that it was allocated.
    pub(crate) cpus: u32,
    pub(crate) malleable: Option<Malleable>,
    /// The most processors, as somebody has set them.
    pub(crate) most: Option<u32>,
    /// The policy that it asks for.
    pub(crate) policy: Option<String>,
}

impl Terms {
    pub(crate) fn party(&self) -> Party {
        Party::of_job(self.cpus, self.malleable.map(|range| (range.min, range.max)), self.most)
    }
}

#[derive(Debug)]
struct Step {
    id: JobId,
    name: String,
    /// Every process below it belongs to the step.
    parent: PidFd,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Register {
    /// In the order in which they began.
    steps: Vec<Step>,
    jobs: BTreeMap<JobId, Terms>,
}

/// A registered step, as the state file has it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedStep {
    uid: u32,
    job: u32,
    name: String,
    pid: u32,
    /// Clock ticks after boot: with `pid`, the process.
    start_time: u64,
    terms: Terms,
}

/// The mistake in a registration.
pub(crate) fn mistake(step: &BeginStep) -> Option<Objection> {
    let objection = |reason: String, hint: &'static str| Some(Objection::new(reason, hint));
    if step.version != STEP_VERSION {
        let reason =
            format!("the plugin of the batch system speaks version {}, and the manager {STEP_VERSION}", step.version);
        return objection(reason, "install the plugin and the manager of one release");
    }
    if !(1..=CPUS_MOST).contains(&step.cpus) {
        return objection(format!("{} processors are no allocation", step.cpus), "");
    }
    if step.step.is_empty()
        || step.step.len() > NAME_MOST
        || !step.step.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return objection("that is no name of a step".to_owned(), "");
    }
    let range = step.malleable?;
    if range.min < 1 || range.min > range.max || range.max > CPUS_MOST {
        return objection(format!("malleable: {} to {} processors are no range", range.min, range.max), "");
    }
    if range.min > step.cpus {
        let reason =
            format!("malleable: its minimum of {} is more than the job was allocated: {}", range.min, step.cpus);
        return objection(reason, "");
    }
    None
}

impl Register {
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// A step begins. The caller has looked for its [`mistake`]s.
    pub(crate) fn begin(&mut self, parent: PidFd, step: BeginStep) -> Result<JobId, Objection> {
        if self.steps.len() >= STEPS_MOST {
            return Err(Objection::new("too many steps of jobs run here", ""));
        }
        let BeginStep { job, step: name, uid, cpus, policy, malleable, .. } = step;
        let id = (uid, job);
        self.steps.retain(|step| step.parent.pid() != parent.pid());
        self.steps.push(Step { id, name, parent });
        let terms = self.jobs.entry(id).or_default();
        // One step may know less of its job than another: srun says the wishes for its own step.
        terms.cpus = terms.cpus.max(cpus);
        terms.malleable = malleable.or(terms.malleable);
        terms.policy = policy.or(terms.policy.take());
        Ok(id)
    }

    /// The process with this number has ended. Gives the job if that was its last step.
    pub(crate) fn end(&mut self, pid: u32) -> Option<(JobId, Terms)> {
        let at = self.steps.iter().position(|step| step.parent.pid() == pid)?;
        let id = self.steps.remove(at).id;
        if self.steps.iter().any(|step| step.id == id) {
            return None;
        }
        Some((id, self.jobs.remove(&id)?))
    }

    /// The parents of steps, to be watched.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &PidFd> {
        self.steps.iter().map(|step| &step.parent)
    }

    /// The job and the name of the step of a process with these ancestors.
    pub(crate) fn step_of(&self, ancestors: &[u32]) -> Option<(JobId, &str)> {
        let step = self.steps.iter().find(|step| ancestors.contains(&step.parent.pid()))?;
        Some((step.id, &step.name))
    }

    pub(crate) fn terms(&self, id: JobId) -> Option<&Terms> {
        self.jobs.get(&id)
    }

    /// The jobs that are here.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (JobId, &Terms)> {
        self.jobs.iter().map(|(id, terms)| (*id, terms))
    }

    /// The names of the steps of a job.
    pub(crate) fn steps(&self, id: JobId) -> impl Iterator<Item = &str> {
        self.steps.iter().filter(move |step| step.id == id).map(|step| step.name.as_str())
    }

    /// Sets the most processors of a job; `None`: as many as it can use.
    pub(crate) fn set_most(&mut self, id: JobId, most: Option<u32>) -> Result<(), Objection> {
        let Some(terms) = self.jobs.get_mut(&id) else {
            return Err(Objection::new("there is no such job here", "`numaestro jobs` shows those that there are"));
        };
        let Some(range) = terms.malleable else {
            let reason = format!("job {} is not malleable: it has the processors that it was allocated", id.1);
            return Err(Objection::new(reason, "a job says so when it is submitted: --numaestro=malleable:MIN-MAX"));
        };
        if let Some(most) = most.filter(|most| !(range.min..=range.max).contains(most)) {
            let reason = format!("job {} runs on {} to {} processors, not on {most}", id.1, range.min, range.max);
            return Err(Objection::new(reason, ""));
        }
        terms.most = most;
        Ok(())
    }

    /// The policy that the only job here asks for.
    pub(crate) fn policy(&self) -> Option<&str> {
        let mut jobs = self.jobs.values();
        let only = jobs.next()?;
        if jobs.next().is_some() { None } else { only.policy.as_deref() }
    }

    /// For a next manager.
    pub(crate) fn saved(&self) -> Vec<SavedStep> {
        let saved = |step: &Step| SavedStep {
            uid: step.id.0,
            job: step.id.1,
            name: step.name.clone(),
            pid: step.parent.pid(),
            start_time: step.parent.start_time(),
            terms: self.jobs.get(&step.id).cloned().unwrap_or_default(),
        };
        self.steps.iter().map(saved).collect()
    }

    /// Takes the steps of a former manager over that run yet.
    pub(crate) fn take_over(&mut self, saved: Vec<SavedStep>) {
        for SavedStep { uid, job, name, pid, start_time, terms } in saved {
            let Ok(parent) = PidFd::open_verified(pid, start_time) else { continue };
            self.steps.push(Step { id: (uid, job), name, parent });
            self.jobs.insert((uid, job), terms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(job: u32, step: &str) -> BeginStep {
        let step = step.to_owned();
        BeginStep { version: STEP_VERSION, job, step, uid: 1000, cpus: 4, policy: None, malleable: None }
    }

    fn process() -> PidFd {
        PidFd::open(std::process::id()).unwrap()
    }

    fn child() -> (std::process::Child, PidFd) {
        let child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let process = PidFd::open(child.id()).unwrap();
        (child, process)
    }

    #[test]
    fn a_job_is_here_until_its_last_step_has_ended() {
        let mut register = Register::default();
        let (mut other, second) = child();
        let id = register.begin(process(), begin(7, "batch")).unwrap();
        assert_eq!(id, (1000, 7));
        let fewer = BeginStep { cpus: 2, policy: Some("equi".into()), ..begin(7, "0") };
        register.begin(second, fewer).unwrap();
        let terms = register.terms(id).unwrap();
        assert_eq!((terms.cpus, register.policy()), (4, Some("equi")));
        assert_eq!(register.steps(id).collect::<Vec<_>>(), ["batch", "0"]);
        assert_eq!(register.step_of(&[1, other.id()]), Some((id, "0")));
        assert_eq!(register.step_of(&[1]), None);
        assert!(register.end(other.id()).is_none() && !register.is_empty());
        assert_eq!(register.end(std::process::id()).map(|(id, _)| id), Some(id));
        assert!(register.is_empty() && register.terms(id).is_none() && register.policy().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn the_policy_of_a_job_counts_while_it_is_alone() {
        let mut register = Register::default();
        let (mut other, second) = child();
        register.begin(process(), BeginStep { policy: Some("equi".into()), ..begin(7, "0") }).unwrap();
        register.begin(second, begin(8, "0")).unwrap();
        assert_eq!(register.policy(), None);
        register.end(other.id());
        assert_eq!(register.policy(), Some("equi"));
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn only_malleable_jobs_are_shrunk_and_only_within_their_range() {
        let mut register = Register::default();
        let id = register.begin(process(), begin(7, "0")).unwrap();
        assert!(register.set_most(id, Some(2)).unwrap_err().reason.contains("not malleable"));
        let range = Malleable { min: 2, max: 8 };
        register.begin(process(), BeginStep { malleable: Some(range), ..begin(7, "0") }).unwrap();
        assert_eq!(register.terms(id).unwrap().party(), Party { weight_milli: 4000, most: 8, reserved: 2 });
        for wrong in [1, 9] {
            assert!(register.set_most(id, Some(wrong)).unwrap_err().reason.contains("2 to 8"));
        }
        register.set_most(id, Some(3)).unwrap();
        assert_eq!(register.terms(id).unwrap().party().most, 3);
        register.set_most(id, None).unwrap();
        assert_eq!(register.terms(id).unwrap().party().most, 8);
        assert!(register.set_most((1000, 9), None).is_err());
    }

    #[test]
    fn a_next_manager_knows_the_steps_that_run() {
        let (mut gone, ended) = child();
        let mut register = Register::default();
        register.begin(process(), begin(7, "0")).unwrap();
        register.begin(ended, begin(8, "0")).unwrap();
        register.set_most((1000, 7), None).unwrap_err();
        let saved = serde_json::to_string(&register.saved()).unwrap();
        gone.kill().unwrap();
        gone.wait().unwrap();
        let mut next = Register::default();
        next.take_over(serde_json::from_str(&saved).unwrap());
        assert_eq!(next.jobs().map(|(id, terms)| (id, terms.cpus)).collect::<Vec<_>>(), [((1000, 7), 4)]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(mistake(&begin(1, "batch")).is_none());
        let range = |min, max| BeginStep { malleable: Some(Malleable { min, max }), ..begin(1, "0") };
        assert!(mistake(&range(1, 8)).is_none() && mistake(&range(4, 4)).is_none());
        for wrong in [range(0, 4), range(3, 2), range(5, 8)] {
            assert!(mistake(&wrong).is_some_and(|objection| objection.reason.contains("malleable")));
        }
        let other = BeginStep { version: STEP_VERSION + 1, ..begin(1, "0") };
        assert!(mistake(&other).is_some_and(|objection| objection.reason.contains("version")));
        for wrong in [BeginStep { cpus: 0, ..begin(1, "0") }, begin(1, ""), begin(1, "a b")] {
            assert!(mistake(&wrong).is_some());
        }
    }
}
