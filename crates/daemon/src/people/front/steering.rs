//! Steers programs that run already, for people: takes one over, changes the wishes for it, lets it
//! go.

use std::time::Duration;

use numaestro_abi::control::{AppName, NewWishes, Options, RefusalKind, Reply};
use numaestro_host::{PidFd, procfs};

use super::Front;
use crate::identity::naming::{Named, Names};
use crate::identity::rights::{Refusal, Who, no_process};
use crate::senses::adoptable;
use crate::shell::Shell;

/// Others wait for as long as a program that is let go does not let itself be given back. Usually
/// that takes milliseconds.
const PATIENCE_AT_RELEASE: Duration = Duration::from_millis(300);

impl Front {
    /// Takes over a running process and its descendants.
    pub(super) fn adopt(
        &mut self,
        who: Who,
        pid: u32,
        options: Options,
        force: bool,
        shell: &mut Shell,
    ) -> Result<Reply, Refusal> {
        let process = PidFd::open(pid).ok();
        self.rights.may_adopt(who, process.as_ref(), pid)?;
        let usage = self.usage(who, shell);
        self.rights.may_start(who, usage)?;
        let (Some(process), Ok(stat)) = (process, procfs::stat(pid)) else {
            return Err(no_process(format!("process {pid} has ended")));
        };
        if !force {
            let mut askers = procfs::ancestors(who.peer.pid);
            askers.push(who.peer.pid);
            adoptable::objection(&stat, &askers).map_or(Ok(()), Err)?;
        }
        let owner = self.user_of(self.users.owner_of(pid), pid, shell);
        self.rights.may_wish(&owner, &options)?;
        if let Some(app) = shell.programs().of_pid(pid) {
            let hint = format!("`numaestro set {app}` changes the wishes for it");
            return Err(Refusal::new(format!("process {pid} is application {app} already"), hint));
        }
        self.released.remove(pid);
        let name = if options.name.is_empty() { stat.name } else { options.name.clone() };
        let newcomer = self.newcomer(process, &name, Options { wait: Some(false), ..options }, shell);
        let app = shell.insert(newcomer);
        let welcome = shell.arrive(app, None);
        if let Some(reason) = shell.denied(app) {
            // What could be moved goes back to where it was.
            shell.let_go(app);
            shell.depart(app);
            let reason = format!("process {pid} ({name}) cannot be managed: {reason}");
            return Err(Refusal::new(reason, "nothing of it has changed").of_kind(RefusalKind::Permission));
        }
        welcome.map_err(|reason| {
            Refusal::new(format!("process {pid} cannot be managed under these wishes: {reason}"), "")
        })?;
        // A manager that is killed now is followed by one that knows the program.
        self.save_soon_enough(shell);
        Ok(Reply::Done)
    }

    /// Changes the wishes for an application, and for all applications inside it.
    pub(super) fn set(
        &mut self,
        who: Who,
        name: &AppName,
        new: &NewWishes,
        shell: &mut Shell,
    ) -> Result<Reply, Refusal> {
        let app = find(who, name, shell)?;
        let all = shell.with_inner(app);
        let mut changes = Vec::new();
        for app in &all {
            let options = shell.changed_wishes(*app, new)?;
            if let Some((uid, pid)) = shell.programs().get(*app).map(|entry| (entry.owner.uid, entry.process.pid())) {
                let owner = self.user_of(uid, pid, shell);
                self.rights.may_wish(&owner, &options)?;
            }
            changes.push((*app, options));
        }
        for (app, options) in changes {
            shell.change_wishes(app, options)?;
        }
        // A manager that is killed now is followed by one that knows the wishes.
        self.save_soon_enough(shell);
        Ok(Reply::Set { apps: all.iter().filter_map(|app| shell.picture().wishes_of(*app)).collect() })
    }

    /// Lets an application go, without limits.
    pub(super) fn release(&mut self, who: Who, name: &AppName, shell: &mut Shell) -> Result<Reply, Refusal> {
        let app = find(who, name, shell)?;
        shell.let_go(app);
        let whole = shell.pay_back(&[app], PATIENCE_AT_RELEASE);
        let entry = shell.programs().get(app);
        let known = entry.map(|entry| (entry.pid(), entry.process.start_time(), entry.name.clone()));
        shell.depart(app);
        let Some((pid, start_time, name)) = known else { return Err(Refusal::new("the application has ended", "")) };
        // Neither a rule nor its own helper thread takes a program back that a user has let go.
        self.rules.leave_alone(pid, start_time);
        self.released.insert(pid, start_time);
        Ok(Reply::Released { app, pid, name, whole })
    }
}

/// The application that a person names, among those that this person steers.
pub(super) fn find(who: Who, name: &AppName, shell: &Shell) -> Result<u64, Refusal> {
    let own = shell.programs().iter().filter(|entry| who.steers(entry.owner.uid));
    let seen = own.map(|entry| Named { number: entry.number, pid: Some(entry.pid()), name: &entry.name }).collect();
    Names { seen, there_is: who.there_is(), has_letters: true }.find(name, |pid| shell.application_of(pid))
}
