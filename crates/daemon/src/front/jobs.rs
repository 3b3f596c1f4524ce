//! Jobs of a batch system: registers the steps that its plugin tells of, follows the policy of a
//! job that is alone, measures what jobs use, and shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use numaestro_abi::control::{BeginStep, JobStatus, Malleable, Most, ProcessorTime, RefusalKind, Reply};
use numaestro_host::poll::Interest;
use numaestro_host::{monotonic_ns, procfs};
use numaestro_policy::{Party, Policy};
use serde::Serialize;
use tracing::{info, warn};

use super::Front;
use crate::jobs::{self, Holding, Job, JobId, Meter, Objection, Register, SavedStep, Terms};
use crate::rights::{Refusal, Who};
use crate::shell::Shell;
use crate::wakeups::token;

/// Thousandths in a processor.
const MILLI: u64 = 1000;

/// The jobs that are registered here, and what the front keeps of them.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    register: Register,
    meter: Meter,
    policy: Option<JobsPolicy>,
    /// The account file could not be written; it was said once.
    account_fails: bool,
}

/// The policy that a job has asked for decides.
#[derive(Debug)]
struct JobsPolicy {
    asked: String,
    /// The machine's, for afterwards.
    before: String,
}

/// One line of the account file.
#[derive(Debug, Serialize)]
struct Account {
    job: u32,
    uid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    node: String,
    cpus: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    malleable: Option<Malleable>,
    /// Seconds since 1970.
    ended: u64,
    #[serde(flatten)]
    time: ProcessorTime,
}

impl Front {
    /// A step of a job begins below the asking process.
    pub(super) fn begin_step(
        &mut self,
        number: u64,
        who: Who,
        step: BeginStep,
        shell: &mut Shell,
    ) -> Result<Reply, Refusal> {
        jobs::mistake(&step).map_or(Ok(()), |objection| Err(refusal(objection)))?;
        if let Some(Err(cause)) = step.policy.as_ref().map(|policy| Policy::parse(policy, 0)) {
            let hint = "`numaestro policy list` shows those that there are";
            return Err(Refusal::new(cause.to_string(), hint).of_kind(RefusalKind::Usage));
        }
        let pid = who.peer.pid;
        let process = self.connections.process(number, pid);
        let process = process.ok_or_else(|| Refusal::new("the asking process has gone", ""))?;
        let process =
            process.map_err(|cause| Refusal::new(format!("the asking process cannot be watched: {cause}"), ""))?;
        let watched = shell.wakeups().watch(&process, token::STEP + u64::from(pid), Interest::Read);
        watched.map_err(|cause| Refusal::new(format!("its end will not be seen: {cause}"), ""))?;
        let (name, asks) = (step.step.clone(), step.policy.is_some());
        let id = self.jobs.register.begin(process, step).map_err(refusal)?;
        if let Err(refusal) = self.follow_jobs_policy(shell)
            && asks
        {
            // The job runs without the manager rather than under another policy than its own.
            self.step_ended(pid, shell);
            return Err(refusal);
        }
        info!(job = id.1, uid = id.0, step = name, "a step begins");
        self.tell_job(id, shell);
        self.measure_jobs(shell);
        self.save_soon_enough(shell);
        Ok(Reply::Done)
    }

    /// The parent of a step has ended.
    pub(super) fn step_ended(&mut self, pid: u32, shell: &mut Shell) {
        if let Some(parent) = self.jobs.register.parents().find(|parent| parent.pid() == pid) {
            shell.wakeups().forget(parent);
        }
        let ended = self.jobs.register.end(pid);
        if let Some((id, terms)) = ended {
            info!(job = id.1, uid = id.0, "has ended");
            self.measure_jobs(shell);
            let time = self.jobs.meter.close(monotonic_ns(), id);
            self.write_account(id, &terms, time);
            self.vacate_jobs(shell);
            if let Err(refusal) = self.follow_jobs_policy(shell) {
                warn!("the policy stays: {}", refusal.reason);
            }
        }
        self.changed(shell);
    }

    /// The job that a process belongs to, and what the job may have, as far as it is known.
    pub(super) fn job_of(&self, uid: u32, pid: u32) -> Option<(Job, Option<Party>)> {
        let register = &self.jobs.register;
        if !register.is_empty()
            && let Some((id, step)) = register.step_of(&procfs::ancestors(pid))
            && id.0 == uid
        {
            let (step, task) = (Some(step.to_owned()), jobs::place_by_variables(pid, id.1).1);
            let job = Job { id: id.1, cpus: None, step, task };
            return Some((job, register.terms(id).map(Terms::party)));
        }
        let mut job = self.users.job_of(pid)?;
        if job.step.is_none() {
            (job.step, job.task) = jobs::place_by_variables(pid, job.id);
        }
        // A process may have left its step's tree, and not its job.
        let part = match register.terms((uid, job.id)) {
            Some(terms) => Some(terms.party()),
            None => job.cpus.map(|cpus| Party::of_job(cpus, None, None)),
        };
        Some((job, part))
    }

    /// Processors that a job keeps from others are kept from its beginning; and a limit that has
    /// changed holds at once. Other jobs become parties with their first program.
    fn tell_job(&mut self, id: JobId, shell: &mut Shell) {
        let Some(part) = self.jobs.register.terms(id).map(Terms::party) else { return };
        if part.reserved > 0 || self.users.job_parties().any(|(_, known)| known == id) {
            self.find_in_job(id, Some(part), shell);
        }
    }

    /// Jobs that have neither steps nor programs any more are no parties.
    pub(super) fn vacate_jobs(&mut self, shell: &mut Shell) {
        let used = self.used_parties(shell);
        let register = &self.jobs.register;
        self.users.vacate_jobs(|party, id| used.contains(&party) || register.terms(id).is_some());
        self.tell_parties(shell);
    }

    pub(super) fn registered_jobs(&self) -> BTreeSet<JobId> {
        self.jobs.register.jobs().map(|(id, _)| id).collect()
    }

    /// A job that is alone here and asks for a policy has it; afterwards the machine has its own
    /// again.
    fn follow_jobs_policy(&mut self, shell: &mut Shell) -> Result<(), Refusal> {
        let asked = self.jobs.register.policy().map(str::to_owned);
        let present = self.jobs.policy.as_ref().map(|policy| policy.asked.clone());
        if asked == present {
            return Ok(());
        }
        let before = self.jobs.policy.take().map_or_else(|| shell.policy_text(), |policy| policy.before);
        let next = asked.clone().unwrap_or_else(|| before.clone());
        let set = shell.set_policy(next.clone());
        match (set, asked) {
            (Ok(()), Some(asked)) => {
                info!(policy = asked, "the only job here asks for it");
                self.jobs.policy = Some(JobsPolicy { asked, before });
            }
            (Ok(()), None) => info!(policy = next, "decides again"),
            (Err((reason, hint)), _) => {
                // Whatever decides now is not the job's.
                if shell.policy_text() != before && shell.set_policy(before).is_err() {
                    warn!("the policy of before cannot be used any more");
                }
                return Err(Refusal::new(reason, hint.unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// An administrator has chosen a policy while that of a job decides: this one stays.
    pub(super) fn policy_was_set(&mut self, policy: &str) {
        if let Some(of_job) = &mut self.jobs.policy {
            policy.clone_into(&mut of_job.before);
        }
    }

    /// The jobs as a peer may see them.
    pub(super) fn jobs_for(&mut self, who: Who, shell: &Shell) -> Reply {
        let ids: Vec<JobId> = self.jobs.register.jobs().map(|(id, _)| id).filter(|id| who.steers(id.0)).collect();
        Reply::Jobs { jobs: ids.into_iter().filter_map(|id| self.job_status(id, shell)).collect() }
    }

    /// Changes the most processors of a malleable job.
    pub(super) fn set_job(&mut self, who: Who, number: u32, most: Most, shell: &mut Shell) -> Result<Reply, Refusal> {
        let found = self.jobs.register.jobs().map(|(id, _)| id).find(|id| id.1 == number && who.steers(id.0));
        let Some(id) = found else {
            let reason = format!("{} no job {number} here", who.there_is());
            return Err(Refusal::new(reason, "`numaestro jobs` shows those that there are"));
        };
        let most = match most {
            Most::All => None,
            Most::Processors(most) => Some(most),
        };
        self.jobs.register.set_most(id, most).map_err(refusal)?;
        info!(job = number, most, uid = who.peer.uid, "has another limit");
        self.tell_job(id, shell);
        self.measure_jobs(shell);
        self.save_soon_enough(shell);
        Ok(Reply::Jobs { jobs: self.job_status(id, shell).into_iter().collect() })
    }

    fn job_status(&mut self, id: JobId, shell: &Shell) -> Option<JobStatus> {
        let terms = self.jobs.register.terms(id)?.clone();
        let holds = self.holdings(shell).1;
        let has = holds.iter().find(|held| held.id == id).map_or(0, |held| held.has);
        let party = self.users.job_parties().find(|(_, known)| *known == id).map(|(party, _)| party);
        let ours = |app: &&crate::programs::App| Some(app.owner.party) == party;
        Some(JobStatus {
            job: id.1,
            uid: id.0,
            user: self.users.name_of(id.0),
            steps: self.jobs.register.steps(id).map(str::to_owned).collect(),
            cpus: terms.cpus,
            malleable: terms.malleable,
            most: terms.most,
            policy_decides: terms.policy.is_some() && self.jobs.policy.is_some(),
            policy: terms.policy,
            applications: u32::try_from(shell.programs().iter().filter(ours).count()).unwrap_or(u32::MAX),
            has: milli(has),
            used: self.jobs.meter.of(monotonic_ns(), id),
        })
    }

    /// From now on the jobs have what they have now.
    pub(super) fn measure_jobs(&mut self, shell: &Shell) {
        if self.jobs.register.is_empty() {
            return;
        }
        let (outside, holdings) = self.holdings(shell);
        let machine = shell.site().usable.len() as u64 * MILLI;
        self.jobs.meter.hold(monotonic_ns(), machine, outside, &holdings);
    }

    /// Thousandths of processors that programs outside of registered jobs have, and those of each
    /// job. Applications that share a processor have equal parts of it.
    fn holdings(&self, shell: &Shell) -> (u64, Vec<Holding>) {
        let parties: BTreeMap<u32, JobId> = self.users.job_parties().collect();
        let mut has: BTreeMap<JobId, u64> = BTreeMap::new();
        let mut outside = 0;
        for pu in shell.ledger().pus {
            let users: Vec<_> = pu.owner.iter().chain(&pu.guests).collect();
            for app in &users {
                let part = MILLI / users.len() as u64;
                let party = shell.programs().get(app.0).map(|entry| entry.owner.party);
                match party.and_then(|party| parties.get(&party)).filter(|id| self.jobs.register.terms(**id).is_some())
                {
                    Some(id) => *has.entry(*id).or_default() += part,
                    None => outside += part,
                }
            }
        }
        let holding = |(id, terms): (JobId, &Terms)| Holding {
            id,
            allocated: u64::from(terms.cpus) * MILLI,
            has: has.get(&id).copied().unwrap_or(0),
        };
        (outside, self.jobs.register.jobs().map(holding).collect())
    }

    /// Adds a line to the account file, if there is to be one.
    fn write_account(&mut self, id: JobId, terms: &Terms, time: ProcessorTime) {
        let Some(path) = &self.config.jobs.account else { return };
        let account = Account {
            job: id.1,
            uid: id.0,
            user: self.users.name_of(id.0),
            node: numaestro_host::node_name(),
            cpus: terms.cpus,
            malleable: terms.malleable,
            ended: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            time,
        };
        // One write: managers of several nodes may share the file.
        let line = serde_json::to_string(&account).unwrap_or_default() + "\n";
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(cause) = &written
            && !self.jobs.account_fails
        {
            warn!("{}: jobs are not accounted: {cause}", path.display());
        }
        self.jobs.account_fails = written.is_err();
    }

    /// For a next manager: the steps, and the policy that is to decide after the job's.
    pub(super) fn saved_jobs(&self) -> (Vec<SavedStep>, Option<String>) {
        (self.jobs.register.saved(), self.jobs.policy.as_ref().map(|policy| policy.before.clone()))
    }

    /// Takes over from a former manager, whose policy decides already.
    pub(super) fn take_jobs_over(&mut self, steps: Vec<SavedStep>, before: Option<String>, shell: &mut Shell) {
        self.jobs.register.take_over(steps);
        for parent in self.jobs.register.parents() {
            if let Err(cause) = shell.wakeups().watch(parent, token::STEP + u64::from(parent.pid()), Interest::Read) {
                warn!(pid = parent.pid(), "the end of a step will not be seen: {cause}");
            }
        }
        if let Some(before) = before {
            let asked = self.jobs.register.policy().unwrap_or_default().to_owned();
            self.jobs.policy = Some(JobsPolicy { asked, before });
        }
        let ids: Vec<JobId> = self.jobs.register.jobs().map(|(id, _)| id).collect();
        for id in ids {
            self.tell_job(id, shell);
        }
        if let Err(refusal) = self.follow_jobs_policy(shell) {
            warn!("the policy stays: {}", refusal.reason);
        }
    }
}

fn refusal(objection: Objection) -> Refusal {
    Refusal::new(objection.reason, objection.hint)
}

#[allow(clippy::cast_precision_loss)] // Thousandths of the processors of one machine.
fn milli(value: u64) -> f64 {
    value as f64 / 1000.0
}
