//! What Koita et al. promise of their policies (K1 to K8, and what is known of EQUI, DYN and LIM),
//! on random sequences of arrivals, forks, ends of threads and departures. A small model of their
//! user-level scheduler (first come, first served) stands behind the engine.
//!
//! K8, the audit of the base priority, is beside its code.

use numaestro_engine::{Action, AppId, Engine, Event, Needs, PageHome, PuState, Settings, Wish};
use numaestro_policy::Random;
use numaestro_topology::{NumaNodeId, PuId, PuSet, synthetic};
use std::collections::{BTreeMap, BTreeSet};

/// One process with its threads.
#[derive(Default)]
struct Job {
    started: bool,
    ready: u32,
    running: PuSet,
    own: PuSet,
    /// What it has been told to vacate since it last said that all is vacated.
    leaving: PuSet,
    epoch: u32,
    adopted: u32,
    /// The latest `Demand`.
    told: Option<(u32, PuSet)>,
    pages: Option<PageHome>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ready, running, own, epoch, .. } = self;
        write!(f, "on {running} of {own}, {ready} ready, epoch {epoch}")
    }
}

impl Job {
    fn runnable(&self) -> u32 {
        self.ready + self.running.len() as u32
    }

    fn idle(&self) -> PuSet {
        self.own.difference(&self.running)
    }

    /// What it says is idle.
    fn unused(&self) -> PuSet {
        self.own.union(&self.leaving).difference(&self.running)
    }
}

struct Host {
    policy: &'static str,
    engine: Engine,
    jobs: BTreeMap<AppId, Job>,
    now: u64,
    newest: u64,
    /// Threads that went on elsewhere: whose, from where, where to.
    moved: Vec<(AppId, PuId, PuId)>,
}

impl Host {
    fn new(policy: &'static str, machine: &str, seed: u64) -> Self {
        let host = Needs { page_control: true, requests: true, preemption: true, ..Needs::NONE };
        // Nobody is hurried: threads end when they end.
        let settings = Settings { policy: policy.into(), grace_ns: 1 << 60, host, ..Settings::default() };
        let engine = Engine::new(synthetic::parse(machine).unwrap(), settings, seed).unwrap();
        Self { policy, engine, jobs: BTreeMap::new(), now: 0, newest: 0, moved: Vec::new() }
    }

    /// An event and all that follows from it.
    fn step(&mut self, event: &Event) {
        let mut events = vec![event.clone()];
        for _ in 0..1000 {
            let Some(event) = events.pop().or_else(|| self.next_event()) else { return };
            self.now += 1;
            let mut actions = Vec::new();
            self.engine.step(self.now, &event, &mut actions);
            for action in &actions {
                self.carry_out(action);
            }
            if let Event::Demand { app, .. } = event {
                self.go_on(app);
            }
        }
        panic!("{}: it never settles", self.policy);
    }

    /// What programs have to say, if anything.
    fn next_event(&mut self) -> Option<Event> {
        for (&app, job) in &mut self.jobs {
            if job.epoch > job.adopted && job.running.is_subset(&job.own) {
                job.adopted = job.epoch;
                job.leaving.clear();
                return Some(Event::Adopted { app, epoch: job.epoch });
            }
            let news = (job.runnable(), job.unused());
            if job.epoch > 0 && job.told.as_ref() != Some(&news) {
                job.told = Some(news.clone());
                return Some(Event::Demand { app, processors: news.0, idle: news.1 });
            }
        }
        self.engine.deadline().filter(|&at| at <= self.now).map(|_| Event::Timer)
    }

    fn carry_out(&mut self, action: &Action) {
        match action {
            Action::Start { app } => self.jobs.get_mut(app).unwrap().started = true,
            Action::Stop { app } | Action::Continue { app } => panic!("{}: {app} is stopped or continued", self.policy),
            Action::Pages { app, home } => {
                let job = self.jobs.get_mut(app).unwrap();
                assert!(job.pages.is_none(), "K6: pages of {app} go elsewhere now");
                job.pages = Some(*home);
            }
            Action::Target { app, epoch, pus, shared, .. } => {
                assert!(!shared, "{}: {app} shares processors", self.policy);
                let grown = pus.difference(&self.jobs[app].own);
                self.check_grant(*app, &grown);
                let job = self.jobs.get_mut(app).unwrap();
                assert!(self.policy != "FH-Dist" || job.own.is_subset(pus), "K2: {app} loses some of {}", job.own);
                job.epoch = *epoch;
                job.leaving = job.leaving.union(&job.own).difference(pus);
                job.own.clone_from(pus);
                self.go_on(*app);
            }
            Action::Force { app, pus, .. } => {
                let job = self.jobs.get_mut(app).unwrap();
                let gone = job.running.difference(pus);
                job.ready += gone.len() as u32;
                job.running.subtract(&gone);
                self.go_on(*app);
            }
            Action::Wait { app, .. } => assert!(!self.jobs[app].started),
            Action::Refuse { reason, .. } => panic!("{reason}"),
        }
    }

    /// Ready threads start where nothing runs.
    fn start_ready(&mut self, app: AppId) {
        let job = self.jobs.get_mut(&app).unwrap();
        while job.ready > 0
            && let Some(pu) = job.idle().first()
        {
            job.running.insert(pu);
            job.ready -= 1;
        }
    }

    /// After a new target, and after an answer that leaves it idle processors: ready threads start,
    /// and those that stand on lost processors move to what is still idle. The others go on until
    /// they end.
    fn go_on(&mut self, app: AppId) {
        self.start_ready(app);
        let job = self.jobs.get_mut(&app).unwrap();
        for from in &job.running.difference(&job.own) {
            if let Some(to) = job.idle().first() {
                job.running.remove(from);
                job.running.insert(to);
                self.moved.push((app, from, to));
            }
        }
    }

    fn arrive(&mut self) {
        self.newest += 1;
        let app = AppId(self.newest);
        self.jobs.insert(app, Job { ready: 1, ..Job::default() });
        let wish = Wish::new(1);
        self.step(&Event::Arrive { app, wish });
    }

    /// Says what has changed.
    fn tell(&mut self, app: AppId) {
        self.start_ready(app);
        if let Some(event) = self.next_event() {
            self.step(&event);
        }
    }

    fn random_step(&mut self, random: &mut Random) {
        self.moved.clear();
        let running: Vec<AppId> = self.jobs.iter().filter(|(_, job)| job.epoch > 0).map(|(&app, _)| app).collect();
        let kind = random.below(10);
        if kind == 0 || running.is_empty() {
            if self.jobs.len() < 24 {
                self.arrive();
            }
            return;
        }
        let app = running[random.below(running.len() as u32) as usize];
        let job = self.jobs.get_mut(&app).unwrap();
        match kind {
            1 => {
                self.jobs.remove(&app);
                self.step(&Event::Depart { app });
                self.tell_all();
            }
            2 | 3 => {
                job.ready += 1 + random.below(9);
                self.tell(app);
            }
            _ => {
                let busy: Vec<PuId> = job.running.iter().collect();
                if job.runnable() > 1 && !busy.is_empty() {
                    job.running.remove(busy[random.below(busy.len() as u32) as usize]);
                    self.tell(app);
                }
            }
        }
    }

    fn tell_all(&mut self) {
        if let Some(event) = self.next_event() {
            self.step(&event);
        }
    }

    fn node(&self, pu: PuId) -> NumaNodeId {
        self.engine.machine().pu(pu).node
    }

    fn home(&self, app: AppId) -> Option<NumaNodeId> {
        self.engine.view().apps.iter().find(|known| known.id == app)?.home
    }

    fn reserves(&self) -> bool {
        self.policy.starts_with("HB") || self.policy.starts_with("HS")
    }

    /// K1, second half: nothing in somebody else's home is newly given.
    fn check_grant(&self, app: AppId, grown: &PuSet) {
        if self.reserves() {
            for (&other, _) in self.jobs.iter().filter(|(other, _)| **other != app) {
                let theirs = self.home(other);
                assert!(grown.iter().all(|pu| theirs != Some(self.node(pu))), "K1: {app} is given {grown} of {other}");
            }
        }
    }

    fn check(&self) {
        let context = || format!("{}: {:#?}", self.policy, self.jobs);
        let homes: Vec<_> = self.jobs.keys().filter_map(|&app| self.home(app)).collect();
        if self.reserves() {
            let distinct: BTreeSet<_> = homes.iter().collect();
            assert_eq!(distinct.len(), homes.len(), "K1: {}", context());
        }
        for (&app, job) in &self.jobs {
            let home = self.home(app);
            let at_home = |pu: &PuId| home == Some(self.node(*pu));
            let idle = job.idle();
            match self.policy.split('-').next().unwrap() {
                "FR" if self.policy != "FR-lazy-Dist" => assert!(idle.is_empty(), "K3: {}", context()),
                "FP" => assert!(idle.iter().all(|pu| at_home(&pu)), "K4: {}", context()),
                "HB" => assert!(idle.iter().all(|pu| at_home(&pu)), "C-18: {}", context()),
                "HS" => {
                    let outside = job.running.iter().any(|pu| !at_home(&pu));
                    assert!(idle.iter().all(|pu| at_home(&pu)), "C-18: {}", context());
                    assert!(idle.is_empty() || !outside, "K5: {}", context());
                }
                "LIM" => assert!(job.own.iter().all(|pu| at_home(&pu)), "LIM: {}", context()),
                _ => {}
            }
            if job.epoch > 0 {
                let pages = if self.policy.ends_with("Con") { home.map(PageHome::Node) } else { None };
                assert_eq!(job.pages, pages, "K6: {}", context());
                assert!(job.runnable() == 0 || !job.running.is_empty(), "stalled: {}", context());
            }
        }
        self.check_moves();
        self.check_counts();
    }

    /// K7: only sliding threads move, and those that have to leave somebody else's home. Sliding
    /// ones go home. (EQUI takes processors, and the threads on them move if something of their own
    /// is idle.)
    fn check_moves(&self) {
        for &(app, from, to) in &self.moved {
            let foreign = self.jobs.keys().any(|&other| other != app && self.home(other) == Some(self.node(from)));
            let homewards = self.home(app) == Some(self.node(to)) && self.home(app) != Some(self.node(from));
            let may = self.reserves() && (self.policy.starts_with("HS") || foreign);
            assert!(
                self.policy == "EQUI-Dist" || may && homewards,
                "K7: {}: {app} went from {from} to {to}",
                self.policy
            );
        }
    }

    /// Work conservation, and what is fair.
    fn check_counts(&self) {
        let view = self.engine.view();
        let free: Vec<PuId> =
            (0..view.pus.len() as u32).map(PuId).filter(|&pu| view.pu(pu).state == PuState::Free).collect();
        let counts = || self.jobs.values().filter(|job| job.epoch > 0).map(|job| job.own.len());
        let context = || format!("{}: {free:?} free, {:#?}", self.policy, self.jobs);
        for (&app, job) in self.jobs.iter().filter(|(_, job)| job.ready > 0 || !job.started) {
            let lost = job.running.difference(&job.own).len() as u32;
            let pending = job.runnable() - lost > job.own.len() as u32;
            let waits = !job.started;
            match self.policy.split('-').next().unwrap() {
                "FR" | "FH" | "FP" => assert!(free.is_empty(), "G6: {}", context()),
                "DYN" => {
                    let idle = self.jobs.values().any(|job| !job.idle().is_empty());
                    let most = counts().max().unwrap_or(0);
                    assert!(free.is_empty() && !idle && most <= job.own.len() + 1, "DYN: {}", context());
                }
                "HB" | "HS" if pending => {
                    let theirs =
                        |pu: &PuId| self.jobs.keys().any(|&o| o != app && self.home(o) == Some(self.node(*pu)));
                    assert!(free.iter().all(theirs), "{app} could have one: {}", context());
                }
                "LIM" if pending && !waits => {
                    assert!(free.iter().all(|&pu| self.home(app) != Some(self.node(pu))), "{}", context());
                }
                "LIM" if waits => assert!(free.is_empty(), "{}", context()),
                _ => {}
            }
        }
        if self.policy == "EQUI-Dist" {
            let running = counts().count();
            let fair = view.pus.len().div_ceil(running.max(1));
            assert!(counts().all(|count| count <= fair), "EQUI: {}", context());
        }
    }
}

const POLICIES: [&str; 14] = [
    "FR-Dist",
    "FR-Con",
    "FR-lazy-Dist",
    "FH-Dist",
    "FH-Con",
    "FP-Dist",
    "FP-Con",
    "HB-Dist",
    "HB-Con",
    "HS-Dist",
    "HS-Con",
    "EQUI-Dist",
    "DYN-Dist",
    "LIM-Dist",
];

#[test]
fn promises_hold_on_random_sequences() {
    for policy in POLICIES {
        for (machine, rounds) in
            [("numa:16 core:4 pu:1", 600), ("numa:3 core:2 pu:1", 300), ("numa:1 core:3 pu:1", 100)]
        {
            for seed in 0..3 {
                let mut host = Host::new(policy, machine, seed);
                let mut random = Random::new(seed ^ 0xA11);
                for _ in 0..rounds {
                    host.random_step(&mut random);
                    host.check();
                }
                assert!(host.newest > 5, "{policy} on {machine}: nothing happened");
            }
        }
    }
}

#[test]
fn all_ten_can_be_named() {
    // Table 1 of the paper.
    for scheme in ["FR", "FH", "FP", "HB", "HS"] {
        for pages in ["Dist", "Con"] {
            let name = format!("{scheme}-{pages}");
            assert_eq!(numaestro_policy::Policy::parse(&name, 0).unwrap().to_string(), name);
        }
    }
}

#[test]
fn refused_where_the_host_lacks_something() {
    let machine = || synthetic::parse("numa:2 core:2 pu:1").unwrap();
    let with =
        |policy: &str, host| Engine::new(machine(), Settings { policy: policy.into(), host, ..Settings::default() }, 0);
    let live = Settings::default().host;
    assert!(with("HS-Con", live).unwrap_err().reason.contains("page placement"));
    assert!(with("DYN-Dist", Needs::REQUESTS).unwrap_err().reason.contains("stopping applications"));
    for policy in POLICIES.iter().filter(|policy| !policy.ends_with("Con")) {
        assert!(with(policy, live).is_ok(), "{policy}");
    }
}
