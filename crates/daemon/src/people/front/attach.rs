//! Answers the messages of programs: the attach messages. A message about an application counts
//! only if it comes from that application's process.

use numaestro_abi::attach::code;
use numaestro_abi::control::{Options, Request};
use numaestro_host::HostError;
use tracing::{info, warn};

use super::Front;
use crate::identity::peer::LivePeer;
use crate::identity::rights::Who;
use crate::people::wire::{self, Greeting, Message};
use crate::shell::Shell;

impl Front {
    /// One packet has come.
    pub(super) fn packet(&mut self, number: u64, packet: &[u8], shell: &mut Shell) {
        let Some(who) = self.connections.who(number) else { return };
        if let Err(refusal) = self.rights.may_ask(who, &Request::Ping) {
            self.turn_away(number, code::PERMISSION, &refusal.reason, shell);
            return;
        }
        let live = || self.connections.behind(number).and_then(|evidence| self.rights.prove(evidence).ok());
        let is_from = |app: u64| live().and_then(|peer| shell.programs().of_peer(&peer)) == Some(app);
        let message = wire::decode(packet);
        if !matches!(message, Err(_) | Ok(Message::Advise(_) | Message::Alive { .. })) {
            self.questions.forget();
        }
        match message {
            Err(refusal) => self.turn_away(number, refusal, "this message is not understood", shell),
            Ok(Message::Hello(_)) if self.is_ending() => {
                self.turn_away(number, code::STOPPING, "the manager is stopping", shell);
            }
            Ok(Message::Hello(greeting)) => self.hello(number, who, &greeting, shell),
            Ok(Message::Advise(question)) => self.advise_program(number, who, question, shell),
            Ok(Message::Alive { manager }) => {
                let answer = if manager == std::process::id() { code::OK } else { code::REFUSED };
                self.connections.send(number, &wire::welcome(answer, 0, ""), None);
            }
            Ok(Message::Begins) => {
                if let Some(peer) = live() {
                    shell.begins(&peer);
                }
                self.connections.send(number, &wire::welcome(code::OK, 0, ""), None);
            }
            Ok(Message::Adopted { app, epoch }) if is_from(app) => shell.adopted(app, epoch),
            Ok(Message::Busy { app }) if is_from(app) => shell.parallel_again(app),
            Ok(Message::Request { app, processors }) if is_from(app) => shell.requested(app, processors),
            Ok(Message::Demand { app, processors }) if is_from(app) => shell.demanded(app, processors),
            Ok(Message::Team { app, threads }) if is_from(app) => shell.team_grew(app, threads),
            Ok(Message::Speedup { app, processors, speedup_milli }) if is_from(app) => {
                shell.measured(app, processors, speedup_milli);
            }
            Ok(_) => {}
        }
    }

    fn turn_away(&mut self, number: u64, refusal: u32, text: &str, shell: &mut Shell) {
        self.connections.send(number, &wire::welcome(refusal, 0, text), None);
        self.connections.hang_up(number, shell.wakeups());
    }

    fn hello(&mut self, number: u64, who: Who, greeting: &Greeting, shell: &mut Shell) {
        let Some(evidence) = self.connections.behind(number) else { return };
        let proven = self.rights.prove(evidence);
        if let Ok(peer) = &proven
            && shell.programs().of_peer(peer).is_none()
        {
            let usage = self.usage(who, shell);
            if let Err(refusal) = self.rights.may_start(who, usage) {
                self.turn_away(number, code::EXHAUSTED, &refusal.reason, shell);
                return;
            }
            if self.released.contains(peer.pid()) {
                self.turn_away(number, code::PERMISSION, "its user has let it go", shell);
                return;
            }
        }
        match proven.and_then(|peer| self.attach_process(peer, greeting, shell)) {
            Ok(app) => self.hand_out(number, app, shell),
            Err(cause) => {
                warn!(pid = who.peer.pid, "cannot attach: {cause}");
                let refusal = if cause.is_denied() { code::PERMISSION } else { code::EXHAUSTED };
                self.turn_away(number, refusal, &cause.to_string(), shell);
            }
        }
    }

    /// The greeting process is an application with a page afterwards, and the engine knows the
    /// process's findings about itself.
    fn attach_process(&mut self, peer: LivePeer, greeting: &Greeting, shell: &mut Shell) -> Result<u64, HostError> {
        let (pid, uid, runtimes, threads_max) = (peer.pid(), peer.uid(), greeting.runtimes, greeting.threads_max);
        if let Some(app) = shell.programs().of_peer(&peer) {
            shell.attach_again(app, runtimes, threads_max)?;
            return Ok(app);
        }
        // One that is another user's since (su) is another application.
        shell.start_over(&peer);
        // The wishes of a `run` hold for all processes below it.
        let (wrapper, options) = shell.around(&peer).unzip();
        let options = Options { name: String::new(), wait: Some(false), ..options.unwrap_or_default() };
        let newcomer = self.newcomer(peer.into_process(), &greeting.name, options, shell);
        let app = shell.attach(newcomer, runtimes, threads_max, wrapper, greeting.claim.as_ref())?;
        let user = self.users.name_of(uid).unwrap_or_default();
        info!(app, pid, user, name = greeting.name, "attached");
        Ok(app)
    }

    fn hand_out(&mut self, number: u64, app: u64, shell: &mut Shell) {
        // A manager that is killed now is followed by one that knows the program.
        self.save_soon_enough(shell);
        if !shell.programs().contains(app) {
            let text = "the application cannot be managed under these wishes";
            self.turn_away(number, code::EXHAUSTED, text, shell);
            return;
        }
        let connections = &self.connections;
        let welcome = wire::welcome(code::OK, app, &wire::list_text(&shell.allowed_by_affinity(app)));
        if connections.who(number).is_some() {
            shell.hand_out_page(app, |page| connections.send(number, &welcome, page).unwrap_or(Ok(())));
            self.changed(shell);
        }
    }
}
