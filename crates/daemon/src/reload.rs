//! Reading the configuration again, asked for by a command or by `SIGHUP`. Everything is checked before anything changes; what cannot change while
//! the manager lives is said. It must not know what the files are called, nor what a setting leads to.

use numaestro_abi::control::{Reloaded, Reply};
use numaestro_engine::Event;
use tracing::{info, warn};

use crate::config::Config;
use crate::manager::Manager;
use crate::rights::Refusal;

/// Settings that hold until the manager ends, by name.
fn fixed(before: &Config, after: &Config) -> Vec<&'static str> {
    let differs = [
        ("dir", before.dir != after.dir),
        ("cpus", before.cpus != after.cpus),
        ("reserved", before.reserved != after.reserved),
        ("grace_ms", before.grace_ms != after.grace_ms),
        ("journal", before.journal != after.journal),
        ("seed", before.seed != after.seed),
        ("unmanaged", before.unmanaged != after.unmanaged),
        ("inject_rates", before.inject_rates != after.inject_rates),
        ("cgroups", before.cgroups != after.cgroups),
        ("log", before.log != after.log),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// The new configuration with what cannot change as it is.
fn merged(before: &Config, after: Config) -> Config {
    Config {
        dir: before.dir.clone(),
        cpus: before.cpus.clone(),
        reserved: before.reserved.clone(),
        grace_ms: before.grace_ms,
        journal: before.journal.clone(),
        seed: before.seed,
        unmanaged: before.unmanaged,
        inject_rates: before.inject_rates.clone(),
        cgroups: before.cgroups,
        log: before.log.clone(),
        system: before.system,
        ..after
    }
}

impl Manager {
    /// `SIGHUP`: the answer is in the log.
    pub(crate) fn reload_by_signal(&mut self) {
        match self.reload() {
            Ok(_) => {}
            Err(refusal) => warn!("the configuration stays as it is: {}", refusal.reason),
        }
    }

    /// Asked for by a command.
    pub(crate) fn reload_asked(&mut self, number: u64) {
        match self.reload() {
            Ok(reloaded) => self.reply(number, &Reply::Reloaded(reloaded)),
            Err(refusal) => self.refuse(number, &refusal.reason, &refusal.hint),
        }
    }

    fn reload(&mut self) -> Result<Reloaded, Refusal> {
        self.service_reloads();
        let done = self.try_reload();
        self.service_is_ready();
        done
    }

    fn try_reload(&mut self) -> Result<Reloaded, Refusal> {
        let hint = "nothing has changed; `numaestro daemon --check-config` shows what is wrong";
        let loaded = Config::load(&self.config.source).map_err(|cause| Refusal::new(cause.to_string(), hint))?;
        let mut warnings = loaded.warnings;
        for name in fixed(&self.config, &loaded.config) {
            warnings.push(format!("{name}: takes effect when the manager is started again"));
        }
        let fresh = merged(&self.config, loaded.config);
        let unknown = fresh.unknown_names();
        warnings.extend(unknown.into_iter().map(|(place, problem)| format!("{place}: {problem}")));
        // What somebody has switched to live stays, unless the configured policy is another one now.
        if fresh.policy != self.config.policy {
            let before = self.refusals;
            self.feed(Event::Policy { policy: fresh.policy.clone() });
            if self.refusals != before {
                return Err(Refusal::new(format!("policy: {}", self.refusal), hint));
            }
        }
        self.config = fresh;
        self.configure_users();
        self.configure_metrics();
        self.pages_configured();
        self.consider_memory_nodes();
        self.start_rules();
        self.consider_idle();
        self.recheck_roles();
        self.changed();
        for warning in &warnings {
            warn!("{warning}");
        }
        info!(files = loaded.files.len(), "the configuration has been read again");
        let files = loaded.files.iter().map(|file| file.display().to_string()).collect();
        Ok(Reloaded { files, warnings })
    }
}
