//! Reads the configuration again, on a command or `SIGHUP`. Everything is checked before anything
//! changes; settings that cannot change while the manager lives are named.

use std::rc::Rc;

use numaestro_abi::control::Reloaded;
use tracing::{info, warn};

use super::Front;
use crate::config::Config;
use crate::decision::choice;
use crate::identity::rights::Refusal;
use crate::shell::Shell;

impl Front {
    /// `SIGHUP`: the answer is in the log.
    pub(crate) fn reload_by_signal(&mut self, shell: &mut Shell) {
        if let Err(refusal) = self.reload(shell) {
            warn!("the configuration stays as it is: {}", refusal.reason);
        }
    }

    pub(super) fn reload(&mut self, shell: &mut Shell) -> Result<Reloaded, Refusal> {
        self.service.reloads();
        let done = self.try_reload(shell);
        self.announce(shell);
        done
    }

    fn try_reload(&mut self, shell: &mut Shell) -> Result<Reloaded, Refusal> {
        let hint = "nothing has changed; `numaestro daemon --check-config` shows what is wrong";
        let loaded = Config::load(&self.config.source).map_err(|cause| Refusal::new(cause.to_string(), hint))?;
        let mut warnings = loaded.warnings;
        let (fresh, fixed) = self.config.reread(loaded.config);
        warnings.extend(fixed.iter().map(|name| format!("{name}: takes effect when the manager is started again")));
        let unknown = fresh.unknown_names();
        warnings.extend(unknown.into_iter().map(|(place, problem)| format!("{place}: {problem}")));
        // A policy that somebody has switched to live stays, unless the configured policy is
        // another one now.
        if fresh.policy != self.config.policy {
            let switched = shell.set_policy(fresh.policy.clone());
            switched.map_err(|(reason, _)| Refusal::new(format!("policy: {reason}"), hint))?;
            self.policy_was_set();
        }
        let recorded = choice::records_as_configured(&self.config);
        self.config = Rc::new(fresh);
        self.configure_users(shell);
        self.configure_metrics(shell);
        shell.configure(self.config.clone());
        self.configure_recording(recorded, shell);
        self.start_rules(shell);
        self.connections.renew_roles(&self.rights);
        self.changed(shell);
        for warning in &warnings {
            warn!("{warning}");
        }
        info!(files = loaded.files.len(), "the configuration has been read again");
        let files = loaded.files.iter().map(|file| file.display().to_string()).collect();
        Ok(Reloaded { files, warnings })
    }
}
