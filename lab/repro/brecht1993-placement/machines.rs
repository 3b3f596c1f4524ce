//! Tables 1.1, 1.2 and 1.4: the machines and kernels of the paper.

use crate::hector::{Hector, Kernel};
use crate::{Estimate, Finding, Judge, Lab, Status, Trouble};
use numaestro_sim::machine::{self, Model, Op};
use numaestro_sim::program::{Asks, Body, Phase};
use numaestro_topology::PuId;

/// Delay, and cycles of load, store, line load and writeback (table 1.4).
const RING: [(u32, [u64; 4]); 6] = [
    (0, [27, 17, 37, 42]),
    (4, [35, 21, 49, 58]),
    (8, [43, 25, 61, 74]),
    (16, [59, 33, 85, 106]),
    (32, [91, 49, 133, 170]),
    (64, [155, 81, 229, 298]),
];
/// The same within the module and the station, for every delay (the station's row is only in Brecht
/// 1997, table 1).
const LOCAL: [u64; 4] = [10, 10, 19, 19];
const STATION: [u64; 4] = [19, 9, 29, 62];

/// A machine, or the reason why there is none.
pub(in crate::brecht1993_placement) fn model(name: &str, delay: u32) -> Result<Model, Trouble> {
    machine::named(name, delay).ok_or_else(|| Trouble::new(name, "there is no such machine"))
}

/// Cycles of one reference, rounded to whole ones.
fn cycles(model: &Model, pu: u32, place: u32, op: Op) -> u64 {
    let cost = model.cost_ps(PuId(pu), model.node_of(PuId(place)), op);
    (cost + model.cycle_ps / 2) / model.cycle_ps
}

/// B93-Tab1.1.
pub fn levels(_lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    // Machine, level, places, cycles; the places are one processor and another one of its station,
    // cluster or ring.
    let hector = model("hector-worst", 0)?;
    let ksr1 = model("ksr1", 0)?;
    let dash = model("dash", 0)?;
    let line = |model: &Model, place| cycles(model, 0, place, Op::Line);
    let cache = dash.access.hit_ps / dash.cycle_ps;
    let rows = [
        ("KSR1", vec![(18, line(&ksr1, 0)), (126, line(&ksr1, 1)), (756, line(&ksr1, 32))], [1, 32, 64]),
        ("DASH", vec![(15, cache), (29, line(&dash, 0)), (132, line(&dash, 4))], [1, 4, 64]),
        ("Hector", vec![(19, line(&hector, 0)), (29, line(&hector, 1)), (37, line(&hector, 4))], [1, 4, 16]),
    ];
    for (name, levels, sizes) in rows {
        for (number, ((printed, ours), size)) in levels.iter().zip(sizes).enumerate() {
            let what = format!("{name}, level {} ({size} processors)", number + 1);
            judge.value(what.clone(), "cycles", Estimate::exact(*ours as f64));
            judge.demand(what, printed.to_string(), ours, printed == ours);
        }
        let rises = levels.windows(2).all(|pair| pair[0].1 < pair[1].1);
        judge.demand(format!("{name}: rises with the level"), "yes", if rises { "yes" } else { "no" }, rises);
    }
    Ok(identity(judge, "ksr1.toml, dash.toml and hector-worst.toml"))
}

/// B93-Tab1.2.
pub fn kernels(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    judge.value("kernels", "", Estimate::exact(Kernel::ALL.len() as f64));
    for kernel in Kernel::ALL {
        for processes in [1, 4, 8] {
            let program = Hector::of(lab)?.program(kernel, processes);
            let Body::Phases(phases) = &program.body else {
                return Err(Trouble::new(kernel.name(), "it has no phases"));
            };
            let divided = phases.iter().any(|phase| match phase {
                Phase::Parallel { width, .. } => *width == processes,
                Phase::Tasks { .. } => program.processors == processes,
                _ => false,
            });
            let holds = divided && program.asks == Asks::Creation && program.name == kernel.name();
            let what = format!("{}: master and {} slaves, a processor each", kernel.name(), processes - 1);
            judge.demand(what, "yes", if holds { "yes" } else { "no" }, holds);
        }
    }
    Ok(judge.verdict(""))
}

/// B93-Tab1.4, and with the station's row B97-Tab1.
pub fn table_1_4(_lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for (delay, printed) in RING {
        let hector = model("hector-worst", delay)?;
        let ours = |place| Op::ALL.map(|op| cycles(&hector, 4, place, op));
        let (local, station, ring) = (ours(4), ours(5), ours(8));
        judge.value(format!("ring line load, d={delay}"), "cycles", Estimate::exact(ring[2] as f64));
        judge.demand(format!("ring, d={delay}"), text(printed), text(ring), ring == printed);
        judge.demand(format!("local, d={delay}"), text(LOCAL), text(local), local == LOCAL);
        judge.demand(format!("station, d={delay}"), text(STATION), text(station), station == STATION);
        let d = u64::from(delay);
        let formula = [27 + 2 * d, 17 + d, 37 + 3 * d, 42 + 4 * d];
        judge.demand(format!("formulas, d={delay}"), text(formula), text(ring), ring == formula);
    }
    Ok(identity(judge, "hector-worst.toml; runs are on a nearer ring"))
}

/// The claim repeats the files of machines, if it does.
fn identity(judge: Judge, files: &str) -> Finding {
    if judge.holds() { judge.with(Status::Identity(files.to_owned())) } else { judge.verdict("") }
}

fn text(cycles: [u64; 4]) -> String {
    cycles.map(|cycles| cycles.to_string()).join(", ")
}
