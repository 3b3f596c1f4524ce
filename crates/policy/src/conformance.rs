//! Situations for tests of answers, small and random ones; [`suites`] has the tests that every
//! answer must pass.

mod suites;

use crate::part::{Placement, Share};
use crate::plan::Plan;
use crate::random::Random;
use crate::shares::Shares;
use crate::view::{App, AppId, Bus, Processor, PuState, Slot, Thread, View};
use numaestro_topology::{Machine, NumaNodeId, PuId};

/// An application of a test.
pub fn app(id: u64, request: u32) -> App {
    App::new(AppId(id), request)
}

/// A situation: a machine, applications, and the processors that they have.
#[derive(Debug, Clone)]
pub struct Case {
    pub machine: Machine,
    pub pus: Vec<Processor>,
    pub apps: Vec<App>,
    pub order: Vec<Slot>,
    pub threads: Vec<Thread>,
    pub buses: Vec<Bus>,
    pub now_ns: u64,
}

impl Case {
    /// One package of `pus` cores.
    pub fn new(pus: u32) -> Self {
        Self::on(&format!("pack:1 core:{pus} pu:1"))
    }

    /// A machine by its synthetic description.
    pub fn on(synthetic: &str) -> Self {
        let machine = numaestro_topology::synthetic::parse(synthetic).unwrap();
        let pus = vec![Processor::default(); machine.pu_count()];
        Self { machine, pus, apps: Vec::new(), order: Vec::new(), threads: Vec::new(), buses: Vec::new(), now_ns: 0 }
    }

    /// Adds applications that want so many processors each.
    pub fn wants(mut self, requests: &[u32]) -> Self {
        for &request in requests {
            self.order.push(Slot(self.apps.len() as u32));
            self.apps.push(app(self.apps.len() as u64 + 1, request));
        }
        self
    }

    /// Sets the weight of one application, thousandths.
    pub fn weigh(mut self, slot: usize, weight_milli: u32) -> Self {
        self.apps[slot].weight_milli = weight_milli;
        self
    }

    /// Sets the limits of one application, processors.
    pub fn limits(mut self, slot: usize, min: u32, max: u32) -> Self {
        (self.apps[slot].min, self.apps[slot].max) = (min, max);
        self
    }

    /// Gives each application so many processors, the lowest free ones first.
    pub fn holds(mut self, counts: &[u32]) -> Self {
        for (slot, &count) in counts.iter().enumerate() {
            for _ in 0..count {
                let pu = self.pus.iter().position(|pu| pu.next.is_none()).unwrap();
                self.give(Slot(slot as u32), PuId(pu as u32), 0);
            }
        }
        self
    }

    /// Gives one processor to one application.
    pub fn give(&mut self, slot: Slot, pu: PuId, since_ns: u64) {
        let entry = &mut self.pus[pu.index()];
        (entry.state, entry.owner, entry.next, entry.since_ns) = (PuState::Owned, Some(slot), Some(slot), since_ns);
        let app = &mut self.apps[slot.index()];
        app.own.insert(pu);
        app.allocation += 1;
    }

    /// Shows the situation as a policy sees it.
    pub fn with_view<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        let capacity = self.pus.iter().filter(|pu| pu.is_usable()).count() as u32;
        look(&View {
            now_ns: self.now_ns,
            machine: &self.machine,
            pus: &self.pus,
            apps: &self.apps,
            order: &self.order,
            capacity,
            threads: &self.threads,
            buses: &self.buses,
            free_memory: &[],
        })
    }

    /// Divides: processors by slot.
    pub fn divide(&self, share: &mut dyn Share) -> Vec<u32> {
        let mut shares = Shares::new();
        self.with_view(|view| {
            shares.reset(self.apps.len());
            share.divide(view, &mut shares);
        });
        (0..self.apps.len()).map(|slot| shares.count(Slot(slot as u32))).collect()
    }

    /// Carries out a placement at once: processors by slot afterwards.
    pub fn place(&mut self, placement: &mut dyn Placement, counts: &[u32]) -> Vec<String> {
        let mut shares = Shares::new();
        let mut plan = Plan::new();
        shares.reset(self.apps.len());
        for (slot, &count) in counts.iter().enumerate() {
            shares.set(Slot(slot as u32), count);
        }
        self.with_view(|view| {
            plan.reset(view);
            placement.place(view, &shares, &mut plan);
        });
        for pu in 0..self.pus.len() {
            let (id, next) = (PuId(pu as u32), plan.next(PuId(pu as u32)));
            if let Some(former) = self.pus[pu].next
                && next != Some(former)
            {
                self.apps[former.index()].own.remove(id);
                self.apps[former.index()].allocation -= 1;
                self.pus[pu] = Processor {
                    last: Some(crate::view::Former { slot: former, app: self.apps[former.index()].id }),
                    ..Processor::default()
                };
            }
            if let Some(slot) = next
                && self.pus[pu].next != next
            {
                self.give(slot, id, 1);
            }
        }
        for &slot in plan.rehomed() {
            self.apps[slot.index()].home = plan.home(slot);
        }
        self.apps.iter().map(|app| app.own.to_string()).collect()
    }
}

/// A random situation with possible counts.
pub fn random_case(random: &mut Random) -> Case {
    const MACHINES: [&str; 6] = [
        "pack:1 core:1 pu:1",
        "pack:1 core:2 pu:2",
        "pack:2 core:3 pu:1",
        "pack:2 numa:2 l3:2 core:2 pu:2",
        "numa:4 core:4 pu:1",
        "pack:3 core:5 pu:2",
    ];
    let mut case = Case::on(MACHINES[random.below(MACHINES.len() as u32) as usize]);
    let pus = case.pus.len() as u32;
    let n = random.below(2 * pus + 2);
    let requests: Vec<u32> = (0..n).map(|_| 1 + random.below(2 * pus)).collect();
    case = case.wants(&requests);
    for slot in 0..n as usize {
        let min = if random.below(4) == 0 { 1 + random.below(pus) } else { 1 };
        case = case.limits(slot, min, min + random.below(pus)).weigh(slot, 1 + random.below(4000));
        if random.below(8) == 0 {
            case.apps[slot].placeable = random.below(pus);
        }
    }
    // Another policy may have given them homes, and several of them the same home.
    let nodes = case.machine.numa_nodes().len() as u32;
    for app in &mut case.apps {
        app.home = (random.below(3) == 0).then(|| NumaNodeId(random.below(nodes)));
    }
    for pu in 0..pus {
        if n > 0 && random.below(3) > 0 {
            case.give(Slot(random.below(n)), PuId(pu), u64::from(random.below(100)));
        } else if random.below(6) == 0 && pu > 0 {
            case.pus[pu as usize].state = PuState::Offline;
        }
    }
    case
}
