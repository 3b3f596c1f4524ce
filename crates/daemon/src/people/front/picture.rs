//! What the front shows to scrapers and to the service manager.

use numaestro_host::monotonic_ns;

use super::Front;
use crate::people::metrics::Figures;
use crate::shell::Shell;

impl Front {
    /// Everything is set up: commands and the service manager go on.
    pub(crate) fn announce(&mut self, shell: &mut Shell) {
        let line = shell.picture().status_line();
        self.service.ready(line, shell.wakeups());
    }

    pub(super) fn configure_metrics(&mut self, shell: &mut Shell) {
        let socket = self.config.system.then(|| self.directory.runtime().file("metrics"));
        self.metrics.configure(&self.config.metrics, socket, shell.wakeups());
    }

    pub(super) fn serve_metrics(&mut self, scraper: u64, shell: &mut Shell) {
        if let Some(asking) = self.metrics.ready(scraper, shell.wakeups()) {
            let page = self.page(shell);
            self.metrics.answer(asking, &page, shell.wakeups());
        }
    }

    pub(super) fn figures_page(&self, shell: &Shell) -> String {
        let ledger = shell.picture().ledger();
        let figures = Figures {
            ledger: &ledger,
            uptime_ns: monotonic_ns().saturating_sub(self.started_ns),
            steps: &shell.step_times().all,
            refusals: shell.refusals(),
            moved_bytes: shell.picture().moved_bytes(),
            connections: self.connections.len(),
            users: shell.picture().processors_by_user(&ledger, &|uid| self.users.name_of(uid)),
            folded: shell.picture().foldings(),
        };
        figures.page()
    }
}
