//! The users of the programs that the front brings in, their usage, and the programs that a rule
//! adopts.

use std::collections::BTreeSet;

use numaestro_abi::control::Options;
use numaestro_host::PidFd;
use numaestro_policy::Party;
use tracing::{info, warn};

use super::Front;
use crate::config::rules;
use crate::identity::jobs::JobId;
use crate::identity::rights::{Rights, Usage, Who};
use crate::identity::users::Known;
use crate::programs::Owner;
use crate::senses::rules::Find;
use crate::shell::{Newcomer, Shell};
use numaestro_quantity::label::label;

impl Front {
    /// A user. A new one becomes a party.
    pub(super) fn user(&mut self, uid: u32, shell: &mut Shell) -> Known {
        let known = self.users.find(uid);
        self.tell_parties(shell);
        known
    }

    /// The user of a process, in its container or its job if it is in one.
    pub(super) fn user_of(&mut self, uid: u32, pid: u32, shell: &mut Shell) -> Known {
        self.owner_of(uid, pid, shell).0
    }

    /// The same, with its job for people.
    fn owner_of(&mut self, uid: u32, pid: u32, shell: &mut Shell) -> (Known, Option<String>) {
        if let Some((job, part)) = self.job_of(uid, pid, shell) {
            return (self.find_in_job((uid, job.id), part, shell), Some(job.shown()));
        }
        let Some(container) = self.users.container_of(pid) else { return (self.user(uid, shell), None) };
        let is_used = self.used(shell);
        let known = self.users.find_in_container(uid, &container, is_used);
        self.tell_parties(shell);
        (known, None)
    }

    /// Says whether a party has programs, or is a registered job.
    pub(super) fn used(&self, shell: &Shell) -> impl Fn(u32, Option<JobId>) -> bool + use<> {
        let used: BTreeSet<u32> = shell.programs().iter().map(|app| app.owner.party).collect();
        let registered = self.registered_jobs();
        move |party, job| used.contains(&party) || job.is_some_and(|job| registered.contains(&job))
    }

    pub(super) fn find_in_job(&mut self, id: JobId, part: Option<Party>, shell: &mut Shell) -> Known {
        let is_used = self.used(shell);
        let known = self.users.find_in_job(id, part, is_used);
        self.tell_parties(shell);
        known
    }

    /// The engine learns of changed parties.
    pub(super) fn tell_parties(&mut self, shell: &mut Shell) {
        if let Some(event) = self.users.take_change() {
            self.questions.forget();
            shell.feed(event);
        }
    }

    pub(super) fn configure_users(&mut self, shell: &mut Shell) {
        self.users.configure(&self.config);
        self.rights = Rights::new(&self.config, self.users.admins());
        let (reserved, there) = (self.users.reserved(), shell.site().usable.len());
        if reserved as usize > there {
            warn!("{reserved} processors are reserved for users, but there are only {there}: not everybody has theirs");
        }
        self.tell_parties(shell);
    }

    /// The programs of a user at this moment. All users without an account count as
    /// one.
    pub(super) fn usage(&mut self, who: Who, shell: &mut Shell) -> Usage {
        if !self.rights.limits(who) {
            return Usage::default();
        }
        let counted_as = self.user(who.peer.uid, shell).counted_as;
        let apps: Vec<(u32, bool)> =
            shell.programs().iter().map(|app| (app.owner.uid, app.waiting.is_some())).collect();
        let everybody: BTreeSet<u32> = apps.iter().map(|app| app.0).collect();
        let mut same = BTreeSet::from([who.peer.uid]);
        for uid in everybody {
            if counted_as.is_none() && self.user(uid, shell).counted_as.is_none() {
                same.insert(uid);
            }
        }
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let own = |app: &&(u32, bool)| same.contains(&app.0);
        Usage {
            programs: count(apps.iter().filter(own).count()),
            waiting: count(apps.iter().filter(own).filter(|app| app.1).count()),
        }
    }

    /// A process that becomes an application.
    pub(super) fn newcomer(&mut self, process: PidFd, name: &str, options: Options, shell: &mut Shell) -> Newcomer {
        let uid = self.users.owner_of(process.pid());
        let (known, job) = self.owner_of(uid, process.pid(), shell);
        let owner = Owner { uid, party: known.party, job };
        Newcomer { process, owner, name: label(name), options, own: None }
    }

    pub(super) fn start_rules(&mut self, shell: &mut Shell) {
        let ready = rules::ready(&self.config.rules).unwrap_or_default();
        let users = &self.users;
        let (programs, wakeups) = shell.programs_and_wakeups();
        let is_application = |pid: u32| programs.of_pid(pid).is_some();
        self.rules.configure(ready, &|name| users.uid_of(name), users.only(), &is_application, wakeups);
    }

    pub(super) fn take_execs(&mut self, shell: &mut Shell) {
        let (programs, wakeups) = shell.programs_and_wakeups();
        self.rules.take_execs(&|pid| programs.of_pid(pid).is_some(), wakeups);
    }

    pub(super) fn scan_processes(&mut self, shell: &mut Shell) {
        let (programs, wakeups) = shell.programs_and_wakeups();
        self.rules.scan(&|pid| programs.of_pid(pid).is_some(), wakeups);
    }

    pub(super) fn look_at_candidates(&mut self, shell: &mut Shell) {
        for find in self.rules.look(shell.wakeups()) {
            self.adopt_found(find, shell);
        }
    }

    /// Adopts a process that a rule is about.
    fn adopt_found(&mut self, find: Find, shell: &mut Shell) {
        let Find { process, stat, options } = find;
        let pid = stat.pid;
        if shell.manages(pid) || process.has_ended() {
            return;
        }
        let name = if options.name.is_empty() { stat.name } else { options.name.clone() };
        info!(pid, name, "adopted by a rule");
        let newcomer = self.newcomer(process, &name, options, shell);
        let app = shell.insert(newcomer);
        let welcome = shell.arrive(app, None);
        if let Some(reason) = shell.denied(app) {
            warn!(pid, reason, "cannot be managed");
            shell.depart(app);
        }
        if welcome.is_err() || !shell.programs().contains(app) {
            self.rules.leave_alone(pid, stat.start_time);
        }
    }
}
