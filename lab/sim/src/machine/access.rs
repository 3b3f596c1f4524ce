//! `[access]` of a machine file: the classes of memory, their costs, and the class of each memory
//! as seen from each processor.

use super::model::{Access, AccessClass, Op, Picos};
use crate::read::Mistake;
use crate::read::fields::{Field, Fields};
use numaestro_topology::{Machine, NumaNodeId, Pu};

/// Most classes: their indices are bytes.
const CLASSES_MAX: usize = 255;
/// Largest number for a cost.
const COST_MAX: f64 = 1e9;

/// The reach of a class.
#[derive(Debug, Clone, Copy)]
enum Reach {
    Node,
    Package,
    Machine,
    Distance(u32),
}

/// Reads the table.
pub fn read(mut fields: Fields<'_>, topology: &Machine, cycle_ps: Picos, delay: u32) -> Result<Access, Mistake> {
    let units = [("cycles", cycle_ps as f64), ("ns", 1e3)];
    let unit_ps = fields.read("unit", |field| field.one_of(&units))?.unwrap_or(cycle_ps as f64);
    let hit = fields.need("hit", "what a reference costs that hits the processor's own cache")?;
    let hit_ps = (cost(&hit)? * unit_ps).round() as Picos;
    let list = fields.need("class", "the classes of memory, [[access.class]], from near to far")?;
    fields.finish()?;
    let items = list.items()?;
    if items.is_empty() || items.len() > CLASSES_MAX {
        return Err(list.wrong("1 to 255 classes"));
    }
    let (mut classes, mut reaches) = (Vec::new(), Vec::new());
    for item in &items {
        let (class, reach) = class(item, unit_ps, delay)?;
        if classes.iter().any(|known: &AccessClass| known.name == class.name) {
            return Err(item.mistake(format!("there is a class \"{}\" already", class.name)));
        }
        classes.push(class);
        reaches.push(reach);
    }
    let mut class_of = Vec::with_capacity(topology.pu_count() * topology.numa_nodes().len());
    for pu in topology.pus() {
        for node in (0..topology.numa_nodes().len() as u32).map(NumaNodeId) {
            let Some(class) = reaches.iter().position(|&reach| reaches_node(topology, pu, node, reach)) else {
                let problem = format!(
                    "no class reaches from processor {} to node {node}: expected a last one within = \"machine\"",
                    pu.id
                );
                return Err(list.mistake(problem));
            };
            class_of.push(class as u8);
        }
    }
    Ok(Access { classes, class_of, hit_ps })
}

fn reaches_node(topology: &Machine, pu: &Pu, node: NumaNodeId, reach: Reach) -> bool {
    match reach {
        Reach::Node => pu.node == node,
        Reach::Package => {
            let package = &topology.packages()[pu.package as usize].pus;
            pu.node == node || topology.numa_nodes()[node.index()].pus.intersects(package)
        }
        Reach::Machine => true,
        Reach::Distance(most) => topology.node_distance(pu.node, node) <= most,
    }
}

fn cost(field: &Field<'_>) -> Result<f64, Mistake> {
    field.number(0.0..=COST_MAX, "a number, at least 0")
}

fn class(item: &Field<'_>, unit_ps: f64, delay: u32) -> Result<(AccessClass, Reach), Mistake> {
    let mut fields = item.fields()?;
    let name = fields.need("name", "what people call this memory")?.text()?.to_owned();
    fields.call(format!("access.class.{name}"));
    let reach = match (fields.get("within"), fields.get("distance")) {
        (Some(_), Some(distance)) => return Err(distance.mistake("expected either `within` or `distance`, found both")),
        (Some(within), None) => {
            within.one_of(&[("node", Reach::Node), ("package", Reach::Package), ("machine", Reach::Machine)])?
        }
        (None, Some(distance)) => Reach::Distance(distance.whole32(1..=u32::MAX)?),
        (None, None) => {
            return Err(fields
                .mistake("`within` is missing: \"node\", \"package\" or \"machine\" (or `distance`, the largest)"));
        }
    };
    let base = costs(&mut fields)?;
    let per_delay = match fields.get("delay") {
        None => [0.0; Op::COUNT],
        Some(field) => {
            let mut fields = field.fields()?;
            let slopes = costs(&mut fields)?;
            fields.finish()?;
            slopes
        }
    };
    fields.finish()?;
    let cost_ps = std::array::from_fn(|op| ((base[op] + per_delay[op] * f64::from(delay)) * unit_ps).round() as Picos);
    Ok((AccessClass { name, cost_ps }, reach))
}

/// Costs by [`Op`]; `line` must be there and stands for the ones that are not.
fn costs(fields: &mut Fields<'_>) -> Result<[f64; Op::COUNT], Mistake> {
    let line = cost(&fields.need(Op::Line.name(), "what it costs to bring in a line")?)?;
    let mut costs = [line; Op::COUNT];
    for op in [Op::Load, Op::Store, Op::Writeback] {
        if let Some(given) = fields.read(op.name(), |field| cost(&field))? {
            costs[op as usize] = given;
        }
    }
    Ok(costs)
}
