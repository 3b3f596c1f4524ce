//! The sensors together, and the values of applications that they get.

use std::path::PathBuf;

use numaestro_contract::{Holding, Subject};
use numaestro_policy::AppId;

use crate::config::Config;
use crate::programs::{App, Programs};
use crate::senses::bandwidth::Bandwidth;
use crate::senses::demand::Demands;
use crate::senses::foreign::Foreign;
use crate::senses::machine::{Changes, own_files};
use crate::senses::phases::{Candidate, Phases};
use crate::senses::quota::Quotas;
use crate::wakeups::Wakeups;

use super::actuators::Actuators;

/// See the file's header.
#[derive(Debug)]
pub(super) struct Sensors {
    pub(super) phases: Phases,
    pub(super) demands: Demands,
    pub(super) bandwidth: Bandwidth,
    pub(super) foreign: Foreign,
    pub(super) quotas: Quotas,
    pub(super) changes: Changes,
}

impl Sensors {
    pub(super) fn new(config: &Config, wakeups: &Wakeups) -> Self {
        Self {
            phases: Phases::default(),
            demands: Demands::default(),
            bandwidth: Bandwidth::default(),
            foreign: Foreign::new(config.unmanaged),
            quotas: Quotas::default(),
            changes: Changes::listen(wakeups),
        }
    }

    /// Watches the files of the groups above the manager and above every program.
    pub(super) fn watch_files(&mut self) {
        let own = own_files();
        self.changes.watch_files(own.iter().map(PathBuf::as_path).chain(self.quotas.files()));
    }

    /// An application has gone.
    pub(super) fn forget(&mut self, app: u64, wakeups: &mut Wakeups) {
        self.phases.forget(app);
        self.demands.forget(app, wakeups);
        self.bandwidth.forget(app);
        self.quotas.forget(app);
    }
}

/// Every application, as far as phases are concerned.
pub(super) fn phase_candidates<'a>(
    programs: &'a Programs,
    actuators: &'a Actuators,
    demands: &Demands,
) -> Vec<Candidate<'a>> {
    programs.iter().map(|app| phase_candidate(app, actuators, demands)).collect()
}

fn phase_candidate<'a>(app: &App, actuators: &'a Actuators, demands: &Demands) -> Candidate<'a> {
    let target = app.allocation.target();
    let has_enough = target.is_some_and(|target| !target.shared && target.count >= app.wants.request());
    let page = actuators.shared_pages.get(app.number);
    let subject = Subject {
        app: AppId(app.number),
        arrived_ns: app.arrived_ns,
        // Without a page it opens no region that anybody could count.
        readable: true,
        runs: !app.is_wrapper() && app.asker.is_none() && !actuators.stops.is_stopped(app.number),
        holding: match target {
            None => Holding::Nothing,
            Some(target) if target.shared => Holding::Shared(target.pus.len()),
            Some(target) => Holding::Own(target.pus.len()),
        },
        lacks: app.waiting.is_some() || !(has_enough || demands.is_alone(app.number)),
    };
    Candidate { subject, pid: app.pid(), page }
}
