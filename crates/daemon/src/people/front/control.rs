//! Answers the requests of people: the JSON lines of the control socket.

use numaestro_abi::control::{Options, Policies, RefusalKind, Reply, Request, Run};
use numaestro_host::rundir;
use numaestro_policy::Policy;
use tracing::{info, warn};

use super::Front;
use crate::decision::{choice, engine};
use crate::identity::peer::LivePeer;
use crate::identity::rights::{Refusal, Who};
use crate::shell::{Newcomer, Shell};

impl Front {
    /// One line has come.
    pub(super) fn line(&mut self, number: u64, line: &[u8], shell: &mut Shell) {
        let Some(who) = self.connections.who(number) else { return };
        // Nothing that a stranger says is even looked at.
        if let Err(refusal) = self.rights.may_ask(who, &Request::Ping) {
            self.say_no(number, &refusal, shell);
            self.connections.close_after_flush(number, shell.wakeups());
            return;
        }
        match serde_json::from_slice(line) {
            Ok(request) => match self.rights.may_ask(who, &request) {
                Ok(()) => self.request(number, who, request, shell),
                Err(refusal) => {
                    if let Some(payer) = self.connections.payer(number) {
                        self.log_refusal(payer, who, &refusal, shell);
                    }
                    self.say_no(number, &refusal, shell);
                }
            },
            Err(cause) => {
                let hint = "the command and the manager may be of different versions";
                self.refuse(number, &format!("not a request: {cause}"), hint, shell);
                self.connections.close_after_flush(number, shell.wakeups());
            }
        }
    }

    fn request(&mut self, number: u64, who: Who, request: Request, shell: &mut Shell) {
        if !is_question(&request) {
            self.questions.forget();
        }
        let outcome = match request {
            Request::Run(run) => self.run(number, who, run, shell),
            Request::Adopt { pid, options, force } => self.adopt(who, pid, options, force, shell).map(Some),
            Request::Release { app } => self.release(who, &app, shell).map(Some),
            Request::Set { app, wishes } => self.set(who, &app, &wishes, shell).map(Some),
            Request::Status => {
                self.show_picture(number, shell);
                Ok(None)
            }
            Request::Watch => {
                self.connections.watch(number);
                self.show_picture(number, shell);
                Ok(None)
            }
            Request::Memory => self.look_at_memory(number, who, shell).map(|()| None),
            Request::PolicyList => {
                let next = choice::next_policy(self.directory.runtime().path(), &self.config);
                let (current, available) = (shell.policy_text(), engine::available());
                Ok(Some(Reply::Policies(Policies { current, next, available })))
            }
            Request::PolicySet { policy } => self.set_policy(policy, shell).map(Some),
            Request::History { app, after } => self.history(number, who, (app.as_ref(), after), shell).map(|()| None),
            Request::Record { on } => self.record(on, shell).map(Some),
            Request::BeginStep(step) => self.begin_step(number, who, step, shell).map(Some),
            Request::Jobs => Ok(Some(self.jobs_for(who, shell))),
            Request::SetJob { job, most } => self.set_job(who, job, most, shell).map(Some),
            Request::Reload => self.reload(shell).map(|reloaded| Some(Reply::Reloaded(reloaded))),
            Request::Advise { options } => self.advise(number, who, &options, shell).map(|()| None),
            Request::Stop => {
                info!(pid = who.peer.pid, uid = who.peer.uid, "asked to stop");
                self.end.askers.push(number);
                self.end();
                Ok(None)
            }
            Request::Ping => Ok(Some(Reply::Done)),
        };
        match outcome {
            Ok(Some(reply)) => self.reply(number, &reply, shell),
            Ok(None) => {}
            Err(refusal) => self.say_no(number, &refusal, shell),
        }
    }

    fn say_no(&mut self, number: u64, refusal: &Refusal, shell: &mut Shell) {
        self.reply(number, &refusal.reply(), shell);
    }

    /// Says whether a user may have one more program, with these wishes.
    pub(super) fn may_start(
        &mut self,
        who: Who,
        peer: &LivePeer,
        options: &Options,
        shell: &mut Shell,
    ) -> Result<(), Refusal> {
        let usage = self.usage(who, shell);
        self.rights.may_start(who, usage)?;
        let user = self.user_of(peer.uid(), peer.pid(), shell);
        self.rights.may_wish(&user, options)
    }

    /// The process that asks.
    pub(super) fn live(&self, number: u64) -> Result<LivePeer, Refusal> {
        let evidence = self.connections.behind(number).ok_or_else(|| Refusal::new("the connection has ended", ""))?;
        self.rights.prove(evidence).map_err(|cause| match cause.kind() {
            Some(std::io::ErrorKind::PermissionDenied) => {
                Refusal::new("a program with another user's rights is not managed", "")
            }
            _ => Refusal::new(format!("the asking process cannot be watched: {cause}"), ""),
        })
    }

    /// The asking process is about to become the program. It is answered when the engine has
    /// decided.
    fn run(&mut self, number: u64, who: Who, mut run: Run, shell: &mut Shell) -> Result<Option<Reply>, Refusal> {
        let peer = self.live(number)?;
        self.may_start(who, &peer, &run.options, shell)?;
        if self.connections.asked(number).is_some() {
            return Err(Refusal::new("this connection has already asked for a program", ""));
        }
        self.released.remove(peer.pid());
        if let Some(former) = shell.programs().of_peer(&peer)
            && self.expected.remove(&former)
        {
            // It has waited in a former manager's queue, and has its place in ours.
            self.connections.set_asked(number, Some(former));
            shell.ask_again(former, number);
            return Ok(None);
        }
        shell.start_over(&peer);
        // Processors that come later are for a program that had all that there were.
        let own = run.options.allowed.parse().ok();
        let bounds = shell.learn(peer.process(), &run.options.allowed);
        run.options.allowed = bounds.map(|cpus| cpus.to_string()).unwrap_or_default();
        let program = run.command.first().map(|program| rundir::program_name(program.as_ref())).unwrap_or_default();
        let name = if run.options.name.is_empty() { program } else { run.options.name.clone() };
        let newcomer = self.newcomer(peer.into_process(), &name, run.options, shell);
        let app = shell.insert(Newcomer { own, ..newcomer });
        self.connections.set_asked(number, Some(app));
        shell.set_asker(app, number);
        // The answer to its command says it, too.
        let _ = shell.arrive(app, None);
        Ok(None)
    }

    fn set_policy(&mut self, policy: String, shell: &mut Shell) -> Result<Reply, Refusal> {
        let usual = || "`numaestro policy list` shows those that there are".to_owned();
        // Nobody will ever know a word that is wrong; what the host lacks may be there later.
        let kind = if Policy::parse(&policy, 0).is_ok() { RefusalKind::Later } else { RefusalKind::Usage };
        let refused =
            |(reason, hint): (String, Option<String>)| Refusal::new(reason, hint.unwrap_or_else(usual)).of_kind(kind);
        shell.set_policy(policy).map_err(refused)?;
        let policy = shell.policy_text();
        info!(policy, "policy switched");
        self.policy_was_set();
        choice::keep(self.directory.runtime(), &self.config, &policy);
        Ok(Reply::Done)
    }

    /// The manager begins with the policy that a person chose under a former one.
    pub(super) fn choose_policy(&mut self, shell: &mut Shell) {
        let Some(chosen) = choice::of(self.directory.runtime().path(), &self.config) else { return };
        match shell.set_policy(chosen.clone()) {
            Ok(()) => info!(policy = chosen, "chosen under a former manager"),
            Err((reason, _)) => warn!(policy = chosen, "the policy chosen before cannot be used: {reason}"),
        }
    }
}

/// Says whether a request changes nothing.
fn is_question(request: &Request) -> bool {
    match request {
        Request::Status
        | Request::Watch
        | Request::Memory
        | Request::PolicyList
        | Request::History { .. }
        | Request::Record { on: None }
        | Request::Jobs
        | Request::Advise { .. }
        | Request::Ping => true,
        Request::Run(_)
        | Request::Adopt { .. }
        | Request::Release { .. }
        | Request::Set { .. }
        | Request::PolicySet { .. }
        | Request::Record { on: Some(_) }
        | Request::BeginStep(_)
        | Request::SetJob { .. }
        | Request::Reload
        | Request::Stop => false,
    }
}
