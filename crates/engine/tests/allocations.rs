//! The steady state allocates nothing: neither decisions that change nothing nor, with recycled
//! actions, those that do.

use numaestro_engine::{Action, AppId, Class, Engine, Event, Settings, Wish};
use numaestro_policy::{Bus, Needs, catalogue};
use numaestro_topology::{PuSet, synthetic};

/// Allocations of this thread while `work` runs, and what it gives.
fn counted<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let mut out = None;
    let counts = allocation_counter::measure(|| out = Some(work()));
    (counts.count_total, out.expect("it has run"))
}

struct Host {
    engine: Engine,
    actions: Vec<Action>,
    now: u64,
    /// Processors that applications say they have nothing to run on.
    idle: PuSet,
}

impl Host {
    fn new(policy: &str) -> Self {
        let machine = synthetic::parse("pack:2 numa:2 l3:2 core:4 pu:2").unwrap();
        let host = Needs { requests: true, speedup: true, bandwidth: true, page_control: true, preemption: true };
        let bus = |list: &str| Bus { pus: list.parse().unwrap(), saturation: 30_000 };
        let buses = ["0-15", "16-31", "32-47", "48-63"].map(bus).to_vec();
        let settings = Settings { policy: policy.into(), host, buses, ..Settings::default() };
        let idle = "1,3,5-8,20-30".parse().unwrap();
        Self { engine: Engine::new(machine, settings, 1).unwrap(), actions: Vec::new(), now: 0, idle }
    }

    /// Allocations of one step and of giving its actions back.
    fn step(&mut self, event: &Event) -> (u64, Vec<(AppId, u32)>) {
        self.now += 1000;
        let (stepped, ()) = counted(|| self.engine.step(self.now, event, &mut self.actions));
        let target = |action: &Action| match action {
            Action::Target { app, epoch, .. } => Some((*app, *epoch)),
            _ => None,
        };
        let targets = self.actions.iter().filter_map(target).collect();
        let (recycled, ()) = counted(|| self.engine.recycle(&mut self.actions));
        (stepped + recycled, targets)
    }

    /// The same, until every target has been answered.
    fn settle(&mut self, event: &Event) -> u64 {
        let (mut allocations, mut open) = self.step(event);
        while let Some((app, epoch)) = open.pop() {
            let (more, targets) = self.step(&Event::Adopted { app, epoch });
            allocations += more;
            open.extend(targets);
        }
        allocations
    }

    /// A quantum passes: what its threads moved is told, and whoever takes turns takes them.
    fn quantum(&mut self, newest: u64) -> u64 {
        let rates: Vec<_> = (0..9).map(|vp| Some(newest as u32 * 37 % 900 * vp)).collect();
        self.now += 100_000_000;
        let own = self.engine.view().apps.iter().find(|app| app.id == AppId(2)).map_or(0, |app| app.allocation);
        let events = [
            Event::Speedup { app: AppId(2), processors: own, speedup_milli: 700 * own },
            Event::Bandwidth { app: AppId(1), rates: rates.clone() },
            Event::Bandwidth { app: AppId(2), rates },
            Event::Saturation { bus: 1, rate: 30_000 + newest as u32 },
            Event::Unstoppable { app: AppId(3) },
            Event::Timer,
            Event::Stoppable { app: AppId(3) },
        ];
        events.iter().map(|event| self.settle(event)).sum()
    }

    /// One round of everything that happens every day.
    fn day(&mut self, newest: &mut u64) -> u64 {
        *newest += 1;
        let app = AppId(*newest);
        let wish = Wish { max: 64, ..Wish::new(64) };
        let arrive = Event::Arrive { app, wish };
        let events = [
            arrive,
            Event::Request { app, processors: 3 },
            Event::Request { app, processors: 64 },
            Event::Demand { app, processors: 5, idle: self.idle.clone() },
            Event::Demand { app: AppId(1), processors: 7, idle: self.idle.clone() },
            Event::Sequential { app },
            Event::Parallel { app },
            Event::Unmanaged { processors: 2 },
            Event::Depart { app },
            Event::Timer,
        ];
        let day: u64 = events.iter().map(|event| self.settle(event)).sum();
        day + self.quantum(*newest)
    }
}

/// Combinations of shares and placements that there are no presets for, all presets, and what only
/// parameters show.
fn policies() -> Vec<String> {
    let mut out = Vec::new();
    for share in ["equi", "equip", "cluster", "dss", "batch admission=fifo"] {
        for placement in ["affinity", "first-fit", "best-fit", "worst-fit", "worst-fit-jobs"] {
            out.push(format!("share={share} placement={placement}"));
        }
    }
    let presets = catalogue().into_iter().filter(|entry| entry.part == "preset");
    out.extend(presets.map(|entry| entry.info.name.to_owned()));
    out.push("worst-fit placement=worst-fit(levels=package/llc,in-pool=affinity)".to_owned());
    out.push(format!("worst-fit placement=fixed(at=123{};---1{})", "-".repeat(61), "-".repeat(60)));
    out
}

#[test]
fn steady_state() {
    for policy in policies() {
        let mut host = Host::new(&policy);
        let mut newest = 0;
        for _ in 0..5 {
            newest += 1;
            let wish = Wish { max: 64, ..Wish::new(9) };
            host.settle(&Event::Arrive { app: AppId(newest), wish });
        }
        for _ in 0..20 {
            host.day(&mut newest);
        }
        // Nothing changes: nobody wants another number.
        assert_eq!(host.settle(&Event::Request { app: AppId(2), processors: 9 }), 0, "{policy}");
        assert_eq!(host.settle(&Event::Timer), 0, "{policy}");
        let day = host.day(&mut newest);
        assert_eq!(day, 0, "{policy}: allocations on an ordinary day");
    }
}

/// Rigid jobs of 1–16 processors come and go while hundreds wait.
#[test]
fn a_long_queue() {
    for policy in ["fcfs", "easy", "easy placement=affinity", "fifo"] {
        let mut host = Host::new(policy);
        let mut jobs: Vec<AppId> = Vec::new();
        let mut allocations = 0;
        for number in 1..1200 {
            let processors = number % 16 + 1;
            let wish = Wish {
                request: processors,
                min: processors,
                max: processors,
                weight_milli: 1000,
                class: Class::Fold,
                wait: None,
                estimate_ns: Some(u64::from(number * 7919 % 1_000_000)),
                ..Wish::new(1)
            };
            let app = AppId(u64::from(number));
            jobs.push(app);
            let (mut count, _) = host.step(&Event::Arrive { app, wish });
            if jobs.len() > 300 {
                // The oldest runs: in every one of these policies the head of the queue starts
                // first.
                count += host.step(&Event::Depart { app: jobs.remove(0) }).0;
            }
            allocations += if number < 700 { 0 } else { count };
        }
        assert!(host.engine.snapshot().queue.len() > 200, "{policy}");
        assert_eq!(allocations, 0, "{policy}");
    }
}

#[test]
fn the_counter_counts() {
    let (count, _) = counted(|| std::hint::black_box(Box::new(1)));
    assert_eq!(count, 1);
}
