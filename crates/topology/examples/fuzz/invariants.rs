//! What holds of every machine that a reader returns.

use numaestro_topology::{CpuSet, Formation, GroupTree, Level, Machine, NumaNodeId, PuId, PuSet, list, synthetic};

/// Checks everything; says what does not hold.
pub fn check(machine: &Machine) -> Result<(), String> {
    let count = machine.pu_count();
    ensure(count > 0, || "no PU".into())?;
    pus(machine)?;
    let all = machine.all();
    partition("packages", &all, machine.packages().iter().map(|it| &it.pus), false)?;
    partition("caches", &all, machine.llcs().iter().map(|it| &it.pus), false)?;
    partition("cores", &all, machine.cores().iter().map(|it| &it.pus), false)?;
    partition("nodes", &all, machine.numa_nodes().iter().map(|it| &it.pus), true)?;
    let allowed = machine.allowed();
    ensure(!allowed.is_empty() && allowed.is_subset(&all), || format!("allowed: {allowed}"))?;
    let online = machine.os_cpuset(&all);
    ensure(online.len() == count && machine.pu_set(&online) == all, || format!("{online} are not {count} PUs"))?;
    ensure(!machine.offline().intersects(&online), || format!("offline {} of {online}", machine.offline()))?;
    distances(machine)?;
    groups(machine)?;
    drawn(machine)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Every PU is where it says.
fn pus(machine: &Machine) -> Result<(), String> {
    let mut seen = CpuSet::new();
    for (position, pu) in machine.pus().iter().enumerate() {
        let wrong = || format!("PU {position}: {pu:?}");
        ensure(pu.id == PuId(position as u32) && machine.pu(pu.id) == pu, wrong)?;
        ensure(seen.insert(pu.os_index) && machine.pu_of_os(pu.os_index) == Some(pu.id), wrong)?;
        let inside = [
            machine.packages().get(pu.package as usize).map(|it| &it.pus),
            machine.numa_nodes().get(pu.node.index()).map(|it| &it.pus),
            machine.llcs().get(pu.llc as usize).map(|it| &it.pus),
            machine.cores().get(pu.core as usize).map(|it| &it.pus),
        ];
        ensure(inside.iter().all(|set| set.is_some_and(|set| set.contains(pu.id))), wrong)?;
        let rank = machine.smt_siblings(pu.id).iter().position(|other| other == pu.id);
        ensure(rank == Some(pu.smt_rank as usize), wrong)?;
    }
    Ok(())
}

/// Disjoint sets that together are all; none is empty unless it may be.
fn partition<'a>(
    what: &str,
    all: &PuSet,
    sets: impl Iterator<Item = &'a PuSet>,
    may_be_empty: bool,
) -> Result<(), String> {
    let mut seen = PuSet::new();
    for set in sets {
        ensure(may_be_empty || !set.is_empty(), || format!("one of the {what} is empty"))?;
        ensure(!seen.intersects(set), || format!("{what} overlap in {set}"))?;
        seen.or_with(set);
    }
    ensure(seen == *all, || format!("{what} have {seen} of {all}"))
}

/// Nodes are numbered once, and none is nearer to another than to itself.
fn distances(machine: &Machine) -> Result<(), String> {
    let nodes = machine.numa_nodes();
    let largest = nodes.iter().map(|node| node.os_index).max();
    ensure(largest <= Some(list::LARGEST), || format!("a node with the number {largest:?}"))?;
    let numbers: CpuSet = nodes.iter().map(|node| node.os_index).collect();
    ensure(numbers.len() == nodes.len(), || format!("{} nodes have the numbers {numbers}", nodes.len()))?;
    for from in (0..nodes.len() as u32).map(NumaNodeId) {
        let own = machine.node_distance(from, from);
        for to in (0..nodes.len() as u32).map(NumaNodeId) {
            let distance = machine.node_distance(from, to);
            ensure(distance >= own && distance > 0, || {
                format!("distance {distance} from {from} to {to}, {own} to itself")
            })?;
        }
    }
    Ok(())
}

/// Groups of each level hold what may be used, once; so do those within groups.
fn groups(machine: &Machine) -> Result<(), String> {
    for level in Level::ALL {
        let groups = machine.groups(level);
        let wrong = || format!("groups by {level} of {}", machine.allowed());
        ensure(groups.iter().map(<[PuId]>::len).sum::<usize>() == machine.allowed().len(), wrong)?;
        for group in 0..groups.len() {
            let members = groups.members(group);
            ensure(!members.is_empty() && members.iter().all(|&pu| groups.of(pu) == Some(group)), wrong)?;
        }
    }
    let formations = [Formation::ByArchitecture, Formation::Equal(2)];
    let tree = GroupTree::form(machine, &formations, machine.allowed()).map_err(|error| error.to_string())?;
    let leaves: usize = tree.leaves().iter().map(<[PuId]>::len).sum();
    ensure(tree.depth() == 2 && leaves == machine.allowed().len(), || format!("{leaves} in leaves"))
}

/// It can be drawn; what it says in hwloc's words is a machine of the same size.
fn drawn(machine: &Machine) -> Result<(), String> {
    ensure(machine.to_string().starts_with("Machine ("), || "no drawing".into())?;
    let Some(text) = machine.to_synthetic() else { return Ok(()) };
    let again = synthetic::parse(&text).map_err(|error| format!("\"{text}\", its own description: {error}"))?;
    ensure(again.pu_count() == machine.pu_count(), || format!("\"{text}\" has {} PUs", again.pu_count()))
}
