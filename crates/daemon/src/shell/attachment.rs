//! Programs with a page: attaches them, takes in their reports about themselves, and finds the
//! wrappers around them.
//!
//! A program's report about itself is clamped to possible values; within these it is believed. A
//! program that exaggerates its speedup keeps processors that others could use better, but never
//! more than its request.

use std::os::fd::BorrowedFd;

use numaestro_abi::control::Options;
use numaestro_abi::page::runtime;
use numaestro_contract::{Observation, Phase};
use numaestro_engine::{Class, Event};
use numaestro_host::HostError;
use numaestro_host::memory::SharedPage;
use numaestro_policy::AppId;
use numaestro_topology::CpuSet;
use tracing::warn;

use super::{Newcomer, Shell};
use crate::identity::peer::LivePeer;

/// Speedup that a processor can bring at most, thousandths: a higher value is no measurement.
const SPEEDUP_MILLI_MAX: u64 = 1_000_000;

/// The class of a program with these runtimes.
fn class_of(runtimes: u32) -> Class {
    if runtimes & (runtime::GOMP | runtime::KMP | runtime::API) != 0 { Class::Malleable } else { Class::Setter }
}

impl Shell {
    /// A program has been given a page, which says its latest decision.
    pub(super) fn open_page(&mut self, app: u64) -> Result<(), HostError> {
        self.sensors.demands.end(app, &mut self.wakeups);
        let Some(entry) = self.programs.get(app) else { return Ok(()) };
        self.actuators.open_page(entry, self.config.grace_ms * 1000)?;
        self.observe(Observation::Page { app: AppId(app) });
        Ok(())
    }

    /// Makes a process an application with a page. `wrapper`: the application around it; `claim`:
    /// its processors from a former manager.
    ///
    /// The page is there before the engine is told, so that the engine's decision is in the page
    /// when the program gets it.
    pub(crate) fn attach(
        &mut self,
        newcomer: Newcomer,
        runtimes: u32,
        threads_max: u32,
        wrapper: Option<u64>,
        claim: Option<&CpuSet>,
    ) -> Result<u64, HostError> {
        let pid = newcomer.process.pid();
        let app = self.insert(newcomer);
        if let Some(claim) = claim {
            self.actuators.trees.had(app, pid, claim);
        }
        if let Err(cause) = self.open_page(app) {
            self.forget(app);
            return Err(cause);
        }
        if let Some(entry) = self.programs.get_mut(app) {
            (entry.runtimes, entry.class) = (runtimes, class_of(runtimes));
        }
        self.limit_to_team(app, threads_max);
        if let Some(wrapper) = wrapper {
            self.wrap(wrapper, app);
        }
        // Whoever is refused is turned away when its page is to be handed out.
        let _ = self.arrive(app, claim);
        Ok(app)
    }

    /// A known application attaches: it gets a new page, and reports its findings about itself.
    pub(crate) fn attach_again(&mut self, app: u64, runtimes: u32, threads_max: u32) -> Result<(), HostError> {
        self.open_page(app)?;
        if let Some(entry) = self.programs.get(app) {
            self.actuators.trees.look_again(app, entry.pid(), &self.site.usable);
            self.actuators.trees.take_rebound(app);
        }
        self.renew_allowed(app);
        self.limit_to_team(app, threads_max);
        let Some(entry) = self.programs.get_mut(app) else { return Ok(()) };
        entry.runtimes = runtimes;
        let class = class_of(runtimes);
        let changed = std::mem::replace(&mut entry.class, class) != class;
        let wish = entry.wants.wish();
        // With a page it is no wrapper, even if programs run below it.
        if std::mem::take(&mut entry.wrapped) > 0 {
            for other in self.programs.iter_mut().filter(|other| other.wrapper == Some(app)) {
                other.wrapper = None;
            }
        }
        if changed {
            self.feed(Event::Class { app: AppId(app), class });
        }
        self.ask_for(app, wish);
        Ok(())
    }

    /// Hands an application's page to its program by `hand`. A program that does not take it has
    /// none, and is folded like any other.
    pub(crate) fn hand_out_page(
        &mut self,
        app: u64,
        hand: impl FnOnce(Option<BorrowedFd<'_>>) -> Result<(), HostError>,
    ) {
        if let Some(Err(cause)) = self.actuators.shared_pages.hand_out(app, hand) {
            warn!(app, "cannot hand out a page: {cause}");
            self.place(app);
        }
    }

    /// An application could use as many processors as its largest team has threads.
    fn limit_to_team(&mut self, app: u64, threads_max: u32) {
        let Some(entry) = self.programs.get_mut(app) else { return };
        let threads = if threads_max == 0 { u32::MAX } else { threads_max };
        entry.wants.limit(threads, self.site.processors());
    }

    /// Its largest team has more threads than it said before.
    pub(crate) fn team_grew(&mut self, app: u64, threads: u32) {
        self.limit_to_team(app, threads);
        if let Some(wish) = self.programs.get(app).map(|entry| entry.wants.wish()) {
            self.ask_for(app, wish);
        }
    }

    /// The program says that it has adopted a decision.
    pub(crate) fn adopted(&mut self, app: u64, page_epoch: u32) {
        if self.adopts(app, page_epoch) {
            self.settle();
        }
    }

    /// The same; the engine is not told yet. True if that is believed.
    pub(super) fn adopts(&mut self, app: u64, page_epoch: u32) -> bool {
        let Some(entry) = self.programs.get(app) else { return false };
        let epoch = entry.allocation.epoch_of(page_epoch);
        if !self.observe(Observation::Adopted { app: AppId(app), epoch }) {
            return false;
        }
        let Some(entry) = self.programs.get_mut(app) else { return false };
        entry.allocation.adopt(epoch);
        if let Some(target) = entry.allocation.target().filter(|target| target.epoch == epoch) {
            self.actuators.cpusets.narrow(app, &target.cpus);
        }
        true
    }

    /// Processors that an application may ask for, by its own number; 0 = no wish of its own.
    fn wanted(&mut self, app: u64, processors: u32) -> Option<u32> {
        let wants = &mut self.programs.get_mut(app)?.wants;
        wants.says(processors);
        Some(self.sensors.quotas.of(app).within(wants.wanted()).clamp(1, self.site.processors()))
    }

    /// The program asks for processors.
    pub(crate) fn requested(&mut self, app: u64, processors: u32) {
        if let Some(wanted) = self.wanted(app, processors) {
            self.ask_for(app, wanted);
        }
    }

    /// The program says how many processors it can use, and in its page which are idle: the engine
    /// takes only idle processors that are its own, or that it is to vacate.
    pub(crate) fn demanded(&mut self, app: u64, processors: u32) {
        let Some(processors) = self.wanted(app, processors) else { return };
        let Some(idle) = self.actuators.shared_pages.get(app).map(SharedPage::idle) else { return };
        let Some(entry) = self.programs.get_mut(app) else { return };
        let more = processors > entry.wants.ask(processors);
        let idle = self.site.machine.pu_set(&idle);
        self.feed(Event::Demand { app: AppId(app), processors, idle });
        if more {
            self.observe_everybodys_demand();
        }
    }

    /// The program has measured its speedup. Only possible values reach the engine, which drops
    /// values that were not measured with the present allocation.
    pub(crate) fn measured(&mut self, app: u64, processors: u32, speedup_milli: u32) {
        let most = u64::from(processors) * SPEEDUP_MILLI_MAX;
        let possible = speedup_milli > 0 && u64::from(speedup_milli) <= most;
        if possible && processors as usize <= self.site.machine.pu_count() {
            self.feed(Event::Speedup { app: AppId(app), processors, speedup_milli });
        }
    }

    /// The program says that it is parallel again.
    pub(crate) fn parallel_again(&mut self, app: u64) {
        if self.observe(Observation::Phase { app: AppId(app), phase: Phase::Parallel }) {
            self.settle();
        }
    }

    /// An application that attaches below one without a page makes that one a wrapper: returns the
    /// wrapper and its options. A program that one user starts as another is no part of the program
    /// around it.
    pub(crate) fn around(&self, peer: &LivePeer) -> Option<(u64, Options)> {
        let app = self.application_above(peer.pid())?;
        let entry = self.programs.get(app)?;
        let around = !self.actuators.shared_pages.has(app) && entry.owner.uid == peer.uid();
        // The jobserver is the whole build's.
        around.then(|| (app, Options { jobserver: None, ..entry.options.clone() }))
    }

    /// A program without a page has started one with: it is only the shell around it, and needs
    /// nothing while that lives.
    pub(super) fn wrap(&mut self, wrapper: u64, inner: u64) {
        if let Some(entry) = self.programs.get_mut(inner) {
            entry.wrapper = Some(wrapper);
        }
        let Some(entry) = self.programs.get_mut(wrapper) else { return };
        entry.wrapped += 1;
        if entry.wrapped == 1 {
            self.sensors.demands.end(wrapper, &mut self.wakeups);
            self.actuators.pages.overlook(wrapper);
            self.widen(wrapper);
            self.supply_tokens(wrapper);
            self.ask_for(wrapper, 0);
        }
    }

    /// One of the applications inside a wrapper has ended; after the last, it is a program like any
    /// other again.
    pub(super) fn unwrap_from(&mut self, wrapper: u64) {
        let Some(entry) = self.programs.get_mut(wrapper) else { return };
        entry.wrapped = entry.wrapped.saturating_sub(1);
        let wish = entry.wants.wish();
        if entry.wrapped == 0 && !self.actuators.shared_pages.has(wrapper) && !entry.process.has_ended() {
            self.request(wrapper, wish);
            self.observe_demand_soon(wrapper);
        }
    }
}
