//! The machine has changed: processors that go and come become events; a machine that its topology
//! tree does not describe any more is read anew, and all applications claim their processors of a
//! fresh engine.

use std::collections::BTreeMap;

use numaestro_engine::Event;
use numaestro_host::{PidFd, reach};
use numaestro_policy::{AppId, PuState};
use numaestro_topology::{CpuSet, PuId};
use tracing::{info, warn};

use super::Shell;
use crate::senses::machine::{Site, usable};

impl Shell {
    /// A program's user gives it the processors `allowed`. The manager may live in a cgroup that
    /// leaves it fewer than the kernel leaves the program: it learns of the others here. Gives the
    /// processors that bound the program; `None`: it may have all that there are to give.
    pub(crate) fn learn(&mut self, process: &PidFd, allowed: &str) -> Option<CpuSet> {
        let allowed = allowed.parse::<CpuSet>().ok().filter(|cpus| !cpus.is_empty())?;
        // An administrator may keep the system's manager in a group for good.
        if !self.config.system
            && !allowed.is_subset(&self.site.usable)
            && let Ok(found) = reach::within(process.pid(), &allowed)
            && !found.is_subset(&self.site.seen.union(&self.site.usable))
        {
            info!(%found, "a program may have processors that the manager's own cgroup does not allow");
            self.site.seen.or_with(&found);
            self.observe_machine();
        }
        (!self.site.usable.is_subset(&allowed)).then_some(allowed)
    }

    /// Brings the engine in step with the processors that there are for us.
    pub(super) fn observe_machine(&mut self) {
        let usable = match usable(&self.config, &self.site.seen) {
            Ok(usable) => usable,
            Err(cause) => {
                warn!("the last processor has gone; programs keep what they had: {cause:#}");
                return;
            }
        };
        let known = self.site.machine.os_cpuset(self.site.machine.allowed());
        if !usable.is_subset(&known) {
            self.renew(&usable);
            return;
        }
        let (gone, back) = self.out_of_step(&usable);
        let before = std::mem::replace(&mut self.site.usable, usable);
        if !gone.is_empty() || !back.is_empty() {
            info!(%before, now = %self.site.usable, "processors have gone or come");
            // Processors that come are told first: the engine's last one cannot go.
            self.tell(back.into_iter().map(|pu| Event::Online { pu }));
            self.tell(gone.into_iter().map(|pu| Event::Offline { pu }));
            self.settle();
            self.renew_wishes();
        }
        self.put_everybody_in_place();
    }

    /// There are more processors than before, or fewer: applications that wanted all that there
    /// were want all that there are.
    fn renew_wishes(&mut self) {
        let processors = self.site.processors();
        for app in self.programs.numbers() {
            let Some(entry) = self.programs.get_mut(app) else { continue };
            let former = entry.wants.fit(processors);
            let wish = entry.wants.wish();
            let within = self.sensors.quotas.of(app).within(former.unwrap_or(wish));
            let asked_for_all = entry.wants.request() >= within && !entry.is_wrapper();
            // Its limits may be above all of few processors, and below all of many.
            self.renew_allowed(app);
            let Some(before) = former else { continue };
            if wish > before && asked_for_all {
                self.ask_for(app, wish);
            }
            self.observe_demand_soon(app);
        }
    }

    /// Processors that the engine gives out though they are gone, and processors that it does not
    /// though they are back.
    fn out_of_step(&self, usable: &CpuSet) -> (Vec<PuId>, Vec<PuId>) {
        let (mut gone, mut back) = (Vec::new(), Vec::new());
        for entry in self.engine.snapshot().pus {
            match (entry.state, usable.contains(self.site.machine.os_index(entry.pu))) {
                (PuState::Reserved, _) | (PuState::Offline, false) => {}
                (PuState::Offline, true) => back.push(entry.pu),
                (_, false) => gone.push(entry.pu),
                (_, true) => {}
            }
        }
        (gone, back)
    }

    /// The kernel lets a thread whose last processor has gone run anywhere: every application goes
    /// where it belongs.
    fn put_everybody_in_place(&mut self) {
        for app in self.programs.numbers() {
            let Some(entry) = self.programs.get(app) else { continue };
            if entry.is_wrapper() {
                self.widen(app);
            } else if !self.actuators.shared_pages.has(app) {
                self.place(app);
            } else if entry.allocation.is_adopted() {
                // One that has not adopted its target yet goes by itself.
                self.actuators.keep_within_target(entry);
            }
        }
    }

    /// There are processors that the tree does not have: it is read again, and all applications
    /// claim their processors in it.
    fn renew(&mut self, wanted: &CpuSet) {
        let site = match Site::read(&self.config, self.site.seen.clone()) {
            Ok(found) => found,
            Err(cause) => {
                warn!("the machine has changed and cannot be read again: {cause:#}");
                return;
            }
        };
        // Announced before sysfs has a place for it: there will be no other notice, so it is said.
        if !wanted.is_subset(&site.machine.os_cpuset(site.machine.allowed())) {
            warn!(%wanted, found = %site.usable, "not all processors have a place in the machine");
        }
        let owned = self.picture().owned();
        if let Err(cause) = self.engine.renew(&self.config, &site.machine) {
            warn!("the machine has changed; going on with the former one: {cause:#}");
            return;
        }
        info!(before = %self.site.usable, now = %site.usable, "the machine was read anew");
        self.site = site;
        self.actuators.pages.renew(&self.site.machine);
        self.sensors.bandwidth.renew();
        for app in self.programs.numbers() {
            self.read_quota(app);
        }
        self.everybody_claims(Some(&owned));
        let unmanaged = self.sensors.foreign.processors();
        self.tell((unmanaged > 0).then_some(Event::Unmanaged { processors: unmanaged }));
        self.settle();
        self.renew_wishes();
        self.start_sensing();
        self.put_everybody_in_place();
        self.outcome.changed = true;
    }

    /// Tells a fresh engine of every application, and of its processors: those that it owned, where
    /// these are known, else those that it was told.
    pub(super) fn everybody_claims(&mut self, owned: Option<&BTreeMap<u64, CpuSet>>) {
        self.course.begin_anew();
        self.actuators.pages.begin_anew(&self.site.machine);
        for app in self.programs.iter_mut() {
            app.allocation.begin_anew(&self.site.machine);
            app.waiting = None;
            self.actuators.stops.resume(app.number);
        }
        let (mut claims, mut later) = (Vec::new(), Vec::new());
        for app in self.programs.iter() {
            let told = app.allocation.target().map(|target| &target.cpus);
            let has = owned.and_then(|owned| owned.get(&app.number)).or(told);
            let claim = has.map(|cpus| self.site.machine.pu_set(cpus)).filter(|pus| !pus.is_empty());
            let request = app.wants.request();
            let event = if app.is_wrapper() {
                self.arrival_again(app, 0, None)
            } else if claim.is_none() && told.is_some() {
                // It must not be given processors that a later application will claim.
                later.push(Event::Request { app: AppId(app.number), processors: request });
                self.arrival_again(app, 0, None)
            } else {
                self.arrival_again(app, request.max(1), claim)
            };
            claims.push(event);
        }
        self.tell(claims);
        self.tell(later);
    }
}
