//! The machine as the manager knows it, and beginning anew when it has changed more than its tree can say, or when a policy has failed.

use anyhow::{Context, Result};
use numaestro_engine::Event;
use numaestro_host::affinity;
use numaestro_topology::{CpuSet, Machine};
use tracing::warn;

use crate::app::Turn;
use crate::config::Config;
use crate::manager::Manager;

/// The machine, and the processors that may be given out.
pub(crate) fn read(config: &Config) -> Result<(Machine, CpuSet)> {
    let own = affinity::get(0).context("cannot tell which processors may be used")?;
    let wanted: CpuSet = config.cpus.parse()?;
    let usable = if wanted.is_empty() { own } else { own.intersection(&wanted) };
    anyhow::ensure!(!usable.is_empty(), "none of the processors `{}` may be used by the manager", config.cpus);
    let tree = numaestro_host::DirTree::new("/");
    let machine = numaestro_topology::sysfs::read(&tree, Some(&usable))
        .context("cannot read the machine; `numaestro doctor` says more")?;
    Ok((machine, usable))
}

impl Manager {
    /// Throws the engine away after a failure and builds a new one, under the simplest policy, from what every application was told last.
    pub(crate) fn begin_anew(&mut self, event: &Event, message: &str) {
        warn!(
            position = self.brain.events,
            ?event,
            message,
            "the policy failed; going on with {}",
            crate::brain::FALLBACK_POLICY
        );
        self.brain = match self.brain.fallback() {
            Ok(brain) => brain,
            Err(cause) => {
                warn!("{cause:#}; ending");
                self.events.clear();
                self.stopping = true;
                return;
            }
        };
        self.events.clear();
        let ids: Vec<u64> = self.apps.keys().copied().collect();
        for id in ids {
            let Some(app) = self.apps.get_mut(&id) else { continue };
            app.epoch_base += app.target.as_ref().map_or(0, |target| target.epoch);
            app.waiting = None;
            if std::mem::take(&mut app.turn) == Turn::Stopped {
                self.stops.forget(id);
            }
            (app.phases.sequential, app.phases.blocked) = (false, false);
            let wish = Self::wish_of(app, app.target.as_ref().map(|target| target.pus.clone()));
            self.events.push_back(Event::Arrive { app: numaestro_policy::AppId(id), wish });
            if app.is_wrapper() {
                self.events.push_back(Event::Request { app: numaestro_policy::AppId(id), processors: 0 });
            }
        }
    }
}
