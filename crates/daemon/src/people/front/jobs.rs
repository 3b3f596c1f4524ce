//! Jobs of a batch system: registers the steps that its plugin tells of, follows the policy of a
//! job that is alone, measures what jobs use, and shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use numaestro_abi::control::{BeginStep, JobStatus, Most, ProcessorTime, RefusalKind, Reply};
use numaestro_host::poll::Interest;
use numaestro_host::{monotonic_ns, procfs};
use numaestro_policy::{Party, Policy};
use tracing::{info, warn};

use super::Front;
use crate::identity::jobs::{self, Account, Holding, Job, JobId, Line, Meter, Objection, Register, Terms};
use crate::identity::rights::{Refusal, Role, Who};
use crate::shell::Shell;
use crate::state::{SavedJob, SavedJobs};
use crate::wakeups::FrontSource;

/// Thousandths in a processor.
const MILLI: u64 = 1000;

/// The jobs that are registered here, and what the front keeps of them.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    register: Register,
    meter: Meter,
    policy: Option<JobsPolicy>,
    account: Account,
    /// Somebody has other processors since the meter was told.
    changed: bool,
}

/// The policy that a job has asked for decides.
#[derive(Debug)]
struct JobsPolicy {
    id: JobId,
    asked: String,
    /// The machine's, for afterwards.
    before: String,
}

impl Jobs {
    pub(super) fn are_none(&self) -> bool {
        self.register.is_empty()
    }
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
        // A plugin that has lost its patience runs the step without us.
        if self.connections.peer_has_gone(number) {
            return Err(Refusal::new("nobody waits for the answer", ""));
        }
        let pid = who.peer.pid;
        let evidence =
            self.connections.behind(number).ok_or_else(|| Refusal::new("the asking process has gone", ""))?;
        // Slurm's daemon takes its user's rights at times: what counts is that it lives.
        let process = evidence.process();
        let process =
            process.map_err(|cause| Refusal::new(format!("the asking process cannot be watched: {cause}"), ""))?;
        for ended in self.jobs.register.ended_below(pid) {
            self.step_ended(ended, shell);
        }
        let (id, name, asks) = ((step.uid, step.job), step.step.clone(), step.policy.is_some());
        let (step, former) = self.jobs.register.begin(process, step).map_err(refusal)?;
        let followed = if self.watch_step(step, shell) {
            self.follow_jobs_policy(shell).or_else(|refused| if asks { Err(refused) } else { Ok(()) })
        } else {
            Err(Refusal::new("the end of the step would not be seen", ""))
        };
        if let Err(refused) = followed {
            // The step runs without the manager rather than under another policy than its own.
            self.jobs.register.take_back(step, former);
            self.follow_jobs_policy(shell)?;
            return Err(refused);
        }
        info!(job = id.1, uid = id.0, step = name, "a step begins");
        self.users.find(id.0);
        self.tell_jobs(shell);
        self.measure_jobs(shell);
        // With the policy that decides now.
        self.save(shell);
        Ok(Reply::Done)
    }

    fn watch_step(&self, step: u64, shell: &mut Shell) -> bool {
        let parent = self.jobs.register.parent(step);
        parent.is_some_and(|parent| shell.wakeups().watch(parent, FrontSource::Step(step), Interest::Read).is_ok())
    }

    /// The parent of a step has ended.
    pub(super) fn step_ended(&mut self, step: u64, shell: &mut Shell) {
        if let Some(parent) = self.jobs.register.parent(step) {
            shell.wakeups().forget(parent);
        }
        if let Some((id, terms)) = self.jobs.register.end(step) {
            info!(job = id.1, uid = id.0, "has ended");
            let time = self.jobs.meter.close(monotonic_ns(), id);
            self.write_account(id, &terms, time);
            // Programs that outlive it keep its limits, and keep nothing from others.
            if self.users.job_parties().any(|(_, known)| known == id) {
                self.find_in_job(id, Some(terms.part(0)), shell);
            }
            self.vacate_jobs(shell);
            self.tell_jobs(shell);
            self.measure_jobs(shell);
            if let Err(refusal) = self.follow_jobs_policy(shell) {
                warn!("the policy stays: {}", refusal.reason);
            }
        }
        self.save_jobs();
        self.changed(shell);
    }

    /// The job that a process belongs to, and what the job may have, as far as it is known.
    pub(super) fn job_of(&self, uid: u32, pid: u32, shell: &Shell) -> Option<(Job, Option<Party>)> {
        let register = &self.jobs.register;
        if !register.is_empty()
            && let Some((id, step)) = register.step_of(&procfs::ancestors(pid))
            && id.0 == uid
        {
            let (step, task) = (Some(step.to_owned()), jobs::place_by_variables(pid, id.1).1);
            let job = Job { id: id.1, cpus: None, step, task };
            return Some((job, self.part_of(id, shell)));
        }
        let mut job = self.users.job_of(pid)?;
        if job.step.is_none() {
            (job.step, job.task) = jobs::place_by_variables(pid, job.id);
        }
        // A process may have left its step's tree, and not its job.
        let part = self.part_of((uid, job.id), shell);
        let part = part.or_else(|| job.cpus.map(|cpus| Party::of_job(cpus, cpus, None, None)));
        Some((job, part))
    }

    /// Processors that a job keeps from others are kept from its beginning, and a limit that has
    /// changed holds at once. Other jobs become parties with their first program.
    fn tell_jobs(&mut self, shell: &mut Shell) {
        let ids: Vec<JobId> = self.jobs.register.jobs().map(|(id, _)| id).collect();
        let is_used = self.used(shell);
        let known: BTreeSet<JobId> = self.users.job_parties().map(|(_, id)| id).collect();
        for id in &ids {
            let part = self.part_of(*id, shell);
            if part.is_some_and(|part| part.reserved > 0) || known.contains(id) {
                self.users.find_in_job(*id, part, &is_used);
            }
        }
        self.tell_parties(shell);
    }

    fn part_of(&self, id: JobId, shell: &Shell) -> Option<Party> {
        self.jobs.register.part(id, u32::try_from(shell.site().usable.len()).unwrap_or(u32::MAX))
    }

    /// Jobs that have neither steps nor programs any more are no parties.
    pub(super) fn vacate_jobs(&mut self, shell: &mut Shell) {
        let is_used = self.used(shell);
        self.users.vacate(is_used);
        self.tell_parties(shell);
    }

    pub(super) fn registered_jobs(&self) -> BTreeSet<JobId> {
        self.jobs.register.jobs().map(|(id, _)| id).collect()
    }

    /// A job that is alone here and asks for a policy has it; afterwards the machine has its own
    /// again. Programs of other users are company, too.
    pub(super) fn follow_jobs_policy(&mut self, shell: &mut Shell) -> Result<(), Refusal> {
        let alone = |id: &JobId| shell.programs().iter().all(|app| app.owner.uid == id.0);
        let asked = self.jobs.register.policy().filter(|(id, _)| alone(id)).map(|(id, asked)| (id, asked.to_owned()));
        let present = self.jobs.policy.as_ref().map(|policy| (policy.id, policy.asked.clone()));
        if asked == present {
            return Ok(());
        }
        let before = self.jobs.policy.as_ref().map_or_else(|| shell.policy_text(), |policy| policy.before.clone());
        let next = asked.as_ref().map_or(&before, |(_, asked)| asked).clone();
        let refused = |(reason, hint): (String, Option<String>)| Refusal::new(reason, hint.unwrap_or_default());
        if let Err(cause) = shell.set_policy(next.clone()) {
            // What decided goes on: the machine's policy, which is not lost, or a former job's.
            if present.is_some() && shell.set_policy(before).is_ok() {
                self.jobs.policy = None;
            }
            return Err(refused(cause));
        }
        info!(policy = next, "decides as long as the jobs here stay the same");
        self.jobs.policy = asked.map(|(id, asked)| JobsPolicy { id, asked, before });
        Ok(())
    }

    /// Programs have come or gone.
    pub(super) fn company_has_changed(&mut self, shell: &mut Shell) {
        let before = self.jobs.policy.is_some();
        if let Err(refusal) = self.follow_jobs_policy(shell) {
            warn!("the policy stays: {}", refusal.reason);
        }
        if before != self.jobs.policy.is_some() {
            self.save(shell);
        }
    }

    /// An administrator has chosen a policy while that of a job decides: this one stays.
    pub(super) fn policy_was_set(&mut self) {
        if let Some(JobsPolicy { id, .. }) = self.jobs.policy.take() {
            self.jobs.register.overrule(id);
            self.save_jobs();
        }
    }

    /// The jobs as a peer may see them.
    pub(super) fn jobs_for(&mut self, who: Who, shell: &Shell) -> Reply {
        let ids: Vec<JobId> = self.jobs.register.jobs().map(|(id, _)| id).filter(|id| who.steers(id.0)).collect();
        let holdings = self.holdings(shell).1;
        Reply::Jobs { jobs: ids.into_iter().filter_map(|id| self.job_status(id, &holdings, shell)).collect() }
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
        self.jobs.register.set_most(id, most, who.role == Role::Admin).map_err(refusal)?;
        info!(job = number, most, uid = who.peer.uid, "has another limit");
        self.tell_jobs(shell);
        self.measure_jobs(shell);
        self.save_jobs();
        let holdings = self.holdings(shell).1;
        Ok(Reply::Jobs { jobs: self.job_status(id, &holdings, shell).into_iter().collect() })
    }

    fn job_status(&mut self, id: JobId, holdings: &[Holding], shell: &Shell) -> Option<JobStatus> {
        let terms = self.jobs.register.terms(id)?.clone();
        let has = holdings.iter().find(|held| held.id == id).map_or(0, |held| held.has);
        let party = self.users.job_parties().find(|(_, known)| *known == id).map(|(party, _)| party);
        let ours = |app: &&crate::programs::App| Some(app.owner.party) == party;
        Some(JobStatus {
            job: id.1,
            uid: id.0,
            user: self.users.name_of(id.0),
            steps: self.jobs.register.steps(id).map(str::to_owned).collect(),
            cpus: terms.cpus,
            malleable: terms.malleable,
            most: terms.most(),
            policy_decides: self.jobs.policy.as_ref().is_some_and(|policy| policy.id == id),
            policy: terms.policy,
            applications: u32::try_from(shell.programs().iter().filter(ours).count()).unwrap_or(u32::MAX),
            has: milli(has),
            used: self.jobs.meter.of(monotonic_ns(), id),
        })
    }

    /// Somebody has other processors than before.
    pub(super) fn jobs_have_changed(&mut self) {
        self.jobs.changed = !self.jobs.register.is_empty();
    }

    /// What has changed is measured from now on.
    pub(super) fn measure_changes(&mut self, shell: &Shell) {
        if std::mem::take(&mut self.jobs.changed) {
            self.measure_jobs(shell);
        }
    }

    /// From now on the jobs have what they have now.
    fn measure_jobs(&mut self, shell: &Shell) {
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
        for pu in shell.picture().ledger().pus {
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
        let Some(file) = &self.config.jobs.account else { return };
        let line = Line {
            job: id.1,
            uid: id.0,
            user: self.users.name_of(id.0),
            node: numaestro_host::node_name(),
            cpus: terms.cpus,
            malleable: terms.malleable,
            ended: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            time,
        };
        self.jobs.account.add(file, &line);
    }

    /// Writes the jobs down for a next manager, whether this one is killed or ends in order: their
    /// steps run on.
    pub(super) fn save_jobs(&mut self) {
        let (register, meter) = (&self.jobs.register, &mut self.jobs.meter);
        let now = monotonic_ns();
        let job = |(id, terms): (JobId, &Terms)| SavedJob { id, terms: terms.clone(), time: meter.of(now, id) };
        let jobs = register.jobs().map(job).collect();
        let policy_before = self.jobs.policy.as_ref().map(|policy| policy.before.clone());
        self.directory.save_jobs(&SavedJobs { jobs, steps: register.saved(), policy_before });
    }

    /// Takes the jobs of a former manager over. `killed`: so was it, and its policy decides.
    pub(super) fn take_jobs_over(&mut self, killed: bool, shell: &mut Shell) {
        let Some(SavedJobs { jobs, steps, policy_before }) = self.directory.former_jobs() else { return };
        let mut terms = BTreeMap::new();
        for job in jobs {
            self.jobs.meter.resume(job.id, job.time);
            terms.insert(job.id, job.terms);
        }
        let ended = self.jobs.register.take_over(steps, terms);
        for (id, terms) in ended {
            let time = self.jobs.meter.close(monotonic_ns(), id);
            self.write_account(id, &terms, time);
        }
        for step in self.jobs.register.numbers() {
            if !self.watch_step(step, shell) {
                warn!(step, "the end of a step would not be seen: it is left out");
                self.step_ended(step, shell);
            }
        }
        if let Some(before) = policy_before.filter(|_| killed) {
            match self.jobs.register.policy() {
                // The two files may be of different moments.
                Some((id, asked)) if same_policy(asked, &shell.policy_text()) => {
                    self.jobs.policy = Some(JobsPolicy { id, asked: asked.to_owned(), before });
                }
                Some(_) => {}
                // The job has ended since, and its policy must not stay.
                None => {
                    if let Err((reason, _)) = shell.set_policy(before) {
                        warn!("the policy of a job that has ended stays: {reason}");
                    }
                }
            }
        }
        let uids: BTreeSet<u32> = self.jobs.register.jobs().map(|(id, _)| id.0).collect();
        for uid in uids {
            self.users.find(uid);
        }
        self.tell_jobs(shell);
        self.company_has_changed(shell);
        self.save_jobs();
    }
}

/// Two texts of the same policy.
fn same_policy(one: &str, other: &str) -> bool {
    let parsed = |text: &str| Policy::parse(text, 0).ok().map(|policy| policy.to_string());
    parsed(one).is_some() && parsed(one) == parsed(other)
}

fn refusal(objection: Objection) -> Refusal {
    Refusal::new(objection.reason, objection.hint)
}

#[allow(clippy::cast_precision_loss)] // Thousandths of the processors of one machine.
fn milli(value: u64) -> f64 {
    value as f64 / 1000.0
}
