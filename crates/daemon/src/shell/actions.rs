//! Carries out the engine's actions: writes pages, moves threads, stops programs, answers waiting
//! commands.

use std::collections::BTreeSet;

use numaestro_abi::control::Reply;
use numaestro_contract::Observation;
use numaestro_engine::{Action, PageHome};
use numaestro_host::affinity;
use numaestro_policy::AppId;
use numaestro_topology::{CpuSet, PuSet};
use tracing::info;

use super::actuators::Actuators;
use super::{Refused, Shell};
use crate::decision::obligations::Target;
use crate::identity::peer::LivePeer;
use crate::identity::rights::Refusal;

impl Shell {
    /// Carries out the actions of a decision in their order. Stops that follow each other are
    /// waited for together. Gives what the engine refuses.
    pub(super) fn carry_out_all(&mut self, actions: &mut Vec<Action>) -> Vec<Refused> {
        let mut refused = Vec::new();
        for action in actions.drain(..) {
            if !matches!(action, Action::Stop { .. }) {
                self.await_stops();
            }
            refused.extend(self.carry_out(action));
        }
        self.await_stops();
        refused
    }

    /// Those that were to be stopped do not run any more.
    pub(super) fn await_stops(&mut self) {
        let events = self.actuators.stops.settle();
        self.tell(events);
    }

    fn carry_out(&mut self, action: Action) -> Option<Refused> {
        match action {
            Action::Start { app } => {
                if let Some(entry) = self.programs.get_mut(app.0) {
                    entry.waiting = None;
                }
            }
            Action::Wait { app, position } => self.wait(app.0, position),
            Action::Target { app, epoch, count, pus, shared, lent } => {
                let cpus = self.site.machine.os_cpuset(&pus);
                self.target(app.0, Target { epoch, count, pus, cpus, shared, lent });
            }
            Action::Pages { app, home } => self.place_pages(app.0, home),
            Action::Stop { app } => self.stop(app.0),
            Action::Continue { app } => self.go_on(app.0),
            Action::Force { app, epoch, pus } => self.force(app.0, epoch, &pus),
            Action::Refuse { app, reason } => return Some(self.refused(app.map(|app| app.0), reason)),
        }
        None
    }

    fn wait(&mut self, app: u64, position: u32) {
        let Some(entry) = self.programs.get_mut(app) else { return };
        entry.waiting = Some(position);
        if let Some(connection) = entry.asker {
            self.outcome.replies.push((connection, Reply::Waiting { app, position }));
        }
    }

    fn target(&mut self, app: u64, target: Target) {
        self.aim_pages(app, &target.pus);
        let Some(entry) = self.programs.get_mut(app) else { return };
        let (epoch, lent) = (target.epoch, target.lent);
        entry.waiting = None;
        if self.actuators.shared_pages.has(app) {
            self.actuators.cpusets.widen(app, &target.cpus);
        }
        entry.allocation.set(target);
        if lent {
            self.sensors.phases.lent(&self.course, app, &mut self.wakeups);
        }
        if let Some(target) = entry.allocation.target()
            && self.actuators.shared_pages.has(app)
        {
            self.actuators.trees.told(app, &target.cpus);
        }
        if !self.actuators.publish(entry) {
            // The manager carries it out for a program without a page, so it is adopted.
            entry.allocation.adopt(epoch);
            if !entry.is_wrapper() {
                self.place(app);
            }
            self.observe(Observation::Placed { app: AppId(app), epoch });
        }
        self.supply_tokens(app);
        self.watch_pages(app);
        self.answer_run(app);
    }

    /// The jobserver of a build follows its processors. A wrapper has none: its builds go on one
    /// job after the other.
    pub(super) fn supply_tokens(&mut self, app: u64) {
        let Some(entry) = self.programs.get(app) else { return };
        let processors = if entry.is_wrapper() { 0 } else { entry.allocation.count() };
        self.actuators.jobservers.aim(app, processors, &mut self.wakeups);
    }

    fn force(&mut self, app: u64, epoch: u32, pus: &PuSet) {
        let cpus = self.site.machine.os_cpuset(pus);
        let Some(entry) = self.programs.get_mut(app) else { return };
        info!(app, epoch, %cpus, "did not move in time; moved from outside");
        entry.allocation.adopt(epoch);
        self.place_on(app, &cpus);
        self.observe(Observation::Placed { app: AppId(app), epoch });
    }

    /// Moves an application's processes to its target.
    pub(super) fn place(&mut self, app: u64) {
        let target = self.programs.get(app).and_then(|entry| entry.allocation.target());
        if let Some(cpus) = target.map(|target| target.cpus.clone()) {
            self.place_on(app, &cpus);
        }
    }

    pub(super) fn place_on(&mut self, app: u64, cpus: &CpuSet) {
        if let Some(entry) = self.programs.get(app) {
            self.actuators.place(entry, &self.programs.other_roots(entry.pid()), cpus);
        }
        self.apply_rebound(app);
    }

    /// A process has put itself on all processors that it may have, and becomes another program.
    pub(crate) fn begins(&mut self, peer: &LivePeer) {
        let app = self.application_of(peer.pid()).and_then(|app| self.programs.get(app));
        if let Some(number) = app.filter(|app| app.owner.uid == peer.uid()).map(|app| app.number) {
            self.actuators.trees.begin(number, peer.pid(), &mut self.wakeups);
        }
    }

    /// Programs that have begun, and what they have started since, come onto their share.
    pub(super) fn place_begun(&mut self) {
        for pid in self.actuators.trees.take_begun(&mut self.wakeups) {
            let app = self.application_of(pid);
            let target = app.and_then(|app| Some((app, self.programs.get(app)?.allocation.target()?.cpus.clone())));
            if let Some((app, cpus)) = target {
                let mut ours = self.actuators.trees.judge(app, &cpus);
                let _ = affinity::set_tree(pid, &self.programs.other_roots(pid), &cpus, &mut ours);
            }
        }
    }

    /// Masks that may have been pins are pins now, or ours again; pins may have gone; and whoever
    /// has narrowed itself may have widened itself.
    pub(super) fn look_at_pins(&mut self) {
        let pinned = self.actuators.trees.take_pinned();
        let apps: BTreeSet<(u64, u32)> =
            pinned.into_iter().filter_map(|pid| Some((self.application_of(pid)?, pid))).collect();
        for (app, pid) in apps {
            if self.programs.get(app).is_some_and(|entry| entry.pid() == pid) {
                self.actuators.trees.look_again(app, pid, &self.site.usable);
            }
            // A program with a page moves its own threads.
            if self.actuators.shared_pages.has(app) {
                self.apply_rebound(app);
            } else {
                self.place(app);
            }
        }
    }

    fn apply_rebound(&mut self, app: u64) {
        if self.actuators.trees.take_rebound(app) {
            self.renew_allowed(app);
        }
    }

    /// A `run` gets its answer: its processors are known, and its threads are already on them.
    pub(super) fn answer_run(&mut self, app: u64) {
        let Some(entry) = self.programs.get_mut(app) else { return };
        let (Some(connection), Some(target)) = (entry.asker, entry.allocation.target()) else { return };
        let memory = self.actuators.pages.told(app).map(ToString::to_string);
        let jobserver = self.actuators.jobservers.serves(app);
        let most =
            Some(self.sensors.quotas.of(app).within(entry.wants.wish()).clamp(1, self.site.to_give(&self.config)));
        let reply = Reply::Run { app, cpus: target.cpus.to_string(), count: target.count, most, memory, jobserver };
        entry.asker = None;
        self.outcome.replies.push((connection, reply));
        self.actuators.cpusets.arrived(app, &mut self.wakeups);
    }

    /// The engine refuses something. Refused on arrival, an application is gone.
    fn refused(&mut self, app: Option<u64>, reason: String) -> Refused {
        info!(app, reason, "refused");
        let entry = app.and_then(|app| self.programs.get_mut(app));
        // Refused on arrival: no target, no place in the queue. The program runs without a manager.
        if let Some(entry) = entry.filter(|entry| entry.allocation.target().is_none() && entry.waiting.is_none()) {
            let app = entry.number;
            if let Some(connection) = entry.asker.take() {
                let reply = Refusal::new(reason.clone(), "").reply();
                self.outcome.replies.push((connection, reply));
            }
            self.discard(app);
        }
        Refused { app, reason }
    }

    /// [`Self::await_stops`] waits for it.
    pub(super) fn stop(&mut self, app: u64) {
        let Some(entry) = self.programs.get(app) else { return };
        if let Some(connection) = entry.asker {
            // It has not become the program yet, and waits for our answer.
            self.actuators.stops.hold_unstarted(app);
            self.outcome.replies.push((connection, Reply::Waiting { app, position: 1 }));
            return;
        }
        let group = self.actuators.group(entry, &self.programs);
        let unstoppable = self.actuators.stops.stop(app, group);
        self.tell(unstoppable);
    }

    /// It goes on, on the processors of its target: threads that are inside stay where they are,
    /// and find their caches again.
    fn go_on(&mut self, app: u64) {
        let Some(entry) = self.programs.get(app) else { return };
        self.actuators.keep_within_target(entry);
        self.actuators.stops.resume(app);
        self.sensors.demands.resume(app, &mut self.wakeups);
    }

    /// The policy says where the new pages of an application go.
    fn place_pages(&mut self, app: u64, home: PageHome) {
        self.actuators.pages.want(app, home);
        let target = self.programs.get(app).and_then(|entry| entry.allocation.target());
        if let Some(pus) = target.map(|target| target.pus.clone()) {
            if self.aim_pages(app, &pus) {
                self.publish_again(app);
            }
            self.watch_pages(app);
        }
        self.bind_memory();
    }

    /// Finds out where the pages of an application on these processors should be; true if it is to
    /// be told something new. Before it is told.
    fn aim_pages(&mut self, app: u64, pus: &PuSet) -> bool {
        let home = self.engine.home(AppId(app));
        self.actuators.pages.aim(app, &self.site.machine, home, pus)
    }

    /// Tells the mover of an application that has moved, or whose pages should move. The
    /// application itself is told before.
    fn watch_pages(&mut self, app: u64) {
        if !self.engine.controls_pages() || !self.actuators.pages.has_moved(app) {
            return;
        }
        let entry = self.programs.get(app).filter(|entry| !entry.is_wrapper());
        let Some(entry) = entry.filter(|entry| entry.allocation.target().is_some()) else { return };
        let subject = self.actuators.subject(entry, &self.programs);
        self.actuators.pages.watch(subject, &self.site.machine, &self.wakeups);
    }

    pub(super) fn bind_memory(&mut self) {
        let Actuators { cpusets, pages, .. } = &mut self.actuators;
        let (strict, home) = (self.config.memory.strict, |app| pages.home_os(app));
        cpusets.bind_memory(strict, &home, &self.site.machine, &mut self.wakeups);
    }
}
