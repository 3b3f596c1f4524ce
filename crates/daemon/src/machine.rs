//! The machine as the manager knows it, changes of it, and beginning anew when it has changed more than its tree can say, or when a policy has failed.
//! It must not know what a decision is.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::PathBuf;

use anyhow::{Context, Result};
use numaestro_engine::Event;
use numaestro_host::affinity;
use numaestro_host::cgroup::Hierarchies;
use numaestro_host::poll::Interest;
use numaestro_host::uevent::ProcessorEvents;
use numaestro_host::watch::Watch;
use numaestro_policy::{AppId, PuState};
use numaestro_topology::{CpuSet, Machine, PuId};
use tracing::{info, warn};

use crate::app::Turn;
use crate::config::Config;
use crate::manager::{Manager, token};

/// What tells of changes. Nothing of it wakes the manager while nothing changes.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    processors: Option<ProcessorEvents>,
    files: Option<Watch>,
}

/// The processors that may be given out: the manager's own, which its cpuset bounds, among those that are configured. Offline ones are not among them.
fn usable(config: &Config) -> Result<CpuSet> {
    let own = affinity::get(0).context("cannot tell which processors may be used")?;
    let wanted: CpuSet = config.cpus.parse()?;
    let usable = if wanted.is_empty() { own } else { own.intersection(&wanted) };
    anyhow::ensure!(!usable.is_empty(), "none of the processors `{}` may be used by the manager", config.cpus);
    Ok(usable)
}

/// The machine, and the processors that may be given out.
pub(crate) fn read(config: &Config) -> Result<(Machine, CpuSet)> {
    let usable = usable(config)?;
    let tree = numaestro_host::DirTree::new("/");
    let machine = numaestro_topology::sysfs::read(&tree, Some(&usable))
        .context("cannot read the machine; `numaestro doctor` says more")?;
    Ok((machine, usable))
}

impl Manager {
    /// Listens to changes of the machine. Where that cannot be had, they are found when something else happens.
    pub(crate) fn watch_machine(&mut self) {
        match ProcessorEvents::listen() {
            Ok(events) => {
                if self.poller.add(events.as_fd(), token::PROCESSORS, Interest::Read).is_ok() {
                    self.notices.processors = Some(events);
                }
            }
            Err(cause) => info!("processors that go or come are seen late: {cause}"),
        }
        match Watch::new() {
            Ok(files) => {
                if self.poller.add(files.as_fd(), token::FILES, Interest::Read).is_ok() {
                    self.notices.files = Some(files);
                }
            }
            Err(cause) => info!("changes of cgroups are seen late: {cause}"),
        }
        self.watch_files();
    }

    /// Watches the files of the groups above the manager and above every program.
    pub(crate) fn watch_files(&mut self) {
        let Some(watch) = &mut self.notices.files else { return };
        let own = Hierarchies::read().cpuset_of(std::process::id()).map(|(_, files)| files).unwrap_or_default();
        let others = self.apps.values().flat_map(|entry| &entry.allowed.files);
        watch.set(own.iter().chain(others).map(PathBuf::as_path));
    }

    /// A processor has gone or come.
    pub(crate) fn processors_announced(&mut self) {
        if self.notices.processors.as_ref().is_some_and(ProcessorEvents::take) {
            self.look_at_machine();
        }
    }

    /// A limit has been written.
    pub(crate) fn files_written(&mut self) {
        if self.notices.files.as_ref().is_some_and(Watch::take) {
            self.look_at_machine();
            self.read_all_limits();
        }
    }

    /// Brings the engine in step with the processors that there are for us.
    pub(crate) fn look_at_machine(&mut self) {
        let usable = match usable(&self.config) {
            Ok(usable) => usable,
            Err(cause) => {
                warn!("the last processor has gone; programs keep what they had: {cause:#}");
                return;
            }
        };
        let known = self.machine.os_cpuset(self.machine.allowed());
        if !usable.is_subset(&known) {
            self.renew(&usable);
            return;
        }
        let (gone, back) = self.out_of_step(&usable);
        if gone.is_empty() && back.is_empty() {
            self.usable = usable;
            self.put_everybody_in_place();
            return;
        }
        info!(before = %self.usable, now = %usable, "processors have gone or come");
        self.usable = usable;
        // Those that come first: the last one cannot go.
        self.events.extend(back.into_iter().map(|pu| Event::Online { pu }));
        self.events.extend(gone.into_iter().map(|pu| Event::Offline { pu }));
        self.feed_waiting();
        self.renew_wishes();
        self.put_everybody_in_place();
    }

    /// There are more processors than before, or fewer: who wanted all there were wants all there are.
    fn renew_wishes(&mut self) {
        let most = (self.usable.len() as u32).max(1);
        let differ = |entry: &&crate::app::App| entry.wish != entry.could.clamp(1, most);
        let apps: Vec<u64> = self.apps.values().filter(differ).map(|entry| entry.number).collect();
        for app in apps {
            let Some(entry) = self.apps.get_mut(&app) else { continue };
            let wish = entry.could.clamp(1, most);
            let before = std::mem::replace(&mut entry.wish, wish);
            let asked_for_all = entry.request >= entry.within_limits(before) && !entry.is_wrapper();
            // What its cgroup allows is more than all of few processors, and may be less than all of many.
            self.read_limits(app);
            if wish > before && asked_for_all {
                self.ask_for(app, wish);
            }
            self.consider_demand(app);
        }
    }

    /// Processors that the engine gives out though they are gone, and those it does not though they are back.
    fn out_of_step(&self, usable: &CpuSet) -> (Vec<PuId>, Vec<PuId>) {
        let (mut gone, mut back) = (Vec::new(), Vec::new());
        for entry in self.brain.snapshot().pus {
            match (entry.state, usable.contains(self.machine.os_index(entry.pu))) {
                (PuState::Reserved, _) | (PuState::Offline, false) => {}
                (PuState::Offline, true) => back.push(entry.pu),
                (_, false) => gone.push(entry.pu),
                (_, true) => {}
            }
        }
        (gone, back)
    }

    /// The kernel lets a thread whose last processor has gone run anywhere: everybody goes where they belong.
    fn put_everybody_in_place(&mut self) {
        let apps: Vec<u64> = self.apps.keys().copied().collect();
        for app in apps {
            let others = self.apps.get(&app).map(|entry| self.other_roots(entry.pid())).unwrap_or_default();
            match self.apps.get_mut(&app) {
                Some(entry) if entry.is_wrapper() => self.widen(app),
                Some(entry) if entry.page.is_none() => Self::move_tree(entry, &others),
                // One that has not adopted its target yet goes by itself.
                Some(entry) if entry.target.as_ref().is_some_and(|target| target.epoch == entry.adopted) => {
                    let cpus = entry.target.as_ref().map(|target| target.cpus.clone()).unwrap_or_default();
                    let _ = affinity::keep_process_within(entry.pid(), &cpus);
                }
                _ => {}
            }
        }
    }

    /// There are processors that the tree does not have: it is read again, and everybody claims what they have in it.
    fn renew(&mut self, wanted: &CpuSet) {
        let (machine, usable) = match read(&self.config) {
            Ok(found) => found,
            Err(cause) => {
                warn!("the machine has changed and cannot be read again: {cause:#}");
                return;
            }
        };
        // Announced before sysfs has a place for it: there will be no other notice, so it is said.
        if !wanted.is_subset(&machine.os_cpuset(machine.allowed())) {
            warn!(%wanted, found = %usable, "not all processors have a place in the machine");
        }
        match self.brain.renewed(&self.config, &machine) {
            Ok(brain) => {
                let owned = self.owned();
                info!(before = %self.usable, now = %usable, "the machine was read anew");
                self.brain = brain;
                self.machine = machine;
                self.usable = usable;
                self.pages_after_renewal();
                self.bandwidth.renew();
                self.everybody_claims(&owned);
                if self.foreign.told > 0 {
                    self.events.push_back(Event::Unmanaged { processors: self.foreign.told });
                }
                self.feed_waiting();
                self.renew_wishes();
                self.start_bandwidth();
                self.put_everybody_in_place();
                self.changed();
            }
            Err(cause) => warn!("the machine has changed; going on with the former one: {cause:#}"),
        }
    }

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
        self.everybody_claims(&BTreeMap::new());
    }

    /// What everybody owns that the engine knows.
    pub(crate) fn owned(&self) -> BTreeMap<u64, CpuSet> {
        let ledger = self.brain.snapshot();
        let mut owned: BTreeMap<u64, CpuSet> = ledger.apps.iter().map(|app| (app.app.0, CpuSet::default())).collect();
        for entry in ledger.pus {
            // What is being vacated is its heir's already, as far as the future is concerned.
            if let Some(cpus) = entry.next.or(entry.owner).and_then(|app| owned.get_mut(&app.0)) {
                cpus.insert(self.machine.os_index(entry.pu));
            }
        }
        owned
    }

    /// Tells a fresh engine of every application, and what it has.
    /// `owned`: what each owns, where that is known better than by what it was told.
    fn everybody_claims(&mut self, owned: &BTreeMap<u64, CpuSet>) {
        self.events.clear();
        let mut without = Vec::new();
        let ids: Vec<u64> = self.apps.keys().copied().collect();
        for id in ids {
            let Some(app) = self.apps.get_mut(&id) else { continue };
            app.epoch_base += app.target.as_ref().map_or(0, |target| target.epoch);
            app.waiting = None;
            app.adopted = 0;
            app.memory.claimed = app.memory.home_os.and_then(|home| crate::pages::node_of_os(&self.machine, home));
            if let Some(target) = &mut app.target {
                // Numbers of processors are the tree's, and begin anew with it; epochs do with the engine.
                target.pus = self.machine.pu_set(&target.cpus);
                target.epoch = 0;
            }
            if std::mem::take(&mut app.turn) == Turn::Stopped {
                self.stops.forget(id);
            }
            (app.phases.sequential, app.phases.blocked) = (false, false);
            let told = app.target.as_ref().map(|target| &target.cpus);
            let claim = owned.get(&id).or(told).map(|cpus| self.machine.pu_set(cpus));
            let mut wish = Self::wish_of(app, claim.filter(|pus| !pus.is_empty()));
            // Who runs and has nothing must not be given what somebody after it will claim.
            if app.is_wrapper() || (wish.claim.is_none() && app.target.is_some()) {
                (wish.request, wish.claim) = (0, None);
                let later = Event::Request { app: AppId(id), processors: app.request };
                without.extend((!app.is_wrapper()).then_some(later));
            }
            self.events.push_back(Event::Arrive { app: AppId(id), wish });
        }
        self.events.extend(without);
    }
}
