//! The steps of jobs that a batch system's plugin has registered, and what follows from them: whose
//! job a process belongs to, what the job may have, and the policy that it asks for.
//!
//! A step lives as long as the process that registered it. Slurm starts one for each step, as the
//! parent of all its tasks, so a step needs no farewell, and one that is killed leaves nothing.

use std::collections::BTreeMap;

use numaestro_abi::control::{BeginStep, Malleable, STEP_VERSION};
use numaestro_host::PidFd;
use numaestro_policy::{Party, own_of_job};
use serde::{Deserialize, Serialize};

use super::CPUS_MOST;

/// A job on this machine: its user, and its number.
pub(crate) type JobId = (u32, u32);

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
    /// Limits that an administrator and its user have set: the smaller one holds.
    limits: [Option<u32>; 2],
    /// The policy that it asks for.
    pub(crate) policy: Option<String>,
    /// An administrator has chosen another policy meanwhile.
    overruled: bool,
}

impl Terms {
    /// The most processors, as somebody has set them.
    pub(crate) fn most(&self) -> Option<u32> {
        self.limits.into_iter().flatten().min()
    }

    /// Its part of a machine on which so many processors are its own.
    pub(crate) fn part(&self, own: u32) -> Party {
        Party::of_job(self.cpus, own, self.malleable.map(|range| (range.min, range.max)), self.most())
    }
}

#[derive(Debug)]
struct Step {
    /// Tells it from all other steps, former ones too.
    number: u64,
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
    /// Steps so far.
    count: u64,
}

/// A registered step, for a next manager.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedStep {
    uid: u32,
    job: u32,
    name: String,
    pid: u32,
    /// Clock ticks after boot: with `pid`, the process.
    start_time: u64,
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
    None
}

impl Register {
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// A step begins. The caller has looked for its [`mistake`]s. Gives the step's number, and the
    /// former terms of its job, for [`Self::take_back`].
    pub(crate) fn begin(&mut self, parent: PidFd, step: BeginStep) -> Result<(u64, Option<Terms>), Objection> {
        if self.steps.len() >= STEPS_MOST {
            return Err(Objection::new("too many steps of jobs run here", ""));
        }
        let BeginStep { job, step: name, uid, cpus, policy, malleable, .. } = step;
        let id = (uid, job);
        let former = self.jobs.get(&id).cloned();
        let terms = self.jobs.entry(id).or_default();
        // One step may know less of its job than another: srun says the wishes for its own step.
        terms.cpus = terms.cpus.max(cpus);
        if let Some(range) = malleable {
            if range.min > terms.cpus {
                let reason = format!(
                    "malleable: its minimum of {} is more than the job was allocated: {}",
                    range.min, terms.cpus
                );
                self.put(id, former);
                return Err(Objection::new(reason, ""));
            }
            terms.malleable = malleable;
        }
        terms.policy = policy.or(terms.policy.take());
        let number = self.add(id, name, parent);
        Ok((number, former))
    }

    fn add(&mut self, id: JobId, name: String, parent: PidFd) -> u64 {
        self.count += 1;
        self.steps.push(Step { number: self.count, id, name, parent });
        self.count
    }

    fn put(&mut self, id: JobId, terms: Option<Terms>) {
        match terms {
            Some(terms) => self.jobs.insert(id, terms),
            None => self.jobs.remove(&id),
        };
    }

    /// The step has not begun after all.
    pub(crate) fn take_back(&mut self, number: u64, former: Option<Terms>) {
        if let Some(at) = self.steps.iter().position(|step| step.number == number) {
            let id = self.steps.remove(at).id;
            self.put(id, former);
        }
    }

    /// A step has ended. Gives the job if that was its last one.
    pub(crate) fn end(&mut self, number: u64) -> Option<(JobId, Terms)> {
        let at = self.steps.iter().position(|step| step.number == number)?;
        let id = self.steps.remove(at).id;
        if self.steps.iter().any(|step| step.id == id) {
            return None;
        }
        Some((id, self.jobs.remove(&id)?))
    }

    /// The steps with this parent, by number, if it has ended: its number is another process's now.
    pub(crate) fn ended_below(&self, pid: u32) -> Vec<u64> {
        let ended = self.steps.iter().filter(|step| step.parent.pid() == pid && step.parent.has_ended());
        ended.map(|step| step.number).collect()
    }

    /// The parent of a step, to be watched.
    pub(crate) fn parent(&self, number: u64) -> Option<&PidFd> {
        self.steps.iter().find(|step| step.number == number).map(|step| &step.parent)
    }

    /// The numbers of all steps.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.steps.iter().map(|step| step.number).collect()
    }

    /// The job and the name of the step of a process with these ancestors.
    pub(crate) fn step_of(&self, ancestors: &[u32]) -> Option<(JobId, &str)> {
        let step = self.steps.iter().find(|step| ancestors.contains(&step.parent.pid()))?;
        Some((step.id, &step.name))
    }

    pub(crate) fn terms(&self, id: JobId) -> Option<&Terms> {
        self.jobs.get(&id)
    }

    /// The part of a machine of so many processors that a job may have.
    pub(crate) fn part(&self, id: JobId, machine: u32) -> Option<Party> {
        let terms = self.jobs.get(&id)?;
        let by_all = self.jobs.values().map(|terms| u64::from(terms.cpus)).sum();
        Some(terms.part(own_of_job(terms.cpus.into(), by_all, machine.into()) as u32))
    }

    /// The jobs that are here, in the order of their numbers.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (JobId, &Terms)> {
        let mut jobs: Vec<_> = self.jobs.iter().map(|(id, terms)| (*id, terms)).collect();
        jobs.sort_by_key(|((uid, number), _)| (*number, *uid));
        jobs.into_iter()
    }

    /// The names of the steps of a job.
    pub(crate) fn steps(&self, id: JobId) -> impl Iterator<Item = &str> {
        self.steps.iter().filter(move |step| step.id == id).map(|step| step.name.as_str())
    }

    /// Sets the most processors of a job; `None`: as many as it can use. A user changes nothing of
    /// the limit of an administrator.
    pub(crate) fn set_most(&mut self, id: JobId, most: Option<u32>, administrator: bool) -> Result<(), Objection> {
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
        terms.limits[usize::from(!administrator)] = most;
        Ok(())
    }

    /// The only job here, and the policy that it asks for, unless an administrator has chosen
    /// another one since.
    pub(crate) fn policy(&self) -> Option<(JobId, &str)> {
        let mut jobs = self.jobs.iter();
        let (id, only) = jobs.next()?;
        let asks = only.policy.as_deref().filter(|_| !only.overruled && jobs.next().is_none())?;
        Some((*id, asks))
    }

    /// An administrator has chosen a policy: what this job asks for counts no more.
    pub(crate) fn overrule(&mut self, id: JobId) {
        if let Some(terms) = self.jobs.get_mut(&id) {
            terms.overruled = true;
        }
    }

    /// For a next manager.
    pub(crate) fn saved(&self) -> Vec<SavedStep> {
        let saved = |step: &Step| SavedStep {
            uid: step.id.0,
            job: step.id.1,
            name: step.name.clone(),
            pid: step.parent.pid(),
            start_time: step.parent.start_time(),
        };
        self.steps.iter().map(saved).collect()
    }

    /// Takes the jobs of a former manager over of which steps run yet. Gives the other ones.
    pub(crate) fn take_over(
        &mut self,
        steps: Vec<SavedStep>,
        mut jobs: BTreeMap<JobId, Terms>,
    ) -> BTreeMap<JobId, Terms> {
        for SavedStep { uid, job, name, pid, start_time } in steps {
            let id = (uid, job);
            let Ok(parent) = PidFd::open_verified(pid, start_time) else { continue };
            if let Some(terms) = jobs.remove(&id) {
                self.jobs.insert(id, terms);
            }
            if self.jobs.contains_key(&id) {
                self.add(id, name, parent);
            }
        }
        jobs
    }
}

#[cfg(test)]
mod tests;
