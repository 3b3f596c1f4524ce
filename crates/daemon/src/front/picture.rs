//! The pictures that the front shows: to people, to connections that watch, to scrapers and to the
//! service manager.

use numaestro_abi::control::{Reply, Status};
use numaestro_host::monotonic_ns;
use numaestro_host::poll::Ready;

use super::Front;
use crate::metrics::Figures;
use crate::rights::{self, Who};
use crate::shell::Shell;

impl Front {
    /// Everything is set up: commands and the service manager go on.
    pub(crate) fn announce(&mut self, shell: &mut Shell) {
        let line = shell.status_line();
        self.service.ready(line, shell.wakeups());
    }

    pub(super) fn serve_metrics(&mut self, event: Ready, shell: &mut Shell) {
        let Some(asking) = self.metrics.ready(event, shell.wakeups()) else { return };
        let ledger = shell.ledger();
        let figures = Figures {
            ledger: &ledger,
            uptime_ns: monotonic_ns().saturating_sub(self.started_ns),
            steps: &shell.step_times().all,
            refusals: shell.refusals(),
            moved_bytes: shell.moved_bytes(),
            connections: self.connections.len(),
            users: shell.processors_by_user(&ledger, &|uid| self.users.name_of(uid)),
            folded: shell.foldings(),
        };
        let page = figures.page();
        self.metrics.answer(asking, &page, shell.wakeups());
    }

    pub(super) fn status(&self, shell: &Shell) -> Status {
        shell.status(&|uid| self.users.name_of(uid), self.started_ns)
    }

    /// The picture as a peer may see it.
    pub(super) fn status_for(who: Who, status: Status, shell: &Shell) -> Box<Status> {
        let owner = |app: u64| shell.programs().get(app).map(|entry| entry.owner.uid);
        Box::new(rights::as_seen(who, &owner, status))
    }

    /// Sends the picture to connections that watch, except those that have not taken the last one
    /// yet.
    pub(super) fn show_watchers(&mut self, shell: &mut Shell) {
        let numbers = self.connections.ready_watchers();
        if numbers.is_empty() {
            return;
        }
        let status = self.status(shell);
        for number in numbers {
            if let Some(who) = self.connections.who(number) {
                let seen = Self::status_for(who, status.clone(), shell);
                self.reply(number, &Reply::Status(seen), shell);
            }
        }
    }

    /// The look at all memory is done, for this connection.
    pub(super) fn show_memory(&mut self, number: u64, shell: &mut Shell) {
        let Some(who) = self.connections.who(number) else { return };
        let mut status = Self::status_for(who, self.status(shell), shell);
        status.nodes = shell.node_statuses();
        self.reply(number, &Reply::Status(status), shell);
    }
}
