//! What programs say: the attach messages. A message about an application counts only if it comes from that application's process.
//! It must not know what a page looks like.
//!
//! What a program says of itself is clamped to what is possible; within that it is believed. One that exaggerates its speedup keeps processors that
//! others could use better, but never more than its request.

use std::os::fd::AsFd;

use numaestro_abi::attach::code;
use numaestro_abi::control::{Options, Request};
use numaestro_engine::Event;
use numaestro_host::memory::SharedPage;
use numaestro_host::socket::{self, Peer};
use numaestro_host::{HostError, PidFd, procfs};
use numaestro_policy::AppId;
use tracing::{info, warn};

use crate::app::{App, class_of};
use crate::manager::Manager;
use crate::wire::{self, Greeting, Message};

/// Speedup that a processor can bring at most, thousandths: what is above is no measurement.
const SPEEDUP_MILLI_MAX: u64 = 1_000_000;

impl Manager {
    /// One packet has come.
    pub(crate) fn packet(&mut self, number: u64, peer: Peer, packet: &[u8]) {
        let Some(who) = self.connections.get(&number).map(|connection| connection.who) else { return };
        if let Err(refusal) = self.may_ask(who, &Request::Ping) {
            self.turn_away(number, code::PERMISSION, &refusal.reason);
            return;
        }
        match wire::decode(packet) {
            Err(refusal) => self.turn_away(number, refusal, "this message is not understood"),
            Ok(Message::Hello(_)) if self.stopping => self.turn_away(number, code::STOPPING, "the manager is stopping"),
            Ok(Message::Hello(greeting)) => self.hello(number, peer, &greeting),
            Ok(Message::Advise(question)) => self.advise_program(number, who, question),
            Ok(Message::Adopted { app, epoch }) if self.is_from(app, peer) => self.adopted(app, epoch),
            Ok(Message::Busy { app }) if self.is_from(app, peer) => self.parallel_again(app),
            Ok(Message::Request { app, processors }) if self.is_from(app, peer) => self.requested(app, processors),
            Ok(Message::Demand { app, processors }) if self.is_from(app, peer) => self.demanded(app, processors),
            Ok(Message::Team { app, threads }) if self.is_from(app, peer) => self.team_grew(app, threads),
            Ok(Message::Speedup { app, processors, speedup_milli }) if self.is_from(app, peer) => {
                self.measured(app, processors, speedup_milli);
            }
            Ok(_) => {}
        }
    }

    fn turn_away(&mut self, number: u64, refusal: u32, text: &str) {
        if let Some(connection) = self.connections.get(&number) {
            let _ = socket::send(connection.fd.as_fd(), &wire::welcome(refusal, 0, text), None);
        }
        self.hang_up(number);
    }

    fn is_from(&self, app: u64, peer: Peer) -> bool {
        peer.pid != 0 && self.apps.get(&app).is_some_and(|entry| entry.pid() == peer.pid && entry.uid == peer.uid)
    }

    fn hello(&mut self, number: u64, peer: Peer, greeting: &Greeting) {
        let who = self.connections.get(&number).map(|connection| connection.who);
        if let Some(who) = who.filter(|_| !self.by_pid.contains_key(&peer.pid))
            && let Err(refusal) = self.may_start(who)
        {
            self.turn_away(number, code::EXHAUSTED, &refusal.reason);
            return;
        }
        if self.released.contains(peer.pid) && !self.by_pid.contains_key(&peer.pid) {
            self.turn_away(number, code::PERMISSION, "its user has let it go");
            return;
        }
        match self.attach_process(number, peer, greeting) {
            Ok(app) => self.hand_out(number, app),
            Err(cause) => {
                warn!(pid = peer.pid, "cannot attach: {cause}");
                let refusal = if cause.is_denied() { code::PERMISSION } else { code::EXHAUSTED };
                self.turn_away(number, refusal, &cause.to_string());
            }
        }
    }

    /// The greeting process is an application with a page afterwards, and the engine knows what it found out about itself.
    ///
    /// The page is there before the engine is told, so that what it decides is in the page when the program gets it.
    fn attach_process(&mut self, number: u64, peer: Peer, greeting: &Greeting) -> Result<u64, HostError> {
        let known = self.by_pid.get(&peer.pid).copied();
        if let Some(app) = known {
            // One that is another user's since (su) is another application.
            if self.apps.get(&app).is_some_and(|entry| !entry.process.has_ended() && entry.uid == peer.uid) {
                self.give_page(app)?;
                self.found_out(app, greeting);
                return Ok(app);
            }
            self.depart(app);
        }
        let source = std::io::ErrorKind::NotConnected.into();
        let gone = HostError::Process { operation: "attach", pid: peer.pid, source };
        let connection = self.connections.get(&number).ok_or(gone)?;
        let process = PidFd::of_peer(connection.fd.as_fd(), peer.pid)?;
        if !self.is_of_peer(peer, &process) {
            let source = std::io::ErrorKind::PermissionDenied.into();
            return Err(HostError::Process {
                operation: "manage what runs with another user's rights",
                pid: peer.pid,
                source,
            });
        }
        let ancestor = procfs::ancestors(peer.pid).into_iter().find_map(|pid| self.by_pid.get(&pid).copied());
        // What one user starts as another is no part of the program around it.
        let around = |entry: &App| entry.page.is_none() && entry.uid == peer.uid;
        let wrapper = ancestor.filter(|app| self.apps.get(app).is_some_and(around));
        // What was wished for a `run` holds for everything below it.
        let options = wrapper.and_then(|app| self.apps.get(&app)).map(|entry| entry.options.clone());
        let options = Options { name: String::new(), wait: Some(false), ..options.unwrap_or_default() };
        let app = self.insert(process, greeting.name.clone(), options, class_of(greeting.runtimes));
        if let Err(cause) = self.give_page(app) {
            self.forget(app);
            return Err(cause);
        }
        // Born where the program around it has been put.
        let original = wrapper.and_then(|app| self.apps.get(&app)).map(|entry| entry.original.clone());
        if let Some(entry) = self.apps.get_mut(&app) {
            entry.runtimes = greeting.runtimes;
            entry.original = original.unwrap_or_else(|| entry.original.clone());
        }
        self.set_wish(app, greeting.threads_max);
        if let Some(wrapper) = wrapper {
            self.wrap(wrapper, app);
        }
        self.arrive(app, greeting.claim.as_ref().map(|cpus| self.machine.pu_set(cpus)));
        let user = self.name_of(peer.uid).unwrap_or_default();
        info!(app, pid = peer.pid, user, name = greeting.name, "attached");
        Ok(app)
    }

    /// Takes down what a known application says about itself, and tells the engine.
    fn found_out(&mut self, app: u64, greeting: &Greeting) {
        self.read_limits(app);
        self.set_wish(app, greeting.threads_max);
        let Some(entry) = self.apps.get_mut(&app) else { return };
        entry.runtimes = greeting.runtimes;
        let class = class_of(greeting.runtimes);
        let changed = std::mem::replace(&mut entry.class, class) != class;
        // With a page it is no wrapper, whatever runs below it.
        let was_wrapper = std::mem::take(&mut entry.wrapped) > 0;
        let wish = entry.wish;
        if was_wrapper {
            for other in self.apps.values_mut().filter(|other| other.wrapper == Some(app)) {
                other.wrapper = None;
            }
        }
        if changed {
            self.feed(Event::Class { app: AppId(app), class });
        }
        self.ask_for(app, wish);
    }

    /// How many processors the application could use: its largest team, within what the user allows.
    fn set_wish(&mut self, app: u64, threads_max: u32) {
        let most = (self.usable.len() as u32).max(1);
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let threads = if threads_max == 0 { u32::MAX } else { threads_max };
        entry.could = threads.min(entry.options.max.unwrap_or(u32::MAX));
        entry.wish = entry.could.clamp(1, most);
    }

    /// Its largest team has more threads than it said before.
    fn team_grew(&mut self, app: u64, threads: u32) {
        self.set_wish(app, threads);
        if let Some(wish) = self.apps.get(&app).map(|entry| entry.wish) {
            self.ask_for(app, wish);
        }
    }

    /// A new page with what the application was told last already in it; it replaces the one that the process had before `exec`.
    fn give_page(&mut self, app: u64) -> Result<(), HostError> {
        let grace_us = self.config.grace_ms * 1000;
        self.timers.clear(crate::timers::Due::Demand(app));
        let Some(entry) = self.apps.get_mut(&app) else { return Ok(()) };
        let page = SharedPage::create(app, entry.pid(), grace_us)?;
        if let Some(target) = &entry.target {
            page.publish(&entry.decision(target, numaestro_host::monotonic_ns()))?;
        }
        entry.page = Some(page);
        entry.had_page = true;
        entry.phases = crate::app::Phases::default();
        Ok(())
    }

    fn hand_out(&mut self, number: u64, app: u64) {
        // A manager that is killed now is followed by one that knows the program.
        self.save_soon_enough();
        let Some(connection) = self.connections.get(&number) else { return };
        let Some(entry) = self.apps.get_mut(&app) else {
            self.turn_away(number, code::EXHAUSTED, "the application cannot be managed under these wishes");
            return;
        };
        let Some(page) = &mut entry.page else { return };
        let sent = socket::send(connection.fd.as_fd(), &wire::welcome(code::OK, app, ""), page.descriptor());
        page.close_descriptor();
        if let Err(cause) = sent {
            // It is gone or does not read: it has no page and is folded like any other.
            warn!(app, "cannot hand out a page: {cause}");
            entry.page = None;
            let pid = entry.pid();
            let others = self.other_roots(pid);
            if let Some(entry) = self.apps.get_mut(&app) {
                Self::move_tree(entry, &others);
            }
        }
        self.changed();
    }

    fn adopted(&mut self, app: u64, epoch: u32) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let epoch = epoch.wrapping_sub(entry.epoch_base);
        // An epoch that was never given is not believed.
        if entry.target.as_ref().is_some_and(|target| epoch <= target.epoch && epoch >= entry.adopted) {
            entry.adopted = epoch;
            if entry.target.as_ref().is_some_and(|target| target.epoch == epoch) {
                entry.tighten();
            }
            self.feed(Event::Adopted { app: AppId(app), epoch });
        }
    }

    /// What an application may ask for, from what it says; 0 = no wish of its own.
    fn wanted(&self, app: u64, processors: u32) -> Option<u32> {
        let most = self.usable.len() as u32;
        let entry = self.apps.get(&app)?;
        let wanted = if processors == 0 { entry.wish } else { processors.min(entry.options.max.unwrap_or(u32::MAX)) };
        let wanted = entry.within_limits(wanted);
        Some(wanted.clamp(1, most.max(1)))
    }

    fn requested(&mut self, app: u64, processors: u32) {
        if let Some(wanted) = self.wanted(app, processors) {
            self.ask_for(app, wanted);
        }
    }

    /// What it can use, and which of its processors are idle: the engine takes those only that are its own, or that it is to vacate.
    fn demanded(&mut self, app: u64, processors: u32) {
        let Some(processors) = self.wanted(app, processors) else { return };
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let Some(page) = &entry.page else { return };
        let idle = self.machine.pu_set(&page.idle());
        let more = processors > std::mem::replace(&mut entry.request, processors);
        self.feed(Event::Demand { app: AppId(app), processors, idle });
        if more {
            self.consider_everybodys_demand();
        }
    }

    /// Only what is possible reaches the engine, which drops what was not measured with the present allocation.
    fn measured(&mut self, app: u64, processors: u32, speedup_milli: u32) {
        let most = u64::from(processors) * SPEEDUP_MILLI_MAX;
        if speedup_milli > 0 && u64::from(speedup_milli) <= most && processors as usize <= self.machine.pu_count() {
            self.feed(Event::Speedup { app: AppId(app), processors, speedup_milli });
        }
    }

    /// A program without a page has started one with: it is only the shell around it, and needs nothing while that lives.
    pub(crate) fn wrap(&mut self, wrapper: u64, inner: u64) {
        if let Some(entry) = self.apps.get_mut(&inner) {
            entry.wrapper = Some(wrapper);
        }
        let Some(entry) = self.apps.get_mut(&wrapper) else { return };
        entry.wrapped += 1;
        if entry.wrapped == 1 {
            self.timers.clear(crate::timers::Due::Demand(wrapper));
            self.overlook_pages(wrapper);
            self.widen(wrapper);
            self.ask_for(wrapper, 0);
        }
    }

    /// One of the applications inside a wrapper has ended; after the last, it is a program like any other again.
    pub(crate) fn unwrap_from(&mut self, wrapper: u64) {
        let Some(entry) = self.apps.get_mut(&wrapper) else { return };
        entry.wrapped = entry.wrapped.saturating_sub(1);
        if entry.wrapped == 0 && entry.page.is_none() && !entry.process.has_ended() {
            let wish = entry.wish;
            self.ask_for(wrapper, wish);
            self.consider_demand(wrapper);
        }
    }
}
